from __future__ import annotations

from pathlib import Path

import pytest

from harness.dtypes import DType
from harness.graph.suite import load_suite
from suites.building.capturing import Shard, blank, cut, merged
from suites.building.catalogue import Model, Planned, Variant
from suites.building.counterparts import with_small
from suites.building.writing import save

ENTRIES = ("llama_block", "gpt2", "gpt2_tuned", "vit")


def shard(name: str, family: str) -> Shard:
    """The default suite's graphs, as a capture of a catalogue."""
    entry = load_suite().entry(name.removesuffix("_tuned"))
    variant = Variant("training", DType.BF16, "throughput")
    planned = Planned(f"{name}/training", Model(entry.target, name, family), variant)
    return cut(blank(planned), entry.graphs)


@pytest.fixture(scope="session")
def shards() -> list[Shard]:
    return [shard(name, "vision" if name == "vit" else "language") for name in ENTRIES]


@pytest.fixture(scope="session")
def whole(shards: list[Shard], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of suites with a corpus."""
    folder = tmp_path_factory.mktemp("suites") / "corpus"
    patterns = list(with_small(merged(shards), workers=1))
    failed = blank(Planned("none", Model("x:y", "none"), Variant("training", DType.F32, "s")), "no")
    save(folder, [*(s.capture for s in shards), failed], patterns)
    return folder
