"""A region's part of a host function: allocate, launch in order, free after last use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.codegen.source import EmittedModule
from harness.compiled import Combo, CompiledRegion, Launch, joined_arguments
from harness.executor.hosttext import Host, HostText, Layout
from harness.graph.replay import last_uses
from harness.ir.program import Program, Role
from harness.runtime.launch.selecting import LaunchOn
from harness.schedule.memory import may_overwrite
from harness.tiling.memory import shared_pairs
from harness.tiling.plan import ArgumentKind


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor in a host function: its variable, and whether it certainly lies on the device
    in the layout that the graph recorded (otherwise only if ``fine`` says so); ``spare``: the
    region that is given it may overwrite it, and nothing else reads it any more."""

    variable: str
    sure: bool
    spare: bool = False


@dataclass(eq=False, slots=True)
class RegionWriter:
    """What one region adds to ``text``. ``inputs`` are its inputs' values in order; ``stream``
    is the text of the current one."""

    text: HostText
    host: Host
    compiled: CompiledRegion
    program: Program
    inputs: Sequence[Value]
    stream: str
    _layouts: dict[str, Layout] = field(default_factory=dict)
    _variables: dict[str, str] = field(default_factory=dict)
    _here: dict[str, tuple[str, str]] = field(default_factory=dict)
    _spare: list[str] = field(default_factory=list)
    _overwritten: set[str] = field(default_factory=set)
    _made: list[str] = field(default_factory=list)
    _allocations: list[list[str]] = field(default_factory=list)
    arguments: list[list[str]] = field(default_factory=list)

    def begin(self) -> None:
        """Add the lines that make inputs usable; afterwards ``arguments`` are those of every
        launch."""
        self._layouts = {b.name: Layout.of(b) for b in self.program.buffers}
        self._take_inputs()
        for launch in self.compiled.launches:
            self.arguments.append(self._arguments(launch))
            self._allocations.append(self._made)
            self._made = []

    def allocate(self, number: int) -> None:
        """Add the lines that allocate what launch ``number`` is the first to write."""
        self.text.add(*self._allocations[number])

    @property
    def kept(self) -> set[str]:
        """Variables that outlive the launches: inputs, if others may read them, and outputs."""
        given = {value.variable for value in self.inputs if not value.spare}
        here = {v for name, (_, v) in self._here.items() if name not in self._spare}
        return given | here | {self._tensor(name) for name in self.program.outputs}

    def end(self) -> list[str]:
        """Add the lines after the last launch; the variables of the region's outputs."""
        outputs = [self._tensor(name) for name in self.program.outputs]
        self.text.add(*self._made)
        for name in self.program.mutated:  # copies that kernels changed go back where they are from
            if name in self._here:
                original, here = self._here[name]
                self.text.add(f"if {here} is not {original}: {original}.copy_({here})")
        self.text.drop(here for _, here in self._here.values() if here not in outputs)
        return outputs

    def _take_inputs(self) -> None:
        places = {item.name: n for n, item in enumerate(self.compiled.compiled_as.inputs)}
        buffers = [b for b in self.program.buffers if b.role is Role.INPUT]
        for buffer in buffers:
            value = self.inputs[places[buffer.name]]
            self._variables[buffer.name] = self._usable(buffer.name, value)
            if value.spare:
                self._spare.append(buffer.name)
                self.text.drop({value.variable} - {self._variables[buffer.name]})

    def _usable(self, name: str, value: Value) -> str:
        """The variable of an input where kernels can read it: a copy if it is elsewhere."""
        if value.sure:
            return value.variable
        here = self.text.fresh(f"{value.variable}_here")
        adapted = self.text.bind(self.host.adapted, "adapted")
        copy = f"{adapted}({value.variable}, {self.text.layout(self._layouts[name])})"
        self.text.add(f"{here} = {value.variable} if fine else {copy}")
        self._here[name] = value.variable, here
        return here

    def _arguments(self, launch: Launch) -> list[str]:
        """The launch's arguments; lines that allocate them are added to what is made."""
        symbols = {str(symbol): symbol for symbol in launch.plan.sizes}
        found = []
        # As the plan (not the fused group) says: of the pairs that could share memory,
        # planning drops those whose old contents are read again.
        for argument in launch.plan.arguments:
            names = argument.buffers
            if argument.kind is ArgumentKind.SIZE:
                found.append(self.text.size(symbols[names[0]]))
            elif argument.kind is ArgumentKind.WORKSPACE:
                assert launch.plan.workspace is not None
                words, zeros = launch.plan.workspace.words, self.text.bind(self.host.zeros, "zeros")
                found.append(self.text.fresh("workspace"))
                self._made.append(f"{found[-1]} = {zeros}({words}, {self.stream})")
            elif len(names) == 2:
                found.append(self._taken_over(*names))
            elif argument.kind is ArgumentKind.OUTPUT and (old := self._dying(launch, names[0])):
                found.append(self._taken_over(old, names[0]))
            else:
                found.append(self._tensor(names[0]))
        return found

    def _dying(self, launch: Launch, new: str) -> str | None:
        """An input in whose memory ``launch``, which alone reads it, may write ``new``."""
        if not self._spare or new in self._variables or launch.plan.workspace is not None:
            return None
        buffers = {b.name: b for b in self.program.buffers}
        for old in self._spare:
            readers = [la for la in self.compiled.launches if (old,) in la.arguments]
            if (
                old not in self._overwritten
                and readers == [launch]
                and buffers[old].dtype is buffers[new].dtype
                and buffers[old].nbytes == buffers[new].nbytes
                and may_overwrite(launch.group, new, old)
                and shared_pairs([(new, old)], launch.plan.segments)
            ):
                self._overwritten.add(old)
                return old
        return None

    def _taken_over(self, old: str, new: str) -> str:
        """The variable of ``new``, which lives in the memory of ``old``."""
        variable = self._tensor(old)
        if self._layouts[old] == self._layouts[new]:
            self._variables[new] = variable
        else:
            made, layout = self.text.fresh(new), self._layouts[new]
            reinterpret = self.text.bind(self.host.reinterpret, "reinterpret")
            shape, stride = self.text.numbers(layout.shape), self.text.numbers(layout.stride)
            self._made.append(f"{made} = {reinterpret}({variable}, {shape}, {stride}, 0)")
            self._variables[new] = made
        return self._variables[new]

    def _tensor(self, name: str) -> str:
        """The variable of a buffer, allocated if it has none yet."""
        if (found := self._variables.get(name)) is None:
            layout = self._layouts[name]
            found = self._variables[name] = self.text.fresh(name)
            empty, dtype = self.text.bind(self.host.empty, "empty"), self.text.dtype(layout.dtype)
            shape, stride = self.text.numbers(layout.shape), self.text.numbers(layout.stride)
            self._made.append(f"{found} = {empty}({shape}, {stride}, {dtype})")
        return found


def write_launches(
    writers: Mapping[str, RegionWriter],
    combos: Sequence[Combo],
    kernel: Callable[[EmittedModule], LaunchOn],
) -> dict[str, list[str]]:
    """Add the lines of regions that run together: ``combos`` in order. The variables of their
    outputs, by region."""
    for writer in writers.values():
        writer.begin()
    kept = set().union(*(writer.kept for writer in writers.values()))
    given = [
        joined_arguments(
            (writers[region].compiled.launches[number], writers[region].arguments[number])
            for region, number in combo.launches
        )
        for combo in combos
    ]
    for combo, arguments, dead in zip(combos, given, last_uses(given), strict=True):
        for region, number in combo.launches:
            writers[region].allocate(number)
        first = writers[combo.launches[0][0]]
        run = first.text.bind(kernel(combo.module), combo.module.name)
        first.text.add(f"{run}({', '.join([first.stream, *arguments])})")
        first.text.drop(name for name in dead if name not in kept)
    return {name: writer.end() for name, writer in writers.items()}
