"""The site of a made-up history, read as files."""

from __future__ import annotations

import errno
import importlib.util
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from harness.errors import UsageError
from harness.files import slug
from harness.history import nights as nights_of_machines
from harness.history import store
from harness.history.nights import Change, Finding, Night
from harness.history.renaming import under
from harness.history.schema import identities
from harness.records.names import short
from harness.records.run import GraphRecord, Run
from tests.history.examples import KERNEL
from tests.history.examples import run as example
from tests.report.site import nights
from tests.report.site.conftest import World


class Links(HTMLParser):
    """What a page points at, and the anchors that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.anchors.add(str(given["id"]))
        for name in ("href", "src"):
            target = given.get(name)
            if target and not target.startswith("data:"):
                self.targets.append(target)


def links(page: Path) -> Links:
    """What a page points at; of a kernel's what its record does."""
    found = Links()
    text = page.read_text(encoding="utf-8")
    found.feed(text)
    if page.parent.name == "kernels":
        shown = record_of(text)
        found.feed(shown["changes"])
        found.targets += [shown["place"][0][1], *(other for other, _ in shown["others"])]
        found.anchors |= {"module", *(["diff"] if shown["diff"] else [])}
    return found


def record_of(text: str) -> Any:
    """The record in a kernel's page."""
    _, mark, rest = text.partition('<script id="kernel" type="application/json">')
    assert mark
    return json.loads(rest.split("</script>")[0])


def planted(world: World) -> str:
    """The page of the kernel that became slower."""
    kernel = world.runs[-1].graphs[0].kernels[nights.SLOWER[1]]
    (page,) = [
        p
        for p in world.site.glob("kernels/*.html")
        if f'KERNEL = \\"{kernel.name}' in p.read_text() and "llama-block-forward" in p.name
    ]
    return f"kernels/{page.name}"


def test_the_first_page_names_the_planted_regression(world: World) -> None:
    text = world.text("index.html")
    kernel = world.runs[-1].graphs[0].kernels[nights.SLOWER[1]]
    assert "1 confirmed regression" in text
    assert text.index(kernel.name.removeprefix("triton_")) < text.index("The machine")
    first_bad = world.commits[-2]
    assert first_bad[:10] in text
    assert nights.SUBJECTS[(len(world.commits) - 2) % 5] in text
    assert "num_warps 4 → 16" in text
    assert planted(world) in text
    assert f"harness confirm {world.commits[-3][:12]} {first_bad[:12]}" in text


def test_the_first_page_says_what_tonight_brought(world: World) -> None:
    text = world.text("index.html")
    assert "New library calls" in text
    assert "aten.cumsum.default 0 → 2" in text
    assert "New register spills" in text
    assert "0 → 16 bytes a thread" in text
    assert "Inductor</th>" in text


def test_a_kernels_page_has_all_that_is_known_of_it(world: World) -> None:
    shown = record_of(world.text(planted(world)))
    assert all(shown[part] for part in ("figures", "mix", "nodes", "trials", "changes"))
    text = "\n".join(shown["diff"]["lines"])
    assert "-    tmp0 = tl.load" in text, "the old code, in the diff"
    assert "+    value0 = tl.load" in text
    assert "value0 = tl.load" in shown["module"][0]
    assert [mark["style"] for mark in shown["history"]["chart"]["marks"]] == ["regression"]


def test_a_change_in_a_sum_names_its_part(world: World) -> None:
    """Nine percent of one graph are not nine percent of the model."""
    (page,) = (p for p in world.site.glob("models/*.html") if "llama" in p.name)
    labels = re.findall(r'"text": ?"([^"]*%[^"]*)"', page.read_text())
    assert labels[0].startswith("llama_block_forward "), labels


def test_every_link_leads_to_a_file_and_an_anchor_of_it(world: World) -> None:
    known = {page: links(page) for page in world.site.rglob("*.html")}
    assert len(known) > 20
    for page, found in known.items():
        for target in found.targets:
            place, _, anchor = unquote(target).partition("#")
            aim = (page.parent / place).resolve() if place else page
            assert aim.is_file(), f"{page.name}: {target}"
            if anchor and aim.suffix == ".html":
                assert anchor in known[aim].anchors, f"{page.name}: {target}"


def test_nothing_is_loaded_from_elsewhere(world: World) -> None:
    for page in world.site.rglob("*.html"):
        assert all("//" not in target for target in links(page).targets)


def test_made_again_only_what_changed_is_written(world: World, tmp_path: Path) -> None:
    mine = replace(world, site=tmp_path / "site")
    shutil.copytree(world.site, mine.site)
    times = {page: page.stat().st_mtime_ns for page in mine.site.rglob("*") if page.is_file()}
    again = json.loads(mine.report("--json").stdout)
    assert again["written"] == 0
    assert times == {page: page.stat().st_mtime_ns for page in times}
    gone = mine.site / "kernels" / "gone.html"
    gone.write_text("old")
    others = mine.site / "CNAME"
    others.write_text("a person's")
    manifest = mine.site / ".harness-site.json"
    listed = [*json.loads(manifest.read_text()), "kernels/gone.html"]
    manifest.write_text(json.dumps(listed))
    (mine.site / "index.html").unlink()
    again = json.loads(mine.report("--json").stdout)
    assert (again["written"], again["removed"]) == (1, 1)
    assert others.exists()
    assert not gone.exists()


def test_a_disk_that_fills_up_in_the_middle(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence, and the next report goes on in the folder and leaves no half page."""
    mine, real = replace(world, site=tmp_path / "site"), Path.write_bytes

    def full(self: Path, content: Any) -> int:
        if self.name.startswith("kernels"):
            real(self, content[:100])
            raise OSError(errno.ENOSPC, "No space left on device", str(self))
        return real(self, content)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        done = mine.report()
    assert done.exit_code == 1
    assert "the disk is full" in str(done.exception)
    assert mine.report().exit_code == 0
    assert {p.name: p.read_bytes() for p in mine.site.rglob("*") if p.is_file()} == {
        p.name: p.read_bytes() for p in world.site.rglob("*") if p.is_file()
    }


def test_a_manifest_cannot_remove_what_lies_outside(world: World, tmp_path: Path) -> None:
    mine = replace(world, site=tmp_path / "site")
    shutil.copytree(world.site, mine.site)
    (tmp_path / "precious").write_text("mine")
    manifest = mine.site / ".harness-site.json"
    listed = ["../precious", str(tmp_path / "precious")]
    manifest.write_text(json.dumps([*json.loads(manifest.read_text()), *listed]))
    assert mine.report().exit_code == 0
    assert (tmp_path / "precious").exists()


def test_a_folder_of_something_else_is_left_alone(world: World, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="did not write"):
        raise replace(world, site=tmp_path).report().exception


def test_what_files_say_is_text(world: World, tmp_path: Path) -> None:
    """Names and reasons with markup, escape sequences and a script's end."""
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\u202e"
    kernel = replace(
        KERNEL, name=f"triton_{evil}", origins=(evil,), reason=evil, module=f"{evil}\n"
    )
    graph = GraphRecord(f"g{evil}", (), (kernel,))
    run: Run = replace(example(), dirty=False, commit=evil, suite=evil, graphs=(graph,))
    run = replace(run, machine=replace(run.machine, gpu=evil, driver=evil), target=evil)
    store.save(tmp_path / "results", run)
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    done = mine.report("--order", "time")
    assert done.exit_code == 0, done.output
    for page in [*mine.site.rglob("*.html"), mine.site / "assets/search.js"]:
        text = page.read_text(encoding="utf-8")
        assert "<script>alert" not in text or page.suffix == ".js"
        assert "<img" not in text or page.suffix == ".js"
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_a_first_run_has_a_page(world: World, tmp_path: Path) -> None:
    store.save(tmp_path / "results", world.runs[0])
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    first, history = mine.text("index.html"), mine.text("history.html")
    assert "First measurement" in first
    slowest = max(
        (k for g in world.runs[0].graphs for k in g.kernels), key=lambda k: (k.ms or 0) * k.launches
    )
    table = first.split("Where the time goes")[1].split("</tbody>")[0]
    assert table.index(short(slowest.name)) < table.index("</tr>", table.index("<tbody>"))
    assert "one measured commit" in history
    assert 'class="chart"' not in history
    (page, *_) = sorted(mine.site.glob("kernels/*.html"))
    assert record_of(page.read_text())["history"]["one"]


def test_history_and_coverage_begin_with_what_was_measured_most(
    world: World, tmp_path: Path
) -> None:
    kernel = world.runs[0].graphs[0].kernels[0]
    for number, run in enumerate(world.runs[:3]):
        more = (GraphRecord("a_pattern", kernels=(kernel,)),) if number < 2 else ()
        store.save(tmp_path / "results", replace(run, graphs=(*more, *run.graphs)))
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    for page in ("history.html", "coverage.html"):
        models = re.findall(r'href="models/([^."]*)', mine.text(page))
        assert models[-1] == "a-pattern" and len(models) > 1


def test_an_interrupted_run_says_why_it_is_no_history(world: World, tmp_path: Path) -> None:
    store.save(tmp_path / "results", replace(world.runs[0], complete=False))
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    assert "the run was interrupted" in mine.text("history.html")
    assert "interrupted" in mine.text("index.html")


def test_each_machine_has_its_pages_and_links_to_the_others(world: World, tmp_path: Path) -> None:
    first = world.runs[0]
    other = replace(first.machine, gpu="NVIDIA B200", key="nvidia-b200")
    run = replace(first, machine=other, id="20260101-000000-other", created="2026-01-01T00:00:00")
    for one in (first, run):
        store.save(tmp_path / "results", one)
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    below = f"machines/{slug(other.key)}"
    for page, other_page in (
        ("index.html", f"{below}/index.html"),
        (f"{below}/kernels.html", "../../index.html"),
    ):
        assert other_page in links(mine.site / page).targets
        assert (mine.site / page).parent.joinpath(other_page).is_file()
    (bundle,) = mine.site.rglob("plotly.min.js")
    (loaded,) = [t for t in links(mine.site / below / "roofline.html").targets if "plotly" in t]
    assert (mine.site / below / loaded).resolve() == bundle.resolve()
    alone = replace(mine, site=tmp_path / "alone")
    assert alone.report("--machine", "b200").exit_code == 0
    assert "NVIDIA B200" in alone.text("index.html")
    assert not (alone.site / "machines").exists()


def test_pages_of_a_machine_that_is_gone_go_and_nothing_else(world: World, tmp_path: Path) -> None:
    first = world.runs[0]
    for name in ("nvidia-b200", "nvidia-b300"):
        other = replace(first.machine, gpu=name, key=name)
        when = f"2026-01-0{1 + (name > 'nvidia-b2')}T00:00:00"
        store.save(tmp_path / "results", replace(first, machine=other, id=name, created=when))
    store.save(tmp_path / "results", first)
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    gone, kept = (mine.site / "machines" / name for name in ("nvidia-b200", "nvidia-b300"))
    ours = sum(path.is_file() for path in gone.rglob("*"))
    (gone / "notes.txt").write_text("a person's")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in (".harness-site.json", "index.html"):
        (elsewhere / name).write_text('["index.html"]')
    (mine.site / "machines" / "linked").symlink_to(elsewhere)
    (mine.site / "machines" / "other").mkdir()
    (mine.site / "machines" / "other" / "index.html").write_text("a person's")
    shutil.rmtree(tmp_path / "results" / "nvidia-b200")
    again = json.loads(mine.report("--json").stdout)
    assert again["removed"] == ours
    assert [path.name for path in gone.rglob("*")] == ["notes.txt"]
    assert (kept / "index.html").is_file()
    assert (elsewhere / "index.html").is_file()
    assert (mine.site / "machines" / "other" / "index.html").is_file()


def test_runs_of_other_suites_are_not_compared(world: World, tmp_path: Path) -> None:
    run = world.runs[-1]
    store.save(tmp_path / "results", replace(world.runs[-2], suite="corpus"))
    store.save(tmp_path / "results", run)
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    assert 'class="answer grey' in mine.text("index.html")


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.report.site import pages

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="pages need plotly") as caught:
        pages.require()
    assert "harness[report]" in caught.value.remedy


def test_an_unknown_machine_is_named(world: World, tmp_path: Path) -> None:
    done = replace(world, site=tmp_path / "site").report("--machine", "b200")
    assert "no run is of such a machine" in str(done.exception)


def test_a_region_has_one_history_whatever_its_kernels_were(world: World, tmp_path: Path) -> None:
    """A region of two kernels, of which one was in two launches before: all of them together."""
    runs = []
    for number, run in enumerate(world.runs[-4:]):
        graph = run.graphs[0]
        one, other, *rest = (replace(k, launches=1) for k in graph.kernels[:3])
        mine = [replace(k, region="the.region") for k in (one, other)]
        if number < 2:
            mine[1] = replace(mine[1], origins=("another_node",), launches=2)
        runs.append(replace(run, graphs=(replace(graph, kernels=(*mine, *rest)),)))
        store.save(tmp_path / "results", runs[-1])
    mine_too = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine_too.report().exit_code == 0
    (page,) = mine_too.site.glob("models/*.html")
    text = page.read_text(encoding="utf-8")
    drawn = text.split("time of region the.region by commit")[1].split('json">')[1]
    (segment,) = json.loads(drawn.split("</script>")[0])["segments"]
    totals = [
        sum(1000 * (k.ms or 0) * k.launches for k in run.graphs[0].kernels[:2]) for run in runs
    ]
    assert segment["y"] == pytest.approx(totals, rel=1e-4)
    assert "time of region " + runs[0].graphs[0].kernels[2].region not in text


def test_the_pages_of_a_graph_that_was_renamed_are_as_if_it_had_not_been(
    world: World, tmp_path: Path
) -> None:
    """Renamed in the night that made it slower, but for a machine that was not measured since."""
    name, before = nights.SLOWER[0], "was_called_so_forward"
    earlier = [under({name: before}, run) for run in world.runs[:-2]]
    machine = replace(earlier[0].machine, gpu="NVIDIA B200", key="nvidia-b200")
    other = replace(earlier[-1], machine=machine)
    for run in (*earlier, *world.runs[-2:], other):
        store.save(tmp_path / "results", run)
    (graph,) = (g for g in other.graphs if g.name == before)
    key, label = identities(graph)[0]
    slower = Finding(before, key, label, Change.CHANGED, verdict="SLOWER", confirmed=True)
    night = Night(other.id, machine.key, other.created, other.id, findings=(slower,))
    nights_of_machines.save(tmp_path / "results", night)
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    page = planted(world)
    shown, asked = (record_of(one.text(page)) for one in (mine, world))
    assert shown["diff"] == asked["diff"]
    assert shown["history"] == asked["history"]
    assert page in mine.text("index.html")
    assert f"renamed at {world.commits[-2][:10]}: {before} → {name}" in mine.text("index.html")
    assert before not in mine.text("kernels.html")
    assert name in mine.text("machines/nvidia-b200/kernels.html")
    shown = mine.text("machines/nvidia-b200/index.html")
    assert before not in shown.partition("renamed at")[0]
    actions = shown.partition("<h2>To act on")[2].partition("<h2>")[0]
    assert {*re.findall(r'href="kernels/([a-z-]*)', actions)} == {slug(name)}


def test_of_many_models_the_first_page_shows_those_that_take_most(
    world: World, tmp_path: Path
) -> None:
    """A corpus has a thousand, and the first page is one screen."""
    run = world.runs[-1]
    kernel = run.graphs[0].kernels[0]
    made = [
        GraphRecord(f"m{n:02}", kernels=(replace(kernel, ms=0.001 * (n + 1), name=f"k{n}"),))
        for n in range(20)
    ]
    store.save(tmp_path / "results", replace(run, graphs=tuple(made)))
    heavy = GraphRecord("heavy", kernels=(replace(kernel, ms=9.0, name="heavy"),))
    store.save(tmp_path / "results", replace(world.runs[-2], graphs=(heavy,), suite="corpus"))
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    shown, folded = mine.text("index.html").split("8 more, which take less")
    rows = [re.findall(r'href="models/[^"]*">(m\d\d)<', part) for part in (shown, folded)]
    folded, earlier = folded.split("1 model of earlier runs only")
    assert ">heavy<" in earlier and ">heavy<" not in folded, "not measured tonight"
    assert rows == [[f"m{n:02}" for n in range(19, 7, -1)], [f"m{n:02}" for n in range(7, -1, -1)]]
    (page,) = (mine.site / "models").glob("m00.*")
    assert "</b> kernel<small>" in page.read_text(), "one kernel"
    assert "<summary>21 models</summary>" in mine.text("history.html")


def test_of_models_of_earlier_runs_the_first_page_shows_a_hundred(
    world: World, tmp_path: Path
) -> None:
    """A corpus that is measured bit by bit has thousands, 270 bytes each; search finds them all."""
    run = world.runs[-1]
    kernel = run.graphs[0].kernels[0]
    earlier = [
        GraphRecord(f"m{n:03}", kernels=(replace(kernel, ms=0.001 * (n + 1), name=f"k{n}"),))
        for n in range(103)
    ]
    store.save(tmp_path / "results", replace(run, graphs=run.graphs[:1]))
    whole = replace(world.runs[-2], graphs=tuple(earlier), suite="corpus")
    store.save(tmp_path / "results", whole)
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    _, folded = mine.text("index.html").split("103 models of earlier runs only")
    rows = re.findall(r'href="models/[^"]*">(m\d\d\d)<', folded)
    assert rows == [f"m{n:03}" for n in range(102, 2, -1)]
    assert "3 more, which take less" in folded
    assert all(name in mine.text("assets/search.js") for name in ("m000", "m102"))


def test_a_run_without_kernels_has_pages_that_say_so(world: World, tmp_path: Path) -> None:
    store.save(tmp_path / "results", replace(world.runs[0], graphs=(GraphRecord("empty"),)))
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    assert "Nothing was timed" in mine.text("index.html")


def test_a_run_without_times_leads_to_its_kernels(world: World, tmp_path: Path) -> None:
    """The first page links to them and shows its notes; a kernel's names no bound of a time."""
    untimed = replace(
        world.runs[0],
        dirty=True,
        graphs=tuple(
            replace(
                graph,
                kernels=tuple(
                    replace(one, ms=None, low=None, high=None, gbps=None, fraction=None, sets=())
                    for one in graph.kernels
                ),
            )
            for graph in world.runs[0].graphs
        ),
    )
    store.save(tmp_path / "results", untimed)
    mine = replace(world, results=tmp_path / "results", site=tmp_path / "site")
    assert mine.report().exit_code == 0
    first = mine.text("index.html")
    assert 'href="kernels.html">All ' in first
    assert '<details class="fold" open><summary>Notes' in first
    for page in mine.site.glob("kernels/*.html"):
        assert ["–", "of peak", ""] in [tile[:3] for tile in record_of(page.read_text())["tiles"]]
