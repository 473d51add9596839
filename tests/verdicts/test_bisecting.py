from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import CompileFailed, NoDevice, UsageError
from harness.records.lines import Kept
from harness.records.run import GraphRecord, KernelRecord, Machine
from harness.verdicts.bisecting import Bisected, ByTime, Made, PairTimes, bisect, causes, most_steps
from harness.verdicts.generating import Kernel, Subject, changes
from harness.verdicts.why import Label
from tests.history.kernels import graph, kernel

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import bisect_worlds  # noqa: E402


@pytest.mark.parametrize(("texts", "broken"), [(1, 0), (10, 0), (29, 5)])
def test_thirty_commits_with_one_slowdown_end_on_the_right_one(texts: int, broken: int) -> None:
    found = bisect_worlds.rates(texts, 0.03, broken, 20)
    assert found["wrong"] == found["none"] == 0
    assert found["exact"] >= (19 if not broken else 10)
    assert found["modules"] <= 8


def test_a_slowdown_too_small_to_tell_is_refused_or_right_and_never_wrong() -> None:
    found = bisect_worlds.rates(29, 0.004, 0, 20)
    assert found["wrong"] <= 1
    assert found["none"] > 0


@pytest.mark.parametrize(("texts", "steps"), [(1, 1), (2, 2), (3, 3), (29, 6)])
def test_the_error_is_shared_among_the_steps_that_can_be_asked(texts: int, steps: int) -> None:
    assert most_steps(texts) == steps


def subjects(count: int) -> list[Subject]:
    return [Subject(str(n), f"c{n}", "Ada", f"change {n}") for n in range(count)]


def history(texts: str) -> Kernel:
    """A kernel whose text is a letter of ``texts`` at every commit (``-``: it does not import)."""

    def generate(subject: Subject) -> GraphRecord:
        from harness.errors import CommitUnusable

        letter = texts[int(subject.name)]
        if letter == "-":
            raise CommitUnusable("does not import", got="ImportError")
        made = kernel("k", "n m", body=f"body {letter}")
        if letter.isupper():
            made = replace(made, origins=("n", "m", "other"))
        return graph(made)

    return Kernel(subjects(len(texts)), generate, frozenset({"n", "m"}))


def timer(slow: Callable[[int], float], asked: list[int]) -> ByTime:
    def time(_: Made, other: Made, start: int, end: int) -> PairTimes:
        asked.append(int(other.subject.name))
        noise = (0.9995, 1.0, 1.0005)
        return [(1.0, slow(int(other.subject.name)) * noise[n % 3]) for n in range(start, end)]

    return ByTime(time, 0.05)


def search(kernel_: Kernel, judge: ByTime | None) -> Bisected:
    return bisect(kernel_, judge, lambda *_: None)


def named(found: Bisected) -> str:
    return " ".join(one.name for one in found.candidates)


def test_only_where_the_text_changes_is_anything_timed() -> None:
    asked: list[int] = []
    found = search(history("aaaabbbbbbbbcccc"), timer(lambda n: 1.05 if n >= 4 else 1.0, asked))
    assert named(found) == "4"
    assert set(asked) == {12, 4}  # 12 writes what the bad end writes
    assert [one.name for one in found.changed] == ["4", "12"]
    assert found.generated < found.subjects


def test_a_search_says_how_far_it_is() -> None:
    said: list[tuple[str, int, int]] = []
    kernel_ = history("aaaabbbbbbbbcccc")
    kernel_.follow = lambda *one: said.append(one)
    bisect(kernel_, timer(lambda n: 1.05 if n >= 4 else 1.0, []), lambda *one: said.append(one))
    generated = [far for title, *far in said if title.startswith("generating")]
    assert generated == [[n, 16] for n in range(len(generated))]
    measured = [one for one in said if one[0].startswith("measuring")]
    assert measured == [("measuring both ends", 0, 2), ("measuring 4", 1, 2)]


def test_a_text_that_comes_back_is_not_timed_again() -> None:
    asked: list[int] = []
    found = search(history("abac"), timer(lambda n: 1.05 if n == 3 else 1.0, asked))
    assert named(found) == "3"
    assert 2 not in asked


def test_what_cannot_be_used_is_skipped_and_named_and_the_answer_is_a_range() -> None:
    found = search(history("aa-bb"), timer(lambda n: 1.05 if n >= 2 else 1.0, []))
    assert named(found) == "2 3"
    assert [(s.name, why) for s, why in found.skipped] == [("2", "does not import: ImportError")]
    found = search(history("aaBbb"), timer(lambda n: 1.05 if n >= 2 else 1.0, []))
    assert found.skipped[0][1] == "fuses them with others: other"


def test_a_version_that_cannot_be_told_makes_a_range() -> None:
    found = search(history("abc"), timer(lambda n: (1.0, 1.025, 1.05)[n], []))
    assert named(found) == "1 2"
    assert found.steps[-1].bad is None
    assert "not told from 1.02" in found.steps[-1].reason


def test_a_version_that_does_not_run_is_left_out() -> None:
    def time(_: Made, other: Made, start: int, end: int) -> PairTimes:
        if other.subject.name == "1":
            raise CompileFailed("it does not compile")
        return [(1.0, 1.05 + 0.001 * n) for n in range(start, end)]

    found = search(history("abc"), ByTime(time, 0.05))
    assert named(found) == "1 2"
    assert found.steps[-1].reason == "CompileFailed: it does not compile"


def test_an_end_that_does_not_run_is_not_called_no_worse() -> None:
    def time(_: Made, other: Made, start: int, end: int) -> PairTimes:
        raise CompileFailed("it does not compile")

    with pytest.raises(UsageError, match="an end cannot be measured") as error:
        search(history("ab"), ByTime(time, 0.05))
    assert "it does not compile" in error.value.got


def test_a_gpu_that_gives_out_ends_the_search_and_skips_nothing() -> None:
    def time(_: Made, other: Made, start: int, end: int) -> PairTimes:
        if other.subject.name == "1":
            raise NoDevice("the GPU cannot be used")
        return [(1.0, 1.05 + 0.001 * n) for n in range(start, end)]

    with pytest.raises(NoDevice):
        search(history("abc"), ByTime(time, 0.05))


@pytest.mark.parametrize(
    ("texts", "slow", "said"),
    [
        ("ab", 0.95, "BAD is not worse than GOOD"),
        ("ab", 1.0, "BAD is not worse than GOOD"),
        ("aaa", 1.0, "both ends generate the same kernel"),
        ("-ab", 1.0, "an end of the search cannot be used"),
        ("ab-", 1.0, "an end of the search cannot be used"),
    ],
)
def test_ends_that_are_no_ends_are_refused(texts: str, slow: float, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        search(history(texts), timer(lambda n: slow if n else 1.0, []))


def test_without_anything_to_measure_with_all_changes_of_the_text_are_the_answer() -> None:
    found = search(history("aabbc"), None)
    assert named(found) == "2 4"
    assert not found.measured


def test_a_search_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    asked: list[int] = []
    judge = timer(lambda n: 1.05 if n >= 6 else 1.0, asked)
    whole = judge.time

    def dies(a: Made, b: Made, start: int, end: int) -> PairTimes:
        if len(asked) == 2:
            raise KeyboardInterrupt
        return whole(a, b, start, end)

    path, kind = tmp_path / "search.jsonl", tuple[tuple[float, float], ...]
    judge.time, judge.kept = dies, Kept(path, kind)
    with pytest.raises(KeyboardInterrupt):
        search(history("abcdefgh"), judge)
    before = list(asked)
    again = timer(lambda n: 1.05 if n >= 6 else 1.0, asked)
    judge.kept.close()
    again.kept = Kept(path, kind)
    assert again.kept
    assert named(search(history("abcdefgh"), again)) == "6"
    assert not set(before) & set(asked[len(before) :])
    assert not path.exists()
    path.write_text("{ damaged\n{}\n")
    assert not Kept[PairTimes](path, kind)


def test_of_kernels_timed_together_those_that_are_the_same_are_no_cause() -> None:
    def generate(subject: Subject) -> GraphRecord:
        body = "n = 1" if int(subject.name) < 2 else "n = 2"
        return graph(kernel("k", "n", body=body), kernel("same", "m"))

    together = Kernel(subjects(4), generate, frozenset({"n", "m"}))
    found = search(together, timer(lambda n: 1.05 if n >= 2 else 1.0, []))
    (why,) = causes(found, "g", lambda _: Machine(""), lambda made: made.kernels)
    assert (why.kernel, why.label) == ("k", Label.SOURCE)
    assert "timed with the other kernels of the same nodes, 2 together" in why.evidence


def test_changes_ask_only_where_the_ends_differ() -> None:
    asked: list[int] = []

    def at(place: int) -> int:
        asked.append(place)
        return int(place >= 20)

    assert list(changes(0, 30, at)) == [(19, 20)]
    assert len(set(asked)) <= 7


def several(*names: Sequence[str]) -> GraphRecord:
    return graph(*(kernel(name, nodes) for name, nodes in names))


def test_a_kernel_is_known_by_its_nodes_whatever_shares_them() -> None:
    from harness.errors import UnknownName
    from harness.verdicts.generating import nodes_named

    good = several(("triton_poi_mul_0", "mul"), ("triton_poi_add_1", "add"), ("triton_red_2", "s"))
    bad = several(("triton_poi_mul_add_0", "mul add"), ("triton_red_1", "s"))
    for name in ("poi_mul_0", "triton_poi_mul_add_0", "add"):
        assert nodes_named(name, good, bad) == {"mul", "add"}
    with pytest.raises(UsageError, match="several kernels"):
        nodes_named("*poi*", several(("poi_1", "a"), ("poi_2", "b")), bad)
    with pytest.raises(UnknownName) as error:
        nodes_named("poi_mull_0", good, bad)
    assert "triton_poi_mul_0" in error.value.expected


def test_kernels_of_other_launches_are_other_versions() -> None:
    def generate(subject: Subject) -> GraphRecord:
        made: KernelRecord = kernel("k", "n", launches=1 + (subject.name == "1"))
        return graph(made)

    found = search(Kernel(subjects(2), generate, frozenset({"n"})), None)
    assert named(found) == "1"
