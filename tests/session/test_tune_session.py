"""Tuning a graph's kernels: what happens when the device goes away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.codegen.source import EmittedModule
from harness.errors import HarnessError, NoDevice, NoTritonConfigsError
from harness.heuristics.facts import Config
from harness.measure.jobs import TuneKernel
from harness.records.trials import Trial, Tuned
from harness.runtime.module import config_dict
from harness.session.tune_session import NO_GPU, TuneSession
from harness.target import H100
from tests.measure.fakes import module
from tests.runtime import emitted

LAST = {"XBLOCK": 64, "num_warps": 2, "num_stages": 1}


class Device:
    """Answers with the first candidate until ``fail`` says otherwise."""

    target = H100

    def __init__(self, **fail: HarnessError) -> None:
        self.fail = fail
        self.found: list[str] = ["taken"]
        self.jobs: list[TuneKernel] = []
        self.prepared: list[str] = []

    def missing(self, modules: Sequence[EmittedModule], _: object) -> list[str]:
        return [module.name for module in modules]

    def compile(self, names: list[str]) -> None:
        self.prepared.extend(names)
        if "prepare" in self.fail:
            raise self.fail["prepare"]

    @property
    def worker(self) -> Device:
        return self

    def run(self, job: TuneKernel) -> Tuned | None:
        self.jobs.append(job)
        for name, error in self.fail.items():
            if name in job.module_text:
                raise error
        config = Config((("XBLOCK", 1024),), 4)
        return Tuned(config, (Trial(config_dict(config), reason="only one"),), 0.5)


def modules(*names: str) -> tuple[EmittedModule, ...]:
    return tuple(module(n, text=emitted.POINTWISE + f"# {n}\n") for n in names)


def session(device: Any, cache: Path, *names: str, **asked: Any) -> TuneSession:
    return TuneSession(TuneKernel("", **asked), modules(*names), (), H100, device, cache, 4)


def test_every_kernel_is_tuned_as_asked(tmp_path: Path) -> None:
    device = Device()
    asked = session(device, tmp_path, "a", "b", search="descent", fresh=True, debug=True)
    found = list(asked.tunings({"b": LAST}))
    assert [t.name for t in found] == ["a", "b"]
    assert device.prepared == ["a", "b"]
    assert {(j.search, j.fresh, j.debug) for j in device.jobs} == {("descent", True, True)}
    assert [j.pinned for j in device.jobs] == [(), (Config((("XBLOCK", 64),), 2),)]
    assert found[0].chosen == config_dict(Config((("XBLOCK", 1024),), 4))
    assert found[0].seconds == 0.5


def test_a_lost_device_leaves_what_was_tuned_and_reasons_for_the_rest(tmp_path: Path) -> None:
    lost = NoDevice("the GPU cannot be used", got="no device found")
    found = list(session(Device(**{"# b": lost}), tmp_path, "a", "b", "c").tunings({}))
    assert found[0].chosen
    assert not found[0].reason
    for tuning in found[1:]:
        assert tuning.chosen is None
        assert "no device found" in tuning.reason
    none = list(session(Device(prepare=lost), tmp_path, "a", "b").tunings({}))
    assert all("no device found" in t.reason for t in none)


def test_a_device_that_cannot_be_taken_is_an_error(tmp_path: Path) -> None:
    """It is taken while code is generated. Nothing was tuned: no table is to be written."""
    busy = Device(prepare=NoDevice("the GPU cannot be used"))
    busy.found = []
    with pytest.raises(NoDevice, match="cannot be used"):
        list(session(busy, tmp_path, "a", "b").tunings({}))


@pytest.mark.parametrize(
    "error",
    [
        NoTritonConfigsError("every candidate configuration of a kernel failed", got="A; B"),
        HarnessError("a worker could not do its job", got="OutOfMemoryError: CUDA out of memory"),
    ],
)
def test_a_kernel_that_cannot_be_tuned_costs_its_own_row(
    tmp_path: Path, error: HarnessError
) -> None:
    found = list(session(Device(**{"# b": error}), tmp_path, "a", "b", "c").tunings({}))
    assert [bool(t.reason) for t in found] == [False, True, False]
    assert error.got in found[1].reason


def test_without_a_device_candidates_are_compiled(tmp_path: Path) -> None:
    kernels = (*modules("a"), module("x", text=emitted.BROKEN))
    asked = TuneSession(TuneKernel(""), kernels, (), H100, None, tmp_path, 1)
    found, broken = asked.tunings({})
    assert found.source == "static"
    assert found.chosen is None
    assert [t.reason for t in found.trials] == [NO_GPU, NO_GPU]
    assert all(t.registers for t in found.trials)
    assert all(t.registers is None and t.reason != NO_GPU for t in broken.trials)
