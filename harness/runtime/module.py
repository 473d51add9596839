"""Load an emitted module from its text.

Triton reads a kernel's source from the file it was defined in, so the text is written
to a file named by its hash before it is executed. Nothing is entered in
``sys.modules``: dropping the module object frees what it holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.errors import CompileFailed, HarnessError, InvalidProgram
from harness.files import write_atomically
from harness.heuristics.facts import OPTIONS, Config
from harness.runtime.compile.cache import process_folder
from harness.runtime.grid import checked

USER = "user"
"""The category of hand-written kernels."""

Arguments = list[Any]
"""Kernel arguments in order: tensors, and integers for unknown sizes."""


def config_dict(config: Config) -> dict[str, int]:
    """``config`` as emitted modules write it: block sizes by name, warps, stages, and what
    other options of the compiler there are."""
    launch = {"num_warps": config.num_warps, "num_stages": config.num_stages}
    return {**dict(config.blocks), **launch, **dict(config.options)}


def config_from_dict(values: Mapping[str, int]) -> Config:
    """The inverse of ``config_dict``."""
    rest = {"num_warps", "num_stages", *OPTIONS}
    blocks = tuple((k, v) for k, v in values.items() if k not in rest)
    options = tuple((k, values[k]) for k in OPTIONS if k in values)
    return Config(blocks, values["num_warps"], values.get("num_stages", 1), options)


def config_text(config: Config) -> str:
    """``config`` in a sentence: ``XBLOCK=1 R0_BLOCK=2048 num_warps=8 num_stages=1``."""
    return " ".join(f"{key}={value}" for key, value in config_dict(config).items())


@dataclass(frozen=True, eq=False, slots=True)
class LoadedModule:
    """An emitted module ready to use; ``raw`` is the module object itself."""

    raw: ModuleType
    text: str
    path: Path

    @property
    def name(self) -> str:
        """The kernel's name."""
        return str(self.raw.KERNEL)

    @property
    def category(self) -> str:
        """The kernel's kind (``poi``, ``red``, ``per`` …)."""
        return str(self.raw.CATEGORY)

    @property
    def bytes_moved(self) -> int:
        """Bytes one launch moves, as modelled by the compiler."""
        return int(self.raw.BYTES)

    @property
    def flops(self) -> int:
        """Floating-point operations of one launch, if the module says; else 0."""
        return int(getattr(self.raw, "FLOPS", 0))

    @property
    def tensor(self) -> bool:
        """Whether these operations are the tensor cores'."""
        return bool(getattr(self.raw, "TENSOR", False))

    @property
    def configs(self) -> tuple[Config, ...]:
        """Candidate configurations, best guess first."""
        return tuple(config_from_dict(c) for c in self.raw.CONFIGS)

    @property
    def signature(self) -> dict[str, str]:
        """Triton's type name of each argument, in order."""
        return dict(self.raw.SIGNATURE)

    @property
    def divisible_by_16(self) -> tuple[str, ...]:
        """Arguments whose value (address, for pointers) is a multiple of 16."""
        return tuple(self.raw.DIVISIBLE_BY_16)

    @property
    def constants(self) -> dict[str, Any]:
        """Parameters that are neither arguments nor part of a configuration, with their values
        (a user's kernel has some)."""
        return dict(getattr(self.raw, "CONSTANTS", {}))

    @property
    def outputs(self) -> tuple[int, ...]:
        """Positions of the arguments that the kernel writes."""
        return tuple(self.raw.OUTPUTS)

    @property
    def points(self) -> dict[str, int]:
        """Points by tile prefix (``x``, ``y``, ``z``, ``r0_``), an estimate for an unknown number;
        empty where the text does not say (older text, or not from this compiler)."""
        return dict(getattr(self.raw, "POINTS", {}))

    @property
    def fixed_blocks(self) -> dict[str, int]:
        """Block sizes that the kernel's text fixes."""
        return dict(getattr(self.raw, "PINNED", {}))

    @property
    def least_per_thread(self) -> int:
        """Elements that every thread must own at least."""
        return int(getattr(self.raw, "LEAST_PER_THREAD", 0))

    @property
    def zeroed(self) -> tuple[int, ...]:
        """Positions of the arguments that must hold zeros before every launch."""
        return tuple(getattr(self.raw, "ZEROED", ()))

    @property
    def interpreted(self) -> bool:
        """Whether the kernel is to run in Triton's interpreter (TRITON_INTERPRET=1)."""
        return type(self.kernel).__name__ == "InterpretedFunction"

    @property
    def kernel(self) -> Any:
        """Triton's jitted (or interpreted) function."""
        return getattr(self.raw, self.name)

    @property
    def unknown_sizes(self) -> dict[str, int]:
        """Names of sizes that only a launch knows, with the values ``get_args`` gives them; the
        grid then depends on the arguments. Empty for most modules."""
        return dict(getattr(self.raw, "UNKNOWN_SIZES", {}))

    def grid(self, config: Config, args: Sequence[Any] | None = None) -> tuple[int, int, int]:
        """The launch grid under ``config``; ``args`` are needed where ``unknown_sizes`` are.
        Raises ``GridTooLarge`` for one that no launch takes."""
        values = config_dict(config)
        where = f"{self.name} {values}"
        if not self.unknown_sizes:
            return checked(self.raw.grid(values), where)
        if args is None:
            raise InvalidProgram(
                "the number of programs depends on sizes that only a launch knows",
                where=where,
                got="no arguments",
                expected=f"arguments with values of {', '.join(self.unknown_sizes)}",
                remedy="ask for the grid at every launch, with its arguments",
            )
        return checked(self.raw.grid(values, args), where)

    def get_args(
        self, device: str | None = None, seed: int = 0, sizes: Mapping[str, int] | None = None
    ) -> Arguments:
        """Fresh random arguments; ``sizes`` in place of ``unknown_sizes``."""
        more = {"sizes": dict(sizes)} if sizes else {}
        return list(self.raw.get_args(device=device, seed=seed, **more))

    def call(self, args: Arguments, config: Config | None = None) -> None:
        """Launch on the current stream."""
        self.raw.call(args, None if config is None else config_dict(config))

    def reference(self, args: Arguments, wide: bool = False) -> list[Any]:
        """What the outputs should hold, by plain torch."""
        return list(self.raw.reference(args, wide=wide))

    def check(self, args: Arguments | None, config: Config | None = None) -> dict[str, Any]:
        """Run with poisoned outputs and compare: ``passed``, ``max_error``, ``allowed``."""
        checker: Callable[..., dict[str, Any]] = self.raw.check
        return dict(checker(args, None if config is None else config_dict(config)))


_REQUIRED = (
    "KERNEL",
    "CATEGORY",
    "BYTES",
    "CONFIGS",
    "SIGNATURE",
    "DIVISIBLE_BY_16",
    "OUTPUTS",
    "grid",
    "get_args",
    "call",
    "reference",
    "check",
)


def text_hash(text: str) -> str:
    """The name under which a module's text is known: 32 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def load(text: str, cache: Path | None = None) -> LoadedModule:
    """Execute the emitted module ``text`` and return it.

    Its file is written to the folder ``modules`` of ``cache`` (if None, to a temporary folder of
    this process). Raises ``RecordError`` when that cannot be written and ``CompileFailed`` when
    the text is not an emitted module.
    """
    folder = process_folder() if cache is None else cache / "modules"
    path = folder / f"kernel_{text_hash(text)}.py"
    data = text.encode()
    if not _holds(path, data):
        write_atomically(path, data)
    return LoadedModule(_execute(text, path), text, path)


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False


def _execute(text: str, path: Path) -> ModuleType:
    """The module. What runs is ``text``, never what Python compiled and kept beside the file."""
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)  # noqa: S102 - what emitted modules are
    except HarnessError:
        raise
    except Exception as error:
        raise CompileFailed(
            "an emitted module cannot be executed",
            where=str(path),
            got=f"{type(error).__name__}: {error}",
            expected="Python text that imports only torch and triton",
            remedy="emit the module again",
        ) from error
    missing = [name for name in _REQUIRED if not hasattr(module, name)]
    if missing or not hasattr(module, str(getattr(module, "KERNEL", ""))):
        raise CompileFailed(
            "a file is not an emitted module",
            where=str(path),
            got=f"no {', '.join(missing) or 'function named by KERNEL'}",
            expected="the contract in docs/design.md, 'The emitted module'",
            remedy="emit the module again",
        )
    return module
