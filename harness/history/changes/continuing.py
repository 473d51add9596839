"""Which series is continued by which: a graph that is renamed keeps its history.

Wherever one run lacks graphs that an earlier one of its suite and target had, and has others, what
both computed says which of these is which (``history.renaming``). Everything that reads a history
has the rows of every run under the names that the newest run has for their graphs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.corpus.model import CORPUS
from harness.errors import RecordError
from harness.history import store
from harness.history.index import Index
from harness.history.renaming import WHOLE, Alike, changed_hands, inside_of, matched
from harness.ir.reach import grouped
from harness.records.names import DIGITS, look_alike, some
from harness.records.run import GraphRecord
from harness.table import plural

_TURNS = 2
"""How often two names may follow each other: there and back."""
Recorded: TypeAlias = Mapping[int, Mapping[str, str]]
"""For a run, by number, the newest names of graphs by what its file calls them, where these are not
the same."""
Codes: TypeAlias = frozenset[int]
"""What the kernels of a graph execute, by number."""


@dataclass(slots=True)
class _Step:
    """What ``run`` renamed (``called``: old and new names); ``over`` are the new ones that other
    graphs had until then."""

    run: int
    called: dict[str, str]
    over: frozenset[str]


def continued(
    index: Index, frame: pd.DataFrame, position: NDArray[np.int64]
) -> tuple[Recorded, list[str]]:
    """The graphs in ``frame``, the rows of ``index``, that go on under other names, and sentences:
    what was renamed, and what may have been. ``position`` is where each run stands in the history
    (-1: nowhere)."""
    runs, recorded, notes = index.runs, dict[int, dict[str, str]](), list[str]()
    usable = np.flatnonzero(position >= 0).tolist()
    usable.sort(key=lambda n: (position[n], runs[n].created))
    for (suite, _), mine in grouped(usable, lambda n: (runs[n].suite, runs[n].target)).items():
        if suite.partition(":")[0] == CORPUS:
            continue  # patterns are called by what they compute
        walk = _Walk(index, {n: at for at, n in enumerate(mine)}, _codes(frame, mine))
        for n, old, new in walk.newest_names(walk.steps()):
            recorded.setdefault(n, {})[old] = new
        notes += walk.said
    return recorded, notes


def _codes(frame: pd.DataFrame, runs: Sequence[int]) -> dict[int, dict[str, Codes]]:
    """The graphs of ``runs`` by name, and what they execute."""
    run = frame["run"].to_numpy()
    graphs, codes = (frame[name].cat for name in ("graph", "code"))
    both = np.stack([graphs.codes.to_numpy(), codes.codes.to_numpy()])
    order = np.argsort(run, kind="stable")
    edges = np.searchsorted(run[order], [[n, n + 1] for n in runs]).tolist()
    known = frozenset(n for n, text in enumerate(codes.categories) if text)
    found: dict[int, dict[str, Codes]] = {}
    names, sets = [*map(str, graphs.categories)], dict[bytes, Codes]()
    same: dict[bytes, dict[str, Codes]] = {b"": {}}  # for the most part runs execute what others do
    for n, (start, stop) in zip(runs, edges, strict=True):
        mine = both[:, order[start:stop]]
        if (text := mine.tobytes()) not in same:
            graph, code = mine[:, np.argsort(mine[0], kind="stable")]
            first = np.flatnonzero(np.diff(graph, prepend=-1))
            parts = zip(graph[first], np.split(code, first[1:]), strict=True)
            same[text] = made = {}
            for number, each in parts:  # and graphs what they did, where a run as a whole does not
                if (of := each.tobytes()) not in sets:
                    sets[of] = known & {*each.tolist()}
                made[names[number]] = sets[of]
        found[n] = same[text]
    return found


@dataclass(eq=False, slots=True)
class _Walk:
    """Through the runs ``of`` a suite and target, oldest first, with their places; ``codes`` are
    their graphs. ``last`` is the newest run so far that has each graph, ``pending`` the run of each
    new graph that no run yet shows to be another's new name, or not. ``said`` are sentences,
    ``loaded`` the graphs' records, by run (None: it cannot be read), each read once."""

    index: Index
    of: Mapping[int, int]
    codes: Mapping[int, Mapping[str, Codes]]
    last: dict[str, int] = field(default_factory=dict)
    pending: dict[str, int] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    loaded: dict[tuple[int, str], GraphRecord | None] = field(default_factory=dict)

    def steps(self) -> list[_Step]:
        """What each run renamed. What goes to and fro is two graphs, measured in turn."""
        found = [s for n in self.of if self.index.runs[n].complete and (s := self._at(n))]
        times = Counter(frozenset(one) for step in found for one in step.called.items())
        turns = {pair for pair, count in times.items() if count > _TURNS}
        for step in found:
            step.called = {a: b for a, b in step.called.items() if {a, b} not in turns}
            if step.called:
                which = some([f"{old} → {new}" for old, new in step.called.items()])
                many = plural(len(step.called), "graph")
                left = {*step.called} - {*step.called.values()}
                again = some(sorted(left & self.codes[step.run].keys()))
                which += f"; {again}: another graph since, with its own series" * bool(again)
                self.said.append(f"{many} renamed at {self._name(step.run)}: {which}")
        for pair in turns:
            both = " and ".join(sorted(pair))
            self.said.append(f"{both} compute the same, in turn: each has a series of its own")
        for n, new in grouped(self.pending, self.pending.__getitem__).items():
            called, alike = matched(self._loaded(self._gone(n)), self._records(n, new))
            self._doubt(n, [*alike, *(([a], [b]) for a, b in called.items())])
        return [step for step in found if step.called]

    def _at(self, n: int) -> _Step | None:
        """What is renamed in run ``n``."""
        here = self.codes[n]
        new, gone = here.keys() - self.last.keys(), self._gone(n)
        ended = {g for g in gone if self._whole(n, g, new) and not self._beside(g, new, n)}
        moved = changed_hands({g: self.codes[m][g] for g, m in self.last.items()}, here, ended)
        called: dict[str, str] = {}
        if (new and ended) or moved:
            called, alike = matched(self._loaded(ended | moved), self._records(n, new | moved))
            self._doubt(n, alike)
        over = frozenset(b for b in called.values() if b in self.last and b not in called)
        for old_name in called.keys() - called.values():
            del self.last[old_name]
        self.pending = {g: m for g, m in self.pending.items() if g not in here}
        if new and gone and not ended:
            self.pending |= dict.fromkeys(new, n)
        self.last |= dict.fromkeys(here.keys() - self.pending.keys(), n)
        return _Step(n, called, over) if called else None

    def _gone(self, n: int) -> set[str]:
        """The graphs that run ``n`` does not have; one without kernels (it does not compile, or all
        of it is left to torch) is there."""
        run = self.index.runs[n]
        return self.last.keys() - self.codes[n].keys() - {*run.reasons, *run.codegen_seconds}

    def _whole(self, n: int, graph: str, new: AbstractSet[str]) -> bool:
        """Whether run ``n`` has most of what the last run with ``graph`` had, if all its ``new``
        graphs are some of that."""
        known = self.codes[self.last[graph]].keys()
        return len(known & self.codes[n].keys()) >= WHOLE * (len(known) - len(new))

    def _beside(self, graph: str, new: AbstractSet[str], n: int) -> bool:
        """Whether ``graph`` is there again, after run ``n``, beside one that is ``new`` in it."""
        if not new:  # of most runs: the later ones need not be looked through
            return False
        later = (m for m, at in self.of.items() if at > self.of[n] and graph in self.codes[m])
        again = next(later, None)
        return again is not None and not new.isdisjoint(self.codes[again])

    def _doubt(self, n: int, alike: Sequence[Alike]) -> None:
        at = f"at {self._name(n)}: the series begin anew"
        self.said += [f"{look_alike('graph', *each)} {at}" for each in alike]

    def _name(self, n: int) -> str:
        return self.index.runs[n].commit[:DIGITS] or self.index.runs[n].id

    def _loaded(self, graphs: Iterable[str]) -> list[GraphRecord]:
        """``graphs`` as the last run that has each recorded them."""
        by_run = grouped(graphs, self.last.__getitem__)
        return [one for n in sorted(by_run) for one in self._records(n, by_run[n])]

    def _records(self, n: int, graphs: Iterable[str]) -> list[GraphRecord]:
        wanted = sorted(graphs)
        if missing := [graph for graph in wanted if (n, graph) not in self.loaded]:
            self.loaded |= {(n, graph): None for graph in missing}
            try:
                found = store.load_modules(self.index.folder / self.index.runs[n].file, missing)
                self.loaded |= {(n, one.name): one for one in found}
            except RecordError as error:  # it went away meanwhile
                self.said.append(str(error))
        return [one for graph in wanted if (one := self.loaded[n, graph])]

    def newest_names(self, steps: Sequence[_Step]) -> Iterator[tuple[int, str, str]]:
        """The graphs of runs (run, name there, newest name) that have other names than the newest
        run has for them. One whose name another graph took says until when it had it."""
        left, names = [*steps], dict[str, str]()
        for n in reversed([*self.of]):
            while left and self.of[n] < self.of[left[-1].run]:
                step = left.pop()
                until = self._name(step.run)
                new = {old: names.get(now, now) for old, now in step.called.items()}
                names |= {old: f"{old} (until {until})" for old in step.over} | new
            yield from ((n, g, names[g]) for g in self.codes[n] if names.get(g, g) != g)


def under_newest_names(frame: pd.DataFrame, recorded: Recorded) -> pd.DataFrame:
    """``frame`` with the graphs of runs, their regions, and the keys that hold these, under the
    graphs' newest names."""
    if not recorded or not len(frame):
        return frame
    every = ((n, pair) for n, names in recorded.items() for pair in names.items())
    rows = {
        (old, new): np.flatnonzero(
            frame["run"].isin([n for n, _ in each]) & (frame["graph"] == old)
        )
        for (old, new), each in grouped(every, lambda one: one[1]).items()
    }
    columns = {}
    for name in ("graph", "region", "key"):
        codes = frame[name].cat.codes.to_numpy().astype(np.int32)
        texts = [*frame[name].cat.categories]
        places = {text: n for n, text in enumerate(texts)}
        for (old, new), mine in rows.items():
            for code in np.unique(codes[mine][codes[mine] >= 0]).tolist():
                text = inside_of(old, new, texts[code])
                places.setdefault(text, len(places))
                codes[mine[codes[mine] == code]] = places[text]
        columns[name] = pd.Categorical.from_codes(codes, pd.Index([*places]))
    return frame.assign(**columns)
