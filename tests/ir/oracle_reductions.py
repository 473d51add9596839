"""What reductions, scans and sorts mean: numpy over the last axis. Sums run in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.errors import InvalidProgram
from harness.ir.nodes import ReduceKind, ScanKind
from harness.ir.verify import SHAPES
from tests.ir.op_numpy import Array


def reduce(kind: ReduceKind, args: Sequence[Array], component: int) -> Array:
    """Component ``component`` of the reduction of ``args`` over their last axis.

    Empty reductions give the identity; those of MAX, MIN, ARGMAX and ARGMIN have none.
    Raises ``InvalidProgram`` for a component or operand count the kind does not have.
    """
    wanted, components = SHAPES[kind]
    if len(args) not in wanted or component not in range(components):
        raise InvalidProgram(
            "a reduction has the wrong operands or component",
            where=kind.value,
            got=f"{len(args)} operands, component {component}",
            expected=f"{' or '.join(map(str, wanted))} operands, components below {components}",
        )
    if kind is ReduceKind.WELFORD:
        return _welford(args, component)
    if kind is ReduceKind.SOFTMAX:
        return _softmax(args, component)
    return np.asarray(_SINGLE[kind](args[0]))


_SINGLE: dict[ReduceKind, Callable[[Array], Any]] = {
    ReduceKind.SUM: lambda x: np.sum(x, axis=-1, dtype=_accumulator(x)),
    ReduceKind.PROD: lambda x: np.prod(x, axis=-1, dtype=_accumulator(x)),
    ReduceKind.MAX: lambda x: np.max(x, axis=-1),
    ReduceKind.MIN: lambda x: np.min(x, axis=-1),
    ReduceKind.ANY: lambda x: np.any(x != 0, axis=-1),
    # numpy's first maximum counts NaN as the largest, as wanted.
    ReduceKind.ARGMAX: lambda x: np.argmax(x, axis=-1),
    ReduceKind.ARGMIN: lambda x: np.argmin(x, axis=-1),
}


def _accumulator(array: Array) -> np.dtype[Any]:
    return np.dtype(np.float64 if array.dtype.kind == "f" else np.int64)


def _welford(args: Sequence[Array], component: int) -> Array:
    """Mean, sum of squared deviations and weight, of values or of partial triples."""
    mean = args[0].astype(np.float64)
    m2 = args[1].astype(np.float64) if len(args) == 3 else np.zeros_like(mean)
    weight = args[2].astype(np.float64) if len(args) == 3 else np.ones_like(mean)
    total = weight.sum(axis=-1)
    # A partial result of weight zero carries an arbitrary mean.
    used = np.where(weight == 0, 0.0, mean)
    middle = (used * weight).sum(axis=-1) / np.where(total == 0, 1.0, total)
    if component == 0:
        return np.asarray(middle)
    if component == 2:
        return np.asarray(total)
    away = np.where(weight == 0, 0.0, mean - middle[..., None])
    return np.asarray((m2 + away * away * weight).sum(axis=-1))


def _softmax(args: Sequence[Array], component: int) -> Array:
    """Maximum and sum of exponentials below it, of values or of partial pairs."""
    top = np.max(args[0], axis=-1)
    if component == 0:
        return np.asarray(top)
    away = args[0].astype(np.float64) - top[..., None]
    weight = args[1].astype(np.float64) if len(args) == 2 else 1.0
    # A partial pair of an empty part is (-inf, 0): it counts nothing.
    shares = np.where(np.isneginf(away), 0.0, np.exp(away) * weight)
    return np.asarray(shares.sum(axis=-1))


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
