"""A graph's host function: its partition, step by step."""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeGuard

import sympy
import torch

from harness.dtypes import DType
from harness.executor.hosttext import Host, HostText, Layout, listing, unpacking
from harness.executor.regions import Value
from harness.executor.views import Viewed, ViewPlan
from harness.graph import replay
from harness.graph.calltext import call_kwargs, is_factory
from harness.graph.model import (
    DIFFERENTIABLE,
    Arg,
    Graph,
    HostCall,
    Input,
    Mutation,
    Node,
    Partition,
    Ref,
    Region,
    TensorType,
    Token,
)
from harness.graph.own_operators import draw_seeds, interleaved_mm, windows_mm
from harness.graph.text import print_argument
from harness.graph.views import GETITEM, VIEW_OPS, root_name

_OWN_RESULT = frozenset(
    (
        "aten.addmm.default aten.baddbmm.default aten.bmm.default aten.convolution.default "
        "aten.mm.default harness.windows_mm.default"
    ).split()
)
"""Library calls whose result lies in memory of its own, of just its size."""

_OWN_RESULTS = frozenset({"aten.convolution_backward.default"})
"""Those of which that holds for each of several results."""


def spare_inputs(
    partition: Partition, plan: ViewPlan, together: Mapping[str, Iterable[str]], lent: Iterable[str]
) -> dict[str, set[str]]:
    """By region, the inputs that it may overwrite: results of regions, and of calls that own their
    memory, that are no output and that nothing beside or after the region reads, by any view.

    ``together`` are the regions that a region is launched with, when the first is due. ``lent``
    are values that share memory with something else, besides those that a library call may view.
    """
    roots, readers, shared = _followed(partition, plan)
    graph = partition.graph
    shared.update(roots[name] for name in (*lent, *graph.outputs) if name in roots)
    regions = {s.name: (n, s) for n, s in enumerate(partition.steps) if isinstance(s, Region)}
    elements = {n: t.numel for n, t in graph.types().items() if isinstance(t, TensorType)}
    found = {}
    for name, (at, region) in regions.items():
        before = min(regions[other][0] for other in together.get(name, (name,)))
        given = [name for name in region.graph.given if name in roots]
        read = Counter(roots[value] for value in given)
        found[name] = {
            value
            for value in given
            if roots[value] not in shared
            and read[roots[value]] == 1
            and all(other == at or other < before for other in readers[roots[value]])
            and elements[value] == elements[roots[value]]
        }
    return found


def _followed(
    partition: Partition, plan: ViewPlan
) -> tuple[dict[str, str], dict[str, set[int]], set[str]]:
    """By value the one whose memory it lies in; by the latter the steps that read it; and those of
    them that something else may be a view of."""
    roots: dict[str, str] = {}
    readers: dict[str, set[int]] = {}
    shared: set[str] = set()
    ops = {node.name: node.op for node in partition.graph.nodes}
    parts = Counter(node.args for node in partition.graph.nodes if node.op == GETITEM)
    for number, step in enumerate(partition.steps):
        if plan.is_collapsed(step):
            root = plan.views[step.node.name].root
            if root in roots:
                roots[step.node.name] = roots[root]
            continue
        if isinstance(step, Region):
            read, made = step.graph.given, step.graph.results
        else:
            read = tuple(step.node.refs())
            part = step.node.op == GETITEM and ops.get(read[0]) in _OWN_RESULTS
            owns = step.node.op in _OWN_RESULT or (part and parts[step.node.args] == 1)
            made = (step.node.name,) if owns else ()
            if not owns and step.node.op not in _OWN_RESULTS:
                shared.update(roots[name] for name in read if name in roots)
        for name in read:
            if name in roots:
                readers[roots[name]].add(number)
        for name in made:
            roots[name], readers[name] = name, set()
    return roots, readers, shared


WriteRegion: TypeAlias = "Callable[[Region, Callable[[Region], list[Value]]], list[Value] | None]"
"""Adds a region's lines and gives its outputs' values, once it has asked for those of its inputs,
and of other regions' that it runs together with; None if torch is to run it, operator after
operator."""


_QUICK: dict[str, Callable[..., Any]] = {
    **{
        f"aten.{name}": getattr(torch, name.split(".")[0])
        for name in (
            "addmm.default as_strided.default baddbmm.default bmm.default clone.default "
            "convolution.default mm.default permute.default squeeze.dim t.default transpose.int "
            "unsqueeze.default"
        ).split()
    },
    # It refuses a tensor with a gradient that is not contiguous: an input whose copy is written to.
    "aten.as_strided_scatter.default": lambda x, *args: x.detach().as_strided_scatter(*args),
    "aten.expand.default": torch.Tensor.expand,
    "aten.view.default": torch.Tensor.view,
    "getitem": operator.getitem,
    "harness.interleaved_mm.default": interleaved_mm,
    "harness.seeds.default": draw_seeds,
    "harness.windows_mm.default": windows_mm,
}
"""Functions that are the operator with the same arguments, and reach it sooner than
``torch.ops`` does (about half a microsecond)."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes that only a call knows, besides those that are read off the inputs' shapes:
    ``given`` to the host function after its tensors, ``returned`` in places of its outputs."""

    given: tuple[sympy.Symbol, ...] = ()
    returned: Mapping[int, object] = field(default_factory=dict)


NO_SIZES = Sizes()


class GraphWriter:
    """Writes ``partition`` into ``text``: regions by ``region``, everything else as calls of
    torch on ``host``'s device. ``together`` and ``lent`` as of ``spare_inputs``."""

    def __init__(
        self,
        text: HostText,
        host: Host,
        partition: Partition,
        region: WriteRegion,
        sizes: Sizes,
        together: Mapping[str, Iterable[str]],
        lent: Iterable[str],
    ) -> None:
        self.text, self.host, self.partition = text, host, partition
        self.region, self.sizes, self._plan = region, sizes, ViewPlan(partition)
        self._values, self._returned = dict[str, Value](), dict[str, str]()
        self._spare = spare_inputs(partition, self._plan, together, lent)
        graph, views = partition.graph, self._plan.views
        self._nodes = {node.name: node for node in graph.nodes}
        outputs = Counter(graph.results)
        # Outputs that no other output and no changed input shares.
        single = (n for n, count in outputs.items() if count == 1 and not graph.mutations)
        self._single = {*single}.difference(views[n].root for n in outputs if n in views)
        known = (*graph.results, *graph.given)
        self._memories = Counter(root_name(name, self._nodes) for name in known)

    def write(self, before: Sequence[str] = (), after: Sequence[str] = ()) -> None:
        """Add all lines: ``before`` the first step, ``after`` the last."""
        graph = self.partition.graph
        self._inputs(graph.inputs)
        self.text.add(*before)
        late = [Mutation(*s.node.refs()) for s in self.partition.steps if _is_update(s)]
        results = list(dict.fromkeys(graph.results))
        kept = {*results, *(m.input for m in graph.mutations), *(m.value for m in late)}
        steps = self.partition.steps
        unused = replay.last_uses([*map(self._plan.touched, steps)])
        for step, dead in zip(steps, unused, strict=True):
            self._step(step)
            self._drop(name for name in dead if name not in kept)
        if late:
            self._change(replace(graph, mutations=tuple(late)), results)
        self.text.add(*after)
        outputs = [
            "None" if n is None else self._returned.get(n) or self._values[n].variable
            for n in graph.outputs
        ]
        for place, number in self.sizes.returned.items():
            outputs[place] = self.text.number(number)
        self.text.add(f"return {listing(outputs)}")

    def _inputs(self, inputs: Sequence[Input]) -> None:
        """Name the inputs, check their sizes, find out whether kernels can read them."""
        for item in inputs:
            self._values[item.name] = Value(self.text.fresh(item.name), sure=False)
        variables = [self._values[item.name].variable for item in inputs]
        check = functools.partial(
            replay.check_inputs, self.partition.graph, unknown=self.sizes.given
        )
        mismatch = self.text.bind(check, "mismatch")
        given = [*variables, *map(self.text.unknown, self.sizes.given)]
        self.text.add(f"if len(tensors) != {len(given)}: {mismatch}(tensors)")
        self.text.add(*unpacking(given, "tensors"))
        pairs = [(v, Layout.of(item.type)) for v, item in zip(variables, inputs, strict=True)]
        for variable, item in zip(variables, inputs, strict=True):
            self.text.measure(variable, item.type.shape)
        if pairs:
            shapes = [(v, self.text.numbers(layout.shape)) for v, layout in pairs]
            wrong = " or ".join(f"{v}.shape != {shape}" for v, shape in shapes)
            self.text.add(f"if {wrong}: {mismatch}(tensors)")
        self.text.add("tensors.clear()")
        here = f"is_{self.host.device.type}" if self.host.device.type == "cuda" else "is_cpu"
        free = self._wherever(inputs)
        pairs = [p for p, item in zip(pairs, inputs, strict=True) if item.name not in free]
        strides = [(v, self.text.numbers(layout.stride)) for v, layout in pairs]
        fine = [f"{v}.{here} and {v}.stride() == {stride}" for v, stride in strides]
        # Autograd hands gradients on as eager mode has them, of types that may not be the traced.
        given_back = {self._values[i.name].variable for i in inputs if i.role == "gradient"}
        fine += [f"{v}.dtype is {self.text.dtype(k.dtype)}" for v, k in pairs if v in given_back]
        slow = self.text.bind(self.host.all_fit, "all_fit")
        named = [f"({v}, {self.text.layout(layout)})" for v, layout in pairs]
        quick = " and ".join(fine) or "True"
        self.text.add(f"fine = ({quick}) or {slow}({listing(named)})")

    def _wherever(self, inputs: Sequence[Input]) -> set[str]:
        """Single numbers that nothing reads but library calls, each beside a tensor on the device:
        they may lie on a CPU, as the seeds of attention that drew no random numbers do."""
        types, steps = self.partition.graph.types(), self.partition.steps
        large = {n for n, kind in types.items() if isinstance(kind, TensorType) and kind.shape}
        calls = [{*s.node.refs()} for s in steps if isinstance(s, HostCall)]
        read = {name for s in steps if isinstance(s, Region) for name in s.graph.given}
        single = {item.name for item in inputs} - large - read
        return single.difference(*(call for call in calls if not call & large))

    def _step(self, step: Region | HostCall) -> None:
        if isinstance(step, Region):
            found = self.region(step, self._given)
            if found is None:
                self._by_torch(step)
            else:
                self._values.update(zip(step.graph.results, found, strict=True))
        elif _is_update(step):
            pass  # all of them together, at the end
        elif self._plan.is_collapsed(step):
            if step.node.name in self._plan.needed:
                self._view(step.node.name, self._plan.views[step.node.name])
        else:
            self._call(step.node)

    def _given(self, region: Region) -> list[Value]:
        spare = self._spare[region.name]
        return [replace(self._values[name], spare=name in spare) for name in region.graph.given]

    def _by_torch(self, region: Region) -> None:
        """A region operator after operator. Its names are its own: a view may stand outside too."""
        graph, outside = region.graph, self._values
        inputs, names = graph.given, graph.results
        self._values = {name: outside[name] for name in inputs}
        kept = (*inputs, *names, *(m.value for m in graph.mutations))
        freed = replay.last_uses([(*node.refs(), node.name) for node in graph.nodes], kept)
        for node, dead in zip(graph.nodes, freed, strict=True):
            self._call(node, returns=False)
            self._drop(dead)
        if graph.mutations:
            self._change(graph, names)
            self._drop(m.value for m in graph.mutations if m.value not in (*inputs, *names))
        self._values = {**outside, **{name: self._values[name] for name in names}}

    def _change(self, graph: Graph, names: Sequence[str]) -> None:
        """Changes of inputs; results that live there keep what they were."""
        changing = dict.fromkeys(name for m in graph.mutations for name in (m.input, m.value))
        values = ", ".join(f"{name!r}: {self._values[name].variable}" for name in changing)
        results = listing([self._values[name].variable for name in names])
        mutated = self.text.bind(functools.partial(replay.apply_mutations, graph), "mutated")
        call = f"{mutated}({{{values}}}, {results})"
        made = [self.text.fresh(name) for name in names]
        self.text.add(*(unpacking(made, call) or [call]))
        self._values.update((n, Value(v, sure=False)) for n, v in zip(names, made, strict=True))

    def _view(self, name: str, view: Viewed) -> None:
        """A chain of views as one; of an input only if it lies as recorded."""
        graph = self.partition.graph
        root = self._values[view.root]
        if view.is_all and name not in self._plan.shared:
            self._values[name] = root
            return
        result, variable = self.text.fresh(name), root.variable
        given = view.root not in self._nodes
        if name in self._plan.shared:
            # The caller may change one in place: torch has to know that they are views. Views of
            # what has a gradient are detached ones (autograd makes the others itself).
            kind: Any = graph.types()[name]
            training = graph.name.endswith("_forward") and not given and kind.dtype.is_float
            detached = training and view.root in self._differentiable()
            offset = f"{variable}.storage_offset() + {view.offset}"
            made = f"{variable}.as_strided({view.shape}, {view.stride}, {offset})"
            made += ".detach()" * detached
        else:
            reinterpret = self.text.bind(self.host.reinterpret, "reinterpret")
            made = f"{reinterpret}({variable}, {view.shape}, {view.stride}, {view.offset})"
        if given:
            chain = variable
            for node in view.chain:
                chain = self._called(node, {next(node.refs()): chain})
            made = f"{made} if fine else {chain}"
        self.text.add(f"{result} = {made}")
        self._values[name] = Value(result, root.sure)

    def _differentiable(self) -> set[str]:
        """What has a gradient or a view that has one, as far as is known."""
        graph = self.partition.graph
        named, views = dict(graph.facts).get(DIFFERENTIABLE), self._plan.views
        places = range(len(graph.outputs)) if named is None else map(int, named.split())
        found = (name for name in map(graph.outputs.__getitem__, places) if name is not None)
        return {views[name].root if name in views else name for name in found}

    def _called(self, node: Node, given: Mapping[str, str]) -> str:
        """The text of a call, values being as ``given``."""
        function = _QUICK.get(node.op) or replay.operator_function(node.op)
        positional = [self._argument(arg, node, given) for arg in node.args]
        named = [f"{key}={self._argument(arg, node, given)}" for key, arg in call_kwargs(node)]
        if is_factory(node):
            named.append(f"device={self.text.bind(self.host.device, 'device')}")
        called = self.text.bind(function, node.packet)
        return f"{called}({', '.join([*positional, *named])})"

    def _call(self, node: Node, *, returns: bool = True) -> None:
        """A call of torch, and its result brought into the recorded layout. ``returns``: what is
        an output as well keeps its own for the caller."""
        given = {name: self._values[name].variable for name in node.refs()}
        result = self.text.fresh(node.name)
        alone = returns and node.op in VIEW_OPS and node.name in self._single
        # It is all that is returned of the memory that it is a view of, too.
        alone = alone and self._memories[root_name(node.name, self._nodes)] == 1
        self.text.add(f"{result} = {self._called(node, given)}{'.data' * alone}")
        if isinstance(node.type, TensorType):
            layout = Layout.of(node.type)
            shape, stride = self.text.numbers(layout.shape), self.text.numbers(layout.stride)
            dtype = self.text.dtype(replay.torch_dtype(node.type.dtype))
            odd = f"{result}.dtype is not {dtype} or "  # kernels read it as they were told
            odd += f"{result}.shape != {shape} or {result}.stride() != {stride}"
            made = f"{self.text.bind(replay.laid_out, 'laid_out')}({result}, {shape}, {stride}"
            laid = f"{made}, {f'{node.name} = {node.op}'!r}).to({dtype})"
            if returns and node.name in self._single:
                # The caller gets what the operator made, in whatever layout.
                self._returned[node.name], result = result, self.text.fresh(node.name)
                laid = f"{laid} if {odd} else {self._returned[node.name]}"
                self.text.add(f"{result} = {laid}")
            else:
                self.text.add(f"if {odd}: {result} = {laid}")
        self._values[node.name] = Value(result, sure=False)

    def _argument(self, arg: Arg, node: Node, given: Mapping[str, str]) -> str:
        match arg:
            case Ref(name=name):
                return given[name]
            case Token(name=name) | DType(torch_name=name):
                return self.text.bind(replay.torch_constant(name), name)
            case sympy.Expr():
                return self.text.size(arg)
            case tuple():
                return listing([self._argument(item, node, given) for item in arg])
            case _:
                return print_argument(arg)

    def _drop(self, names: Iterable[str]) -> None:
        """Delete variables; several values can be one variable (an input passed through)."""
        gone = [self._values.pop(name).variable for name in names if name in self._values]
        alive = {value.variable for value in self._values.values()} if gone else set()
        self.text.drop(variable for variable in gone if variable not in alive)


def _is_update(step: Region | HostCall) -> TypeGuard[HostCall]:
    return isinstance(step, HostCall) and step.node.op == "aten.copy_.default"
