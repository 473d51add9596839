"""From a command line's words to a session ready to run: names, target, pools, device."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import harness
from harness.corpus.store import load
from harness.devices.job import Device
from harness.devices.process import Process
from harness.devices.queue import Inbox, Queue
from harness.errors import NoDevice, UsageError
from harness.measure.jobs import DeviceFacts, OpenDevice, gpu
from harness.measure.peers import pool as peers
from harness.measure.peers.pool import PeerPool
from harness.measure.timer.state import summary
from harness.options import Options
from harness.records.machine import commit_of, fingerprint
from harness.records.run import Machine, Run
from harness.records.timing import METHOD
from harness.runtime.compile.cache import usable
from harness.runtime.compile.static import CompilePool
from harness.runtime.interpret.interpreter import InterpreterPool
from harness.session import ahead, cuda
from harness.session.cuda import CudaDevice
from harness.session.entries import Entry, FileEntry, corpus_folder, find_entries
from harness.session.session import CheckQueue, Session, StaticQueue
from harness.session.spread import BOARDS, Fleet, Homes, require_one_kind
from harness.session.workers import remote_gpus
from harness.target import Target, find_target

_GENERATING = 4
"""Processes for each board: the first graphs, 60 ms each, are waited for."""
_DEVICES = Path("/dev")
"""Where the driver has a file for each GPU, in a container for each that may be used there."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a command asks for. ``names`` empty means the whole suite; ``target`` None the
    GPU here, else the options'; ``jobs`` None the options'. ``timing`` true demands a GPU, false
    leaves it alone, None uses it if it is there and fits the target. ``against`` names other
    compilers (``peers.jobs.parse``), which need a GPU. Every kernel is timed in ``processes``
    fresh processes; one that takes more than ``kernel_seconds`` in one of them is given up.
    ``only`` are patterns: of graphs, or, where no graph is like that, of kernels. ``devices`` are
    the GPUs of this machine to spread over (``all``, or numbers), ``workers`` the address of a
    scheduler of dask.distributed whose workers have one each; empty: the current GPU alone.
    ``decide``: what the compiler is unsure of is timed both ways before a graph is compiled.
    ``patient``: GPUs here are taken once there is something to measure; ``quick``: few samples are
    taken of each kernel."""

    suite: str = "default"
    names: tuple[str, ...] = ()
    target: str | None = None
    jobs: int | None = None
    timing: bool | None = None
    against: tuple[str, ...] = ()
    processes: int = 1
    kernel_seconds: float = 180.0
    only: tuple[str, ...] = ()
    devices: str = ""
    workers: str = ""
    patient: bool = False
    decide: bool = False
    quick: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A session and the run it will fill; ``timed`` says whether a GPU is used, ``notes`` what
    the user should know before it starts. ``ended`` is the run with what is known of its GPUs at
    the end. ``whole`` is false where kernels of a graph are left out: such a run is not one of the
    graph. ``devices`` are the GPUs where there may be several."""

    session: Session | Fleet
    run: Run
    timed: bool
    notes: tuple[str, ...] = ()
    ended: Callable[[Run], Run] = lambda run: run
    whole: bool = True
    devices: tuple[Device, ...] = ()


@contextlib.contextmanager
def prepare(options: Options, request: Request) -> Iterator[Plan]:
    """Find the graphs and set up a session. Raises ``UnknownName`` for a graph, suite or target
    that does not exist, ``NoDevice`` where a GPU is demanded and there is none. One that cannot be
    taken is what the session raises."""
    _require_timing(request)
    named = find_target(request.target or options.target)
    with contextlib.ExitStack() as stack:
        cache, note = stack.enter_context(usable(options.kept_cache))
        options = replace(options, cache=cache, jobs=request.jobs or options.jobs)
        entries = find_entries(options, request.suite, request.names, named, request.only)
        device: CudaDevice | None = None
        boards: list[CudaDevice] = []
        if request.devices or request.workers:
            boards = stack.enter_context(_boards(options, request))
            device = boards[0]
        elif device := open_device(options, request):
            stack.enter_context(device)
        facts = None if device is None else device.facts
        target = facts.target if facts else named
        for entry in entries:
            if isinstance(entry, FileEntry):
                entry.target, entry.decides = target, request.decide
                entry.choose = device.choose if device and request.decide else None
        whole = not any(getattr(entry, "only", ()) for entry in entries)
        notes, corpus = [note] if note else [], corpus_folder(options, request.suite)
        if corpus is not None:  # what of it cannot be used
            notes += map(str, load(corpus).notes)
        if not whole:
            notes.append(f"only kernels like {' '.join(request.only)}: nothing is recorded")
        run = new_run(options, request, target, facts)

        def ended(run: Run) -> Run:
            if device is None:
                return run
            state = summary([reading for board in boards or [device] for reading in board.readings])
            machine = fleet.machine() if boards else device.facts.machine
            limits = asdict(device.facts.roofline) if device.facts.roofline else {}
            return replace(run, machine=machine, state=state, **limits)

        if facts and boards:
            notes.append(f"{len(boards)} GPUs: {', '.join(board.name for board in boards)}")
            homes = Homes(options.results / facts.machine.key / BOARDS if whole else None)
            fleet = stack.enter_context(_fleet(options, request, boards, homes, entries))
            run = replace(run, machine=fleet.machine())
            devices = tuple(replace(board.where, opening=OpenDevice()) for board in boards)
            yield Plan(fleet, run, True, tuple(notes), ended, whole, devices)
            return
        others = stack.enter_context(_peers(options, request, device))
        session = _session(options, others, target, device, entries, request.processes)
        yield Plan(session, run, device is not None, tuple(notes), ended, whole)


@contextlib.contextmanager
def _fleet(
    options: Options,
    request: Request,
    boards: Sequence[CudaDevice],
    homes: Homes,
    entries: Sequence[Entry],
) -> Iterator[Fleet]:
    """A session over ``boards``, each with its share of the processes. Those of other compilers
    import for seconds: while code is generated, by a few processes: a board takes longer than they
    do."""
    target = boards[0].facts.target
    each = replace(options, jobs=max(1, options.jobs // len(boards)))
    with contextlib.ExitStack() as stack:
        others = {b.name: stack.enter_context(_peers(each, request, b)) for b in boards}

        def examine(board: CudaDevice, share: Sequence[Entry], processes: int) -> Session:
            return _session(each, others[board.name], target, board, share, processes)

        cache, compared = options.kept_cache, bool(request.against)
        generate = functools.partial(
            ahead.all_generated,
            jobs=min(options.jobs, _GENERATING * len(boards)),
            cache=cache,
            compared=compared,
        )
        yield Fleet(entries, target, boards, homes, examine, generate, request.processes)


def _session(
    options: Options,
    peers: PeerPool | None,
    target: Target,
    device: CudaDevice | None,
    entries: Sequence[Entry],
    processes: int,
) -> Session:
    """A session over ``entries`` on ``device``, with the compilers that it is compared with, and
    other processes beside it: half of them compile kernels and read their static metrics, because
    this process generates code meanwhile; as many run small kernels in Triton's interpreter and
    compare. That is the longer queue once static metrics are cached, but each of its workers
    takes a third of a GiB for torch."""
    inbox: Inbox = queue.SimpleQueue()
    compiling = functools.partial(CompilePool, max(1, options.jobs // 2), options.kept_cache)
    checking = min(options.jobs, max(4, options.jobs // 2))
    interpreting = functools.partial(InterpreterPool, checking, options.kept_cache)
    static: StaticQueue = Queue("static metrics", inbox, compiling, CompilePool.metrics_each)
    check: CheckQueue = Queue("checks", inbox, interpreting, InterpreterPool.each)
    return Session(entries, target, inbox, static, check, device, peers, processes)


def _peers(
    options: Options, request: Request, device: CudaDevice | None
) -> contextlib.AbstractContextManager[PeerPool | None]:
    """The compilers that a run on ``device`` is compared with, if any; their processes start."""
    if device is None or not request.against:
        return contextlib.nullcontext()
    given, first = (request.against, options.cache, options.jobs), device.worker
    on = replace(device.where, opening=OpenDevice(quick=request.quick))
    return peers.PeerPool(*given, processes=request.processes, first=first, on=on)


@contextlib.contextmanager
def _started(options: Options, request: Request) -> Iterator[Iterator[Process]]:
    """Processes for as many GPUs as are asked for and have a file: they import while this one
    imports torch, which says what GPUs there are. Those that nobody takes end."""
    left_alone = request.timing is False or request.patient
    listed = [] if left_alone else list(_DEVICES.glob("nvidia[0-9]*"))
    wanted = len(listed) if request.devices == "all" else request.devices.count(",") + 1
    where = gpu(environment=peers.environment(options.cache))
    started = iter([Process.started(where, options.cache) for _ in listed[:wanted]])
    try:
        yield started
    finally:
        for process in started:
            process.end()


@contextlib.contextmanager
def _boards(options: Options, request: Request) -> Iterator[list[CudaDevice]]:
    """The GPUs that are asked for: of other machines, or of this one, taken meanwhile, each with
    its share of the processes. Raises ``UsageError`` where they do not go together."""
    _require_alone(request)
    with contextlib.ExitStack() as stack:

        def board(where: Device, jobs: int, **more: Any) -> CudaDevice:
            given = (options.cache, jobs, request.kernel_seconds)
            return stack.enter_context(cuda.CudaDevice(*given, where=where, **more))

        if request.workers:
            remote = stack.enter_context(remote_gpus(request.workers, request.quick))
            with ThreadPoolExecutor(len(remote)) as threads:  # seconds each
                asked = [threads.submit(board, *one) for one in remote]
            found = [one for one in asked if not isinstance(one.exception(), NoDevice)]
            taken = [one.result() for one in found or asked]
        else:
            with _started(options, request) as started:
                from harness.runtime.device import boards  # imports torch

                names, given = boards(request.devices), peers.environment(options.cache)
                each, taken = max(1, options.jobs // len(names)), []
                for number, name in names.items():
                    more = {"seen": seen(number), "started": [*islice(started, 1)]}
                    opening = OpenDevice(True, name, request.quick)
                    taken.append(board(gpu(opening, given), each, **more))
        require_one_kind(taken)
        _require_kind(request, taken[0].target)
        for one in () if request.patient else taken:
            one.take()
        yield taken


def _require_alone(request: Request) -> None:
    """Raises ``UsageError`` for what several GPUs cannot do."""
    others = {
        "--no-timing": request.timing is False,
        "--decide": request.decide,
        "--devices with --workers": bool(request.devices and request.workers),
    }
    if wrong := [name for name, given in others.items() if given]:
        raise UsageError(
            "this does not go with several GPUs",
            where="--workers" if request.workers else "--devices",
            got=wrong[0],
            expected="kernels to time",
            remedy="leave one of the two out",
        )


def open_device(options: Options, request: Request, compilers: int = 1) -> CudaDevice | None:
    """The GPU, unless there is none, it is not wanted, or another target was named. Raises
    ``NoDevice`` for the first and the last where a GPU is demanded. It is taken meanwhile: where
    that fails, the first job raises ``NoDevice``."""
    if request.timing is False:
        return None
    unsaid = () if request.timing or request.against else (NoDevice,)
    with contextlib.suppress(*unsaid), _started(options, request) as started:
        from harness.runtime.device import require  # imports torch

        require()
        found = seen()
        _require_kind(request, found.target)
        opening = OpenDevice(True, quick=request.quick, compilers=compilers)
        where = gpu(opening, peers.environment(options.cache))
        given = (options.cache, options.jobs, request.kernel_seconds)
        device = cuda.CudaDevice(*given, where=where, seen=found, started=[*islice(started, 1)])
        if not request.patient:
            device.take()
        return device
    return None


def seen(number: int | None = None) -> DeviceFacts:
    """A GPU, the current one if None, as the driver describes it, without a process on it."""
    from harness.runtime.device import current_target

    return DeviceFacts(current_target(number), fingerprint(number=number), METHOD)


def all_seen(options: Options, request: Request) -> list[DeviceFacts]:
    """The GPUs that a run would use, which nothing holds afterwards. Raises as ``prepare`` does."""
    if not request.devices and not request.workers:
        return [seen()]
    with _boards(options, replace(request, patient=True)) as boards:
        return [board.facts for board in boards]


def _require_timing(request: Request) -> None:
    if request.against and request.timing is False:
        raise UsageError(
            "other compilers can only be compared by timing them",
            where="--against with --no-timing",
            got=",".join(request.against),
            expected="one of the two",
            remedy="leave out --no-timing on a machine with a GPU, or leave out --against",
        )


def _require_kind(request: Request, here: Target) -> None:
    wanted = here if request.target is None else find_target(request.target)
    if wanted.capability != here.capability:
        raise NoDevice(
            "the GPU here cannot time kernels of the target",
            where="--timing",
            got=f"sm_{here.capability}",
            expected=f"sm_{wanted.capability}, as --target {wanted.name} says",
            remedy="leave out --target, or leave out --timing to compile only",
        )


def new_run(options: Options, request: Request, target: Target, device: DeviceFacts | None) -> Run:
    """A run that starts now, on this machine, from this checkout."""
    commit = commit_of(Path(harness.__path__[0]).parent, options.commit)
    now = dt.datetime.now(dt.UTC).replace(microsecond=0)
    machine: Machine = fingerprint() if device is None else device.machine
    return Run(
        id=f"{now:%Y%m%d-%H%M%S}-{commit.name[:12] or 'no-commit'}",
        created=now.isoformat(),
        machine=machine,
        target=f"sm_{target.capability}",
        suite=request.suite,
        commit=commit.name,
        dirty=commit.dirty,
        method=METHOD,
        processes=1 if device is None else request.processes,
    )
