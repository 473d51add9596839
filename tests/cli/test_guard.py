from __future__ import annotations

import json

import pytest
import typer

from harness.cli.guard import guarded
from harness.errors import (
    CheckFailed,
    DamagedGraph,
    HarnessError,
    NoDevice,
    RecordError,
    UnknownName,
    UsageError,
)


def status(error: BaseException, **options: bool) -> int:
    def fail(**_: bool) -> None:
        raise error

    with pytest.raises(typer.Exit) as caught:
        guarded(fail)(**options)
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


def test_a_command_ends_with_the_status_it_returns() -> None:
    for returned, expected in ((None, 0), (0, 0), (1, 1)):
        with pytest.raises(typer.Exit) as caught:
            guarded(lambda value=returned: value)()
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

        def fail(debug: bool, error: Exception = error) -> None:
            raise error

        with pytest.raises(type(error)):
            guarded(fail)(debug=True)


def test_a_bug_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    status(ValueError("first\nsecond"))
    err = capsys.readouterr().err
    assert "ValueError: first second" in err
    assert "--debug" in err
    assert "Traceback" not in err
