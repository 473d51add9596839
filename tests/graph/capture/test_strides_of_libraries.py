"""Strides of what libraries leave, against eager mode."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from harness.backend import Compiler, Devices
from harness.conformance.compare import differences


def test_fourier_transforms_lie_as_the_library_leaves_them(devices: Devices) -> None:
    x = torch.randn(4, 6, 8)

    def function(*xs: torch.Tensor) -> Any:
        ways = (torch.fft.rfft, torch.fft.ihfft, torch.fft.ifft)
        made = [way(x, dim=d) for way in ways for x in xs for d in (0, -1)]
        return [one.real * 2 for one in [*made, *(torch.fft.rfftn(x) for x in xs)]]

    given = [x, x.transpose(0, 2), x[:, ::2]]
    assert differences(function, given, Compiler(devices=devices)) == []


def test_what_is_taken_apart_behind_a_fourier_transform_lies_as_in_eager_mode(
    devices: Devices,
) -> None:
    """Torch before 2.13 takes it apart by other strides (901092, 1100860)."""

    def function(*xs: torch.Tensor) -> Any:
        sizes = [torch.fft.rfft(x).abs() for x in xs]
        put = [x.put(torch.tensor([0, 1, -1]), x.flatten()[:3] * 2) for x in sizes]
        return put, [torch.diag_embed(x) for x in sizes]

    given = [torch.randn(5, 4, 1, 2).transpose(0, -1), torch.randn(2, 33, 2).transpose(0, -1)]
    assert differences(function, given, Compiler(devices=devices)) == []


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("name", ["plain", "conj", "mT", "mH"])
def test_solutions_of_triangular_equations(devices: Devices, name: str, left: bool) -> None:
    """In rows where the matrix is marked as conjugated, as in the gradient."""

    def function(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        matrix = {"plain": a, "conj": a.conj(), "mT": a.mT, "mH": a.mH}[name]
        return torch.linalg.solve_triangular(matrix, b, upper=True, left=left)

    a = torch.randn(2, 3, 3, dtype=torch.complex64) + 3 * torch.eye(3)
    b = torch.randn(2, 3, 3, dtype=torch.complex64)
    args = (a.requires_grad_(), b.requires_grad_())
    assert differences(function, args, Compiler(devices=devices)) == []
