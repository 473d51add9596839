"""A machine for PTX: all threads of several blocks carry out an instruction at once.

A register is an array with a number for each thread, as bits without a sign (predicates: bools).
Threads that are at different instructions take turns, those furthest behind first, so they meet
again where branches join; whoever spins lets the others go on. With an ``order`` only some warps,
at random, go on from the beginning and from each barrier until they cannot: who reads what others
were to have written finds that they have not."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.ptx.memory import Array, Fault, Global, Rows, unsigned
from tests.ptx.parsing import Kernel

_THREADS_AT_ONCE = 1 << 15
_SPINS = 64
"""Jumps back after which a group lets others run."""
_MOST_JUMPS = 1 << 20
"""Jumps back after which a loop has no end."""
_PARAMETER = 12
"""Each parameter is at a multiple of two to the power of this."""
_ROUNDS = 2000
"""Turns without an end after which a launch hangs."""
SPECIAL = re.compile(r"%(n?tid|n?ctaid|laneid|warpid|clock|globaltimer|cluster_\w+)(?![\w])")


class Unsupported(Exception):
    """An instruction that this machine does not know."""


def type_of(kind: str) -> np.dtype:
    """The type of array for a PTX type; numbers of 16 bits and less are bits."""
    if kind == "pred":
        return np.dtype(bool)
    width = int(re.sub(r"\D", "", kind)) // 8
    letter = {"s": "i", "f": "f" if width >= 4 else "u"}.get(kind[0], "u")
    return np.dtype(f"{letter}{width}")


class Threads:
    """Threads of ``blocks`` (coordinates, a row for each). Those that now carry out an instruction
    are ``active``; None: all of them."""

    def __init__(self, launch: Launch, blocks: Array) -> None:
        self.launch, self.blocks = launch, blocks
        self.widths = launch.kernel.widths
        per = launch.threads
        self.count = len(blocks) * per
        self.block = np.repeat(np.arange(len(blocks)), per)
        self.tid = np.tile(np.arange(per, dtype=np.uint32), len(blocks))
        self.active: Array | None = None
        self.registers: dict[str, Array] = {}
        self.carry: Array | None = None
        self.memory = launch.memory
        self.shared = Rows(len(blocks), launch.shared, "shared")
        self.local = Rows(self.count, launch.local, "local") if launch.local else None

    def read(self, name: str, kind: np.dtype) -> Array:
        """A register of the active threads as numbers of the type ``kind``."""
        found = self.registers.get(name)
        if found is None:
            found = self.unset(name)
        if self.active is not None:
            found = found[self.active]
        if found.dtype.itemsize != kind.itemsize:
            found = found.astype(unsigned(kind.itemsize))
        return found.view(kind)

    def unset(self, name: str) -> Array:
        """What a register holds that nothing has set, which compilers read where no use is made of
        it: NaN."""
        width = self.widths[name]
        kind = np.dtype(bool) if width == 1 else unsigned(max(width // 8, 2))
        return np.full(self.count, (1 << width) - 1, kind)

    def write(self, name: str, value: Any) -> None:
        """Set a register of the active threads; narrow numbers are extended as their type says."""
        if name == "_":
            return
        width = self.widths[name]
        kind = np.dtype(bool) if width == 1 else unsigned(max(width // 8, 2))
        value = np.asarray(value)
        if value.dtype.itemsize == kind.itemsize:
            value = value.view(kind)
        else:
            value = value.astype(kind)
        if self.active is None:
            self.registers[name] = value if value.ndim else np.full(self.count, value)
            return
        made = self.registers[name].copy() if name in self.registers else self.unset(name)
        made[self.active] = value
        self.registers[name] = made

    def special(self, name: str) -> Array:
        """A register that the hardware sets, of the active threads."""
        at = slice(None) if self.active is None else self.active
        base, _, axis = name.lstrip("%").partition(".")
        axis = "xyz".index(axis) if axis else 0
        if base == "tid":
            return self.tid[at] if axis == 0 else np.zeros_like(self.tid[at])
        if base == "ctaid":
            return self.blocks[self.block[at], axis].astype(np.uint32)
        if base in ("laneid", "warpid"):
            return self.tid[at] % 32 if base == "laneid" else self.tid[at] // 32
        if base in ("ntid", "nctaid"):
            sizes = (self.launch.threads, 1, 1) if base == "ntid" else self.launch.grid
            return np.uint32(sizes[axis])
        if base in ("clock", "globaltimer"):
            self.launch.now += 1
            return (
                np.uint64(self.launch.now) if base == "globaltimer" else np.uint32(self.launch.now)
            )
        raise Unsupported(name)

    def size(self) -> int:
        """How many threads are active."""
        return self.count if self.active is None else len(self.active)

    def numbers(self) -> Array:
        """Which."""
        return np.arange(self.count) if self.active is None else self.active


Read = Callable[[Threads], Any]
Do = Callable[[Threads], None]


class Launch:
    """A kernel ready to run: what its names mean."""

    def __init__(self, kernel: Kernel, shared: int = 0, threads: int = 0) -> None:
        from tests.ptx import computing

        self.kernel, self.threads = kernel, threads or kernel.threads
        self.memory = Global()
        self.shared, self.local, self.now = 0, 0, 0
        self.names = {name: n << _PARAMETER for n, name in enumerate(kernel.parameters)}
        self.grid = (1, 1, 1)
        self.parameters: Sequence[bytes] = ()
        for array in kernel.arrays:
            self._declare(array)
        self.names.setdefault("global_smem", self.shared)
        self.shared += shared
        self.steps = [computing.step(one, self) for one in kernel.instructions]

    def _declare(self, array: Any) -> None:
        size = array.width * array.size
        if array.space in ("global", "const"):
            values = [n & (1 << 8 * array.width) - 1 for n in array.contents]
            values += [0] * (array.size - len(values))
            data = np.array(values, unsigned(array.width)).view(np.uint8)
            self.names[array.name] = self.memory.add(data, array.name)
            return
        at = getattr(self, array.space)
        self.names[array.name] = at
        setattr(self, array.space, at + -(-size // 16) * 16)

    def parameter(self, at: int, width: int) -> bytes:
        """What is at an address among the parameters."""
        first = at & (1 << _PARAMETER) - 1
        return self.parameters[at >> _PARAMETER][first : first + width]

    def run(
        self,
        grid: Sequence[int],
        parameters: Sequence[bytes],
        together: bool = False,
        order: random.Random | None = None,
    ) -> None:
        """All programs of ``grid``: as many at once as are quick, or all ``together``."""
        self.grid = tuple(grid)
        assert len(parameters) == len(self.kernel.parameters)
        self.parameters = parameters
        x, y, z = self.grid
        all_ = np.arange(x * y * z)
        blocks = np.stack([all_ % x, all_ // x % y, all_ // (x * y)], 1)
        step = len(blocks) if together else max(1, _THREADS_AT_ONCE // self.threads)
        with np.errstate(all="ignore"):
            for first in range(0, len(blocks), max(step, 1)):
                Turns(Threads(self, blocks[first : first + step]), order).run()


class Turns:
    """Which threads carry out what next."""

    def __init__(self, threads: Threads, order: random.Random | None = None) -> None:
        self.threads, self.steps, self.order = threads, threads.launch.steps, order
        self.end = len(self.steps)
        self.ready: dict[int, Array] = {}
        self.later: dict[int, Array] = {0: np.arange(threads.count)}
        self.waiting: dict[int, Array] = {}
        self.resting: dict[int, Array] = {}
        self.live = np.ones(threads.count, bool)
        self.units = {
            "block": threads.block,
            "warp": threads.block * (-(-threads.launch.threads // 32)) + threads.tid // 32,
        }
        self.progress = self.back = self.limit = 0

    def run(self) -> None:
        """Until all threads have returned."""
        rounds = stuck = 0
        while self.ready or self.later or self.resting or self.waiting:
            if not self.ready and self.later:
                at, some = self.later.popitem()
                self._add(self.ready, at, self._parted(at, some))
            elif not self.ready:
                rounds += bool(self.resting)
                stuck = stuck + 1 if self.progress == 0 else 0
                if rounds > _ROUNDS or (stuck > 1 and not self.resting):
                    raise Fault(f"threads wait for ever: {self._where()}")
                for held in (self.resting, self.waiting):
                    for at, some in held.items():
                        self._add(self.ready, at, some)
                    held.clear()
                self.progress = 0
            if not self.ready:
                continue
            at = min(self.ready)
            some = self.ready.pop(at)
            self._turn(at, None if len(some) == self.threads.count else some)

    def _where(self) -> str:
        at = sorted({*self.waiting, *self.resting})
        return "; ".join(self.threads.launch.kernel.instructions[n].text for n in at)

    def _add(self, held: dict[int, Array], at: int, some: Array) -> None:
        known = held.get(at)
        held[at] = some if known is None else np.union1d(known, some)

    def _turn(self, at: int, active: Array | None) -> None:
        """Some threads from an instruction on, until they meet others or have to wait."""
        threads, steps = self.threads, self.steps
        self.back, self.limit = 0, min(self.ready, default=self.end)
        while at < self.end:
            if at >= self.limit:
                return self._add(self.ready, at, self._numbers(active))
            meets, do, target = steps[at]
            if meets and active is not None:
                if (active := self._met(meets, at, active)) is None:
                    return None
                active = None if len(active) == threads.count else active
            if meets == "block" and self.order is not None:
                return self._add(self.later, at + 1, self._numbers(active))
            threads.active = active
            if target is None:
                do(threads)
                self.progress += 1
                at += 1
            elif (going_on := self._jump(at, target, active, do(threads))) is None:
                return None
            else:
                at, active = going_on
        self.live[self._numbers(active)] = False
        return None

    def _jump(
        self, at: int, target: int, active: Array | None, taken: Any
    ) -> tuple[int, Array | None] | None:
        """Who goes on where; None: who is furthest behind is to be found again."""
        if taken is True or np.all(taken):
            self.back += target <= at
            if self.back > _MOST_JUMPS:
                raise Fault(f"a loop without an end: {self.threads.launch.kernel.name}")
            if target <= at and self.back > _SPINS and (self.ready or self.later or self.resting):
                return self._add(self.resting, target, self._numbers(active))
            return target, active
        if not np.any(taken):
            return at + 1, active
        some = self._numbers(active)
        self._add(self.ready, target, some[taken])
        if target <= at:
            return self._add(self.ready, at + 1, some[~taken])
        self.limit = min(self.limit, target)
        return at + 1, some[~taken]

    def _parted(self, at: int, some: Array) -> Array:
        """Warps that go on first; the others do when these cannot."""
        if self.order is None:
            return some
        first = np.random.default_rng(self.order.getrandbits(32)).random(int(some[-1]) // 32 + 1)
        ahead = first[some // 32] < 0.5
        if ahead.all() or not ahead.any():
            return some
        self._add(self.later, at, some[~ahead])
        return some[ahead]

    def _numbers(self, active: Array | None) -> Array:
        return np.arange(self.threads.count) if active is None else active

    def _met(self, meets: str, at: int, active: Array) -> Array | None:
        """Those of ``active``, and of who waits here, whose whole warp or block is here."""
        unit = self.units[meets]
        if (others := self.waiting.pop(at, None)) is not None:
            active = np.union1d(active, others)
        alive = np.bincount(unit[self.live], minlength=int(unit[-1]) + 1)
        here = np.bincount(unit[active], minlength=len(alive))
        complete = (here == alive)[unit[active]]
        if not complete.all():
            self.waiting[at] = active[~complete]
        return active[complete] if complete.any() else None
