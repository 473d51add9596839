"""Every pattern through the compiler, in processes side by side: kernels for each kind of device,
and the small counterpart's kernels checked in Triton's interpreter; or, where there are GPUs, its
own kernels checked on them at full size, nothing timed.

One line of JSON per pattern goes to a log as it becomes known; a log is gone on with.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from harness.corpus.model import digest
from harness.devices.job import Context, Device, Job, cores
from harness.devices.pool import Pool
from harness.errors import HarnessError

if TYPE_CHECKING:
    from harness.runtime.interpret.interpreter import CheckResult

TARGETS = ("sm_80", "sm_90", "sm_100")
_ALONE = (("OMP_NUM_THREADS", "1"), ("MKL_NUM_THREADS", "1"))
_ENVIRONMENT = (("TRITON_INTERPRET", "1"), *_ALONE)
_IMPORTS = ("harness.pipeline", "harness.runtime.interpret.interpreting")
_SECONDS, _SECONDS_ON_A_GPU = 120.0, 300.0
_CONTEXT = 3 * 2**28
"""Bytes of a GPU's memory that a process has for itself and its kernels."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a pattern, whose two texts have the digest ``of``. ``kernels`` are the hashes
    of what the kernels for sm_90 execute, ``counts`` how many there are for each target;
    ``seconds`` is code generation for sm_90, in seconds of a processor.
    ``checked`` kernels of the small counterpart passed (at full size: its own), ``wrong`` say what
    is wrong with others; ``failures`` say what could not be generated. ``versions`` did it."""

    name: str
    of: str = ""
    kernels: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    seconds: float = 0.0
    failures: tuple[str, ...] = ()
    library_calls: tuple[str, ...] = ()
    checked: int = 0
    max_error: float = 0.0
    wrong: tuple[str, ...] = ()
    versions: str = ""

    @property
    def lacked_memory(self) -> bool:
        """Whether a device was too full for it: alone it may pass."""
        return any("OutOfMemoryError" in said for said in (*self.failures, *self.wrong))


@dataclass(frozen=True, slots=True, kw_only=True)
class TryJob(Job):
    """Compile a pattern's ``text`` for ``targets``, and check the kernels of ``small``; on a torch
    ``device`` check its own kernels, at full size, each when the others on its board leave it the
    memory: of ``memory`` bytes (0: all at once), by what processes tell in ``folder``."""

    handler: ClassVar[str] = "suites.building.trying:try_job"
    name: str
    text: str
    small: str
    targets: tuple[str, ...] = ("sm_90",)
    device: str = ""
    memory: int = 0
    folder: str = ""


def try_job(context: Context, job: TryJob) -> Tried:
    """Do a ``TryJob``."""
    from harness.graph.text import loads
    from harness.pipeline import compile_graph
    from harness.records.run import one_line
    from harness.target import find_target

    context.step("compiling")
    began = time.process_time()
    graph = loads(job.text)
    full = compile_graph(graph, find_target(job.targets[0]))
    seconds = time.process_time() - began
    counts, failures = [len(full.kernels)], [one_line(f.error) for f in full.failures]
    for name in job.targets[1:]:
        other = compile_graph(graph, find_target(name))
        counts.append(len(other.kernels))
        failures += [f"{name}: {one_line(f.error)}" for f in other.failures]
    checked, worst, wrong, kernels = 0, 0.0, [], full.kernels if job.device else ()
    if job.small:
        small = compile_graph(loads(job.small), find_target(job.targets[0]), full.decisions)
        failures += [f"small: {one_line(f.error)}" for f in small.failures]
        kernels = small.kernels
    for kernel in kernels:
        context.step(f"checking {kernel.name}")
        found, error = _checked(context, kernel.module.text, job)
        worst = max(worst, error)
        checked += not found
        wrong += [f"{kernel.name}: {found}"] if found else []
    return Tried(
        job.name,
        digest(job.text + job.small),
        tuple(kernel.module.code_hash for kernel in full.kernels),
        tuple(counts),
        round(seconds, 4),
        tuple(failures),
        tuple(sorted({call.node.op for call in full.partition.library_calls})),
        checked,
        worst,
        tuple(wrong),
        _versions(job.device),
    )


def _versions(device: str) -> str:
    from importlib.metadata import version

    said = f"torch {version('torch')} triton {version('triton')}"
    if device != "cuda":
        return said
    import torch

    return f"{said} on {torch.cuda.get_device_name()}"


def _checked(context: Context, module: str, job: TryJob) -> tuple[str, float]:
    """What is wrong with a kernel (nothing: empty) and its largest error; on the job's device as
    its module runs it, else in the interpreter."""
    from harness.measure.worker import surviving
    from harness.records.run import one_line
    from harness.runtime import module as modules
    from harness.runtime.interpret.interpreter import CheckJob
    from harness.runtime.interpret.interpreting import check, result
    from suites.building.holding import most, room

    def run() -> CheckResult:
        return result(loaded.check(loaded.get_args(device=job.device, seed=0)), 0.0)

    try:
        if job.device:
            loaded = modules.load(module, context.cache)
            board = Path(job.folder, os.environ.get("CUDA_VISIBLE_DEVICES", "board"))
            board.mkdir(parents=True, exist_ok=True)
            needed = most(loaded) * 6 // 5  # what is freed is not for others at once
            with room(board, job.memory, needed) if job.memory else nullcontext():
                found = surviving(run)
        else:
            found = check(context, CheckJob(module))
    except HarnessError as error:
        return one_line(error), 0.0
    return "" if found.passed else found.message or "wrong", found.max_error


def tried(
    texts: Mapping[str, tuple[str, str]],
    log: Path,
    workers: int,
    targets: Sequence[str] = TARGETS,
    tell: Callable[[Tried, int, int], None] = lambda *_: None,
    places: Sequence[Device] = (),
    memory: int = 0,
) -> list[Tried]:
    """Every pattern of ``texts`` (its graph, its small counterpart): those that ``log`` knows with
    these texts as it does, the others as they become known. ``places`` check at full size, on
    torch's device of their kind, within the ``memory`` bytes of each board (0: unknown); what lacks
    memory there is tried once more, alone on a board."""
    known: dict[str, Tried] = {}
    if log.is_file():
        for line in log.read_text().splitlines():
            row = Tried(**{k: _frozen(v) for k, v in json.loads(line).items()})
            if row.name in texts and row.of == digest("".join(texts[row.name])):
                known[row.name] = row
    log.parent.mkdir(parents=True, exist_ok=True)
    left = [name for name in texts if name not in known or known[name].lacked_memory]
    device = places[0].name.split()[0] if places else ""
    everywhere = places or cores(workers, Device("", _ENVIRONMENT, _IMPORTS))
    boards = {place.environment: place for place in places}
    for here in filter(None, (everywhere, list(boards.values()))):
        with TemporaryDirectory() as folder:
            every = TryJob(name="", text="", small="", targets=tuple(targets), device=device)
            every = replace(every, memory=memory, folder=folder)
            jobs = [replace(every, name=n, text=texts[n][0], small=texts[n][1]) for n in left]
            for row in _tried(jobs, here, log, tell):
                known[row.name] = row
        left = [name for name in left if known[name].lacked_memory]
    return [known[name] for name in texts]


def _tried(
    jobs: Sequence[TryJob],
    places: Sequence[Device],
    log: Path,
    tell: Callable[[Tried, int, int], None],
) -> Iterator[Tried]:
    """What becomes of every job as it is known, in ``log`` too."""
    seconds = _SECONDS_ON_A_GPU if jobs and jobs[0].device else _SECONDS
    with Pool(places, seconds) as pool, log.open("a") as lines:
        for done, (index, answer) in enumerate(pool.each(jobs), start=1):
            if isinstance(answer, HarnessError):
                said = " ".join(f"{answer.what} {answer.got} {answer.step}".split())
                name, of = jobs[index].name, digest(jobs[index].text + jobs[index].small)
                answer = Tried(name, of, failures=(said[:300],))
            lines.write(json.dumps(asdict(answer)) + "\n")
            lines.flush()
            tell(answer, done, len(jobs))
            yield answer


def on_gpus(workers: int) -> tuple[list[Device], int]:
    """As many places to check at full size, spread over the GPUs here, and the bytes that each of
    these has for what is checked. Raises ``NoDevice``."""
    import torch

    from harness.runtime.device import boards

    names, imports = [*boards("all").values()], ("harness.measure.worker",)
    given = [(*_ALONE, ("CUDA_VISIBLE_DEVICES", name)) for name in names]
    count = max(workers, len(names))
    memory = min(torch.cuda.get_device_properties(n).total_memory for n in range(len(names)))
    each = ((n, given[n % len(given)]) for n in range(count))
    places = [Device(f"cuda {n}", environment, imports) for n, environment in each]
    return places, memory - _CONTEXT * -(-count // len(names))


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def summary(found: Sequence[Tried]) -> str:
    """The log in a few lines."""
    distinct = {kernel for one in found for kernel in one.kernels}
    calls = Counter(op for one in found for op in one.library_calls)
    broken = [one for one in found if one.failures or one.wrong]
    lines = [
        f"{len(found)} patterns, {len(distinct)} distinct kernels; code generation for one target "
        f"{sum(one.seconds for one in found):.0f} s of one core",
        f"{sum(one.checked for one in found)} kernels of "
        f"{sum(1 for one in found if one.checked)} patterns passed their check",
        f"{len(broken)} patterns with something wrong",
    ]
    lines += [f"  {one.name}: {'; '.join((*one.failures, *one.wrong))[:200]}" for one in broken]
    lines += [f"  library call {op} in {count} patterns" for op, count in calls.most_common(20)]
    return "\n".join(lines)
