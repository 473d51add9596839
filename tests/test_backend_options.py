"""The backend under its name: its options, and what HARNESS_DUMP writes of every compile."""

from __future__ import annotations

import ast
import dataclasses
import errno
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.backend import Compiler, Devices, backend
from harness.errors import DumpWarning, FallbackWarning, UsageError
from harness.files import write_error
from harness.hooks import Dump
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
        ({"tuning_table": 7}, "is a file", "a file"),
        ({"tuning_table": "no/such.json"}, "is a file", "a file"),
    ],
    ids=str,
)
def test_options_that_make_no_sense(options: dict[Any, Any], match: str, expected: str) -> None:
    with pytest.raises(UsageError, match=match) as caught:
        backend(torch.fx.symbolic_trace(lambda t: t.sin()), [torch.ones(2)], options=options)
    assert expected in caught.value.expected


@pytest.mark.parametrize("name", ["fail_on_fallback", "templates"])
def test_a_switch_of_a_compiler_is_checked_as_well(name: str) -> None:
    with pytest.raises(UsageError, match=f"the option {name} is a switch"):
        Compiler(**{name: "yes"})


def test_a_mode_that_there_is_not_names_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="no such mode") as caught:
        backend(torch.fx.symbolic_trace(lambda t: t.sin()), [torch.ones(2)], mode="max-autotun")
    assert caught.value.expected.startswith("max-autotune")


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
    selected.text, selected.owner, selected.loaded = kernel.module.text, kernels, loaded
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


def _conditional(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda x: x.sin() * 2, lambda x: x.cos() * 3, (x,)) + 1


def _masked(x: torch.Tensor) -> torch.Tensor:
    return x[x > 0] * 2


@pytest.mark.parametrize(
    "function, why, bodies, between",
    [
        (
            _conditional,
            "cond: control stays on the host",
            ["true_graph_0", "false_graph_0"],
            "ops.higher_order.cond(",
        ),
        (
            _masked,
            "aten.index.Tensor: data tell the size of its result",
            [],
            "ops.aten.index.Tensor(",
        ),
    ],
)
def test_the_order_of_the_parts_of_a_graph_that_is_cut_is_written_down(
    devices: Devices,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    function: Callable[[torch.Tensor], torch.Tensor],
    why: str,
    bodies: list[str],
    between: str,
) -> None:
    """The folder of the graph has its parts' folders, by names that its host.py calls."""
    monkeypatch.setenv("HARNESS_DUMP", str(tmp_path))
    x = torch.randn(4, 6)
    x[0, 0] = 1  # what is empty is compiled in a folder of its own
    run = torch.compile(function, backend=Compiler(devices=devices))
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        torch.testing.assert_close(run(x), function(x))
    (folder,) = tmp_path.iterdir()
    text = (folder / "host.py").read_text()
    assert text.startswith("# parts are compiled") and f"# {why}\n" in text.partition("class")[0]
    parts = sorted(path for path in folder.iterdir() if path.is_dir())
    names = [*bodies, "submod_0", "submod_2"]
    assert [p.name.split("_inference_")[-1] for p in parts] == names
    assert all((part / "order.txt").read_text().startswith("launch ") for part in parts)
    calls = [text.index(f"self.submod_{n}(") for n in range(3)]
    assert calls == sorted(calls) and all(f"self.{body}" in text for body in bodies)
    assert between in text.partition("class submod_1")[2]


def test_a_graph_that_torch_runs_is_written_down_with_why(
    devices: Devices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that cannot be traced, and one that cannot be compiled, sizes of which vary or not."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no graph today")

    monkeypatch.setenv("HARNESS_DUMP", str(tmp_path))
    x = torch.randn(4, 6, requires_grad=True)
    heaviside = torch.compile(
        lambda x: torch.heaviside(x, x * 2), backend=Compiler(devices=devices)
    )
    with pytest.warns(FallbackWarning), pytest.raises(RuntimeError, match="not implemented"):
        heaviside(x).sum().backward()
    monkeypatch.setattr("harness.backend.compile_graph", broken)
    sine = torch.compile(torch.sin, backend=Compiler(devices=devices), dynamic=True)
    with pytest.warns(FallbackWarning):
        assert torch.equal(sine(x.detach()), x.detach().sin())
    texts = [(path / "host.py").read_text() for path in sorted(tmp_path.iterdir())]
    assert [text.split(": ")[0] for text in texts] == [
        "# torch runs a whole graph",
        "# sizes are compiled one by one, in other folders",
        "# torch runs a whole graph",
    ]
    assert "heaviside is not implemented\nclass" in texts[0] and "torch.heaviside(" in texts[0]
    assert all("no graph today\nclass" in t and "aten.sin.default(" in t for t in texts[1:])


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
    dump, names = Dump(tmp_path), ["0000-graph", "0001-graph"]
    assert [dump.within("graph").folder for _ in names] == [tmp_path / name for name in names]
    monkeypatch.setattr(Path, "glob", lambda *_: [])
    assert dump.within("graph").folder == tmp_path / "0002-graph"


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
