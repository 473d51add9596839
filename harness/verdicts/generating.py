"""One kernel of a graph as many commits generate it: no GPU, nothing checked out, each text once.

Where two commits write the same text, those between are taken to write it, too, and are not asked:
of thirty commits that change a kernel once, seven or so are generated.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import sys
import tempfile
from collections.abc import Callable, Hashable, Iterator, MutableMapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import CommitUnusable, UsageError, unknown
from harness.history.commits.order import where_commits_are
from harness.ir.reach import joined
from harness.measure.jobs import Follow
from harness.records import git, modules, names
from harness.records.lines import Kept
from harness.records.run import GraphRecord, KernelRecord
from harness.session.entries import GraphFile
from harness.verdicts.pairing import all_nodes, nodes_of
from harness.verdicts.sides import PACKAGE, commit_side


@dataclass(frozen=True, slots=True)
class Subject:
    """Who generates: a commit by the interpreter at hand, or (no ``commit``) the package at hand by
    the interpreter ``python``. ``tree`` is git's name of the commit's package: equal ones generate
    the same."""

    name: str
    commit: str = ""
    author: str = ""
    title: str = ""
    merge: bool = False
    tree: str = ""
    python: str = sys.executable

    def __str__(self) -> str:
        return f"{self.name} {self.title} ({self.author})" if self.title else self.name


def commits(repository: Path, good: str, bad: str) -> list[Subject]:
    """``good`` and every commit after it up to ``bad``, by first parents, oldest first. Raises
    ``UsageError`` where ``bad`` does not come after ``good``."""
    behind, error = git.ask(repository, "rev-list", "--count", f"{bad}..{good}")
    if error or behind.strip() != "0" or good == bad:
        raise UsageError(
            "the second commit does not come after the first",
            where=str(repository),
            got=f"{good[:12]} and {bad[:12]}{', one of them unknown to git here' * bool(error)}",
            expected="an older commit, then a newer one that has it among its ancestors",
            remedy=f"{where_commits_are(repository)}else exchange them, or start at git merge-base",
        )
    after, _ = git.ask(repository, "rev-list", "--first-parent", "--reverse", f"{good}..{bad}")
    chosen = [good, *after.split()]
    form = "--format=%H%x1f%an%x1f%s%x1f%P"
    text, _ = git.ask(repository, "log", "--no-walk=unsorted", form, *chosen)
    rows = [line.split("\x1f") for line in text.splitlines()]
    asked = "".join(f"{row[0]}:{PACKAGE}\n" for row in rows)
    trees, _ = git.ask(repository, "cat-file", "--batch-check=%(objectname)", given=asked)
    return [
        Subject(full[:10], full, author, title, " " in parents, tree)
        for (full, author, title, parents), tree in zip(rows, trees.splitlines(), strict=True)
    ]


def environments(given: Sequence[str], good: str, bad: str) -> list[Subject]:
    """The interpreters ``NAME=PYTHON`` from the one called ``good`` to the one called ``bad``, in
    the order given. Raises ``UsageError``."""
    pairs = [one.partition("=") for one in given]
    named = [name for name, _, _ in pairs]
    missing = [str(path) for _, _, path in pairs if not Path(path).is_file()]
    leads = good in named and bad in named[named.index(good) + 1 :]
    if missing or not leads:
        raise UsageError(
            "the environments do not lead from GOOD to BAD" if not leads else "no such interpreter",
            where="--environment",
            got=", ".join(missing if leads else given),
            expected="NAME=PYTHON for GOOD, those between, and BAD, in this order",
            remedy="name both: --environment old=a/bin/python --environment new=b/bin/python",
        )
    chosen = pairs[named.index(good) : named.index(bad) + 1]
    return [Subject(name, python=path) for name, _, path in chosen]


@dataclass(frozen=True, slots=True)
class Generator:
    """Generates ``graph`` for ``target`` with whatever package; what commits make is kept in the
    folder ``cache``, if there is one."""

    repository: Path
    graph: GraphFile
    target: str
    cache: Path | None = None

    def at(self, subject: Subject) -> GraphRecord:
        """The graph's kernels. Raises ``CommitUnusable``."""
        with self._known(subject) as known:
            if subject.tree not in known:
                known[subject.tree] = self._made(subject)
            found = known[subject.tree]
        if not found.kernels:
            raise CommitUnusable(
                "a commit does not compile the graph",
                where=str(subject),
                got=found.reason or "no kernels",
                expected=f"kernels of {self.graph.name}",
                remedy="nothing of it is measured: it is skipped",
            )
        return found

    def _made(self, subject: Subject, stages: Path | None = None) -> GraphRecord:
        commit, graphs = subject.commit or None, (self.graph,)
        where = (self.repository, commit, subject.name, graphs, self.target, subject.python)
        return commit_side(*where, stages).run.graphs[0]

    def _known(self, subject: Subject) -> AbstractContextManager[MutableMapping[str, GraphRecord]]:
        """What packages made of the graph, by their trees; nothing for one that may change."""
        if self.cache is None or not subject.tree or " " in subject.tree:
            return nullcontext({})
        versions = [importlib.metadata.version(name) for name in ("torch", "triton")]
        text = self.graph.path.read_text(encoding="utf-8")
        said = "\0".join([text, self.target, subject.python, *versions])
        named = hashlib.sha256(said.encode()).hexdigest()[:32]
        return Kept(self.cache / "generated" / f"{named}.jsonl", GraphRecord)

    def first_stage(self, before: Subject, after: Subject, nodes: frozenset[str]) -> str:
        """The first stage of the compiler whose text differs between two commits, as far as it is
        of the graph, the region or the kernels of ``nodes``; empty where one of them writes no
        stages, or all agree. Raises ``CommitUnusable``."""
        with tempfile.TemporaryDirectory(prefix="harness-stages-") as folder:
            told = []
            for number, subject in enumerate((before, after)):
                stages = Path(folder) / str(number)
                regions = {k.region for k in of_nodes(self._made(subject, stages), nodes)}
                told.append(_texts(stages, regions))
            ours, theirs = told
            if not ours or not theirs:
                return ""
            differ = (key for key in ours | theirs if ours.get(key) != theirs.get(key))
            return min(differ, default=(0, ""))[1]


def _texts(folder: Path, regions: set[str]) -> dict[tuple[int, str], list[str]]:
    """What every stage (its number and name) wrote of the whole graph and of ``regions``."""
    found: dict[tuple[int, str], list[str]] = {}
    for path in sorted(folder.rglob("*.*")):
        above = path.relative_to(folder).parts[:-1]
        number, _, stage = path.stem.partition("-")
        if number.isdecimal() and (not above or above[0] in regions):
            found.setdefault((int(number), stage), []).append(path.read_text(encoding="utf-8"))
    return found


def of_nodes(record: GraphRecord, nodes: frozenset[str]) -> tuple[KernelRecord, ...]:
    """The kernels of a graph that compute any of ``nodes``."""
    return tuple(kernel for kernel in record.kernels if nodes_of(kernel) & nodes)


def nodes_named(name: str, good: GraphRecord, bad: GraphRecord) -> frozenset[str]:
    """The nodes of the kernel ``name`` (a kernel of either side, or a node), and of whatever shares
    a kernel with them on either side: they are the same work in both. Raises ``UnknownName``,
    ``UsageError`` for a pattern of several kernels."""
    known = {k.name: nodes_of(k) for record in (good, bad) for k in record.kernels}
    wanted = names.find(name, known)
    found = [known[one] for one in wanted] or [own for own in known.values() if name in own][-1:]
    if not found:
        remedy = f"list them: harness run {good.name}; another graph: --graph NAME"
        what = "neither side generates a kernel of that name"
        raise unknown(what, name, known, good.name, remedy)
    nodes = found[-1]
    if any(not other & nodes for other in found):
        raise UsageError(
            "several kernels have that name",
            where=good.name,
            got=name,
            expected=", ".join(wanted[:4]),
            remedy="name one of them",
        )
    connected = joined(nodes_of(kernel) for record in (good, bad) for kernel in record.kernels)
    return nodes.union(*(group for group in connected if not nodes.isdisjoint(group)))


def version(python: str, kernels: Sequence[KernelRecord]) -> Hashable:
    """What tells apart what several subjects generate: by which interpreter, what executes, on
    which arguments, how often, and which configurations it offers."""

    def told(kernel: KernelRecord) -> tuple[str, str, str, int]:
        text = kernel.module
        arguments, offered = modules.facts(text).arguments, modules.candidates(text)
        return modules.executed(text), arguments, offered, kernel.launches

    return python, *sorted(map(told, kernels))


def changes(
    first: int, last: int, version_at: Callable[[int], Hashable | None]
) -> Iterator[tuple[int, int]]:
    """Where the version changes between two positions: (the last with the old one, the first known
    with the new one), in order. Between the two lie only those without a version (None)."""
    if version_at(first) == version_at(last):
        return
    middle = (first + last) / 2
    inside = sorted(range(first + 1, last), key=lambda n: (abs(n - middle), n))
    if (between := next((n for n in inside if version_at(n) is not None), None)) is None:
        yield first, last
        return
    yield from changes(first, between, version_at)
    yield from changes(between, last, version_at)


@dataclass(slots=True)
class Kernel:
    """A kernel, known by its ``nodes``, in what each of ``subjects`` generates; each is asked once.
    ``skipped`` says of those that cannot be used why."""

    subjects: Sequence[Subject]
    generate: Callable[[Subject], GraphRecord]
    nodes: frozenset[str]
    skipped: dict[int, str] = field(default_factory=dict)
    follow: Follow = lambda *_: None
    _known: dict[int, tuple[KernelRecord, ...]] = field(default_factory=dict)

    def at(self, position: int) -> tuple[KernelRecord, ...]:
        """The kernels that do this work; empty if the subject is skipped."""
        if position not in self._known:
            self._known[position] = self._generated(position)
        return self._known[position]

    def version(self, position: int) -> Hashable | None:
        """Their version; None if the subject is skipped."""
        found = self.at(position)
        return version(self.subjects[position].python, found) if found else None

    @property
    def asked(self) -> int:
        """How many subjects were asked."""
        return len(self._known)

    def _generated(self, position: int) -> tuple[KernelRecord, ...]:
        self.follow(f"generating {self.subjects[position].name}", self.asked, len(self.subjects))
        try:
            found = of_nodes(self.generate(self.subjects[position]), self.nodes)
        except CommitUnusable as error:
            self.skipped[position] = f"{error.what}: {error.got}"
            return ()
        more = all_nodes(found) - self.nodes
        if not found or more:
            fused = f"fuses them with others: {', '.join(sorted(more))}"
            self.skipped[position] = fused if more else "has no kernel of these nodes"
            return ()
        return found


def first_change(
    generator: Generator, subjects: Sequence[Subject], name: str
) -> tuple[Subject, str] | None:
    """The first subject after which the kernel ``name`` has another text, and the first stage that
    makes something else there (empty: not known); None where both ends write the same. Raises
    ``CommitUnusable`` for an end that cannot be used."""
    good, bad = (generator.at(subjects[end]) for end in (0, -1))
    kernel = Kernel(subjects, generator.at, nodes_named(name, good, bad))
    if (found := next(changes(0, len(subjects) - 1, kernel.version), None)) is None:
        return None
    before, after = (subjects[n] for n in found)
    return after, generator.first_stage(before, after, kernel.nodes)
