from __future__ import annotations

import datetime as dt
import errno
import resource
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import NoDevice, RecordError, UsageError
from harness.history import nights, store
from harness.history.changes.waivers import Waiver
from harness.history.nights import Change, Light, Night
from harness.measure.noise.judge import Rules
from harness.records.lines import LineWriter
from harness.records.run import LibraryCall
from harness.report.night import openmetrics
from harness.runtime.compile import binary
from harness.runtime.module import config_from_dict
from harness.target import H100
from harness.verdicts import nightly
from harness.verdicts.comparing import Comparison, Side, compare
from harness.verdicts.night_plan import CONFIRM, CONTROLS
from harness.verdicts.night_record import as_judged
from harness.verdicts.why import Label, Why, of_kernel
from tests.history.kernels import CONFIG
from tests.verdicts.night_world import MACHINE, World, made, world
from tests.verdicts.test_sides import git

__all__ = ["world"]

text_string_to_metric_families = pytest.importorskip(
    "prometheus_client.openmetrics.parser"
).text_string_to_metric_families


def slow(world: World, number: int, ms: float, launches: int = 1) -> None:
    """Kernel ``number`` is other code that takes ``ms``."""
    new = made(f"k{number}", f"n{number}", ms, f"n{number} = 2")
    world.suite["g"][number] = (new, launches)


def test_an_unchanged_commit_is_green_and_times_nothing(world: World) -> None:
    world.start()
    night = world.night()
    assert (night.light, night.status) == (Light.GREEN, 0)
    assert night.counts == {"same": 12}
    assert not night.findings
    assert not world.examined
    assert not world.timed
    kept = store.load(world.results / MACHINE.key / f"{night.run}.parquet")
    (graph,) = kept.graphs
    assert all(kernel.config and kernel.ms is None for kernel in graph.kernels)
    assert kept.complete


def test_a_row_for_every_kernel_whatever_became_of_it(world: World) -> None:
    world.start()
    world.night()
    assert len(world.rows) == len(world.cases) == 12, "a green night's too"
    assert not any("could be timed" in line for line in world.lines)
    assert {(row["change"], round(row["old_us"], 3), row["new_us"]) for row in world.rows} == {
        ("same", 20.0, None)
    }
    slow(world, 3, 0.0204)
    world.night()
    assert [row["change"] for row in world.rows] == ["changed", *["same"] * 11]
    assert sorted(case.name for case in world.cases) == sorted(row["kernel"] for row in world.rows)
    assert not any("--all" in line for line in world.lines), "compare has that, a night not"
    assert len({row["kernel"] for row in world.rows}) == 12


def test_a_slower_kernel_is_red_after_it_was_confirmed(world: World) -> None:
    world.start()
    slow(world, 3, 0.0204, launches=1)
    night = world.night()
    assert night.status == 1
    assert night.light is Light.RED
    (found,) = night.regressions
    assert (found.graph, found.label, found.change) == ("g", "n3", Change.CHANGED)
    assert found.ratio == pytest.approx(1.02, abs=0.005)
    assert found.change_us == pytest.approx(0.4, abs=0.1)
    assert found.processes == CONFIRM
    assert found.evidence
    assert world.examined == ["k3"]
    assert len(world.timed) == 2, "detected, then confirmed"
    assert world.timed[0] == 12, "the changed kernel and all eleven others as controls"
    assert night.trust.controls == 11
    assert nights.load(nights.nights(world.results)[-1]) == night
    kept = store.load(world.results / MACHINE.key / f"{night.run}.parquet")
    assert kept.graphs[0].kernels[3].module == world.suite["g"][3][0].text


def test_the_cause_rests_on_what_the_night_measured(world: World) -> None:
    before = world.start()
    slow(world, 3, 0.021)
    found = world.night()
    after = store.load(store.find(world.results, found.run))
    recorded = compare(Side("a", before), Side("b", after), Rules())
    assert explain_one(recorded, "k3").label is Label.UNSURE
    one = explain_one(as_judged(recorded, found), "k3")
    assert one.label is Label.SOURCE
    assert one.ratio == pytest.approx(1.05, rel=0.01)
    other = replace(found, baseline="another run")
    assert as_judged(recorded, other) is recorded


def explain_one(found: Comparison, name: str) -> Why:
    (one,) = of_kernel(found, name)
    return one


def test_sums_are_slower_with_a_confirmed_kernel_in_them(world: World) -> None:
    world.suite = {g: [(made(f"{g}{n}", f"n{n}", 0.02), 1) for n in range(6)] for g in "gh"}
    world.start()
    world.suite["g"][2] = (made("g2", "n2", 0.03, "n2 = 2"), 1)
    assert world.night().status == nightly.REGRESSED
    sums = [line.split() for line in world.lines if " suite " in line or " graph g " in line]
    assert sums
    assert {words[0] for words in sums} == {"SLOWER"}
    assert not any("no further processes" in line for line in world.lines)


def test_a_faster_kernel_is_green(world: World) -> None:
    world.start()
    slow(world, 3, 0.019)
    night = world.night()
    assert night.status == 0
    assert night.light is Light.GREEN
    assert [f.label for f in night.findings if f.verdict == "FASTER"] == ["n3"]
    assert len(world.timed) == 1


def test_few_controls_of_many_by_the_commit(world: World) -> None:
    world.suite["g"] = [(made(f"k{n}", f"n{n}", 0.02), 1) for n in range(100)]
    world.start()
    slow(world, 3, 0.019)
    night = world.night()
    assert world.timed == [CONTROLS + 1]
    assert night.counts == {"same": 99, "changed": 1}


def test_a_renamed_variable_is_no_change(world: World) -> None:
    world.start()
    world.suite["g"][3] = (made("k3", "n3", 0.02, "other = 1"), 1)
    assert world.night().counts == {"same": 12}


def test_other_candidates_are_tuned_and_timed_if_another_is_chosen(world: World) -> None:
    world.start()
    world.suite["g"][3] = (made("k3", "n3", 0.021, candidates=128), 1)
    world.suite["g"][4] = (made("k4", "n4", 0.02, candidates=128), 1)
    world.tuned["k3"] = {"XBLOCK": 128, "num_warps": 4, "num_stages": 1}
    night = world.night()
    assert sorted(world.examined) == ["k3", "k4"]
    assert night.counts == {"same": 11, "retuned": 1}
    (found,) = night.regressions
    assert found.change is Change.RETUNED
    assert "XBLOCK 64 → 128" in found.cause


def test_a_changed_kernel_stays_in_its_configuration_where_none_is_faster(world: World) -> None:
    world.start()
    slow(world, 3, 0.02)
    world.suite["g"].append((made("k12", "n12", 0.02), 1))
    world.night()
    assert world.earlier == [("k3", (config_from_dict(CONFIG),)), ("k12", ())]


def test_a_machine_without_history_starts_one(world: World) -> None:
    night = world.night()
    assert (night.status, night.baseline) == (0, "")
    assert night.counts == {"new": 12}
    assert len(world.examined) == 12
    known = nights.read_baseline(world.results / MACHINE.key)
    assert known is not None
    assert known.run == night.run
    world.commit = "c" * 40
    again = world.night()
    assert again.baseline == night.run
    assert again.counts == {"same": 12}
    assert not world.timed


def test_a_first_night_of_a_changed_tree_is_no_baseline_and_says_so(world: World) -> None:
    said = "the tree differs from its commit: tonight's run is no baseline"
    for world.dirty in (True, False):
        assert "no earlier run of this machine to compare with" in world.night().notes
        none = nights.read_baseline(world.results / MACHINE.key) is None
        assert (said in world.said) is none is world.dirty


def test_a_new_toolchain_changes_everything(world: World) -> None:
    world.start()
    world.machine = replace(MACHINE, triton="4")
    night = world.night()
    assert night.counts == {"toolchain": 12}
    assert len(world.examined) == 12
    assert night.status == 4
    assert not world.timed
    assert "earlier Triton compiled is not in the cache" in night.findings[0].reason
    assert night.baseline_toolchain.differences(night.toolchain) == ("triton 3 → 4",)
    said = "the toolchain changed, so everything counts as changed: triton 3 → 4"
    assert said in world.lines


def test_a_new_toolchain_without_a_gpu_leaves_the_texts(world: World) -> None:
    world.machine = replace(MACHINE, key="cpu")
    world.start()
    world.gpu = False
    assert world.night().counts == {"same": 12}
    said = "the toolchain changed, so only texts are compared"
    assert any(line.startswith(said) for line in world.lines)


def test_the_binaries_that_the_old_toolchain_left_are_timed(world: World) -> None:
    world.start()
    world.machine = replace(MACHINE, triton="4")
    for module, _ in world.suite["g"][:10]:
        config = config_from_dict(CONFIG)
        name = binary.artifact(module.text, config, H100, (), "3")
        place = binary.path(world.results.parent / "cache", name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    night = world.night()
    assert world.timed == [10]
    assert world.triton == ["3"] * 10
    assert night.status == 0
    assert sorted({f.verdict for f in night.findings}) == ["INCOMPARABLE", "SAME"]


def test_a_new_driver_is_another_machine_compared_with_the_old_ones_baseline(world: World) -> None:
    world.start()
    world.machine = replace(MACHINE, key="fake-gpu-2", driver="2")
    night = world.night()
    assert night.machine == "fake-gpu-2"
    assert night.counts == {"toolchain": 12}
    assert "compared with the baseline of fake-gpu-1" in night.notes


def test_what_is_broken_is_said(world: World) -> None:
    world.start()
    slow(world, 3, 0.02)
    world.broken.add("k3")
    night = world.night()
    assert night.status == 3
    assert night.light is Light.RED
    assert "k3 fails its check" in night.broken[0]
    assert not world.timed


def test_a_graph_that_launches_more_is_slower(world: World) -> None:
    world.start()
    module, _ = world.suite["g"][3]
    world.suite["g"][3] = (module, 4)
    night = world.night()
    assert night.counts == {"same": 11, "launches": 1}
    (found,) = night.regressions
    assert found.label == "g (sum)"
    assert found.change_us == pytest.approx(60, rel=0.05)
    assert "launches 1 → 4" in found.cause


def test_a_new_kernel_makes_its_graph_slower(world: World) -> None:
    world.start()
    world.suite["g"].append((made("more", "m", 0.03), 1))
    night = world.night()
    assert night.counts == {"same": 12, "new": 1}
    (found,) = night.regressions
    assert found.change_us == pytest.approx(30, rel=0.05)


def test_new_library_calls_and_spills_are_listed(world: World) -> None:
    world.start()
    slow(world, 3, 0.02)
    world.suite["g"][3] = (made("k3", "n3", 0.02, "spill = 2"), 1)
    world.calls = (LibraryCall("aten.mm", 2, "a product"), LibraryCall("aten.mm", 1, "too long"))
    night = world.night()
    assert [(c.name, c.before, c.after) for c in night.library_calls] == [("aten.mm", 0, 3)]
    assert [(c.name, c.after) for c in night.spills] == [("k3", 8)]


def test_without_a_gpu_the_texts_are_compared(world: World) -> None:
    world.start()
    world.gpu = False
    assert world.night().status == 0, "nothing changed, so nothing had to be timed"
    slow(world, 3, 0.03)
    night = world.night()
    assert night.status == 5
    assert night.static
    assert night.light is Light.AMBER
    assert [f.label for f in night.findings] == ["n3"]
    assert any("no GPU here" in note for note in night.notes)
    assert not world.timed
    assert world.lines[0] == "AMBER: nothing was timed, 1 kernel undecided"
    at = world.lines.index("undecided:")
    assert world.lines[at + 1].startswith("  g/k3: "), "a person reads which kernels changed"
    assert "code" in world.lines[at + 1], "and what differs, though nothing was timed"
    static = f"static figures: harness compare --static {night.baseline} {night.run}"
    assert static in " ".join(world.lines)
    assert "nothing could be timed on both sides" not in world.lines, "the first line says it"


def test_new_kernels_alone_make_no_green_night_where_nothing_can_be_timed(world: World) -> None:
    world.start()
    world.gpu = False
    world.suite["new"] = [(made("k9", "n9", 0.02), 1)]
    night = world.night()
    assert (night.status, night.light) == (5, Light.AMBER)


def test_a_baseline_without_modules(world: World) -> None:
    run = world.start()
    bare = tuple(
        replace(g, kernels=tuple(replace(k, module="") for k in g.kernels)) for g in run.graphs
    )
    (world.results / MACHINE.key / f"{run.id}.parquet").unlink()
    store.save(world.results, replace(run, graphs=bare))
    with pytest.raises(UsageError, match="no modules"):
        world.night()


def test_a_repository_without_the_old_commits(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shallow clone: kernels are judged as ever, and the night says why it names no commit."""
    place = tmp_path / "clone"
    place.mkdir()
    git(place, "init", "-q")
    git(place, "commit", "-q", "--allow-empty", "-m", "all that the clone has")
    monkeypatch.chdir(place)
    world.start()
    slow(world, 3, 0.0204)
    world.commit = git(place, "rev-parse", "HEAD").strip()
    night = world.night()
    assert (night.light, night.status) == (Light.RED, nightly.REGRESSED)
    assert night.commits == ()
    (note,) = [one for one in night.notes if "the commits since the baseline" in one]
    assert "are not known" in note and "one of them unknown to git here" in note
    world.commit = ""
    assert any("and no commit, one of them unknown" in line for line in world.night().notes)
    assert "a" * 10 in note


def test_two_nights_at_once(world: World) -> None:
    world.start()
    with nights.one_at_a_time(world.results / MACHINE.key):
        with pytest.raises(UsageError, match="another night is in progress") as caught:
            world.night()
        assert "process" in caught.value.got
    world.night()


def test_a_lock_that_cannot_be_written_is_one(world: World) -> None:
    """Of a full disk the run's own file tells, with its name."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with nights.one_at_a_time(world.results), pytest.raises(UsageError):
            nights.one_at_a_time(world.results).__enter__()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_gpu_lost_while_kernels_are_examined(world: World) -> None:
    world.start()
    for number in range(4):
        slow(world, number, 0.02)
    world.lost_after = 2
    night = world.night()
    assert night.status == 2
    assert not night.complete
    assert any("the GPU was lost" in note for note in night.notes)
    assert len(night.unexamined) == 2, "they were timed"
    assert night.not_measured == ()
    assert nights.load(nights.nights(world.results)[-1]) == night


def test_a_gpu_lost_while_kernels_are_timed_keeps_what_it_had(world: World) -> None:
    world.start()
    slow(world, 3, 0.03)

    def gone() -> None:
        if len(world.timed) == 2:
            raise NoDevice("the GPU cannot be used")

    world.stop = gone
    night = world.night()
    assert night.status == 2
    (found,) = night.findings
    assert found.verdict == "UNSURE"
    assert "no further processes confirmed it" in found.reason


def test_green_nights_move_the_baseline_if_asked(world: World) -> None:
    run = world.start()
    slow(world, 3, 0.0195)
    night = world.night(accept_green=True)
    known = nights.read_baseline(world.results / MACHINE.key)
    assert known is not None
    assert known.run == night.run
    assert [one.run for one in known.earlier] == [run.id]
    slow(world, 4, 0.03)
    world.commit = "d" * 40
    red = world.night(accept_green=True)
    assert (red.baseline, red.status) == (night.run, 1)
    assert nights.read_baseline(world.results / MACHINE.key) == known


def test_graphs_that_nobody_asked_for_have_not_ended_and_stay_in_the_baseline(world: World) -> None:
    world.suite["h"] = [(made("k20", "n20", 0.02), 1)]
    run = world.start()
    del world.suite["h"]
    night = world.night("g", accept_green=True)
    assert (night.counts, night.light) == ({"same": 12}, Light.GREEN)
    assert "1 graph of the baseline not asked for" in night.notes
    known = nights.read_baseline(world.results / MACHINE.key)
    assert known is not None
    assert known.run == run.id
    assert world.night().counts == {"same": 12, "ended": 1}


def test_a_waived_slowdown_is_no_regression_up_to_its_bound_and_last_day(world: World) -> None:
    world.start()
    slow(world, 3, 0.021)
    meant = Waiver(1, "", "b" * 40, "ms", "g/n3", "on purpose", 0.08, dt.date(2999, 1, 1))
    night = world.night(waivers=(replace(meant, bound=0.01), meant, replace(meant, reason="again")))
    assert (night.status, night.light) == (0, Light.GREEN)
    (found,) = night.findings
    assert (found.verdict, found.waived) == ("SLOWER", "on purpose"), "by the first that holds"
    assert "waived:" in world.lines
    assert not any(case.failure for case in world.cases)
    world.commit = "c" * 40
    for late in (replace(meant, bound=0.01), replace(meant, until=dt.date(2020, 1, 1)), meant):
        night = world.night(waivers=(late,))
        assert night.status == 1


def test_the_answer_says_what_to_do(world: World) -> None:
    world.start()
    slow(world, 3, 0.021)
    night = world.night()
    assert world.lines[0].startswith("RED: 1 confirmed regression, +")
    (why,) = [line for line in world.lines if line.startswith("why: harness why k3 ")]
    assert why.endswith(f" --graph {night.findings[0].graph}"), "other graphs have a k3, too"
    (failed,) = [case for case in world.cases if case.failure]
    assert "SLOWER" in failed.failure
    figures = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(openmetrics(night))
        for sample in family.samples
    }
    labels = (("machine", MACHINE.key), ("suite", "default"))
    assert figures["harness_night_status", *labels] == 1
    assert figures["harness_night_kernels", ("change", "same"), *labels] == 11
    slower = ("graph", "g"), ("kernel", "n3"), labels[0], ("of", "kernel"), labels[1]
    assert figures["harness_night_slower_seconds", *slower] == pytest.approx(1e-6, rel=0.1)


def test_a_full_disk_loses_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.start()
    slow(world, 3, 0.021)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(LineWriter, "append", full)
    with pytest.raises(RecordError, match="the disk is full"):
        world.night()
    monkeypatch.undo()


def test_a_disk_that_fills_up_in_the_middle(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.start()
    slow(world, 3, 0.021)

    def full(*_: object, **__: object) -> None:
        raise RecordError("a file could not be written: the disk is full", "/results")

    with monkeypatch.context() as patched:
        real = nights.save
        calls: list[object] = []

        def save(results: Path, night: Night) -> Path:
            calls.append(results)
            return full() if len(calls) == 1 else real(results, night)  # type: ignore[func-returns-value, return-value]

        patched.setattr(nights, "save", save)
        night = world.night()
    assert night.status == 1, "what was found is said all the same"
    assert not night.complete
    (said,) = world.said
    assert "the disk is full; the night is in " in said
    spare = Path(said.rpartition(" in ")[2])
    (kept,) = nights.nights(spare)
    assert nights.load(kept) == night
    shutil.rmtree(spare)
