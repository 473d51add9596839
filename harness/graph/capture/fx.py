"""From torch.fx to the harness's own graph.

The input is what AOTAutograd hands to a compiler: a functional ATen graph whose nodes carry fake
tensors. Everything about devices is dropped; writes into inputs, which such a graph has only as
``copy_`` at its end, become ``Mutation``s; size arithmetic is folded into expressions.
"""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sympy
import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.fx.experimental._backward_state import BackwardState
from torch.utils._pytree import tree_leaves

from harness.dtypes import DType, from_torch_name
from harness.errors import CaptureFailed
from harness.graph.capture.libraries.calls import WRITES, fixed, from_first
from harness.graph.model import Arg, Graph, Input, Mutation, Node, Ref, TensorType, Token, ValueType
from harness.ir.index import FloorDiv, Mod, Number, multiples, nearest, ratio_of, size_symbol
from harness.ir.simplify import in_parts

_DEVICE_ARGUMENTS = frozenset({"device", "pin_memory"})
_FRAME = re.compile(r'^\s*File "(?P<file>.*)", line (?P<line>\d+), in (?P<function>.*)$')
TORCH_FOLDER = os.path.dirname(torch.__file__) + os.sep
_OWN_FOLDER = str(Path(__file__).absolute().parents[2]) + os.sep
_MAX_CODE = 90
_ARITHMETIC = {
    torch.sym_float: None,
    torch.sym_sqrt: torch.ops.aten.sqrt.default,
    operator.truediv: torch.ops.aten.div.Tensor,
    operator.pow: torch.ops.aten.pow.Tensor_Tensor,
    **{getattr(operator, op): getattr(torch.ops.aten, op).Tensor for op in ("mul", "add", "sub")},
}
"""What numbers that follow from sizes are computed by: in Python, and in a graph."""
_OF_NUMBERS: dict[object, object] = {
    getattr(torch.ops.aten, op).Scalar: getattr(torch.ops.aten, op).Tensor
    for op in ("mul", "div", "add", "sub")
} | {
    torch.ops.aten.scalar_tensor.default: torch.ops.aten._to_copy.default,
    torch.ops.aten.div.Tensor_mode: torch.ops.aten.div.Tensor_mode,
}
_GRADIENT_NOTE = "Gradient addition node"  # appended by torch to the line of code


@dataclass(frozen=True)
class Conversion:
    """A graph and how its inputs and outputs correspond to those of the fx graph.

    ``positions[i]`` is the index, among the fx placeholders, of the graph's input
    ``i``; inputs past the end of ``positions`` are ``constants``: tensors that were
    attributes of the fx module, in order. ``sizes`` are the unknown sizes among the fx
    placeholders, with their indices, and ``literals`` the outputs that are numbers, by place:
    sizes, constants, or what a function makes of them, which stands before its arguments.
    """

    graph: Graph
    positions: tuple[int, ...]
    constants: tuple[torch.Tensor, ...]
    sizes: Mapping[sympy.Symbol, int]
    literals: Mapping[int, object]


@dataclass(frozen=True)
class Naming:
    """What the caller knows about the values of an fx graph, by fx node name."""

    names: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    """Attribute path that is left out of module paths."""


def convert(
    gm: fx.GraphModule,
    name: str,
    naming: Naming | None = None,
    facts: Sequence[tuple[str, str]] = (),
) -> Conversion:
    """The graph called ``name`` that ``gm`` computes, and how inputs and outputs correspond. Raises
    ``CaptureFailed`` for values that have no place in a graph (sparse tensors, sizes that depend
    on data)."""
    reader = _Reader(gm, naming or Naming())
    for number, node in enumerate(n for n in gm.graph.nodes if n.op == "placeholder"):
        reader.placeholder(number, node)
    for node in gm.graph.nodes:
        reader.visit(node)
    graph = Graph(
        name=name,
        inputs=tuple(reader.inputs),
        nodes=tuple(reader.nodes),
        outputs=tuple(reader.outputs),
        mutations=tuple(reader.mutations),
        facts=tuple(facts),
    )
    return Conversion(
        graph, tuple(reader.positions), tuple(reader.constants), reader.sizes, reader.literals
    )


class _Reader:
    """One pass over an fx graph; collects the parts of the graph."""

    def __init__(self, gm: fx.GraphModule, naming: Naming) -> None:
        self.gm = gm
        self.naming = naming
        self.inputs: list[Input] = []
        self.positions: list[int] = []
        self.constants: list[torch.Tensor] = []
        self.nodes: list[Node] = []
        self.outputs: list[str | None] = []
        self.sizes: dict[sympy.Symbol, int] = {}
        self.literals: dict[int, object] = {}
        self.mutations: list[Mutation] = []
        self._values: dict[fx.Node, Arg] = {}
        self._mutated: dict[str, str] = {}
        self._sources: dict[object, str] = {}
        self._is_backward = any(
            n.op == "placeholder" and "tangents" in str(n.target) for n in gm.graph.nodes
        )

    def placeholder(self, number: int, node: fx.Node) -> None:
        """Take one placeholder: a tensor becomes an input, a size an expression."""
        if "val" not in node.meta:
            return  # a number that is known, which nothing reads
        value = fixed(node.meta["val"])
        if not isinstance(value, torch.Tensor):
            try:
                self._values[node] = self._argument(value, node)
            except CaptureFailed:  # it was computed before, however that was
                self._values[node] = made = Number(node.name)
                self.sizes[made] = number
            if isinstance(value, torch.SymInt) and value.node.expr.is_Symbol:
                self.sizes = dict.fromkeys(size_expr(value).free_symbols, number) | self.sizes
            return
        name = self._name(node)
        if value.is_neg():
            raise CaptureFailed("the memory of an input holds its negative", where=name)
        role = "saved" if self._is_backward else "data"
        role = "gradient" if "tangents" in str(node.target) else role
        role = self.naming.roles.get(node.name, role)
        self.inputs.append(Input(name, tensor_type(value), role))
        self.positions.append(number)
        self._values[node] = Ref(name)

    def visit(self, node: fx.Node) -> None:
        """Take one node that is not a placeholder."""
        if node.op == "get_attr":
            self._attribute(node)
        elif node.op == "call_function":
            self._call(node)
        elif node.op == "output":
            self._output(node)
        elif node.op != "placeholder":
            raise CaptureFailed(
                f"the traced graph holds a {node.op} of {node.target}",
                where=source_of(node),
                expected="operator calls only",
                remedy="trace through AOTAutograd, which leaves nothing but operators",
            )

    def _call(self, node: fx.Node) -> None:
        value = fixed(node.meta.get("val"))
        if isinstance(value, (torch.SymInt, int, float)) and not isinstance(value, bool):
            self._values[node] = self._argument(value, node)
            return
        if isinstance(value, (torch.SymFloat, torch.SymBool)) and _counts(node):
            return  # what uses it is a size, whose expression says everything, or an output
        if isinstance(value, torch.SymFloat) and node.target in _ARITHMETIC:
            self._values[node] = self._number(node, _ARITHMETIC[node.target])
            return
        if node.target in WRITES:
            self._mutation(node)
            return
        name, source = self._name(node), self._source(node)
        self.nodes.append(
            Node(
                name=name,
                op=op_name(self._target(node), node),
                args=tuple(self._argument(a, node) for a in from_first(node)),
                kwargs=tuple(
                    (key, self._argument(value, node))
                    for key, value in node.kwargs.items()
                    if key not in _DEVICE_ARGUMENTS and value is not torch.strided
                ),
                type=_value_type(value, source or str(node.target)),
                source=source,
                module=self._module(node),
            )
        )
        self._values[node] = Ref(name)

    def _target(self, node: fx.Node) -> object:
        """What a node calls: for a number that is a tensor here, the operator on tensors. What has
        no memory of its own gets it: a gradient known to be zero, a lazily conjugated copy."""
        if node.target is torch.ops.aten._efficientzerotensor.default:
            return torch.ops.aten.zeros.default
        copied = node.all_input_nodes if node.target is torch.ops.aten.clone.default else ()
        if any(one.meta["val"].is_conj() for one in copied):
            return torch.ops.aten._to_copy.default
        numbers = [n for n in node.all_input_nodes if isinstance(n.meta.get("val"), torch.SymFloat)]
        return _OF_NUMBERS.get(node.target, node.target) if numbers else node.target

    def _number(self, node: fx.Node, operation: Any) -> Ref:
        """A number made of sizes as a tensor of rank 0, which float tensors are combined with
        as with a number."""
        for user in (user for user in node.users if user.op != "output"):
            others = [n.meta.get("val") for n in user.all_input_nodes if n is not node]
            floats = [isinstance(v, torch.Tensor) and v.is_floating_point() for v in others]
            takes = user.target in _OF_NUMBERS or user.target in _ARITHMETIC.values()
            if user.target not in _ARITHMETIC and not (takes and all(floats)):
                raise CaptureFailed(
                    "a ratio of sizes is used for something other than scaling a tensor",
                    where=source_of(user),
                    got=str(user.target),
                    expected="a product, quotient, sum or difference with a tensor of floats",
                )
        name, kind, source = self._name(node), TensorType(DType.F64, (), ()), source_of(node)
        parts = []
        for place, given in enumerate(node.args):
            part = self._argument(given, node)
            if not isinstance(part, Ref):
                full = Ref(f"{name}_operand_{place}")
                dtype = (("dtype", DType.F64),)
                self.nodes.append(
                    Node(full.name, "aten.full.default", ((), part), dtype, kind, source)
                )
                part = full
            parts.append(part)
        if operation is None:
            return parts[0]
        self.nodes.append(Node(name, str(operation), tuple(parts), (), kind, source))
        return Ref(name)

    def _mutation(self, node: fx.Node) -> None:
        target, value = (self._argument(a, node) for a in node.args[:2])
        names = {i.name for i in self.inputs if node.target is WRITES[0]}
        if not (isinstance(target, Ref) and isinstance(value, Ref) and target.name in names):
            raise CaptureFailed(
                "the traced graph changes something other than the contents of an input",
                where=source_of(node),
                got=node.format_node() or "",
                remedy="the graph must be functionalised before it is converted",
            )
        self._mutated[target.name] = value.name
        self.mutations = [Mutation(i, v) for i, v in self._mutated.items()]
        self._values[node] = value

    def _attribute(self, node: fx.Node) -> None:
        value: Any = operator.attrgetter(str(node.target))(self.gm)
        if not isinstance(value, torch.Tensor):
            user = next(iter(node.users), node)
            raise CaptureFailed(
                f"the traced graph hands on {node.target}, which is no tensor",
                where=source_of(user),
                got=str(user.target),
                expected="operators of tensors: a graph file has no control flow",
                remedy="capture what is around it; torch.compile takes it as it is",
            )
        name = self._name(node)
        self._values[node] = Ref(name)
        constant = _scalar_value(value)
        kind = tensor_type(value)
        if constant is not None:
            kwargs = (("dtype", kind.dtype),)
            self.nodes.append(Node(name, "aten.full.default", ((), constant), kwargs, kind))
            return
        self.inputs.append(Input(name, kind, "buffer"))
        self.constants.append(value)

    def _output(self, node: fx.Node) -> None:
        for item in tree_leaves(node.args[0]):
            value = self._returned(item)
            self.outputs.append(value.name if isinstance(value, Ref) else None)
            if value is not None and not isinstance(value, Ref):
                self.literals[len(self.outputs) - 1] = value

    def _returned(self, item: object) -> object:
        """A tensor, or a number as of ``Conversion.literals``."""
        if not isinstance(item, fx.Node):
            return item
        if not isinstance(fixed(item.meta.get("val")), (torch.SymFloat, torch.SymBool)):
            return self._values[item]
        if item.op != "call_function" or isinstance(item.target, torch._ops.OpOverload):
            raise CaptureFailed("a number that is returned depends on data", source_of(item))
        return (item.target, *map(self._returned, item.args))

    def _argument(self, value: object, node: fx.Node) -> Arg:
        match value:
            case fx.Node():
                return self._values[value]
            case float() if math.isnan(value):
                return math.nan  # one object, so that equal graphs compare equal
            case None | bool() | int() | float() | complex() | str():
                return value
            case torch.SymInt():
                size = size_expr(value)
                return int(size) if size.is_Integer else size
            case torch.dtype():
                return dtype_of(value, self._source(node))
            case torch.memory_format() | torch.layout():
                return Token(str(value).removeprefix("torch."))
            case torch.device():
                return None
            case BackwardState():  # where hooks are for compiled autograd: only handed on
                return Number(node.name)
            case list() | tuple():
                return tuple(self._argument(v, node) for v in value)
            case _:
                raise CaptureFailed(
                    f"a value at {node.target} has no place in a graph",
                    where=source_of(node),
                    got=f"{value!r} ({type(value).__name__})",
                    expected="tensors, numbers, types, memory formats, text, lists of these",
                )

    def _source(self, node: fx.Node) -> str:
        trace = node.meta.get("stack_trace")  # one for all that a line is taken apart into
        return self._sources.get(trace) or self._sources.setdefault(trace, source_of(node))

    def _module(self, node: fx.Node) -> str:
        path = module_of(node)
        prefix = self.naming.prefix
        return path.removeprefix(prefix).lstrip(".") if prefix else path

    def _name(self, node: fx.Node) -> str:
        return self.naming.names.get(node.name, node.name)


def _scalar_value(value: torch.Tensor) -> bool | int | float | None:
    """The number a constant tensor of rank 0 holds, if it is one with known contents."""
    if isinstance(value, FakeTensor):
        value = value.constant if value.constant is not None else value
    if isinstance(value, FakeTensor) or value.dim() != 0 or value.is_complex():
        return None
    with real_tensors():
        number: bool | int | float = value.item()
    return number


real_tensors: Callable[[], AbstractContextManager[Any]] = unset_fake_temporarily
"""A context in which tensors have contents, within a trace on fake tensors too."""


def _value_type(value: object, where: str) -> ValueType:
    match value:
        case torch.Tensor():
            return tensor_type(value, where)
        case list() | tuple():
            return tuple(tensor_type(v, where) if torch.is_tensor(v) else None for v in value)
        case _:
            return None


def tensor_type(value: torch.Tensor, where: str = "") -> TensorType:
    """Element type, sizes and strides of a (fake) tensor."""
    if value.layout is not torch.strided:
        raise CaptureFailed(
            "a tensor of the traced graph is not strided",
            where=where,
            got=str(value.layout),
            expected="torch.strided",
        )
    return TensorType(
        dtype_of(value.dtype, where),
        tuple(size_expr(n) for n in value.shape),
        tuple(size_expr(n) for n in value.stride()),
    )


def dtype_of(dtype: torch.dtype, where: str = "") -> DType:
    """The harness's name of a torch element type."""
    try:
        return from_torch_name(str(dtype))
    except KeyError:
        raise CaptureFailed(
            f"element type {dtype} is not known",
            where=where,
            expected=", ".join(d.torch_name for d in DType),
            remedy="rewrite that part of the model, e.g. complex numbers as sine and cosine",
        ) from None


def size_expr(size: int | torch.SymInt) -> sympy.Expr:
    """A size as an expression over the harness's own symbols and functions."""
    if not isinstance(size, torch.SymInt):
        return sympy.Integer(size)
    env = size.node.shape_env
    expr = _translate(sympy.sympify(size.node.expr), env)
    found = multiples(tuple(guard.expr for guard in env.guards))
    known = ((_translate(symbol, env), n) for symbol, n in found.items())
    return in_parts(expr, tuple(one for one in known if one[0].is_Symbol and one[0].is_positive))


def _translate(expr: sympy.Expr, env: Any) -> sympy.Expr:
    if isinstance(expr, sympy.Symbol):
        # A number that the caller passes may be any, unless torch has checked it. A size that data
        # tell is at least one, or else known to be 0 (``executor.specialising.counted``).
        if expr not in env.var_to_range:
            return Number(expr.name)  # a ragged size, of which no tensor here is
        least, most = env.var_to_range[expr].lower, env.var_to_range[expr].upper
        if least == most:
            return least
        positive = expr.is_positive or bool(least >= 0 if expr.name[0] == "u" else least >= 1)
        return size_symbol(expr.name) if positive else Number(expr.name)
    if not expr.args:
        return expr
    if (whole := _WHOLE.get(type(expr).__name__)) and (ratio := ratio_of(expr.args[0])):
        size, above, below = ratio
        return whole(_translate(size, env) * above, below)
    functions: dict[str, Callable[..., sympy.Expr]] = {"Max": sympy.Max, "Min": sympy.Min}
    functions |= {"FloorDiv": FloorDiv, "CleanDiv": FloorDiv, "Mod": Mod, "PythonMod": Mod}
    name = type(expr).__name__
    if name not in functions and not (expr.is_Add or expr.is_Mul or expr.is_Pow):
        exact = "integers, or a factor that floats hold exactly, such as 1.5"
        raise CaptureFailed("a size is computed in floating point", "", str(expr), exact)
    return functions.get(name, expr.func)(*(_translate(a, env) for a in expr.args))


def _counts(node: fx.Node) -> bool:
    """Whether a number that is no whole one is returned, or only sizes are made of it."""
    made = [(user, user.meta.get("val")) for user in node.users]
    return bool(made) and all(
        user.op == "output"
        or isinstance(v, torch.SymInt)
        or (isinstance(v, (torch.SymFloat, torch.SymBool)) and _counts(user))
        for user, v in made
    )


_WHOLE = {
    "TruncToInt": FloorDiv,
    "FloorToInt": FloorDiv,
    "CeilToInt": lambda number, divisor: FloorDiv(number + divisor - 1, divisor),
    "RoundToInt": nearest,
}
"""Functions that make whole numbers of a quotient, of a size and a number, in torch's words."""


def op_name(target: object, node: fx.Node) -> str:
    """Full overload name of a call's target (``aten.add.Tensor``), or ``getitem``."""
    if target is operator.getitem:
        return "getitem"
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    raise CaptureFailed(
        f"the traced graph calls {target}, which is not an operator",
        where=source_of(node),
        expected="an operator overload such as aten.add.Tensor",
        remedy="a graph file holds no graphs that graphs call (cond, flex attention, …); "
        'torch.compile(…, backend="harness") compiles around and inside them',
    )


def source_of(node: fx.Node) -> str:
    """The model line a node came from (``source_in``)."""
    return source_in(str(node.meta.get("stack_trace") or ""))


def source_in(trace: str) -> str:
    """``file.py:line in function: code`` of the model's line in a ``trace``. The innermost frame
    outside torch, because ``functional.py: return torch.…`` says nothing about the model; empty if
    no line was recorded."""
    lines, found = trace.splitlines(), ""
    for number, line in enumerate(lines):
        match = _FRAME.match(line)
        if match is None or match["file"].startswith((_OWN_FOLDER, "<eval_with_key>")):
            continue
        if found and match["file"].startswith(TORCH_FOLDER):
            continue
        code = lines[number + 1].strip() if number + 1 < len(lines) else ""
        code = code.split(_GRADIENT_NOTE)[0]
        if _FRAME.match(code):
            code = ""
        if len(code) > _MAX_CODE:
            code = code[: _MAX_CODE - 1] + "…"
        text = f"{os.path.basename(match['file'])}:{match['line']} in {match['function']}"
        found = f"{text}: {code}" if code else text
    return found


def module_of(node: fx.Node) -> str:
    """Path of the innermost module a node was traced in, e.g. ``model.layers.0.mlp``."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    if not stack:
        return ""
    path = re.sub(r"^L\['?\w+'?\]\.?", "", str(list(stack.values())[-1][0]))
    return re.sub(r"\['?(\w+)'?\]", r".\1", path)
