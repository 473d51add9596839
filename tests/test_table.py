"""Tables as data, in every form."""

from __future__ import annotations

import csv
import io
import re

import pytest

from harness.table import (
    NOTHING,
    Column,
    Details,
    Fit,
    Table,
    Text,
    clean,
    csv_text,
    html,
    markdown,
    plain,
    shorten,
    text_lines,
)

NAME = "poi_fused_" + "native_layer_norm_" * 4 + "17"
COLUMNS = (
    Column("kernel", lambda row: row["kernel"], fit=Fit.SHORTEN),
    Column("ms", lambda row: str(row["ms"]), right=True, least=6),
    Column("roof", lambda row: row.get("roof", NOTHING)),
    Column("cause", lambda row: row["cause"], fit=Fit.BELOW),
)
ROWS = (
    {"kernel": NAME, "ms": 0.25, "cause": "registers 32 → 40; code −1 +1 lines; launches 2 → 3"},
    {"kernel": "poi_b", "ms": 12, "cause": ""},
)
TABLE = Table(COLUMNS, ROWS, "block", lambda row: ["odd"] if row["ms"] == 12 else [])


def lines(width: int | None) -> list[str]:
    return plain(text_lines([TABLE], width))


def test_where_nobody_watches_every_row_is_one_line_and_nothing_is_cut() -> None:
    title, head, first, second, note = lines(None)
    assert title == "block" and head.split() == ["kernel", "ms", "roof", "cause"]
    assert first.split()[:2] == [NAME, "0.25"] and first.endswith("launches 2 → 3")
    assert second.split() == ["poi_b", "12", "–"]
    assert note == "  odd"


@pytest.mark.parametrize("width", [80, 110, 140, 200])
def test_lines_fit_and_say_the_same(width: int) -> None:
    found = lines(width)
    assert max(map(len, found)) <= width
    assert not any(line != line.rstrip() for line in found)
    text = " ".join(" ".join(found).split())
    assert "registers 32 → 40;" in text and "launches 2 → 3" in text
    assert (NAME in text) == (width > 80) and "m_17 " in text
    assert ("roof" in found[1]) == (width == 200), "what holds nothing gives up its room first"


def test_what_is_too_wide_for_columns_is_told_in_sentences() -> None:
    wide = tuple(Column(f"figure {n}", lambda _: "12345678901234567890") for n in range(8))
    made = plain(text_lines([Table((COLUMNS[0], *wide), ROWS[:1])], 80))
    assert made[0] == NAME
    assert "figure 7 12345678901234567890" in " ".join(" ".join(made).split())
    assert max(map(len, made[1:])) <= 80


def test_a_terminal_of_forty_columns_is_not_overrun() -> None:
    said = "a title of more words than such a terminal has room for in a line"
    table = Table(COLUMNS, ROWS[1:], said, lambda _: [f"note: {said}"])
    found = plain(text_lines([table], 40))
    assert max(map(len, found)) <= 40
    assert " ".join(" ".join(found).split()).count(said) == 2
    wide = tuple(Column(f"figure {n}", lambda _: "12345678901234567890") for n in range(8))
    where = Column("graph / kernel", lambda _: "a_graph_of_some_length\na_node_of_some_length")
    found = plain(text_lines([Table((where, *wide), ROWS[1:])], 40))
    assert found[:2] == ["a_graph_of_some_length", "a_node_of_some_length"]
    assert max(map(len, found)) <= 40


def test_of_two_names_the_longer_one_gives_up_room_first() -> None:
    short, long = (Column(n, lambda row, n=n: row[n], fit=Fit.SHORTEN) for n in ("gpu", "suite"))
    row = {"gpu": "NVIDIA H100 80GB HBM3", "suite": "corpus:" + "weight>0.0003" * 6}
    _, made = plain(text_lines([Table((short, long), [row])], 80))
    assert made.startswith("NVIDIA H100 80GB HBM3 corpus:weight>") and len(made) == 80


def test_tables_that_share_columns_are_aligned() -> None:
    a, b = Table(COLUMNS, ROWS[:1]), Table(COLUMNS, ROWS[1:])
    first, second = (x for x in plain(text_lines([a, Text(), b], 200)) if x.startswith("kernel"))
    assert first == second


def test_a_cell_like_the_one_above_can_stay_empty() -> None:
    columns = (Column("region", lambda row: row["r"], once=True), Column("x", lambda row: row["x"]))
    rows = [{"r": "a", "x": "1"}, {"r": "a", "x": "2"}, {"r": "b", "x": "3"}]
    assert plain(text_lines([Table(columns, rows)], 80))[1:] == ["a      1", "       2", "b      3"]


EVIL = "a\x1b[2J\x9b31m\rb\u202ec"


@pytest.mark.parametrize("width", [80, None])
def test_what_comes_from_a_file_moves_no_cursor(width: int | None) -> None:
    table = Table(COLUMNS, [{"kernel": EVIL, "ms": 1, "cause": EVIL}], EVIL, lambda _: [EVIL])
    forms = (
        "\n".join(plain(text_lines([table, Text(EVIL)], width))),
        "\n".join(markdown([table, Text(EVIL)])),
        html([{"kernel": EVIL}]),
        csv_text(table.rows),
    )
    for text in forms:
        assert not {"\x1b", "\x9b", "\r", "\u202e"} & set(text), text
    assert clean("tab\tand\nline stay") == "tab\tand\nline stay"
    assert r"a\x1b[2J" in forms[0]


def test_markdown_is_a_table_with_nothing_left_out() -> None:
    text = "\n".join(markdown([Table(COLUMNS, [{"kernel": "a|b_c", "ms": 1, "cause": "x"}])]))
    assert text.startswith("\n| kernel | ms | roof | cause |\n|---|---:|---|---|\n")
    assert r"| a\|b_c | 1 | – | x |" in text
    assert "- poi_b: odd" in "\n".join(markdown([TABLE]))


def test_csv_has_figures_in_full_and_names_what_is_nested() -> None:
    rows = [
        {"name": "a", "a": {"ms": 0.123456789, "config": {"X": 1}}, "causes": ["x", "y"]},
        {"name": 'q"', "sets": [{"ms": 1}], "p": None},
    ]
    one, other = csv.DictReader(io.StringIO(csv_text(rows)))
    assert one == {"name": "a", "a.ms": "0.123456789", "a.config.X": "1", "causes": "x; y", "p": ""}
    assert other["name"] == 'q"' and "sets" not in other


def test_html_is_escaped() -> None:
    assert "<td>&lt;b&gt;</td>" in html([{"kernel": "<b>"}])
    assert f"<td>{'long' * 20}</td>" in html([{"kernel": "long" * 20}]), "nothing is cut"


def test_both_ends_of_a_name_stay() -> None:
    assert shorten(NAME, 20) == f"{NAME[:13]}…{NAME[-6:]}"


def test_details_are_folded_on_a_page_and_one_line_in_a_terminal() -> None:
    details = Details("12 more rows", [TABLE])
    assert plain(text_lines([details], 80)) == ["12 more rows"]
    page = "\n".join(markdown([details]))
    assert page.startswith("<details><summary>12 more rows</summary>\n\n**block**")
    assert "| poi\\_b" not in page and "poi_b" in page and "</details>" in page


@pytest.mark.parametrize("most", [900, 2000, 60_000])
def test_a_page_of_so_many_characters_counts_the_rows_that_do_not_fit(most: int) -> None:
    table = Table(COLUMNS, ROWS * 500, "block")
    page = "\n".join(markdown([Text("answer"), Details("folded", [table]), TABLE], most))
    assert len(page) <= most
    assert page.startswith("answer") and page.count("<details>") == page.count("</details>") == 1
    shown = page.count("| poi")
    assert f"{1000 - shown} more rows" in page or shown < 3


@pytest.mark.parametrize("most", [2000, 60_000])
def test_a_page_of_many_tables_counts_the_rows_of_those_that_do_not_fit(most: int) -> None:
    each = ((Text(), Table(COLUMNS, ROWS, f"graph {n}")) for n in range(1000))
    blocks = [block for both in each for block in both]
    page = "\n".join(markdown([*blocks, Details("folded", [TABLE] * 9)], most))
    assert len(page) <= most
    left = int(page.splitlines()[-1].split()[1]) + sum(
        int(found) for found in re.findall(r"- (\d+) more rows:", page)
    )
    assert left + page.count("| poi") == 1009 * len(ROWS)
    assert "\n\n\n\n" not in page, "what stood between tables that are not there"
