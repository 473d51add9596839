"""Instructions that move numbers: between registers, from and to memory, atomically."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ptx.arithmetic import computed
from tests.ptx.machine import Do, Launch, Threads, Unsupported, type_of
from tests.ptx.memory import LOCAL, SHARED, Array, Fault, unsigned
from tests.ptx.operands import address, reader, writer
from tests.ptx.parsing import Instruction

_SPACES = ("global", "shared", "local", "param", "const")


def _space(modes: tuple[str, ...]) -> str:
    return next((s for m in modes for s in _SPACES if m == s or m.startswith(s + "_")), "generic")


def places(
    threads: Threads, space: str, addresses: Array, width: int
) -> list[tuple[Any, Array, Array]]:
    """Which of ``addresses``, one for each active thread, are where in which view of memory."""
    if space in ("global", "const"):
        return threads.memory.reach(addresses, width)
    if space == "generic":
        return _generic(threads, addresses, width)
    numbers = threads.numbers()
    if space == "shared":
        return [(slice(None), *threads.shared.place(threads.block[numbers], addresses, width))]
    assert threads.local is not None
    return [(slice(None), *threads.local.place(numbers, addresses, width))]


def _generic(threads: Threads, addresses: Array, width: int) -> list[tuple[Any, Array, Array]]:
    windows = (("global", 0, SHARED), ("shared", SHARED, LOCAL), ("local", LOCAL, 1 << 63))
    found: list[tuple[Any, Array, Array]] = []
    held, numbers = threads.active, threads.numbers()
    for space, low, end in windows:
        at = np.flatnonzero((addresses >= np.uint64(low)) & (addresses < np.uint64(end)))
        if len(at):
            threads.active = numbers[at]
            some = places(threads, space, addresses[at] - np.uint64(low), width)
            found += [(at[which], view, where) for which, view, where in some]
    threads.active = held
    return found


def load(threads: Threads, space: str, addresses: Array, width: int) -> Array:
    """Numbers of ``width`` bytes."""
    made = np.empty(len(addresses), unsigned(width))
    for which, view, where in places(threads, space, addresses, width):
        made[which] = view[where]
    return made


def vectors(
    threads: Threads, space: str, addresses: Array, width: int, count: int = 1
) -> list[Array]:
    """``count`` numbers of ``width`` bytes at each of ``addresses``, multiples of their size. Those
    that begin in an argument are on its page, so a GPU does not stop at what lies behind it, which
    kernels of rows that end between vectors load and do not use: here NaN."""
    if space != "global" or not (cut := threads.memory.cut(addresses, width * count)).any():
        return [load(threads, space, addresses + np.uint64(n * width), width) for n in range(count)]
    made = np.empty((count, len(addresses)), unsigned(width))
    for n in range(count):
        made[n, ~cut] = load(threads, space, addresses[~cut] + np.uint64(n * width), width)
    made[:, cut] = threads.memory.begun(addresses[cut], width * count).view(unsigned(width)).T
    return [*made]


def store(threads: Threads, space: str, addresses: Array, width: int, value: Any) -> None:
    """Write them."""
    value = np.broadcast_to(np.asarray(value).astype(unsigned(width)), addresses.shape)
    for which, view, where in places(threads, space, addresses, width):
        view[where] = value[which]


def _load(one: Instruction, launch: Launch) -> Do:
    space, kind = _space(one.modes), type_of(one.kind)
    if space == "param":
        return _parameter(one, launch)
    if one.kind == "b128":
        raise Unsupported(one.text)
    at, width = address(str(one.operands[1]), launch), kind.itemsize
    targets = one.operands[0] if isinstance(one.operands[0], tuple) else (one.operands[0],)

    def made(threads: Threads) -> None:
        addresses = at(threads)
        _aligned(addresses, width * len(targets), one)
        values = vectors(threads, space, addresses, width, len(targets))
        for target, value in zip(targets, values, strict=True):
            threads.write(target, value.view(kind))

    return made


def _aligned(addresses: Array, width: int, one: Instruction) -> None:
    if (addresses % np.uint64(width)).any():
        raise Fault(f"an address is not a multiple of {width}: {one.text}")


def _parameter(one: Instruction, launch: Launch) -> Do:
    name, _, offset = (part.strip() for part in str(one.operands[1]).strip("[] ").partition("+"))
    kind, width = type_of(one.kind), launch.kernel.widths.get(name)
    if width is not None and "%" not in name:  # of a function that is called
        read = reader(name, one.kind, launch)
        return lambda threads: threads.write(one.operands[0], read(threads))
    read, more = reader(name, f"u{width or 64}", launch), int(offset or 0)

    def made(threads: Threads) -> None:
        given = np.asarray(read(threads))
        places, which = np.unique(given, return_inverse=True)
        found = [threads.launch.parameter(int(at) + more, kind.itemsize) for at in places]
        values = np.frombuffer(b"".join(found), kind)
        threads.write(one.operands[0], values[which.reshape(given.shape)])

    return made


def _store(one: Instruction, launch: Launch) -> Do:
    space, width = _space(one.modes), type_of(one.kind).itemsize
    name = str(one.operands[0]).strip("[] ").partition("+")[0]
    if space == "param":
        read = reader(one.operands[1], one.kind, launch)
        return lambda threads: threads.write(name, read(threads))
    if one.kind == "b128":
        raise Unsupported(one.text)
    at = address(str(one.operands[0]), launch)
    given = one.operands[1] if isinstance(one.operands[1], tuple) else (one.operands[1],)
    reads = [reader(n, f"b{8 * width}", launch) for n in given]

    def made(threads: Threads) -> None:
        addresses = at(threads)
        _aligned(addresses, width * len(reads), one)
        for n, read in enumerate(reads):
            store(threads, space, addresses + np.uint64(n * width), width, read(threads))

    return made


def _move(one: Instruction, launch: Launch) -> Do:
    if one.kind == "b128":
        raise Unsupported(one.text)
    read, write = reader(one.operands[1], one.kind, launch), writer(one.operands[0], one.kind)
    return lambda threads: write(threads, read(threads))


def _copy(one: Instruction, launch: Launch) -> Do:
    """``cp.async``, at once; what lies beyond the size of the source is 0."""
    if "commit_group" in one.modes or "wait_group" in one.modes or "wait_all" in one.modes:
        return lambda _: None
    if "bulk" in one.modes or "async" not in one.modes:
        raise Unsupported(one.text)
    to, of = (address(str(n), launch) for n in one.operands[:2])
    size = int(str(one.operands[2]), 0)
    given = reader(one.operands[3], "u32", launch) if len(one.operands) > 3 else None

    def made(threads: Threads) -> None:
        target, source = to(threads), of(threads)
        _aligned(target, size, one)
        _aligned(source, size, one)
        count = np.broadcast_to(size if given is None else given(threads), target.shape)
        some = count > 0
        found = vectors(threads, "global", source[some], 4, size // 4)
        for n, loaded in enumerate(found):
            value = np.zeros(len(target), np.uint32)
            value[some] = np.where(count[some] > 4 * n, loaded, 0)
            store(threads, "shared", target + np.uint64(4 * n), 4, value)

    return made


_CHANGES: dict[str, Any] = {
    "and": lambda old, x: old & x, "or": lambda old, x: old | x, "xor": lambda old, x: old ^ x,
    "exch": lambda _, x: x,
    "inc": lambda old, x: np.where(old >= x, 0, old + 1).astype(old.dtype),
    "dec": lambda old, x: np.where((old == 0) | (old > x), x, old - 1).astype(old.dtype),
}  # fmt: skip


def changed(how: str, kind: str, old: Array, given: list[Array]) -> Array:
    """What an atomic operation leaves, as bits; all are given as bits."""
    if how == "cas":
        return np.where(old == given[0], given[1], old)
    if how in _CHANGES:
        return _CHANGES[how](old, given[0])
    if kind.endswith("x2"):
        halves = [
            changed(
                how, kind[:-2], (old >> n).astype(np.uint16), [(given[0] >> n).astype(np.uint16)]
            )
            for n in (np.uint32(0), np.uint32(16))
        ]
        return halves[0].astype(np.uint32) | (halves[1].astype(np.uint32) << np.uint32(16))
    typed = type_of(kind)
    a, b = old.view(typed), given[0].view(typed)
    if "f" in kind:
        return np.asarray(computed(how, (), kind, [a, b])).view(old.dtype)
    made = {"add": np.add, "min": np.minimum, "max": np.maximum}[how](a, b)
    return made.view(old.dtype)


def _atomic(one: Instruction, launch: Launch) -> Do:
    """``atom`` and ``red``: one thread after another where several are at one place."""
    space, kind = _space(one.modes), one.kind
    how = next(m for m in one.modes if m in (*_CHANGES, "add", "min", "max", "cas"))
    has_result = one.name == "atom"
    target, place, *given = one.operands if has_result else (None, *one.operands)
    width = type_of(kind).itemsize if not kind.endswith("x2") else 4
    at = address(str(place), launch)
    vectors = [n if isinstance(n, tuple) else (n,) for n in given]
    targets = target if isinstance(target, tuple) else (target,)
    lanes = [
        [reader(vector[n], f"b{8 * width}", launch) for vector in vectors]
        for n in range(len(vectors[0]))
    ]

    def made(threads: Threads) -> None:
        addresses = at(threads)
        results = []
        for n, reads in enumerate(lanes):
            values = [np.broadcast_to(read(threads), addresses.shape) for read in reads]
            where = addresses + np.uint64(n * width)
            results.append(_in_turn(threads, space, where, width, (how, kind), values))
        if has_result:
            for name, value in zip(targets, results, strict=True):
                threads.write(str(name), value)

    return made


def _in_turn(
    threads: Threads, space: str, addresses: Array, width: int, what: tuple[str, str], given: list
) -> Array:
    """What was there before each thread's turn."""
    before = np.empty(len(addresses), unsigned(width))
    order = np.argsort(addresses, kind="stable")
    sorted_ = addresses[order]
    first = np.flatnonzero(np.r_[True, sorted_[1:] != sorted_[:-1]]) if len(order) else order
    rank = np.arange(len(order)) - np.repeat(first, np.diff(np.r_[first, len(order)]))
    held, numbers = threads.active, threads.numbers()
    by_rank = np.argsort(rank, kind="stable")
    starts = np.r_[0, np.cumsum(np.bincount(rank))] if len(order) else np.array([0])
    for begin, end in zip(starts[:-1], starts[1:], strict=True):
        some = order[by_rank[begin:end]]
        threads.active = numbers[some]
        old = load(threads, space, addresses[some], width)
        before[some] = old
        value = changed(*what, old, [np.ascontiguousarray(x[some]) for x in given])
        store(threads, space, addresses[some], width, value)
    threads.active = held
    return before


def _policy(one: Instruction, _: Launch) -> Do:
    return lambda threads: threads.write(str(one.operands[0]), np.uint64(0))


BUILDERS: dict[str, Any] = {
    "ld": _load, "ldu": _load, "st": _store, "mov": _move, "cp": _copy, "atom": _atomic,
    "red": _atomic, "createpolicy": _policy,
}  # fmt: skip
