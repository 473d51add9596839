"""``harness doctor``: what works on this machine, what does not, why, and what to do about it. Each
finding is looked for in a way that cannot bring the others down; whatever may hang runs in a
process of its own with a time limit."""

from __future__ import annotations

import enum
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import harness
from harness.cli.command import FAILED, FINE, Answer, command
from harness.errors import CompileFailed, reason
from harness.options import Options
from harness.records.machine import commit_of, find_gpu
from harness.report.output import Report
from harness.runtime.compile.cache import exposure
from harness.table import Block, Column, Fit, Row, Table

_SECONDS = 120
_OLDEST = {"torch": (2, 11), "triton": (3, 6)}


class Level(enum.Enum):
    """How bad a finding is."""

    FINE = "ok"
    LIMITED = "limited"
    """Something is missing without which the rest works."""
    BROKEN = "broken"
    """Nothing works, or what is said is wrong."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was found of the ``subject``, and, unless it is fine, what will not work
    (``effect``) and what to do."""

    found: str
    level: Level = Level.FINE
    effect: str = ""
    remedy: str = ""
    subject: str = ""


@command
def doctor(answer: Answer) -> int:
    """Say what works on this machine, what does not and why, and what to do.

    Exit status 1 if something without which nothing works is missing.

    \b
    harness doctor
    harness doctor --json
    """
    with answer.progress("starting") as bar:
        found = list(examine(answer.options, bar.update))
    rows = [{**asdict(one), "level": one.level.value} for one in found]
    table: list[Block] = [Table(_COLUMNS, rows, headed=False)]
    answer.tell(Report(lambda: table, lambda: {"findings": rows}))
    return FAILED if any(one.level is Level.BROKEN for one in found) else FINE


def _found(row: Row) -> str:
    lines = (row["found"], row["effect"], row["remedy"] and f"→ {row['remedy']}")
    return "\n".join(filter(None, lines))


_COLUMNS = (
    Column("level", lambda row: row["level"], least=8),
    Column("subject", lambda row: row["subject"], least=18),
    Column("found", _found, fit=Fit.BELOW),
)


def examine(options: Options, follow: Callable[[str, int, int], None]) -> Iterator[Finding]:
    """Every finding, in the order a reader wants them; ``follow`` hears what is looked at."""
    looks: tuple[tuple[str, Callable[[], Finding]], ...] = (
        ("python", lambda: Finding(f"{sys.version.split()[0]} at {sys.executable}")),
        ("torch", lambda: package("torch")),
        ("triton", lambda: package("triton")),
        ("GPU", gpu),
        ("timer", timer),
        ("launcher", lambda: launcher(options.cache)),
        ("interpreter", interpreter),
        ("disassembler", disassembler),
        ("capture libraries", capture_libraries),
        ("cache folder", lambda: folder(options.cache, "HARNESS_CACHE")),
        ("results folder", lambda: folder(options.results, "HARNESS_RESULTS")),
        ("commit", lambda: commit(options)),
    )
    for number, (subject, look) in enumerate(looks):
        follow(subject, number, len(looks))
        try:
            found = look()
        except Exception as error:  # noqa: BLE001 - one broken part must not hide the others
            found = Finding(f"looking failed: {reason(error)}", Level.BROKEN)
        yield replace(found, subject=subject)


def package(name: str) -> Finding:
    """Whether a package the harness is built on is there and new enough."""
    remedy = "run make, which installs it, or: pip install -e . -c constraints.txt"
    try:
        found = version(name)
    except PackageNotFoundError:
        return Finding("not installed", Level.BROKEN, "nothing works without it", remedy)
    oldest = _OLDEST[name]
    if tuple(int(part) for part in found.split(".")[:2]) < oldest:
        return Finding(found, Level.BROKEN, f"older than {'.'.join(map(str, oldest))}", remedy)
    return Finding(found)


def gpu() -> Finding:
    """The GPU as torch and its driver see it."""
    import torch

    found = find_gpu() if torch.cuda.is_available() else None
    if found is None:
        built = torch.version.cuda
        why = "this torch is built without CUDA" if built is None else f"torch for CUDA {built}"
        return Finding(
            f"none ({why})",
            Level.LIMITED,
            "kernels are compiled and checked, not timed; columns for time say `no GPU`",
            "run on a machine with an NVIDIA GPU, its driver, and a torch built for CUDA",
        )
    clocks = f"SM {found.sm_clock_mhz} MHz, memory {found.memory_clock_mhz} MHz"
    driver = f"driver {found.driver}" if found.driver else "driver unknown"
    return Finding(f"{found.gpu}, {driver}, {clocks}")


_TIMER = """
import json, torch
from harness.measure.timer import coldness
from harness.measure.timer.graph_timer import CudaTimer
from harness.runtime.device import current_target
timer = CudaTimer()
device = torch.device("cuda", torch.cuda.current_device())
found = coldness.examine(timer, current_target().l2_bytes, device, coldness.probe_read)
rates = [found.copied, found.cached, found.memory]
print(json.dumps([timer.engine.floor_ms * 1000, found.cold, found.telling, *rates]))
"""


def timer() -> Finding:
    """The timer's floor, and whether what it calls a cold cache is cold."""
    import torch

    if not torch.cuda.is_available():
        return Finding("not tried: there is no GPU to time on")
    root = str(Path(harness.__path__[0]).parent)
    said, failure = _python("-c", f"import sys; sys.path.insert(0, {root!r})\n{_TIMER}")
    if failure:
        remedy = "end what else runs on the GPU (nvidia-smi lists it) and try again"
        return Finding(failure, Level.BROKEN, "nothing can be timed", remedy)
    return timer_finding(*json.loads(said.splitlines()[-1]))


def timer_finding(
    floor_us: float, cold: bool, telling: bool, read: float, cached: float, memory: float
) -> Finding:
    """What the timer's self-check comes to; bandwidths in GB/s."""
    text = (
        f"an empty sample shows {floor_us:.1f} µs (the floor), at most 1 % of a real one, with "
        f"up to 1024 launches; data that fits the L2 cache is read at {read:.0f} GB/s when timed, "
        f"at {cached:.0f} from the cache, far more data at {memory:.0f}"
    )
    if not cold:
        effect = "kernels seem faster than they are: their data comes from the cache"
        return Finding(text, Level.BROKEN, effect, "report this, with this line")
    if not telling:
        effect = "reading from the cache is hardly faster here: the check of cold data says little"
        return Finding(text, Level.LIMITED, effect, "nothing: times are still taken cold")
    return Finding(text)


def launcher(cache: Path) -> Finding:
    """Whether kernels are launched by the compiled extension."""
    from harness.runtime.launch.launcher import launching

    try:
        launching(cache if cache.is_dir() else None)
    except CompileFailed as error:
        effect = "no kernel runs on a GPU; without one everything works"
        return Finding(f"none: {error.got}", Level.LIMITED, effect, error.remedy)
    return Finding("compiled (runtime/launch.c)")


_INTERPRET = """
import os
os.environ["TRITON_INTERPRET"] = "1"
import torch, triton, triton.language as tl

@triton.jit
def double(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.load(x + i) * 2)

x = torch.randn(16); y = torch.full((16,), float("nan"))
double[(1,)](x, y, N=16)
assert torch.equal(y, x * 2), y
"""


def interpreter() -> Finding:
    """Whether Triton's interpreter runs a kernel and gets it right."""
    with tempfile.TemporaryDirectory(prefix="harness-doctor-") as place:
        script = Path(place) / "interpret.py"
        script.write_text(_INTERPRET, encoding="utf-8")
        _, failure = _python(str(script))
    if not failure:
        return Finding("runs a kernel correctly")
    return Finding(
        failure,
        Level.LIMITED,
        "kernels cannot be checked without a GPU",
        "install numpy and triton again (make clean, then make)",
    )


def disassembler() -> Finding:
    """The tools of Triton's wheel that static metrics are read with."""
    said, failure = _python(
        "-c",
        "from triton import knobs; print(knobs.nvidia.ptxas.path, "
        "knobs.nvidia.cuobjdump.path, knobs.nvidia.nvdisasm.path, sep='\\n')",
    )
    paths = [] if failure else said.split("\n")[:3]
    missing = [path for path in paths if not os.access(path, os.X_OK)]
    if len(paths) == 3 and not missing:
        return Finding(str(Path(paths[1]).parent))
    return Finding(
        f"missing: {', '.join(missing) or 'ptxas, cuobjdump, nvdisasm'}",
        Level.LIMITED,
        "no static metrics (registers, spills, instructions)",
        "install triton again: its wheel ships them",
    )


def _python(*arguments: str) -> tuple[str, str]:
    """What a Python process prints, and why it failed if it did."""
    command = [sys.executable, *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer within {_SECONDS} s"
    lines = done.stderr.strip().splitlines() or ["no reason given"]
    return done.stdout, lines[-1] if done.returncode else ""


def capture_libraries() -> Finding:
    """The libraries that ``harness capture`` can take models from."""
    found, missing = [], []
    for name in ("transformers", "diffusers", "timm", "torchvision"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    text = ", ".join(found) or "none"
    if not missing:
        return Finding(text)
    return Finding(
        f"{text}; not installed: {', '.join(missing)}",
        Level.LIMITED,
        "no capture from those; graphs already captured need none of them",
        "pip install -c constraints.txt -e '.[capture]' (torchvision and timm must match torch)",
    )


def folder(path: Path, variable: str) -> Finding:
    """Whether files can be made below ``path`` (or where it would be made)."""
    existing = next(p for p in (path, *path.parents) if p.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
        reason = exposure(path) if variable == "HARNESS_CACHE" and existing == path else ""
    except OSError as error:
        reason = error.strerror or str(error)
    if reason:
        return Finding(
            f"{path}: {reason}",
            Level.LIMITED,
            "nothing can be kept there",
            f"set {variable} to a folder that may be written",
        )
    return Finding(str(path) if existing == path else f"{path} (will be made)")


def commit(options: Options) -> Finding:
    """The commit that runs are recorded under."""
    found = commit_of(Path(harness.__path__[0]).parent, options.commit)
    if not found.name:
        return Finding(
            "not a git checkout",
            Level.LIMITED,
            "runs cannot be told apart by commit",
            "work in a clone, or name it: harness run --commit SHA, or HARNESS_COMMIT",
        )
    return Finding(found.name[:12] + " with uncommitted changes" * found.dirty)
