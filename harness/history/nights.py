"""What nights leave beside a machine's runs: the accepted baseline, and a lock."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from harness.errors import UsageError
from harness.files import read_error, write_atomically, write_error
from harness.history import lookup, store
from harness.measure.jobs import PairSamples
from harness.records.lines import Kept, locked
from harness.records.night import FOLDER, Toolchain
from harness.records.run import Machine, Run

BASELINE = "baseline.json"


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
    data = msgspec.json.format(msgspec.json.encode(made), indent=1)
    write_atomically(folder / BASELINE, data + b"\n", mode=0o644, durable=True)
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
        return store.load(lookup.find(results, given)), ""
    others = sorted(path.parent for path in results.glob(f"*/{BASELINE}"))
    for folder in dict.fromkeys([results / machine.key, *others]):
        if (known := read_baseline(folder)) is not None:
            run = store.load(folder / f"{known.run}{store.SUFFIX}")
            alike = run.machine.gpu == machine.gpu if machine.gpu else run.target == target
            if folder.name == machine.key:
                return run, ""
            if alike:
                return run, f"compared with the baseline of {folder.name}"
    for path in reversed(lookup.runs(results, machine.key)):
        if not lookup.is_imported(path):
            run = store.load(path)
            if run.complete and not run.dirty:
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
