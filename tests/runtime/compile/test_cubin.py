"""Two cubins of one kernel: what the GPU sees of them."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.heuristics.facts import Config
from harness.runtime.compile import static
from harness.runtime.compile.disassembly import code, code_hash, sections
from harness.runtime.module import load
from harness.runtime.tune import autotune
from harness.target import H100
from tests.runtime import emitted


def compiled(text: str, config: Config | None = None) -> bytes:
    loaded = load(text)
    return bytes(static.compile_for(loaded, H100, config or loaded.configs[0]).asm["cubin"])


def test_lines_and_names_do_not_count_and_instructions_do() -> None:
    text = emitted.POINTWISE
    first = compiled(text)
    below = compiled("\n\n# further down in its file\n" + text)
    renamed = compiled(text.replace("triton_poi_fused_tanh_add_0", "triton_poi_fused_other_77"))
    assert len({hashlib.sha256(each).digest() for each in (first, below, renamed)}) == 3
    assert code_hash(first) == code_hash(below) == code_hash(renamed)
    other = compiled(text.replace("tmp0) + tmp1", "tmp0) * tmp1"))
    assert code_hash(other) != code_hash(first)
    small = compiled(text, Config((("XBLOCK", 512),), 4))
    assert code_hash(small) != code_hash(first)


def test_constants_count() -> None:
    first = compiled(emitted.POINTWISE)
    changed = bytearray(first)
    changed[_place_of(first, ".nv.constant")] ^= 1
    assert code_hash(bytes(changed)) != code_hash(first)


def _place_of(data: bytes, kind: str) -> int:
    """Where the contents of the section begin whose name begins with ``kind``."""
    (start,) = struct.unpack_from("<Q", data, 0x28)
    number = next(i for i, (name, _) in enumerate(sections(data)) if name.startswith(kind))
    place: int = struct.unpack_from("<Q", data, start + 64 * number + 24)[0]
    return place


@pytest.mark.parametrize("data", [b"", b"\x7fELF\x02", b"\x7fELF\x02" + bytes(100), b"PTX text"])
def test_what_is_no_cubin_counts_whole(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"begins with|requires|out of range"):
        code(data)
    assert code_hash(data) != code_hash(data + b"x")


def test_a_torn_cubin_is_no_cubin() -> None:
    whole = compiled(emitted.POINTWISE)
    (start,) = struct.unpack_from("<Q", whole, 0x28)
    with pytest.raises(ValueError, match="requires"):
        sections(whole[: start + 10])


def test_a_tuner_knows_a_binary_by_what_it_executes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache of tuning_cache compares these names: a line more in a module's head is no news."""
    needs = SimpleNamespace(registers=32, spills=0)
    monkeypatch.setattr(autotune.Launcher, "resources", lambda _: needs)

    def named(text: str, warps: int = 4) -> str:
        compiles = autotune.Compiler(load(text, tmp_path), H100)
        ready = compiles(Config((("XBLOCK", 1024),), warps))
        assert isinstance(ready, autotune.Ready)
        return ready.resources.artifact

    first = named(emitted.POINTWISE)
    assert named("\n\n# a line more\n" + emitted.POINTWISE) == first
    assert named(emitted.POINTWISE.replace("tmp0) + tmp1", "tmp0) * tmp1")) != first
    assert named(emitted.POINTWISE, warps=8) != first
