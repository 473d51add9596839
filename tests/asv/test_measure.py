"""What one measured commit consists of, without asv."""

from __future__ import annotations

import importlib
import inspect
import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.errors import CheckFailed, CommitUnusable, CompileFailed, UnknownName
from harness.graph.text import load
from harness.heuristics.facts import Config
from harness.history.commits import export as exporter
from harness.history.commits import tree as commit_tree
from harness.measure.jobs import Timing
from harness.options import Options, current
from harness.records.run import Machine
from harness.records.timing import Samples
from harness.runtime.interpret.interpreter import CheckResult
from harness.session.cuda import CudaDevice
from suites.asv import declared
from suites.tracking import machine as asv_machine
from suites.tracking import measure as asv_measure
from suites.tracking.measure import Emitted, Wanted, open_cuda
from suites.tracking.overlay import Overlay, overlay
from tests.asv.asv_fake import FakeDevice
from tests.devices.standing_in import stand_in
from tests.measure import fake_device

MODULES = [
    Emitted("triton_a_0", "text a", 2_000_000, "poi", 2, "g/add"),
    Emitted("triton_b_1", "text b", 4_000_000, "red", 1, "g/sum"),
]


def options_in(folder: Path) -> Options:
    return Options(folder / "cache", folder / "results", folder / "suites", 1)


def kernel(name: str, *origins: str) -> dict[str, Any]:
    return {"name": name, "origins": list(origins)}


def test_a_kernel_is_known_by_the_last_node_it_computes() -> None:
    kernels = [kernel("k0", "a", "b"), kernel("k1", "c"), kernel("k2", "x", "c"), kernel("k3")]
    assert asv_measure.labels("g", kernels) == ["g/b", "g/c", "g/c+2", "g/k3"]
    renumbered = [kernel("other_7", "a", "b"), kernel("k9", "c"), kernel("k2", "x", "c")]
    assert asv_measure.labels("g", renumbered) == ["g/b", "g/c", "g/c+2"]


EMPTY_MODULE = (
    'CATEGORY = "poi"; BYTES = 4000000; SIGNATURE = {}; DIVISIBLE_BY_16 = (); OUTPUTS = ()',
    *(f"def {name}(): ..." for name in ("grid", "get_args", "call", "reference", "check")),
    "benchmark_all_configs = None",
)
CONFIG = Config((("XBLOCK", 128),), 4, 1)


class Device:
    """Times in milliseconds and clocks by name; a failed check for the name ``wrong``, an error
    in the second process for ``late``. ``calls`` counts what was asked."""

    def __init__(
        self, ms: dict[str, list[float]], clocks: dict[str, float], wrong: str = "", late: str = ""
    ) -> None:
        self.ms, self.clocks, self.wrong, self.late = ms, clocks, wrong, late
        self.process = 0
        self.calls: Counter[str] = Counter()

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def missing(self, modules: Any, given: Any) -> Any:
        return modules

    def compile(self, jobs: Any) -> None:
        assert len(jobs) == 2

    def check(self, module: Any) -> CheckResult:
        self.calls["check"] += 1
        return CheckResult(module.name != self.wrong, 0.7, 0.5)

    def time(self, module: Any, *earlier: Any) -> Any:
        self.calls["time"] += 1
        return self._timing(module.name)

    def again(self, module_text: str, config: Config, launches: int) -> Any:
        assert (config, launches) == (CONFIG, 7)
        self.calls["again"] += 1
        name = {m.text: m.name for m in MODULES}[module_text]
        if name == self.late:
            raise CompileFailed("gone")
        return self._timing(name)

    def restart(self) -> None:
        self.process += 1

    def _timing(self, name: str) -> Any:
        found = Samples(
            tuple(self.ms[name]), process=self.process, clock_mhz=self.clocks.get(name), launches=7
        )
        return Timing(CONFIG, found)


def timed(
    device: Device | str, tmp_path: Path, processes: int = 1, kept: bool = False
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    kernels: dict[str, Any] = {m.label: {} for m in MODULES}
    wanted = Wanted(("g",), samples=3, processes=processes, open_device=lambda _: device)
    checked = tmp_path / "kept" if kept else None
    notes = asv_measure._add_times(MODULES, kernels, options_in(tmp_path), wanted, checked)
    exported = {"reason": "", "library_calls": 1, "failures": []}
    return kernels, asv_measure._graph_row(exported, MODULES, kernels), notes


def test_every_process_adds_its_samples(tmp_path: Path) -> None:
    device = Device({"triton_a_0": [1.0], "triton_b_1": [2.0, 2.1]}, {}, late="triton_b_1")
    kernels, _, _ = timed(device, tmp_path, processes=3)
    assert len(kernels["g/add"]["seconds"]["samples"]) == 3
    assert "gone" in kernels["g/sum"]["seconds"]["failed"], "half of its processes are no result"
    assert device.process == 2
    assert device.calls == {"check": 2, "time": 2, "again": 3}


def test_the_same_text_is_checked_once_and_a_wrong_one_each_time(tmp_path: Path) -> None:
    ms = {"triton_a_0": [1.0], "triton_b_1": [2.0]}
    first, second = (Device(ms, {}, wrong="triton_b_1") for _ in range(2))
    timed(first, tmp_path, kept=True)
    kernels, _, _ = timed(second, tmp_path, kept=True)
    assert first.calls == {"check": 2, "time": 1}
    assert second.calls == {"check": 1, "time": 1}
    assert "failed" in kernels["g/sum"]["seconds"]


@pytest.mark.parametrize("fake", [Device, FakeDevice])
def test_fakes_are_called_as_the_real_device_is(fake: type) -> None:
    for name in ("missing", "compile", "check", "time", "again", "restart"):
        real = list(inspect.signature(getattr(CudaDevice, name)).parameters)
        assert list(inspect.signature(getattr(fake, name)).parameters) == real, name


def test_the_real_device_goes_the_whole_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker process is a fake one; everything on this side of it is what a GPU gets."""
    stand_in(monkeypatch, fake_device.HANDLERS)
    text = "\n".join(('KERNEL = "k"', "CONFIGS = []", "def k(): ...", *EMPTY_MODULE))
    modules = [Emitted("k", text, 4_000_000, "poi", 1, "g/a")]
    kernels: dict[str, Any] = {"g/a": {}}
    (tmp_path / "cache").mkdir()
    device = CudaDevice(tmp_path / "cache", 1)
    wanted = Wanted(("g",), processes=2, open_device=lambda _: device)
    notes = asv_measure._add_times(modules, kernels, options_in(tmp_path), wanted, None)
    assert notes == []
    assert kernels["g/a"]["seconds"]["samples"] == pytest.approx([2e-6] * 6), "two processes"
    assert kernels["g/a"]["gbps"]["samples"] == pytest.approx([2000] * 6)
    assert (tmp_path / "cache" / "taken").read_text() == "xx"


def test_a_graph_is_the_sum_of_its_launches(tmp_path: Path) -> None:
    device = Device({"triton_a_0": [1.0, 1.2], "triton_b_1": [2.0, 2.0, 2.6, 9.0]}, {})
    kernels, graph, notes = timed(device, tmp_path)
    assert notes == []
    assert kernels["g/sum"]["seconds"]["samples"] == pytest.approx([0.002, 0.002, 0.0026])
    assert kernels["g/sum"]["gbps"]["samples"][0] == pytest.approx(2.0)
    # 2 × a + b, a's two samples gone round
    assert graph["seconds"]["samples"] == pytest.approx([0.004, 0.0044, 0.0046])
    assert graph["gbps"]["samples"][0] == pytest.approx(8_000_000 / 0.004 / 1e9)
    assert (graph["launches"], graph["kernels"], graph["bytes"]) == (3, 2, 8_000_000)


def test_a_wrong_kernel_has_a_reason_instead_of_a_time(tmp_path: Path) -> None:
    device = Device({"triton_a_0": [1.0], "triton_b_1": [2.0]}, {}, wrong="triton_b_1")
    kernels, graph, _ = timed(device, tmp_path)
    assert "differs from its reference" in kernels["g/sum"]["gbps"]["failed"]
    assert "samples" in kernels["g/add"]["gbps"]
    assert "failed" in graph["seconds"], "a total without one of its kernels would look faster"
    with pytest.raises(CheckFailed, match="differs from its reference"):
        asv_measure.look_up({"kernels": kernels}, "kernels", "g/sum", "gbps")
    gone: Any = asv_measure.look_up({"kernels": kernels}, "kernels", "g/gone", "gbps")
    assert math.isnan(gone)


def test_kernels_timed_while_the_clock_was_down_are_left_out(tmp_path: Path) -> None:
    ms = {"triton_a_0": [1.0], "triton_b_1": [2.0]}
    kernels, graph, notes = timed(Device(ms, {"triton_a_0": 1980, "triton_b_1": 1700}), tmp_path)
    assert "seconds" in kernels["g/add"] and "seconds" not in kernels["g/sum"]
    assert "seconds" not in graph
    assert "fell from 1980 to 1700 MHz during the run: 1 of 2 kernels" in notes[0]
    _, graph, notes = timed(Device(ms, {"triton_a_0": 1980, "triton_b_1": 1965}), tmp_path)
    assert (notes, "seconds" in graph) == ([], True)


def test_no_device_is_a_note(tmp_path: Path) -> None:
    kernels, graph, notes = timed("there is no GPU", tmp_path)
    assert notes == ["times and GB/s are left out (n/a): there is no GPU"]
    assert "seconds" not in graph and kernels["g/add"] == {}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_opening_it_says_why(tmp_path: Path) -> None:
    assert str(open_cuda(options_in(tmp_path))).startswith("a GPU is needed and none can be used (")


def test_a_graph_that_the_suite_does_not_declare_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_ASV_GRAPHS", "gpt2_forward, lama_forward")
    with pytest.raises(UnknownName, match="llama_forward"):
        asv_measure.chosen_graphs(Wanted(("llama_forward", "gpt2_forward")))


def test_a_query_declares_patterns_of_the_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_ASV_QUERY", "kind=scatter nodes<30 sample=3 seed=1")
    wanted = importlib.reload(declared).WANTED
    assert "adamw_step" in wanted.graphs
    chosen = asv_measure.chosen_graphs(wanted)
    assert len(chosen) == 3 and wanted.graphs[-3:] == chosen
    found = asv_measure.graph_files(current(), chosen)
    assert [load(path).name for path in found.values()] == list(chosen)
    monkeypatch.setenv("HARNESS_ASV_GRAPHS", "adamw_step")
    assert asv_measure.chosen_graphs(wanted) == ("adamw_step",)
    monkeypatch.setenv("HARNESS_ASV_QUERY", "kind=scater")
    with pytest.raises(UnknownName, match="kind: scatter"):
        importlib.reload(declared)


def test_only_what_is_asked_for_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []
    for part in ("_add_static", "_add_times", "_add_code_generation"):
        monkeypatch.setattr(asv_measure, part, lambda *_, part=part: done.append(part) or [])
    graph = {"kernels": [], "library_calls": 0, "failures": [], "reason": ""}
    exported = tmp_path / "exported.json"
    exported.write_text(json.dumps({"error": "", "graphs": {"g": graph}}))
    whole = Overlay("/a", "/b", "sm_90", "m/1", exported=str(exported))
    expected = {
        (): ["_add_static", "_add_times", "_add_code_generation"],
        ("gbps",): ["_add_times"],
        ("num_warps", "registers"): ["_add_static", "_add_times"],
        ("codegen_seconds",): ["_add_code_generation"],
        ("launches", "bytes"): [],
    }
    for metrics, parts in expected.items():
        done.clear()
        asked = replace(whole, metrics=metrics)
        found = asv_measure.collect(asked, options_in(tmp_path), Wanted(("g",)))
        assert done == parts, metrics
        assert found["graphs"]["g"]["launches"] == 0
    assert "harness took: 0.0 s for 0 kernels: nothing but counted" in capsys.readouterr().out


def test_the_configuration_that_was_timed_is_tracked(tmp_path: Path) -> None:
    kernels, _, _ = timed(Device({"triton_a_0": [1.0], "triton_b_1": [2.0]}, {}), tmp_path)
    row = kernels["g/add"]
    assert (row["XBLOCK"], row["num_warps"], row["num_stages"]) == (128, 4, 1)
    assert "YBLOCK" not in row


def test_the_overlay_survives_the_environment() -> None:
    given = Overlay(
        "/a", "/b c", "sm_90", "m/1", "h100-1", ("/site",), "abc", "/tree", "/out.json", ("ms",)
    )
    assert overlay(given.to_environment()) == given
    assert overlay({}) is None


def test_a_commit_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    import subprocess

    subprocess.run(["git", "init", "-q", str(tmp_path / "r")], check=True)
    with pytest.raises(CommitUnusable, match="cannot be unpacked"):
        commit_tree.unpack(tmp_path / "r", "0" * 40, "harness", tmp_path)
    assert not (tmp_path / "tree").exists(), "nothing is half unpacked"


def test_a_compiler_that_dies_or_prints_is_told_apart(tmp_path: Path) -> None:
    package = tmp_path / "tree" / "harness"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import os\nprint('hello')\nos._exit(9)\n")
    with pytest.raises(CommitUnusable, match=r"without an answer.*exit status 9"):
        commit_tree.export(tmp_path / "tree", "abc", {}, "sm_90")
    (package / "__init__.py").write_text("")
    with pytest.raises(CommitUnusable, match=r"No module named 'harness\.pipeline'"):
        commit_tree.export(tmp_path / "tree", "abc", {}, "sm_90")
    (package / "pipeline.py").write_text("print('noise')\n")
    (package / "target.py").write_text("TARGETS = {'sm_90': None}\n")
    graphs = {"gone": tmp_path / "gone.py"}
    answer = commit_tree.export(tmp_path / "tree", "abc", graphs, "sm_90")
    assert "ModuleNotFoundError" in answer["graphs"]["gone"]["reason"], "the graph's own reason"


def test_modules_that_a_commit_lacks_are_not_taken_from_an_installed_checkout(
    tmp_path: Path,
) -> None:
    package = tmp_path / "harness"
    package.mkdir()
    (package / "__init__.py").write_text("")
    finder = exporter.OnlyFrom(str(tmp_path))
    assert Path(finder.find_spec("harness").origin) == package / "__init__.py"
    assert finder.find_spec("json") is None
    with pytest.raises(ModuleNotFoundError, match=r"harness\.pipeline"):
        finder.find_spec("harness.pipeline", [str(package)])


def test_machines_are_named_by_gpu_driver_and_set_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    key, gpu = "nvidia-h100-80gb-hbm3-580.1", "NVIDIA H100 80GB HBM3"
    found = Machine(key, gpu=gpu, gpu_uuid="GPU-1", driver="580.1")
    monkeypatch.setattr(asv_machine, "find_gpu", lambda: found)
    monkeypatch.setattr(asv_machine, "set_clocks_mhz", lambda uuid: (1755, 2619))
    fields = asv_machine.machine_fields()
    assert fields["machine"] == "nvidia-h100-80gb-hbm3-580.1-1755mhz-2619mhz"
    assert not fields["ram"] and not fields["num_cpu"]
    assert fields["os"] == "Linux", "no kernel release"
    monkeypatch.setattr(asv_machine, "find_gpu", lambda: None)
    assert "gpu" not in asv_machine.machine_fields()


def test_where_no_driver_can_be_loaded_torch_is_not_asked_for_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each asv command asks which machine this is, and importing torch takes seconds."""

    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    found = Machine("a-gpu", gpu="A GPU")
    monkeypatch.setattr(asv_machine.machine, "find_gpu", lambda: found)
    monkeypatch.setattr(asv_machine.ctypes, "CDLL", missing)
    assert asv_machine.find_gpu() is None
    monkeypatch.setattr(asv_machine.ctypes, "CDLL", lambda name: None)
    assert asv_machine.find_gpu() is found
