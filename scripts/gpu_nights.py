"""Real repetitions of a night on the GPU at hand: how often it is red for nothing, and whether it
finds a kernel that became slower.

    python scripts/gpu_nights.py measure FILE [--seconds 130]     in fresh processes, until then
    python scripts/gpu_nights.py measure FILE --short             kernels of 3 to 20 µs
    python scripts/gpu_nights.py judge FILE… [--draws 40]         nights out of the processes

Twelve kernels of 3 to 170 µs stand against the same kernel with one statement more that Triton
drops: other text, the same instructions. Six of 20 to 170 µs stand against themselves over 2.5 %
more rows. With ``--short`` six of 3 to 8 µs stand against the first, and ten of 3 to 20 µs against
themselves over as many more rows as make them 5 % slower, which one process finds out first: a
short kernel is mostly start and end. Every process times all pairs, as a night's do. A night takes
three processes that no other night has for its first look, and eight of the rest for the second, as
``harness nightly`` judges them; ``--draws`` takes both at random, so many times.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter, UserDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.graph.text import loads
from harness.measure.jobs import Effort, PairSamples, TimedKernel
from harness.measure.noise.estimate import Pair, Times
from harness.measure.noise.judge import Rules, Verdict
from harness.measure.pairs import KernelPair, PairResults, time_pairs
from harness.pipeline import compile_graph
from harness.records import modules
from harness.records.run import GraphRecord, KernelRecord, Machine, Run
from harness.records.timing import METHOD, Samples
from harness.session.entries import summarise
from harness.session.model import blank
from harness.target import find_target
from harness.verdicts.comparing import Comparison, Measured, Side, assemble
from harness.verdicts.night_plan import CONFIRM, DETECT, after_confirming, doubted, sort
from harness.verdicts.nightly import CONFIRMING

_Told = list[list[tuple[Samples, Samples]]]
"""Both sides of each pair in each process."""
_Night = tuple[list[int], list[int]]
"""The processes of the first look and of the second."""
GROWN, SHORT_GROWN = 1.025, 1.05
_GROWTHS = (1.03, 1.055, 1.08, 1.12, 1.17, 1.25)
"""Rows to try for a short kernel that is to become 5 % slower."""
_GRAPHS = {
    "gelu": """x: "bf16[{n}, 4096]", y: "bf16[{n}, 4096]"
    a: "bf16[{n}, 4096]" = aten.mul.Tensor(x, 0.7071067811865476)
    b: "bf16[{n}, 4096]" = aten.erf.default(a)
    c: "bf16[{n}, 4096]" = aten.add.Tensor(b, 1.0)
    d: "bf16[{n}, 4096]" = aten.mul.Tensor(x, c)
    e: "bf16[{n}, 4096]" = aten.mul.Tensor(d, y)
    return (e,)""",
    "silu": """x: "bf16[{n}, 14336]", y: "bf16[{n}, 14336]"
    a: "bf16[{n}, 14336]" = aten.sigmoid.default(x)
    b: "bf16[{n}, 14336]" = aten.mul.Tensor(a, x)
    c: "bf16[{n}, 14336]" = aten.mul.Tensor(b, y)
    return (c,)""",
    "softmax": """x: "f32[{n}, 2048]"
    a: "f32[{n}, 1]" = aten.amax.default(x, [-1], True)
    b: "f32[{n}, 2048]" = aten.sub.Tensor(x, a)
    c: "f32[{n}, 2048]" = aten.exp.default(b)
    d: "f32[{n}, 1]" = aten.sum.dim_IntList(c, [-1], True)
    e: "f32[{n}, 2048]" = aten.div.Tensor(c, d)
    return (e,)""",
    "norm": """x: "bf16[{n}, 4096]", w: "bf16[4096]"
    a: "f32[{n}, 4096]" = aten._to_copy.default(x, dtype=torch.float32)
    b: "f32[{n}, 4096]" = aten.mul.Tensor(a, a)
    c: "f32[{n}, 1]" = aten.mean.dim(b, [-1], True)
    d: "f32[{n}, 1]" = aten.rsqrt.default(c)
    e: "f32[{n}, 4096]" = aten.mul.Tensor(a, d)
    f: "bf16[{n}, 4096]" = aten._to_copy.default(e, dtype=torch.bfloat16)
    g: "bf16[{n}, 4096]" = aten.mul.Tensor(f, w)
    return (g,)""",
    "rows": """x: "bf16[{n}, 4096]"
    a: "f32[{n}]" = aten.sum.dim_IntList(x, [-1], False, dtype=torch.float32)
    return (a,)""",
    "mixed": """x: "bf16[{n}, 5120]", y: "bf16[{n}, 5120]"
    a: "bf16[{n}, 5120]" = aten.add.Tensor(x, y)
    b: "bf16[{n}, 1]" = aten.amax.default(a, [-1], True)
    c: "bf16[{n}, 5120]" = aten.sub.Tensor(a, b)
    return (a, c)""",
}
LARGE = {"gelu": 4096, "silu": 6400, "softmax": 8192, "norm": 8192, "rows": 16384, "mixed": 8192}
MEDIUM = {"gelu": 1536, "silu": 768, "softmax": 2048, "norm": 3072, "rows": 6144}
SMALL = {"gelu": 512, "silu": 256, "softmax": 512, "norm": 1024, "rows": 1024, "mixed": 512}
_STEP = 16
"""Rows are a multiple of it, so that alignment is no difference between two kernels."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A pattern over ``rows``, against ``more`` rows, or against the same instructions (0)."""

    name: str
    pattern: str
    rows: int
    more: int = 0


@dataclass(frozen=True, slots=True)
class Planted:
    """A pair of kernels of one graph; ``slower``: B does more."""

    name: str
    a: KernelRecord
    b: KernelRecord
    slower: bool


def subjects(scale: float) -> list[Subject]:
    """Twelve that stay as they are, six that become slower."""
    sizes = (("large", LARGE), ("small", SMALL))
    same = [s for size, rows in sizes for s in _of(size, rows, scale)]
    return [*same, *(_grown(s, GROWN) for s in _of("large", LARGE, scale))]


def short_subjects(scale: float) -> list[Subject]:
    """Six that stay as they are, ten that become slower, each by all growths."""
    small, medium = _of("small", SMALL, scale), _of("medium", MEDIUM, scale)
    grown = [s for s in (*small, *medium) if s.name != "silu small"]
    return [*small, *dict.fromkeys(_grown(s, growth) for s in grown for growth in _GROWTHS)]


def _of(size: str, rows: dict[str, int], scale: float) -> list[Subject]:
    return [Subject(f"{p} {size}", p, max(_STEP, int(n * scale))) for p, n in rows.items()]


def _grown(one: Subject, growth: float) -> Subject:
    return replace(one, more=-(-int(one.rows * growth) // _STEP) * _STEP)


def kernels(subjects: Sequence[Subject]) -> list[Planted]:
    """The pairs. Raises ``ValueError`` where a graph is not one kernel."""
    found = []
    for each in subjects:
        one = _kernel(each.pattern, each.rows)
        other = _kernel(each.pattern, each.more) if each.more else _with_dead_code(one)
        name = f"{each.name} {'slower' if each.more else 'same'}"
        found.append(Planted(name, one, other, bool(each.more)))
    return found


def _kernel(pattern: str, rows: int) -> KernelRecord:
    given, body = _GRAPHS[pattern].format(n=rows).split("\n", 1)
    given = given.replace(", y:", ",\n    y:").replace(", w:", ",\n    w:")
    text = f"# harness graph 1\ndef {pattern}(\n    {given},\n):\n{body}\n"
    compiled = compile_graph(loads(text), find_target("h200"))
    (kernel,) = summarise(compiled).kernels
    return blank(kernel)


def _with_dead_code(kernel: KernelRecord) -> KernelRecord:
    lines = kernel.module.split("\n")
    first = next(n for n, line in enumerate(lines) if line.lstrip().startswith("tmp0 = "))
    lines.insert(first + 1, f"{lines[first].partition('tmp0')[0]}dropped = tmp0 + 7")
    known = modules.facts(kernel.module).code_hash
    return replace(kernel, module="\n".join(lines).replace(known, known[::-1]))


class _File(UserDict[str, PairSamples]):
    """Every measurement as a line, written at once."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def __setitem__(self, asked: str, found: PairSamples) -> None:
        with self.path.open("a") as out:
            out.write(json.dumps([asked, *(msgspec.to_builtins(s) for s in (found.a, found.b))]))
            out.write("\n")


def measure(path: Path, seconds: float, seed: int, cache: Path, work: Sequence[Subject]) -> None:
    """Time ``work`` in fresh processes until the time is used up."""
    pairs = kernels(work)
    found = _timed(pairs, Effort(processes=200, seconds=seconds, seed=seed), cache, _File(path))
    for pair, why in zip(pairs, found.reasons, strict=True):
        if why:
            print(f"{pair.name}: {why}")
    whole = min(len(each) for each in found.outcomes)
    told = [[(o.a, o.b) for o in each[:whole]] for each in found.outcomes]
    document = {"gpu": found.device.machine.gpu, "samples": told, "subjects": list(work)}
    path.with_suffix(".whole.json").write_bytes(msgspec.json.encode(document))


def _timed(
    pairs: Sequence[Planted], effort: Effort, cache: Path, kept: _File | None = None
) -> PairResults:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    work = [KernelPair((TimedKernel(p.a.module),), (TimedKernel(p.b.module),)) for p in pairs]
    return time_pairs(work, effort, cache, 16, kept=kept)


def chosen(tried: Sequence[Subject], seed: int, cache: Path) -> list[Subject]:
    """``tried`` with one growth of each that grows: the one that a process finds nearest to 5 %."""
    growing = [each for each in tried if each.more]
    effort = Effort(processes=1, budget_ms=60.0, width=0.008, seed=seed)
    found = _timed(kernels(growing), effort, cache)
    best: dict[str, tuple[float, Subject]] = {}
    for each, outcomes in zip(growing, found.outcomes, strict=True):
        if outcomes:
            ratio = outcomes[0].b.median / outcomes[0].a.median
            print(f"  {each.name:16} {each.rows:6} → {each.more:6} rows  B÷A {ratio:.4f}")
            off = abs(ratio - SHORT_GROWN)
            best[each.name] = min(best.get(each.name, (off, each)), (off, each), key=lambda f: f[0])
    return [*(each for each in tried if not each.more), *(each for _, each in best.values())]


@dataclass(eq=False, slots=True)
class _Tally:
    """What nights said; ``missed`` counts by name."""

    nights: int = 0
    red: int = 0
    false: int = 0
    planted: int = 0
    missed: Counter[str] = field(default_factory=Counter)

    def add(self, pairs: Sequence[Planted], samples: _Told, night: _Night) -> None:
        """One night without the slowdowns, and one with them."""
        wrong = _slower(pairs, samples, *night, with_planted=False)
        self.nights, self.red = self.nights + 1, self.red + bool(wrong)
        self.false += len(wrong)
        asked = {pair.name for pair in pairs if pair.slower}
        self.planted += len(asked)
        self.missed.update(asked - set(_slower(pairs, samples, *night, with_planted=True)))


def judge(paths: Sequence[Path], seed: int, draws: int) -> None:
    """Print what nights made of the processes say."""
    tally, count = _Tally(), 0
    rows: dict[str, list[tuple[float, float]]] = {}
    for path in paths:
        document = json.loads(path.read_bytes())
        given = document.get("subjects")
        work = msgspec.convert(given, list[Subject]) if given else subjects(1.0)
        pairs, samples = kernels(work), msgspec.convert(document["samples"], _Told)
        count += len(samples[0])
        for pair, mine in zip(pairs, samples, strict=True):
            rows.setdefault(pair.name, []).extend((a.median, b.median) for a, b in mine)
        for night in _nights(len(samples[0]), seed, draws):
            tally.add(pairs, samples, night)
    found = tally.planted - tally.missed.total()
    print(f"{count} processes, {tally.nights} nights: {tally.red} red for nothing", end=" ")
    print(f"({tally.false} rows); slowdowns found: {found} of {tally.planted}")
    for name, medians in rows.items():
        ratio = statistics.median(after / before for before, after in medians)
        us = 1000 * statistics.median(before for before, _ in medians)
        said = f"missed {tally.missed[name]}" if name.endswith("slower") else ""
        print(f"{name:24} {us:8.2f} µs  B÷A {ratio:.4f} {said}")


def _nights(count: int, seed: int, draws: int) -> Iterator[_Night]:
    """The processes of first and second looks: first ones that no other night has, or ``draws``
    of both at random."""
    every = list(range(count))
    random.Random(seed).shuffle(every)
    firsts = [every[n : n + DETECT] for n in range(0, count - DETECT + 1, DETECT)]
    if draws:
        firsts = [random.Random(f"{seed} {n}").sample(every, DETECT) for n in range(draws)]
    for number, first in enumerate(firsts):
        left = [n for n in every if n not in first]
        if len(left) >= CONFIRM:
            yield first, random.Random(f"{seed} second {number}").sample(left, CONFIRM)


def _slower(
    pairs: Sequence[Planted],
    samples: _Told,
    first: Sequence[int],
    second: Sequence[int],
    *,
    with_planted: bool,
) -> list[str]:
    """The pairs that a night calls slower."""
    chosen = [n for n, pair in enumerate(pairs) if with_planted or not pair.slower]
    a, b = (
        Run(
            f"20260101-00000{number}",
            str(number) * 40,
            Machine("gpu", triton="3"),
            "sm_90",
            graphs=tuple(
                GraphRecord(pairs[n].name, kernels=(getattr(pairs[n], side),)) for n in chosen
            ),
            method=METHOD,
        )
        for number, side in enumerate("ab")
    )
    sorting = sort(a, b, timed=True)
    assert all(change is not None for _, change in sorting), "a pair executes the same"

    def told(processes: Sequence[int], wanted: Sequence[int], rules: Rules) -> Comparison:
        matches = tuple(sorting.pairing.matches[n] for n in wanted)
        by_name = {pair.name: mine for pair, mine in zip(pairs, samples, strict=True)}
        measured = [_measured([by_name[m.graph][p] for p in processes]) for m in matches]
        pairing = replace(sorting.pairing, matches=matches)
        return assemble(Side("a", a), Side("b", b), pairing, measured, rules, paired=True)

    every = list(range(len(sorting.pairing.matches)))
    look = told(first, every, Rules())
    suspects = doubted(sorting, look, every)
    if not suspects:
        return []
    controls = [n for n in every if n not in suspects][:12]
    again = told(second, [*controls, *suspects], CONFIRMING)
    asked = {sorting.pairing.matches[n].graph for n in suspects}
    final, _ = after_confirming(look, again, sorting.restructured)
    slower = [row.match.graph for row in final.rows if row.verdict is Verdict.SLOWER]
    return [name for name in slower if name in asked]


def _measured(found: Sequence[tuple[Samples, Samples]]) -> Measured:
    kept = [pair for pair in found if not (pair[0].disturbed or pair[1].disturbed)]
    if not kept:
        return "disturbed in every process"
    return Pair(_times([a for a, _ in kept]), _times([b for _, b in kept]))


def _times(found: Sequence[Samples]) -> Times:
    return Times.of([s.ms for s in found])


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("measure", "judge"))
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, default=130.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scale", type=float, default=1.0, help="of the rows")
    parser.add_argument("--short", action="store_true", help="kernels of 3 to 20 µs")
    parser.add_argument("--draws", type=int, default=0, help="nights that share processes")
    asked = parser.parse_args()
    paths = asked.files
    if asked.what == "measure":
        with tempfile.TemporaryDirectory() as folder:
            began, cache = time.monotonic(), Path(folder)
            work = short_subjects(asked.scale) if asked.short else subjects(asked.scale)
            if asked.short:
                work = chosen(work, asked.seed, cache)
            left = asked.seconds - (time.monotonic() - began)
            measure(paths[0], left, asked.seed, cache, work)
        paths = [paths[0].with_suffix(".whole.json")]
    judge(paths, asked.seed, asked.draws)


if __name__ == "__main__":
    main()
