"""Passes that make a graph smaller without changing what it computes. Each pass is a function from
graph to graph and keeps the names of all outputs and mutated values, so that they can be run in any
order."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping

import sympy

from harness.graph.model import Arg, Graph, Node, Ref, TensorType
from harness.graph.views import VIEW_OPS, root_name

RANDOM_NAMES = frozenset(
    (
        "_fused_dropout _sample_dirichlet _standard_gamma alpha_dropout bernoulli binomial cauchy "
        "dropout exponential geometric log_normal multinomial native_dropout normal "
        "normal_functional poisson rand rand_like randint randint_like randn randn_like randperm "
        "rrelu_with_noise rrelu_with_noise_functional seeds uniform"
    ).split()
)
"""Operators (without namespace and overload) that give another result each time."""

_SAME_TYPE_MEANS_SAME_VALUE = frozenset(
    (
        "_to_copy _unsafe_view alias clone convert_element_type detach expand lift_fresh_copy "
        "reshape slice view"
    ).split()
)
"""Operators that change nothing if the result has the argument's type and layout."""


def draws(node: Node) -> bool:
    """Whether a call takes numbers from torch's generator. Attention and recurrent layers do with
    dropout, whose probability is their only float besides what has to be named."""
    forward = "attention" in node.packet and "backward" not in node.packet
    if not forward and node.packet != "_cudnn_rnn":
        return node.packet in RANDOM_NAMES
    dropout = (*node.args, dict(node.kwargs).get("dropout_p"))
    return any(isinstance(one, float) and one > 0 for one in dropout)


def clean(graph: Graph) -> Graph:
    """The passes in their order: empty tensors, no-ops, dead code."""
    return remove_dead(remove_no_ops(remove_dead(fold_empty(graph))))


def kept_names(graph: Graph) -> frozenset[str]:
    """Values that must keep their names: outputs, and the values of mutations."""
    return frozenset(graph.results).union(m.value for m in graph.mutations)


def remove_dead(graph: Graph) -> Graph:
    """Without the nodes that no output and no mutation depends on. A call without a result is
    there for its effect (``_assert_async``), one that has torch draw for the numbers after it."""
    live = set(kept_names(graph))
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.name in live or node.type is None or (draws(node) and node.packet != "seeds"):
            kept.append(node)
            live.update(node.refs())
    return dataclasses.replace(graph, nodes=tuple(reversed(kept)))


def fold_empty(graph: Graph) -> Graph:
    """Without work on empty tensors, so that no later stage meets an iteration space without
    points: a result without elements, and one of a call all of whose tensors are empty (a sum
    over nothing), is a constant. What the constant is, the operator itself says. A change of an
    input without elements is none."""
    kinds = ((name, t) for name, t in graph.types().items() if isinstance(t, TensorType))
    empty = {name for name, kind in kinds if any(n.is_zero for n in kind.shape)}
    if not empty:
        return graph
    known: dict[str, tuple[object, ...]] = {}
    nodes: list[Node] = []
    # A view by strides reads the memory that an empty view is of.
    keep = {*RANDOM_NAMES, "as_strided"}
    viewed: set[str] = set()
    for node in reversed(graph.nodes):
        if node.packet == "as_strided" or (node.name in viewed and node.op in VIEW_OPS):
            viewed.update(node.refs())
    for node in graph.nodes:
        refs = list(node.refs())
        number: object = None
        if node.name in empty and node.name not in viewed:
            number = 0
        elif node.op == "getitem" and refs[0] in known:
            number = known[refs[0]][int(node.args[1])]  # type: ignore[arg-type]
        elif refs and empty.issuperset(refs) and node.packet not in keep:
            known[node.name] = _results_of_nothing(node, graph)
            number = known[node.name][0] if isinstance(node.type, TensorType) else None
        if isinstance(node.type, TensorType) and isinstance(number, bool | int | float):
            kwargs = (("dtype", node.type.dtype),)
            args = (node.type.shape, number)
            node = dataclasses.replace(node, op="aten.full.default", args=args, kwargs=kwargs)
        nodes.append(node)
    mutations = tuple(m for m in graph.mutations if m.input not in empty)
    return dataclasses.replace(graph, nodes=tuple(nodes), mutations=mutations)


def _results_of_nothing(node: Node, graph: Graph) -> tuple[object, ...]:
    """The number that each result of a call on empty tensors consists of, if it is one."""
    import torch

    from harness.graph.capture.fx import real_tensors
    from harness.graph.replay import call_node, torch_dtype

    types, values = graph.types(), {}
    numbers: list[object] = []
    with real_tensors():
        for name in node.refs():
            kind = types[name]
            assert isinstance(kind, TensorType)
            shape = [int(_small(n)) for n in kind.shape]
            values[name] = torch.empty(shape, dtype=torch_dtype(kind.dtype), device="cpu")
        small = _with_args(node, lambda arg: _small(arg) if isinstance(arg, sympy.Expr) else arg)
        made = call_node(small, values, torch.device("cpu"))
        for part in made if isinstance(made, tuple | list) else (made,):
            found = part.reshape(-1).tolist() if isinstance(part, torch.Tensor) else []
            same = found and all(repr(number) == repr(found[0]) for number in found)
            numbers.append(found[0] if same else None)
    return tuple(numbers)


def _small(size: sympy.Expr) -> sympy.Expr:
    """``size`` with 2 for every unknown: how many equal numbers there are does not change them."""
    return size.xreplace({unknown: sympy.Integer(2) for unknown in size.free_symbols})


def remove_no_ops(graph: Graph) -> Graph:
    """Without calls that return their argument as it is (a view to the same shape, a conversion to
    the same type, a copy in the same layout, a slice put where it was). ``x[:3] += y`` is traced as
    two writes, the second of which is such a call: its name is the first one's."""
    types = graph.types()
    nodes, keep = {node.name: node for node in graph.nodes}, kept_names(graph)
    # What a caller gets shares memory only where the graph says so. (Most outputs of a captured
    # training graph are saved for its other half and nobody's to change: equal ones may be one.)
    if ("mode", "training") not in graph.facts:
        keep = keep.union(root_name(name, nodes) for name in keep)
    renamed: dict[str, str] = {}
    made: dict[str, Node] = {}
    for node in graph.nodes:
        node = rename_refs(node, renamed)
        if (same := _unchanged(node, made)) is not None and types[same] == node.type:
            if node.name not in keep:
                renamed[node.name] = same
                continue
            if same in made and made[same].packet == node.packet == "slice_scatter":
                node = dataclasses.replace(made[same], name=node.name)
        made[node.name] = node
    return dataclasses.replace(graph, nodes=tuple(made.values()))


def _unchanged(node: Node, made: Mapping[str, Node]) -> str | None:
    """The argument that ``node`` returns if the types are the same."""
    first = node.args[0] if node.args else None
    if not isinstance(first, Ref):
        return None
    if node.packet in _SAME_TYPE_MEANS_SAME_VALUE:
        return first.name
    second = node.args[1] if len(node.args) > 1 else None
    if node.packet == "copy":
        return first.name if second == first else None
    if node.packet == "slice_scatter" and isinstance(second, Ref) and second.name in made:
        source = made[second.name]
        if source.op == "aten.slice.Tensor" and source.args == (first, *node.args[2:]):
            return first.name
    return None


def rename_refs(node: Node, renamed: Mapping[str, str]) -> Node:
    """``node`` with the values it uses renamed; the same object if none is."""
    if renamed.keys().isdisjoint(node.refs()):
        return node

    def rename(arg: Arg) -> Arg:
        return Ref(renamed.get(arg.name, arg.name)) if isinstance(arg, Ref) else arg

    return _with_args(node, rename)


def _with_args(node: Node, change: Callable[[Arg], Arg]) -> Node:
    """``node`` with every argument changed, those inside tuples too."""

    def changed(arg: Arg) -> Arg:
        return tuple(map(changed, arg)) if isinstance(arg, tuple) else change(arg)

    kwargs = tuple((key, changed(value)) for key, value in node.kwargs)
    return dataclasses.replace(node, args=tuple(map(changed, node.args)), kwargs=kwargs)


def structure_key(graph: Graph) -> object:
    """A hashable key that is equal for graphs which differ in nothing but names."""
    place = {name: number for number, name in enumerate(graph.types())}
    return (
        tuple((item.type, item.role, item.bound) for item in graph.inputs),
        tuple((n.op, argument_key((n.args, n.kwargs), place), n.type) for n in graph.nodes),
        tuple(None if name is None else place[name] for name in graph.outputs),
        tuple((place[m.input], place[m.value]) for m in graph.mutations),
    )


def argument_key(arg: Arg | Iterable[object], place: Mapping[str, int]) -> object:
    """A hashable key that tells apart what ``==`` does not: 1, 1.0 and True, 0.0 and -0.0. Values
    are known by their ``place``."""
    match arg:
        case tuple():
            return tuple(argument_key(item, place) for item in arg)
        case Ref(name=name):
            return (Ref, place[name])
        case bool() | float() | complex():
            return (type(arg).__name__, repr(arg))
        case _:
            return arg
