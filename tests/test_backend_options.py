"""The backend under its name: its options, and what HARNESS_DUMP writes of every compile."""

from __future__ import annotations

import ast
import dataclasses
import errno
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.backend import Compiler, Devices, backend
from harness.errors import DumpWarning, UsageError
from harness.files import write_error
from harness.hooks import dump_folder
from harness.pipeline import STAGES
from harness.runtime.launch.selecting import SelectedKernel, SelectedKernels
from harness.runtime.module import config_dict
from harness.runtime.tune.autotune import CachingAutotuner, Settings
from harness.runtime.tune.search import SEARCHES
from harness.runtime.tune.tuning_cache import TABLE_FORMAT, LookupTable
from harness.target import TARGETS


@pytest.mark.parametrize(
    ("options", "match", "expected"),
    [
        ({"tuned": True}, "does not know this option", "tune"),
        ({"tune": "guidded"}, "no way to tune", "guided"),
        ({"tune": 3}, "no way to tune", "guided"),
        ({"deterministic": "yes"}, "is a switch", "True, False"),
        ({"templates": "time"}, "is a switch", "timed"),
        ({"combo_kernels": "timed"}, "is a switch", "True, False"),
        ({"assert_no_nan": 2}, "is a switch", "True, False"),
        ({3: True}, "does not know this option", "tune"),
        ({"tune": ["guided"]}, "no way to tune", "guided"),
        ({"tuning_table": 7}, "is a file", "a path"),
        ({"tuning_table": "no/such.json"}, "is a file", "a file"),
    ],
    ids=str,
)
def test_options_that_make_no_sense(options: dict[Any, Any], match: str, expected: str) -> None:
    with pytest.raises(UsageError, match=match) as caught:
        backend(torch.fx.symbolic_trace(lambda t: t.sin()), [torch.ones(2)], options=options)
    assert expected in caught.value.expected


def test_options_of_tuning_change_nothing_in_the_interpreter() -> None:
    torch.compiler.reset()
    options: dict[str, Any] = {"tune": "guided", "deterministic": True}
    x = torch.randn(4, 9)
    made = torch.compile(lambda t: t.softmax(1), backend=backend, options=options)(x)
    torch.testing.assert_close(made, x.softmax(1))


def _compiled(devices: Devices) -> Compiler:
    compiler = Compiler(devices=devices)
    torch.compiler.reset()
    torch.compile(lambda x, y: (x @ y).softmax(1) * 2, backend=compiler)(
        torch.randn(4, 6), torch.randn(6, 9)
    )
    return compiler


def test_settings_and_table_reach_the_tuner(
    devices: Devices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kernel,) = _compiled(devices).compiled[-1].kernels
    asked: list[CachingAutotuner] = []

    def tuned(self: CachingAutotuner, args: Any, timer: Any) -> Any:
        asked.append(self)
        raise torch.OutOfMemoryError("enough seen")

    monkeypatch.setattr(CachingAutotuner, "tune", tuned)
    settings = Settings(SEARCHES["guided"](), deterministic=True)
    kernels = SelectedKernels(TARGETS["sm_90"], settings=settings, cache=tmp_path)
    loaded = kernels.get(kernel.module.text).loaded
    last = loaded.configs[-1]
    path = tmp_path / "table.json"
    other = dataclasses.replace(last, num_stages=last.num_stages + 1)
    LookupTable(TABLE_FORMAT, {loaded.launch_hash: config_dict(other)}).save(path)
    kernels.table = LookupTable.load(path)
    assert kernels.candidates(loaded)[0] == other
    selected = object.__new__(SelectedKernel)
    selected.text, selected.owner, selected._loaded = kernel.module.text, kernels, loaded
    monkeypatch.setattr(SelectedKernel, "_first", lambda _self, _loaded: other)
    assert selected._tuned(loaded, []) == other
    assert asked[0].settings is settings and asked[0].table is kernels.table


def test_every_compile_is_written_down(
    devices: Devices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_DUMP", str(tmp_path / "made"))
    graph = _compiled(devices).compiled[-1]
    _compiled(devices)
    folders = sorted(path.name for path in (tmp_path / "made").iterdir())
    assert folders == ["0000-graph0_inference", "0001-graph0_inference"]
    folder = tmp_path / "made" / folders[0]
    (kernel,) = graph.kernels
    assert (folder / "kernels" / f"{kernel.name}.py").read_text() == kernel.module.text
    order = (folder / "order.txt").read_text().splitlines()
    assert order[0].startswith("call aten.mm.default for mm")
    assert order[1].startswith(f"launch {kernel.name}(mm, ")
    ast.parse((folder / "host.py").read_text())
    assert kernel.name in (folder / "host.py").read_text()
    assert "aten.mm.default" in (folder / "graph.py").read_text()
    stages = {path.stem.split("-", 1)[-1] for path in folder.rglob("*-*.*")}
    assert set(STAGES) <= stages


def test_a_folder_that_cannot_be_written_is_a_warning(
    devices: Devices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HARNESS_DUMP", str(tmp_path / "file"))
    with pytest.warns(DumpWarning, match="not all is written"):
        graph = _compiled(devices).compiled[-1]
    assert graph.kernels and not graph.failures


def test_a_full_disk_changes_nothing_of_what_is_compiled(
    devices: Devices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written(path: Path, *_: object, **__: object) -> None:
        raise write_error(path, OSError(errno.ENOSPC, "No space left on device"))

    monkeypatch.setenv("HARNESS_DUMP", str(tmp_path))
    monkeypatch.setattr("harness.hooks.write_atomically", written)
    with pytest.warns(DumpWarning, match="No space left on device; not all is written"):
        graph = _compiled(devices).compiled[-1]
    assert graph.kernels and not graph.failures


def test_processes_share_a_folder_of_dumps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one makes the next number's between the look and the making."""
    names = ["0000-graph", "0001-graph"]
    assert [dump_folder(tmp_path, "graph") for _ in names] == [tmp_path / name for name in names]
    monkeypatch.setattr("harness.hooks.os.listdir", lambda _: [])
    monkeypatch.setattr(Path, "glob", lambda *_: [])
    assert dump_folder(tmp_path, "graph") == tmp_path / "0002-graph"


def test_a_compiler_is_a_short_word() -> None:
    """torch.compile prints its backend, and kernels share values: written out they never end."""
    assert len(repr(Compiler())) < 120


def test_importing_the_backend_loads_no_statistics() -> None:
    """They take a tenth of a second, of every first call."""
    code = "import sys, harness.backend; sys.exit('scipy.special' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_launching_needs_is_built_while_a_graph_is_traced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("harness.backend.expect", seen.append)
    monkeypatch.setattr("harness.backend.compile_joint", lambda *_: seen.append("traced") or print)
    monkeypatch.setattr("harness.backend.device_of", lambda *_: torch.device("cuda", 0))
    graph = torch.fx.symbolic_trace(torch.nn.ReLU())
    Compiler(devices=Devices(cache=tmp_path))(graph, [])
    assert seen == [tmp_path, "traced"]
    monkeypatch.undo()
    monkeypatch.setattr("harness.backend.expect", seen.append)
    Devices(cache=tmp_path).expect(torch.device("cpu"))
    assert seen == [tmp_path, "traced"]
