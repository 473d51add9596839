from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.history import store
from harness.records.run import Check, KernelRecord, RegionRecord
from harness.records.timing import Samples
from harness.runtime import device
from harness.verdicts import confirming
from tests.cli.conftest import Answer, Command
from tests.history.examples import run
from tests.history.kernels import graph, kernel, side
from tests.measure import fake_pairs

RECORDED = Path(__file__).parents[2] / "results" / "nvidia-h100-80gb-hbm3-580.159.04"
ONE_PROCESS = [
    str(RECORDED / f"20261121-{time}-27fff16f0b44.parquet") for time in ("070533", "071108")
]
A, B = "20260101-000000-aaaaaaaaaaaa", "20260102-000000-bbbbbbbbbbbb"


def recorded(results: Path, identifier: str, *kernels: KernelRecord, **changes: object) -> None:
    made = side(graph(*kernels), **changes).run
    store.save(results, replace(made, id=identifier, processes=5))


def kernels(seed: int, **slow: float) -> list[KernelRecord]:
    made = []
    for n in range(20):
        chance = np.random.default_rng([seed, n])
        factor = slow.get(f"k{n}", 1.0)
        ms = 0.02 * factor * np.exp(chance.normal(0, 0.002, 5))
        body = f"n{n}" if factor == 1.0 else f"n{n}; new"
        made.append(kernel(f"triton_poi_k{n}", f"n{n}", ms=ms.tolist(), body=body))
    return made


@pytest.fixture
def two_runs(results: Path) -> None:
    recorded(results, A, *kernels(1))
    recorded(results, B, *kernels(2, k3=1.1))


def table(answer: Answer) -> str:
    return re.sub(r" +", " ", answer.out)


@pytest.mark.usefixtures("two_runs")
def test_a_slower_kernel_is_a_row_with_its_cause_and_the_exit_status(harness: Command) -> None:
    answer = harness("compare", A, "latest")
    assert answer.status == 1
    (row,) = (line for line in table(answer).splitlines() if line.startswith("SLOWER poi_k3 "))
    assert re.search(r" 1\.(09|10)\d ", row)
    assert "code −1 +1 lines" in answer.out
    assert "SLOWER, FASTER: 5 % chance of any false one in this table (Holm)" in answer.out
    assert "19 kernels have the same code and configuration on both sides: 0 of them" in table(
        answer
    )


def test_what_one_side_lacks_is_listed_and_whole_graphs_in_one_line(
    harness: Command, results: Path
) -> None:
    made = kernels(1)
    gone = graph(*made[:2], name="other")
    whole = replace(side(graph(*made), gone).run, id=A, processes=5)
    store.save(results, whole)
    recorded(results, B, *kernels(2)[:19])
    answer = harness("compare", A, "latest")
    assert "only in A:" in answer.out
    (line,) = (line for line in answer.out.splitlines() if "other" in line)
    assert line.split() == "other all of it, 2 kernels".split()
    assert answer.out.splitlines().count("  g  poi_k19") == 1
    assert "only in A: 3, only in B: 0" in answer.out


@pytest.mark.usefixtures("two_runs")
def test_faster_is_no_failure(harness: Command) -> None:
    answer = harness("compare", "latest", A)
    assert "FASTER" in answer.out
    assert answer.status == 0


@pytest.mark.usefixtures("two_runs")
def test_all_prints_what_is_the_same(harness: Command) -> None:
    quiet, loud = harness("compare", A, A), harness("compare", A, A, "--all")
    assert "SAME poi_k1 " not in table(quiet)
    assert "SAME poi_k1 " in table(loud)
    assert "same code and configuration" in loud.out


@pytest.mark.usefixtures("two_runs")
@pytest.mark.parametrize("columns", [80, 100, 140])
def test_every_line_fits_the_terminal(
    harness: Command, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for arguments in (("compare", A, B, "--all"), ("compare", "--static", A, B, "--all")):
        lines = [x for x in harness(*arguments).out.splitlines() if "/" not in x and ": " not in x]
        assert max(len(line.rstrip()) for line in lines) <= columns


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_the_answer_comes_first_and_what_costs_most_next(
    harness: Command, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """Two recorded runs of one commit, one process each; a kernel takes 169 µs instead of 4.4."""
    monkeypatch.setenv("COLUMNS", str(columns))
    answer = harness("compare", *ONE_PROCESS)
    lines = answer.out.splitlines()
    assert answer.out.startswith("NO REGRESSION FOUND: 0 slower, 0 faster, 72 unresolved, 187 same")
    assert "2 of the unresolved look slower, by 166.6 µs together" in " ".join(lines[:2])
    place = next(n for n, line in enumerate(lines) if " per_fused_sum_17 " in line)
    assert place < 24 and "+163.8" in lines[place]
    assert "vit_backward: XBLOCK 16 → 32" in " ".join(lines[place : place + 2])
    assert len(lines) < 50
    (line,) = (line for line in lines if " more unresolved" in line)
    assert line.startswith("66 more")
    assert harness("compare", *ONE_PROCESS, "--all").out.count("\nUNSURE ") > 72


def test_a_page_is_short_enough_for_a_comment_and_folds_the_rest(harness: Command) -> None:
    for more in ((), ("--all",)):
        page = harness("compare", *ONE_PROCESS, "--markdown", *more).out
        assert page.startswith("**NO REGRESSION FOUND: 0 slower")
        assert len(page) < 60_000
        assert page.count("<details>") == page.count("</details>") == (2 if not more else 0)


@pytest.mark.usefixtures("two_runs")
def test_a_sum_with_a_slower_kernel_names_it(harness: Command) -> None:
    answer = harness("compare", A, B)
    assert answer.out.startswith("REGRESSION: 1 slower, 0 faster, 19 same (this pair resolves")
    (line,) = (line for line in table(answer).splitlines() if " graph g " in line)
    assert "slower: poi_k3" in answer.out.split("graph g ")[1]
    assert line.split()[0] in ("SAME", "SLOWER", "UNSURE")


def test_kernels_are_sorted_by_microseconds_of_all_launches_or_by_ratio(
    harness: Command, results: Path
) -> None:
    for identifier, made in ((A, kernels(1)), (B, kernels(2, k3=1.2, k5=1.1))):
        recorded(results, identifier, *made[:5], replace(made[5], launches=50), *made[6:])

    def order(*more: str) -> list[str]:
        lines = table(harness("compare", A, B, *more)).splitlines()
        return [line.split()[1] for line in lines if line.startswith("SLOWER poi")]

    assert order() == ["poi_k5", "poi_k3"] and order("--sort", "ratio") == ["poi_k3", "poi_k5"]
    assert harness("compare", A, B, "--sort", "name").status == 2


@pytest.mark.usefixtures("two_runs")
def test_junit_fails_for_what_is_slower(harness: Command) -> None:
    junitparser = pytest.importorskip("junitparser")
    (suite,) = junitparser.JUnitXml.fromstring(harness("compare", A, B, "--junit").out.encode())
    assert (suite.name, suite.tests, suite.failures) == ("g", 20, 1)
    (failed,) = (case for case in suite if not case.is_passed)
    assert failed.name == "poi_k3" and failed.result[0].message.startswith("SLOWER: B÷A 1.")
    assert "code −1 +1 lines" in failed.result[0].text


@pytest.mark.usefixtures("two_runs")
def test_json_is_the_whole_comparison(harness: Command) -> None:
    document = harness("compare", A, B, "--json").json()
    assert document["slower"] is True
    assert document["headline"].startswith("REGRESSION: 1 slower")
    assert document["counts"]["SLOWER"] == 1 and 0 < document["resolution"] < 0.1
    assert document["a"]["run"] == A
    row = next(r for r in document["kernels"] if r["verdict"] == "SLOWER")
    assert row["a"]["kernels"] == ["triton_poi_k3"]
    assert row["low"] < row["ratio"] < row["high"]
    assert row["adjusted"] <= document["rules"]["alpha"]
    assert row["causes"]
    assert document["noise"]["source"] == "processes"
    (total,) = document["rollups"]
    assert (total["level"], total["kernels"], total["covered"]) == ("graph", 20, [1.0, 1.0])


@pytest.mark.usefixtures("two_runs")
def test_other_methods_are_incomparable_and_no_regression(harness: Command, results: Path) -> None:
    recorded(results, "20260103-000000-cccccccccccc", *kernels(2, k3=1.1), method="m/2")
    answer = harness("compare", A, "20260103")
    assert answer.status == 4, "nothing could be judged"
    assert "different methods of measuring: m/1 and m/2" in answer.out
    assert answer.out.startswith("NOTHING COULD BE JUDGED: 0 slower, 0 faster, 20 incomparable")
    assert "to settle" not in answer.out
    assert answer.out.count("different methods") == 1, "said once, not twenty times"
    assert harness("compare", A, "20260103", "--all").out.count("different methods") == 20


def test_compilers_side_by_side(harness: Command, results: Path) -> None:
    regions = tuple(
        RegionRecord(
            "g.r0", name, ms, sets=tuple(Samples(process=n, ms=(ms,) * 3) for n in range(3))
        )
        for name, ms in (("harness", 0.02), ("inductor", 0.06))
    )
    made = side(replace(graph(kernel("k", "a")), regions=regions)).run
    store.save(results, replace(made, id=A))
    answer = harness("compare", "harness", "inductor")
    assert "SLOWER g.r0" in table(answer)
    assert answer.out.startswith("inductor next to harness: 1 slower, 0 faster")
    assert "<failure" not in harness("compare", "harness", "inductor", "--junit").out
    again = harness("confirm", "harness", "inductor")
    assert again.status == 2
    assert "harness run --against COMPILER, then harness compare harness inductor" in again.err
    assert answer.status == 0, "a slower peer is no regression"


def test_an_unknown_side_is_wrong_usage(harness: Command, results: Path) -> None:
    store.save(results, run())
    answer = harness("compare", "latest", "nonsense")
    assert answer.status == 2
    assert "no run, commit, module file or compiler" in answer.err


@pytest.mark.usefixtures("two_runs")
def test_a_side_that_is_not_there_is_said_before_the_other_is_compiled(
    harness: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.cli.compare.commit_side", lambda *_: pytest.fail("compiled"))
    answer = harness("compare", "--static", "worktree", "nosuch")
    assert answer.status == 2 and "got: nosuch" in answer.err


def test_static_gates_without_times(harness: Command, results: Path) -> None:
    import triton

    for name, spills in (("20260105-000000-a", 0), ("20260106-000000-b", 16)):
        made = kernel("triton_poi_k", "a")
        known = replace(made, metrics={**made.metrics, "spills": spills})
        machine = replace(run().machine, triton=triton.__version__)
        recorded(results, name, known, machine=machine)
    answer = harness("compare", "--static", "20260105", "20260106")
    assert answer.status == 1
    assert "WORSE poi_k spills 0 → 16" in table(answer)
    assert answer.out.splitlines()[0] == "kernels: 1 WORSE; only in A: 0, only in B: 0"
    assert harness("compare", "--static", "20260106", "20260105").status == 0
    document = harness("compare", "--static", "20260105", "20260106", "--json").json()
    assert document["worse"] is True
    assert document["kernels"][0]["decided"] == "spills 0 → 16"


@pytest.mark.usefixtures("two_runs")
@pytest.mark.skipif(device.is_available(), reason="there is a GPU")
def test_confirm_without_a_gpu_is_a_clear_sentence(harness: Command) -> None:
    for arguments in (("confirm", A, B), ("compare", A, B, "--configs-from", "A")):
        answer = harness(*arguments)
        assert answer.status == 2, "a regression is another thing"
        assert "a GPU is needed" in answer.err
        assert answer.out == ""


def test_confirm_tells_what_it_measured(
    harness: Command, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "require", lambda: None)
    monkeypatch.setattr(confirming, "time_pairs", fake_pairs.time_pairs_here)
    for identifier, us in ((A, 20.0), (B, 21.0)):
        record = kernel("triton_poi_k0", "a", body=identifier)
        timed = replace(record, module=f"{record.module}# ms {us / 1000}\n")
        recorded(results, identifier, timed, *(_control(n) for n in range(9)))
    answer = harness("confirm", A, B, "--processes", "3", "-v")
    assert "s] taking the GPU, then compiling" in answer.err
    assert re.search(r"^SLOWER poi_k0 \+1\.\d\d 20\.", table(answer), re.MULTILINE)
    assert "timed interleaved on Fake GPU, 3 fresh processes" in answer.out
    assert answer.status == 1
    answer = harness("compare", A, B, "--configs-from", "b")
    assert f"both sides run in the configurations of {B}" in answer.out
    assert answer.status == 1
    assert harness("compare", A, B, "--configs-from", "nothing").status == 2


def _control(number: int) -> KernelRecord:
    record = kernel(f"triton_poi_c{number}", f"c{number}")
    return replace(record, module=f"{record.module}# ms 0.01\n")


def test_what_is_unsure_comes_with_the_command_that_settles_it(
    harness: Command, results: Path
) -> None:
    for identifier, ms in ((A, 0.0100), (B, 0.0103)):
        recorded(results, identifier, kernel("triton_poi_k", "a", ms=[ms], body=identifier))
    answer = harness("compare", A, B)
    assert answer.status == 4
    assert "one process on a side" in " ".join(answer.out.split())
    assert f"to settle the 1 UNSURE: harness confirm {A} {B}" in answer.out
    assert answer.out.count("harness confirm") == 1, "said once"


def spoilt(what: str, made: list[KernelRecord]) -> tuple[list[KernelRecord], dict[str, object]]:
    """``made`` with the fifth kernel, or the run, as no measurement leaves them."""
    bad, changes = made[4], {}
    first, *rest = bad.sets
    samples = {"NaN": float("nan"), "infinity": float("inf"), "zero": 0.0, "negative": -0.02}
    if what in ("too long", "too short"):
        time = 1e300 if what == "too long" else 1e-310
        bad = replace(bad, sets=tuple(replace(one, ms=(time,) * 3) for one in bad.sets))
    elif what in samples:
        bad = replace(bad, sets=(replace(first, ms=(0.02, samples[what], 0.02)), *rest))
    elif what == "one sample":
        bad = replace(bad, sets=(replace(first, ms=(0.02,)),))
    elif what == "constant":
        bad = replace(bad, sets=tuple(replace(one, ms=(0.02,) * 10) for one in bad.sets))
    elif what == "duplicate":
        return [*made, bad], {}
    elif what == "mixed methods":
        bad = replace(bad, sets=(replace(first, method="m/2"), *rest))
    elif what == "empty":
        return [], {}
    elif what == "another suite":
        changes = {"suite": "mine"}
    elif what == "a machine that lies":
        changes = {"machine": replace(side(graph(*made)).run.machine, gpu="NVIDIA B200")}
    return [*made[:4], bad, *made[5:]], changes


@pytest.mark.parametrize(
    ("what", "said", "judged"),
    [
        ("NaN", "kernel triton_poi_k4 of g: a sample is no number (nan)", True),
        ("infinity", "kernel triton_poi_k4 of g: a sample is no number (inf)", True),
        ("zero", "kernel triton_poi_k4 of g: a sample is no time (0 ms)", True),
        ("negative", "kernel triton_poi_k4 of g: a sample is no time (-0.02 ms)", True),
        ("too long", "kernel triton_poi_k4 of g: a sample is no time (1e+300 ms)", True),
        ("too short", "kernel triton_poi_k4 of g: a sample is no time (1e-310 ms)", True),
        ("one sample", "kernel triton_poi_k4 of g: there is one sample", True),
        ("constant", "kernel triton_poi_k4 of g: all 50 samples are 0.02 ms", True),
        ("duplicate", "kernel triton_poi_k4 of g: it is there twice", True),
        ("mixed methods", "of g: mixes methods of measuring", True),
        ("another suite", "are runs of different suites", True),
        ("empty", "holds no kernels", False),
        ("a machine that lies", "and was made on NVIDIA B200", False),
    ],
)
def test_what_a_file_should_not_hold_is_named_and_the_rest_is_judged(
    harness: Command, results: Path, what: str, said: str, judged: bool
) -> None:
    recorded(results, A, *kernels(1), suite="default")
    made, changes = spoilt(what, kernels(2, k3=0.9))
    recorded(results, B, *made, **{"suite": "default", **changes})
    answer = harness("compare", A, B)
    assert answer.status == 2
    text = " ".join(answer.out.split())
    assert said in text
    assert f"{B}.parquet" in text
    assert ("0 slower, 1 faster" in text) is judged
    assert len(harness("compare", A, B, "--json").json()["problems"]) == 1


@pytest.mark.parametrize("launches", [0, -3])
def test_a_kernel_that_is_launched_no_times_is_named(
    harness: Command, results: Path, launches: int
) -> None:
    recorded(results, A, *kernels(1))
    first, *rest = kernels(2)
    recorded(results, B, replace(first, launches=launches), *rest)
    answer = harness("compare", A, B)
    assert answer.status == 2
    said = f"kernel {first.name} of g: it is launched {launches} times"
    assert said in " ".join(answer.out.split())
    assert answer.err == ""


def test_what_is_wrong_with_many_kernels_is_folded(harness: Command, results: Path) -> None:
    recorded(results, A, *kernels(1))
    recorded(results, B, *(replace(k, sets=(replace(k.sets[0], ms=(0.02,)),)) for k in kernels(2)))
    answer = harness("compare", A, B)
    assert answer.status == 2
    shown = " ".join(answer.out.split()).count("of g: there is one sample")
    assert len(kernels(2)) > shown == 10
    assert f"and {len(kernels(2)) - 10} more (--all)" in answer.out
    assert "more (--all)" not in harness("compare", A, B, "--all").out


def test_what_is_broken_has_a_status_of_its_own(harness: Command, results: Path) -> None:
    made = kernels(1)
    recorded(results, A, *made)
    failed = replace(made[3], check=Check.FAILED, max_error=0.5)
    recorded(results, B, *made[:3], failed, *made[4:])
    answer = harness("compare", A, B)
    assert answer.status == 3
    assert "g: triton_poi_k3 fails its check (error 0.5) in B" in answer.out
    assert harness("compare", A, B, "--json").json()["broken"]


def test_an_error_of_the_command_is_no_regression(
    harness: Command, monkeypatch: pytest.MonkeyPatch, two_runs: None
) -> None:
    def fails(*_: object) -> None:
        raise ArithmeticError("singular")

    monkeypatch.setattr("harness.verdicts.comparing.compare", fails)
    assert harness("compare", A, B).status == 2
