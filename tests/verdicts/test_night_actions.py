"""What a person and other programs get of a night: costs, commands, waivers, tests; where a whole
graph became slower, too."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from harness.history.changes import waivers
from harness.history.nights import Finding, Light, Night, cost
from harness.measure.noise.judge import Verdict
from harness.report.night import openmetrics
from harness.report.site.data import Site
from harness.report.site.tonight import first_page
from harness.verdicts import nightly
from harness.verdicts.comparing import Comparison
from tests.verdicts.night_world import MACHINE, World, made, world

__all__ = ["world"]
text_string_to_metric_families = pytest.importorskip(
    "prometheus_client.openmetrics.parser"
).text_string_to_metric_families


def both(world: World) -> Night:
    """A kernel of 20 µs takes 10 more, and there is a new one of 50."""
    world.suite["g"][3] = (made("k3", "n3", 0.03, "n3 = 2"), 1)
    world.suite["g"].append((made("more", "m", 0.05), 1))
    return world.night()


def offered(world: World) -> str:
    """The line of the file of waived changes that the night offers."""
    (line,) = [line for line in world.lines if line.startswith("waive, in acknowledged.txt: ")]
    return line.partition(": ")[2]


def test_a_kernel_of_a_slower_sum_costs_nothing_besides(world: World) -> None:
    before = world.start()
    night = both(world)
    assert [f.label for f in night.regressions] == ["g (sum)", "n3"]
    assert cost(night.regressions) == pytest.approx(60, rel=0.01)
    assert world.lines[0].startswith("RED: 2 confirmed regressions, +60 µs, 20 % of the suite")
    page = first_page(Site("m", (), (), (), (), (), (), before), night)
    assert page.headline == "2 confirmed regressions, +60 µs, 20 % of the suite"
    assert page.since_last["g"] == pytest.approx(60, rel=0.01)


def test_commands_name_the_graph_of_a_sum(world: World) -> None:
    before = world.start()
    night = both(world)
    assert f"why: harness why g {before.id} {night.run} --graph g" in world.lines
    page = first_page(Site("m", (), (), (), (), (), (), before), night)
    assert page.actions[0].confirm == f"harness confirm {'a' * 12} {'b' * 12} g"


def test_the_lines_that_a_night_offers_waive_it(world: World, tmp_path: Path) -> None:
    world.start()
    night, file, lines = both(world), tmp_path / "acknowledged.txt", []
    for left in (1, 0):
        lines.append(offered(world))
        file.write_text("\n".join(lines))
        night = world.night(waivers=waivers.read(file))
        assert len(night.regressions) == left
        assert any(case.failure for case in world.cases) == bool(left)
    assert (night.light, night.status) == (Light.GREEN, 0)
    assert any(line.endswith("1 waived") for line in world.lines)
    assert not any("Worth a look" in line for line in world.lines)
    assert [re.sub(r"up-to=\d+%", "up-to", line) for line in lines] == [
        "bbbbbbbbbb ms g/ up-to why it is accepted",
        "bbbbbbbbbb ms g/n3 up-to why it is accepted",
    ]


def test_a_sum_that_is_slower_for_the_sake_of_a_waived_kernel_fails_no_test(
    world: World, tmp_path: Path
) -> None:
    world.start()
    world.suite["g"][3] = (made("k3", "n3", 0.06, "n3 = 2"), 1)
    world.night()
    assert [case.name for case in world.cases if case.failure]
    file = tmp_path / "acknowledged.txt"
    file.write_text(offered(world))
    night = world.night(waivers=waivers.read(file))
    assert night.light is Light.GREEN
    assert not [case.name for case in world.cases if case.failure]


def test_a_waived_sum_names_what_else_looks_slower(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[Comparison, list[Finding]]] = []
    real = nightly._without_waived
    monkeypatch.setattr(nightly, "_without_waived", lambda *both: given.append(both) or real(*both))
    world.start()
    world.suite["g"][3] = (made("k3", "n3", 0.06, "n3 = 2"), 1)
    world.suite["g"][5] = (made("k5", "n5", 0.0201, "n5 = 2"), 1)
    world.night()
    ((found, findings),) = given
    for doubted, low in ((True, 1.001), (False, 0.999)):
        judged = {
            "k3": {"waived": "on purpose"},
            "k5": {"verdict": "UNSURE", "confirmed": False, "low": low},
        }
        changed = [replace(one, **judged.get(one.kernel, {})) for one in findings]
        (graph,) = [one for one in real(found, changed).rollups if one.level == "graph"]
        assert graph.verdict is Verdict.UNSURE
        assert graph.work == ("waived: k3", *(["not confirmed: k5"] if doubted else []))


def test_metrics_say_which_figures_hold_others(world: World) -> None:
    world.start()
    night = both(world)
    families = text_string_to_metric_families(openmetrics(night))
    every = [one for family in families for one in family.samples]
    costs = {
        (one.labels["of"], one.labels["graph"], one.labels["kernel"]): 1e6 * one.value
        for one in every
        if one.name == "harness_night_slower_seconds"
    }
    assert costs == {
        ("graph", "g", ""): pytest.approx(60, rel=0.01),
        ("kernel", "g", "n3"): pytest.approx(10, rel=0.01),
    }
    (total,) = [one.value for one in every if one.name == "harness_night_regression_seconds"]
    assert 1e6 * total == pytest.approx(60, rel=0.01)


def test_a_night_of_no_commit_offers_no_line(world: World) -> None:
    """None would be read: a waiver names a commit."""
    before, world.commit = world.start(), ""
    night = both(world)
    assert night.regressions and not any(line.startswith("waive") for line in world.lines)
    page = first_page(Site("m", (), (), (), (), (), (), before), night)
    assert {action.waive for action in page.actions} == {""}


def test_a_sum_is_not_waived_with_one_of_its_regressions(world: World, tmp_path: Path) -> None:
    world.suite["h"] = [(made("k0", "n0", 0.02), 1)]
    world.start()
    world.suite["g"][3] = (made("k3", "n3", 0.06, "n3 = 2"), 1)
    world.suite["h"].append((made("more", "m", 0.05), 1))
    night, file = world.night(), tmp_path / "acknowledged.txt"
    file.write_text(*(f.waiver(night.commit) for f in night.regressions if f.label == "n3"))
    night = world.night(waivers=waivers.read(file))
    assert [one.label for one in night.regressions] == ["h (sum)"]
    failing = {case.name.split()[0] for case in world.cases if case.failure}
    assert failing == {"graph", "suite"}


def test_a_new_kernel_is_timed_every_night_until_it_is_accepted(world: World) -> None:
    """Nothing in the baseline does its work, so no pair is timed in its place."""
    world.start()
    for number in range(3):
        if not number:
            world.suite["g"].append((made("more", "m", 0.05), 1))
        night = world.night()
        assert night.status == 1, number
        assert cost(night.regressions) == pytest.approx(50, rel=0.01)


def test_the_share_of_the_suite_does_not_depend_on_earlier_nights(world: World) -> None:
    world.start()
    world.suite["g"][3] = (made("k3", "n3", 0.03, "n3 = 2"), 1)
    first, second = world.night(), world.night()
    assert first.suite_us == pytest.approx(250, rel=0.01)
    assert second.suite_us == pytest.approx(250, rel=0.01)


def test_a_test_for_every_kernel_of_the_same_name_every_night(world: World) -> None:
    """Whether it was a control or not; what is new passes only if it was measured."""
    world.suite["g"] = [(made(f"triton_k{n}", f"n{n}", 0.02), 2) for n in range(12)]
    world.start()
    world.night()
    names = [case.name for case in world.cases]
    assert sorted(names) == sorted(f"k{n} ×2" for n in range(12))
    world.suite["g"][3] = (made("triton_k3", "n3", 0.03, "n3 = 2"), 2)
    world.suite["g"].append((made("triton_more", "m", 0.05), 1))
    world.night(minutes=1e-6)
    skipped = {case.name: case.skipped for case in world.cases if case.skipped}
    assert skipped == {"k3 ×2": "not timed before the end", "more": "not measured"}
    world.night()
    assert sorted(c.name for c in world.cases if c.suite == "g") == sorted([*names, "more"])
    assert {case.name for case in world.cases if case.failure} == {"k3 ×2"}
    world.broken = {"triton_more"}
    world.commit = "c" * 40
    world.night()
    (one,) = [case for case in world.cases if case.name == "more"]
    assert one.skipped == "fails its check"


def test_a_run_file_that_cannot_be_read_is_passed_over_and_named(world: World) -> None:
    """It is no reason to have no night: what it knew is found out again."""
    world.start()
    (world.results / MACHINE.key / "20260102-000000-torn.parquet").write_bytes(b"PAR1 torn")
    world.suite["g"][3] = (made("k3", "n3", 0.03, "n3 = 2"), 1)
    night = world.night()
    assert (night.status, [one.label for one in night.regressions]) == (1, ["n3"])
    assert [note for note in night.notes if "passed over: 20260102-000000-torn.parquet: " in note]


def test_a_changed_kernel_whose_binary_is_gone_says_that_and_is_counted_once(world: World) -> None:
    world.start()
    world.suite["g"][3] = (made("k3", "n3", 0.03, "n3 = 2"), 1)
    world.machine = replace(MACHINE, triton="9")
    night = world.night()
    assert {one.reason for one in night.findings} == {nightly._LACKING}
    assert (len(night.unjudged), night.not_measured) == (12, ())
    assert world.lines[0] == "AMBER: no confirmed regression, 12 kernels undecided"


def test_what_was_not_reached_is_not_undecided_as_well(world: World) -> None:
    world.start()
    world.suite["g"][3] = (made("k3", "n3", 0.03, "n3 = 2"), 1)
    night = world.night(minutes=1e-6)
    assert (night.unjudged, night.not_measured) == ((), ("g/k3",))
    assert "undecided" not in world.lines[0]
