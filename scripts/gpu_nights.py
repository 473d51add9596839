"""Real repetitions of a night on the GPU at hand: how often it is red for nothing, and whether it
finds a kernel that became 2.5 % slower.

    python scripts/gpu_nights.py measure FILE [--seconds 130]     in fresh processes, until then
    python scripts/gpu_nights.py judge FILE…                      nights out of the processes

Twelve kernels of 3 to 170 µs stand against the same kernel with one statement more that Triton
drops: other text, the same instructions. Six of 20 to 170 µs stand against themselves over 2.5 %
more rows. Every process times all pairs, as a night's do. A night takes three processes that no
other night has for its first look, and eight of the rest for the second, as ``harness nightly``
judges them.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import statistics
import sys
import tempfile
from collections import UserDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.graph.text import loads
from harness.measure.jobs import Effort, PairSamples, TimedKernel
from harness.measure.noise.estimate import Pair, Times
from harness.measure.noise.judge import Rules, Verdict
from harness.measure.pairs import KernelPair, time_pairs
from harness.pipeline import compile_graph
from harness.records import modules
from harness.records.run import GraphRecord, KernelRecord, Machine, Run
from harness.records.timing import METHOD, Samples
from harness.session.entries import summarise
from harness.session.session import blank
from harness.target import find_target
from harness.verdicts.comparing import Comparison, Measured, Side, assemble
from harness.verdicts.night_plan import CONFIRM, DETECT, after_confirming, doubted, sort
from harness.verdicts.nightly import CONFIRMING

GROWN = 1.025
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
SMALL = {"gelu": 512, "silu": 256, "softmax": 512, "norm": 1024, "rows": 1024, "mixed": 512}


@dataclass(frozen=True, slots=True)
class Planted:
    """A pair of kernels of one graph; ``slower``: B does more."""

    name: str
    a: KernelRecord
    b: KernelRecord
    slower: bool


def kernels(scale: float = 1.0) -> list[Planted]:
    """The pairs. Raises ``AssertionError`` where a graph is not one kernel."""
    found = []
    for size, rows in (("large", LARGE), ("small", SMALL)):
        for pattern, number in rows.items():
            count = max(16, int(number * scale))
            one = _kernel(pattern, count)
            found.append(Planted(f"{pattern} {size} same", one, _with_dead_code(one), False))
            if size == "large":
                more = -(-int(count * GROWN) // 16) * 16
                found.append(Planted(f"{pattern} slower", one, _kernel(pattern, more), True))
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


def measure(path: Path, seconds: float, seed: int, scale: float) -> None:
    """Time all pairs in fresh processes until the time is used up."""
    pairs = kernels(scale)
    work = [KernelPair((TimedKernel(p.a.module),), (TimedKernel(p.b.module),)) for p in pairs]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as cache:
        effort = Effort(processes=200, seconds=seconds, seed=seed)
        found = time_pairs(work, effort, Path(cache), 16, kept=_File(path))
    for pair, why in zip(pairs, found.reasons, strict=True):
        if why:
            print(f"{pair.name}: {why}")
    whole = min(len(each) for each in found.outcomes)
    told = [[(o.a, o.b) for o in each[:whole]] for each in found.outcomes]
    with path.with_suffix(".whole.json").open("w") as out:
        json.dump({"gpu": found.device.machine.gpu, "samples": msgspec.to_builtins(told)}, out)


def judge(paths: Sequence[Path], seed: int) -> None:
    """Print what nights made of the processes say."""
    pairs = kernels()
    red = nights = false = found = planted = 0
    rows: dict[str, list[tuple[float, float]]] = {}
    missed: dict[str, int] = {}
    count = 0
    for path in paths:
        with path.open() as file:
            samples = msgspec.convert(
                json.load(file)["samples"], list[list[tuple[Samples, Samples]]]
            )
        every = list(range(len(samples[0])))
        count += len(every)
        random.Random(seed).shuffle(every)
        for pair, mine in zip(pairs, samples, strict=True):
            rows.setdefault(pair.name, []).extend((a.median, b.median) for a, b in mine)
        for begin in range(0, len(every) - DETECT + 1, DETECT):
            first = every[begin : begin + DETECT]
            left = [n for n in every if n not in first]
            if len(left) < CONFIRM:
                continue
            second = random.Random(f"{seed} {begin}").sample(left, CONFIRM)
            for slower in (False, True):
                names = _slower(pairs, samples, first, second, with_planted=slower)
                wrong = [name for name in names if name.endswith("same")]
                if not slower:
                    nights, red, false = nights + 1, red + bool(wrong), false + len(wrong)
                    continue
                asked = [p.name for p in pairs if p.slower]
                planted += len(asked)
                found += len([name for name in asked if name in names])
                for name in asked:
                    missed[name] = missed.get(name, 0) + (name not in names)
    print(f"{count} processes, {nights} nights: {red} red for nothing ({false} rows)")
    print(f"slowdowns found: {found} of {planted}")
    for pair in pairs:
        medians = rows[pair.name]
        ratio = statistics.median(after / before for before, after in medians)
        us = 1000 * statistics.median(before for before, _ in medians)
        said = f"missed {missed.get(pair.name, 0)}" if pair.slower else ""
        print(f"{pair.name:24} {us:8.2f} µs  B÷A {ratio:.4f} {said}")


def _slower(
    pairs: Sequence[Planted],
    samples: Sequence[Sequence[tuple[Samples, Samples]]],
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
    parser.add_argument("--scale", type=float, default=1.0)
    asked = parser.parse_args()
    if asked.what == "measure":
        measure(asked.files[0], asked.seconds, asked.seed, asked.scale)
    whole = [path.with_suffix(".whole.json") for path in asked.files]
    judge(whole if asked.what == "measure" else asked.files, asked.seed)


if __name__ == "__main__":
    main()
