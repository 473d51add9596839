"""Verdicts against simulation with known truth: the stated error rates are the real ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.measure.noise.controls import Session
from harness.measure.noise.estimate import NO_CONTROLS, ONE_PROCESS, Between, Pair, Times, estimate
from harness.measure.noise.judge import Effect, Estimate, Part, Rules, Verdict, combine, holm, judge
from harness.measure.noise.variance import OLD_METHOD, Prior, fit_prior, medians
from tests.measure.noise.simulated import KERNELS, World, in_turns, samples, table

RULES = Rules()
CHANGED = (Verdict.SLOWER, Verdict.FASTER)


def effects(pairs: list[Pair], *, paired: bool = False, rules: Rules = RULES) -> list[Effect]:
    return judge(estimate(pairs, paired=paired)[0], rules)


def flagged(found: list[Effect]) -> int:
    return sum(effect.verdict in CHANGED for effect in found)


def seeded(*key: object) -> np.random.Generator:
    """A generator that is the same for the same key in every process."""
    return np.random.default_rng(list("/".join(map(str, key)).encode()))


WORLDS = {
    "calm": World(),
    "heavy tails": World(shape="heavy"),
    "two levels": World(shape="levels"),
    "one clock": World(common=0.003),
    "other day": World(session=0.003),
}


@pytest.mark.parametrize("processes", [2, 3, 5])
@pytest.mark.parametrize("name", WORLDS)
def test_at_most_one_kernel_in_a_hundred_is_flagged_where_nothing_changed(
    name: str, processes: int
) -> None:
    chance, tables = seeded(name, processes), 12
    count = sum(flagged(effects(table(WORLDS[name], processes, chance))) for _ in range(tables))
    assert count / (tables * KERNELS) <= 0.01


@pytest.mark.parametrize("name", ["calm", "other day"])
def test_the_familys_error_rate_is_the_stated_one(name: str) -> None:
    chance, tables = seeded("family", name), 60
    hit = sum(flagged(effects(table(WORLDS[name], 4, chance))) > 0 for _ in range(tables))
    # 5 % is promised; three standard errors of a count of 60 more are chance.
    assert hit / tables <= RULES.alpha + 3 * (0.05 * 0.95 / tables) ** 0.5


def test_the_familys_error_rate_holds_beside_real_changes() -> None:
    chance, tables, false = seeded("changes"), 60, 0
    for _ in range(tables):
        change = np.where(chance.random(KERNELS) < 0.2, 0.05, 0.0)
        found = effects(table(World(session=0.002), 4, chance, change))
        false += any(e.verdict in CHANGED for e, c in zip(found, change, strict=True) if c == 0)
    assert false / tables <= 0.05 + 3 * (0.05 * 0.95 / tables) ** 0.5


@pytest.mark.parametrize("processes", [2, 3, 5])
def test_intervals_hold_what_they_state(processes: int) -> None:
    chance, inside, total = seeded("interval", processes), 0, 0
    for _ in range(40):
        change = np.where(np.arange(KERNELS) % 2, 0.02, 0.0)
        found = effects(table(World(session=0.002), processes, chance, change, identical=1.0))
        inside += sum(e.low <= np.exp(c) <= e.high for e, c in zip(found, change, strict=True))
        total += len(found)
    assert inside / total == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize("noise", ["white", "correlated 0.6", "correlated 0.95", "bimodal"])
def test_intervals_hold_under_correlated_and_bimodal_samples(noise: str) -> None:
    chance, inside, total, kernels = seeded("noise", noise), 0, 0, KERNELS
    truth = np.where(np.arange(kernels) % 2, 1.03, 1.0)
    for _ in range(25):
        a = np.median(samples(kernels, 5, 200, noise, chance), axis=-1)
        b = np.median(samples(kernels, 5, 200, noise, chance), axis=-1) * truth[:, None]
        pairs = [
            Pair(Times(tuple(x)), Times(tuple(y)), identical=t == 1.0)
            for x, y, t in zip(a, b, truth, strict=True)
        ]
        found = effects(pairs)
        inside += sum(e.low <= t <= e.high for e, t in zip(found, truth, strict=True))
        total += kernels
    assert inside / total == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize("noise", ["white", "correlated 0.6", "correlated 0.95"])
def test_the_error_of_one_processs_median_is_what_it_says(noise: str) -> None:
    chance = seeded("median", noise)
    series = samples(300, 1, 200, noise, chance, offset=0.0)[:, 0]
    middles, said = medians(series)
    # On average 1.1 and, where the samples hang together for longest, 1.2.
    assert 0.85 < float(np.sqrt(np.mean(said**2)) / middles.std()) < 1.6
    assert medians([[1.0]])[1].tolist() == [0.0]


def test_what_is_said_to_be_detectable_is_detected() -> None:
    chance, found, total = seeded("power"), 0, 0
    world = World(kernels=120, alike=50.0)
    for _ in range(25):
        quiet = effects(table(world, 5, chance))
        typical = float(np.median([np.log1p(e.mde) for e in quiet[:60]]))
        change = np.zeros(120)
        change[::10] = typical
        loud = effects(table(world, 5, chance, change))
        sure = [e for e, c in zip(loud, change, strict=True) if c and np.log1p(e.mde) <= c]
        found += sum(e.verdict is Verdict.SLOWER for e in sure)
        total += len(sure)
    assert total > 50
    assert found / total >= 0.93


def test_two_per_cent_are_found_in_turns() -> None:
    """What ``confirm`` is for: offsets between processes cancel."""
    chance = seeded("turns")
    found = [
        e
        for _ in range(5)
        for e in effects(in_turns(World(spread=0.002), 5, chance, 0.02), paired=True)
    ]
    slower = np.mean([e.verdict is Verdict.SLOWER for e in found])
    apart = [e for _ in range(5) for e in effects(in_turns(World(spread=0.002), 5, chance, 0.02))]
    assert slower > 0.8
    assert np.mean([e.verdict is Verdict.SLOWER for e in apart]) < 0.05


def test_same_is_wrong_in_at_most_five_per_cent_at_the_margin() -> None:
    chance = seeded("margin")
    world = World(spread=0.001, alike=30.0)
    wrong = [
        e.verdict is Verdict.SAME
        for _ in range(20)
        for e in effects(in_turns(world, 6, chance, float(np.log1p(RULES.margin))), paired=True)
    ]
    assert np.mean(wrong) == pytest.approx(0.05, abs=0.015)
    calm = effects(in_turns(World(kernels=60, spread=0.001), 6, chance), paired=True)
    assert np.mean([e.verdict is Verdict.SAME for e in calm[-10:]]) > 0.5


@pytest.mark.parametrize("factor", [1.03, 3.0])
def test_one_process_on_a_side_says_nothing_of_a_change(factor: float) -> None:
    pairs = [*table(World(), 3, seeded("one")), Pair(Times((0.01,) * 3), Times((0.01 * factor,)))]
    found = effects(pairs)[-1]
    assert found.verdict is Verdict.UNSURE
    assert found.unknown == ONE_PROCESS
    assert found.mde == np.inf


def test_few_unchanged_kernels_say_nothing_of_a_change_but_earlier_runs_do() -> None:
    chance = seeded("few")
    world = World(kernels=40, spread=0.001, alike=30.0)
    pairs = table(world, 3, chance, 0.05, identical=0.0)
    estimates, noise = estimate(pairs, paired=False)
    assert noise.offset is None
    assert {e.unknown for e in judge(estimates, RULES)} == {NO_CONTROLS}
    known, _ = estimate(pairs, paired=False, between=Between(0.003**2, Session(0.002**2), 12))
    assert flagged(judge(known, RULES)) > 20
    rough, _ = estimate(pairs, paired=False, between=Between(0.02**2, Session(0.002**2), 12))
    assert flagged(judge(rough, RULES)) == 0


def between_runs(seed: int, own: float, short: float = 0.0, change: float = 0.0) -> list[Pair]:
    """60 kernels of 2 to 500 µs in three processes a side that agree to 0.05 %; between the runs
    each moves by ``own`` and the short ones by up to ``short``. Every tenth may have changed, and
    has by ``change``."""
    rng, pairs = np.random.default_rng(seed), []
    for n, ms in enumerate(np.geomspace(0.002, 0.5, 60).tolist()):
        moved = rng.normal(0, own) + short * np.exp(-ms / 0.015) + change * (n % 10 == 5)
        a, b = np.exp(rng.normal(0, 0.0005, (2, 3)) + np.array([[0.0], [moved]])) * ms
        pairs.append(Pair(Times(tuple(a)), Times(tuple(b)), identical=n % 10 != 5))
    return pairs


def test_what_depends_on_duration_between_two_boards_is_taken_out() -> None:
    chosen = slice(5, None, 10)
    found = estimate(between_runs(1, 0.001, 0.03), paired=False)[0]
    assert flagged(judge(found[chosen], RULES)) == 0
    assert max(abs(e.log_ratio) for e in found[chosen]) < 0.006, "3 % at the shortest are gone"
    slower = estimate(between_runs(1, 0.001, 0.03, 0.02), paired=False)[0]
    assert {e.verdict for e in judge(slower[chosen], RULES)} == {Verdict.SLOWER}


def test_what_is_detectable_contains_what_moves_kernels_between_runs() -> None:
    quiet, moved = (effects(between_runs(2, own)) for own in (0.0, 0.01))
    assert float(np.median([e.mde for e in quiet])) < 0.005
    assert float(np.median([e.mde for e in moved])) > 0.04


def scattered(seed: int, relative: float, ns: float) -> list[Pair]:
    """60 kernels of 2 to 500 µs, all unchanged, that agree to 0.05 % in a run; between the two each
    moves by ``relative`` and by ``ns`` of its own."""
    rng, ms = np.random.default_rng(seed), np.geomspace(0.002, 0.5, 60)
    moved = rng.normal(size=60) * np.hypot(relative, ns * 1e-6 / ms)
    a, b = np.exp(rng.normal(0, 0.0005, (2, 60, 3)))
    b *= np.exp(moved)[:, None]
    return [
        Pair(Times(tuple(x * one)), Times(tuple(y * one)), identical=True)
        for one, x, y in zip(ms.tolist(), a, b, strict=True)
    ]


@pytest.mark.parametrize("ns", [0, 20])
def test_short_kernels_may_scatter_more_between_runs_than_long_ones(ns: float) -> None:
    inside = np.array(
        [[e.low <= 1 <= e.high for e in effects(scattered(seed, 0.003, ns))] for seed in range(60)]
    )
    short, long = inside[:, :12].mean(), inside[:, 25:].mean()  # below 6 µs, above 21 µs
    assert 0.92 < short < 0.99
    assert 0.92 < long < 0.985


def test_what_is_detectable_depends_on_duration_where_the_scatter_does() -> None:
    found = [estimate(scattered(seed, 0.003, 20), paired=False) for seed in range(15)]
    mde = np.median([[e.mde for e in judge(estimates, RULES)] for estimates, _ in found], axis=0)
    assert mde[0] > 1.8 * mde[-1]
    absolute, relative = (
        float(np.median([getattr(noise.session, part) for _, noise in found])) ** 0.5
        for part in ("absolute", "variance")
    )
    assert 12e-6 < absolute < 28e-6
    assert 0.0024 < relative < 0.0036


def test_a_few_controls_or_one_duration_get_one_constant() -> None:
    few = estimate(scattered(1, 0.003, 20)[:15], paired=False)[1]
    alike = estimate(scattered(1, 0.003, 20)[30:35] * 4, paired=False)[1]
    assert few.session.absolute == alike.session.absolute == 0
    assert few.session.variance
    assert alike.session.variance


def test_a_small_interleaved_table_is_judged_by_what_its_method_is_known_for() -> None:
    pairs = [Pair(Times((0.0100, 0.01001, 0.00999)), Times((0.0102, 0.01021, 0.01019)))]
    old, new = (estimate(pairs, paired=True, method=m)[0][0] for m in (OLD_METHOD, "later"))
    assert new.error < old.error / 1.5
    assert judge([new], RULES)[0].verdict is Verdict.SLOWER


def test_samples_that_scatter_widen_a_single_process() -> None:
    calm = effects([Pair(Times((1.0,), (0.0,)), Times((1.0,), (0.0,)))])[0]
    wild = effects([Pair(Times((1.0,), (0.1,)), Times((1.0,), (0.1,)))])[0]
    assert wild.high > calm.high * 1.2


def test_an_empty_table_has_no_verdicts() -> None:
    estimates, _ = estimate([], paired=False)
    assert judge(estimates, RULES) == []


def test_medians_that_agree_to_the_last_digit_are_no_certainty() -> None:
    """Timers count in ticks: several processes can give the very same median."""
    pairs = [Pair(Times((0.003392,) * 3), Times((0.003424,) * 3)) for _ in range(4)]
    assert flagged(effects(pairs)) == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_is_monotone_and_never_below_the_raw_p(p: list[float]) -> None:
    raw = np.array(p)
    adjusted = holm(raw)
    assert (adjusted >= raw).all()
    assert (adjusted <= 1).all()
    order = np.argsort(raw, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()
    assert adjusted[order[0]] == min(1.0, raw.min() * len(raw))


def _levels(processes: int, chance: np.random.Generator, high: int) -> list[Pair]:
    """250 kernels of 2 to 4 µs, a quarter of which have a second level 0.35 µs up; ``high`` of them
    are at it on all of B's processes and on none of A's. As measured once on an H100."""
    ms = chance.uniform(0.002, 0.004, 250)
    jumps = np.arange(250) % 4 == 0
    pairs = []
    for n in range(250):
        up = chance.random((2, processes)) < 1 / 3 if jumps[n] else np.zeros((2, processes))
        if n // 4 < high and jumps[n]:
            up = np.array([[False] * processes, [True] * processes])
        both = (ms[n] + 0.00035 * up) * np.exp(chance.normal(0, 0.0003, (2, processes)))
        pairs.append(Pair(Times(tuple(both[0])), Times(tuple(both[1])), identical=True))
    return pairs


@pytest.mark.parametrize("processes", [2, 3])
def test_levels_between_processes_are_no_change(processes: int) -> None:
    chance = seeded("levels", processes)
    assert flagged(effects(_levels(processes, chance, high=3))) == 0
    changed = _levels(processes, chance, high=0)
    slow = Pair(changed[1].a, Times(tuple(2 * x for x in changed[1].b.ms)))
    found = effects([slow, *changed])[0]
    if processes > 2:
        assert found.verdict is Verdict.SLOWER, "twice as long is farther than levels lie apart"


def test_holm_by_hand() -> None:
    assert holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])


def test_a_sum_is_as_uncertain_as_if_one_clock_moved_it_all() -> None:
    part = Estimate(0.1, 0.01, 5.0)
    whole = combine([Part(part, 1.0, float(np.exp(0.1))), Part(part, 2.0, 2 * float(np.exp(0.1)))])
    assert whole.log_ratio == pytest.approx(0.1)
    assert whole.error == pytest.approx(0.01)
    assert whole.df == 5.0


def test_the_prior_finds_scale_trend_and_likeness() -> None:
    chance = seeded("prior")
    world = World(kernels=2000, alike=8.0)
    ms = world.times(chance)
    deviations = world.deviations(ms, chance)
    variances = deviations**2 * chance.chisquare(6, len(ms)) / 6
    prior = fit_prior(ms, variances, np.full(len(ms), 6.0))
    assert prior.df == pytest.approx(8.0, rel=0.35)
    for at in (0.004, 0.02, 0.5):
        truth = world.spread**2 + (5e-5 / at) ** 2
        assert float(prior.variance(np.array([at]))[0]) == pytest.approx(truth, rel=0.5)


def test_few_kernels_fall_back_on_the_stated_default() -> None:
    few = fit_prior(np.full(3, 0.01), np.full(3, 1e-4), np.full(3, 4.0))
    assert few == Prior(df=few.df)
    assert few.kernels == 0


def test_what_befell_a_few_unchanged_kernels_may_have_befallen_the_others() -> None:
    chance = seeded("hot")
    for _ in range(3):
        ms = np.geomspace(0.002, 1.0, 250)[:, None]
        a, b = (ms * np.exp(chance.normal(0, 0.001, (250, 3))) for _ in range(2))
        b *= np.where(chance.random(250) < 0.03, 1.02, 1.0)[:, None]
        pairs = [
            Pair(Times(tuple(x)), Times(tuple(y)), identical=n % 10 != 0)
            for n, (x, y) in enumerate(zip(a, b, strict=True))
        ]
        found, noise = estimate(pairs, paired=False)
        assert noise.odd.share > 0
        assert flagged(judge(found[::10], RULES)) == 0


def test_one_disturbed_process_hides_how_much_kernels_differ() -> None:
    """Each kernel is slower by up to 2 % in it: they seem to vary alike, and a few vary more."""
    rng = np.random.default_rng(3)
    spread = 0.0012 * np.sqrt(6 / rng.chisquare(6, 600))
    a, b = (np.exp(rng.normal(size=(600, 2)) * spread[:, None]) for _ in range(2))
    b[:, 0] *= np.exp(0.02 * rng.random(600))
    table = [
        Pair(Times(tuple(x)), Times(tuple(y)), identical=n % 10 > 0)
        for n, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True))
    ]
    found, noise = estimate(table, paired=False)
    assert noise.prior.df > 50
    assert max(one.df for one in found) < 30
