"""What instructions do: each becomes a function that carries it out for all active threads."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ptx import arithmetic, converting, integers, moving, warps
from tests.ptx.machine import Do, Fault, Launch, Threads, Unsupported
from tests.ptx.operands import reader
from tests.ptx.parsing import Instruction

BUILDERS = {
    **integers.BUILDERS, **arithmetic.BUILDERS, **converting.BUILDERS, **moving.BUILDERS,
    **warps.BUILDERS,
}  # fmt: skip
_NOTHING = {
    "fence", "membar", "nanosleep", "prefetch", "prefetchu", "griddepcontrol", "discard",
    "applypriority",
}  # fmt: skip
_TOGETHER = {"shfl", "redux", "vote", "match", "ldmatrix", "stmatrix", "elect"}


def step(one: Instruction, launch: Launch) -> tuple[str, Do, int | None]:
    """Who carries out ``one`` together (a block, a warp or nobody), a function, and where it jumps:
    of a jump the function tells who does."""
    labels = launch.kernel.labels
    if one.name in ("bra", "ret", "exit"):
        target = labels[one.operands[0]] if one.name == "bra" else labels["end"]
        test: Any = _test(one.guard, launch) if one.guard else lambda _: True
        return "", test, target
    if one.name in ("bar", "barrier"):
        if set(one.modes) - {"sync", "warp", "cta", "aligned"} or len(one.operands) > 1:
            return "", _unknown(one), None
        return "warp" if "warp" in one.modes else "block", _nothing, None
    do = _built(one, launch)
    together = "warp" if one.name in _TOGETHER else ""
    return together, _guarded(do, _test(one.guard, launch)) if one.guard else do, None


def _built(one: Instruction, launch: Launch) -> Do:
    if one.name in _NOTHING:
        return _nothing
    if one.name in ("call", "trap"):
        return _failed(one)
    if one.name not in BUILDERS:
        return _unknown(one)
    try:
        return BUILDERS[one.name](one, launch)
    except Unsupported:
        return _unknown(one)


def _nothing(_: Threads) -> None:
    pass


def _unknown(one: Instruction) -> Do:
    """Who only passes it by need not know it."""

    def made(_: Threads) -> None:
        raise Unsupported(one.text)

    return made


def _failed(one: Instruction) -> Do:
    def made(threads: Threads) -> None:
        if one.operands and "printf" in str(one.operands[0]):
            return
        raise Fault(f"{one.text} of {threads.size()} threads")

    return made


def _test(guard: str, launch: Launch) -> Any:
    read = reader(guard.lstrip("!"), "pred", launch)
    return (lambda threads: ~read(threads)) if guard[0] == "!" else read


def _guarded(do: Do, test: Any) -> Do:
    def made(threads: Threads) -> None:
        mask = test(threads)
        if mask.all():
            do(threads)
        elif mask.any():
            held = threads.active
            threads.active = np.flatnonzero(mask) if held is None else held[mask]
            do(threads)
            threads.active = held

    return made
