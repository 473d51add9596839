"""Fused equals unfused on random programs, and the rules every kernel obeys."""

from __future__ import annotations

import random

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.decisions import UNDECIDED
from harness.ir.nodes import ReduceKind, buffers_read, buffers_written, loads, reductions
from harness.ir.ops import Op
from harness.ir.program import Program, Role
from harness.schedule.build import schedule
from harness.schedule.facts import Facts, bits
from harness.schedule.fuse import Fuser
from harness.schedule.group import FusedGroup, Schedule, SegmentKind
from harness.target import H100
from tests.schedule.programs import Maker, Tensor, assert_same, row_major

UNARY = (Op.TANH, Op.SIN, Op.ABS)
BINARY = (Op.ADD, Op.SUB, Op.MUL, Op.MAXIMUM)


def _reshaped(rng: random.Random, t: Tensor) -> Tensor:
    if t.stride != row_major(t.shape) or not t.shape:
        return t
    flat = 1
    for n in t.shape:
        flat *= n
    choices = [(flat,), *((k, flat // k) for k in range(1, flat + 1) if flat % k == 0)]
    return t.viewed(*rng.choice(choices))


def _view(rng: random.Random, t: Tensor) -> Tensor:
    if rng.random() < 0.3:
        t = _reshaped(rng, t)
    if len(t.shape) > 1 and rng.random() < 0.3:
        order = list(range(len(t.shape)))
        rng.shuffle(order)
        t = t.permuted(*order)
    return t


def _partner(rng: random.Random, t: Tensor, pool: list[Tensor]) -> Tensor | None:
    """Another tensor that broadcasts to ``t``'s shape."""
    found: list[Tensor] = []
    for other in pool:
        candidates = [other]
        if len(other.shape) == len(t.shape) - 1:
            for place in range(len(t.shape)):
                shape = (*other.shape[:place], 1, *other.shape[place:])
                stride = (*other.stride[:place], 0, *other.stride[place:])
                candidates.append(Tensor(other.name, shape, stride))
        for one in candidates:
            lead = t.shape[len(t.shape) - len(one.shape) :]
            fits = len(one.shape) <= len(t.shape)
            if fits and all(a in (1, b) for a, b in zip(one.shape, lead, strict=True)):
                found.append(one)
    return rng.choice(found) if found else None


def random_program(seed: int) -> Program:
    """A program of up to ten nests over a few small shapes."""
    rng = random.Random(seed)
    m = Maker()
    shape = tuple(rng.choice((1, 2, 3, 4, 6)) for _ in range(rng.choice((1, 2, 2, 3))))
    pool = [m.input("x", *shape), m.input("y", *shape), m.input("w", shape[-1])]
    if len(shape) > 1:
        order = list(range(len(shape)))
        rng.shuffle(order)
        stride = [0] * len(shape)
        step = 1
        for k in order:
            stride[k] = step
            step *= shape[k]
        pool.append(m.input("p", *shape, stride=stride))
    inputs = len(pool)
    for number in range(rng.randint(2, 10)):
        _step(rng, m, pool, number)
    made = pool[inputs:]
    outputs = rng.sample(made, k=rng.randint(1, min(3, len(made))))
    if rng.random() < 0.3:
        _mutate(rng, m, pool, inputs)
    return m.program(*(next(p for p in pool if p.name == o.name) for o in outputs))


def _step(rng: random.Random, m: Maker, pool: list[Tensor], number: int) -> None:
    t = _view(rng, rng.choice(pool[-5:]))
    choice = rng.random()
    dims = [k for k in range(len(t.shape)) if rng.random() < 0.5] or [len(t.shape) - 1]
    if choice < 0.3 and any(t.shape[k] > 1 for k in dims if t.shape):
        kind = rng.choice((ReduceKind.SUM, ReduceKind.MAX, ReduceKind.WELFORD, ReduceKind.ARGMAX))
        components = (0, 1) if kind is ReduceKind.WELFORD else (0,)
        pool += m.reduce(f"b{number}", kind, [t], lambda a: a, dims, components)
        return
    other = _partner(rng, t, pool)
    stride = None
    if len(t.shape) == 2 and rng.random() < 0.2:
        stride = (1, t.shape[0])
    if other is None or choice < 0.5:
        op = rng.choice(UNARY)
        pool.append(m.pointwise(f"b{number}", [t], lambda a: m.op(op, a), stride=stride))
    else:
        binary = rng.choice(BINARY)
        pool.append(
            m.pointwise(f"b{number}", [t, other], lambda a, b: m.op(binary, a, b), stride=stride)
        )


def _mutate(rng: random.Random, m: Maker, pool: list[Tensor], inputs: int) -> None:
    target = rng.choice(pool[:inputs])
    sources = [t for t in pool[inputs:] if t.shape == target.shape]
    if sources:
        m.pointwise("new", [rng.choice(sources)], lambda a: a, out=target)


def assert_rules(made: Schedule) -> None:
    """Every nest once or more, internal buffers private, hazards respected."""
    names = {n.name for n in made.program.nests}
    grouped: dict[str, str] = {}
    for group in made.groups:
        for nest in group.nests:
            assert grouped.setdefault(nest.name, group.name) == group.name
    assert grouped.keys() == names
    for group in made.groups:
        for other in made.groups:
            if other is group:
                continue
            used = {b for n in other.nests for b in (*buffers_read(n), *buffers_written(n))}
            assert not used & group.internal
    assert not {b for g in made.groups for b in g.internal} & set(made.program.outputs)


def assert_points(made: Schedule) -> None:
    """Within a kernel every buffer that is written is touched at one point only, and what
    a loop reads from inside the kernel is there."""
    for group in made.groups:
        written = {b for n in group.nests for b in buffers_written(n)}
        indices: dict[str, set[sympy.Expr]] = {}
        for nest in group.nests:
            for buffer, index in (
                *((v.buffer, v.index) for v in loads(nest.stores)),
                *((s.buffer, s.index) for s in nest.stores),
            ):
                indices.setdefault(buffer, set()).add(index)
        for name in written:
            assert len(indices[name]) == 1, (name, indices[name])
        _assert_available(group)


def _assert_available(group: FusedGroup) -> None:
    closed: set[str] = set()
    for segment in group.segments:
        here: dict[str, bool] = {}
        for nest in segment.nests:
            for name in buffers_read(nest):
                if name in group.internal:
                    assert name in closed or here.get(name) is False, (name, nest.name)
            reduces = bool(reductions(nest.stores))
            here.update(dict.fromkeys(buffers_written(nest), reduces))
        for nest in segment.nests:
            if reductions(nest.stores) or segment.kind is SegmentKind.FLAT:
                closed.update(buffers_written(nest))


def assert_memory(made: Schedule) -> None:
    """What is reused in place is a temporary of an earlier kernel that no later one needs."""
    buffers = {b.name: b for b in made.program.buffers}
    for number, group in enumerate(made.groups):
        for new, old in group.in_place:
            assert buffers[old].role is Role.TEMPORARY and old not in made.program.outputs
            assert buffers[new].role is not Role.INPUT
            for later in made.groups[number + 1 :]:
                names = {b for n in later.nests for b in (*buffers_read(n), *buffers_written(n))}
                assert old not in names
        olds = [old for _, old in group.in_place]
        assert len(olds) == len(set(olds))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.integers(min_value=0, max_value=10**9))
def test_fused_equals_unfused(seed: int) -> None:
    program = random_program(seed)
    made = schedule(program, H100)
    assert_same(program, made, seed)
    assert_rules(made)
    assert_points(made)
    assert_memory(made)


def test_what_comes_before_and_after_two_kernels_does_so_of_one() -> None:
    """``p`` before ``a``, and ``k`` after ``b``, which share what they read."""
    m = Maker()
    w, x = m.input("w", 20, 20), m.input("x", 20, 20)

    def both(one: Tensor) -> tuple[Tensor, Tensor]:
        """Read at two points, it is another kernel's."""
        return one, one.permuted(1, 0)

    p = m.pointwise("p", [w], lambda v: m.op(Op.TANH, v))
    m.pointwise("a", [x, *both(p)], lambda v, *u: m.op(Op.ADD, v, m.op(Op.MUL, *u)))
    b = m.pointwise("b", [x], lambda v: m.op(Op.SIN, v))
    m.pointwise("k", both(b), lambda *v: m.op(Op.MUL, *v))
    fuser = Fuser(Facts(m.program()), UNDECIDED, H100)
    fuser.run()
    found = {n: (bits(k.before), bits(k.after)) for n, k in fuser.kernels.items()}
    assert found == {0: ([], [1, 2, 3]), 1: ([0], [3]), 3: ([0, 1, 2], [])}


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_do_fuse(seed: int) -> None:
    nests = kernels = 0
    for k in range(25):
        made = schedule(random_program(1000 * seed + k), H100)
        nests += len(made.program.nests)
        kernels += len(made.groups)
    assert kernels < 0.75 * nests
