"""NVML through a fake library."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from harness.records import machine
from suites.tracking.machine import set_clocks_mhz


class Library:
    """Knows two boards; the clock of memory is set by nobody."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM = 1, 2
    NVMLError = RuntimeError
    open = 0

    @classmethod
    def nvmlInit(cls) -> None:
        cls.open += 1

    @classmethod
    def nvmlShutdown(cls) -> None:
        cls.open -= 1

    @staticmethod
    def nvmlDeviceGetHandleByUUID(uuid: bytes) -> str:
        if uuid != b"GPU-1":
            raise RuntimeError
        return "second board"

    @staticmethod
    def nvmlDeviceGetHandleByIndex(index: int) -> str:
        return "first board"

    @staticmethod
    def nvmlSystemGetDriverVersion() -> str:
        return "580.1"

    @staticmethod
    def nvmlDeviceGetUUID(handle: str) -> str:
        if handle == "first board":
            raise RuntimeError
        return "GPU-1"

    @staticmethod
    def nvmlDeviceGetApplicationsClock(_: object, kind: int) -> int:
        if kind == 2:
            raise RuntimeError
        return 1755

    @staticmethod
    def nvmlDeviceGetMaxClockInfo(_: object, kind: int) -> int:
        return 2619


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(sys.modules, "pynvml", Library)
    return Library


def test_the_clocks_that_a_board_is_set_to_else_its_highest() -> None:
    assert set_clocks_mhz("GPU-1") == (1755, 2619)
    assert Library.open == 0


@pytest.mark.parametrize(
    ("uuid", "board"), [("GPU-1", "second board"), ("GPU-9", "first board"), (None, "first board")]
)
def test_a_board_is_found_by_its_uuid(uuid: str | None, board: str) -> None:
    found = machine.open_device(uuid)
    assert found is not None
    with found as device:
        assert device.handle == board
        assert device.driver() == "580.1"
        assert device.ask("nvmlDeviceGetUUID") == ("GPU-1" if board == "second board" else None)
        assert device.ask("nvmlDeviceGetApplicationsClock", 2) is None, "refused"
        assert device.ask("nvmlDeviceGetSomethingNew") is None, "an older library"


def test_without_the_library_there_is_nothing_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert machine.open_device("GPU-1") is None
    assert set_clocks_mhz(None) == (None, None)
