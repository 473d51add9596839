"""The timer's own kernels compile for a GPU that need not be here."""

from __future__ import annotations

from typing import Any

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from harness.measure.timer import probes

INTEGERS = {"source": "*i32", "destination": "*i32", "sums": "*i32", "seed": "i32"}
CASES: dict[str, tuple[dict[str, str], dict[str, int]]] = {
    "stamp": ({"counter": "*i32", "slots": "*i64"}, {"SIZE": probes.STAMPS}),
    "empty": ({"pointer": "*fp32"}, {}),
    "copy": ({k: INTEGERS[k] for k in ("source", "destination")}, {"BLOCK": 4096}),
    "read": ({k: INTEGERS[k] for k in ("source", "sums")}, {"BLOCK": 4096}),
    "write": ({k: INTEGERS[k] for k in ("destination", "seed")}, {"BLOCK": 4096}),
    "multiply_add": (
        {"results": "*fp32", "a": "fp32", "rounds": "i32"},
        {"WIDTH": 8, "BLOCK": 256},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_probes_compile(name: str) -> None:
    types, constants = CASES[name]
    signature = {**types, **dict.fromkeys(constants, "constexpr")}
    source: Any = ASTSource(fn=getattr(probes, name), signature=signature, constexprs=constants)
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 8})
    text = compiled.asm["ptx"]
    expected = {"stamp": "%clock64"}
    assert expected.get(name, ".entry") in text
    if name == "multiply_add":
        assert text.count("fma.rn.f32") == 16 * 8
    if name == "write":
        assert "ld.global" not in text
