"""Static metrics: what a kernel costs as compiled, exact and without a GPU. Triton compiles the
kernel for the target; the disassembler and the resource reader that its wheel ships read the
binary. Two runs give the same numbers. And the pool of processes that read them, or compile kernels
ahead, side by side."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from harness.devices.job import Context, Device, Host, Job, cores, tried
from harness.devices.pool import Pool
from harness.errors import CompileFailed, HarnessError, RecordError, reason
from harness.files import write_atomically
from harness.heuristics.facts import Config
from harness.heuristics.limits import spill_limit
from harness.records.metrics import StaticMetrics
from harness.runtime import module as modules
from harness.runtime.compile import binary as binaries
from harness.runtime.compile import disassembly
from harness.runtime.compile.binary import KernelBinary
from harness.runtime.compile.cache import checksum, sealed, unsealed
from harness.runtime.compile.disassembly import Binary
from harness.target import Target

_SECONDS = 180.0
_TOGETHER = 16
"""Kernels one worker reads together: enough that starting the disassembler (as long as
compiling three kernels takes) is spread thin, few enough that results keep coming in."""
_FORMAT = 4
"""Raise when the meaning of a cached entry changes."""
_BYTES_A_REGISTER = 4
_AS_WRITTEN = {"ptx_options": "--opt-level 0"}
"""Has the assembler change nothing: right where it is wrong otherwise, and slower."""
_SCOPED = threading.RLock()
"""Held while Triton's settings are ours: two threads' scopes that overlap would not end them."""


@dataclass(frozen=True, slots=True)
class CompileJob(Job):
    """One kernel under one configuration for one target. None: the module's first candidate that
    compiles and does not spill much (a hand-written kernel's first, whatever it does). As a job of
    a pool it is compiled into the cache (the first candidate for None), and where that spills
    much, or does not compile, ``others`` one by one, as launches do that are not tuned."""

    handler: ClassVar[str] = "harness.runtime.compile.static:warm"
    module_text: str
    target: Target
    config: Config | None = None
    others: tuple[Config, ...] = ()


def known(job: CompileJob, cache: Path | None) -> StaticMetrics | None:
    """The metrics in the cache, if they are there. Neither loads nor compiles the module."""
    try:
        found = None if cache is None else unsealed(_entry(cache, job).read_bytes())
        return None if found is None else msgspec.convert(found, StaticMetrics)
    except (OSError, ValueError):
        return None


def untuned(module_text: str, target: Target, cache: Path | None) -> Config | None:
    """The candidate that the cached metrics chose for running untuned; None where there are
    none, or they chose the first."""
    found = known(CompileJob(module_text, target), cache)
    return modules.config_from_dict(dict(found.chosen)) if found and found.chosen else None


def measure(
    jobs: Sequence[CompileJob], cache: Path | None = None
) -> list[StaticMetrics | HarnessError]:
    """Compile several kernels and read their metrics together, which is cheaper than one by
    one; keeps them in ``cache``. A job that fails is answered with its ``HarnessError``."""
    choices = [_Choice(job) for job in jobs]
    while waiting := [choice for choice in choices if not choice.load(cache)]:
        compiled = []
        for choice in waiting:
            try:
                compiled.append((choice, *choice.compile(cache)))
            except HarnessError as error:
                choice.answer(error)
        found = disassembly.facts([binary for _, binary, _ in compiled])
        for (choice, binary, shared), facts in zip(compiled, found, strict=True):
            choice.answer(tried(_metrics, binary, facts, shared))
    answers = [choice.found for choice in choices if choice.found is not None]  # which all have
    for job, answer in zip(jobs, answers, strict=True):
        if cache is not None and isinstance(answer, StaticMetrics):
            with contextlib.suppress(RecordError):  # which costs only the next look-up
                write_atomically(_entry(cache, job), sealed(asdict(answer)))
    return answers


@dataclass(eq=False, slots=True)
class _Choice:
    """A job on its way to an answer: of its candidates, those not compiled yet, and the best of
    what was compiled."""

    job: CompileJob
    module: modules.LoadedModule | None = None
    left: list[Config] = field(default_factory=list)
    found: StaticMetrics | HarnessError | None = None

    def load(self, cache: Path | None) -> bool:
        """Load the module, the first time; whether the answer is known."""
        if self.module is None and self.found is None:
            try:
                self.module = modules.load(self.job.module_text, cache)
            except HarnessError as error:
                self.found = error
                return True
            by_hand = self.module.category == modules.USER
            candidates = self.module.configs[:1] if by_hand else self.module.configs
            self.left = [*candidates] if self.job.config is None else [self.job.config]
        return not self.left

    def compile(self, cache: Path | None) -> tuple[Binary, int]:
        """The next candidate's binary, and its shared memory in bytes."""
        assert self.module is not None
        compiled = compile_for(self.module, self.job.target, self.left[0], cache=cache)
        return Binary.of(compiled, self.module.name), int(compiled.metadata.shared)

    def answer(self, found: StaticMetrics | HarnessError) -> None:
        """What the next candidate came to."""
        assert self.module is not None
        config = self.left.pop(0)
        limit = self.job.target.shared_per_block
        if isinstance(found, StaticMetrics) and found.shared > limit:
            got = f"{found.shared} bytes of shared memory"
            found = binaries.too_large(self.module.name, got, f"at most {limit}")
        if isinstance(found, HarnessError):
            self.found = self.found or found
            return
        if self.job.config is None and config != self.module.configs[0]:
            found = replace(found, chosen=tuple(modules.config_dict(config).items()))
        if not isinstance(self.found, StaticMetrics) or found.spills < self.found.spills:
            self.found = found
        if not spills_much(found.stack if found.spills else 0, self.job.target):
            self.found, self.left = found, []


def spills_much(stack: int, target: Target) -> bool:
    """Whether a candidate with so many bytes of stack is passed over if another does better."""
    return stack // _BYTES_A_REGISTER > spill_limit(target)


def _metrics(binary: Binary, facts: StaticMetrics | CompileFailed, shared: int) -> StaticMetrics:
    if isinstance(facts, CompileFailed):
        raise facts
    registers, stack = disassembly.resources(binary.cubin, binary.name)
    uses_local = stack > 0 or {"load_local", "store_local"} & dict(facts.mix).keys()
    spills = disassembly.spills(binary) if uses_local else 0
    return replace(facts, registers=registers, spills=spills, stack=stack, shared=shared)


def compile_for(
    loaded: modules.LoadedModule,
    target: Target,
    config: Config,
    unaligned: Collection[str] = (),
    cache: Path | None = None,
) -> Any:
    """Triton's compiled kernel of ``loaded`` for ``target`` under ``config``.

    ``unaligned`` names arguments whose addresses may not be taken to be multiples of 16,
    whatever the module says. Triton keeps binaries below ``cache``, or in its own folder if
    that is None. Needs no GPU. Raises ``CompileFailed``.
    """
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel = loaded.kernel
    blocks = modules.config_dict(loaded.fitted(config, None if loaded.unknown_sizes else ()))
    constants = _constants(loaded, {modules.ALIGNED: not unaligned, **blocks})
    full = {n: loaded.signature.get(n, "constexpr") for n in kernel.arg_names}
    attributes = {
        (kernel.arg_names.index(n),): [["tt.divisibility", blocks.get(n, 16)]]
        for n in loaded.divisible_by_16
        if n not in unaligned
    }
    source = ASTSource(kernel, full, constexprs=constants, attrs=attributes)
    gpu = GPUTarget(target.backend, target.capability, target.warp_size)
    options = {
        "num_warps": config.num_warps,
        "num_stages": config.num_stages,
        # Said explicitly because the default changes in Triton 3.10.
        "enable_fp_fusion": True,
        # Programs that wait for each other must all be running.
        "launch_cooperative_grid": blocks.get("RSPLIT", 1) > 1,
        # Else Triton writes a check beside every sum of integers, and drops it without ``debug``.
        "sanitize_overflow": False,
        **({"debug": True} if kernel.debug else {}),
        **loaded.compile_options,
        **dict(config.options),
    }
    try:
        with triton_cache(cache):
            made = triton.compile(source, target=gpu, options=options)
            if disassembly.lacks_addend(Binary.of(made, loaded.name)):
                made = triton.compile(source, target=gpu, options={**options, **_AS_WRITTEN})
            return made
    except Exception as error:
        raise CompileFailed(
            "Triton could not compile a kernel",
            where=f"{loaded.name} {blocks}",
            got=reason(error),
            expected=f"a binary for {target.name} (capability {target.capability})",
            remedy="see the kernel's text; another configuration may compile",
        ) from error


def compiled_binary(
    loaded: modules.LoadedModule,
    target: Target,
    config: Config,
    unaligned: Collection[str] = (),
    cache: Path | None = None,
    triton: str = "",
) -> KernelBinary:
    """The kernel of ``loaded`` under ``config``: the one kept in ``cache``, or compiled and
    kept there. ``unaligned`` names pointers that may have any address. ``triton``: only one that
    this version compiled. Needs no GPU. Raises ``CompileFailed``."""
    name = binaries.artifact(loaded.text, config, target, unaligned, triton)
    found = None if cache is None else binaries.find(cache, name)
    if found is None and triton:
        raise CompileFailed(
            "the binary that an earlier Triton compiled is not kept",
            where=loaded.name,
            got=f"no binary of triton {triton} in the cache",
            expected="the cache folder in which that version compiled it",
            remedy="keep the cache folder between nights (HARNESS_CACHE)",
        )
    if found is None:
        compiled = compile_for(loaded, target, config, unaligned, cache)
        found = binaries.of_compiled(compiled, loaded, config, unaligned)
        if cache is not None:
            with contextlib.suppress(RecordError):  # which costs only the next compilation
                write_atomically(binaries.path(cache, name), found.to_bytes())
    return found


def read_triton() -> None:
    """Have Triton read itself (400 MB), by which it names binaries: a first compilation would."""
    from triton.runtime import cache

    getattr(cache, "triton_key", int)()


@contextlib.contextmanager
def triton_cache(cache: Path | None) -> Iterator[None]:
    """Have Triton keep its binaries below ``cache`` for a while; None changes nothing."""
    from triton import knobs

    if cache is None:
        yield
        return
    with _SCOPED, knobs.cache.scope():
        knobs.cache.dir = str(cache / "triton")
        yield


def _constants(loaded: modules.LoadedModule, blocks: Mapping[str, int]) -> dict[str, Any]:
    """The value of every parameter that is none of the arguments."""
    values = {**blocks, **loaded.constants}
    wanted = [n for n in loaded.kernel.arg_names if n not in loaded.signature]
    if missing := [n for n in wanted if n not in values]:
        raise CompileFailed(
            "a configuration lacks block sizes that the kernel needs",
            where=loaded.name,
            got=str(dict(blocks)),
            expected=f"values for {', '.join(missing)}",
            remedy="take a configuration from the module's CONFIGS",
        )
    return {n: values[n] for n in wanted}


def _entry(cache: Path, job: CompileJob) -> Path:
    import triton

    target = (job.target.backend, job.target.capability, job.target.warp_size)
    config = None if job.config is None else modules.config_dict(job.config)
    parts = (_FORMAT, triton.__version__, target, config, job.module_text)
    return cache / "static" / f"{checksum(parts)[:40]}.json"


@dataclass(frozen=True, slots=True)
class MetricsJob(Job):
    """Answers the static metrics, or the ``HarnessError``, of each of ``kernels``."""

    handler: ClassVar[str] = "harness.runtime.compile.static:measure_all"
    kernels: tuple[CompileJob, ...]


class CompilePool(Pool):
    """Compiles kernels in ``workers`` processes (``niceness``, ``host``: as of ``Device``). Answers
    are ``StaticMetrics`` or the ``HarnessError`` (mostly ``CompileFailed``) of a kernel alone; of
    ``all`` and ``each``, which only compile for a later launch to find it, None or that: what fails
    there fails again, with its reason, when it is launched."""

    def __init__(
        self, workers: int, cache: Path | None = None, niceness: int = 0, host: Host | None = None
    ) -> None:
        imports = ("harness.runtime.compile.quick",)
        alike = Device("", imports=imports, niceness=niceness, host=host)
        super().__init__(cores(workers, alike), _SECONDS, cache)

    def metrics_each(
        self, jobs: Sequence[CompileJob]
    ) -> Iterator[tuple[int, StaticMetrics | HarnessError]]:
        """(index, answer) as they finish. What the cache knows needs no worker."""
        unknown = []
        for index, job in enumerate(jobs):
            found = known(job, self.cache)
            if found is None:
                unknown.append(index)
            else:
                yield index, found
        # Of jobs that were lost together with their worker, one is to blame: each alone, then.
        lost: list[int] = []
        size = min(_TOGETHER, -(-len(unknown) // self.workers))
        yield from self._together(jobs, unknown, size, lost)
        yield from self._together(jobs, lost, 1, [])

    def _together(
        self, jobs: Sequence[CompileJob], indices: Sequence[int], size: int, lost: list[int]
    ) -> Iterator[tuple[int, StaticMetrics | HarnessError]]:
        """Answers, ``size`` jobs going to a worker at a time. Where such a group fails as a
        whole its jobs are added to ``lost``; a single job's failure is its answer."""
        groups = [indices[at : at + size] for at in range(0, len(indices), max(1, size))]
        packed = [MetricsJob(tuple(jobs[i] for i in group)) for group in groups]
        for number, answer in self.each(packed):
            group = groups[number]
            if not isinstance(answer, HarnessError):
                yield from zip(group, answer, strict=True)
            elif len(group) == 1:
                yield group[0], answer
            else:
                lost.extend(group)

    def metrics(
        self, jobs: Sequence[CompileJob], follow: Callable[[int, int], None] = lambda *_: None
    ) -> list[StaticMetrics | HarnessError]:
        """Answers in the order of the jobs; ``follow`` hears how far it is."""
        found = {}
        for index, answer in self.metrics_each(jobs):
            found[index] = answer
            follow(len(found), len(jobs))
        return [found[index] for index in range(len(jobs))]


def measure_all(context: Context, job: MetricsJob) -> list[StaticMetrics | HarnessError]:
    """The handler of ``MetricsJob``."""
    return measure(job.kernels, context.cache)


def warm(context: Context, job: CompileJob) -> None:
    """The handler of ``CompileJob``."""
    loaded = modules.load(job.module_text, context.cache)
    compiled = functools.partial(compiled_binary, loaded, job.target, cache=context.cache)
    *first, last = (job.config or loaded.configs[0], *job.others)
    for config in first:
        made = tried(compiled, config)
        if isinstance(made, KernelBinary):
            _, stack = disassembly.resources(made.cubin, made.name)
            if not spills_much(stack, job.target):
                return
    compiled(last)
