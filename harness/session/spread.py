"""A session spread over several GPUs: whole graphs to each, and a graph always to the same one.
Between boards of one kind the same kernel differs by 0.5 to 0.8 %, so a graph and its baseline have
to be timed on one board. Which board has which graph is kept beside the machine's runs."""

from __future__ import annotations

import abc
import contextlib
import json
import queue
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from harness.devices.closing import Closing
from harness.devices.job import Device
from harness.errors import HarnessError, NoDevice, UsageError
from harness.files import write_atomically
from harness.measure.jobs import DeviceFacts, Effort, Follow, gpu
from harness.measure.pairs import KernelPair, PairResults, time_pairs
from harness.measure.peers.pool import PeerPool, environment
from harness.measure.timer.state import Reading, summary
from harness.options import Options
from harness.records.run import Machine, Run, one_line
from harness.session.cuda import CudaDevice
from harness.session.entries import Entry, MadeEntry
from harness.session.model import BoardLost, Event, GraphDone, GraphStarted, ProcessStarted
from harness.session.session import new_session
from harness.target import Target

BOARDS = "boards.json"
MOVED = "was lost, others timed its pairs"

Tell: TypeAlias = Callable[[Any], None]
"""Hears what a board says before it answers."""


class Place(Closing):
    """A GPU that does work, here or on another machine; ``name`` is the board's, ``facts`` what its
    first process found."""

    name: str
    facts: DeviceFacts

    @abc.abstractmethod
    def do(self, work: Examine | TimePairs, tell: Tell) -> Any:
        """What ``work`` answers. Raises ``NoDevice`` when the GPU is lost."""

    @abc.abstractmethod
    def interrupt(self) -> None:
        """From another thread: give up what is being done."""


@dataclass(eq=False, slots=True)
class Board(Place):
    """A GPU of this machine: ``where`` is it as a device of a pool; ``jobs`` processes compile."""

    name: str
    facts: DeviceFacts
    device: CudaDevice
    where: Device
    options: Options
    jobs: int

    @classmethod
    def taken(cls, options: Options, jobs: int, kernel_seconds: float, board: str = "") -> Board:
        """The GPU with the identifier ``board``, or the current one. Raises ``NoDevice``."""
        where = gpu(True, environment(options.cache), board)
        made = CudaDevice(options.cache, jobs, kernel_seconds, where=where)
        name = made.facts.machine.gpu_uuid or where.name
        return cls(name, made.facts, made, gpu(board=board), options, jobs)

    def do(self, work: Examine | TimePairs, tell: Tell) -> Any:
        """What ``work`` answers, done here."""
        return work(self, tell)

    def interrupt(self) -> None:
        """Give up what is being done."""
        self.device.interrupt()

    def close(self) -> None:
        """End its processes."""
        self.device.close()


@dataclass(frozen=True, slots=True)
class Examine:
    """Work: tells what ``Session.events`` says of ``entries``, with the compilers ``against``;
    answers the GPU's state meanwhile."""

    entries: Sequence[Entry]
    processes: int
    against: tuple[str, ...] = ()

    def __call__(self, board: Board, tell: Tell) -> list[Reading]:
        """Done on ``board``."""
        device, before = board.device, len(board.device.readings)
        session = new_session(board.options, board.jobs, self.entries, device.target, device)
        session.processes = self.processes
        with contextlib.ExitStack() as stack:
            if self.against:
                given = (self.against, board.options.cache, board.jobs)
                first, on = device.worker, board.where.environment
                peers = PeerPool(*given, processes=self.processes, first=first, on=on)
                session.peers = stack.enter_context(peers)
            for event in stack.enter_context(contextlib.closing(session.events())):
                tell(event)
        return list(device.readings[before:])


@dataclass(frozen=True, slots=True)
class TimePairs:
    """Work: tells how many measurements are done, answers ``PairResults``."""

    pairs: Sequence[KernelPair]
    effort: Effort

    def __call__(self, board: Board, tell: Tell) -> PairResults:
        """Done on ``board``."""
        where = (board.options.cache, board.jobs, lambda done, _: tell(done))
        return time_pairs(self.pairs, self.effort, *where, device=board.where)


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


_Heard: TypeAlias = "queue.SimpleQueue[tuple[int, Any]]"


def _begun(work: Mapping[int, tuple[Place, Examine | TimePairs]]) -> tuple[_Heard, threading.Event]:
    """What places tell of their work, each from a thread, and at last its answer or why there is
    none; and what ends them."""
    heard: _Heard = queue.SimpleQueue()
    stop = threading.Event()

    def do(number: int, place: Place, mine: Examine | TimePairs) -> None:
        def tell(said: Any) -> None:
            if stop.is_set():
                raise KeyboardInterrupt
            heard.put((number, said))

        try:
            heard.put((number, place.do(mine, tell)))
        except BaseException as error:  # noqa: BLE001 - raised where it is heard
            heard.put((number, error))

    for number, given in work.items():
        threading.Thread(target=do, args=(number, *given), daemon=True).start()
    return heard, stop


@dataclass(eq=False, slots=True)
class Fleet:
    """What a ``Session`` is, over several ``places``. A place that is lost costs nothing but time:
    its graphs go to the others. ``readings`` are the states of all while kernels were timed."""

    entries: Sequence[Entry]
    target: Target
    places: Sequence[Place]
    homes: Homes
    processes: int = 1
    against: tuple[str, ...] = ()
    moved: bool = False
    readings: list[Reading] = field(default_factory=list)
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

    def ended(self, run: Run) -> Run:
        """``run`` with what is known of the GPUs at the end."""
        return replace(run, machine=self.machine(), state=summary(self.readings))

    def _together(self, work: Mapping[int, Sequence[Entry]]) -> Generator[Event, None, None]:
        """What places say of their ``work``, as it comes."""
        how = (self.processes, self.against)
        given = {n: (self.places[n], Examine(w, *how)) for n, w in work.items()}
        heard, stop = _begun(given)
        running = dict.fromkeys(work, 0)  # the process that each is in
        held: dict[int, ProcessStarted] = {}
        try:
            while running:
                number, event = heard.get()
                match event:
                    case list():
                        del running[number]
                        self.readings.extend(event)
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
        chunks = {n: left[n :: len(alive)] for n in range(min(len(alive), len(left)))}
        work = {n: TimePairs([pairs[i] for i in chunk], effort) for n, chunk in chunks.items()}
        answers = _answers({n: (alive[n], w) for n, w in work.items()}, follow)
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
    devices = [result.device for result, _ in found.values()]
    boards = "+".join(sorted({device.machine.gpu_uuid or "" for device in devices}))
    parts = [found.get(n) for n in range(len(pairs))]
    return PairResults(
        replace(devices[0], machine=replace(devices[0].machine, gpu_uuid=boards)),
        tuple(p[0].outcomes[p[1]] if p else () for p in parts),
        tuple(p[0].reasons[p[1]] if p else "" for p in parts),
        interrupted,
        "" if alive else notes[-1],
        tuple(notes),
    )


def _answers(
    work: Mapping[int, tuple[Place, TimePairs]], follow: Follow
) -> dict[int, PairResults | NoDevice]:
    """What each place answers. Ctrl-C ends all of them, and what they had is here."""
    total = sum(mine.effort.processes * len(mine.pairs) for _, mine in work.values())
    done: dict[int, int] = {}
    answers: dict[int, PairResults | NoDevice] = {}
    heard, stop = _begun(work)
    try:
        while len(answers) < len(work):
            try:
                number, said = heard.get()
            except KeyboardInterrupt:
                stop.set()
                continue
            if isinstance(said, int):
                done[number] = said
                follow(sum(done.values()), total)
            elif isinstance(said, PairResults | NoDevice):
                answers[number] = said
            else:
                raise said
    finally:
        stop.set()
    return answers
