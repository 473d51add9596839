"""Names of compilers, as ``--against`` takes them and as run files keep them."""

from __future__ import annotations

from collections.abc import Sequence

from harness.errors import UnknownName, UsageError, unknown

OURS = "harness"
"""The compiler under test: its kernels in the configurations that tuning chose."""
USER = "user"
"""A user's own kernel, which takes the place of ours."""
EAGER = "eager"
INDUCTOR = "inductor"
TUNED = "inductor-tuned"
"""Inductor with ``max_autotune_pointwise`` and coordinate descent."""
BUILT_IN = (EAGER, INDUCTOR, TUNED)
SUBJECTS = (OURS, USER)
"""What peers are compared with, in a region's records."""


def parse(text: str, backends: Sequence[str] | None = None) -> tuple[str, ...]:
    """The compilers that ``text`` names, commas between them, each once.

    Every name is one of ``BUILT_IN`` or a backend of ``torch.compile`` (``backends``; None asks
    torch, which takes a second or two, only if it has to). Raises ``UsageError`` for no name,
    ``UnknownName`` with the nearest names for one that does not exist."""
    names = tuple(dict.fromkeys(name for name in map(str.strip, text.split(",")) if name))
    if not names:
        raise UsageError(
            "no compiler is named",
            where="--against",
            got=repr(text),
            expected="names with commas between them, such as inductor,eager",
            remedy="name at least one, or leave the option out",
        )
    if not (others := [name for name in names if name not in BUILT_IN]):
        return names
    if backends is None:
        import torch

        backends = sorted(torch.compiler.list_backends(exclude_tags=()))  # debugging ones, too
    known = [*BUILT_IN, *backends]
    known = [name for name in dict.fromkeys(known) if name not in SUBJECTS]
    for name in others:
        if name in SUBJECTS:
            raise UnknownName(
                "this compiler is the one that is compared with others",
                where="--against",
                got=name,
                expected=", ".join(known),
                remedy="leave it out: it is always there",
            )
        if name not in known:
            remedy = (
                "name eager, inductor, inductor-tuned or a backend that torch.compile has "
                "(torch.compiler.list_backends(exclude_tags=()) lists them)"
            )
            raise unknown("there is no such compiler", name, known, "--against", remedy, most=None)
    return names
