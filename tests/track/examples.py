"""Runs for tests: every field is set to something that is not its default."""

from __future__ import annotations

import dataclasses

from harness.bench.record import Check, GraphRecord, KernelRecord, LibraryCall, Machine, Run

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
    registers=32,
    spills=2,
    stack=8,
    shared=1024,
    instructions=345,
    widest_load=128,
    widest_store=64,
    check=Check.PASSED,
    check_note="interpreter, small sizes",
    max_error=1.5e-7,
    allowed=1e-5,
    config={"XBLOCK": 1, "num_warps": 8},
    ms=0.0125,
    gbps=2500.5,
    fraction=0.83,
    samples_ms=(0.0124, 0.0125, 0.0127),
    reason="",
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
    )
    return dataclasses.replace(whole, **changes)  # type: ignore[arg-type]
