"""The spin compiles for a GPU that is not there, and reads both clocks twice."""

from __future__ import annotations

import pytest
import torch


def test_the_spin_compiles_and_reads_the_clocks() -> None:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from harness.bench.calibration.spin import spin

    signature = {"tally": "*i64", "cycles": "i32", "GROUP": "constexpr"}
    source = ASTSource(spin, signature, constexprs={"GROUP": 1})
    options = {"num_warps": 1, "enable_fp_fusion": True}
    text = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options).asm["ptx"]
    lines = [line.strip() for line in text.splitlines()]
    reads = [line.split("%")[-1] for line in lines if line.startswith("mov.u64") and "%" in line]
    clocks = [read for read in reads if read in ("globaltimer;", "clock64;")]
    assert clocks == ["globaltimer;", "clock64;", "clock64;", "globaltimer;"]
    assert sum("atom" in line for line in lines) == 3


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_spin_takes_as_long_as_it_is_told() -> None:
    from harness.bench.calibration.worker import Spin

    spin = Spin(torch.device("cuda"))
    for group, ms in enumerate((0.0, 0.001, 0.01, 0.1)):
        launch = spin.after(lambda _: None, ms, group)
        for _ in range(200):
            launch([])
    none, *some = spin.truth(4)
    assert none.nanoseconds < 200
    for one, ms in zip(some, (0.001, 0.01, 0.1), strict=True):
        extra = one.nanoseconds - none.nanoseconds
        assert extra == pytest.approx(ms * 1e6, rel=0.05, abs=50)
