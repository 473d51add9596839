from __future__ import annotations

import subprocess
import sys

import torch

from harness.backend import Compiler

_FIRST = """
from harness.graph.capture.aot import _list_rules
print(*sorted({op._schema.name for op in _list_rules()}))
"""


def test_lists_are_taken_apart_though_nobody_asked_for_the_operator_before() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FIRST], capture_output=True, text=True, check=True
    )
    named = {f"aten::_foreach_{name}" for name in ("addcdiv", "lerp", "maximum", "sigmoid", "zero")}
    assert named <= {*done.stdout.split()}


def test_operators_on_lists_are_kernels(compiler: Compiler) -> None:
    def step(weights: list[torch.Tensor], others: list[torch.Tensor]) -> list[torch.Tensor]:
        found = torch._foreach_round(torch._foreach_maximum(weights, others))
        found += torch._foreach_sigmoid(torch._foreach_clamp_min(weights, 0.25))
        found += torch._foreach_lerp(weights, others, 0.3)
        torch._foreach_addcdiv_(weights, others, [other + 2 for other in others], -0.5)
        torch._foreach_copy_(others, weights)
        torch._foreach_zero_(weights)
        return found

    ours, theirs = (
        [[torch.linspace(-n, n, 7 * n).exp() for n in (1, 2)] for _ in "ab"] for _ in "ab"
    )
    torch.testing.assert_close(torch.compile(step, backend=compiler)(*ours), step(*theirs))
    torch.testing.assert_close(ours, theirs)
    assert [report.library_calls for report in compiler.reports] == [()]
