"""What `harness changes`, asv and PELT find in histories against what they say wrongly, over their
thresholds: the curve and the table of docs/measurements/verdicts.md, *Over thresholds*.

The same seeded histories as history_worlds.py: 50 series of 60 commits, steps of 5 % in a tenth.

    python scripts/history_curve.py count FILE --reports 100 --flat 60 --jobs 2
    python scripts/history_curve.py table FILE
    python scripts/history_curve.py draw FILE docs/measurements/histories.svg
    python scripts/history_curve.py pair FILE --reports 500 --methods asv PELT

*pair* counts, each method at its own setting, the steps that ours or the other alone finds, and the
chance (exact, two-sided) of counts that far apart or further if each finds as many. All steps of
these worlds go up: with ``--rises`` a step down at the place of one is none that was found.

*Settings*: of ours the chance of a false alarm in the report (``--alpha``; the default is 5 %) and
beyond that of one in a series, 0.5 % by default; what is suspected as well. Of asv its penalty for
a level (``beta``, its own is 1), of PELT its penalty (3 logarithms of the length), each also with
jumps of less than half and of three quarters of the step left out, which takes the step's size for
known. *Found* and *said* are counted as by history_worlds.py; *false reports* are those of
histories without a step in which anything is said.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from multiprocessing import Pool
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from history_worlds import DAYS, METHODS, POINTS, STEP, WORLDS, Block, counted, drawn, steps_of
from scipy import stats

from harness.history.changes.changepoints import detect, hold
from harness.history.changes.events import events
from harness.history.changes.fitting import Judged, Settings
from harness.history.changes.whole_runs import polished

Places = list[list[int]]
ROWS = 50
EVERYTHING = 1e9
"""A chance of a false alarm that nothing exceeds."""
ALPHAS = (1e-4, 0.005, 0.05, 0.5)
ALONE = (0.05, 0.5)
PENALTIES = {"asv": (0.5, 1.0), "PELT": (1.0, 3.0, 10.0, 30.0, 100.0)}
SHARES = (0.0, 0.5, 0.75)
OWN = {
    "ours": "alpha 0.05, jumps 0.5",
    "asv": "penalty 1, jumps 0.5",
    "PELT": "penalty 3, jumps 0.5",
}
"""The settings of history_worlds.py."""


def standing(found: Sequence[Judged], share: float, *, suspected: bool = False) -> Places:
    """Where steps are confirmed that stand, or ``suspected`` as well, for each row; of more than
    this ``share`` of the step."""
    rules = Settings()
    return [
        [
            step.position
            for event in events(one.steps, rules)
            if suspected or (event.seen is None and event.recovered(rules, sure=False) is None)
            for step in event.steps
            if (suspected and not event.returns) or step.confirmed
            if abs(np.log1p(step.size)) > share * STEP
        ]
        for one in found
    ]


def by_harness(series: Block) -> Iterator[tuple[str, Places]]:
    """What ours says at each of its settings."""
    rows = list(series - polished(series))
    days, commits = [DAYS] * len(rows), [np.arange(POINTS)] * len(rows)
    most = Settings(family=EVERYTHING)
    found = detect(rows, settings=most, days=days)
    judged = {f"alpha {one:g}": hold(found, commits, Settings(family=one)) for one in ALPHAS}
    judged["alone 0.005"] = found
    for alone in ALONE:
        loose = replace(most, alone=alone)
        judged[f"alone {alone:g}"] = detect(rows, settings=loose, days=days)
    for key, each in judged.items():
        for share in SHARES:
            yield f"{key}, jumps {share:g}", standing(each, share)
            if key in ("alpha 0.05", f"alone {ALONE[-1]:g}"):
                said = standing(each, share, suspected=True)
                yield f"{key}, jumps {share:g}, suspected too", said


def larger(begins: Sequence[int], levels: Sequence[float], share: float) -> list[int]:
    """Where levels begin that are more than this ``share`` of the step from the one before."""
    sizes = np.abs(np.diff(levels))
    return [at for at, size in zip(begins, sizes, strict=True) if size > share * STEP]


def asv_levels(row: Block, penalty: float) -> tuple[list[int], list[float]]:
    """Where levels begin after the first, and the logarithm of each."""
    from asv.step_detect import solve_potts_autogamma

    beta = penalty * 4 * np.log(POINTS) / POINTS
    ends, values, *_ = solve_potts_autogamma(list(np.exp(row)), [1] * len(row), beta=beta)
    return list(ends[:-1]), np.log(values).tolist()


def pelt_levels(row: Block, penalty: float) -> tuple[list[int], list[float]]:
    """The same of PELT on the scaled series."""
    import ruptures

    scaled = row / (np.median(np.abs(np.diff(row))) / 0.6745 / np.sqrt(2))
    model = ruptures.KernelCPD(kernel="linear", min_size=2).fit(scaled[:, None])
    ends = [0, *model.predict(pen=penalty * np.log(POINTS))]
    return ends[1:-1], [float(row[a:b].mean()) for a, b in zip(ends, ends[1:], strict=False)]


LEVELS: dict[str, Callable[[Block, float], tuple[list[int], list[float]]]] = {
    "asv": asv_levels,
    "PELT": pelt_levels,
}


def of_report(asked: tuple[str, int, str, str]) -> dict[str, list[int]]:
    """For each setting of a method the steps there are, those found, those said, and the reports in
    which anything is, of one report: a world, its number, its kind, and the method."""
    world, number, kind, method = asked
    series, at = drawn(world, ROWS, number, kind)
    said: dict[str, Places] = dict(by_harness(series)) if method == "ours" else {}
    for penalty in PENALTIES.get(method, ()):
        if method == "asv" and kind == "flat" and penalty != 1.0:
            continue  # they take most of the time
        levels = [LEVELS[method](row, penalty) for row in series]
        for share in SHARES:
            key = f"penalty {penalty:g}, jumps {share:g}"
            said[key] = [larger(begins, values, share) for begins, values in levels]
    return {key: [*counted(found, at), int(any(found))] for key, found in said.items()}


def pair_of(asked: tuple[str, int, tuple[str, ...], bool]) -> dict[str, list[int]]:
    """For each method the steps of one report that there are, that ours alone finds and that it
    alone does, and the wrong ones that ours and it say."""
    world, number, names, rises = asked
    series, at = drawn(world, ROWS, number, "steps")
    ours = steps_of(series, coded=False, rises=rises)
    found = {}
    for name in names:
        theirs = METHODS[name.lower()](series, rises)
        pairs = zip(ours, theirs, at, strict=True)
        each = [[counted([s], np.array([a])) for s in (one, other)] for one, other, a in pairs]
        sums = np.sum(each, axis=0)
        alone = [sum(a[1] > b[1] for a, b in each), sum(b[1] > a[1] for a, b in each)]
        found[name] = [int(n) for n in (sums[0, 0], *alone, *(sums[:, 2] - sums[:, 1]))]
    return found


def pair(path: Path, asked: argparse.Namespace) -> None:
    """Print the steps that only one of two methods finds, world by world, and keep the counts."""
    names = tuple(name for name in asked.methods if name != "ours")
    kept = json.loads(path.read_text()) if path.exists() else {}
    print("| world | method | steps | ours alone | it alone | p | wrong: ours | its |")
    print("|" + "---|" * 8)
    with Pool(asked.jobs) as pool:
        for world in asked.world:
            numbers = range(asked.first, asked.first + asked.reports)
            reports = [(world, n, names, asked.rises) for n in numbers]
            each = pool.map(pair_of, reports, chunksize=1)
            kept[world] = {n: np.sum([one[n] for one in each], axis=0).tolist() for n in names}
            path.write_text(json.dumps(kept, indent=1) + "\n")
            for name, (steps, ours, its, *wrong_ones) in kept[world].items():
                p = stats.binomtest(ours, ours + its).pvalue if ours + its else 1.0
                cells = [world, name, steps, ours, its, f"{p:.2g}", *wrong_ones]
                print(f"| {' | '.join(map(str, cells))} |", flush=True)


def count(path: Path, asked: argparse.Namespace) -> None:
    """Count in every world and keep it in ``path``, world by world; what it holds stays."""
    kept = json.loads(path.read_text()) if path.exists() else {}
    with Pool(asked.jobs) as pool:
        for world in asked.world:
            mine = kept.setdefault(world, {"reports": {"steps": asked.reports, "flat": asked.flat}})
            for kind, wanted in mine["reports"].items():
                for name in set(asked.methods) - set(mine.setdefault(kind, {})):
                    reports = [(world, n, kind, name) for n in range(wanted)]
                    each = pool.map(of_report, reports, chunksize=1)
                    mine[kind][name] = {
                        key: np.sum([one[key] for one in each], axis=0).tolist() for key in each[0]
                    }
            path.write_text(json.dumps(kept, indent=1) + "\n")
            print(world, flush=True)


Counted = Mapping[str, Sequence[int]]


def wrong(counts: Sequence[int]) -> int:
    """Steps said that are none."""
    return counts[2] - counts[1]


def best(settings: Counted, most: int) -> tuple[int, str]:
    """The most steps found at a setting that says at most so many wrong ones, and which it is."""
    allowed = [
        (counts[1], -wrong(counts), n)
        for n, counts in enumerate(settings.values())
        if wrong(counts) <= most
    ]
    return (max(allowed)[0], list(settings)[max(allowed)[2]]) if allowed else (0, "none")


def table(path: Path) -> None:
    """Print found and wrong of each method at its own setting, of ours where it says no more wrong
    than another at its own, and of the others' best settings where they say no more than ours."""
    heads = ["world", "ours", "asv", "ours, as few wrong", "PELT", "ours, as few wrong"]
    heads += ["best asv", "best PELT", "false reports: ours", "asv", "PELT"]
    print(f"| {' | '.join(heads)} |")
    print("|" + "---|" * len(heads))
    for world, kept in json.loads(path.read_text()).items():
        steps, flat = kept["steps"], kept["flat"]
        own = {name: steps[name][key] for name, key in OWN.items()}
        sure = {key: each for key, each in steps["ours"].items() if "suspected" not in key}
        cells = [f"{world} ({own['ours'][0]})", f"{own['ours'][1]}, {wrong(own['ours'])}"]
        for name in ("asv", "PELT"):
            cells.append(f"{own[name][1]}, {wrong(own[name])}")
            cells.append(str(best(sure, wrong(own[name]))[0]))
        for name in ("asv", "PELT"):
            found, setting = best(steps[name], wrong(own["ours"]))
            cells.append(f"{found} ({setting})")
        cells += [f"{flat[name][key][3]} of {kept['reports']['flat']}" for name, key in OWN.items()]
        print(f"| {' | '.join(cells)} |")


def draw(path: Path, picture: Path) -> None:
    """A panel for each world: steps missed against steps said wrongly, at every setting."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "histories", "font.size": 8}
    worlds = json.loads(path.read_text())
    figure, axes = plt.subplots(-(-len(worlds) // 3), 3, figsize=(10, 15), layout="constrained")
    looks = {"ours": ("o-", "tab:blue"), "asv": ("s-", "tab:orange"), "PELT": ("^-", "tab:green")}
    for axis, (world, kept) in zip(axes.flat, worlds.items(), strict=False):
        for name, (look, colour) in looks.items():
            settings = kept["steps"][name]
            points = {
                key: (100 * wrong(counts) / counts[0], 100 - 100 * counts[1] / counts[0])
                for key, counts in settings.items()
            }
            curve = [point for key, point in points.items() if key.endswith("jumps 0.5")]
            axis.plot(*zip(*points.values(), strict=True), look[0], color=colour, ms=2, alpha=0.3)
            axis.plot(*zip(*curve, strict=True), look, color=colour, ms=4, lw=1, label=name)
            axis.plot(*points[OWN[name]], look[0], mfc="none", mec="black", ms=9)
        axis.set_title(world)
        axis.minorticks_off()
        axis.set_xscale("symlog", linthresh=0.1)
        axis.set_yscale("symlog", linthresh=0.1)
        axis.set(xlim=(-0.02, 7000), ylim=(150, -0.02), xticks=[0, 1, 100], yticks=[0, 1, 100])
    for axis in list(axes.flat)[len(worlds) :]:
        axis.axis("off")
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    figure.supxlabel("wrong steps reported, per 100 true steps")
    figure.supylabel("steps missed, %")
    figure.savefig(picture, metadata={"Date": None})


def main() -> None:
    """Count, print or draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("count", "table", "draw", "pair"))
    parser.add_argument("file", type=Path)
    parser.add_argument("picture", type=Path, nargs="?")
    parser.add_argument("--reports", type=int, default=100, help="with steps")
    parser.add_argument("--flat", type=int, default=60, help="without a step")
    parser.add_argument("--first", type=int, default=0, help="pair: number of the first")
    parser.add_argument("--rises", action="store_true", help="pair: only steps up count")
    parser.add_argument("--methods", nargs="+", choices=OWN, default=list(OWN))
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--world", nargs="+", choices=WORLDS, default=list(WORLDS))
    asked = parser.parse_args()
    ways = {
        "count": partial(count, asked.file, asked),
        "table": partial(table, asked.file),
        "pair": partial(pair, asked.file, asked),
        "draw": partial(draw, asked.file, asked.picture),
    }
    ways[asked.what]()


if __name__ == "__main__":
    main()
