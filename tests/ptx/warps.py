"""Instructions that a warp carries out together."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tests.ptx.arithmetic import computed
from tests.ptx.machine import Do, Fault, Launch, Threads, Unsupported
from tests.ptx.memory import Array
from tests.ptx.moving import load, store
from tests.ptx.operands import address, reader
from tests.ptx.parsing import Instruction


def _warps(value: Any, threads: Threads) -> Array:
    """A row for each warp; those that lack threads are not known."""
    lanes = threads.tid[threads.numbers()] % 32
    if len(lanes) % 32 or (lanes.reshape(-1, 32) != np.arange(32)).any():
        raise Fault("a warp that lacks threads exchanges values")
    return np.broadcast_to(value, (threads.size(),)).reshape(-1, 32)


def _shuffle(one: Instruction, launch: Launch) -> Do:
    how = one.modes[1]
    target, _, holds = str(one.operands[0]).partition("|")
    value, *more = (reader(n, "u32", launch) for n in one.operands[1:4])

    def made(threads: Threads) -> None:
        given = _warps(value(threads), threads)
        lane = np.arange(32)
        b, c = (_warps(read(threads), threads).astype(np.int64) for read in more)
        b, clamp, segment = b & 31, c & 31, c >> 8 & 31
        most, least = lane & segment | clamp & ~segment, lane & segment
        if how == "up":
            source = lane - b
            inside = source >= most
        elif how == "idx":
            source = least | b & ~segment
            inside = source <= most
        else:
            source = lane + b if how == "down" else lane ^ b
            inside = source <= most
        source = np.where(inside, source, lane)
        threads.write(target.strip(), np.take_along_axis(given, source, 1).reshape(-1))
        if holds:
            threads.write(holds.strip(), np.ascontiguousarray(inside).reshape(-1))

    return made


def _reduction(one: Instruction, launch: Launch) -> Do:
    """``redux``."""
    ways: dict[str, Any] = {
        "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
        "or": np.bitwise_or, "xor": np.bitwise_xor,
    }  # fmt: skip
    name, *modes = one.modes[1:]
    read = reader(one.operands[1], one.kind, launch)

    def made(threads: Threads) -> None:
        given = _warps(read(threads), threads)
        if one.kind == "f32":  # of zeros the one without a sign is larger
            found = functools.reduce(lambda a, b: computed(name, modes, "f32", [a, b]), given.T)
        else:
            found = ways[name].reduce(given, axis=1, dtype=given.dtype)
        threads.write(one.operands[0], np.repeat(found, 32))

    return made


def _vote(one: Instruction, launch: Launch) -> Do:
    read, how = reader(one.operands[1], "pred", launch), one.modes[1]

    def made(threads: Threads) -> None:
        given = _warps(read(threads), threads)
        if how == "ballot":
            found = (given.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(1)
            return threads.write(one.operands[0], np.repeat(found.astype(np.uint32), 32))
        if how == "uni":
            found = given.all(1) | ~given.any(1)
        else:
            found = given.all(1) if how == "all" else given.any(1)
        return threads.write(one.operands[0], np.repeat(found, 32))

    return made


def _elected(one: Instruction, _: Launch) -> Do:
    target, _, holds = str(one.operands[0]).partition("|")

    def made(threads: Threads) -> None:
        threads.write(target.strip(), np.uint32(0))
        threads.write(holds.strip(), threads.tid[threads.numbers()] % 32 == 0)

    return made


def _matrices(one: Instruction, launch: Launch) -> Do:
    """``ldmatrix``, ``stmatrix``: squares of 8 rows of 16 bytes; lane ``n`` of those before the
    last says where row ``n`` is, and each has two numbers of 16 bits of each."""
    is_load = one.name == "ldmatrix"
    registers, place = one.operands if is_load else one.operands[::-1]
    names = registers if isinstance(registers, tuple) else (registers,)
    if "m8n8" not in one.modes:
        raise Unsupported(one.text)
    at = address(str(place), launch)
    reads = [reader(n, "u32", launch) for n in names] if not is_load else []
    lane = np.arange(32)
    if "trans" in one.modes:
        rows, columns = [2 * (lane % 4) + n for n in (0, 1)], [lane // 4] * 2
    else:
        rows, columns = [lane // 4] * 2, [2 * (lane % 4) + n for n in (0, 1)]

    def made(threads: Threads) -> None:
        addresses = _warps(at(threads), threads)
        for number, name in enumerate(names):
            halves = []
            for row, column in zip(rows, columns, strict=True):
                where = addresses[:, 8 * number + row] + (2 * column).astype(np.uint64)
                if is_load:
                    halves.append(load(threads, "shared", where.reshape(-1), 2).astype(np.uint32))
                else:
                    value = reads[number](threads) >> np.uint32(16 * len(halves))
                    halves.append(value)
                    store(threads, "shared", where.reshape(-1), 2, value.astype(np.uint16))
            if is_load:
                threads.write(name, halves[0] | (halves[1] << np.uint32(16)))

    return made


BUILDERS: dict[str, Any] = {
    "shfl": _shuffle, "redux": _reduction, "vote": _vote, "elect": _elected,
    "ldmatrix": _matrices, "stmatrix": _matrices,
}  # fmt: skip
