"""Runs for tests: every field is set to something that is not its default."""

from __future__ import annotations

import dataclasses

from harness.records.run import (
    Check,
    GraphRecord,
    KernelRecord,
    LibraryCall,
    Machine,
    RegionRecord,
    Run,
    StateSummary,
)
from harness.records.timing import Samples
from harness.records.trials import Origin, Trial

MACHINE = Machine(
    key="testgpu-1.2",
    cpu="processor",
    cores=2,
    memory_bytes=8 << 30,
    system="Linux x86_64",
    gpu="Test GPU",
    gpu_uuid="GPU-1234",
    driver="1.2",
    sm_clock_mhz=1980,
    memory_clock_mhz=2619,
    python="3.11.7",
    torch="2.13.0",
    triton="3.9.0",
    cuda="13.0",
)

KERNEL = KernelRecord(
    name="triton_per_fused_mul_0",
    kind="per",
    bytes=123456789012,
    launches=3,
    origins=("mul", "sum_1"),
    metrics={
        "registers": 32,
        "spills": 2,
        "stack": 8,
        "shared": 1024,
        "instructions": 345,
        "widest_load": 128,
        "widest_store": 64,
    },
    check=Check.PASSED,
    check_note="interpreter, small sizes",
    max_error=2**-23,
    allowed=2**-17,
    config={"XBLOCK": 1, "num_warps": 8},
    ms=12.5 / 1024,
    gbps=2500.5,
    fraction=0.828125,
    sets=(
        Samples(
            (12 / 1024, 12.5 / 1024, 13 / 1024), low=12 / 1024, high=13 / 1024, stopped="width"
        ),
    ),
    trials=(
        Trial(
            {"XBLOCK": 1, "num_warps": 8}, samples_ms=(12.5 / 1024, 12.6875 / 1024), registers=40
        ),
        Trial({"XBLOCK": 64, "num_warps": 8}, Origin.SCALED, reason="out of resources"),
    ),
    region="block.r0",
    roof="read",
    low=12 / 1024,
    high=13 / 1024,
    detectable=20 / 1024,
    reason="",
    mix={"float32": 200, "load_global": 4},
    module="KERNEL = 'triton_per_fused_mul_0'\n# ü\n",
)


def failed(name: str = "triton_poi_fused_add_1") -> KernelRecord:
    """A kernel that computes something else."""
    return dataclasses.replace(KERNEL, name=name, kind="poi", check=Check.FAILED, max_error=0.5)


def run(identifier: str = "20260102-030405-abcdef123456", **changes: object) -> Run:
    """A run of two graphs, one of them without kernels."""
    graphs = (
        GraphRecord(
            "block",
            (LibraryCall("aten.mm.default", 4, "a library call"),),
            (KERNEL, dataclasses.replace(KERNEL, name="triton_poi_fused_add_1", kind="poi")),
            codegen_seconds=0.25,
            regions=(
                RegionRecord("block.r0", "inductor", 20 / 1024, kernels=2, check=Check.PASSED),
            ),
        ),
        GraphRecord("broken", reason="UnsupportedOperator: no lowering"),
    )
    whole = Run(
        id=identifier,
        created="2026-01-02T03:04:05+00:00",
        machine=MACHINE,
        target="sm_90",
        suite="default",
        commit="abcdef1234567890",
        dirty=True,
        method="2",
        copy_gbps=3012.5,
        complete=True,
        graphs=graphs,
        read_gbps=3100.0,
        write_gbps=2900.0,
        fp32_tflops=50.0,
        tensor_tflops=600.0,
        processes=2,
        state=StateSummary(samples=12, sm_mhz_median=1980.0, throttled={"power cap": 1}),
    )
    return dataclasses.replace(whole, **changes)  # type: ignore[arg-type]
