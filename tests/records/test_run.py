"""Records: which kernels count as one."""

from __future__ import annotations

from harness.records.run import GraphRecord, KernelRecord, Machine, Run

TEXT = """import triton
SIGNATURE = {{"in_ptr0": "*{type}"}}
@triton.jit
def {name}(in_ptr0):
    {body}

def reference(args):
    return {origin}(args)
"""


def kernel(name: str, body: str = "pass", dtype: str = "fp32", origin: str = "a") -> KernelRecord:
    text = TEXT.format(name=name, body=body, type=dtype, origin=origin)
    return KernelRecord(name, "poi", 4, module=text)


def distinct(*kernels: KernelRecord) -> int:
    run = Run("r", "now", Machine("m"), "sm_90", graphs=(GraphRecord("g", kernels=kernels),))
    assert run.counts()["total"] == len(kernels)
    return run.counts()["distinct"]


def test_kernels_are_distinct_by_code_not_by_name_or_origin() -> None:
    one = kernel("triton_poi_fused_add_0")
    assert distinct(one, kernel("triton_poi_fused_mul_7", origin="b")) == 1


def test_another_body_or_type_is_another_kernel() -> None:
    one = kernel("triton_poi_fused_add_0")
    assert distinct(one, kernel("triton_poi_fused_add_0", body="return")) == 2
    assert distinct(one, kernel("triton_poi_fused_add_0", dtype="bf16")) == 2


def test_kernels_without_a_module_go_by_name() -> None:
    assert distinct(KernelRecord("a", "poi", 0), KernelRecord("b", "poi", 0)) == 2
