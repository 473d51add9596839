"""Static metrics: what a kernel costs as compiled, exact and without a GPU.

Triton compiles the kernel for the target; the disassembler and the resource reader that
its wheel ships read the binary. Two runs give the same numbers.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.errors import CompileFailed, RecordError
from harness.heuristics.facts import Config
from harness.runtime import module as modules
from harness.runtime.sass import SassFacts, parse
from harness.target import Target

_FORMAT = 1
"""Raise when the meaning of a cached entry changes."""
_TOOL_SECONDS = 120


@dataclass(frozen=True, slots=True)
class StaticMetrics:
    """One kernel under one configuration.

    ``registers`` per thread; ``spills`` bytes of spill stores and loads per thread;
    ``stack`` bytes of local memory per thread; ``shared`` bytes per block; ``instructions``
    in the binary (padding not counted); widest global accesses in bytes per thread;
    ``mix`` counts of instructions by group.
    """

    registers: int
    spills: int
    stack: int
    shared: int
    instructions: int
    widest_load: int
    widest_store: int
    mix: tuple[tuple[str, int], ...]


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
    loaded = modules.load(module_text, None if cache is None else cache / "modules")
    chosen = loaded.configs[0] if config is None else config
    entry = None if cache is None else _entry(cache, module_text, target, chosen)
    if entry is not None:
        known = _read(entry)
        if known is not None:
            return known
    found = _measure(compile_for(loaded, target, chosen, cache=cache), loaded.name)
    if entry is not None:
        _keep(entry, found)
    return found


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
    constants = _constants(kernel, blocks, loaded.name)
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


def _constants(kernel: Any, blocks: Mapping[str, int], name: str) -> dict[str, int]:
    wanted = [p.name for p in kernel.params if p.is_constexpr]
    missing = [n for n in wanted if n not in blocks]
    if missing:
        raise CompileFailed(
            "a configuration lacks block sizes that the kernel needs",
            where=name,
            got=str(dict(blocks)),
            expected=f"values for {', '.join(missing)}",
            remedy="take a configuration from the module's CONFIGS",
        )
    return {n: blocks[n] for n in wanted}


def reason(error: BaseException) -> str:
    """An error as one line: its type, and its first and last line of text."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else ""
    if len(lines) > 1:
        text = f"{text} … {lines[-1]}"
    return f"{type(error).__name__}: {text}"[:500]


def _measure(compiled: Any, name: str) -> StaticMetrics:
    from triton import knobs

    with tempfile.TemporaryDirectory(prefix="harness-sass-") as folder:
        cubin = Path(folder) / "kernel.cubin"
        cubin.write_bytes(compiled.asm["cubin"])
        usage = _tool([knobs.nvidia.cuobjdump.path, "-res-usage", str(cubin)], name)
        listing = _tool([knobs.nvidia.nvdisasm.path, "-c", str(cubin)], name)
        registers, stack = _usage(usage, name)
        facts = parse(listing)
        spills = _spills(compiled, Path(folder), name) if _uses_local(facts, stack) else 0
    return StaticMetrics(
        registers=registers,
        spills=spills,
        stack=stack,
        shared=int(compiled.metadata.shared),
        instructions=facts.instructions,
        widest_load=facts.widest_load,
        widest_store=facts.widest_store,
        mix=facts.mix,
    )


def _uses_local(facts: SassFacts, stack: int) -> bool:
    local = dict(facts.mix)
    return stack > 0 or "load_local" in local or "store_local" in local


def _usage(text: str, name: str) -> tuple[int, int]:
    """Registers and stack bytes per thread from cuobjdump's resource report."""
    found = re.search(r"REG:(\d+)\s+STACK:(\d+)\s+SHARED:\d+\s+LOCAL:(\d+)", text)
    if found is None:
        raise CompileFailed(
            "the resource report of a kernel cannot be read",
            where=name,
            got=text[-200:],
            expected="a line with REG, STACK, SHARED and LOCAL",
            remedy="report the Triton version in use",
        )
    return int(found.group(1)), max(int(found.group(2)), int(found.group(3)))


def _spills(compiled: Any, folder: Path, name: str) -> int:
    """Bytes spilled, from the assembler's own report. A stack alone does not say: some
    device-library functions keep tables in local memory without spilling anything."""
    ptx = str(compiled.asm["ptx"])
    source = folder / "kernel.ptx"
    source.write_text(ptx)
    arch = re.search(r"^\.target (\w+)", ptx, re.MULTILINE)
    gpu = arch.group(1) if arch else f"sm_{compiled.metadata.target.arch}"
    fused = [] if compiled.metadata.enable_fp_fusion else ["--fmad=false"]
    # Line information keeps the assembler's choices as they were in the first run.
    command = [_assembler(compiled), "-lineinfo", "-v", *fused, f"--gpu-name={gpu}"]
    report = _tool([*command, str(source), "-o", str(folder / "again.cubin")], name)
    found = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", report)
    return int(found.group(1)) + int(found.group(2)) if found else 0


def _assembler(compiled: Any) -> str:
    """The assembler Triton used: since 3.9 the newer of its two for capability 90 as well."""
    from triton.backends.nvidia import compiler

    return str(compiler.get_ptxas(compiled.metadata.target.arch).path)


def _tool(command: list[str], name: str) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TOOL_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise CompileFailed(
            "a tool of the Triton wheel failed",
            where=name,
            got=f"{Path(command[0]).name}: {error}",
            expected="cuobjdump, nvdisasm and ptxas as shipped with Triton",
            remedy="install triton again",
        ) from error
    return done.stdout + done.stderr


def _entry(cache: Path, text: str, target: Target, config: Config) -> Path:
    import triton

    parts = (_FORMAT, triton.__version__, asdict(target), modules.config_dict(config), text)
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:40]
    return cache / "static" / f"{digest}.json"


def _read(entry: Path) -> StaticMetrics | None:
    try:
        values = json.loads(entry.read_text())
        mix = tuple((str(k), int(v)) for k, v in values.pop("mix"))
        return StaticMetrics(mix=mix, **{str(k): int(v) for k, v in values.items()})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _keep(entry: Path, found: StaticMetrics) -> None:
    """Keep an answer. A folder that cannot be written costs only the next look-up."""
    try:
        modules.write_atomically(entry, json.dumps(asdict(found), sort_keys=True).encode())
    except RecordError:
        return
