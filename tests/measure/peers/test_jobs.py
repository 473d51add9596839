from __future__ import annotations

import pytest

from harness.errors import UnknownName, UsageError
from harness.measure.peers.jobs import parse


def test_names_are_listed_once_and_in_order() -> None:
    assert parse("inductor, eager,inductor") == ("inductor", "eager")
    assert parse("cudagraphs,inductor-tuned") == ("cudagraphs", "inductor-tuned")


@pytest.mark.parametrize("text", ["", " , "])
def test_no_name_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="no compiler is named"):
        parse(text)


def test_an_unknown_name_comes_with_the_nearest() -> None:
    with pytest.raises(UnknownName) as caught:
        parse("eager,inducter")
    assert caught.value.got == "inducter"
    assert "inductor" in caught.value.expected
    with pytest.raises(UnknownName) as caught:
        parse("qqq")
    assert "cudagraphs" in caught.value.expected, "nothing is near: all of them"


def test_ours_is_no_peer() -> None:
    with pytest.raises(UnknownName, match="compared with others"):
        parse("harness")


def test_torch_is_asked_for_its_backends() -> None:
    assert parse("aot_eager") == ("aot_eager",)
