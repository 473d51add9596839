"""Loading emitted modules: what runs is the text that was asked for."""

from __future__ import annotations

import importlib.util
import py_compile
from pathlib import Path

import pytest
import torch

from harness.errors import CompileFailed, RecordError
from harness.graph.text import loads
from harness.pipeline import compile_graph
from harness.runtime import module as modules
from harness.target import find_target
from suites.building.holding import _Alive
from tests.runtime import emitted

LONG = """# harness graph 1
def g(
    a: "bf16[64, 512]",
    b: "bf16[512]",
):
    c: "bf16[64, 512]" = aten.mul.Tensor(a, 2)
    d: "bf16[64, 512]" = aten.exp.default(c)
    e: "bf16[64, 512]" = aten.add.Tensor(d, b)
    f: "bf16[64, 512]" = aten.tanh.default(e)
    g: "bf16[64, 512]" = aten.sub.Tensor(f, 3)
    h: "bf16[64, 512]" = aten.mul.Tensor(g, b)
    i: "bf16[64, 512]" = aten.sub.Tensor(h, f)
    return (i,)
"""


def compiled_file(path: Path) -> Path:
    return Path(importlib.util.cache_from_source(str(path)))


def test_a_planted_compiled_file_is_not_executed(tmp_path: Path) -> None:
    path = modules.load(emitted.POINTWISE, tmp_path).path
    other = tmp_path / "other.py"
    other.write_text(f"raise SystemExit('planted')\n{emitted.POINTWISE}")
    planted = compiled_file(path)
    planted.parent.mkdir(exist_ok=True)
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH  # Python runs it without looking at both
    py_compile.compile(str(other), str(planted), invalidation_mode=mode)
    assert modules.load(emitted.POINTWISE, tmp_path).name == "triton_poi_fused_tanh_add_0"


def test_a_torn_compiled_file_fails_nothing(tmp_path: Path) -> None:
    path = modules.load(emitted.POINTWISE, tmp_path).path
    planted = compiled_file(path)
    planted.parent.mkdir(exist_ok=True)
    py_compile.compile(str(path), str(planted))
    planted.write_bytes(planted.read_bytes()[:100])
    assert modules.load(emitted.POINTWISE, tmp_path).configs


def test_a_file_with_another_text_is_written_again(tmp_path: Path) -> None:
    path = modules.load(emitted.POINTWISE, tmp_path).path
    path.write_text("raise SystemExit('planted')")
    assert modules.load(emitted.POINTWISE, tmp_path).configs
    assert path.read_text() == emitted.POINTWISE


def test_what_no_launch_asks_for_is_executed_once_somebody_does(tmp_path: Path) -> None:
    later = "REACHED = reference.__code__.co_firstlineno"
    loaded = modules.load(f"{emitted.POINTWISE}\n{later}\n", tmp_path)
    assert loaded.grid(loaded.configs[0])
    assert not vars(loaded.raw).keys() & {"reference", "call", "check", "REACHED"}
    assert not hasattr(loaded.raw, "members")
    line = emitted.POINTWISE.split("\n").index("def reference(args, wide=False):") + 1
    assert line == loaded.raw.REACHED  # as it stands in the file
    assert callable(vars(loaded.raw)["check"])


def test_without_a_cache_files_are_private_to_the_process() -> None:
    folder = modules.load(emitted.POINTWISE).path.parent
    assert folder.stat().st_mode & 0o777 == 0o700


def test_text_that_is_no_module_is_named(tmp_path: Path) -> None:
    for text, what in (("x = ", "cannot be executed"), ("x = 1", "not an emitted module")):
        with pytest.raises(CompileFailed, match=what):
            modules.load(text, tmp_path)


def test_a_folder_in_the_place_of_a_file_is_moved_aside(tmp_path: Path) -> None:
    path = modules.load(emitted.POINTWISE, tmp_path).path
    path.unlink()
    path.mkdir()
    assert modules.load(emitted.POINTWISE, tmp_path).path.read_text() == emitted.POINTWISE


def test_a_file_in_the_place_of_a_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / "modules").write_text("in the way")
    with pytest.raises(RecordError, match="a file stands where a folder should be"):
        modules.load(emitted.POINTWISE, tmp_path)


def test_a_check_gives_values_of_the_reference_back_after_their_last_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kernel,) = compile_graph(loads(LONG), find_target("sm_90")).kernels
    loaded = modules.load(kernel.module.text, tmp_path)
    args = loaded.get_args(device="cpu")
    for wide in (True, False):
        found = modules.frugal(loaded)([*args], wide)
        assert all(map(torch.equal, found, loaded.reference(args, wide)))
    wanted = loaded.reference(args)

    def launch(given: modules.Arguments) -> None:
        for place, want in zip(loaded.outputs, wanted, strict=True):
            given[place].copy_(want)

    def held() -> int:
        with _Alive() as alive:
            assert loaded.check([*args], launch=launch)["passed"]
        return alive.most

    lean = held()
    monkeypatch.setattr(modules, "frugal", lambda module: module.raw.reference)
    # Of the reference's eight values as large as the output, in float64, three at a time; what then
    # holds most are errors.
    assert held() - lean > 2 * 8 * wanted[0].numel()
