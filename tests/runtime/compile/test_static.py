"""Static metrics: exact, cached, and failures that stay with their kernel."""

from __future__ import annotations

import re
import subprocess
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from harness.errors import CompileFailed, WorkerDied
from harness.heuristics.facts import Config
from harness.records.metrics import StaticMetrics
from harness.runtime.compile import disassembly, static
from harness.runtime.compile.cache import sealed
from harness.runtime.compile.disassembly import Binary, group, parse, width
from harness.runtime.compile.static import CompileJob, CompilePool
from harness.runtime.module import config_dict, load
from harness.target import A100, B200, H100, Target
from tests.runtime import emitted
from tests.runtime.measured import metrics


def test_pointwise_metrics_are_exact_and_wide(tmp_path: Path) -> None:
    first = metrics(emitted.POINTWISE, H100)
    second = metrics(emitted.POINTWISE, H100, cache=tmp_path)
    assert first == second
    assert (first.widest_load, first.widest_store) == (16, 16)
    assert 0 < first.registers <= 255
    assert first.spills == first.stack == 0
    assert first.instructions == sum(n for _, n in first.mix)


def test_shared_memory_of_a_block_reduction() -> None:
    found = metrics(emitted.ROW_SUM, H100)
    assert found.shared > 0
    assert dict(found.mix)["shuffle"] > 0


def binary(text: str) -> Binary:
    loaded = load(text)
    return Binary.of(static.compile_for(loaded, H100, loaded.configs[0]), loaded.name)


def test_sums_of_integers_are_compiled_without_checks() -> None:
    """Triton writes them first and drops them later: a tenth of a compilation."""
    loaded = load(emitted.POINTWISE)
    made = static.compile_for(loaded, H100, loaded.configs[0])
    assert made.metadata.sanitize_overflow is False


PADDED = '''
"""Sums of rows of n elements from the second on, and a 0."""
import torch
import triton
import triton.language as tl

KERNEL = "triton_per_fused_sum_0"; CATEGORY = "per"; BYTES = 2 * 132 * 4097
CONFIGS = [{"XBLOCK": 4, "R0_BLOCK": 256, "num_warps": 1, "num_stages": 1}]
SIGNATURE = {"in_ptr0": "*bf16", "out_ptr0": "*bf16", "ks0": "i64", "ks1": "i64"}
DIVISIBLE_BY_16 = ("in_ptr0", "out_ptr0"); OUTPUTS = (1,); KEPT = (); ALLOWED = 0.01


@triton.jit
def triton_per_fused_sum_0(
    in_ptr0, out_ptr0, ks0, ks1, XBLOCK: tl.constexpr, R0_BLOCK: tl.constexpr
):
    ks0 = tl.full([], ks0, tl.int32)
    ks1 = tl.full([], ks1, tl.int32)
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < ks1
    index = tl.arange(0, R0_BLOCK)[None, :]
    mask = (index < 128) | ((index < 160) & (index < ks0))
    inside = (index + 1).to(tl.int64) < ks0.to(tl.int64)
    row = tl.load(in_ptr0 + (index + ks0 * xindex + 1), xmask & mask & inside, other=0.0)
    total = tl.sum(tl.where(mask, row.to(tl.float32), 0.0), 1)[:, None]
    tl.store(out_ptr0 + xindex, total, xmask)


def grid(config):
    return (1025, 1, 1)


def get_args(device=None, seed=0):
    return []


def reference(args, wide=False):
    return []


def call(args, config=None):
    pass


def check(args=None, config=None):
    return {}
'''


def test_an_assembler_that_loses_what_is_added_is_asked_to_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On an H200, with the assembler of Triton 3.6, the sums had an element of the next row."""
    safe = binary(PADDED)
    assert "add.s16x2" in safe.ptx
    assert not disassembly.lacks_addend(safe)
    monkeypatch.setattr(disassembly, "lacks_addend", lambda binary: False)
    plain = binary(PADDED)
    monkeypatch.undo()
    assert disassembly.lacks_addend(plain) == bool(safe.asked)
    found = subprocess.run(
        [disassembly._assembler(90), "--version"], capture_output=True, text=True
    )
    assert bool(safe.asked) == (" release 12." in found.stdout)


@pytest.mark.parametrize(("added", "lacks"), [("0x0", True), ("0x610081", False), ("R7", False)])
def test_a_sum_of_halves_with_nothing_added_is_told(
    added: str, lacks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an assembler before version 13 makes of it, told from the machine code alone."""
    whole = binary(PADDED)
    monkeypatch.setattr(
        disassembly, "_listing", lambda *_: f"/*0000*/ VIADD.16x2 R12, R6, {added} ;"
    )
    assert disassembly.lacks_addend(whole) is lacks
    assert not disassembly.lacks_addend(replace(whole, ptx=""))


CROWDED = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry crowded(.param .u64 p)
.maxnreg 32
{
    .reg .b32 %r<65>;
    .reg .b64 %a<2>;
    ld.param.u64 %a1, [p];
LOADS
    bar.sync 0;
STORES
    ret;
}
""".replace(
    "LOADS", "\n".join(f"    ld.volatile.global.u32 %r{i}, [%a1+{4 * i}];" for i in range(64))
).replace(
    "STORES", "\n".join(f"    st.volatile.global.u32 [%a1+{4 * i}], %r{63 - i};" for i in range(64))
)
"""Holds 64 values at a time in 32 registers."""


def test_spills_are_those_the_assembler_reports() -> None:
    roomy = binary(emitted.POINTWISE)
    assert disassembly.spills(roomy) == 0
    assert disassembly.spills(replace(roomy, ptx=CROWDED)) >= 2 * 4 * (64 - 32)


@pytest.mark.parametrize("target", [A100, H100, B200])
def test_kernels_read_together_are_what_they_are_alone(target: Target) -> None:
    texts = [emitted.ROW_SUM, emitted.BROKEN, emitted.POINTWISE, emitted.ROW_SUM]
    first, broken, second, again = static.measure([CompileJob(t, target) for t in texts])
    assert isinstance(broken, CompileFailed)
    assert first == again == metrics(emitted.ROW_SUM, target)
    assert second == metrics(emitted.POINTWISE, target)


def test_kernels_of_several_targets_are_read_together() -> None:
    jobs = [CompileJob(emitted.ROW_SUM, t) for t in (H100, A100, H100)]
    first, other, again = static.measure(jobs)
    assert first == again != other == metrics(emitted.ROW_SUM, A100)


def test_a_binary_that_is_none_does_not_spoil_the_others() -> None:
    good = binary(emitted.POINTWISE)
    for damage in (b"", good.cubin[:300], b"MZ" + good.cubin[2:]):
        facts, error = disassembly.facts([good, replace(good, cubin=damage, name="damaged")])
        assert isinstance(error, CompileFailed)
        assert error.where == "damaged"
        assert facts == disassembly.facts([good])[0]


def test_cache_is_used_and_damage_ignored(tmp_path: Path) -> None:
    first = metrics(emitted.POINTWISE, H100, cache=tmp_path)
    (entry,) = (tmp_path / "static").iterdir()
    told = replace(first, registers=999)
    entry.write_bytes(sealed(asdict(told)))
    assert metrics(emitted.POINTWISE, H100, cache=tmp_path) == told
    entry.write_text(entry.read_text().replace('"registers": 999', '"registers": 99'))
    assert metrics(emitted.POINTWISE, H100, cache=tmp_path) == first, "no longer sealed"
    entry.write_text(entry.read_text()[:40])
    assert metrics(emitted.POINTWISE, H100, cache=tmp_path) == first
    assert metrics(emitted.POINTWISE, A100, cache=tmp_path) != first


def test_the_first_candidate_that_does_not_spill_is_chosen(tmp_path: Path) -> None:
    first, *rest = load(emitted.SPILLING, tmp_path).configs
    assert metrics(emitted.SPILLING, H100, first, tmp_path).spills > 128
    found = metrics(emitted.SPILLING, H100, cache=tmp_path)
    assert found.spills == 0
    assert dict(found.chosen) == config_dict(rest[0])
    assert replace(found, chosen=()) == metrics(emitted.SPILLING, H100, rest[0], tmp_path)
    assert static.untuned(emitted.SPILLING, H100, tmp_path) == rest[0]
    assert static.untuned(emitted.ROW_SUM, H100, tmp_path) is None


def test_a_candidate_that_does_not_compile_is_passed_over(tmp_path: Path) -> None:
    odd = emitted.SPILLING.replace('"XBLOCK": 32', '"XBLOCK": 33')
    with pytest.raises(CompileFailed):
        metrics(odd, H100, load(odd, tmp_path).configs[0])
    assert metrics(odd, H100).chosen


def test_who_wrote_a_kernel_by_hand_has_chosen(tmp_path: Path) -> None:
    own = re.sub(r'CATEGORY = ".*"', 'CATEGORY = "user"', emitted.SPILLING)
    found = metrics(own, H100, cache=tmp_path)
    assert found.spills > 128 and not found.chosen


def test_a_pool_answers_from_the_cache_without_a_process(tmp_path: Path) -> None:
    found = metrics(emitted.POINTWISE, H100, cache=tmp_path)
    with CompilePool(1, tmp_path) as pool:
        pool.seconds = 0.0
        far: list[tuple[int, int]] = []
        jobs = [CompileJob(emitted.POINTWISE, H100)] * 2
        assert pool.metrics(jobs, lambda *said: far.append(said)) == [found, found]
    assert far == [(1, 2), (2, 2)]


def test_failures_stay_with_their_kernel(tmp_path: Path) -> None:
    """One takes its worker along."""
    deadly = "import os, sys\nif 'pytest' not in sys.modules: os._exit(3)\n" + emitted.POINTWISE
    texts = (emitted.POINTWISE, emitted.BROKEN, deadly, emitted.ROW_SUM)
    with CompilePool(1, tmp_path) as pool:
        found = pool.metrics([CompileJob(t, H100) for t in texts])
        assert pool.all([CompileJob(emitted.POINTWISE, H100)]) == [None]
    kinds = [type(one) for one in found]
    assert kinds == [StaticMetrics, CompileFailed, WorkerDied, StaticMetrics]
    assert "no_such_function" in str(found[1])
    assert (tmp_path / "triton").is_dir()


def test_missing_block_size_is_named() -> None:
    with pytest.raises(CompileFailed, match="R0_BLOCK"):
        metrics(emitted.ROW_SUM, H100, Config((("XBLOCK", 1),), num_warps=1))


LISTING = """
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*00e0*/              @!P0 LDG.E.64 R2, desc[UR4][R4.64] ;
        /*00f0*/                   LDG.E.EL.128.CONSTANT R2, desc[UR4][R4.64] ;
        /*0100*/                   LDG.E.U16 R2, desc[UR4][R4.64] ;
        /*0110*/                   FFMA.FTZ R0, R1, R2, R3 ;
        /*0120*/              @P0 BRA 0x120;
        /*0130*/                   STL [R1], R3 ;
        /*0590*/                   STG.E.U8 desc[UR4][R2.64], R4 ;
        /*05a0*/                   EXIT ;
        /*05b0*/                   BRA 0x5b0;
        /*05c0*/                   NOP;
"""


def test_listing_is_counted_without_padding() -> None:
    found = parse(LISTING.splitlines())
    assert found.instructions == 9
    assert (found.widest_load, found.widest_store) == (16, 1)
    assert dict(found.mix) == {
        "control": 2,
        "float32": 1,
        "load_constant": 1,
        "load_global": 3,
        "store_global": 1,
        "store_local": 1,
    }


def test_groups_and_widths() -> None:
    assert group("MUFU") == "special"
    assert group("HFMA2") == "float16"
    assert group("DADD") == "float64"
    assert group("IADD3") == "integer"
    assert width(["", "E", "256"]) == 32
    assert width(["", "E", "S8"]) == 1
    assert width(["", "E"]) == 4
