"""A sample of the committed corpus: compiled for every kind of device, the small counterparts
checked in the interpreter."""

from __future__ import annotations

import pytest

from harness.corpus import store
from harness.corpus.selecting import select
from harness.graph.suite import FOLDER
from suites.building.trying import summary, tried

CORPUS = store.load(FOLDER / "corpus")


@pytest.mark.slow
def test_a_sample_of_the_corpus(tmp_path):
    chosen = select(CORPUS, "small=yes nodes<60 sample=40 seed=3")
    texts = CORPUS.texts(p.name for p in chosen)
    found = tried(texts, tmp_path / "log.jsonl", 2)
    assert not [one for one in found if one.failures or one.wrong], summary(found)
    assert sum(one.checked for one in found) >= 40
    again = tried(texts, tmp_path / "log.jsonl", 1)
    assert again == found, "a log is gone on with"
