"""Which values differ between eager mode and a compiled function by more than rounding decides.

Kernels round elsewhere than eager mode: 16-bit numbers only where they are stored, sums in another
order. What that may change is found by repeating the function with every rounded result moved a few
units of its last place, and once without rounding 16 bits: it may differ twice as far as a repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.testing._comparison import default_tolerances

from harness.conformance.rounding import real, repeats, same

Run = Callable[[], Sequence[Any] | None]
"""The results of a function, and its arguments afterwards; None if it raises."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Compares results of ``run()`` (``eager``) with other ones, values only. Signs of zeros
    count with ``signed_zeros``."""

    run: Run
    eager: Sequence[Any]
    signed_zeros: bool
    known: list[Sequence[Any]] = field(default_factory=list)

    def is_right(self, number: int, found: Any) -> bool:
        """Whether ``found`` may be the result of this ``number``, whose type and shape it has."""
        wanted = self.eager[number]
        if not isinstance(wanted, Tensor):
            return bool(wanted == found or wanted != wanted)
        if wanted.layout is not torch.strided:
            return _is_close(wanted, found)
        wanted, found = _seen(wanted), _seen(found)
        if wanted.shape != found.shape:  # how many there are may be what rounding decides
            repeats = (_seen(repeat[number]) for repeat in self._repeats())
            return any(one.shape == found.shape and _is_close(one, found) for one in repeats)
        signs = self.signed_zeros and wanted.is_floating_point()
        if _is_close(wanted, found) and not (signs and _resigned(wanted, found).any()):
            return True
        bounds = _Bounds(wanted, found, signs)
        return any(bounds.hold_after(_seen(repeat[number])) for repeat in self._repeats())

    def _repeats(self) -> Iterator[Sequence[Any]]:
        yield from self.known
        for made in repeats(self.run, len(self.known)):
            self.known.append(made if made and len(made) == len(self.eager) else self.eager)
            yield self.known[-1]


class _Bounds:
    """How far from ``wanted`` each element may be: as far as the repeats seen; an integer or bool
    has to be what one of them gave."""

    def __init__(self, wanted: Tensor, found: Tensor, signs: bool) -> None:
        self.wanted, self.found = wanted, found
        self.same = same(wanted, found)
        self.other_sign = _resigned(wanted, found) & signs
        self.error = (found.double() - wanted.double()).abs().nan_to_num(torch.inf)
        self.bound = torch.full_like(self.error, -1)
        if wanted.is_floating_point():
            relative, absolute = default_tolerances(wanted.dtype)
            self.bound = absolute + relative * wanted.double().abs().nan_to_num(0, 0, 0)

    def hold_after(self, repeat: Any) -> bool:
        """Whether one more ``repeat`` leaves no element out of bounds."""
        if not isinstance(repeat, Tensor) or repeat.shape != self.wanted.shape:
            return True
        if self.wanted.is_floating_point():
            apart = ~same(self.wanted, repeat)
            moved = (repeat.double() - self.wanted.double()).abs().nan_to_num(torch.inf)
            self.bound = torch.maximum(self.bound, torch.where(apart, 2 * moved, 0.0))
            signed = torch.signbit(repeat) == torch.signbit(self.wanted)
            self.other_sign = self.other_sign & (repeat == 0) & signed
        else:
            self.same |= self.found == repeat
        return bool((self.same | (self.error <= self.bound)).logical_and(~self.other_sign).all())


def _seen(value: Any) -> Any:
    """``value`` as it is compared: floats of 8 bits as those of 32."""
    value = real(value)
    narrow = isinstance(value, Tensor) and value.is_floating_point() and value.itemsize == 1
    return value.float() if narrow else value


def _resigned(wanted: Tensor, found: Tensor) -> Tensor:
    """Zeros of the other sign."""
    return (wanted == 0) & (found == 0) & (torch.signbit(wanted) != torch.signbit(found))


def other_zeros(wanted: Tensor, found: Tensor) -> str:
    """How many zeros have the other sign, and where the first are."""
    places = _resigned(_seen(wanted), _seen(found)).nonzero().tolist()
    return f"{len(places)} zeros at {places[:12]}"


def _is_close(wanted: Any, found: Any) -> bool:
    try:
        torch.testing.assert_close(found, wanted, equal_nan=True)
    except AssertionError:
        return False
    return True
