"""Graphs that call graphs: the control stays on the host, everything around and inside is compiled.

``torch.cond``, ``while_loop``, ``scan``, ``map`` and what else torch calls a higher-order operator
are nodes that take graphs as arguments. Such a graph is cut at these nodes. What lies between is
compiled part by part, and so are the branches and bodies, each as a graph of its own.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import fx
from torch.utils import _pytree as pytree

from harness.graph.capture.aot import normalise, plain_effects, run_eagerly

CompilePart: TypeAlias = Callable[[str, fx.GraphModule, Sequence[Any]], Callable[..., Any]]
"""(name, graph, its fake inputs) → a function of a list of arguments."""

_ON_TENSORS = (
    "cond",
    "while_loop",
    "while_loop_stack_output",
    "scan",
    "map_impl",
    "invoke_subgraph",
)
"""Operators that run a graph on tensors of the sizes it was traced with; the others (flex
attention, a scan by halves) run theirs on batches, within transformations of torch."""


def has_control(gm: fx.GraphModule) -> bool:
    """Whether a node of ``gm`` is a higher-order operator."""
    return any(_is_control(node) for node in gm.graph.nodes)


def in_parts(
    gm: fx.GraphModule, compile_part: CompilePart
) -> tuple[Callable[..., Any], tuple[tuple[str, int], ...]]:
    """A function of a list of arguments that computes ``gm``, and how many nodes of which
    higher-order operator torch runs in it."""
    cut = _Cut(gm, compile_part)
    for node in gm.graph.nodes:
        cut.take(node)
    cut.outer.lint()
    return run_eagerly(fx.GraphModule(cut.root, cut.outer)), tuple(sorted(cut.counts.items()))


class _Compiled(torch.nn.Module):
    """A part as what a graph can call; ``spec`` is how its results are nested."""

    def __init__(self, run: Callable[..., Any], spec: pytree.TreeSpec) -> None:
        super().__init__()
        self.run, self.spec = run, spec

    def forward(self, *args: Any) -> Any:
        # Flat where it was compiled, nested where torch runs it.
        return pytree.tree_unflatten(pytree.tree_leaves(self.run(list(args))), self.spec)


@dataclass(eq=False, slots=True)
class _Cut:
    """The graph that is left when parts are taken out of ``gm``."""

    gm: fx.GraphModule
    compile_part: CompilePart
    outer: fx.Graph = field(default_factory=fx.Graph)
    root: torch.nn.Module = field(default_factory=torch.nn.Module)
    counts: Counter[str] = field(default_factory=Counter)
    _made: dict[fx.Node, fx.Node] = field(default_factory=dict)
    _pending: list[fx.Node] = field(default_factory=list)
    _sizes: list[fx.Node] = field(default_factory=list)

    def take(self, node: fx.Node) -> None:
        """The next node."""
        if node in self._made:
            return
        if node.op == "placeholder" and isinstance(node.meta.get("val"), torch.SymInt):
            self._sizes.append(node)
        if self._stays(node):
            if node.op != "placeholder" and not _picks(node):
                self._flush()
            self._copy(node)
        elif not self._is_graph(node):
            self._pending.append(node)

    def _stays(self, node: fx.Node) -> bool:
        """Whether a node is left to the host: control, what picks its results, writes."""
        outside = node.op in ("placeholder", "output") or _is_control(node)
        written = node.target is torch.ops.aten.copy_.default
        return outside or written or (_picks(node) and node.args[0] in self._made)

    def _is_graph(self, node: fx.Node) -> bool:
        if node.op != "get_attr":
            return False
        return isinstance(operator.attrgetter(str(node.target))(self.gm), torch.nn.Module)

    def _copy(self, node: fx.Node) -> None:
        if _is_control(node):
            self.counts[str(node.target)] += 1
        self._made[node] = self.outer.node_copy(node, lambda given: self._argument(given, node))

    def _argument(self, given: fx.Node, user: fx.Node) -> fx.Node:
        """What stands for a node in ``user``, which stays: for a graph, the compiled one."""
        if given in self._made:
            return self._made[given]
        name = str(given.target)
        graph = operator.attrgetter(name)(self.gm)
        if getattr(user.target, "__name__", "") in _ON_TENSORS and isinstance(
            graph, fx.GraphModule
        ):
            plain_effects(graph)
            normalise(graph)
            graph = self._compiled(name, graph)
        own = name.replace(".", "_")
        self.root.add_module(own, graph)
        made = self._made[given] = self.outer.get_attr(own)
        return made

    def _compiled(self, name: str, graph: fx.GraphModule) -> _Compiled:
        inputs = [n.meta["val"] for n in graph.graph.nodes if n.op == "placeholder"]
        spec = pytree.tree_flatten(graph.graph.output_node().args[0])[1]
        return _Compiled(self.compile_part(name, graph, inputs), spec)

    def _flush(self) -> None:
        """Compile what has been met since the last node that stays."""
        inside = dict.fromkeys(self._pending)
        several = [n for n in inside if isinstance(n.meta.get("val"), list | tuple)]
        inside |= dict.fromkeys(user for n in several for user in n.users)
        self._pending = []
        results = [n for n in inside if any(user not in inside for user in n.users)]
        if not inside or not (results or any(n.is_impure() for n in inside)):
            return
        used = (n for node in inside for n in node.all_input_nodes if n not in inside)
        given = list(dict.fromkeys((*self._sizes, *used)))
        part = fx.GraphModule(self.gm, _graph_of(inside, given, results))
        name = f"part_{sum(n.op == 'call_module' for n in self.outer.nodes)}"
        self.root.add_module(name, self._compiled(name, part))
        call = self.outer.call_module(name, tuple(self._made[n] for n in given))
        for number, node in enumerate(results):
            self._made[node] = self.outer.call_function(operator.getitem, (call, number))


def _graph_of(
    inside: Iterable[fx.Node], given: Sequence[fx.Node], results: Sequence[fx.Node]
) -> fx.Graph:
    """The nodes ``inside`` as a graph of their own."""
    graph = fx.Graph()
    own: dict[fx.Node, fx.Node] = {}
    for node in given:
        own[node] = graph.placeholder(node.name)
        own[node].meta = dict(node.meta)
    for node in inside:
        own[node] = graph.node_copy(node, own.__getitem__)
    graph.output(tuple(own[n] for n in results))
    return graph


def _is_control(node: fx.Node) -> bool:
    return isinstance(node.target, torch._ops.HigherOrderOperator)


def _picks(node: fx.Node) -> bool:
    return node.target is operator.getitem
