"""What a tensor without dimensions, on the CPU, chooses along a dimension: eager mode reads the
number that it holds and makes a view of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from harness.backend import Compiler
from harness.conformance.compare import differences

Function = Callable[[Tensor, Tensor, Tensor], object]
ROWS, SOME = torch.tensor([0, 2, 2]), torch.tensor([True, False, True, True])


def _written(x: Tensor, i: Tensor, j: Tensor) -> Tensor:
    y = x * 2
    y[i] = 3
    y[:, j, 1:] = x[:, i, 1:] + y[i, 0, 0]
    y[j, SOME] = 0
    return y * y[i].sum()


PROGRAMS: dict[str, Function] = {
    "first": lambda x, i, j: x[i] * 2,
    "last": lambda x, i, j: x[..., j] + 1,
    "beside slices": lambda x, i, j: x[None, j, 1:, i] * 2,
    "all": lambda x, i, j: x[i, j, i].sin(),
    "beside indices": lambda x, i, j: (x[ROWS, i] * 2, x[i, :, ROWS] + 1),
    "in a list": lambda x, i, j: x[[i, i]] * 2,
    "beside a mask": lambda x, i, j: x[:, SOME, i].sum() * 2,
    "returned as well": lambda x, i, j: (x[i] * 2, x),
    "written": _written,
    "returned": lambda x, i, j: (x[i].t(), x * 2),
    "changed": lambda x, i, j: x.clone()[i].add_(1) * 2,
    "changed later": lambda x, i, j: (y := x * 2, z := y[i], y.add_(1), z * 2)[3],
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_place_is_the_number_that_it_holds(compiler: Compiler, name: str, turned: bool) -> None:
    i, j = torch.tensor(2), torch.tensor(-1, dtype=torch.int32)
    x = torch.randn(3, 4, 5).permute(2, 1, 0) if turned else torch.randn(5, 4, 3).requires_grad_()
    then = [(x, torch.tensor(-2), j)]
    assert differences(PROGRAMS[name], (x, i, j), compiler, dynamic=turned, then=then) == []
    assert compiler.reports


def test_numbers_in_a_list_are_places_along_one_dimension(compiler: Compiler) -> None:
    def function(x: Tensor, n: int) -> tuple[Tensor, Tensor]:
        written = x * 2
        written[[n, 1]] = 7.0
        return written, x[[n, 1]] + x[[n, n]]

    then = [(torch.randn(9, 2), n) for n in (5, 2)]
    assert differences(function, (torch.randn(9, 2), 3), compiler, then=then) == []
