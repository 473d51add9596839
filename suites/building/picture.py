"""The corpus as a picture: how many patterns there are of what, and which share they have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.corpus.model import Pattern
from harness.corpus.store import Corpus

_MOST = 24


def draw(corpus: Corpus, path: Path) -> None:
    """Write the picture to ``path``; its ending says which format."""
    import matplotlib as mpl

    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = corpus.digest  # the same picture for the same corpus
    import matplotlib.pyplot as plt

    families = {capture.name: capture.family for capture in corpus.captures}
    panels: tuple[tuple[str, Callable[[Pattern], Sequence[str]]], ...] = (
        ("kind", lambda p: [p.kind]),
        ("element types", lambda p: p.dtypes),
        ("most dimensions", lambda p: [str(p.rank)]),
        ("bytes of a call", lambda p: [f"< 1e{len(str(p.bytes))}"]),
        (
            "family",
            lambda p: sorted({families[u.capture] for u in p.uses if u.capture in families}),
        ),
        ("operators", lambda p: p.operators),
    )
    figure, axes = plt.subplots(2, 3, figsize=(13, 9), layout="constrained")
    for axis, (title, values) in zip(axes.flat, panels, strict=True):
        counts: Counter[str] = Counter()
        weights: dict[str, float] = {}
        for pattern in corpus.patterns:
            for value in values(pattern):
                counts[value] += 1
                weights[value] = weights.get(value, 0.0) + pattern.weight
        shown = counts.most_common(_MOST)
        if title in ("bytes of a call", "most dimensions"):
            shown.sort(key=lambda row: int(row[0].rpartition("e")[2]))
        names = [name for name, _ in shown]
        axis.barh(names, [n for _, n in shown], color="#4c78a8", height=0.6)
        share = axis.twiny()
        share.plot([weights[name] for name in names], names, "o", color="#e45756", markersize=4)
        share.set_xlim(0, None)
        share.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
        axis.invert_yaxis()
        axis.set_title(f"{title}\n", fontsize=10)
        axis.tick_params(labelsize=8)
    models = len({c.model for c in corpus.captures if not c.reason})
    figure.suptitle(
        f"{len(corpus.patterns)} patterns of {models} models: bars are patterns, dots the share of "
        "the models' bytes"
    )
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
