"""Kernels whose first launch fails."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.errors import CompileFailed, HarnessError, IndexOutOfRange, RecordError
from harness.runtime.launch import observing
from harness.runtime.launch.observing import Guarded, unguarded


def swapped(args: list[Any]) -> list[Any]:
    return [args[1], args[0].view(-1)]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[HarnessError]:
    module = SimpleNamespace(reference=swapped, outputs=(0, 1))
    monkeypatch.setattr(observing.modules, "load", lambda text: module)
    return []


def fails(*_: Any) -> None:
    raise CompileFailed("it does not compile")


def test_results_that_are_arguments_are_not_overwritten_before_they_are_read(
    told: list[HarnessError],
) -> None:
    x, y = torch.zeros(3), torch.ones(3)
    kernel = Guarded("", fails, told.append)
    kernel(0, x, y)
    assert x.tolist() == [1, 1, 1] and y.tolist() == [0, 0, 0]
    kernel(0, x, y)
    assert x.tolist() == [0, 0, 0] and len(told) == 1


def test_what_is_wrong_with_arguments_is_raised(told: list[HarnessError]) -> None:
    def launch(*_: Any) -> None:
        raise IndexOutOfRange("an index is out of range")

    with pytest.raises(IndexOutOfRange):
        Guarded("", launch, told.append)(0)
    assert not told


def test_what_has_run_is_not_computed_again(told: list[HarnessError]) -> None:
    """A kernel's bandwidth is written down after it has changed its arguments."""

    def launch(_: int, x: torch.Tensor, y: torch.Tensor) -> None:
        x += y
        raise RecordError("the file for kernels' bandwidth could not be written")

    x, y = torch.zeros(3), torch.ones(3)
    with pytest.raises(RecordError):
        Guarded("", launch, told.append)(0, x, y)
    assert x.tolist() == y.tolist() == [1, 1, 1] and not told


def test_kernels_that_have_run_are_launched_themselves(told: list[HarnessError]) -> None:
    launched: list[str] = []
    scope: dict[str, Any] = {
        "fine": Guarded("", lambda *_: launched.append("fine"), told.append),
        "failing": Guarded("", fails, told.append),
        "dynamic": Guarded("\nUNKNOWN_SIZES = {}", lambda *_: None, told.append),
    }
    guards = dict(scope)
    exec("def run(x, y):\n fine(0, x, y)\n failing(0, x, y)\n dynamic(0, x, y)", scope)
    scope["run"](torch.zeros(1), torch.ones(1))
    unguarded(scope["run"])
    assert scope["fine"] is guards["fine"].launch
    assert all(scope[name] is guards[name] for name in ("failing", "dynamic"))
    scope["run"](torch.zeros(1), torch.ones(1))
    assert launched == ["fine", "fine"] and len(told) == 1
