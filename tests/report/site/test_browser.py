"""The pages in headless Chromium: opened from disk, looked at as a person would."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.report.site.conftest import World
from tests.report.site.test_site import planted

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright, which drives it")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    not CHROMIUM, reason="there is no Chromium: apt-get install chromium"
)


_HANGS = 600_000
"""Milliseconds after which a page hangs: an answer that takes long is as good."""


def opened(context: Any) -> Any:
    """A page that is given time."""
    context.set_default_timeout(_HANGS)
    return context.new_page()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_api.sync_playwright() as play:
        made = play.chromium.launch(executable_path=CHROMIUM, args=sandbox, timeout=_HANGS)
        yield made
        made.close()


@pytest.fixture
def said() -> list[str]:
    """What pages complained about."""
    return []


@pytest.fixture
def tab(browser: Any, said: list[str]) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = opened(context)
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("requestfailed", lambda request: said.append(f"not loaded: {request.url}"))
    yield page
    context.close()


def test_no_page_complains_or_scrolls_sideways(world: World, tab: Any, said: list[str]) -> None:
    for page in sorted(world.site.rglob("*.html")):
        tab.set_viewport_size({"width": 390, "height": 800})
        tab.goto(page.as_uri())
        assert tab.inner_text("h1")
        for width in (390, 1280):
            tab.set_viewport_size({"width": width, "height": 800})
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, page.name
        assert said == [], page.name


def test_a_long_name_does_not_widen_the_page(world: World, tab: Any) -> None:
    tab.set_viewport_size({"width": 390, "height": 800})
    tab.goto((world.site / "history.html").as_uri())
    name = "clone_max_pool2d_with_indices_" + 4 * "2c0d159a29"
    tab.evaluate("name => document.querySelector('h2 a').textContent = name", name)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("width", [390, 1280])
def test_changes_at_one_commit_are_read_in_the_chart(world: World, tab: Any, width: int) -> None:
    tab.set_viewport_size({"width": width, "height": 800})
    tab.goto(next(world.site.glob("models/*.html")).as_uri())
    tab.evaluate("""() => {
      const script = document.querySelector(".chart script");
      const known = JSON.parse(script.textContent);
      const other = { ...known.marks[0], text: "another graph +1.0 %" };
      script.textContent = JSON.stringify({ ...known, marks: [...known.marks, other] });
      drawHistory(document.querySelector(".chart"));
    }""")
    marks = tab.locator("svg.history").first.locator("text.mark").all()
    boxes = sorted((box["x"], box["x"] + box["width"]) for box in (m.bounding_box() for m in marks))
    assert boxes
    assert all(one[1] <= other[0] for one, other in pairwise(boxes))
    assert any("llama_block_forward" in mark.text_content() for mark in marks)
    assert any(mark.text_content().endswith(" and 1 more") for mark in marks)


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_regression_is_seen_without_scrolling(
    world: World, browser: Any, size: tuple[int, int], theme: str
) -> None:
    view = {"width": size[0], "height": size[1]}
    context = browser.new_context(viewport=view, color_scheme=theme)
    page = opened(context)
    page.goto((world.site / "index.html").as_uri())
    for selector in (".answer h1", ".action h3", ".action .cause", ".action .command"):
        box = page.locator(selector).first.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= size[0]
        assert box["y"] + box["height"] <= size[1], selector
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0], "scrolls sideways"
    context.close()


def test_search_by_keyboard(world: World, tab: Any, said: list[str]) -> None:
    tab.goto((world.site / "index.html").as_uri())
    tab.keyboard.press("/")
    tab.keyboard.type("sigmoid forward")
    tab.wait_for_selector("dialog li.on a")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/kernels/*.html")
    assert "sigmoid" in tab.inner_text("h1")
    assert said == []


def test_the_theme_is_switched_and_stays(world: World, tab: Any) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    tab.goto((world.site / "index.html").as_uri())
    light = tab.evaluate(ground)
    tab.click("#theme")
    dark = tab.evaluate(ground)
    assert dark != light
    tab.goto((world.site / "kernels.html").as_uri())
    assert tab.evaluate(ground) == dark


def test_a_chart_is_drawn_and_tells_its_points(world: World, tab: Any) -> None:
    tab.goto((world.site / planted(world)).as_uri())
    tab.wait_for_selector(".plot svg")  # drawn, not only there
    box = tab.locator(".plot svg").first.bounding_box()  # of what it was drawn anew as, if it was
    assert box["width"] > 900
    assert tab.locator(".plot .band.regression").count() == 1
    tab.mouse.move(box["x"] + box["width"] - 12, box["y"] + 60)
    assert world.commits[-1][:10] in tab.inner_text(".tip")
    colours = tab.locator("pre.python .k").count()
    assert colours > 5, "keywords of the module have a colour"


def test_a_kernels_page_shows_all_that_its_record_has(world: World, tab: Any) -> None:
    tab.goto((world.site / planted(world)).as_uri() + "#diff")
    assert tab.locator("h2").all_inner_texts()[1:3] == [
        "Configuration and static metrics",
        "Instructions",
    ]
    for title in ("History", "What is fused", "Tuning", "Diff", "Module"):
        assert tab.locator(f"h2:has-text('{title}')").count() == 1
    assert "value0 = tl.load" in "".join(tab.locator(".diff .add").all_inner_texts())
    assert tab.locator("tr.chosen, .bars tr").count() > 5
    assert "4 → 16" in tab.inner_text("main")
    assert tab.evaluate("scrollY") > 0, "the anchor is gone to"


def test_the_roofline_has_every_timed_kernel(world: World, tab: Any, said: list[str]) -> None:
    tab.goto((world.site / "roofline.html").as_uri())
    tab.wait_for_selector("#roofline .scatterlayer .point")
    kernels = sum(len(graph.kernels) for graph in world.runs[-1].graphs)
    assert tab.locator("#roofline .scatterlayer .point").count() == kernels
    ticks = tab.locator("#roofline .xtick text").all_text_contents()
    assert [float(text) for text in ticks] == sorted({float(text) for text in ticks}), ticks
    tab.click("[data-view=roof]")
    tab.wait_for_selector("text=FLOP per byte")
    assert said == []


def test_changes_are_read_on_a_phone(world: World, tab: Any) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.goto((world.site / "history.html").as_uri())
    for cell in tab.locator(".changes tr").first.locator("td").all():
        box = cell.bounding_box()
        assert box["x"] + box["width"] <= 390
    levels = tab.locator(".changes tr:has-text('other compilers') td:nth-child(4)")
    assert all(text.endswith("µs") for text in levels.all_inner_texts()) and levels.count()
    tab.fill(".filter", "no such kernel")
    assert not tab.locator(".changes tbody tr").first.is_visible()


def test_tables_are_sorted_and_filtered(world: World, tab: Any) -> None:
    tab.goto((world.site / "kernels.html").as_uri())
    tab.click("th:has-text('kernel')")
    names = tab.locator("tbody td.name").all_inner_texts()
    assert tab.locator("tbody svg.spark").count() == len(names)
    assert names == sorted(names, reverse=True, key=str.lower)
    tab.fill(".filter", "sigmoid_mul_5")
    assert tab.locator("tbody tr:visible").count() == 1
