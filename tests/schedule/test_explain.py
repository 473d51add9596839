"""The explanation, and that it does not depend on hash seeds or on luck."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

from harness.ir.nodes import ReduceKind
from harness.ir.ops import Op
from harness.ir.program import Program
from harness.schedule.build import schedule
from harness.schedule.explain import render
from harness.target import H100
from harness.tiling.build import plan
from tests.schedule.programs import Maker, column
from tests.schedule.test_property import random_program

ROOT = Path(__file__).parents[2]


def two_kernels() -> Program:
    """A row norm, and a column sum that cannot join it."""
    m = Maker()
    x = m.input("x", 64, 48)
    a = m.pointwise("a", [x], lambda v: m.op(Op.TANH, v))
    (s,) = m.reduce("s", ReduceKind.SUM, [a], lambda v: v, [1])
    b = m.pointwise("b", [a, column(s)], lambda v, u: m.op(Op.MUL, v, u))
    (t,) = m.reduce("t", ReduceKind.SUM, [b], lambda v: v, [0])
    return m.program(b, t)


def test_rows_and_text() -> None:
    lines = render(schedule(two_kernels(), H100)).splitlines()
    assert lines[0].startswith("test: 4 loop nests in 2 kernels, peak memory ")
    second = lines.index(next(line for line in lines if line.startswith("g1: ")))
    assert lines[1:second] == [
        f"g0: 64 x 48 points, {2 * 64 * 48 * 4} bytes",
        lines[2],
        "  segments  [n0, sum n1] ; [(n0), n2]",
        "  reads     x",
        "  writes    b",
        f"  inside    a, s ({2 * (64 * 48 + 64) * 4} bytes not moved)",
    ]
    assert "  reads     b" in lines[second:]
    apart = lines[lines.index("not fused:") + 1 :]
    assert all(": reduction sizes: " in line or ": mixed order: " in line for line in apart)
    assert apart[0].startswith("  g0 (n0) and g1 (n3): reduction sizes: n0 and 2 more reduces 64")


def everything() -> str:
    """What is explained of thirty programs: the same for any hash seed (``test_determinism``)."""
    return "".join(render(schedule(random_program(k), H100)) for k in range(30))


def many_nests(count: int) -> Program:
    """Blocks of norm and pointwise work, one after another, as in a deep model."""
    m = Maker()
    x = m.input("x", 128, 256)
    w = m.input("w", 256)
    kept = []
    for k in range(count // 6):
        (s,) = m.reduce(f"s{k}", ReduceKind.SUM, [x], lambda v: m.op(Op.MUL, v, v), [1])
        r = m.pointwise(f"r{k}", [s], lambda v: m.op(Op.RSQRT, v))
        y = m.pointwise(f"y{k}", [x, column(r), w], lambda a, b, c: m.op(Op.MUL, a, b))
        z = m.pointwise(f"z{k}", [y], lambda v: m.op(Op.TANH, v))
        (c,) = m.reduce(f"c{k}", ReduceKind.SUM, [z], lambda v: v, [0])
        x = m.pointwise(f"x{k}", [x, z], lambda a, b: m.op(Op.ADD, a, b))
        kept.append(c)
    return m.program(x, *kept)


def calls_made(work: Callable[[], object]) -> int:
    """How many functions ``work`` calls: the same on every machine, however busy it is."""
    count = 0

    def called(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_work_grows_with_the_program_not_its_square() -> None:
    calls: list[int] = []
    planned: list[int] = []
    for count in (150, 600):
        program = many_nests(count)
        calls.append(calls_made(lambda program=program: schedule(program, H100)))
        groups = schedule(program, H100).groups
        assert len(groups) <= count // 2
        plans = (plan(program, group, H100) for group in groups)
        planned.append(calls_made(partial(list, plans)))
    assert calls[1] < 5 * calls[0] and planned[1] < 5 * planned[0]
