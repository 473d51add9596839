"""A kernel's reference: the region's own ATen calls, from its inputs to its outputs."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import sympy

from harness.dtypes import DType
from harness.errors import InvalidProgram
from harness.graph.calltext import float_names, local_name, needed, needed_nodes, node_text
from harness.graph.model import Graph, Node, Ref, TensorType, ValueType, tensors_of
from harness.graph.sizes import contiguous_strides
from harness.ir.affine import UNKNOWN_SIZE
from harness.ir.index_text import size_text
from harness.ir.nodes import Compute, Load, walk
from harness.ir.ops import Op
from harness.ir.program import Buffer, Role
from harness.tiling.plan import Argument, ArgumentKind, KernelPlan

_INEXACT = frozenset(
    "acos acosh asin asinh atan atan2 atanh cos cosh div erf erfc erfinv exp exp2 expm1 gelu"
    " hypot lgamma log log10 log1p log2 logit logsumexp mish pow reciprocal rsqrt sigmoid silu"
    " sin sinh softplus sqrt tan tanh xlogy _softmax _log_softmax".split()
)
"""Functions that are not correctly rounded everywhere, by ATen name."""

_JUMPING = frozenset("ceil floor floor_divide fmod frac remainder round sgn sign trunc".split())
"""Functions of floating values with floating results that jump."""


@dataclass(frozen=True, slots=True)
class Reference:
    """``lines`` are the body of ``reference(args, wide, nudge, other)``. ``kept`` are positions of
    written arguments whose old contents matter; ``floating`` says whether floating-point
    values take part, ``steps`` whether the result jumps somewhere (``jumps``), ``inexact`` whether
    a function is not rounded exactly. ``rounds`` are the types of what the kernel rounds, or reads
    again once it is stored, and goes on with, by Triton's names, and whether all that are
    conversions of the graph, which the lines round too."""

    lines: tuple[str, ...]
    kept: tuple[int, ...]
    floating: bool
    steps: bool
    inexact: bool
    rounds: tuple[tuple[str, ...], bool]


def read_value(argument: Argument, buffers: dict[str, Buffer]) -> str | None:
    """The graph value an argument brings into the kernel, if it brings one."""
    if argument.kind in (ArgumentKind.INPUT, ArgumentKind.IN_OUT):
        return buffers[argument.buffers[0]].node
    return None


def written_value(argument: Argument, buffers: dict[str, Buffer], graph: Graph) -> str | None:
    """The graph value an argument holds after the launch, if the kernel writes it."""
    if argument.kind not in (ArgumentKind.OUTPUT, ArgumentKind.IN_OUT):
        return None
    buffer = buffers[argument.buffers[-1]]
    if buffer.role is not Role.INPUT:
        return buffer.node
    for mutation in graph.mutations:
        if mutation.input == buffer.name:
            return mutation.value
    raise InvalidProgram(
        "a kernel writes an input that the graph does not mutate", where=buffer.name
    )


def _states(
    plan: KernelPlan, graph: Graph, buffers: dict[str, Buffer]
) -> tuple[Graph, dict[int, str], dict[int, str]]:
    """A scattered value has two states in one buffer: before (what the scatter starts from) and
    after. ``graph`` with the scatters of this kernel starting from values of their own, the names
    of these and of the wanted values, both by argument position."""
    before: dict[int, str] = {}
    wanted: dict[int, str] = {}
    nodes = {n.name: n for n in graph.nodes}
    for position, argument in enumerate(plan.arguments):
        value = written_value(argument, buffers, graph)
        if value is None:
            continue
        wanted[position] = value
        name, node = argument.buffers[-1], nodes.get(value)
        base = node.args[0] if node is not None and node.args else None
        if not isinstance(base, Ref):
            continue
        if name in plan.initial:
            wanted[position] = base.name
        elif node is not None and name in plan.kept:
            before[position] = f"before_{value}"
            nodes[value] = replace(node, args=(Ref(before[position]), *node.args[1:]))
    return replace(graph, nodes=tuple(nodes[n.name] for n in graph.nodes)), before, wanted


def reference_of(plan: KernelPlan, graph: Graph) -> Reference:
    """The reference of ``plan``'s kernel. Raises ``GraphError`` if the outputs cannot be
    computed from the inputs."""
    buffers = {b.name: b for b in plan.buffers}
    apart, before, stored = _states(plan, graph, buffers)
    given: dict[str, int] = {}
    for position, argument in enumerate(plan.arguments):
        value = before.get(position) or read_value(argument, buffers)
        if value is not None:
            given.setdefault(value, position)
    wanted = list(stored.values())
    # Inputs that the calls mention although the kernel does not read them: for their sizes.
    mentioned = needed(apart, given, wanted)[1]
    absent = [i.name for i in graph.inputs if i.name in mentioned]
    names = [*given, *absent]
    nodes = needed_nodes(apart, names, wanted)
    lines = [f"{name} = torch.float64 if wide else torch.{name}" for name in float_names(nodes)]
    if given:
        lines.append(_read({local_name(value): n for value, n in given.items()}))
    lines += [_stand_in(graph, name) for name in absent]
    steps, types = jumps(nodes, apart.types()), graph.types()
    rounded = _rounded(plan)
    kept_narrow = _narrowed(nodes, wanted, rounded, types)
    narrow = {*names, *kept_narrow}
    nudges = itertools.cycle((" * nudge", " * other"))
    for node in nodes:
        decided = _decided(node, types, narrow)
        for name, dtype in decided.items():
            lines += [f"{local_name(name)}_ = {local_name(name)}", _rounding(name, dtype)]
        text = node_text(node) + (next(nudges) if is_inexact(node) else "")
        lines += _bits(node, types) if node.op == "aten.view.dtype" else [text]
        lines += [f"{local_name(name)} = {local_name(name)}_" for name in decided]
        if node.name in kept_narrow:
            lines.append(_rounding(node.name, kept_narrow[node.name]))
    lines.append(f"return [{', '.join(local_name(w) for w in wanted)}]")
    lines[:0] = _unread_sizes(plan, graph, lines)
    kept = tuple(n for n in stored if plan.arguments[n].kind is ArgumentKind.IN_OUT)
    floating = any(b.dtype.is_float for b in plan.buffers)
    floating |= any(isinstance(n.type, TensorType) and n.type.dtype.is_float for n in nodes)
    signatures = tuple(sorted(map(triton_signature, rounded)))
    followed = {dtype for dtype in rounded if dtype.itemsize < 4} <= set(kept_narrow.values())
    followed &= all(_is_rounding(node, types) for node in nodes if node.name in kept_narrow)
    inexact = any(map(is_inexact, nodes))
    return Reference(tuple(lines), kept, floating, steps, inexact, (signatures, followed))


def _unread_sizes(plan: KernelPlan, graph: Graph, lines: Sequence[str]) -> list[str]:
    """A number for each unknown size that the calls mention although no launch is told it."""
    kinds = [kind for kind in graph.types().values() if isinstance(kind, TensorType)]
    unknown = {n for kind in kinds for n in kind.shape if not n.is_Integer}
    sizes = {str(symbol) for size in unknown for symbol in size.free_symbols}
    used = set(re.findall(r"\w+", " ".join(lines))) - set(map(str, plan.sizes))
    return [f"{name} = {UNKNOWN_SIZE}  # makes no difference" for name in sorted(sizes & used)]


def _rounded(plan: KernelPlan) -> set[DType]:
    """Types of what the kernel rounds, or reads again once it is stored, and goes on with."""
    written = {store.buffer for store in plan.stores} - plan.internal
    values = list(walk(store.value for store in plan.stores))
    read = {v.buffer for v in values if isinstance(v, Load)} & written
    found = {buffer.dtype for buffer in plan.buffers if buffer.name in read}
    found |= {v.dtype for v in values if isinstance(v, Compute) and v.op is Op.CAST}
    return {dtype for dtype in found if dtype.is_float}


def _narrowed(
    nodes: Sequence[Node],
    outputs: Sequence[str],
    rounded: set[DType],
    types: Mapping[str, ValueType],
) -> dict[str, DType]:
    """What of narrow types a kernel goes on with as it stores it (outputs), or rounds it."""
    used = {name for node in nodes for name in node.refs()}
    kept = (n for n in nodes if n.name in used and (n.name in outputs or _is_rounding(n, types)))
    kinds = {node.name: node.type for node in kept}
    return {
        name: kind.dtype
        for name, kind in kinds.items()
        if isinstance(kind, TensorType) and kind.dtype in rounded and kind.dtype.itemsize < 4
    }


def _is_rounding(node: Node, types: Mapping[str, ValueType]) -> bool:
    """Whether a kernel rounds here: a conversion to a narrow type, but not a copy within one."""
    if node.packet not in ("_to_copy", "copy"):
        return False
    (*_, source) = node.refs()
    kinds = [next(tensors_of(kind)).dtype for kind in (types[source], node.type)]
    return kinds[1].compute is not kinds[1] and kinds[0] is not kinds[1]


def _decided(
    node: Node, types: Mapping[str, ValueType], narrow: Collection[str]
) -> dict[str, DType]:
    """What the result of ``node`` jumps on, of narrow types, but for what is ``narrow`` already: a
    kernel rounds it to its own type before it decides, or converts it to one that is not wider."""
    read = node.refs() if _is_rounding(node, types) or jumps([node], types) else ()
    kinds = {name: types.get(name) for name in read if name not in narrow}
    return {
        name: kind.dtype
        for name, kind in kinds.items()
        if isinstance(kind, TensorType) and kind.dtype.is_float and kind.dtype.itemsize < 4
    }


def _rounding(value: str, dtype: DType) -> str:
    """Rounds ``value`` in the float64 form too: a sum of what was rounded may cancel."""
    name = local_name(value)
    return f"{name} = {name}.to(torch.{dtype.torch_name}).double() if wide else {name}"


def _bits(node: Node, types: Mapping[str, ValueType]) -> list[str]:
    """A view of bits: those of the recorded type, in the float64 form too."""
    (operand,) = node.refs()
    source, target = (next(tensors_of(kind)).dtype for kind in (types[operand], node.type))
    bits = f"{local_name(operand)}.to(torch.{source.torch_name}).view(torch.{target.torch_name})"
    line = f"{local_name(node.name)} = {bits}"
    return [line, _rounding(node.name, target)] if target.is_float else [line]


def _read(given: dict[str, int]) -> str:
    """The values that the arguments bring in, by name and position."""
    names, places = list(given), list(given.values())
    listed = ", ".join(names) if len(names) > 1 else f"({names[0]},)"
    taken = f"args[:{len(places)}]"
    if places != list(range(len(places))):
        taken = f"({', '.join(f'args[{n}]' for n in places)},)"
    return f"{listed} = (a.double() if wide and a.is_floating_point() else a for a in {taken})"


def _stand_in(graph: Graph, name: str) -> str:
    """A tensor in the layout of a value whose contents nobody looks at: a result takes it over."""
    kind = next(i.type for i in graph.inputs if i.name == name)
    shape = sizes_text(kind.shape)
    dtype = f"torch.{kind.dtype.torch_name}"
    if kind.dtype.is_float:
        dtype = f"torch.float64 if wide else {dtype}"
    if kind.stride != contiguous_strides(kind.shape):
        lies = f"torch.empty_strided({shape}, {sizes_text(kind.stride)}, "
        return f"{local_name(name)} = {lies}dtype={dtype}, device=device).zero_()"
    return f"{local_name(name)} = torch.zeros({shape}, dtype={dtype}, device=device)"


def sizes_text(sizes: Sequence[sympy.Expr]) -> str:
    """Sizes as a Python tuple."""
    inside = ", ".join(size_text(s) for s in sizes)
    return f"({inside},)" if len(sizes) == 1 else f"({inside})"


def triton_signature(dtype: DType) -> str:
    """Triton's name of a pointer to ``dtype`` in a signature: ``*fp32``, ``*bf16``, ``*i1``."""
    kind, digits = re.fullmatch(r"([a-z]+)(.*)", dtype.triton_name).groups()  # type: ignore[union-attr]
    return f"*{_SHORT[kind]}{digits}"


_SHORT = {"float": "fp", "bfloat": "bf", "int": "i", "uint": "u"}


def is_inexact(node: Node) -> bool:
    """Whether two correct implementations of this call may differ in the last places."""
    floating = isinstance(node.type, TensorType) and node.type.dtype.is_float
    return floating and inexact(node.op, node.args)


def inexact(op: str, args: Sequence[object]) -> bool:
    """The same of a call with a floating result. Whole powers and divisions by a power of two do
    not count: they are exact wherever their result is representable, and steps over integers rely
    on that."""
    name = op.partition(".")[2].partition(".")[0]
    if name not in _INEXACT or op.startswith("aten.div.Tensor_mode"):
        return False
    operand = args[1] if len(args) > 1 else None
    if isinstance(operand, sympy.Expr) and operand.is_number:
        operand = float(operand)
    if not isinstance(operand, int | float):
        return True
    if name == "div":
        return abs(math.frexp(operand)[0]) != 0.5
    return name != "pow" or not float(operand).is_integer()


def jumps(nodes: Iterable[Node], types: Mapping[str, ValueType]) -> bool:
    """Whether the result of ``nodes``, of values with ``types``, jumps somewhere (a floor, a
    comparison, a conversion to an integer): next to it two correct programs may differ by a whole
    step, for a logarithm or a division was rounded differently before. A module's check then also
    accepts what the reference gives when such functions are a few units of the last place off."""
    for node in nodes:
        found = (types.get(name) for name in node.refs())
        if not any(isinstance(t, TensorType) and t.dtype.is_float for t in found):
            continue
        if node.packet in _JUMPING or node.op.startswith("aten.div.Tensor_mode"):
            return True
        dtypes = [result.dtype for result in tensors_of(node.type)]
        if any(not dtype.is_float or dtype.is_float8 for dtype in dtypes):
            return True
    return False
