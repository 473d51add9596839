"""Which graphs a command means: names of a suite's graphs, and graph files.

Reading names touches no graph file; a graph is read when it is compiled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from harness.codegen.source import EmittedModule
from harness.corpus import selecting, store
from harness.corpus.model import CORPUS, is_pattern_name
from harness.errors import GraphError, HarnessError, UnknownName
from harness.files import write_atomically
from harness.graph.suite import load_suite
from harness.handwritten.source import declares_kernels
from harness.measure.peers.jobs import Comparable, comparables
from harness.options import Options
from harness.records.names import find, is_chosen, is_named
from harness.records.run import KernelRecord, LibraryCall, one_line
from harness.runtime.module import config_from_dict
from harness.session.model import Compiled, CompiledKernel
from harness.target import Target

if TYPE_CHECKING:  # what generating code needs is imported while processes start
    from harness.compiled import CompiledGraph
    from harness.graph.model import Graph
    from harness.measure.deciding import Choose

SMALL = "small"
"""The folder, beside a graph's file, of the small capture of the same structure."""


_SMALL_BYTES = 1 << 19
"""Most that a kernel may move to be interpreted as it is; some seconds of work."""


@dataclass(frozen=True, slots=True)
class GraphFile:
    """A graph on disk. One of a corpus has ``texts``, its own and, if there is one, that of its
    small counterpart, which are written once they are asked for: it may be one of thousands."""

    name: str
    _path: Path
    _small: Path | None
    texts: tuple[str, str] = ("", "")

    @property
    def path(self) -> Path:
        """Where it is."""
        return _written(self._path, self.texts[0])

    @property
    def small(self) -> Path | None:
        """Where the same structure is at sizes for the interpreter."""
        return None if self._small is None else _written(self._small, self.texts[1])

    @property
    def bytes(self) -> int:
        """The file's; 0 where there is none."""
        if self.texts[0]:
            return len(self.texts[0].encode())
        return self._path.stat().st_size if self._path.is_file() else 0


@dataclass(eq=False, slots=True)
class FileEntry:
    """A graph file and the target it is compiled for: a session's entry. One that ``decides`` times
    what is unsure both ways, by ``choose`` if there is a GPU. ``only``: of all entries, what the
    names of the kernels that are wanted are like."""

    file: GraphFile
    target: Target
    choose: Choose | None = None
    decides: bool = False
    only: tuple[str, ...] = ()
    _full: CompiledGraph | None = None

    @property
    def name(self) -> str:
        """The graph's name."""
        return self.file.name

    def full(self) -> CompiledGraph:
        """The graph with its combos, compiled once. Raises ``HarnessError``."""
        from harness.combos.choosing import combined
        from harness.measure.deciding import decided
        from harness.pipeline import compile_graph

        if self._full is None:
            graph, asked = read(self.file.path), (self.decides, self.decides)
            decisions, choices = decided(graph, self.target, self.choose, *asked)
            made = replace(compile_graph(graph, self.target, decisions), choices=choices)
            self._full = combined(made, self.target)
        return self._full

    def small(self) -> CompiledGraph | None:
        """The small capture, with the decisions made at full size; None where there is none. Raises
        ``HarnessError``."""
        from harness.combos.choosing import combined
        from harness.pipeline import compile_graph

        full, small = self.full(), self.file.small
        if small is None:
            return None
        return combined(compile_graph(read(small), self.target, full.decisions), self.target)

    def compile(self) -> Compiled:
        """At full size. Raises ``HarnessError``."""
        return _chosen(summarise(self.full()), self.only)

    def compile_small(self) -> Compiled | None:
        """At small sizes. A graph that is small itself stands for its own small capture; for others
        without one, sizes are derived. Every kernel may be a part of a wanted one. Raises
        ``HarnessError``."""
        small, full = self.small(), self.full()
        if small is None:
            moved = max((kernel.module.bytes_moved for kernel in full.kernels), default=0)
            return summarise(full) if moved <= _SMALL_BYTES else _derived(full, self.target)
        return summarise(small)


def _derived(full: CompiledGraph, target: Target) -> Compiled:
    """The regions of ``full`` at sizes derived from theirs, as far as their structure allows.
    Raises ``GraphError`` where it never does."""
    from harness.graph.passes.cleanup import structure_key
    from harness.graph.shrinking import shrunk
    from harness.pipeline import compile_graph

    graphs = {structure_key(region.graph): region.graph for region in full.partition.regions}
    small = [shrunk(graph) for graph in graphs.values()]
    made = [
        summarise(compile_graph(graph, target, full.decisions))
        for graph, _ in small
        if graph is not None
    ]
    if small and not made:
        raise GraphError("no small sizes can be derived (capture some: --small)", got=small[0][1])
    return Compiled(tuple(kernel for one in made for kernel in one.kernels), (), 0.0)


@dataclass(eq=False, slots=True)
class UserEntry:
    """The kernels that the file at ``path`` declares; ``only`` as of ``FileEntry``."""

    path: Path
    only: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem

    def compile(self) -> Compiled:
        """Modules at the declared sizes. A declaration that does not fit is a failure of its
        own. Raises ``UsageError`` where the file as a whole cannot be used."""
        began = time.perf_counter()
        modules, failures = self.modules()
        made = Compiled(
            tuple(CompiledKernel(m, (m.origins,), m.name) for m in modules),
            (),
            time.perf_counter() - began,
            tuple(failures),
            frozenset(m.name for m in modules),
            tuple(Comparable(m.name, m.text) for m in modules),
        )
        return _chosen(made, self.only)

    def compile_small(self) -> Compiled | None:
        """Modules at the small sizes, of those kernels that have some."""
        modules, _ = self.modules(small=True)
        return Compiled(tuple(CompiledKernel(m, (m.origins,), m.name) for m in modules), (), 0.0)

    def modules(self, small: bool = False) -> tuple[list[EmittedModule], list[KernelRecord]]:
        """The kernels' modules, and rows for those that have none. With ``small`` only kernels
        that have small sizes, or whose own are small."""
        from harness.handwritten.kernels import emit, load_kernels

        kernels, failures = load_kernels(self.path)
        modules: list[EmittedModule] = []
        for kernel in kernels:
            derived = small and kernel.declaration.small is None
            if derived and emit(kernel).bytes_moved > _SMALL_BYTES:
                continue
            try:
                modules.append(emit(kernel, small))
            except HarnessError as error:
                failures[kernel.name] = error
        return modules, [_row(name, error) for name, error in failures.items()]


def _row(name: str, error: HarnessError) -> KernelRecord:
    where = f" ({error.where})" if error.where else ""
    return KernelRecord(name, "user", 0, launches=0, reason=f"{one_line(error)}{where}")


def read(path: Path) -> Graph:
    """The graph in the file at ``path``, every operator's result checked. Raises ``DamagedGraph``,
    also for a file that is missing, and ``UnsupportedOperator``."""
    from harness.graph.text import load
    from harness.graph.validate import validate

    graph = load(path)
    validate(graph, path.read_text(encoding="utf-8"), str(path))
    return graph


def find_graphs(options: Options, suite: str, names: Sequence[str]) -> tuple[GraphFile, ...]:
    """The graphs that ``names`` mean, in that order, each once; all of ``suite`` for no name.

    A name is a graph's, an entry's (all its graphs), a pattern of either (``llama*``), a path
    ending in ``.py``, or a folder of graph files. Raises ``UnknownName`` with the nearest names.

    Where the suite is a corpus, ``suite`` is its name, or its name and which of its patterns are
    meant (``corpus:kind=reduction sample=20``). Such a text, and the name of one of the patterns of
    the corpus that comes with the suites, are names in any suite."""
    if names and ":" not in suite and all(is_file(name) for name in names):
        if suite != "default" and corpus_folder(options, suite) is None:
            load_suite(suite, options.suites)  # it is recorded with the run, and may be misspelled
        return tuple(dict.fromkeys(file for name in names for file in _by_path(Path(name))))
    if (corpus := corpus_folder(options, suite)) is not None:
        return _corpus_graphs(options, corpus, suite.partition(":")[2], names)
    declared = load_suite(suite, options.suites)
    found: list[GraphFile] = []
    for name in names or [entry.name for entry in declared.entries]:
        if is_file(name):
            found.extend(_by_path(Path(name)))
            continue
        corpus = corpus_folder(options, name if ":" in name else CORPUS)
        if corpus is not None and (":" in name or is_pattern_name(name)):
            query = name.partition(":")[2]
            found.extend(_corpus_graphs(options, corpus, query, () if query else (name,)))
            continue
        known = [(graph, entry) for entry in declared.entries for graph in entry.graph_names]
        mine = [
            GraphFile(graph, entry.path(graph), entry.path(graph, small=True))
            for graph, entry in known
            if is_named(name, entry.name) or is_named(name, graph)
        ]
        if not mine:
            patterns = store.load(corpus).patterns if corpus else ()
            declared.entry(name, [one.name for one in patterns])  # raises, with the nearest names
        found.extend(mine)
    return tuple(dict.fromkeys(found))


def corpus_folder(options: Options, suite: str) -> Path | None:
    """The folder of a suite that is a corpus; None for one that is declared."""
    folder = options.suites / suite.partition(":")[0]
    return folder if store.is_corpus(folder) else None


def _corpus_graphs(
    options: Options, folder: Path, query: str, names: Sequence[str]
) -> tuple[GraphFile, ...]:
    """Patterns of a corpus as graph files below the cache folder."""
    corpus = store.load(folder)
    chosen = dict.fromkeys(p.name for p in selecting.select(corpus, query))
    found: dict[str, None] = {} if names else chosen
    for name in names:
        like = find(name, chosen) or [name]  # of which texts() raises, with the nearest names
        found.update(dict.fromkeys(like))
    place = options.cache / CORPUS
    return tuple(
        GraphFile(n, place / f"{n}.py", place / SMALL / f"{n}.py" if texts[1] else None, texts)
        for n, texts in corpus.texts(found).items()
    )


def _written(path: Path, text: str) -> Path:
    """``path``, which holds ``text``, if there is one."""
    if text and not (path.is_file() and path.stat().st_size == len(text.encode())):
        write_atomically(path, text.encode(), mode=0o644)
    return path


def find_entries(
    options: Options, suite: str, names: Sequence[str], target: Target, only: Sequence[str] = ()
) -> tuple[Entry, ...]:
    """As ``find_graphs``, to be compiled for ``target``; a path may also be that of a file that
    declares kernels (``harness.kernel``). Of these the graphs like ``only``, or, where none is,
    the kernels like that."""
    files = [name for name in names if is_user_file(name)]
    found: list[FileEntry | UserEntry] = [UserEntry(Path(name)) for name in files]
    rest = [name for name in names if name not in files]
    if rest or not names:
        found.extend(FileEntry(file, target) for file in find_graphs(options, suite, rest))
    elif suite != "default" and corpus_folder(options, suite) is None:
        load_suite(suite, options.suites)  # as for files of graphs
    mine = [entry for entry in found if is_chosen(only, entry.name)]
    return tuple(mine) or tuple(replace(entry, only=tuple(only)) for entry in found)


def _chosen(made: Compiled, only: Sequence[str]) -> Compiled:
    """Those of an entry's kernels whose names are like ``only``; all where that is empty."""
    kernels = tuple(k for k in made.kernels if is_chosen(only, k.module.name))
    failures = tuple(f for f in made.failures if is_chosen(only, f.name))
    return replace(made, kernels=kernels, failures=failures, regions=() if only else made.regions)


@dataclass(frozen=True, slots=True)
class MadeEntry:
    """An entry that is compiled elsewhere: ``made`` answers those of its kernels that are wanted,
    or why there are none."""

    name: str
    made: Callable[[], Compiled | HarnessError]
    entry: Entry

    def compile(self) -> Compiled:
        """What was made of it. Raises ``HarnessError``."""
        if isinstance(made := self.made(), HarnessError):
            raise made
        return made

    def compile_small(self) -> Compiled | None:
        """At small sizes, where every kernel may be a part of a wanted one."""
        return self.entry.compile_small()


def part_of(entry: Entry, configs: Mapping[str, Any]) -> MadeEntry:
    """Those kernels of an entry that ``configs`` has, each to be timed in the first of what stands
    there, or tuned: the tuner's luck is no change, so the baseline's, the second, stays where
    nothing is faster. It is generated if it was not, once it is its turn."""

    def made() -> Compiled:
        compiled = entry.compile()
        kernels = tuple(
            replace(kernel, config=given, earlier=(before,) if before else ())
            for kernel in compiled.kernels
            if kernel.module.name in configs
            for given, before in [(c and config_from_dict(c) for c in configs[kernel.module.name])]
        )
        return replace(compiled, kernels=kernels, failures=(), regions=())

    return MadeEntry(entry.name, made, entry)


Entry: TypeAlias = "FileEntry | UserEntry | MadeEntry"
"""What a session compiles: at full size, and small for the interpreter (None without sizes)."""


def is_user_file(name: str) -> bool:
    """Whether ``name`` is the path of a Python file that imports the harness."""
    path = Path(name)
    if not is_file(name) or not path.is_file():
        return False
    try:
        return declares_kernels(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return False


def is_file(name: str) -> bool:
    """Whether ``name`` means a file or a folder and not a graph of a suite."""
    return name.endswith(".py") or "/" in name or bool(name) and Path(name).is_dir()


def _by_path(path: Path) -> Iterator[GraphFile]:
    """The graph file at ``path``, or those in that folder."""
    from harness.graph.text import is_graph

    candidates = sorted(path.glob("*.py")) if path.is_dir() else [path]
    if not (files := [file for file in candidates if is_graph(file)]):
        kind = "folder" if path.is_dir() else "file"
        raise UnknownName(
            f"the {kind} holds no graph" if path.exists() else "there is no such graph file",
            got=str(path),
            expected="a graph saved by harness capture, a folder of them, or a name that harness "
            "list shows",
            remedy="list the graphs: harness list; make one: harness capture TARGET -o FILE",
        )
    for file in files:
        small = file.parent / SMALL / file.name
        yield GraphFile(file.stem, file, small if small.is_file() else None)


def summarise(compiled: CompiledGraph) -> Compiled:
    """What a session needs of a compiled graph: the kernels that are launched, combos among
    them."""
    report = compiled.report()
    return Compiled(
        tuple(CompiledKernel(m, nodes, region) for m, region, nodes in compiled.launched()),
        tuple(LibraryCall(op, count, why) for op, count, why in report.library_calls),
        sum(seconds for _, seconds in report.seconds),
        tuple(
            KernelRecord(f"{f.region} {f.stage}", "", 0, 0, f.origins, reason=one_line(f.error))
            for f in compiled.failures
        ),
        frozenset(node.name for node in compiled.partition.graph.nodes),
        comparables(compiled.regions),
        compiled.choices,
    )
