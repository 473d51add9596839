"""``harness why`` and ``harness bisect``: the cause of a kernel's other time, and its commit."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.arguments import TargetName
from harness.cli.command import FINE, NOTHING_JUDGED, Answer, command
from harness.errors import HarnessError, UnknownName, UsageError
from harness.files import write_atomically
from harness.history import index, nights, store
from harness.history.between import learn
from harness.history.changes.series import arrange
from harness.measure.noise.judge import Rules
from harness.options import Options, project_root
from harness.records import names
from harness.records.lines import Kept
from harness.records.run import GraphRecord, KernelRecord, Machine, Run, one_line
from harness.records.timing import METHOD
from harness.report.why import bisect_report, why_report
from harness.runtime.compile.static import CompilePool
from harness.session.entries import find_graphs
from harness.target import find_target
from harness.verdicts import bisecting, confirming, generating
from harness.verdicts.bisecting import Bisected, ByTime, Environments, Made
from harness.verdicts.comparing import Comparison, Side, compare
from harness.verdicts.generating import Generator, Kernel, Subject, commits, first_change
from harness.verdicts.night_record import as_judged
from harness.verdicts.sides import commit_side, find_side, resolve_commit
from harness.verdicts.static_comparing import with_figures
from harness.verdicts.why import Label, Why, of_kernel

_Kernel = Annotated[
    str,
    "A kernel by name or pattern, or a node of the graph it computes.",
    typer.Argument(metavar="KERNEL"),
]
_Graph = Annotated[
    str | None, "The graph that has the kernel. Default: that of the newest run with such a kernel."
]
_END = "A commit, or a run of one; with --environment a NAME."


@command(gate=True)
def why(
    answer: Answer,
    kernel: _Kernel,
    a: Annotated[str, "What `harness compare` takes.", typer.Argument(metavar="A")],
    b: Annotated[str, "The same, compared with A.", typer.Argument(metavar="B")],
    graph: _Graph = None,
    target: TargetName = None,
    quick: Annotated[bool, "Do not look for the commit and the stage."] = False,
    everything: Annotated[bool, "The whole diff.", typer.Option("--all")] = False,
) -> int:
    """Name what made a kernel take another time in B, with the figures that it rests on.

    Source changed, fused differently, configuration changed, toolchain changed, clocks or machine,
    noise; or unsure, where that is open. Commits without runs are generated, and have no times.
    Exit status 4: unsure of every kernel; 2: an error.

    \b
    harness why poi_fused_add_6 20260102 latest
    harness why '*var_mean*' HEAD~20 HEAD
    """
    answer.recover()
    with answer.cache() as cache, answer.progress("reading both sides") as bar:
        asked = _Asked(answer.options, kernel, graph, target, cache)
        one, other = asked.sides(a, b)
        bar.update("comparing", 1, 3)
        between = None
        if one.run.id and other.run.id:
            between = learn(answer.options.results, one.run, other.run)
        compared = asked.as_judged(compare(one, other, Rules(), between))
        both = zip(one.run.graphs, compared.a.run.graphs, strict=True)  # A's, and by B's names
        theirs = {graph.name for graph in compared.b.run.graphs}
        now = {old.name: new.name for old, new in both if old.name not in theirs}
        asked = dataclasses.replace(asked, graph=graph and now.get(Path(graph).stem, graph))
        found = asked.in_graph(of_kernel(compared, now.get(kernel, kernel)))
        found.sort(key=lambda each: (each.label is Label.UNSURE, each.label is Label.NOISE))
        for number, each in enumerate(found):
            if each.label in (Label.SOURCE, Label.FUSION) and not quick:
                bar.update(f"looking for the commit of {each.kernel}", 2, 3)
                found[number] = asked.traced(each, one.run.commit, other.run.commit)
    answer.tell(why_report(found, everything=everything))
    return NOTHING_JUDGED if all(each.label is Label.UNSURE for each in found) else FINE


@dataclasses.dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked about, and where; ``graph`` and ``target`` as they were given."""

    options: Options
    kernel: str
    graph: str | None
    target: str | None
    cache: Path

    @property
    def root(self) -> Path:
        """The checkout whose history is searched."""
        return project_root(Path.cwd())

    def commit(self, name: str) -> str:
        """The commit called ``name``, or of the run called so. Raises a ``HarnessError``."""
        if not name:
            raise UsageError("a run was made of no commit", remedy="measure a checkout of git")
        return resolve_commit(self.root, name) or find_side(self.options.results, name).run.commit

    def as_judged(self, found: Comparison) -> Comparison:
        """``found`` with what the night of B measured, if there was one."""
        run = found.b.run
        path = nights.path_of(self.options.results, run.machine.key, run.id)
        return as_judged(found, nights.load(path)) if run.id and path.exists() else found

    def in_graph(self, found: list[Why]) -> list[Why]:
        """The causes of the graph's kernels. Raises ``UnknownName`` where there are none."""
        mine = [one for one in found if self.graph is None or one.graph == Path(self.graph).stem]
        if not mine:
            where = ", ".join(dict.fromkeys(one.graph for one in found))
            raise UnknownName(
                "the graph has no kernel of that name", got=self.kernel, expected=f"in {where}"
            )
        return mine

    def sides(self, a: str, b: str) -> list[Side]:
        """Both sides: runs, or, where a commit has none, what both commits generate."""
        try:
            return [find_side(self.options.results, name) for name in (a, b)]
        except UnknownName:
            commits = [(self.commit(name), name) for name in (a, b)]
            made = self.generator()
            return [commit_side(self.root, *one, (made.graph,), made.target) for one in commits]

    def generator(self) -> Generator:
        """Generates the graph that has the kernel."""
        graph = self.graph or self._recorded_graph()
        try:
            files = find_graphs(self.options, "default", [graph])
        except UnknownName:
            if (now := self._newest_names().get(graph)) is None:
                raise
            files = find_graphs(self.options, "default", [now])
        if len(files) != 1:
            raise UsageError(
                "one graph is searched at a time",
                got=", ".join(file.name for file in files),
                remedy="name one of them with --graph",
            )
        chosen = self.target or self.options.target
        find_target(chosen)  # a commit knows it by this name, not by the board's
        return Generator(self.root, files[0], chosen, self.cache)

    def _recorded_graph(self) -> str:
        """The graph, of those that are known by name (a user's file is not), of the newest run
        that has the kernel. Raises ``UsageError``."""
        for newest in (dict, self._newest_names):  # asked for where no graph has its name any more
            names_now = newest()
            for path in reversed(store.runs(self.options.results)):
                for graph, _ in self._recorded(store.load(path)):
                    with contextlib.suppress(UnknownName):
                        now = names_now.get(graph, graph)
                        return find_graphs(self.options, "default", [now])[0].name
        raise UsageError(
            "no recorded run has a kernel of that name",
            where=str(self.options.results),
            got=self.kernel,
            expected="a kernel that a run recorded, or --graph with the graph that has it",
            remedy="name the graph: --graph GRAPH (harness list)",
        )

    def _newest_names(self) -> dict[str, str]:
        """What graphs that were renamed since are called in the newest run."""
        known = arrange(index.refresh(self.options.results), self.root)
        return {old: new for names in known.recorded.values() for old, new in names.items()}

    def _recorded(self, run: Run) -> list[tuple[str, KernelRecord]]:
        """The kernels of a run that are meant, with their graphs."""
        every = [(g.name, k) for g in run.graphs for k in g.kernels if self.graph in (None, g.name)]
        wanted = set(names.find(self.kernel, [kernel.name for _, kernel in every]))
        return [(g, k) for g, k in every if k.name in wanted or self.kernel in k.origins]

    def traced(self, found: Why, before: str, after: str) -> Why:
        """``found`` with the commit and the stage that changed the text, or a sentence where they
        cannot be found."""
        line = "generated now, both write the same text: the graph or torch made the difference"
        try:
            search = dataclasses.replace(self, graph=found.graph)
            ends = [search.commit(end) for end in (before, after)]
            what = first_change(search.generator(), commits(self.root, *ends), found.kernel)
        except HarnessError as error:
            what, line = None, f"which commit is not known: {one_line(error)}"
        if what is None:
            return dataclasses.replace(found, evidence=(*found.evidence, line))
        return dataclasses.replace(found, commit=str(what[0]), stage=what[1])

    def recorded(self, run: str | None) -> GraphRecord | None:
        """The graph as a run recorded it, with configurations. Raises ``UnknownName``."""
        if run is None:
            return None
        whole = store.load(store.find(self.options.results, run))
        of = [name for name, kernel in self._recorded(whole) if kernel.config is not None]
        for graph in whole.graphs:
            if graph.name in of:
                return graph
        raise UnknownName(
            "the run has no configuration of this kernel",
            where=whole.id,
            got=self.kernel,
            remedy="leave --configs-from out: the modules' defaults are timed",
        )


@command(gate=True)
def bisect(
    answer: Answer,
    kernel: _Kernel,
    good: Annotated[str, _END, typer.Argument(metavar="GOOD")],
    bad: Annotated[str, "The same, later and slower.", typer.Argument(metavar="BAD")],
    graph: _Graph = None,
    target: TargetName = None,
    environment: Annotated[
        list[str] | None,
        "Search interpreters instead of commits, in this order (repeat it).",
        typer.Option(metavar="NAME=PYTHON"),
    ] = None,
    configs_from: Annotated[
        str | None,
        "Time in the configuration that this run recorded, not in the module's default.",
        typer.Option(metavar="RUN"),
    ] = None,
    error: Annotated[float, "Chance of a wrong answer.", typer.Option(min=1e-6, max=0.5)] = 0.05,
    output: Annotated[
        Path | None, "Where both modules go. Default: the cache.", typer.Option("--output", "-o")
    ] = None,
) -> int:
    """Find the commit, or the torch and triton, that made a kernel slower.

    Every commit's kernel is generated without a GPU; only where its text changes is it timed,
    against GOOD's, interleaved, in fresh processes. What does not import is skipped and named. An
    interrupted search goes on where it was. Exit status 4: no GPU, and the answer is every commit
    that changes the text; 2: wrong ends or names.

    \b
    harness bisect poi_fused_add_6 HEAD~30 HEAD
    harness bisect poi_fused_add_6 old new --environment old=a/python --environment new=b/python
    """
    with answer.cache() as cache, answer.progress("generating") as bar:
        asked = _Asked(answer.options, kernel, graph, target, cache)
        generator = asked.generator()
        if environment:
            subjects = generating.environments(environment, good, bad)
        else:
            subjects = generating.commits(asked.root, asked.commit(good), asked.commit(bad))
        ends = [generator.at(subjects[end]) for end in (0, -1)]
        nodes = generating.nodes_named(kernel, *ends)
        whole = generating.Kernel(subjects, generator.at, nodes, follow=bar.update)
        where = generator.repository, generator.target
        others = bisecting.Environments(*where) if environment else None
        bench = _Bench(answer, generator, others, cache)
        recorded = asked.recorded(configs_from)
        found = bisecting.bisect(whole, bench.judge(error, recorded, whole), bar.update)
        bar.update("compiling both sides")
        causes = bisecting.causes(found, generator.graph.name, bench.machine, bench.figures)
        files = [*_written(output or cache / "bisected", found)]
    about = {"kernel": kernel, "graph": generator.graph.name, "error": error}
    answer.tell(bisect_report(found, causes, {**about, "files": files}))
    return FINE if found.measured else NOTHING_JUDGED


@dataclasses.dataclass(frozen=True, slots=True)
class _Bench:
    """Measures what a search asks for, by the interpreter at hand or by ``others``."""

    answer: Answer
    generator: Generator
    others: Environments | None
    cache: Path

    def machine(self, subject: Subject) -> Machine:
        """What compiles a subject's kernels."""
        return self.others.machine(subject) if self.others else Machine("")

    def figures(self, made: Made) -> Sequence[KernelRecord]:
        """The kernels with what their binaries say."""
        if self.others:
            return self.others.figures(made)
        target = find_target(self.generator.target)
        with CompilePool(min(self.answer.options.jobs, len(made.kernels)), self.cache) as pool:
            return with_figures(made.kernels, target, pool.metrics)

    def judge(self, error: float, recorded: GraphRecord | None, kernel: Kernel) -> ByTime | None:
        """By times, kept in a file of this question until the search is over; None without a GPU,
        which is said."""
        from harness.runtime import device

        if not device.is_available():
            self.answer.note("no usable GPU here: finds commits that change the text, times none")
            return None
        here = functools.partial(confirming.time_kernels, self.cache, self.answer.options.jobs)
        time: bisecting.TimePairs = self.others.time if self.others else here
        if recorded is not None:
            time = confirming.pinned(time, recorded)
        configs = recorded and [k.config for k in recorded.kernels]
        subjects = [(one.commit, one.python) for one in kernel.subjects]
        question = f"{device.current_target().name} {sorted(kernel.nodes)} {configs} {subjects}"
        named = hashlib.sha256(question.encode()).hexdigest()[:32]
        path = self.cache / "bisected" / f"{named}.jsonl"
        kept = Kept[bisecting.PairTimes](path, tuple[tuple[float, float], ...])
        if kept:
            self.answer.note("an interrupted search goes on where it was")
        return bisecting.ByTime(time, error, METHOD, kept)


def _written(folder: Path, found: Bisected) -> Iterator[str]:
    """The modules on both sides of the answer as files; their paths. Raises ``RecordError``."""
    for side, subject, kernels in (
        ("good", found.last_good, found.good),
        ("bad", found.candidates[-1], found.bad),
    ):
        for kernel in kernels:
            path = folder / f"{side}-{subject.name}-{kernel.name}.py"
            write_atomically(path, kernel.module.encode(), own=False)
            yield str(path)
