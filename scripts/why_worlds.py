"""How often `harness why` names the right cause, where the cause was planted.

Prints the table of docs/measurements/why.md, seeded: the same each time.

    python scripts/why_worlds.py                      30 of each kind
    python scripts/why_worlds.py --count 200 --kind source machine

A world is 60 kernels of a recorded run of the suite: their modules, configurations, trials and
figures as they were, in three processes a side, with the noise of `verdict_worlds.py`. One kernel
gets the cause, of 3 to 30 %, slower or faster; six others were retuned, which happens by itself.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import verdict_worlds

from harness.history import store
from harness.measure.noise.judge import Rules
from harness.records.run import GraphRecord, KernelRecord, Run
from harness.records.timing import Samples
from harness.records.trials import standard_error
from harness.verdicts.comparing import Side, compare
from harness.verdicts.why import Label, Why, explain

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "results/nvidia-h200-580.159.04/20261122-043256-fe055bcec26f.parquet"
KERNELS, PROCESSES, RETUNED = 60, 3, 6
NOISE = ("calm", "heavy tails", "neighbours agree", "modes by process", "kernels' own day 0.5 %")


@dataclass
class World:
    """Both sides while a cause is planted in the kernel number ``at``: kernels, the logarithms of
    B's effects, and B's run. A kernel of B that is split has its parts in ``split``."""

    rng: np.random.Generator
    a: list[KernelRecord]
    b: list[KernelRecord]
    effects: np.ndarray
    run: Run
    at: int
    split: bool = False
    clock: tuple[float, float] = (1980.0, 1980.0)
    trials: dict[int, float] = field(default_factory=dict)

    def size(self, least: float = 0.03, most: float = 0.3) -> float:
        """The logarithm of a change of the time, up or down."""
        size = np.exp(self.rng.uniform(np.log(least), np.log(most)))
        return float(np.log1p(size) * self.rng.choice([-1, 1]))


def _other_text(world: World, kernel: KernelRecord) -> KernelRecord:
    """The kernel with another operator somewhere, and sometimes with other figures."""
    start = kernel.module.index("@triton.jit")
    places = [
        n
        for n in range(start, kernel.module.index("\ndef reference("))
        if kernel.module[n : n + 3] in (" + ", " * ")
    ]
    place = int(world.rng.choice(places)) + 1
    other = "-" if kernel.module[place] == "+" else "+"
    text = kernel.module[:place] + other + kernel.module[place + 1 :]
    lines = [line for line in text.split("\n") if not line.startswith("CODE_HASH = ")]
    made = replace(kernel, module="\n".join(lines))
    return _other_figures(world, made) if world.rng.random() < 0.5 else made


def _other_figures(world: World, kernel: KernelRecord) -> KernelRecord:
    step = int(world.rng.integers(1, 9))
    figures = dict(kernel.metrics)
    figures["registers"] = figures.get("registers", 32) + 8
    figures["instructions"] = figures.get("instructions", 100) + step
    mix = dict(kernel.mix or {})
    first = min(mix)
    return replace(kernel, metrics=figures, mix={**mix, first: mix[first] + step})


def _retuned(world: World, kernel: KernelRecord) -> KernelRecord:
    """The kernel in another of its configurations that the tuner timed."""
    tried = [t.config for t in kernel.trials if t.time is not None and t.config != kernel.config]
    return replace(kernel, config=tried[int(world.rng.integers(len(tried)))])


def source(w: World, least: float = 0.03) -> Label:
    """Another text."""
    w.b[w.at] = _other_text(w, w.b[w.at])
    w.effects[w.at] += w.size(least)
    return Label.SOURCE


def configuration(w: World, least: float = 0.03) -> Label:
    """The same text, of whose configurations another was chosen."""
    w.b[w.at] = _retuned(w, w.b[w.at])
    w.effects[w.at] += w.size(least)
    return Label.CONFIGURATION


def fusion(w: World) -> Label:
    """One kernel became two, which share its nodes."""
    w.split = True
    w.effects[w.at] += w.size()
    return Label.FUSION


def toolchain(w: World) -> Label:
    """Another Triton: a fifth of the binaries differ, and their times by 1 % or so."""
    w.run = replace(w.run, machine=replace(w.run.machine, triton="3.7.0"))
    for n in range(len(w.b)):
        if n == w.at or w.rng.random() < 0.2:
            w.b[n] = _other_figures(w, w.b[n])
            w.effects[n] += w.size() if n == w.at else w.rng.normal(0, 0.01)
    return Label.TOOLCHAIN


def clocks(w: World) -> Label:
    """Another SM clock, which every kernel follows, each in its way."""
    change = float(w.rng.uniform(0.008, 0.15)) * float(w.rng.choice([-1, 1]))
    w.clock = (1980.0, 1980.0 * (1 + change))
    w.effects -= np.log1p(change) * w.rng.uniform(0.8, 1.0) * np.ones(len(w.b))
    return Label.MACHINE


def board(w: World) -> Label:
    """Another board of the kind, which is faster or slower by some per cent."""
    w.run = replace(w.run, machine=replace(w.run.machine, gpu_uuid="GPU-another"))
    w.effects += w.size(0.02, 0.06) + w.rng.normal(0, 0.004, len(w.b))
    return Label.MACHINE


def alone(w: World) -> Label:
    """The same instructions, slower by themselves: a neighbour on the machine."""
    w.effects[w.at] += w.size(0.05)
    return Label.MACHINE


def noise(w: World) -> Label:  # noqa: ARG001
    """Nothing."""
    return Label.NOISE


def source_on_board(w: World) -> Label:
    """Another text on another board."""
    board(w)
    return source(w)


def source_and_choice(w: World) -> Label:
    """Another text that moves the time by 10 % or more, and another choice that hardly does."""
    found = source(w, 0.1)
    w.trials = {w.at: w.effects[w.at]}
    w.b[w.at] = _retuned(w, w.b[w.at])
    w.effects[w.at] *= 1.05
    return found


def choice_and_source(w: World) -> Label:
    """Another choice that moves the time by 10 % or more, and another text that hardly does."""
    w.b[w.at] = _other_text(w, w.b[w.at])
    w.trials = {w.at: 0.0}
    configuration(w, 0.1)
    return Label.CONFIGURATION


KINDS: dict[str, Callable[..., Label]] = {
    "source": source,
    "fusion": fusion,
    "configuration": configuration,
    "toolchain": toolchain,
    "clocks": clocks,
    "board": board,
    "alone": alone,
    "noise": noise,
    "source on another board": source_on_board,
    "source and a choice": source_and_choice,
    "choice and a source": choice_and_source,
}


def suite() -> Run:
    """The recorded run whose kernels are used."""
    return store.load(RECORDED)


def planted(run: Run, kind: str, number: int) -> tuple[Label, Why]:
    """World ``number`` of a kind: the cause that was planted, and the one that is named."""
    rng = np.random.default_rng([zlib.crc32(kind.encode()), number])
    kernels = [k for g in run.graphs for k in g.kernels if _is_usable(k)]
    chosen = [kernels[n] for n in rng.choice(len(kernels), KERNELS, replace=False)]
    a = [replace(k, name=f"{k.name}_{n}", origins=_nodes(k, n)) for n, k in enumerate(chosen)]
    w = World(rng, a, list(a), np.zeros(KERNELS), run, int(rng.integers(KERNELS)))
    for n in range(RETUNED):
        if n != w.at:
            w.b[n] = _retuned(w, w.b[n])
            w.effects[n] += rng.normal(0, 0.01)
    label = KINDS[kind](w)
    one, other = _timed(w)
    found = compare(one, other, Rules())
    row = next(r for r in found.rows if r.match.a[0].name == a[w.at].name)
    return label, explain(found, row)


def _is_usable(kernel: KernelRecord) -> bool:
    tried = [t for t in kernel.trials if t.time is not None and t.config != kernel.config]
    texts = kernel.module.split("@triton.jit")[-1].split("\ndef reference(")[0]
    return bool(kernel.ms and kernel.mix and tried) and (" + " in texts or " * " in texts)


def _nodes(kernel: KernelRecord, number: int) -> tuple[str, ...]:
    """Nodes of its own for every kernel of the world, two at least."""
    return tuple(f"{node}_{number}" for node in (*kernel.origins, "last"))


def _timed(w: World) -> tuple[Side, Side]:
    """Both sides with samples."""
    ms = np.array([k.ms or 0.01 for k in w.a])
    spread = np.sqrt((0.0012**2 + (2.5e-6 / ms) ** 2) * 6 / w.rng.chisquare(6, len(ms)))
    a, b = (w.rng.normal(size=(len(ms), PROCESSES)) * spread[:, None] for _ in range(2))
    verdict_worlds.WORLDS[str(w.rng.choice(NOISE))](verdict_worlds.Drawn(w.rng, ms, spread, a, b))
    b += w.effects[:, None]
    ours = [_sampled(k, ms[n] * np.exp(a[n]), w.clock[0]) for n, k in enumerate(w.a)]
    theirs = [_sampled(k, ms[n] * np.exp(b[n]), w.clock[1]) for n, k in enumerate(w.b)]
    for n, shift in w.trials.items():
        theirs[n] = _shifted(w, theirs[n], shift)
    if w.split:
        whole = theirs[w.at]
        half = len(whole.origins) // 2
        theirs[w.at : w.at + 1] = [
            _sampled(_part(w, whole, part, nodes), times, w.clock[1])
            for part, nodes, times in (
                (1, whole.origins[:half], 0.4 * ms[w.at] * np.exp(b[w.at])),
                (2, whole.origins[half:], 0.6 * ms[w.at] * np.exp(b[w.at])),
            )
        ]
    sides = (
        (w.run if side == "B" else suite_run(w.run), side, ks)
        for side, ks in (("A", ours), ("B", theirs))
    )
    one, other = (
        Side(label, replace(run, graphs=(GraphRecord("suite", kernels=tuple(found)),)))
        for run, label, found in sides
    )
    return one, other


def _part(w: World, whole: KernelRecord, part: int, nodes: tuple[str, ...]) -> KernelRecord:
    return replace(_other_text(w, whole), name=f"{whole.name}_{part}", origins=nodes)


def suite_run(run: Run) -> Run:
    """A's run: on the board and with the Triton of the recording."""
    machine = replace(run.machine, gpu_uuid="GPU-recorded", triton="3.6.0")
    return replace(run, machine=machine)


def _sampled(kernel: KernelRecord, medians: np.ndarray, clock: float) -> KernelRecord:
    sets = tuple(
        Samples(process=n, ms=(float(m),) * 3, clock_mhz=clock) for n, m in enumerate(medians)
    )
    return replace(kernel, sets=sets, ms=float(np.median(medians)), region="suite.r0")


def _shifted(w: World, kernel: KernelRecord, shift: float) -> KernelRecord:
    """B's trials: of another text, ``shift`` off those of A's, and its own choice as it runs."""
    chosen = next(t for t in w.a[w.at].trials if t.config == w.a[w.at].config)
    now = (chosen.time or 0.0) * float(np.exp(w.effects[w.at]))
    told = []
    for trial in kernel.trials:
        if trial.time is None:
            continue
        level = now if trial.config == kernel.config else trial.time * float(np.exp(shift))
        error = min(0.03, standard_error(trial.samples_ms) / (trial.ms or 1.0))
        told.append(replace(trial, level=level * float(np.exp(w.rng.normal(0, error)))))
    return replace(kernel, trials=tuple(told))


def rates(run: Run, kind: str, count: int) -> tuple[int, int, Counter[Label]]:
    """Right answers, wrong ones, and what was said."""
    said: Counter[Label] = Counter()
    right = wrong = 0
    for number in range(count):
        label, why = planted(run, kind, number)
        said[why.label] += 1
        right += why.label is label
        wrong += why.label not in (label, Label.UNSURE)
    return right, wrong, said


def main() -> None:
    """Print the rates of the kinds asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=list(KINDS))
    asked = parser.parse_args()
    run = suite()
    print("| planted | right | unsure | wrong | said |")
    print("|---|---|---|---|---|")
    for kind in asked.kind:
        right, wrong, said = rates(run, kind, asked.count)
        named = ", ".join(f"{label.value} {n}" for label, n in said.most_common())
        cells = (kind, f"{right} of {asked.count}", said[Label.UNSURE], wrong, named)
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
