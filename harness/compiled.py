"""What compiling a graph produces: kernels, launches, and an account of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from harness.codegen.source import EmittedModule, KernelSource
from harness.decisions import Decisions
from harness.errors import HarnessError
from harness.graph.model import TEMPLATES, Graph, HostCall, Partition, Region
from harness.ir.program import Program
from harness.schedule.group import FusedGroup, Schedule
from harness.table import plural
from harness.tiling.plan import ArgumentKind, Category, KernelPlan

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False, slots=True)
class Kernel:
    """A distinct kernel: its text, and the emitted module around it."""

    source: KernelSource = field(repr=False)
    module: EmittedModule

    @property
    def name(self) -> str:
        """The kernel's name, unique within its graph."""
        return self.source.name


@dataclass(frozen=True, eq=False, slots=True)
class Launch:
    """One launch: the group it carries out, and the kernel."""

    group: FusedGroup = field(repr=False)
    plan: KernelPlan = field(repr=False)
    kernel: Kernel

    @property
    def arguments(self) -> tuple[tuple[str, ...], ...]:
        """What each of the kernel's parameters stands for (``Argument.buffers``)."""
        return tuple(argument.buffers for argument in self.plan.arguments)


@dataclass(frozen=True, eq=False, slots=True)
class Failure:
    """A kernel (or a whole region) that could not be generated. ``stage`` is where it
    stopped; ``origins`` are graph node names."""

    region: str
    stage: str
    origins: tuple[str, ...]
    error: HarnessError

    def described(self, graph: Graph) -> str:
        """The failure with the operator and the model's line that it came from, which are looked
        up in the region's ``graph``."""
        known = {node.name: node for node in graph.nodes}
        last = next((known[name] for name in reversed(self.origins) if name in known), None)
        operator = "" if last is None else f" ({' at '.join(filter(None, (last.op, last.source)))})"
        return f"{self.region}, {self.stage}{operator}: {self.error}"


@dataclass(frozen=True, eq=False, slots=True)
class CompiledRegion:
    """A region as launches in order.

    ``graph`` is the region's graph after reductions were split. ``compiled_as`` is the graph
    that the buffers of ``program`` and the references of the modules speak of: ``graph``
    itself, or that of an earlier region which differs in nothing but names. With ``failures``
    the launches are those that did work, and the region can only be run by torch.
    """

    region: Region
    graph: Graph
    compiled_as: Graph
    program: Program | None
    schedule: Schedule | None
    launches: tuple[Launch, ...]
    failures: tuple[Failure, ...]

    @property
    def complete(self) -> bool:
        """Whether the launches compute the region."""
        return not self.failures

    @property
    def names(self) -> dict[str, str]:
        """What the region calls the inputs and nodes of ``compiled_as``."""
        return dict(zip(self.compiled_as.types(), self.graph.types(), strict=True))

    def __repr__(self) -> str:
        ends = f"{plural(len(self.launches), 'launch')}, {plural(len(self.failures), 'failure')}"
        return f"<compiled region {self.region.name}: {ends}>"


@dataclass(frozen=True, eq=False, slots=True)
class Combo:
    """Launches that have nothing to do with each other, as one of ``module``: by the name of their
    region and their place in it, in the order of its arguments."""

    module: EmittedModule
    launches: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Bundle:
    """``regions`` that stand side by side and do not depend on each other, run as ``combos``."""

    regions: tuple[str, ...]
    combos: tuple[Combo, ...]


def alone(region: CompiledRegion) -> Bundle:
    """A region's launches one after the other."""
    name = region.region.name
    each = (Combo(la.kernel.module, ((name, n),)) for n, la in enumerate(region.launches))
    return Bundle((name,), tuple(each))


@dataclass(frozen=True, eq=False, slots=True)
class CompiledGraph:
    """A graph as regions of launches and host calls. ``splits`` are the chunk counts of split
    reductions by node name; ``seconds`` is the wall clock of code generation per stage (Triton not
    included). ``bundles`` are regions whose launches the backend combines (``combos.choosing``);
    ``choices`` say what was timed both ways (``measure.deciding``)."""

    partition: Partition
    regions: tuple[CompiledRegion, ...]
    kernels: tuple[Kernel, ...]
    splits: tuple[tuple[str, int], ...]
    seconds: tuple[tuple[str, float], ...]
    bundles: tuple[Bundle, ...] = ()
    choices: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<compiled {self.report()!r}>"

    @property
    def launches(self) -> tuple[Launch, ...]:
        """All launches in the order they can run in."""
        return tuple(launch for region in self.regions for launch in region.launches)

    @property
    def library_calls(self) -> tuple[HostCall, ...]:
        """The calls that torch executes."""
        return self.partition.library_calls

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Everything that could not be generated."""
        return tuple(failure for region in self.regions for failure in region.failures)

    def launched(self) -> Iterator[tuple[EmittedModule, str, tuple[tuple[str, ...], ...]]]:
        """Each distinct module that is launched, in the order of its first launch: the region of
        that, and the nodes that each launch computes; a combo computes those of all its parts."""
        combos = [combo for bundle in self.bundles for combo in bundle.combos]
        places = {place: combo for combo in combos for place in combo.launches}
        found: dict[str, tuple[EmittedModule, str, dict[object, tuple[str, ...]]]] = {}
        for name, region in ((one.region.name, one) for one in self.regions):
            for number, launch in enumerate(region.launches):
                alone = Combo(launch.kernel.module, ((name, number),))
                combo = places.get((name, number), alone)
                _, _, nodes = found.setdefault(combo.module.name, (combo.module, name, {}))
                nodes[combo.launches] = nodes.get(combo.launches, ()) + launch.group.origins
        return ((module, name, tuple(nodes.values())) for module, name, nodes in found.values())

    def distinct(self) -> Iterator[tuple[EmittedModule, int]]:
        """Each distinct module that is launched, and how often, the first launch first."""
        return ((module, len(launches)) for module, _, launches in self.launched())

    @property
    def decisions(self) -> Decisions:
        """What this compilation decided, for another one of the same graph."""
        regions: dict[str, frozenset[str]] = {}
        loops: dict[str, bool | None] = {}
        kernels: dict[str, tuple[str, str]] = {}
        turned: dict[str, int | None] = {}
        for region in self.partition.regions:
            names = frozenset(node.name for node in region.graph.nodes)
            regions.update((name, regions.get(name, frozenset()) | names) for name in names)
        for one in self.regions:
            own = one.names
            for launch in one.launches:
                group = launch.group
                kind = launch.plan.category
                looped = None if kind is Category.TEMPLATE else kind is Category.REDUCTION
                if launch.plan.held is None:  # else sizes say which
                    loops.update((own[name], looped) for name in group.reduced)
                where = (one.region.name, group.name)
                written = (s.buffer for nest in group.nests for s in nest.stores)
                kernels.update((own[name], where) for name in written if name in own)
            buffers = one.program.buffers if one.program else ()
            turned.update((own[b.node], b.along) for b in buffers if b.along is not None)
        called = (call.node.name for call in self.library_calls)
        library = frozenset(called if TEMPLATES in self.partition.graph.facts else ())
        return Decisions(regions, dict(self.splits), kernels, loops, library, turned)

    def report(self) -> Report:
        """The account of this compilation."""
        calls = Counter((call.node.op, call.reason) for call in self.library_calls)
        regions = {region.region.name: region for region in self.regions}
        return Report(
            name=self.partition.graph.name,
            regions=len(self.regions),
            kernels=len(self.kernels),
            launches=sum(count for _, count in self.distinct()),
            library_calls=tuple((op, n, why) for (op, why), n in sorted(calls.items())),
            failures=tuple(f.described(regions[f.region].graph) for f in self.failures),
            seconds=self.seconds,
            choices=self.choices,
        )


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a graph: distinct kernels, and launches once they are combined.
    ``library_calls`` are (operator, count, reason): work that no
    generated kernel does; ``failures`` are regions that torch runs because code generation
    failed; ``eager`` says why torch runs the whole graph, if it does; ``seconds`` per stage;
    ``choices`` say what was timed both ways."""

    name: str
    regions: int
    kernels: int
    launches: int
    library_calls: tuple[tuple[str, int, str], ...]
    failures: tuple[str, ...]
    seconds: tuple[tuple[str, float], ...]
    eager: str = ""
    choices: tuple[str, ...] = ()

    @property
    def fallbacks(self) -> int:
        """Number of parts that torch runs although the compiler should have: regions, or the
        whole graph. Library calls are none."""
        return len(self.failures) + bool(self.eager)

    @property
    def library_call_count(self) -> int:
        """Number of library calls in one run of the graph."""
        return sum(count for _, count, _ in self.library_calls)

    def __repr__(self) -> str:
        total = sum(seconds for _, seconds in self.seconds)
        return (
            f"{self.name}: {plural(self.kernels, 'kernel')} in {plural(self.launches, 'launch')}, "
            f"{plural(self.regions, 'region')}, {plural(self.library_call_count, 'library call')}, "
            f"{total * 1e3:.0f} ms of code generation"
        )

    def __str__(self) -> str:
        lines = [repr(self)]
        lines.extend(f"  library call {op} × {n}: {why}" for op, n, why in self.library_calls)
        lines.extend(f"  timed both ways: {choice}" for choice in self.choices)
        lines.extend(f"  run by torch: {failure}" for failure in self.failures)
        if self.eager:
            lines.append(f"  run by torch as a whole: {self.eager}")
        return "\n".join(lines)


def kernel_identity(source: KernelSource) -> tuple[object, ...]:
    """Kernels with equal identity are one kernel: same text and same argument types."""
    return (source.body_hash, source.grid, tuple((a.kind, a.dtype) for a in source.plan.arguments))


def joined_arguments(launches: Iterable[tuple[Launch, Sequence[_T]]]) -> list[_T]:
    """The arguments of launches in the order in which a combo of them takes them: all but sizes,
    then each size once."""
    others: list[_T] = []
    sizes: dict[object, _T] = {}
    for launch, arguments in launches:
        first = len(arguments) - len(launch.plan.sizes)
        others += arguments[:first]
        sizes.update(zip(launch.plan.sizes, arguments[first:], strict=True))
    return [*others, *sizes.values()]


def mixed_layouts(compiled: CompiledGraph) -> Iterator[str]:
    """A sentence for every kernel whose inputs of one shape lie in memory in different orders:
    some of them it cannot read in whole lines."""
    for kernel in compiled.kernels:
        plan = kernel.source.plan
        known = {buffer.name: buffer for buffer in plan.buffers}
        orders: dict[object, dict[tuple[int, ...], str]] = {}
        for argument in plan.arguments:
            buffer = known.get(argument.buffers[0]) if argument.buffers else None
            if buffer is None or argument.kind not in (ArgumentKind.INPUT, ArgumentKind.IN_OUT):
                continue
            if not all(size.is_Integer for size in (*buffer.shape, *buffer.stride)):
                continue
            wide = [d for d, n in enumerate(buffer.shape) if n > 1 and buffer.stride[d] > 0]
            order = tuple(sorted(wide, key=lambda d: (-buffer.stride[d], d)))
            orders.setdefault(buffer.shape, {}).setdefault(order, argument.name)
        for found in orders.values():
            if len(found) > 1:
                listed = ", ".join(f"{name} by {order}" for order, name in found.items())
                yield f"{kernel.name}: inputs of one shape lie in different orders: {listed}"
