"""The first page: a night's findings, and what the history adds."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import harness.history.nights as nights_of_machines
from harness.history import store
from harness.history.nights import Change, Count, Finding, Night, NightCommit, Trust
from harness.history.schema import series_keys
from harness.records.run import Run
from harness.report.site.data import Site
from harness.report.site.tonight import first_page
from tests.report.site.conftest import World


def of_tonight(run: Run, before: Run, findings: Sequence[Finding]) -> Night:
    return Night(
        "20261014-040000",
        run.machine.key,
        run.created,
        run.id,
        run.commit,
        baseline=before.id,
        baseline_commit=before.commit,
        commits=(NightCommit(run.commit, "the subject of the night", "Emmy N."),),
        trust=Trust("NVIDIA H200", controls=40, flagged=("a/b", "c/d"), offset=0.004),
        findings=tuple(findings),
        counts={"same": 14, "changed": 2},
        not_measured=("llama_block_backward/late: the time given was over",),
        library_calls=(Count("llama_block_forward", "aten.sort.default", 0, 2, "too long"),),
        resolved=0.011,
        suite_us=1200.0,
    )


def test_a_model_outside_the_comparison_is_not_called_the_same(world: World) -> None:
    whole, part = world.runs[-1], replace(world.runs[-1], graphs=world.runs[-1].graphs[:0])
    night = of_tonight(whole, world.runs[-2], ())
    site = Site("m", (), (), (), (), (), (), whole)
    assert first_page(site, night).since_last == {"llama_block": 0.0}
    assert first_page(replace(site, newest=part), night).since_last == {}
    findings = tuple(
        Finding(graph.name, "", kernel.name, Change.NEW, change_us=3.0)
        for graph in whole.graphs[:1]
        for kernel in graph.kernels
    )
    gone = Finding("another_model_forward", "", "k", Change.ENDED, change_us=-3.0)
    night = replace(night, findings=(*findings, gone))
    assert first_page(site, night).since_last == {}, "it has no time last night"


def test_what_takes_less_in_all_launches_is_not_suspected(world: World) -> None:
    """A kernel that took in what 28 launches did takes longer than one of them."""
    whole = world.runs[-1]
    took_in = Finding("g", "", "k", Change.CHANGED, low=1.16, verdict="UNSURE", change_us=-36.6)
    site = Site("m", (), (), (), (), (), (), whole)
    for finding, worse in ((took_in, 0), (replace(took_in, change_us=3.0), 1)):
        night = of_tonight(whole, world.runs[-2], (finding,))
        assert len([a for a in first_page(site, night).actions if a.kind == "suspected"]) == worse


def test_a_recorded_night_is_what_the_first_page_shows(world: World, tmp_path: Path) -> None:
    """Its findings, not what a comparison of the two newest runs would say."""
    run, before = world.runs[-1], world.runs[-2]
    keys = series_keys(
        (run.graphs[0].name, k.region, "\n".join(k.origins), k.name) for k in run.graphs[0].kernels
    )
    kernel = run.graphs[0].kernels[3]
    slower = Finding(
        run.graphs[0].name,
        keys[3],
        "the label",
        Change.CHANGED,
        f"{kernel.name} + triton_another",
        old_us=10.0,
        new_us=14.0,
        ratio=1.4,
        low=1.38,
        high=1.42,
        launches=3,
        change_us=12.0,
        verdict="SLOWER",
        confirmed=True,
        cause="; ".join(["the cause of the night", *(f"figure {n}" for n in range(12))]),
        evidence=("registers 32 to 255, figure 5",),
    )
    waived = replace(slower, kernel="triton_known", series="", waived="softmax in float32")
    night = of_tonight(run, before, (slower, waived))
    shutil.copytree(world.results, tmp_path / "results")
    nights_of_machines.save(tmp_path / "results", night)
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    text = mine.text("index.html")
    for said in (
        "2 confirmed regressions, +23 µs",  # and the one that the history shows
        "14 same, 2 changed; tonight could resolve about ±1.1 %",
        "the cause of the night",
        "registers 32 to 255",
        "2 of 40 flagged",
        "the time given was over",
        "aten.sort.default 0 → 2: too long",
        "softmax in float32",
    ):
        assert said in text
    assert "figure 3; …</p>" in text and "<li>figure 4</li>" in text, "the rest is evidence"
    assert "<li>figure 5</li>" not in text, "the evidence says it"
    called = kernel.name.removeprefix("triton_")
    assert f" {called}</code>" in text, "one that confirm finds"
    page = next(
        p for p in mine.site.glob("kernels/*") if f'KERNEL = \\"{kernel.name}' in p.read_text()
    )
    assert f'<a href="kernels/{page.name}">' in text


def test_a_night_without_a_gpu_shows_what_changed_by_text(world: World, tmp_path: Path) -> None:
    changed = Finding("g", "", "k", Change.CHANGED, verdict="INCOMPARABLE", cause="registers 1 → 2")
    night = replace(of_tonight(world.runs[-1], world.runs[-2], (changed,)), static=True)
    shutil.copytree(world.results, tmp_path / "results")
    nights_of_machines.save(tmp_path / "results", night)
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    _, _, shown = mine.text("index.html").partition('<details class="fold" open>')
    assert re.search(f"(?s)g/k: registers 1 → 2.*--static {night.baseline} {night.run}", shown)


def test_what_could_not_be_judged_stands_below_its_reason(world: World, tmp_path: Path) -> None:
    """A run of one process a side has the same reason for each of hundreds of kernels."""
    ones = [
        Finding("g", "", f"k{n}", Change.CHANGED, verdict="UNSURE", ratio=1.0, reason=reason)
        for n, reason in enumerate(("one process", "no clock", "one process", ""))
    ]
    night = of_tonight(world.runs[-1], world.runs[-2], ones)
    shutil.copytree(world.results, tmp_path / "results")
    nights_of_machines.save(tmp_path / "results", night)
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    folds = re.findall(
        r"(?s)<summary>Not judged: (.*?) <span.*?<ul(.*?)</ul>", mine.text("index.html")
    )
    found = {reason: re.findall(r"g/(k\d): 1.000×", listed) for reason, listed in folds}
    assert found == {"it may be noise": ["k3"], "no clock": ["k1"], "one process": ["k0", "k2"]}


def test_a_night_of_an_older_run_is_not_shown(world: World, tmp_path: Path) -> None:
    shutil.copytree(world.results, tmp_path / "results")
    old = world.runs[-2]
    night = Night("20261013-040000", old.machine.key, old.created, old.id, counts={"gone": 77})
    nights_of_machines.save(tmp_path / "results", night)
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    assert "77 gone" not in mine.text("index.html")


def test_what_the_history_shows_costs_besides_a_sum_of_tonight(
    world: World, tmp_path: Path
) -> None:
    graph = world.runs[-1].graphs[0].name
    more = Finding(graph, "", f"{graph} (sum)", Change.LAUNCHES, change_us=12.0)
    night = of_tonight(*world.runs[:-3:-1], [replace(more, verdict="SLOWER", confirmed=True)])
    shutil.copytree(world.results, tmp_path / "results")
    nights_of_machines.save(tmp_path / "results", night)
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    assert "2 confirmed regressions, +23 µs" in mine.text("index.html")


def test_a_faster_sum_has_the_improvements_of_its_kernels(world: World, tmp_path: Path) -> None:
    graph = world.runs[-1].graphs[0].name
    less = Finding(graph, "", f"{graph} (sum)", Change.LAUNCHES, change_us=-12.0, verdict="FASTER")
    kernel = replace(less, label="label", kernel="k", change_us=-5.0)
    shutil.copytree(world.results, tmp_path / "results")
    nights_of_machines.save(tmp_path / "results", of_tonight(*world.runs[:-3:-1], [less, kernel]))
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    assert '<span class="tag faster">2</span> -12 µs' in mine.text("index.html")


def test_the_first_page_of_a_night_of_thousands_stays_small(world: World, tmp_path: Path) -> None:
    """Where a toolchain makes everything slower, or the same by another code."""
    slower = Finding(
        "g", "", "label", Change.TOOLCHAIN, "k", ratio=1.4, change_us=1.0, verdict="SLOWER"
    )
    same = replace(slower, change=Change.CHANGED, verdict="SAME")
    found = [replace(slower, kernel=f"slower_{n}", confirmed=True) for n in range(3000)]
    found += [replace(same, kernel=f"same_{n}") for n in range(3000)]
    shutil.copytree(world.results, tmp_path / "results")
    nights_of_machines.save(tmp_path / "results", of_tonight(*world.runs[:-3:-1], found))
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    text = mine.text("index.html")
    assert len(text.encode()) < 500_000
    assert "3001 confirmed regressions" in text, "and the one that the history shows"
    assert "and 2801 more" in text
    assert "and 2800 more" in text, "of the same time"


def test_a_model_takes_today_what_the_night_measured(world: World, tmp_path: Path) -> None:
    """A night times what changed: the rest of a model was measured with the baseline."""
    shutil.copytree(world.results, tmp_path / "results")
    before = world.runs[-1]
    untimed = before.mapped(lambda _, k: replace(k, ms=None, sets=()))
    tonight = replace(
        untimed, id="20261020-000000-dddddddddddd", created="2026-10-20T00:00:00+00:00"
    )
    tonight = replace(tonight, commit="d" * 40)
    store.save(tmp_path / "results", tonight)
    whole = 1000 * sum(k.ms * k.launches for g in before.graphs for k in g.kernels if k.ms)
    graph = before.graphs[0].name
    found = Finding(graph, "", "label", Change.CHANGED, "k", change_us=whole, verdict="UNSURE")
    nights_of_machines.save(tmp_path / "results", of_tonight(tonight, before, [found]))
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    (row,) = re.findall(r">llama_block</a></td>.*?</tr>", mine.text("index.html"), re.DOTALL)
    today, last = re.findall(r'<td class="n"[^>]*>([^<]*)</td>', row)[:2]
    assert float(today) == pytest.approx(2 * whole, rel=0.01)
    assert last == "+100.0 %"


def test_a_night_that_cannot_be_read_is_noted(world: World, tmp_path: Path) -> None:
    shutil.copytree(world.results, tmp_path / "results")
    run = world.runs[-1]
    path = nights_of_machines.save(
        tmp_path / "results", Night("20261014-050000", run.machine.key, run.created, run.id)
    )
    path.write_bytes(path.read_bytes()[:60])
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    assert "20261014-050000.json: a night&#39;s file cannot be read" in mine.text("index.html")


def test_the_headline_does_not_depend_on_what_was_measured_last(
    world: World, tmp_path: Path
) -> None:
    """After a red night somebody makes one at an older commit: the red one is still shown."""
    shutil.copytree(world.results, tmp_path / "results")
    run, before = world.runs[-1], world.runs[-2]
    nights_of_machines.save(tmp_path / "results", of_tonight(run, before, ()))
    older = replace(world.runs[-4], id="20261020-000000-aaaaaaaaaaaa", created="2026-10-20T00:00Z")
    store.save(tmp_path / "results", older)
    nights_of_machines.save(
        tmp_path / "results",
        Night("20261020-010000", older.machine.key, older.created, older.id, counts={"same": 77}),
    )
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    text = mine.text("index.html")
    assert "14 same, 2 changed; tonight could resolve about ±1.1 %" in text
    assert "77 same" not in text
