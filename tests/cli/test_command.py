from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from harness.cli.command import Answer, command
from harness.conformance.fuzz import Trial
from harness.conformance.operators import Row
from harness.errors import (
    CheckFailed,
    DamagedGraph,
    HarnessError,
    NoDevice,
    RecordError,
    UnknownName,
    UsageError,
)
from harness.options import Options
from tests.cli.conftest import Command


def status(error: BaseException, **options: bool) -> int:
    def fail(answer: Answer) -> None:
        raise error

    with pytest.raises(typer.Exit) as caught:
        command(fail)(**options)
    return caught.value.exit_code


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (UsageError("x"), 2),
        (UnknownName("x"), 2),
        (DamagedGraph("x"), 2),
        (CheckFailed("x"), 1),
        (RecordError("x"), 1),
        (NoDevice("x"), 1),
        (KeyboardInterrupt(), 130),
        (ValueError("x"), 1),
        (MemoryError(), 1),
    ],
)
def test_exit_status(error: BaseException, expected: int) -> None:
    assert status(error) == expected


def test_an_interrupt_that_a_library_made_an_error_of_is_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def importing(answer: Answer) -> None:
        try:
            try:
                raise KeyboardInterrupt
            except BaseException as error:
                raise ModuleNotFoundError("could not import the model") from error
        except ModuleNotFoundError as error:
            raise UsageError("it could not be built") from error

    with pytest.raises(typer.Exit) as caught:
        command(importing)()
    assert caught.value.exit_code == 130 and capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize(("returned", "expected"), [(None, 0), (0, 0), (1, 1)])
def test_a_command_ends_with_the_status_it_returns(returned: int | None, expected: int) -> None:
    with pytest.raises(typer.Exit) as caught:
        command(lambda _: returned)()
    assert caught.value.exit_code == expected


def test_an_error_is_told_in_full_and_without_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status(HarnessError("it broke", "here", "this", "that", "do so"))
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "error: here: it broke\n  got: this\n  expected: that\n  what to do: do so\n"


def test_with_json_the_error_is_a_document_too(capsys: pytest.CaptureFixture[str]) -> None:
    status(UnknownName("no such graph", got="x", expected="y"), as_json=True)
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["condition"] == "UnknownName"
    assert json.loads(out)["error"]["expected"] == "y"
    assert "no such graph" in err


def test_debug_lets_the_traceback_through() -> None:
    for error in (HarnessError("x"), ValueError("x")):

        def fail(answer: Answer, error: Exception = error) -> None:
            raise error

        with pytest.raises(type(error)):
            command(fail)(debug=True)


def test_a_bug_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    status(ValueError("first\nsecond"))
    err = capsys.readouterr().err
    assert "ValueError: first second" in err
    assert "--debug" in err
    assert "Traceback" not in err


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options(tmp_path / "cache", tmp_path / "results", tmp_path / "suites", 1)


def test_the_cache_is_used_where_it_can_be(
    options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    with Answer(options).cache() as folder:
        assert folder == options.cache
    assert capsys.readouterr().err == ""


def test_without_a_cache_nothing_is_written_to_it(options: Options) -> None:
    with Answer(replace(options, use_cache=False)).cache() as folder:
        assert folder != options.cache and folder.is_dir()
    assert not folder.exists() and not options.cache.exists()


def test_a_cache_that_cannot_be_written_is_said(
    options: Options, capsys: pytest.CaptureFixture[str]
) -> None:
    options.cache.write_text("a file is in the way")
    with Answer(options).cache() as folder:
        assert folder.is_dir()
    assert "nothing is cached for this run" in capsys.readouterr().err


@pytest.mark.parametrize(("given", "said"), [({}, "a remark\n"), ({"quiet": True}, "")])
def test_quiet_leaves_remarks_out_and_keeps_errors(
    capsys: pytest.CaptureFixture[str], given: dict[str, bool], said: str
) -> None:
    def work(answer: Answer) -> None:
        answer.note("a remark")
        with answer.progress("working") as bar:
            bar.update("on it", 0, 1)
        raise CheckFailed("it broke")

    with pytest.raises(typer.Exit):
        command(work)(**given)
    assert capsys.readouterr().err == f"{said}error: it broke\n"


def test_programs_that_were_begun_and_not_finished_are_named(
    harness: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.conformance.fuzz.fuzz", lambda *_: map(Trial, (3, 6, 4)))
    said = harness("fuzz", "--seed", 3, "--programs", 9, "--jobs", 3).out
    assert "3 of 3 right" in said and said.endswith("; not finished: 5\n")
    assert json.loads(harness("fuzz", "--seed", 3, "--jobs", 2, "--json").out)["unfinished"] == [5]


def test_programs_below_those_of_a_journal_were_not_begun(
    harness: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal's come first, whatever their numbers."""
    monkeypatch.setattr("harness.conformance.fuzz.fuzz", lambda *_: map(Trial, (90_000, 0, 2)))
    assert json.loads(harness("fuzz", "--jobs", 2, "--json").out)["unfinished"] == [1]
    assert "not finished" not in harness("fuzz").out, "one process finishes what it begins"


@pytest.mark.parametrize("command", ["fuzz", "conformance"])
def test_what_was_tried_before_ctrl_c_is_told(
    harness: Command, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def rows(*_: object) -> Iterator[object]:
        yield Row("neg", "wrong", "no", 3) if command == "conformance" else Trial(7, faults=("no",))
        raise KeyboardInterrupt

    monkeypatch.setattr("harness.conformance.fuzz.fuzz", rows)
    monkeypatch.setattr("harness.conformance.operators.run", rows)
    answer = harness(command)
    assert answer.status == 130
    assert "interrupted after 1: what they showed" in answer.err
    assert ("0 of 1 right" if command == "fuzz" else "1 case, 3 inputs: 1 wrong") in answer.out


def test_what_takes_long_says_what_it_is_at(
    harness: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.conformance.fuzz.fuzz", lambda *_: iter([Trial(7)]))
    assert "s] program 7 (1 of 1)\n" in harness("fuzz", "--programs", 1, "-v").err
    monkeypatch.setattr("harness.conformance.operators.run", lambda *_: iter(()))
    said = harness("conformance", "-k", "neg", "-v").err
    assert re.search(r"s\] operators \(0 of \d+\)\n", said)


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        ("--dtype flaot32", "float32"),
        ("--dtype all --dtype flaot64", "float64"),
        ("-k cumsim", "cumsum"),
        ("--dtype add", "no such element"),
    ],
)
def test_operators_and_types_that_torch_has_not_are_named(
    harness: Command, words: str, nearest: str
) -> None:
    answer = harness("conformance", *words.split())
    assert answer.status == 2 and nearest in answer.err and not answer.out


@pytest.mark.parametrize("words", ["conformance -k add", "fuzz --count 1"])
def test_programs_on_a_gpu_want_one(
    harness: Command, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    answer = harness(*words.split(), "--device", "cuda")
    assert answer.status == 1 and not answer.out
    assert answer.err.startswith("error: a GPU is needed and none can be used\n")
    assert harness(*words.split(), "--device", "gpu").status == 2
