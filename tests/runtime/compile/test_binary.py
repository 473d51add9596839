"""Saved kernels: what is written is what is read, and nothing else is taken for one."""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import CompileFailed, DamagedBinary
from harness.graph.text import loads
from harness.heuristics.facts import Config
from harness.runtime.compile import binary as binaries
from harness.runtime.compile.binary import KernelBinary
from harness.runtime.compile.static import compiled_binary
from harness.runtime.module import config_from_dict, load
from harness.target import A100, H100, H200
from tests.codegen.kernels import modules
from tests.runtime import emitted

SMALL = KernelBinary(
    name="triton_poi_fused_add_0",
    backend="cuda",
    capability=90,
    warp_size=32,
    num_warps=4,
    shared=16,
    cooperative=False,
    grid=(3, 2, 1),
    config=(("XBLOCK", 128), ("num_warps", 4), ("num_stages", 1)),
    signature=(("in_ptr0", "*bf16"), ("n", "i32"), ("scale", "fp32"), ("out_ptr0", "*fp32")),
    aligned=("in_ptr0",),
    source="0" * 32,
    triton="3.9.0",
    cubin=b"\x7fELF and so on",
)


@pytest.fixture(scope="module")
def real() -> KernelBinary:
    loaded = load(emitted.ROW_SUM)
    return compiled_binary(loaded, H100, loaded.configs[0])


def test_a_compiled_kernel_comes_back_from_its_file(real: KernelBinary, tmp_path: Path) -> None:
    where = tmp_path / "sum.kernel"
    where.write_bytes(real.to_bytes())
    found = KernelBinary.from_bytes(where.read_bytes())
    assert found == real
    assert found.cubin.startswith(b"\x7fELF")
    assert (found.name, found.threads, found.grid) == ("triton_per_fused_sum_1", 128, (10, 1, 1))
    assert found.shared > 0 and found.kinds == b"AA"
    assert config_from_dict(dict(found.config)) == load(emitted.ROW_SUM).configs[0]


def test_other_tools_can_look_into_the_file(real: KernelBinary) -> None:
    with zipfile.ZipFile(io.BytesIO(real.to_bytes())) as archive:
        facts = json.loads(archive.read("launch.json"))
        assert archive.read("kernel.cubin") == real.cubin
    assert facts["signature"] == {"in_ptr0": "*bf16", "out_ptr0": "*fp32"}
    assert facts["config"]["XBLOCK"] == 4


names = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=20)
kinds = st.sampled_from(["*fp32", "*i8", "i1", "i32", "i64", "u8", "fp32", "fp64"])


@given(
    name=names,
    num_warps=st.sampled_from([1, 2, 4, 8, 16, 32]),
    shared=st.integers(0, 1 << 18),
    grid=st.tuples(*[st.integers(1, (1 << 31) - 1)] * 3),
    config=st.dictionaries(names, st.integers(1, 1 << 20), max_size=5),
    signature=st.dictionaries(names, kinds, max_size=8),
    cubin=st.binary(max_size=300),
    cooperative=st.booleans(),
)
def test_round_trip(**fields: Any) -> None:
    fields |= {key: tuple(fields[key].items()) for key in ("config", "signature")}
    made = dataclasses.replace(SMALL, aligned=(), **fields)
    assert KernelBinary.from_bytes(made.to_bytes()) == made
    assert made.to_bytes() == KernelBinary.from_bytes(made.to_bytes()).to_bytes()


def test_how_arguments_are_passed() -> None:
    assert SMALL.kinds == b"AifP"


@given(st.data())
def test_no_damaged_file_is_read(data: st.DataObject) -> None:
    """A byte changed anywhere is found, or is one that says nothing (a date, say)."""
    whole = SMALL.to_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda b: b != whole[at]))
    changed = whole[:at] + bytes([byte]) + whole[at + 1 :]
    try:
        found = KernelBinary.from_bytes(changed)
    except DamagedBinary:
        return
    assert found == SMALL


@given(st.integers(0, len(SMALL.to_bytes()) - 1))
def test_a_torn_file_is_not_read(length: int) -> None:
    with pytest.raises(DamagedBinary):
        KernelBinary.from_bytes(SMALL.to_bytes()[:length])


def archive(facts: Any, cubin: bytes = SMALL.cubin, seal: bool = True) -> bytes:
    if seal and "sha256" in facts and cubin == SMALL.cubin:
        rest = {key: value for key, value in facts.items() if key != "sha256"}
        facts = {**rest, "sha256": binaries._digest(rest, cubin)}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("launch.json", json.dumps(facts))
        archive.writestr("kernel.cubin", cubin)
    return made.getvalue()


def facts() -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(SMALL.to_bytes())) as read:
        found: dict[str, Any] = json.loads(read.read("launch.json"))
        return found


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not an archive",
        archive([1, 2]),
        archive({}),
        archive(facts() | {"format": 99}),
        archive(facts() | {"grid": [0, 1, 1]}),
        archive(facts() | {"num_warps": 1000}),
        archive(facts() | {"shared": -1}),
        archive(facts() | {"signature": {"x": "tensordesc"}}),
        archive(facts() | {"surprise": 1}),
        archive(facts(), b"another binary"),
        archive(facts() | {"grid": [9, 1, 1]}, seal=False),
    ],
    ids=[
        "empty",
        "text",
        "a list",
        "no facts",
        "format",
        "grid",
        "warps",
        "shared",
        "signature",
        "surprise",
        "binary",
        "another grid",
    ],
)
def test_a_foreign_file_is_an_error_that_says_where(data: bytes) -> None:
    with pytest.raises(DamagedBinary, match=r"x\.kernel.*not a saved kernel"):
        KernelBinary.from_bytes(data, "x.kernel")


def test_a_damaged_cache_entry_is_a_warning_and_compiled_again(
    real: KernelBinary, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    loaded = load(emitted.ROW_SUM)
    name = binaries.artifact(loaded.text, loaded.configs[0], H100)
    assert binaries.find(tmp_path, name) is None and not caplog.text
    where = binaries.path(tmp_path, name)
    where.parent.mkdir(parents=True)
    where.write_bytes(real.to_bytes()[:100])
    again = compiled_binary(loaded, H100, loaded.configs[0], cache=tmp_path)
    # The cubin names the folder of the module's file.
    assert dataclasses.replace(again, cubin=real.cubin) == real
    assert "damaged" in caplog.text
    assert binaries.find(tmp_path, name) == again


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(
    real: KernelBinary, tmp_path: Path
) -> None:
    loaded = load(emitted.ROW_SUM)
    (tmp_path / "binaries").write_text("in the way")
    found = compiled_binary(loaded, H100, loaded.configs[0], cache=tmp_path)
    assert dataclasses.replace(found, cubin=real.cubin) == real
    name = binaries.artifact(loaded.text, loaded.configs[0], H100)
    assert binaries.find(tmp_path, name) is None


def test_what_decides_a_binary_is_in_its_name() -> None:
    config = Config((("XBLOCK", 64),), 4, 1)
    name = binaries.artifact("text", config, H100)
    assert len(name) == 40 and name == binaries.artifact("text", config, H200)
    others = [
        binaries.artifact("text ", config, H100),
        binaries.artifact("text", Config((("XBLOCK", 64),), 8, 1), H100),
        binaries.artifact("text", Config((("XBLOCK", 32),), 4, 1), H100),
        binaries.artifact("text", config, A100),
        binaries.artifact("text", config, H100, ["in_ptr0"]),
    ]
    assert len({name, *others}) == 6


def test_generated_kernels_that_execute_the_same_share_a_binary() -> None:
    graph = (
        '# harness graph 1\ndef {name}(\n    x: "f32[{size}]",\n):\n    y: "f32[{size}]" = '
        "aten.{op}.default(x)\n    return (y,)\n"
    )

    def name(of: str, op: str = "tanh", size: int = 2000, edit: str = "") -> str:
        text = loads(graph.format(name=of, op=op, size=size), "test graph")
        (module,) = modules(text)
        where = module.text.replace("tl.store(", edit + "tl.store(", 1) if edit else module.text
        return binaries.artifact(where, Config((("XBLOCK", 64),), 4, 1), H100)

    assert name("one") == name("other")
    others = [name("one", "sin"), name("one", size=2016)]
    # By hand: what it says of itself holds no more.
    others += [name("one", edit="tl.debug_barrier(); ")]
    assert len({name("one"), *others}) == 4
    config = Config((("XBLOCK", 64),), 4, 1)
    by_hand = [
        binaries.artifact(f"{one}{emitted.POINTWISE}", config, H100) for one in ("", "A = 1\n")
    ]
    assert len(set(by_hand)) == 2


@pytest.mark.parametrize(
    ("asked", "kind", "why"),
    [
        ({"global_scratch_size": 64}, "*fp32", "scratch memory"),
        ({"num_ctas": 2}, "*fp32", "clusters"),
        ({}, "tensordesc<fp32>", "neither addresses nor numbers"),
    ],
)
def test_what_needs_tritons_own_launcher_says_so(
    asked: dict[str, int], kind: str, why: str
) -> None:
    loaded: Any = SimpleNamespace(name="k", signature={"x": kind})
    compiled = SimpleNamespace(metadata=SimpleNamespace(target=None, **asked))
    with pytest.raises(CompileFailed, match=why):
        binaries.of_compiled(compiled, loaded, Config((), 4, 1), ())
