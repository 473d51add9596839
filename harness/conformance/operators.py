"""Conformance: every operator of torch's own test database through the backend.

The database (``torch.testing._internal.common_methods_invocations``) has sample inputs for each
operator. What became of one is a row: a category with its reason.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch.utils import _pytree as pytree

from harness.backend import Compiler, Devices
from harness.conformance.compare import differences
from harness.devices.job import Context, Job, cores
from harness.devices.pool import Pool
from harness.errors import HarnessError, UsageError

CATEGORIES = ("views only", "generated", "undefined", "library", "eager", "wrong", "error")
"""No work; kernels alone; eager mode itself promises no values; library calls too; torch runs a
part or all; another result; an exception. Of an operator's samples the last of these counts."""

_SECONDS = 300.0
_CONTENTS_UNDEFINED = "empty"
"""In the names of operators whose results are whatever was in memory."""


@dataclass(frozen=True, slots=True)
class Row:
    """What became of an operator: ``reason`` are library calls, why torch ran it, or what is
    wrong."""

    operator: str
    category: str
    reason: str
    samples: int


@dataclass(frozen=True, slots=True)
class OperatorJob(Job):
    """Try one operator on its first samples. Answers a ``Row``."""

    handler: ClassVar[str] = "harness.conformance.operators:answer"
    name: str
    samples: int


def names() -> list[str]:
    """The operators of the database that take float32."""
    return [_name(op) for op in _database() if torch.float32 in op.supported_dtypes("cpu")]


def _database() -> Sequence[Any]:
    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except ModuleNotFoundError as error:
        raise UsageError(
            "torch's operator database cannot be imported",
            got=str(error),
            remedy="pip install expecttest",
        ) from error
    found: Sequence[Any] = op_db
    return found


def _name(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def try_operator(name: str, samples: int, devices: Devices) -> Row:
    """The row of one operator, tried on its first ``samples`` float32 samples."""
    op = next(one for one in _database() if _name(one) == name)
    tried = 0
    worst = ("views only", "")
    torch.manual_seed(0)
    for sample in op.sample_inputs("cpu", torch.float32):
        if tried == samples:
            break
        tried += 1
        try:
            found = _try_sample(op, sample, devices)
        except Exception as error:  # noqa: BLE001 - an operator that breaks is a row as well
            found = ("error", f"{type(error).__name__}: {str(error)[:300]}")
        worst = max(worst, found, key=lambda one: CATEGORIES.index(one[0]))
    return Row(name, *worst, tried)


def _try_sample(op: Any, sample: Any, devices: Devices) -> tuple[str, str]:
    leaves, spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    at = [n for n, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def function(*tensors: torch.Tensor) -> Any:
        given = list(leaves)
        for place, tensor in zip(at, tensors, strict=True):
            given[place] = tensor
        first, args, kwargs = pytree.tree_unflatten(given, spec)
        return op(first, *args, **kwargs)

    compiler = Compiler(devices=devices)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = differences(function, [leaves[n] for n in at], compiler, signed_zeros=False)
    if lines:
        raised = "compiled: " in lines[0] and "compiled: a result" not in lines[0]
        if not raised and _CONTENTS_UNDEFINED in op.name:
            return "undefined", ""
        return ("error" if raised else "wrong"), "; ".join(lines)[:300]
    reports = compiler.reports
    eager = [text for r in reports for text in (*r.failures, r.eager) if text]
    if eager or not reports:
        return "eager", eager[0].splitlines()[0][:200] if eager else "torch traces nothing"
    calls = sorted({name for r in reports for name, _, _ in r.library_calls})
    if calls:
        return "library", ", ".join(calls)
    return ("generated" if any(r.kernels for r in reports) else "views only"), ""


def run(
    wanted: Sequence[str], samples: int, jobs: int, cache: Path, journal: Path | None
) -> Iterator[Row]:
    """The rows of the ``wanted`` operators as they come, by ``jobs`` processes. With a
    ``journal`` (a line of JSON per row) those in it are taken from there, and new ones added."""
    done: dict[str, Row] = {}
    if journal is not None and journal.exists():
        rows = [Row(**json.loads(line)) for line in journal.read_text().splitlines()]
        done = {row.operator: row for row in rows if row.operator in wanted}
    yield from done.values()
    left = [name for name in wanted if name not in done]
    with Pool(cores(jobs), _SECONDS, cache) as pool:
        for number, found in pool.each([OperatorJob(name, samples) for name in left]):
            failed = isinstance(found, HarnessError)
            row = Row(left[number], "error", str(found)[:300], 0) if failed else found
            if journal is not None:
                with journal.open("a") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
            yield row


def answer(context: Context, job: OperatorJob) -> Row:
    """The handler of ``OperatorJob``."""
    return try_operator(job.name, job.samples, context.once(_devices))


def _devices(context: Context) -> Devices:
    return Devices(cache=context.cache)
