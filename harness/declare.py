"""Declaring a hand-written Triton kernel, so that it is checked, timed and tracked.

    import harness

    @harness.kernel(
        args=make_args,                      # (device, **sizes) -> the kernel's arguments
        reference=rms_norm_reference,        # plain torch -> what the kernel writes
        outputs=["out"],                     # arguments that it writes
        grid=lambda rows: (rows,),
        configs=[{"BLOCK": 4096, "num_warps": 8}],
        sizes={"rows": 8192, "columns": 4096},
        small={"rows": 3, "columns": 100},   # for Triton's interpreter, without a GPU
    )
    @triton.jit
    def rms_norm(x, weight, out, columns, eps, BLOCK: tl.constexpr): ...

``harness run FILE.py`` runs what a file declares. docs/user-kernels.md has the whole story.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from harness.errors import UsageError

ATTRIBUTE = "harness_declaration"
"""Where the decorator leaves its declaration on the kernel."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """Declare the Triton kernel below (``@harness.kernel(…)``); it stays what it is.

    ``args(device, **sizes)`` makes the arguments, a list in the kernel's order or a dict by
    name, random numbers already seeded. ``reference`` computes what the kernel writes with
    plain torch (one tensor, or one per name in ``outputs`` and ``mutates``, in the kernel's
    order); ``grid`` gives the launch grid, ``bytes`` what one launch has to move (default: each
    argument once, ``mutates`` twice), ``flops`` its floating-point operations, for a kernel that
    arithmetic may hold back (that of the tensor cores if it uses ``tl.dot``). These are called
    with the arguments, sizes and constants that their parameters name. ``outputs`` are written
    only, ``mutates`` read and written; whatever else the kernel changes fails its check.

    ``configs`` are the candidates: dicts of block sizes with ``num_warps`` and ``num_stages``,
    or ``triton.Config``; those of ``@triton.autotune`` if there are none here. ``constants`` are
    values of constexpr parameters that are no part of a configuration. ``small`` are sizes for
    Triton's interpreter. ``tolerance`` replaces the error that the check allows by type.

    Raises ``UsageError`` for a declaration that makes no sense."""

    args: Callable[..., Any]
    reference: Callable[..., Any]
    grid: Callable[..., Any]
    outputs: Sequence[str] = ()
    mutates: Sequence[str] = ()
    configs: Sequence[Any] = ()
    bytes: int | Callable[..., int] | None = None
    flops: int | Callable[..., int] | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    small: Mapping[str, int] | None = None
    constants: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float | None = None

    def __call__(self, function: T) -> T:
        """Leave the declaration on the kernel ``function``."""
        setattr(function, ATTRIBUTE, self)
        return function

    def __post_init__(self) -> None:
        for names in (self.outputs, self.mutates):
            if isinstance(names, str):
                raise wrong("names of arguments are a list", repr(names), 'outputs=["out"]')
        for name in ("args", "reference", "grid"):
            if not callable(getattr(self, name)):
                got = repr(getattr(self, name))
                raise wrong(f"{name} is not a function", got, "a function")
        if not (self.outputs or self.mutates):
            raise wrong("a kernel writes nothing", "no outputs, no mutates", "names of arguments")
        if twice := set(self.outputs) & set(self.mutates):
            got = ", ".join(sorted(twice))
            raise wrong("an argument is written only, or read too", got, "one")
        if set(self.small or {}) - set(self.sizes):
            raise wrong("small sizes have other names", f"{self.small}", f"some of {self.sizes}")


def wrong(what: str, got: str, expected: str, where: str = "@harness.kernel") -> UsageError:
    """That a declaration makes no sense, ``where`` it is."""
    return UsageError(what, where, got, expected, "see docs/user-kernels.md, 'The declaration'")
