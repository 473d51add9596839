"""What reductions, scans and sorts mean: numpy over the last axis. Sums run in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.errors import InvalidProgram
from harness.ir.nodes import ReduceKind, ScanKind
from harness.ir.verify import COMPONENTS
from tests.ir.op_numpy import Array


def reduce(kind: ReduceKind, args: Sequence[Array], component: int) -> Array:
    """Component ``component`` of the reduction of ``args`` over their last axis.

    Empty reductions give the identity; those of MAX, MIN, ARGMAX and ARGMIN have none.
    Raises ``InvalidProgram`` for a component or operand count the kind does not have.
    """
    components = COMPONENTS.get(kind, 1)
    if len(args) != 1 or component not in range(components):
        raise InvalidProgram(
            "a reduction has the wrong operands or component",
            where=kind.value,
            got=f"{len(args)} operands, component {component}",
            expected=f"1 operand, components below {components}",
        )
    if kind is ReduceKind.WELFORD:
        return _welford(args[0], component)
    if kind is ReduceKind.SOFTMAX:
        return _softmax(args[0], component)
    return np.asarray(_SINGLE[kind](args[0]))


_SINGLE: dict[ReduceKind, Callable[[Array], Any]] = {
    ReduceKind.SUM: lambda x: np.sum(x, axis=-1, dtype=_accumulator(x)),
    ReduceKind.PROD: lambda x: np.prod(x, axis=-1, dtype=_accumulator(x)),
    ReduceKind.MAX: lambda x: np.max(x, axis=-1),
    ReduceKind.MIN: lambda x: np.min(x, axis=-1),
    ReduceKind.XOR: lambda x: np.bitwise_xor.reduce(x, axis=-1),
    ReduceKind.ANY: lambda x: np.any(x != 0, axis=-1),
    # numpy's first maximum counts NaN as the largest, as wanted.
    ReduceKind.ARGMAX: lambda x: np.argmax(x, axis=-1),
    ReduceKind.ARGMIN: lambda x: np.argmin(x, axis=-1),
}


def _accumulator(array: Array) -> np.dtype[Any]:
    return np.dtype(np.float64 if array.dtype.kind == "f" else np.int64)


def _welford(x: Array, component: int) -> Array:
    """Mean, and sum of squared deviations."""
    wide = x.astype(np.float64)
    mean = wide.mean(axis=-1, keepdims=True)
    found = ((wide - mean) ** 2).sum(axis=-1) if component else mean[..., 0]
    return np.asarray(found)


def _softmax(x: Array, component: int) -> Array:
    """Maximum, and sum of exponentials below it."""
    top = np.max(x, axis=-1)
    if component == 0:
        return np.asarray(top)
    away = x.astype(np.float64) - top[..., None]
    return np.asarray(np.where(np.isneginf(away), 0.0, np.exp(away)).sum(axis=-1))


def scan(kind: ScanKind, arg: Array, component: int) -> Array:
    """Component ``component`` of the running reduction of ``arg`` along its last axis."""
    match kind:
        case ScanKind.SUM:
            return np.cumsum(arg, axis=-1, dtype=_accumulator(arg))
        case ScanKind.PROD:
            return np.cumprod(arg, axis=-1, dtype=_accumulator(arg))
        case ScanKind.LOGSUMEXP:
            return np.asarray(np.logaddexp.accumulate(arg.astype(np.float64), axis=-1))
        case ScanKind.MAX | ScanKind.MIN:
            function = np.maximum if kind is ScanKind.MAX else np.minimum
            best = function.accumulate(arg, axis=-1)
            if component == 0:
                return np.asarray(best)
            hit = (arg == best) | (arg != arg)
            return np.maximum.accumulate(np.where(hit, np.arange(arg.shape[-1]), 0), axis=-1)


def sort(arg: Array, descending: bool, component: int) -> Array:
    """The values of ``arg`` in order along its last axis, or the positions that they had."""
    # numpy puts NaN last; what is sorted backwards has equal values in their own order again
    # once positions count backwards.
    if descending:
        order = arg.shape[-1] - 1 - np.argsort(arg[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    else:
        order = np.argsort(arg, axis=-1, kind="stable")
    return order if component else np.take_along_axis(arg, order, axis=-1)
