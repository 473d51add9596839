"""A session spread over several GPUs: whole graphs to each, and a graph always to the same one.

Between boards of one kind the same kernel differs by 0.5 to 0.8 %, so a graph and its baseline
have to be timed on one board. Which board has which graph is kept beside the machine's runs.
"""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TypeAlias

from harness.devices.job import Device
from harness.errors import HarnessError, NoDevice, UsageError
from harness.files import write_atomically
from harness.measure.jobs import DeviceFacts, Effort, Follow
from harness.measure.pairs import KernelPair, PairResults, time_pairs
from harness.measure.timer.state import Reading
from harness.records.run import Machine, one_line
from harness.session.cuda import CudaDevice
from harness.session.entries import Entry, MadeEntry
from harness.session.model import BoardLost, Event, GraphDone, GraphStarted, ProcessStarted
from harness.session.session import Session
from harness.target import Target

BOARDS = "boards.json"
MOVED = "was lost, others timed its pairs"


class Place(Protocol):
    """A GPU that examines graphs and times pairs, here or on another machine. ``name`` is the
    board's. What it does raises ``NoDevice`` when it is lost."""

    @property
    def name(self) -> str:
        """What names the board."""
        ...

    @property
    def facts(self) -> DeviceFacts:
        """What its first process found."""
        ...

    @property
    def readings(self) -> Sequence[Reading]:
        """Its state while kernels were timed."""
        ...

    def events(self, entries: Sequence[Entry], processes: int) -> Iterator[Event]:
        """What ``Session.events`` says of ``entries``."""
        ...

    def pairs(self, pairs: Sequence[KernelPair], effort: Effort, follow: Follow) -> PairResults:
        """What ``time_pairs`` says of ``pairs``."""
        ...

    def interrupt(self) -> None:
        """From another thread: give up what is being done."""
        ...

    def close(self) -> None:
        """Give the board back."""
        ...


@dataclass(frozen=True, slots=True)
class BoardHere:
    """A GPU of this machine. ``session`` makes a session on it, ``where`` is it as a device of a
    pool; ``jobs`` processes compile."""

    device: CudaDevice
    where: Device
    session: Callable[[CudaDevice, Sequence[Entry]], Session]
    cache: Path
    jobs: int

    @property
    def name(self) -> str:
        """The board's identifier."""
        return self.device.machine.gpu_uuid or self.where.name

    @property
    def facts(self) -> DeviceFacts:
        """The board as its first process found it."""
        return self.device.facts

    @property
    def readings(self) -> Sequence[Reading]:
        """The board's state while kernels were timed."""
        return self.device.readings

    def events(self, entries: Sequence[Entry], processes: int) -> Iterator[Event]:
        """Examine ``entries`` here."""
        session = self.session(self.device, entries)
        session.processes = processes
        return session.events()

    def pairs(self, pairs: Sequence[KernelPair], effort: Effort, follow: Follow) -> PairResults:
        """Time ``pairs`` here."""
        return time_pairs(pairs, effort, self.cache, self.jobs, follow, device=self.where)

    def interrupt(self) -> None:
        """Give up what is being done."""
        self.device.interrupt()

    def close(self) -> None:
        """End its processes."""
        self.device.close()


@dataclass(frozen=True, slots=True)
class Homes:
    """Which board times which graph, kept in the file ``path`` (None: nowhere). Where there is a
    board that the file does not know, all is shared out anew; one that is missing lends its graphs
    to the others."""

    path: Path | None

    def shares(self, costs: Mapping[str, float], boards: Sequence[str]) -> dict[str, list[str]]:
        """The graphs of each board: where they were; new ones, dearest first, where least is."""
        before, known = self._read()
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

    def _read(self) -> tuple[tuple[str, ...], dict[str, str]]:
        try:
            found = (
                json.loads(self.path.read_bytes()) if self.path else {"boards": (), "graphs": {}}
            )
            homes = {str(graph): str(board) for graph, board in found["graphs"].items()}
            return tuple(map(str, found["boards"])), homes
        except (OSError, ValueError, AttributeError, KeyError, TypeError):
            return (), {}  # missing, or damaged: made anew


_Heard: TypeAlias = "queue.SimpleQueue[tuple[int, Event | BaseException | None]]"


@dataclass(eq=False, slots=True)
class Fleet:
    """What a ``Session`` is, over several ``places``. A place that is lost costs nothing but time:
    its graphs go to the others."""

    entries: Sequence[Entry]
    target: Target
    places: Sequence[Place]
    homes: Homes
    processes: int = 1
    moved: bool = False
    _lost: dict[int, NoDevice] = field(default_factory=dict)

    def events(self) -> Generator[Event, None, None]:
        """Generate everything, then examine it on all places. Raises ``NoDevice`` where none is
        left."""
        made: dict[str, Entry] = {}
        costs: dict[str, float] = {}
        for position, entry in enumerate(self.entries, start=1):
            yield GraphStarted(entry.name, position, len(self.entries))
            made[entry.name], costs[entry.name] = entry, 0.0
            with contextlib.suppress(HarnessError):  # said again, with its reason, where it is
                found = entry.compile()
                made[entry.name] = MadeEntry(entry, found)
                costs[entry.name] = float(len(found.kernels))
        while made:
            alive = {n: p for n, p in enumerate(self.places) if n not in self._lost}
            if not alive:
                raise next(iter(self._lost.values()))
            self.moved |= bool(self._lost)
            names = [place.name for place in alive.values()]
            shares = self.homes.shares({name: costs[name] for name in made}, names)
            work = {n: [made[g] for g in shares[p.name]] for n, p in alive.items()}
            with contextlib.closing(self._together({n: w for n, w in work.items() if w})) as events:
                for event in events:
                    if isinstance(event, GraphDone):
                        made.pop(event.record.name, None)
                    yield event

    def machine(self) -> Machine:
        """The machine, with all boards as its GPU. Where graphs were moved between boards it is
        none that other runs were timed on."""
        found = self.places[0].facts.machine
        boards = "+".join(sorted(place.name for place in self.places))
        return replace(found, gpu_uuid=boards + (" moved" if self.moved else ""))

    def _together(self, work: Mapping[int, Sequence[Entry]]) -> Generator[Event, None, None]:
        """What places say of their ``work``, as it comes."""
        heard: _Heard = queue.SimpleQueue()
        stop = threading.Event()
        for number, entries in work.items():
            given = (self.places[number], number, entries, self.processes, heard, stop)
            threading.Thread(target=_examine, args=given, daemon=True).start()
        running = dict.fromkeys(work, 0)  # the process that each is in
        held: dict[int, ProcessStarted] = {}
        try:
            while running:
                number, event = heard.get()
                match event:
                    case None:
                        del running[number]
                    case NoDevice():
                        del running[number]
                        self._lost[number] = event
                        yield BoardLost(self.places[number].name, one_line(event))
                    case BaseException():
                        raise event
                    case ProcessStarted():
                        running[number] = event.process
                        held[event.process] = event
                    case GraphStarted():
                        pass
                    case _:
                        yield event
                slowest = min(running.values(), default=self.processes)
                for process in sorted(p for p in held if p <= slowest):
                    yield held.pop(process)
        finally:
            stop.set()
            for number in running:
                self.places[number].interrupt()


def _examine(
    place: Place,
    number: int,
    entries: Sequence[Entry],
    processes: int,
    heard: _Heard,
    stop: threading.Event,
) -> None:
    """A thread: everything that ``place`` says, then None or why it ended."""
    try:
        events = place.events(entries, processes)
        for event in events:
            if stop.is_set():
                break
            heard.put((number, event))
        heard.put((number, None))
    except BaseException as error:  # noqa: BLE001 - raised where the events are heard
        heard.put((number, error))


def require_one_kind(places: Sequence[Place]) -> None:
    """Raises ``UsageError`` where places are GPUs of several kinds, or under several drivers."""
    kinds: dict[str, list[str]] = {}
    for place in places:
        kinds.setdefault(place.facts.machine.key, []).append(place.name)
    if len(kinds) > 1:
        raise UsageError(
            "GPUs of several kinds cannot share a run: their times would be mixed",
            got="; ".join(f"{key}: {', '.join(names)}" for key, names in sorted(kinds.items())),
            expected="one model under one driver",
            remedy="name those of one kind with --devices, or start workers on them alone",
        )


def time_spread(
    places: Sequence[Place], pairs: Sequence[KernelPair], effort: Effort, follow: Follow
) -> PairResults:
    """``time_pairs`` over several places, each pair on one of them. What a place had not finished
    when it was lost is timed on the others. Raises ``NoDevice`` where nothing could be measured."""
    found: dict[int, tuple[PairResults, int]] = {}
    left, alive, notes = list(range(len(pairs))), list(places), list[str]()
    last: NoDevice | None = None
    interrupted = False
    while left and alive and not interrupted:
        chunks = {n: left[n :: len(alive)] for n in range(len(alive)) if left[n :: len(alive)]}
        answers = _in_threads(
            {n: (alive[n], [pairs[i] for i in chunk]) for n, chunk in chunks.items()},
            effort,
            follow,
        )
        gone = set()
        for n, answer in sorted(answers.items()):
            if isinstance(answer, NoDevice):
                last, why = answer, one_line(answer)
            else:
                found |= {index: (answer, at) for at, index in enumerate(chunks[n])}
                why, interrupted = answer.lost, interrupted or answer.interrupted
            if why:
                gone.add(n)
                notes.append(f"{alive[n].name} {MOVED}: {why}")
        left = [i for n in sorted(gone) for i in chunks[n]]
        alive = [place for n, place in enumerate(alive) if n not in gone]
    if not found:
        raise last or NoDevice("there is no GPU to time on")
    return _merged(found, len(pairs), interrupted, "" if alive else notes[-1], tuple(notes))


def _merged(
    found: Mapping[int, tuple[PairResults, int]],
    total: int,
    interrupted: bool,
    lost: str,
    notes: tuple[str, ...],
) -> PairResults:
    devices = [result.device for result, _ in found.values()]
    boards = {device.machine.gpu_uuid or "" for device in devices}
    machine = replace(devices[0].machine, gpu_uuid="+".join(sorted(boards)))
    parts = [found.get(n) for n in range(total)]
    return PairResults(
        replace(devices[0], machine=machine),
        tuple(p[0].outcomes[p[1]] if p else () for p in parts),
        tuple(p[0].reasons[p[1]] if p else "" for p in parts),
        interrupted,
        lost,
        notes,
    )


def _in_threads(
    work: Mapping[int, tuple[Place, Sequence[KernelPair]]], effort: Effort, follow: Follow
) -> dict[int, PairResults | NoDevice]:
    """What each place answers. Ctrl-C ends all of them, and what they had is here."""
    stop = threading.Event()
    heard: queue.SimpleQueue[tuple[int, PairResults | BaseException]] = queue.SimpleQueue()
    done = dict.fromkeys(work, 0)
    total = effort.processes * sum(len(pairs) for _, pairs in work.values())

    def measure(number: int, place: Place, pairs: Sequence[KernelPair]) -> None:
        def heed(finished: int, _: int) -> None:
            if stop.is_set():
                raise KeyboardInterrupt
            done[number] = finished
            follow(sum(done.values()), total)

        try:
            heard.put((number, place.pairs(pairs, effort, heed)))
        except BaseException as error:  # noqa: BLE001 - raised where it is heard
            heard.put((number, error))

    for number, given in work.items():
        threading.Thread(target=measure, args=(number, *given), daemon=True).start()
    answers: dict[int, PairResults | NoDevice] = {}
    while len(answers) < len(work):
        try:
            number, answer = heard.get()
        except KeyboardInterrupt:
            stop.set()
            continue
        if isinstance(answer, BaseException) and not isinstance(answer, NoDevice):
            stop.set()
            raise answer
        answers[number] = answer
    return answers
