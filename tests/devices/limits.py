"""Limits of jobs where a machine may be slower than any of them."""

from __future__ import annotations

import time
from typing import Any

import pytest

from harness.devices.job import Job
from harness.devices.process import Process


def limit_hangs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job's limit counts from when its worker says that it hangs; no other job has one."""
    send, receive = Process.send, Process.receive
    limits: dict[int, float] = {}

    def sent(process: Process, job: Job, seconds: float) -> None:
        limits[process.process.pid] = seconds
        send(process, job, 1e6)

    def received(process: Process) -> tuple[str, Any]:
        kind, value = receive(process)
        if kind == "step" and "hang" in value:
            process.deadline = time.monotonic() + limits[process.process.pid]
        return kind, value

    monkeypatch.setattr(Process, "send", sent)
    monkeypatch.setattr(Process, "receive", received)
