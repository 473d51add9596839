"""Instructions and threads of the PTX machine, against numbers known otherwise."""

from __future__ import annotations

import math
import random
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from tests.ptx import floats
from tests.ptx.machine import Launch, Unsupported
from tests.ptx.memory import Fault
from tests.ptx.parsing import parsed

_FRAME = """
.visible .entry kernel(.param .u64 p0, .param .u64 p1) .reqntid {threads} {{
  .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %d<9>;
  .shared .align 16 .b8 buffer[1024];
  ld.param.b64 %d0, [p0];
  ld.param.b64 %d1, [p1];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mad.lo.s32 %r2, %r1, {threads}, %r0;
  mad.wide.s32 %d2, %r2, 4, %d0;
  mad.wide.s32 %d3, %r2, 4, %d1;
{body}
  ret;
}}
"""


def ran(
    body: str,
    given: Any,
    threads: int = 64,
    blocks: int = 1,
    together: bool = False,
    order: Any = None,
) -> Any:
    """What ``body`` stores at ``%d3`` (a number for each thread) of numbers at ``%d2``."""
    launch = Launch(parsed(_FRAME.format(body=body, threads=threads)))
    data = np.ascontiguousarray(given)
    out = np.zeros(threads * blocks, np.uint32)
    places = [launch.memory.add(a.reshape(-1).view(np.uint8), "") for a in (data, out)]
    launch.run((blocks, 1, 1), [struct.pack("Q", at) for at in places], together, order)
    return out


def numbers(count: int, seed: int) -> np.ndarray[Any, Any]:
    """Any bits of float32 that are finite, many of like size."""
    rng = np.random.default_rng(seed)
    found = rng.integers(0, 1 << 32, count, np.uint32).view(np.float32)
    near = rng.standard_normal(count).astype(np.float32)
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(found) & (rng.random(count) < 0.5), found, near)


def exactly(value: Fraction, mode: str) -> float:
    """A number rounded to float32 once."""
    if not value:
        return 0.0
    shift = max(math.frexp(float(abs(value)))[1] - 24, -149) if abs(value) > 2**-1000 else -149
    scaled = value / Fraction(2) ** shift
    whole = {"rn": round, "rz": math.trunc, "rm": math.floor, "rp": math.ceil}[mode](scaled)
    made = whole * Fraction(2) ** shift
    return math.copysign(math.inf, made) if abs(made) >= 2**128 else float(made)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.filterwarnings("ignore:overflow")
def test_products_and_sums_are_rounded_once(mode: str) -> None:
    a, b, c = (numbers(500, seed) for seed in range(3))
    c[:200] = -a[:200].astype(np.float64) * b[:200] * (1 + np.float32(1e-7))
    c = np.where(np.isfinite(c), c, 1).astype(np.float32)
    wide = [x.astype(np.float64) for x in (a, b, c)]
    found = floats.fused(*wide, "f32", mode).view(np.float32)
    sums = floats.sum_of(wide[0], wide[2], "f32", mode).view(np.float32)
    for n in range(500):
        x, y, z = (Fraction(float(v[n])) for v in (a, b, c))
        most = float(np.finfo(np.float32).max)
        for got, exact in ((found[n], x * y + z), (sums[n], x + z)):
            wanted = exactly(exact, mode)
            assert got == wanted or (math.isinf(wanted) and mode != "rn" and abs(got) >= most)


def test_two_numbers_at_once_and_mixed_sizes() -> None:
    """What compute capability 10.0 has."""
    a = numbers(64, 7)
    body = """ld.global.f32 %r3, [%d2];
    mov.b64 %d4, {%r3, 0f40400000}; mov.b64 %d5, {0f3F000000, %r3};
    fma.rn.f32x2 %d6, %d4, %d5, %d4; mov.b64 {%r4, %r5}, %d6; SECOND st.global.f32 [%d3], RESULT;"""
    mixed = "cvt.rn.bf16.f32 %h1, %r3; sub.rn.f32.bf16 %r6, %h1, %r3;"
    with np.errstate(all="ignore"):
        halves = [a.astype(np.float64) * 0.5 + a, a.astype(np.float64) * 3 + 3]
        near = torch.from_numpy(a).bfloat16().float().numpy() - a
        for second, result, wanted in (
            ("", "%r4", halves[0]),
            ("", "%r5", halves[1]),
            (mixed, "%r6", near),
        ):
            found = ran(body.replace("SECOND", second).replace("RESULT", result), a)
            assert np.array_equal(found.view(np.float32), wanted.astype(np.float32), equal_nan=True)


def test_integers_like_python() -> None:
    rng = random.Random(3)
    some = [
        rng.choice((0, 1, -1, 2**31 - 1, -(2**31), rng.getrandbits(32) - 2**31)) for _ in range(64)
    ]
    given = np.array(some, np.int64).astype(np.uint32)
    value = [n if n < 2**31 else n - 2**32 for n in given.tolist()]
    load = "ld.global.b32 %r3, [%d2];\n"
    cases = {
        "mul.hi.s32 %r4, %r3, -77777": [n * -77777 >> 32 for n in value],
        "shr.s32 %r4, %r3, 40": [-(n < 0) for n in value],
        "shr.u32 %r4, %r3, 40": [0] * 64,
        "bfe.s32 %r4, %r3, 5, 7": [((n >> 5 & 127) ^ 64) - 64 for n in value],
        "bfe.u32 %r4, %r3, 5, 7": [n >> 5 & 127 for n in value],
        "bfi.b32 %r4, %r3, 0, 4, 8": [(n & 255) << 4 for n in value],
        "prmt.b32 %r4, %r3, 0, 0x0123": [
            int.from_bytes((n & 2**32 - 1).to_bytes(4, "little"), "big") for n in value
        ],
        "div.s32 %r4, %r3, 7": [int(Fraction(n, 7)) for n in value],
        "rem.s32 %r4, %r3, -7": [int(math.fmod(n, 7)) for n in value],
        "shf.l.wrap.b32 %r4, %r3, %r3, 9": [(n << 9) | (n & 2**32 - 1) >> 23 for n in value],
        "popc.b32 %r4, %r3": [(n & 2**32 - 1).bit_count() for n in value],
        "clz.b32 %r4, %r3": [32 - (n & 2**32 - 1).bit_length() for n in value],
        "brev.b32 %r4, %r3": [int(f"{n & 2**32 - 1:032b}"[::-1], 2) for n in value],
        "lop3.b32 %r4, %r3, 255, %r0, 0xEA": [(n & 255) | t for t, n in enumerate(value)],
        "cvt.s32.s8 %r4, %r3": [((n & 255) ^ 128) - 128 for n in value],
        "max.u32 %r4, %r3, 9": [max(n & 2**32 - 1, 9) for n in value],
    }  # fmt: skip
    for line, wanted in cases.items():
        found = ran(f"{load}{line};\nst.global.b32 [%d3], %r4;", given)
        assert found.tolist() == [n & 2**32 - 1 for n in wanted], line


def test_the_largest_of_a_warp() -> None:
    """What compute capability 10.0 has for float32; without a sign zero is larger."""
    given = np.tile(np.array([-0.0, -1.0], np.float32), 32)
    given[9], given[40] = 0.0, np.nan
    for modes, wanted in (("max", [0.0, -0.0]), ("min", [-1.0, -1.0]), ("max.NaN", [0.0, np.nan])):
        body = f"ld.global.f32 %r3, [%d2]; redux.sync.{modes}.f32 %r4, %r3, -1;"
        found = ran(body + "st.global.f32 [%d3], %r4;", given).view(np.float32)
        want = np.repeat(np.array(wanted, np.float32), 32)
        assert np.array_equal(found, want, equal_nan=True)
        assert (np.signbit(found) == np.signbit(want))[~np.isnan(want)].all()


def test_the_largest_of_three() -> None:
    given = numbers(64, 13)
    given[5] = np.nan
    body = "ld.global.f32 %r3, [%d2]; HOW.f32 %r4, 0f3F000000, %r3, 0fBF800000;"
    for how, wanted in (("max.NaN", np.maximum(given, 0.5)), ("min", np.fmin(given, -1))):
        found = ran(body.replace("HOW", how) + "st.global.f32 [%d3], %r4;", given)
        assert np.array_equal(found.view(np.float32), wanted.astype(np.float32), equal_nan=True)


def test_numbers_of_eight_bits() -> None:
    given = numbers(64, 11)
    body = """ld.global.f32 %r3, [%d2]; cvt.rn.satfinite.KIND.f32 %h1, %r3, 0f3F800000;
    cvt.rn.f16x2.KIND %r4, %h1; st.global.b32 [%d3], %r4;"""
    for kind, wanted in (("e4m3x2", torch.float8_e4m3fn), ("e5m2x2", torch.float8_e5m2)):
        most = torch.finfo(wanted).max
        near = torch.from_numpy(given).clamp(-most, most).to(wanted).half().numpy()
        found = ran(body.replace("KIND", kind), given).view(np.float16).reshape(-1, 2)
        assert np.array_equal(found[:, 1], near)
        assert (found[:, 0] == 1).all()


def test_addresses_of_parameters() -> None:
    """One of two arguments, by thread."""
    body = """
  and.b32 %r3, %r0, 1; setp.eq.b32 %p1, %r3, 1; mov.b32 %r4, p0; mov.b32 %r5, p1;
  selp.b32 %r6, %r4, %r5, %p1; ld.param.b64 %d4, [%r6]; ld.param.b32 %r8, [%r6+4];
  setp.eq.s64 %p2, %d4, %d0; selp.b32 %r7, 1, 0, %p2; mad.lo.s32 %r7, %r8, 2, %r7;
  st.global.b32 [%d3], %r7;"""
    upper = [2 << 12, 1 << 12]  # of the addresses of the second array and the first
    found = ran(body, np.zeros(64, np.uint32))
    assert found.tolist() == [2 * upper[n % 2] + n % 2 for n in range(64)]


def test_threads_part_and_meet_again() -> None:
    """Each adds up to its own number in a loop, half of them by another branch."""
    body = """
  and.b32 %r5, %r0, 1; setp.eq.b32 %p1, %r5, 1;
  mov.b32 %r3, 0; mov.b32 %r4, 0;
  @%p1 bra $odd;
$loop: setp.ge.s32 %p2, %r3, %r0; @%p2 bra $done;
  add.s32 %r3, %r3, 1; add.s32 %r4, %r4, %r3; bra $loop;
$odd: mov.b32 %r4, 7;
$done: shfl.sync.bfly.b32 %r6, %r4, 1, 31, -1;
  st.global.b32 [%d3], %r6;"""
    found = ran(body, np.zeros(64, np.uint32)).reshape(-1, 2)
    assert found.tolist() == [[7, n * (n + 1) // 2] for n in range(0, 64, 2)]


def test_who_comes_late_is_waited_for() -> None:
    """A block's barrier and what its warps write before it, one of them later than the other."""
    body = """
  shl.b32 %r3, %r0, 2; mov.u32 %r4, buffer; add.s32 %r3, %r3, %r4;
  setp.lt.u32 %p1, %r0, 32; @%p1 bra $write;
  mov.b32 %r5, 0;
$loop: add.s32 %r5, %r5, 1; setp.lt.s32 %p2, %r5, 100; @%p2 bra $loop;
$write: st.shared.b32 [%r3], %r2; bar.sync 0;
  xor.b32 %r6, %r3, 128; ld.shared.b32 %r7, [%r6];
  st.global.b32 [%d3], %r7;"""
    found = ran(body, np.zeros(192, np.uint32), blocks=3)
    assert found.tolist() == [n ^ 32 for n in range(192)]


def test_a_barrier_that_lacks_is_found_in_some_order() -> None:
    body = """
  shl.b32 %r3, %r0, 2; mov.u32 %r4, buffer; add.s32 %r3, %r3, %r4;
  st.shared.b32 [%r3], %r2; {} xor.b32 %r6, %r3, 128; ld.shared.b32 %r7, [%r6];
  st.global.b32 [%d3], %r7;"""
    wanted, given = [n ^ 32 for n in range(192)], np.zeros(192, np.uint32)
    for barrier in ("", "bar.sync 0;"):
        found = [
            ran(body.format(barrier), given, blocks=3, order=random.Random(n)).tolist() == wanted
            for n in range(20)
        ]
        assert all(found) == bool(barrier)
        assert ran(body.format(barrier), given, blocks=3).tolist() == wanted


def test_programs_that_wait_for_each_other() -> None:
    """Each block waits until the one behind it has written: the last one runs first."""
    body = """
  setp.eq.b32 %p1, %r1, 3; @%p1 bra $last;
$spin: ld.global.acquire.gpu.b32 %r3, [%d3+256]; setp.eq.b32 %p2, %r3, 0; @%p2 bra $spin;
  bra $write;
$last: mov.b32 %r3, 1;
$write: shl.b32 %r4, %r3, 1; st.global.release.gpu.b32 [%d3], %r4;"""
    for order in (None, *map(random.Random, range(9))):
        found = ran(body, np.zeros(1, np.uint32), blocks=4, together=True, order=order)
        assert found.reshape(4, 64)[:, 0].tolist() == [16, 8, 4, 2]


def test_atomic_operations_take_turns() -> None:
    body = (
        "mov.b32 %r3, 2; atom.global.gpu.relaxed.add.u32 %r4, [%d0], %r3; st.global.b32 [%d3], %r4;"
    )
    total = np.zeros(1, np.uint32)
    found = ran(body, total, blocks=2)
    assert sorted(found.tolist()) == list(range(0, 256, 2))
    assert total[0] == 256


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("add.s64 %d4, %d2, 4; ld.global.b32 %r3, [%d4];", "byte 256"),
        ("ld.global.b32 %r3, [%d2+2];", "multiple of 4"),
        ("ld.shared.b32 %r3, [buffer+1024];", "byte 1024 of 1024"),
        ("$l: bra $l;", "without an end"),
        ("call.uni __assertfail, (%d0);", "__assertfail"),
        ("setp.eq.b32 %p1, %r0, 0; @%p1 bra $on; bar.sync 0; bar.sync 0;\n$on: setp.eq.b32 %p1, "
         "%r0, 0; @%p1 ld.global.b32 %r3, [%d2+-4];", "in no argument|byte"),
    ],
)  # fmt: skip
def test_what_a_gpu_would_stop_at_or_ruin(body: str, told: str) -> None:
    with pytest.raises(Fault, match=told):
        ran(body, np.zeros(64, np.uint32))


def test_what_a_vector_holds_behind_an_argument_is_no_number() -> None:
    """A GPU loads it: it is on the page of what the vector begins with."""
    given = np.arange(1, 62, dtype=np.uint32)  # the sixteenth vector holds one number
    body = """
  shr.u32 %r3, %r0, 2; mad.wide.u32 %d4, %r3, 16, %d0; and.b32 %r8, %r0, 3;
  LOAD
  setp.eq.b32 %p1, %r8, 1; selp.b32 %r4, %r5, %r4, %p1;
  setp.eq.b32 %p1, %r8, 2; selp.b32 %r4, %r6, %r4, %p1;
  setp.eq.b32 %p1, %r8, 3; selp.b32 %r4, %r7, %r4, %p1;
  st.global.b32 [%d3], %r4;"""
    shared = """mov.u32 %r9, buffer; mad.lo.s32 %r9, %r3, 16, %r9;
  cp.async.cg.shared.global [%r9], [%d4], 0x10; ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r9];"""
    for load in ("ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%d4];", shared):
        found = ran(body.replace("LOAD", load), given)
        assert found.tolist() == [*given.tolist(), *3 * (0xFFFFFFFF,)]
    halves = np.arange(127, dtype=np.uint16)
    found = ran("ld.global.b32 %r3, [%d2]; st.global.b32 [%d3], %r3;", halves)
    assert found[-2:].tolist() == [124 | 125 << 16, 126 | 0xFFFF << 16]


def test_what_nothing_set_is_no_number() -> None:
    body = "st.global.b32 [%d3], %r9; ld.shared.b32 %r3, [buffer]; setp.eq.b32 %p1, %r0, 1;"
    body += "@%p1 st.global.b32 [%d3], %r3;"
    found = ran(body, np.zeros(64, np.uint32))
    assert np.isnan(found.view(np.float32)).all()


def test_what_is_not_known_is_named() -> None:
    with pytest.raises(Unsupported, match="wgmma"):
        ran("wgmma.fence.sync.aligned;", np.zeros(64, np.uint32))
