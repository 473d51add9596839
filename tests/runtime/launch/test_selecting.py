"""Which configuration a kernel is launched in, and what happens when there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest
import torch

from harness.errors import CompileFailed, NoDevice, NoTritonConfigsError
from harness.graph.text import loads
from harness.heuristics.facts import Config
from harness.records.timing import Launch
from harness.runtime.compile import binary as binaries
from harness.runtime.launch.launcher import Launcher
from harness.runtime.launch.selecting import SelectedKernels
from harness.runtime.module import config_dict
from harness.runtime.tune.tuning_cache import TABLE_FORMAT, LookupTable, TuningCache
from harness.target import H100
from tests.codegen.kernels import modules
from tests.runtime import emitted
from tests.runtime.launch.fake_driver import FakeDriver
from tests.runtime.launch.test_ahead import compiled
from tests.runtime.measured import metrics


class FakeTimer:
    """Says that candidates with smaller grids are slower, or raises."""

    def __init__(self, driver: FakeDriver, error: Exception | None = None) -> None:
        self.driver, self.error = driver, error
        self.calls = 0

    def sampler(self, _: object) -> Self:
        return self

    def settle(self) -> None:
        pass

    def warm_up(self) -> None:
        pass

    def rounds(self, launches: Mapping[str, Launch], count: int) -> dict[str, list[float]]:
        return {name: [self._time(launch)] * count for name, launch in launches.items()}

    def _time(self, launch: Launch) -> float:
        if self.error is not None:
            raise self.error
        launch()
        self.calls += 1
        (blocks, _, _) = self.driver.launches[-1][1]
        return 1.0 / blocks


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    made = FakeDriver(arguments=3)
    monkeypatch.setattr("harness.runtime.launch.selecting.cuda", lambda: made)
    monkeypatch.setattr("harness.runtime.launch.launcher.cuda", lambda: made)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda device: 0, raising=False)
    return made


def arguments() -> list[torch.Tensor]:
    return [torch.empty(2048)[:2000] for _ in range(3)]


def broken(monkeypatch: pytest.MonkeyPatch, why: Callable[[Config], str]) -> None:
    """Candidates for which ``why`` has a reason do not compile."""
    compiled = Launcher.binary

    def binary(self: Launcher, unaligned: Any = (), args: Any = None) -> Any:
        if reason := why(self.config):
            raise CompileFailed("Triton could not compile a kernel", got=reason)
        return compiled(self, unaligned, args)

    monkeypatch.setattr(Launcher, "binary", binary)


def test_the_best_guess_is_launched(driver: FakeDriver, cache: Path) -> None:
    kernels = SelectedKernels(H100, cache=cache)
    kernel = kernels.get(emitted.POINTWISE)
    assert kernel is kernels.get(emitted.POINTWISE) and kernel.config is None
    args = arguments()
    for stream in (5, 6):
        kernel.kernel(stream, *args)
    assert kernel.config == kernel.loaded.configs[0]
    assert [one[4] for one in driver.launches] == [5, 6]
    assert len(driver.loaded) == 1
    assert driver.launches[0][5] == [a.data_ptr() for a in args]


def test_a_candidate_that_fails_is_passed_over(
    driver: FakeDriver, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, lambda c: "no" if dict(c.blocks)["XBLOCK"] == 1024 else "")
    kernel = SelectedKernels(H100, cache=cache).get(emitted.POINTWISE)
    kernel.kernel(0, *arguments())
    assert kernel.config == kernel.loaded.configs[1]


def test_a_candidate_that_is_known_to_spill_is_not_even_compiled(
    driver: FakeDriver, cache: Path
) -> None:
    driver.arguments = 2
    chosen = dict(metrics(emitted.SPILLING, H100, cache=cache).chosen)
    kernels = SelectedKernels(H100, cache=cache)
    kernel = kernels.get(emitted.SPILLING)
    (ahead,) = kernels._missing(emitted.SPILLING, cache, None)
    assert config_dict(ahead.config) == chosen != config_dict(kernel.loaded.configs[0])
    kernel.kernel(0, torch.empty(40, 304, dtype=torch.bfloat16)[:, :300], torch.empty(40))
    assert config_dict(kernel.config) == chosen
    assert len(driver.loaded) == 1


def test_of_candidates_that_all_spill_the_one_that_spills_least_is_taken(
    driver: FakeDriver, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resources(self: Launcher) -> SimpleNamespace:
        return SimpleNamespace(spills=100 + self.config.block("XBLOCK"))

    monkeypatch.setattr(Launcher, "resources", resources)
    kernel = SelectedKernels(H100, cache=cache).get(emitted.POINTWISE)
    kernel.kernel(0, *arguments())
    assert kernel.config.block("XBLOCK") == 512


def test_every_candidate_fails_with_each_reason(
    driver: FakeDriver, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch, lambda c: f"reason {dict(c.blocks)['XBLOCK']}")
    kernel = SelectedKernels(H100, cache=cache).get(emitted.POINTWISE)
    with pytest.raises(NoTritonConfigsError) as caught:
        kernel.kernel(0, *arguments())
    text = str(caught.value)
    assert "XBLOCK=1024 num_warps=4 num_stages=1: reason 1024" in text
    assert "XBLOCK=512 num_warps=4 num_stages=1: reason 512" in text
    assert not driver.launches and kernel.config is None


def test_what_a_table_knows_is_launched_without_timing_another(
    driver: FakeDriver, cache: Path, tmp_path: Path
) -> None:
    """And what has been launched is not compiled ahead."""
    loaded = SelectedKernels(H100, cache=cache).get(emitted.POINTWISE).loaded
    known = {loaded.launch_hash: config_dict(loaded.configs[1])}
    kernels = SelectedKernels(H100, cache=cache, table=LookupTable(TABLE_FORMAT, known))
    kernel = kernels.get(emitted.POINTWISE)
    assert kernels.candidates(loaded) == [loaded.configs[1], loaded.configs[0]]
    assert [job.config for job in kernels._missing(kernel.text, tmp_path, None)] == [
        loaded.configs[1]
    ]
    kernel.kernel(0, *arguments())
    assert kernel.config == loaded.configs[1]
    assert kernels._missing(kernel.text, tmp_path, None) == []


def test_what_is_known_to_spill_for_one_size_is_tried_for_others(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Candidates for unknown sizes are those of a launch, of which a file of metrics knows none."""
    kernels, other = SelectedKernels(H100, cache=cache), Config((("XBLOCK", 64),), 1)
    monkeypatch.setattr("harness.runtime.launch.selecting.untuned", lambda *_: other)
    plain, sized = (kernels.get(text).loaded for text in (emitted.POINTWISE, emitted.SIZED))
    assert kernels.candidates(plain) == [other, *plain.configs]
    assert kernels.candidates(sized) == [*sized.configs]


def test_of_what_is_timed_all_candidates_are_compiled_ahead_that_no_file_has(
    driver: FakeDriver, tmp_path: Path
) -> None:
    text = emitted.POINTWISE
    SelectedKernels(H100, cache=tmp_path).get(text).kernel(0, *arguments())
    assert SelectedKernels(H100, cache=tmp_path)._missing(text, tmp_path, None) == []
    timed = SelectedKernels(H100, FakeTimer(driver), tmp_path)
    (missing,) = timed._missing(text, tmp_path, None)
    assert missing.config == timed.get(text).loaded.configs[1]


def test_a_kernel_of_one_candidate_is_not_tuned(
    driver: FakeDriver, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it may be launched first while a graph is recorded, which allows no waiting."""
    monkeypatch.setattr(torch.cuda, "synchronize", None)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    kernel = SelectedKernels(H100, FakeTimer(driver), cache).get(emitted.POINTWISE)
    kernel.loaded = replace(kernel.loaded, configs=kernel.loaded.configs[:1])
    kernel.kernel(0, *arguments())
    assert kernel.config == kernel.loaded.configs[0]


def test_launches_of_ever_new_sizes_are_forgotten(
    driver: FakeDriver, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.runtime.launch.selecting.MOST_VARIANTS", 3)
    kernel = SelectedKernels(H100, cache=cache).get(emitted.SIZED)
    for size in range(2000, 1990, -1):
        kernel.kernel(7, *arguments(), size)
        assert 1 <= len(kernel._launchers) <= 3
    assert len(driver.launches) == 10


def test_the_fastest_candidate_is_kept(driver: FakeDriver, cache: Path) -> None:
    kernel = SelectedKernels(H100, FakeTimer(driver), cache).get(emitted.POINTWISE)
    kernel.kernel(0, *arguments())
    assert kernel.config == kernel.loaded.configs[1]
    assert driver.launches[-1][1] == (4, 1, 1)


def test_a_known_winner_is_neither_timed_nor_compiled_again(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuning_cache = TuningCache(tmp_path / "tuning_cache", (("name", "fake"),))
    first = FakeTimer(driver)
    SelectedKernels(H100, first, tmp_path, tuning_cache=tuning_cache).get(emitted.POINTWISE).kernel(
        0, *arguments()
    )
    assert first.calls

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("compiled again")

    monkeypatch.setattr("harness.runtime.compile.static.compile_for", refuse)
    second = FakeTimer(driver)
    kernel = SelectedKernels(H100, second, tmp_path, tuning_cache=tuning_cache).get(
        emitted.POINTWISE
    )
    kernel.kernel(0, *arguments())
    assert not second.calls and kernel.config == kernel.loaded.configs[1]


def test_while_a_graph_is_recorded_nothing_is_timed(
    driver: FakeDriver, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timer = FakeTimer(driver)
    kernel = SelectedKernels(H100, timer, cache).get(emitted.POINTWISE)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    kernel.kernel(0, *arguments())
    assert timer.calls == 0 and len(driver.launches) == 1 and kernel.config is None
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    kernel.kernel(0, *arguments())
    assert timer.calls and kernel.config is not None


def test_too_little_memory_to_tune_means_the_best_guess_and_a_reason(
    driver: FakeDriver, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    error = torch.OutOfMemoryError("CUDA out of memory")
    kernels = SelectedKernels(H100, FakeTimer(driver, error), cache)
    kernel = kernels.get(emitted.POINTWISE)
    kernel.kernel(0, *arguments())
    assert kernel.config == kernel.loaded.configs[0]
    assert driver.launches[-1][1] == (2, 1, 1)
    assert f"{kernel.loaded.name} is not tuned" in caplog.text
    assert "out of memory" in caplog.text


@pytest.mark.parametrize(
    "error",
    [NoDevice("the GPU did not carry out", got="gone"), torch.AcceleratorError("CUDA error: gone")],
)
def test_a_lost_device_is_named_and_what_was_tuned_stays(
    driver: FakeDriver, cache: Path, error: Exception
) -> None:
    timer = FakeTimer(driver)
    kernels = SelectedKernels(H100, timer, cache)
    first = kernels.get(emitted.POINTWISE)
    first.kernel(0, *arguments())
    timer.error = error
    other = emitted.POINTWISE.replace("BYTES = 3", "BYTES = 4")
    second = kernels.get(other)
    with pytest.raises(NoDevice, match="lost while a kernel was tuned") as caught:
        second.kernel(0, *arguments())
    assert "gone" in str(caught.value) and "the 1 kernels" in str(caught.value)
    assert first.config is not None and second.config is None
    assert kernels.chosen() == {first.loaded.name: first.config}


def test_misaligned_arguments_reach_a_variant(driver: FakeDriver, cache: Path) -> None:
    kernel = SelectedKernels(H100, cache=cache).get(emitted.POINTWISE)
    args = arguments()
    kernel.kernel(0, *args)
    args[0] = torch.empty(2048)[1:2001]
    kernel.kernel(0, *args)
    assert len(driver.loaded) == 2 and len(driver.launches) == 2


def test_a_grid_that_depends_on_sizes_among_the_arguments(driver: FakeDriver, cache: Path) -> None:
    kernel = SelectedKernels(H100, cache=cache).get(emitted.SIZED)
    for size in (2000, 1000, 2000):
        kernel.kernel(7, *arguments(), size)
    assert [one[1] for one in driver.launches] == [(2, 1, 1), (1, 1, 1), (2, 1, 1)]
    assert {one[4] for one in driver.launches} == {7}
    assert kernel.config is not None and len(driver.loaded) == 1


def test_each_size_has_the_configuration_of_its_kernel_and_no_binary_of_its_own(
    driver: FakeDriver, cache: Path
) -> None:
    graph = loads(
        '# harness graph 1\ndef rows(\n    x: "f32[s0, s1]",\n):\n    total: "f32[s0]" = '
        "aten.sum.dim_IntList(x, [1])\n    return (total,)\n",
        "test graph",
    )
    (module,) = modules(graph)
    driver.arguments = 5
    tensors = (*arguments()[:2], torch.zeros(4096))
    kernel = SelectedKernels(H100, cache=cache).get(module.text)
    for s0, s1, blocks in ((4096, 4096, (1, 4096)), (4096, 64, (4, 64)), (4096, 4000, (1, 4096))):
        kernel.kernel(0, *tensors, s0, s1)
        assert kernel.config is not None
        assert (kernel.config.block("XBLOCK"), kernel.config.block("R0_BLOCK")) == blocks
    assert len(driver.loaded) == 3
    for s0 in (4080, 4064, 4048):
        kernel.kernel(0, *tensors, s0, 4000)
    assert len(driver.loaded) == 3 and len(driver.launches) == 6


def test_kernels_are_compiled_ahead_for_the_sizes_of_the_first_call(
    driver: FakeDriver, tmp_path: Path
) -> None:
    texts = [emitted.SIZED.replace("BYTES = 3", f"BYTES = {n}") for n in range(6)]
    texts = [text.replace('"out_ptr0")', '"out_ptr0", "xnumel")', 1) for text in texts]
    kernels = SelectedKernels(H100, cache=tmp_path, jobs=2)
    kernels.prefetch(texts)
    kernels.prefetch(texts, {"xnumel": 100})
    compiled(kernels.ahead)
    for text in texts:
        (config, *_) = kernels.get(text).loaded.at([None, None, None, 100], H100).configs
        assert config.blocks == (("XBLOCK", 1024), ("xnumel", 4))
        assert binaries.find(tmp_path, binaries.artifact(text, config, H100))
    kernels.close()


def test_many_kernels_are_compiled_ahead_in_worker_processes(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [emitted.POINTWISE.replace("BYTES = 3", f"BYTES = {n}") for n in range(6)]
    kernels = SelectedKernels(H100, cache=tmp_path, jobs=2)
    kernels.prefetch([*texts, emitted.BROKEN])
    compiled(kernels.ahead)
    for text in texts:  # the second only where the first spills
        first, second = kernels.get(text).loaded.configs
        assert binaries.find(tmp_path, binaries.artifact(text, first, H100))
        assert binaries.find(tmp_path, binaries.artifact(text, second, H100)) is None
    kernels.close()

    def refuse(*_: Any, **__: Any) -> Any:
        raise CompileFailed("compiled in this process")

    monkeypatch.setattr("harness.runtime.compile.static.compile_for", refuse)
    for text in texts:
        kernels.get(text).kernel(0, *arguments())
    assert len(driver.launches) == 6
    with pytest.raises(NoTritonConfigsError):
        kernels.get(emitted.BROKEN).kernel(0, *arguments())


def test_what_a_launch_will_try_after_a_candidate_that_spills_is_compiled_ahead(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, driver.arguments = emitted.SPILLING, 2
    kernels = SelectedKernels(H100, cache=tmp_path, jobs=2)
    kernels.prefetch([text, *(emitted.POINTWISE.replace("= 3", f"= {n}") for n in range(3))])
    compiled(kernels.ahead)
    kernels.close()
    spills = iter((100, 0))
    plain = driver.load

    def load(*args: Any) -> Any:
        return replace(plain(*args), spills=next(spills))

    monkeypatch.setattr(driver, "load", load)
    monkeypatch.setattr("harness.runtime.compile.static.compile_for", None)
    kernel = kernels.get(text)
    kernel.kernel(0, torch.empty(40, 304, dtype=torch.bfloat16)[:, :300], torch.empty(40))
    assert kernel.config == kernel.loaded.configs[1]


def test_few_kernels_start_no_process(driver: FakeDriver, tmp_path: Path) -> None:
    kernels = SelectedKernels(H100, cache=tmp_path, jobs=2)
    kernels.prefetch([emitted.POINTWISE])
    assert not kernels.ahead._workers
