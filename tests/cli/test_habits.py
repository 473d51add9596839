"""What a user of such tools types without looking: -k, globs, folders, other forms, short names."""

from __future__ import annotations

import csv
import dataclasses
import io
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.cli.run import _Follower
from harness.errors import UnknownName, UsageError
from harness.history import store
from harness.options import from_environment
from harness.records.names import find, is_chosen
from harness.records.run import Check, GraphRecord, LibraryCall
from harness.session.entries import find_entries, find_graphs
from harness.session.model import ProcessStarted, TimedAgain
from harness.target import H100
from tests.cli.conftest import Command
from tests.history.examples import KERNEL, run

ROOT = Path(__file__).parents[2]
QUICK = "channels_last_forward"
EVIL = "\x1b[31mred\x1b[0m"


@pytest.fixture
def path(results: Path) -> Path:
    return store.save(results, run())


def test_a_kernel_is_named_as_tables_print_it() -> None:
    name = "triton_per_fused_add_native_layer_norm_3"
    names = [name, "triton_per_fused_add_native_layer_norm_31"]
    for wanted in (name, name[7:], "per_fused_ad…rm_3", "*_norm_3", "triton_*m_3"):
        assert find(wanted, names) == [name], wanted
    assert find("softmax", names) == []
    for pattern in ("layer_norm", "LAYER*", "*norm_3", "per_fused_ad…rm_3", "triton_per*"):
        assert is_chosen([pattern], name) == (pattern != "LAYER*"), pattern
    assert is_chosen([], "anything") and is_chosen(["nothing", "ADD"], name)


@pytest.mark.parametrize("form", ["--csv", "--markdown"])
@pytest.mark.parametrize(
    "arguments", [("show",), ("list",), ("list", "--runs"), ("compare", "latest", "latest")]
)
def test_every_table_has_every_form(
    harness: Command, path: Path, arguments: tuple[str, ...], form: str
) -> None:
    answer = harness(*arguments, form)
    assert answer.status in (0, 1), answer.err
    if form == "--csv":
        rows = list(csv.DictReader(io.StringIO(answer.out)))
        assert rows and all(None not in row for row in rows)
    elif arguments != ("list",):
        assert "\n|---" in answer.out
    assert harness(*arguments, form, "--json").status == 2, "one form"


def test_csv_has_figures_in_full(harness: Command, path: Path) -> None:
    (first, _) = csv.DictReader(io.StringIO(harness("show", "--csv").out))
    assert (first["graph"], first["name"]) == ("block", KERNEL.name)
    assert float(first["gbps"]) == KERNEL.gbps and first["registers"] == "32"
    assert first["config.XBLOCK"] == "1" and first["origins"] == "mul; sum_1"


def test_k_chooses_graphs_and_kernels(harness: Command, path: Path) -> None:
    assert "per_fused_mul_0" in harness("show", "-k", "FUSED_MUL").out
    assert "per_fused_mul_0" in harness("show", "-k", "per_*_0").out
    assert "0 graphs, 0 kernels" in harness("show", "-k", "softmax").out
    for command in (("show",), ("list",)):
        assert "is like [ (a part of a name" in harness(*command, "-k", "[").err
    assert "no runs like that" in harness("list", "--runs", "-k", "[").out
    graphs = harness("show", "-k", "broken", "--json").json()["graphs"]
    assert [graph["name"] for graph in graphs] == ["broken"]
    rows = harness("compare", "latest", "latest", "-k", "mul_0", "--json").json()["kernels"]
    nothing = harness("compare", "latest", "latest", "-k", "softmx")
    assert (
        nothing.status == 2 and "no kernel or graph of the comparison is like that" in nothing.err
    )
    assert [row["a"]["kernels"] for row in rows] == [[KERNEL.name]]
    names = harness("list", "-k", "llama").out
    assert "llama_block_backward" in names and "bert" not in names


def test_a_module_is_found_by_its_short_name(harness: Command, path: Path) -> None:
    assert harness("show", "--module", KERNEL.name.removeprefix("triton_")).out == KERNEL.module


def test_a_run_is_found_by_the_beginning_of_its_commit(harness: Command, path: Path) -> None:
    commit = path.stem.rpartition("-")[2]
    for name in (commit[:4], commit[:7], commit, f"{commit}0123456789"):
        assert harness("show", name, "--json").json()["run"] == run().id, name
    assert harness("show", commit[:3]).status == 2


def test_what_a_run_file_says_moves_no_cursor(harness: Command, results: Path) -> None:
    kernel = replace(KERNEL, name=EVIL, check=Check.SKIPPED, check_note=EVIL, reason=EVIL)
    calls = (LibraryCall(EVIL, 1, EVIL),)
    graphs = (GraphRecord(EVIL, calls, (kernel,)), GraphRecord("b", reason=EVIL))
    store.save(results, run(graphs=graphs, target=EVIL))
    for arguments in (
        ("show",),
        ("show", "--markdown"),
        ("show", "--csv"),
        ("show", "--json"),
        ("compare", "latest", "latest", "--all"),
        ("list", "--runs"),
    ):
        answer = harness(*arguments)
        assert "red" in answer.out or arguments[0] == "list"
        assert "\x1b" not in answer.out + answer.err, arguments


def test_spills_library_calls_and_shared_reasons(harness: Command, results: Path) -> None:
    kernels = tuple(
        replace(KERNEL, name=f"triton_poi_{n}", check=Check.SKIPPED, check_note="too large")
        for n in range(7)
    )
    calls = (
        LibraryCall("aten.mm.default", 7, "no lowering for aten.mm.default"),
        LibraryCall("aten.bmm.default", 1, "no lowering for aten.bmm.default"),
    )
    store.save(results, run(graphs=(GraphRecord("block", calls, kernels),)))
    out = harness("show").out
    assert out.count("not checked: too large") == 1
    assert "7 kernels not checked: too large" in out
    assert "left to torch, no lowering: aten.mm ×7, aten.bmm ×1" in out
    (line,) = (line for line in out.splitlines() if line.startswith("poi_3"))
    assert "2!" in line.split(), "it spills"


def test_a_name_is_cut_only_where_the_terminal_is_narrow(
    harness: Command, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "per_fused_" + "native_layer_norm_" * 8 + "3"
    store.save(results, run(graphs=(GraphRecord("g", (), (replace(KERNEL, name=name),)),)))
    monkeypatch.delenv("COLUMNS", raising=False)
    assert name in harness("show").out, "nobody watches"
    monkeypatch.setenv("COLUMNS", "100")
    out = harness("show").out
    assert name not in out
    (cut,) = (line.split()[0] for line in out.splitlines() if line.startswith("per_fused"))
    assert harness("show", "-k", cut, "--json").json()["graphs"], "what is printed is accepted"
    assert name in harness("show", "--wide").out


def test_graphs_are_chosen_by_pattern_and_folder(tmp_path: Path) -> None:
    options = from_environment({}, ROOT)
    names = [file.name for file in find_graphs(options, "default", ["llama*", "bert*backward"])]
    assert names == ["llama_block_forward", "llama_block_backward", "bert_layer_backward"]
    (tmp_path / "small").mkdir()
    for name in (QUICK, "adamw_step"):
        shutil.copy(ROOT / "suites" / "graphs" / f"{name}.py", tmp_path)
    shutil.copy(ROOT / "suites" / "graphs" / "small" / f"{QUICK}.py", tmp_path / "small")
    (tmp_path / "model.py").write_text("import torch\n")
    found = find_graphs(options, "default", [str(tmp_path)])
    assert [(file.name, file.small is not None) for file in found] == [
        ("adamw_step", False),
        (QUICK, True),
    ]
    (tmp_path / "empty" / "folder.py").mkdir(parents=True)
    for nothing, said in (
        ("lama*x", "no graph"),
        ("", "no graph"),
        (str(tmp_path / "small" / "none"), "no such graph file"),
        (str(tmp_path / "model.py"), "the file holds no graph"),
        (str(tmp_path / "empty"), "the folder holds no graph"),
    ):
        with pytest.raises(UnknownName, match=said):
            find_graphs(options, "default", [nothing])
    with pytest.raises(UsageError, match="only the patterns of a corpus"):
        find_graphs(options, "default:bytes>1MB", [str(tmp_path)])


def test_k_of_a_run_means_graphs_or_else_kernels() -> None:
    options = from_environment({}, ROOT)
    graphs = find_entries(options, "default", (), H100, ["llama"])
    assert [entry.name for entry in graphs] == ["llama_block_forward", "llama_block_backward"]
    (entry,) = find_entries(options, "default", ["moe_router_forward"], H100, ["softmax*", "red_"])
    assert entry.only
    every = dataclasses.replace(entry, only=()).compile().kernels
    kept = entry.compile().kernels
    assert 0 < len(kept) < len(every)
    assert all("red_" in kernel.module.name for kernel in kept)


def test_a_run_of_chosen_kernels_is_not_recorded(harness: Command, results: Path) -> None:
    answer = harness("run", QUICK, "-k", "poi_", "--no-timing", "--jobs", "1")
    assert answer.status == 0, answer.err
    assert "nothing is recorded" in answer.err
    assert "1 kernel" in answer.out and not list(results.glob("*/*.parquet"))
    answer = harness("run", QUICK, "-k", "softmax", "--no-timing", "--jobs", "1")
    assert answer.status == 2 and "no such graph or kernel" in answer.err


def test_a_wrong_kernel_is_said_before_anything_is_compiled(
    harness: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.session.tune_session import TuneSession

    monkeypatch.setattr(TuneSession, "tunings", lambda *_: pytest.fail("work was done"))
    answer = harness("tune", QUICK, "--kernel", "poi_fused_clon_0", "--no-timing")
    assert answer.status == 2
    assert "poi_fused_clone_0" in answer.err


def test_the_shell_can_complete(harness: Command) -> None:
    assert "--install-completion" in harness("-h").out


def test_what_one_of_several_gpus_times_again_before_the_others_is_not_counted() -> None:
    said: list[tuple[object, ...]] = []

    class Bar:
        def update(self, *what: object) -> None:
            said.append(what)

    nothing: Any = None
    bar: Any = Bar()
    follower = _Follower(nothing, nothing, nothing, bar, done=3, total=3)
    follower._take(TimedAgain("block", "a"))
    follower._take(ProcessStarted(1, 2, 3))
    follower._take(TimedAgain("block", "b"))
    assert said == [
        ("once more: block", 3, 3),
        ("process 2 of 2", 0, 3),
        ("process 2 of 2: block", 1, 3),
    ]
