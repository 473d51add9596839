"""Errors: what they say, that they travel, and the nearest names they propose."""

from __future__ import annotations

import pickle

import pytest

from harness.errors import DamagedGraph, UnknownName, nearest

GRAPHS = ("llama_block_forward", "llama_block_backward", "t5_block_forward", "adamw_step", "vit")


@pytest.mark.parametrize(
    ("typed", "best"),
    [
        ("lama_block_forward", "llama_block_forward"),
        ("lama", "llama_block_backward"),
        ("LLAMA", "llama_block_backward"),
        ("adam", "adamw_step"),
        ("vitt", "vit"),
        ("t5", "t5_block_forward"),
    ],
)
def test_the_nearest_name_comes_first(typed: str, best: str) -> None:
    assert nearest(typed, GRAPHS)[0] == best


def test_nothing_is_proposed_for_a_name_that_is_like_none() -> None:
    assert nearest("qqqqqq", GRAPHS) == []


def test_at_most_as_many_as_asked_for() -> None:
    assert len(nearest("block", GRAPHS, most=2)) == 2


def test_a_name_is_known_by_how_it_begins() -> None:
    models = ["lambda_resnet26t", "LlamaForCausalLM", "BartForCausalLM", "OPTForCausalLM"]
    assert nearest("lamma", models)[0] == "LlamaForCausalLM"
    assert nearest("brat", models)[0] == "BartForCausalLM"


def test_errors_pickle_and_print_every_field() -> None:
    error = DamagedGraph("not Python", "g.py:3", "x", "y", "undo the edit")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is DamagedGraph
    assert str(again) == "g.py:3: not Python\n  got: x\n  expected: y\n  what to do: undo the edit"
    assert str(UnknownName("no such graph")) == "no such graph"
