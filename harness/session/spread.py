"""A session spread over several GPUs: whole graphs to each, and a graph always to the same one.
Between boards of one kind the same kernel differs by 0.5 to 0.8 %, so a graph and its baseline have
to be timed on one board. Which board has which graph is kept beside the machine's runs."""

from __future__ import annotations

import json
import math
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from harness.errors import NoDevice, UsageError
from harness.files import write_atomically
from harness.ir.reach import grouped
from harness.records.run import Machine, one_line
from harness.session import model
from harness.session.ahead import FEW, Made, shared, size
from harness.session.cuda import CudaDevice
from harness.session.entries import Entry
from harness.session.session import Session
from harness.target import Target

BOARDS = "boards.json"

Examine: TypeAlias = Callable[[CudaDevice, Sequence[Entry], int], Session]
"""A session over graphs on one board, in that many processes."""

_Heard: TypeAlias = "queue.SimpleQueue[tuple[int, Any]]"


@dataclass(frozen=True, slots=True)
class Homes:
    """Which board times which graph, kept in the file ``path`` (None: nowhere). Where there is a
    board that the file does not know, all is shared out anew; one that is missing lends its graphs
    to the others."""

    path: Path | None

    def shares(self, costs: Mapping[str, float], boards: Sequence[str]) -> dict[str, list[str]]:
        """The graphs of each board: where they were; new ones, dearest first, where least is."""
        before, known = self.read()
        if not set(boards) <= set(before):
            before, known = tuple(boards), {}
        homes = {name: known[name] for name in costs if known.get(name) in boards}
        load = dict.fromkeys(sorted(boards), 0.0)
        for name, board in homes.items():
            load[board] += costs[name]
        for name in sorted(costs, key=lambda n: (-costs[n], n)):
            if name not in homes:
                homes[name] = min(load, key=lambda board: (load[board], board))
                load[homes[name]] += costs[name]
        if self.path is not None:
            kept = {"boards": sorted(before), "graphs": {**homes, **known}}
            write_atomically(self.path, json.dumps(kept, indent=1, sort_keys=True).encode())
        return {board: [name for name in costs if homes[name] == board] for board in boards}

    def read(self) -> tuple[tuple[str, ...], dict[str, str]]:
        """The boards that were there, and which has which graph."""
        try:
            found = json.loads(self.path.read_bytes() if self.path else b"{}")
            homes = {str(graph): str(board) for graph, board in found["graphs"].items()}
            return tuple(map(str, found["boards"])), homes
        except (OSError, ValueError, AttributeError, KeyError, TypeError):
            return (), {}  # missing, or damaged: made anew


@dataclass(eq=False, slots=True)
class Fleet:
    """What a ``Session`` is, over several ``boards``, on each of which ``examine`` opens one. A
    board that is lost costs nothing but time: graphs that it had not timed in every process go to
    the others, which begin them anew. ``generate`` answers entries with what is made of them, in
    any order, beside what is timed; a few without their boards before they are shared out."""

    entries: Sequence[Entry]
    target: Target
    boards: Sequence[CudaDevice]
    homes: Homes
    examine: Examine
    generate: Callable[[Sequence[Entry]], Iterable[Made]]
    processes: int = 1
    until: float = math.inf
    moved: bool = False
    _lost: dict[int, NoDevice] = field(default_factory=dict)

    def events(self) -> Generator[model.Event, None, None]:
        """Examine everything on all boards. Raises ``NoDevice`` where none is left."""
        made = shared(self.entries, iter(self.generate(self.entries)))
        while made and time.monotonic() < self.until:
            alive = {n: board for n, board in enumerate(self.boards) if n not in self._lost}
            if not alive:
                raise next(iter(self._lost.values()))
            self.moved |= bool(self._lost)
            names = [board.name for board in alive.values()]
            costs = {name: size(one.entry) for name, one in made.items()}
            before, homes = self.homes.read()
            stay = set(names) <= set(before) and all(homes.get(name) in names for name in made)
            # Many are spread evenly enough by their texts, and a board waits for its own alone.
            wait = len(made) < FEW and len(names) > 1 and not stay
            for entry in made.values() if wait else ():
                yield model.GraphStarted(entry.name)
                found = entry.made()
                costs[entry.name] = len(found.kernels) if isinstance(found, model.Compiled) else 0.0
            shares = self.homes.shares(costs, names)
            work = {n: [made[g] for g in shares[b.name]] for n, b in alive.items()}
            with closing(self._together({n: w for n, w in work.items() if w})) as events:
                for event in events:
                    if isinstance(event, model.GraphDone) and not event.again:
                        made.pop(event.record.name, None)
                    yield event
            for n in work.keys() - self._lost.keys():
                for entry in work[n]:  # also of what no further process had anything to time
                    made.pop(entry.name, None)

    def machine(self) -> Machine:
        """The machine, with all boards as its GPU. Where graphs were moved between boards it is
        none that other runs were timed on."""
        names = "+".join(sorted(board.name for board in self.boards))
        moved = " moved" if self.moved else ""
        return replace(self.boards[0].facts.machine, gpu_uuid=names + moved)

    def _together(self, work: Mapping[int, Sequence[Entry]]) -> Generator[model.Event, None, None]:
        """What boards say of their ``work``, as it comes, each from a thread that waits for it; at
        last None, or why there is no more. A process is announced once all boards are in it."""
        heard: _Heard = queue.SimpleQueue()
        stop = threading.Event()
        for given in work.items():
            threading.Thread(target=self._examine, args=(*given, heard, stop), daemon=True).start()
        running, held = dict.fromkeys(work, 0), dict[int, model.ProcessStarted]()
        try:
            while running:
                number, event = heard.get()
                match event:
                    case None:
                        del running[number]
                    case NoDevice() if self.boards[number].worker.found:
                        del running[number]
                        self._lost[number] = event
                        yield model.BoardLost(self.boards[number].name, one_line(event))
                    case BaseException():
                        raise event
                    case model.ProcessStarted():
                        running[number] = event.process
                        held[event.process] = event
                    case _:
                        yield event
                slowest = min(running.values(), default=self.processes)
                for process in sorted(p for p in held if p <= slowest):
                    yield held.pop(process)
        finally:
            stop.set()
            for number in work:
                self.boards[number].worker.interrupt()

    def _examine(
        self, number: int, work: Sequence[Entry], heard: _Heard, stop: threading.Event
    ) -> None:
        error: BaseException | None = None
        try:
            session = self.examine(self.boards[number], work, self.processes)
            session.until = self.until
            with closing(session.events()) as events:
                for event in events:
                    if stop.is_set():
                        return
                    heard.put((number, event))
        except BaseException as found:  # noqa: BLE001 - raised where it is heard
            error = found
        heard.put((number, error))


def require_one_kind(boards: Sequence[CudaDevice]) -> None:
    """Raises ``UsageError`` where boards are GPUs of several kinds, or under several drivers."""
    kinds = sorted(grouped(boards, lambda board: board.facts.machine.key).items())
    if len(kinds) > 1:
        raise UsageError(
            "GPUs of several kinds cannot share a run: their times would be mixed",
            got="; ".join(f"{key}: {', '.join(b.name for b in alike)}" for key, alike in kinds),
            expected="one model under one driver",
            remedy="name those of one kind with --devices, or start workers on them alone",
        )
