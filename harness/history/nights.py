"""Nights: what ``harness nightly`` learnt about a commit next to the last accepted run, and what
nights leave beside a machine's runs. Each is a frozen record in a JSON file below
``results/MACHINE/nights/``; the accepted baseline and a lock lie there, too. Times are microseconds
of one launch, µs of all launches say so, seconds are wall clock; what was not measured is ``None``.
"""

from __future__ import annotations

import contextlib
import enum
import hashlib
import math
import os
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from harness.errors import UsageError
from harness.files import read_error, slug, write_atomically, write_error
from harness.history import store
from harness.history.changes.waivers import COMMIT
from harness.measure.jobs import PairSamples
from harness.records.causes import version_changes
from harness.records.lines import Kept, locked
from harness.records.run import Machine, Run, fields

VERSION = 1
"""Version of a night's file; raised when a reader of the old one would be wrong."""
FOLDER, BASELINE = "nights", "baseline.json"
SUFFIX = ".json"


class Change(enum.Enum):
    """Why a kernel was timed."""

    CHANGED = "changed"
    """It executes something else."""
    RETUNED = "retuned"
    """The same code in another configuration."""
    TOOLCHAIN = "toolchain"
    """The same text; another compiler, driver or target makes or runs its binary."""
    LAUNCHES = "launches"
    """The same code, launched more or less often."""
    NEW = "new"
    """Nothing in the baseline does its work."""
    ENDED = "ended"
    """Nothing does its work any more."""


class Light(enum.Enum):
    """What a night comes to."""

    GREEN = "green"
    """Nothing became slower, and all that changed was judged."""
    AMBER = "amber"
    """Nothing is confirmed; something could not be judged, or was not measured."""
    RED = "red"
    """A confirmed regression that nobody waived, or something is broken."""


@dataclass(frozen=True, slots=True)
class NightCommit:
    """A commit, with what git tells of it (nothing where it does not know it)."""

    sha: str
    subject: str = ""
    author: str = ""
    date: str = ""

    @property
    def short(self) -> str:
        """Its first digits, a run's name in full."""
        return self.sha if "-" in self.sha else self.sha[:10]


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What makes and runs binaries. ``target`` is ``sm_90``."""

    triton: str = ""
    torch: str = ""
    driver: str = ""
    target: str = ""
    python: str = ""

    def differences(self, other: Toolchain) -> tuple[str, ...]:
        """``triton 3.6.0 → 3.7.0`` for each part that decides what executes and differs."""
        return tuple(version_changes(*(fields(t, "triton driver target") for t in (self, other))))


@dataclass(frozen=True, slots=True)
class Finding:
    """A kernel that was not the same as in the baseline, or that could not be judged.

    ``series`` identifies it in the history of its ``graph`` (``history.schema.series_keys``),
    ``label`` is what tables call it; ``kernel`` and ``old_kernel`` are its names in tonight's run
    and in the baseline (several joined by `` + `` where a fusion was made or undone), ``module``
    and ``old_module`` their code hashes: both runs hold the texts. ``ratio`` is new ÷ old of one
    launch with its 95 % interval, ``change_us`` what all launches of the graph take more.
    ``verdict`` is one of ``measure.noise.judge.Verdict``, or empty where nothing was measured;
    ``confirmed``: fresh processes said so by themselves. ``waived``: the reason of the waiver that
    covers it. ``cause`` is one sentence, ``evidence`` what it rests on; ``reason``: why there is
    no verdict."""

    graph: str
    series: str
    label: str
    change: Change
    kernel: str = ""
    old_kernel: str = ""
    region: str = ""
    module: str = ""
    old_module: str = ""
    old_us: float | None = None
    new_us: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    launches: int = 1
    old_launches: int = 1
    change_us: float | None = None
    verdict: str = ""
    confirmed: bool = False
    processes: int = 0
    waived: str = ""
    cause: str = ""
    evidence: tuple[str, ...] = ()
    config: dict[str, int] | None = None
    old_config: dict[str, int] | None = None
    reason: str = ""

    @property
    def regressed(self) -> bool:
        """Whether it is a confirmed slowdown that nobody waived."""
        return self.verdict == "SLOWER" and self.confirmed and not self.waived

    @property
    def is_sum(self) -> bool:
        """Whether it is of all that its graph launches, not of a kernel."""
        return self.change is Change.LAUNCHES and not self.kernel

    @property
    def name(self) -> str:
        """What commands call it: its kernel, of several the first; of a sum the graph."""
        return self.kernel.partition(" + ")[0] or self.graph

    @property
    def waivable(self) -> str:
        """Its series in the file of waived changes."""
        return f"{self.graph}/{'' if self.is_sum else self.label}"

    def waiver(self, commit: str) -> str:
        """The line of that file that accepts it as of ``commit``, and a tenth more: noise. Empty
        where that is a run of no commit."""
        if not COMMIT.fullmatch(commit):
            return ""
        most = math.ceil(110 * (max(self.ratio or 1.0, self.high or 1.0) - 1))
        return f"{commit[:10]} ms {self.waivable} up-to={most}% why it is accepted"


@dataclass(frozen=True, slots=True)
class Count:
    """Something of a graph that there is more or less of: calls of a library operator, bytes that
    a kernel spills."""

    graph: str
    name: str
    before: int
    after: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Trust:
    """Whether the machine can be trusted tonight. ``offset`` is what the unchanged kernels moved
    by (relative) since the baseline recorded them, ``controls`` how many were timed, ``flagged``
    those whose two identical sides differed beyond noise."""

    gpu: str = ""
    gpu_uuid: str = ""
    controls: int = 0
    flagged: tuple[str, ...] = ()
    offset: float | None = None


@dataclass(frozen=True, slots=True)
class Night:
    """A night. ``run`` is the run file that holds tonight's kernels, ``baseline`` the accepted run
    that they were compared with (empty: the machine's first). ``commits`` lie after the baseline's,
    newest first. ``counts`` has how many kernels there were by what became of them: ``same``,
    ``changed``, ``retuned``, ``toolchain``, ``launches``, ``new``, ``ended``, and
    ``not measured``; ``not examined``: the ``unexamined``, which were timed in their module's
    default configuration and not checked. ``alike``: kernels or graphs that ended and others that
    are new, where one may be the other; they were not compared. ``resolved`` is the relative
    slowdown that tonight would have told from nothing in half of what it timed. ``suite_us`` is
    what all kernels take, launches counted, as far as their times are known. ``broken`` are
    sentences about what worked in the baseline; ``static``: there was no GPU; ``status`` is the
    command's exit status."""

    id: str
    machine: str
    created: str
    run: str = ""
    commit: str = ""
    dirty: bool = False
    baseline: str = ""
    baseline_commit: str = ""
    commits: tuple[NightCommit, ...] = ()
    suite: str = ""
    toolchain: Toolchain = field(default_factory=Toolchain)
    baseline_toolchain: Toolchain = field(default_factory=Toolchain)
    trust: Trust = field(default_factory=Trust)
    findings: tuple[Finding, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    not_measured: tuple[str, ...] = ()
    unexamined: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()
    library_calls: tuple[Count, ...] = ()
    spills: tuple[Count, ...] = ()
    broken: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    resolved: float | None = None
    suite_us: float | None = None
    static: bool = False
    complete: bool = True
    status: int = 0

    @property
    def regressions(self) -> tuple[Finding, ...]:
        """Confirmed slowdowns that nobody waived, what costs most first."""
        found = (finding for finding in self.findings if finding.regressed)
        return tuple(sorted(found, key=lambda f: (-abs(f.change_us or 0.0), f.graph, f.label)))

    @property
    def unjudged(self) -> tuple[Finding, ...]:
        """Changed kernels that were measured, or could not be, and of which nothing can be said."""
        left, unknown = {*self.not_measured}, ("", "INCOMPARABLE", "UNSURE")
        old_and_new = (f for f in self.findings if f.change not in (Change.NEW, Change.ENDED))
        both = (f for f in old_and_new if f"{f.graph}/{f.kernel}" not in left)
        return tuple(f for f in both if f.verdict in unknown)

    @property
    def unknown(self) -> tuple[str, ...]:
        """What no comparison speaks of: not measured, not checked, or not certain what it was."""
        return (*self.not_measured, *self.unexamined, *self.alike)

    @property
    def light(self) -> Light:
        """Green, amber or red."""
        if self.regressions or self.broken:
            return Light.RED
        rest = self.status or self.unknown or self.unjudged
        return Light.GREEN if self.complete and not rest else Light.AMBER


def cost(findings: Iterable[Finding]) -> float:
    """Microseconds that all launches of ``findings`` take more; a graph's sum has its kernels'."""
    every = tuple(findings)
    whole = {one.graph for one in every if one.is_sum}
    return sum(f.change_us or 0.0 for f in every if f.is_sum or f.graph not in whole)


def path_of(results: Path, machine: str, name: str) -> Path:
    """Where the night called ``name`` of a machine is kept."""
    return results / slug(machine) / FOLDER / f"{name}{SUFFIX}"


def nights(results: Path, machine: str = "*") -> list[Path]:
    """The files of all nights below ``results``, oldest first."""
    return store.in_order(results.glob(f"{machine}/{FOLDER}/*{SUFFIX}"))


def save(results: Path, night: Night) -> Path:
    """Write ``night``, whole or not at all; it replaces one of the same name. Raises
    ``RecordError``."""
    path = path_of(results, night.machine, night.id)
    _write(path, {"version": VERSION, **msgspec.to_builtins(night)})
    return path


def _write(path: Path, document: Any) -> None:
    data = msgspec.json.format(msgspec.json.encode(document), indent=1)
    write_atomically(path, data + b"\n", mode=0o644, durable=True)


def load(path: Path) -> Night:
    """The night in the file at ``path``. Raises ``RecordError`` for a file that is missing,
    damaged, or of a later version."""
    try:
        document = msgspec.json.decode(path.read_bytes(), type=dict[str, object])
        if document.pop("version", None) != VERSION:
            raise msgspec.ValidationError("a file of another version of the harness")
        return msgspec.convert(document, Night)
    except (OSError, msgspec.DecodeError) as error:
        remedy = "restore what harness nightly wrote from version control, or remove it"
        raise read_error(path, error, "a night's file", remedy) from error


@dataclass(frozen=True, slots=True)
class Accepted:
    """A run that somebody accepted as what nights are compared with. ``when`` is UTC; ``earlier``
    were accepted before it, newest first."""

    run: str
    commit: str
    who: str
    when: str
    why: str
    night: str = ""
    earlier: tuple[Accepted, ...] = ()


def accept(folder: Path, accepted: Accepted) -> Accepted:
    """Make a run the baseline of the machine whose results are in ``folder``. Raises
    ``RecordError``."""
    before = read_baseline(folder)
    kept = () if before is None else (replace(before, earlier=()), *before.earlier)
    made = replace(accepted, earlier=tuple(one for one in kept if one.run != accepted.run))
    _write(folder / BASELINE, made)
    return made


def read_baseline(folder: Path) -> Accepted | None:
    """The baseline of a machine; None if no run was accepted. Raises ``RecordError``."""
    path = folder / BASELINE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Accepted)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        remedy = "restore it, or remove it and accept a run again: harness accept RUN --why …"
        raise read_error(path, error, "the baseline", remedy) from error


def find_baseline(
    results: Path, machine: Machine, target: str, given: str | None = None
) -> tuple[Run, str]:
    """What to compare tonight with, and a sentence where that is not the run accepted for this
    machine: the ``given`` run; else the accepted one of this machine, of the same GPU under another
    driver, or, without a GPU, of any machine with this ``target``; else this machine's newest whole
    run. A run without kernels if there is none. Raises ``RecordError`` for a run file that is gone.
    """
    if given is not None:
        return store.load(store.find(results, given)), ""
    others = sorted(path.parent for path in results.glob(f"*/{BASELINE}"))
    for folder in dict.fromkeys([results / machine.key, *others]):
        if (known := read_baseline(folder)) is not None:
            run = store.load(folder / f"{known.run}{store.SUFFIX}")
            alike = run.machine.gpu == machine.gpu if machine.gpu else run.target == target
            if folder.name == machine.key:
                return run, ""
            if alike:
                return run, f"compared with the baseline of {folder.name}"
    for path in reversed(store.runs(results, machine.key)):
        if not store.is_imported(path):
            run = store.load(path)
            if run.complete and run.kernels and not run.dirty:
                return run, "no run was accepted yet: compared with the newest"
    return Run("", "", machine, target), "no earlier run of this machine to compare with"


@contextlib.contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """While this lasts no other night may begin on the machine of ``folder``. Raises ``UsageError``
    if one is in progress."""
    path = folder / FOLDER / "lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except OSError as error:
        raise write_error(path, error, "a night cannot be recorded") from error
    with locked(path) as free:
        if not free:
            raise UsageError(
                "another night is in progress on this machine",
                where=str(path),
                got=path.read_text(encoding="utf-8").strip(),
                expected="one at a time: two would disturb each other's times",
                remedy="wait until it has ended; the lock goes with its process",
            )
        with contextlib.suppress(OSError):  # a full disk: it is locked, and says less
            path.write_text(f"process {os.getpid()} on {socket.gethostname()}\n", encoding="utf-8")
        yield


def kept_pairs(folder: Path, run: Run, made_by: Toolchain) -> Kept[PairSamples]:
    """What an interrupted night of the commit of ``run``, under the same toolchain, measured."""
    said = repr((run.commit, made_by)).encode()
    name = f"pairs-{hashlib.sha256(said).hexdigest()[:16]}.jsonl"
    return Kept(folder / FOLDER / name, PairSamples)
