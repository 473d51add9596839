from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.cli import doctor
from harness.cli.doctor import Level
from harness.options import from_environment


def options(tmp_path: Path, **extra: str):
    environment = {"HARNESS_CACHE": "c", "HARNESS_RESULTS": "r", **extra}
    return from_environment(environment, tmp_path, cores=2)


def test_every_look_answers_and_each_limit_has_a_remedy(tmp_path: Path) -> None:
    findings = list(doctor.examine(options(tmp_path), lambda *_: None))
    subjects = [finding.subject for finding in findings]
    assert len(set(subjects)) == len(subjects)
    assert {"python", "torch", "triton", "GPU", "interpreter", "cache folder"} <= set(subjects)
    for finding in findings:
        assert finding.found
        assert "looking failed" not in finding.found, finding
        if finding.level is not Level.FINE:
            assert finding.effect, finding
            assert finding.remedy, finding


def test_one_broken_look_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("boom")

    for name in ("interpreter", "disassembler", "capture_libraries"):
        monkeypatch.setattr(doctor, name, fail)
    findings = {f.subject: f for f in doctor.examine(options(tmp_path), lambda *_: None)}
    assert findings["interpreter"].level is Level.BROKEN
    assert "boom" in findings["interpreter"].found
    assert findings["python"].level is Level.FINE


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    finding = doctor.folder(tmp_path / "file" / "below", "HARNESS_RESULTS")
    assert finding.level is Level.LIMITED
    assert "HARNESS_RESULTS" in finding.remedy
    fine = doctor.folder(tmp_path / "new" / "deep", "HARNESS_RESULTS")
    assert fine.level is Level.FINE
    assert not (tmp_path / "new").exists()


def test_an_old_or_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "version", lambda _: "2.10.1")
    assert doctor.package("torch").level is Level.BROKEN

    def missing(name: str) -> str:
        raise doctor.PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "version", missing)
    finding = doctor.package("torch")
    assert finding.level is Level.BROKEN
    assert "make" in finding.remedy


def test_how_kernels_are_launched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.runtime.launch.launcher import launching

    def none(**_: Any) -> Any:
        raise RuntimeError("no C compiler")

    launching(None)
    monkeypatch.setattr("triton.runtime.build.compile_module_from_src", none)
    assert doctor.launcher(tmp_path / "missing").level is doctor.Level.FINE
    found = doctor.launcher(tmp_path)
    assert found.level is doctor.Level.LIMITED
    assert "no C compiler" in found.found and "python3-dev" in found.remedy


def test_a_timer_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    failed = subprocess.CompletedProcess("", 1, "", "Traceback:\nRuntimeError: out of memory\n")
    monkeypatch.setattr(doctor.subprocess, "run", lambda *_, **__: failed)
    found = doctor.timer()
    assert (found.level, found.found) == (Level.BROKEN, "RuntimeError: out of memory")

    def hang(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("", 1)

    monkeypatch.setattr(doctor.subprocess, "run", hang)
    assert doctor.timer().found == doctor.interpreter().found == "no answer within 120 s"


def test_a_timer_whose_cold_is_warm_is_broken() -> None:
    assert doctor.timer_finding(4.0, True, True, 2500, 4500, 2700).level is Level.FINE
    assert (
        "4.0 µs (the floor), at most 1 %"
        in doctor.timer_finding(4.0, True, True, 2500, 4500, 2700).found
    )
    warm = doctor.timer_finding(4.0, False, True, 4400, 4500, 2700)
    assert warm.level is Level.BROKEN
    assert "4400 GB/s" in warm.found
    dull = doctor.timer_finding(4.0, True, False, 2500, 2600, 2700)
    assert dull.level is Level.LIMITED
    assert dull.remedy
