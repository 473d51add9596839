"""Static metrics: what a kernel costs as compiled, exact and without a GPU.

Triton compiles the kernel for the target; the disassembler and the resource reader that
its wheel ships read the binary. Two runs give the same numbers.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.errors import CompileFailed, HarnessError, RecordError
from harness.files import write_atomically
from harness.heuristics.facts import Config
from harness.records.metrics import StaticMetrics
from harness.runtime import module as modules
from harness.runtime.compile import disassembly
from harness.runtime.compile.disassembly import Binary
from harness.runtime.compile.sass import SassFacts
from harness.target import Target

_FORMAT = 2
"""Raise when the meaning of a cached entry changes."""


@dataclass(frozen=True, slots=True)
class CompileJob:
    """One kernel under one configuration for one target; the module's best guess if None."""

    module_text: str
    target: Target
    config: Config | None = None


def metrics(
    module_text: str,
    target: Target,
    config: Config | None = None,
    cache: Path | None = None,
) -> StaticMetrics:
    """Compile ``module_text``'s kernel for ``target`` and read its metrics.

    ``config`` defaults to the module's best guess. With ``cache`` (a folder) results are
    kept there by module text, configuration, target and Triton version; a damaged or
    foreign entry is ignored. Raises ``CompileFailed`` with the compiler's reason.
    """
    job = CompileJob(module_text, target, config)
    found = known(job, cache) or measure([job], cache)[0]
    if isinstance(found, HarnessError):
        raise found
    return found


def known(job: CompileJob, cache: Path | None) -> StaticMetrics | None:
    """The metrics in the cache, if they are there. Neither loads nor compiles the module."""
    return None if cache is None else _read(_entry(cache, job))


def measure(
    jobs: Sequence[CompileJob], cache: Path | None = None
) -> list[StaticMetrics | HarnessError]:
    """Compile several kernels and read their metrics together, which is cheaper than one by
    one; keeps them in ``cache``. A job that fails is answered with its ``HarnessError``."""
    answers: dict[int, StaticMetrics | HarnessError] = {}
    compiled: dict[int, tuple[Binary, int]] = {}
    for index, job in enumerate(jobs):
        try:
            compiled[index] = _compile(job, cache)
        except HarnessError as error:
            answers[index] = error
    found = disassembly.facts([binary for binary, _ in compiled.values()])
    for (index, (binary, shared)), facts in zip(compiled.items(), found, strict=True):
        try:
            answers[index] = _metrics(binary, facts, shared)
        except HarnessError as error:
            answers[index] = error
    if cache is not None:
        for index, job in enumerate(jobs):
            _keep(_entry(cache, job), answers[index])
    return [answers[index] for index in range(len(jobs))]


def _compile(job: CompileJob, cache: Path | None) -> tuple[Binary, int]:
    """The binary, and its shared memory in bytes."""
    loaded = modules.load(job.module_text, cache)
    config = loaded.configs[0] if job.config is None else job.config
    compiled = compile_for(loaded, job.target, config, cache=cache)
    return Binary.of(compiled, loaded.name), int(compiled.metadata.shared)


def _metrics(binary: Binary, facts: SassFacts | CompileFailed, shared: int) -> StaticMetrics:
    if isinstance(facts, CompileFailed):
        raise facts
    registers, stack = disassembly.resources(binary)
    return StaticMetrics(
        registers=registers,
        spills=disassembly.spills(binary) if _uses_local(facts, stack) else 0,
        stack=stack,
        shared=shared,
        instructions=facts.instructions,
        widest_load=facts.widest_load,
        widest_store=facts.widest_store,
        mix=facts.mix,
    )


def _uses_local(facts: SassFacts, stack: int) -> bool:
    local = dict(facts.mix)
    return stack > 0 or "load_local" in local or "store_local" in local


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
    blocks = modules.config_dict(config)
    constants = _constants(loaded, blocks)
    signature = loaded.signature
    full = {n: signature.get(n, "constexpr") for n in kernel.arg_names}
    attributes = {
        (kernel.arg_names.index(n),): [["tt.divisibility", 16]]
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
        **dict(config.options),
    }
    try:
        with triton_cache(cache):
            return triton.compile(source, target=gpu, options=options)
    except Exception as error:
        raise CompileFailed(
            "Triton could not compile a kernel",
            where=f"{loaded.name} {blocks}",
            got=reason(error),
            expected=f"a binary for {target.name} (capability {target.capability})",
            remedy="see the kernel's text; another configuration may compile",
        ) from error


@contextlib.contextmanager
def triton_cache(cache: Path | None) -> Iterator[None]:
    """Have Triton keep its binaries below ``cache`` for a while; None changes nothing."""
    from triton import knobs

    if cache is None:
        yield
        return
    with knobs.cache.scope():
        knobs.cache.dir = str(cache / "triton")
        yield


def _constants(loaded: modules.LoadedModule, blocks: Mapping[str, int]) -> dict[str, Any]:
    """The value of every parameter that is none of the arguments."""
    values = {**blocks, **loaded.constants}
    wanted = [n for n in loaded.kernel.arg_names if n not in loaded.signature]
    missing = [n for n in wanted if n not in values]
    if missing:
        raise CompileFailed(
            "a configuration lacks block sizes that the kernel needs",
            where=loaded.name,
            got=str(dict(blocks)),
            expected=f"values for {', '.join(missing)}",
            remedy="take a configuration from the module's CONFIGS",
        )
    return {n: values[n] for n in wanted}


def reason(error: BaseException) -> str:
    """An error as one line: its type, and its first and last line of text."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else ""
    if len(lines) > 1:
        text = f"{text} … {lines[-1]}"
    return f"{type(error).__name__}: {text}"[:500]


def _entry(cache: Path, job: CompileJob) -> Path:
    import triton

    target = (job.target.backend, job.target.capability, job.target.warp_size)
    config = None if job.config is None else modules.config_dict(job.config)
    parts = (_FORMAT, triton.__version__, target, config, job.module_text)
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:40]
    return cache / "static" / f"{digest}.json"


def _read(entry: Path) -> StaticMetrics | None:
    try:
        values = json.loads(entry.read_text())
        mix = tuple((str(k), int(v)) for k, v in values.pop("mix"))
        return StaticMetrics(mix=mix, **{str(k): int(v) for k, v in values.items()})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _keep(entry: Path, found: StaticMetrics | HarnessError) -> None:
    """Keep an answer that is one. A folder that cannot be written costs only the next look-up."""
    if isinstance(found, HarnessError):
        return
    try:
        write_atomically(entry, json.dumps(asdict(found), sort_keys=True).encode())
    except RecordError:
        return
