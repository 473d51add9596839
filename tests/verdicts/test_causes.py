"""Which kernels are one binary, which are alike, and which were tuned anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.records.run import KernelRecord
from harness.verdicts.causes import is_alike, is_identical, is_retuned
from harness.verdicts.pairing import Match
from tests.history.examples import MACHINE
from tests.history.kernels import CONFIG, changed, graph, kernel, side

OTHER = {**CONFIG, "num_warps": 8}
SAME = kernel("k", "n")


def match(*a: KernelRecord, b: tuple[KernelRecord, ...] = (SAME,)) -> Match:
    return Match("g", a or (SAME,), b, "nodes")


@pytest.mark.parametrize(
    ("found", "alike"),
    [
        (match(), True),
        (match(kernel("k", "n", body="other")), True),
        (match(kernel("k", "n", registers=40)), False),
        (match(changed(SAME, mix={"float32": 60, "load_global": 5})), False),
        (match(changed(SAME, config=OTHER)), False),
        (match(changed(SAME, bytes=101)), False),
        (match(SAME, SAME), False),
        # what is not known of either is not alike
        *(
            (match(one, b=(one,)), False)
            for one in (
                replace(SAME, mix=None),
                replace(SAME, mix={}),
                replace(SAME, metrics={}),
                replace(SAME, config=None),
            )
        ),
    ],
)
def test_binaries_are_alike_by_all_that_is_known_of_them(found: Match, alike: bool) -> None:
    assert is_alike(found) == alike


@pytest.mark.parametrize(
    ("found", "run", "identical"),
    [
        (match(), {}, True),
        (match(kernel("k7", "n")), {}, True),
        (match(kernel("k", "n", body="other")), {}, False),
        (match(changed(SAME, config=OTHER)), {}, False),
        (match(replace(SAME, config=None)), {}, True),  # in the only one of its module
        (match(SAME, SAME), {}, False),
        (match(replace(SAME, module=""), b=(replace(SAME, module=""),)), {}, False),
        (match(replace(SAME, module="")), {}, False),
        (match(b=(replace(SAME, module=""),)), {}, False),
        (match(replace(SAME, module=SAME.module.replace('"f32"', '"f16"'))), {}, False),
        (match(), {"machine": replace(MACHINE, triton="4.0.0")}, False),
        (match(), {"target": "sm_100"}, False),
        (match(), {"machine": replace(MACHINE, driver="9.9")}, True),
    ],
)
def test_what_is_one_binary_is_known_by_code_configuration_and_toolchain(
    found: Match, run: dict[str, Any], identical: bool
) -> None:
    a = side(graph(SAME)).run
    assert is_identical(found, a, replace(a, **run)) == identical


@pytest.mark.parametrize(
    ("found", "retuned"),
    [
        (match(changed(SAME, config=OTHER)), True),
        (match(), False),
        (match(replace(SAME, config=None)), False),
        (match(b=(replace(SAME, config=None),)), False),
        (match(changed(kernel("k", "n", body="other"), config=OTHER)), False),
        (
            match(
                changed(SAME, config=OTHER, module=SAME.module.replace("},\n]", "},\n    {},\n]"))
            ),
            False,  # of other candidates
        ),
    ],
)
def test_what_is_tuned_anew_chose_another_of_the_same_candidates(
    found: Match, retuned: bool
) -> None:
    run = side(graph(SAME)).run
    assert is_retuned(found, run, run) == retuned
