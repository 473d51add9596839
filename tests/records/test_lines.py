from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.errors import RecordError
from harness.records.lines import Kept


@dataclass(frozen=True, slots=True)
class Row:
    number: int


def rows(path: Path) -> Kept[Row]:
    return Kept(path, Row, lambda row: row.number)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("buy milk", "1: a journal has a damaged line"),
        ('{"number":1}\nbuy milk', "2: a journal has a damaged line"),
        ('{"milk":1}\n', "missing required field `number`"),
        ('{"number":"two"}\n', "1.number: a record does not hold what it should"),
    ],
)
def test_a_file_that_is_no_journal_is_left_as_it_is(tmp_path: Path, text: str, said: str) -> None:
    """One line without an end was taken for a torn one, and cut off."""
    path = tmp_path / "notes"
    path.write_text(text)
    with pytest.raises(RecordError) as caught:
        rows(path)
    assert said in str(caught.value)
    assert path.read_text() == text


@pytest.mark.parametrize("torn", ['{"num', "\0\0\0"])
def test_a_journal_goes_on_behind_a_torn_line(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"number":1}\n' + torn)
    with rows(path) as kept:
        assert dict(kept) == {1: Row(1)}
        kept[2] = Row(2)
    assert path.read_text() == '{"number":1}\n{"number":2}\n'


def test_a_journal_has_one_writer(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with rows(path), pytest.raises(RecordError, match="another process is writing it"):
        rows(path)
