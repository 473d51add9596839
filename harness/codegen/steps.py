"""Where results jump, and which functions implementations compute differently.

Next to a jump (a floor, a comparison, a conversion to an integer) two correct programs may
differ by a whole step, because a logarithm or a division was rounded differently before it.
A module's check then also accepts what the reference gives when such functions are a few
units of the last place off; this module says where that applies.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import sympy

from harness.dtypes import DType
from harness.graph.model import Graph, Node, TensorType, tensors_of

_INEXACT = frozenset(
    "acos acosh asin asinh atan atan2 atanh cos cosh div erf erfc erfinv exp exp2 expm1 gelu"
    " hypot lgamma log log10 log1p log2 logit logsumexp mish pow reciprocal rsqrt sigmoid silu"
    " sin sinh softplus sqrt tan tanh xlogy _softmax _log_softmax".split()
)
"""Functions that are not correctly rounded everywhere, by ATen name."""

_JUMPING = frozenset("ceil floor floor_divide fmod frac remainder round sgn sign trunc".split())
"""Functions of floating values with floating results that jump."""

_NARROW = (DType.F8E4M3, DType.F8E5M2)


def is_inexact(node: Node) -> bool:
    """Whether two correct implementations of this call may differ in the last places. Whole powers
    and divisions by a power of two do not count: they are exact wherever their result is
    representable, and steps over integers rely on that."""
    if not isinstance(node.type, TensorType) or not node.type.dtype.is_float:
        return False
    name = node.packet
    if name not in _INEXACT or node.op.startswith("aten.div.Tensor_mode"):
        return False
    operand = _number(node.args[1]) if len(node.args) > 1 else None
    if operand is None:
        return True
    if name == "div":
        return abs(math.frexp(operand)[0]) != 0.5
    return name != "pow" or not operand.is_integer()


def _number(arg: object) -> float | None:
    if isinstance(arg, int | float):
        return float(arg)
    return float(arg) if isinstance(arg, sympy.Expr) and arg.is_number else None


def computes_floats(nodes: Iterable[Node]) -> bool:
    """Whether any of ``nodes`` has a floating-point result."""
    return any(isinstance(n.type, TensorType) and n.type.dtype.is_float for n in nodes)


def jumps(nodes: Iterable[Node], graph: Graph) -> bool:
    """Whether the result of ``nodes``, calls of ``graph``, jumps somewhere."""
    types = graph.types()
    for node in nodes:
        found = (types.get(name) for name in node.refs())
        if not any(isinstance(t, TensorType) and t.dtype.is_float for t in found):
            continue
        if node.packet in _JUMPING or node.op.startswith("aten.div.Tensor_mode"):
            return True
        dtypes = [result.dtype for result in tensors_of(node.type)]
        if any(not dtype.is_float or dtype in _NARROW for dtype in dtypes):
            return True
    return False
