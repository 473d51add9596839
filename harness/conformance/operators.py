"""Conformance: every operator of torch's own test database through the backend.

The database (``torch.testing._internal.common_methods_invocations``) has sample inputs for each
operator. What became of one in an element type, forward or with gradients, is a row: a category
with its reason.
"""

from __future__ import annotations

import operator
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch.utils import _pytree as pytree

from harness.backend import Compiler, Devices
from harness.conformance.batch import answers, devices_of, last_if_lost
from harness.conformance.compare import differences, draws, torchs_own
from harness.conformance.rounding import TIED
from harness.devices.job import Context, Job
from harness.errors import UsageError, unknown

CATEGORIES = (
    "no sample", "views only", "generated", "undefined", "random", "library", "torch's own",
    "eager", "wrong", "error",
)  # fmt: skip
"""The database has no input; no work; kernels alone; eager mode itself promises no values; kernels
that draw other random numbers than torch, and are right with torch's; library calls too;
``torch.compile`` with eager mode's kernels differs in the same way; torch runs a part or all;
another result; an exception. Of an operator's samples the last of these counts."""

DTYPES = ("float32", "bfloat16", "int64", "bool", "complex64")
_SECONDS = 150.0


@dataclass(frozen=True, slots=True)
class Case:
    """An operator in an element type; with gradients if ``backward``."""

    operator: str
    dtype: str = "float32"
    backward: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """What became of an operator on so many ``samples``: ``reason`` are library calls, why torch
    ran it, or what is wrong."""

    operator: str
    category: str
    reason: str
    samples: int
    dtype: str = "float32"
    backward: bool = False


@dataclass(frozen=True, slots=True)
class OperatorJob(Job):
    """Try one operator on its first samples (0: on all). Answers a ``Row``."""

    handler: ClassVar[str] = "harness.conformance.operators:answer"
    case: Case
    samples: int
    device: str = "cpu"


def cases(dtypes: Sequence[str] = DTYPES[:1], *, backward: bool = False) -> list[Case]:
    """The operators of the database that take each of ``dtypes``; with ``backward`` also those
    that have gradients in it, again."""
    found, known = [], {n: one for n, one in vars(torch).items() if isinstance(one, torch.dtype)}
    for name in dtypes:
        if (dtype := known.get(name)) is None:
            raise unknown("torch has no such element type", name, known, "--dtype")
        taking = [op for op in _database() if dtype in op.supported_dtypes("cpu")]
        found += [Case(_name(op), name) for op in taking]
        for op in taking if backward else ():
            if op.supports_autograd and dtype in op.supported_backward_dtypes("cpu"):
                found.append(Case(_name(op), name, backward=True))
    return found


def _database() -> Sequence[Any]:
    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except ModuleNotFoundError as error:
        raise UsageError(
            "torch's operator database cannot be imported",
            got=str(error),
            remedy="pip install expecttest",
        ) from error
    return op_db


def _name(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def try_operator(case: Case, samples: int, devices: Devices, device: str = "cpu") -> Row:
    """The row of a case, tried on its first ``samples`` samples (0: on all; but no new one is
    begun after 150 s)."""
    op = next(one for one in _database() if _name(one) == case.operator)
    tried, end = 0, time.monotonic() + _SECONDS
    worst = ("no sample", "")
    torch.manual_seed(0)
    for sample in op.sample_inputs(device, getattr(torch, case.dtype), requires_grad=case.backward):
        if samples and tried == samples or time.monotonic() > end:
            break
        tried += 1
        try:
            found = _try_sample(op, sample, devices)
        except Exception as error:  # noqa: BLE001 - an operator that breaks is a row as well
            found = ("error", f"{type(error).__name__}: {str(error)[:300]}")
        if CATEGORIES.index(found[0]) > CATEGORIES.index(worst[0]):
            worst = (found[0], f"sample {tried}: " * (found[0] in ("wrong", "error")) + found[1])
    return Row(case.operator, *worst, tried, case.dtype, case.backward)


def _plain(op: Any) -> Any:
    """``op`` without the seed that the database sets around a call that draws random numbers,
    which ``torch.compile`` does not trace."""
    if "wrapper_set_seed" not in getattr(getattr(op.op, "__code__", None), "co_names", ()):
        return op
    try:
        return operator.attrgetter(op.name)(torch)
    except AttributeError:
        return op


def _try_sample(
    op: Any, sample: Any, devices: Devices, eager_random: bool = False
) -> tuple[str, str]:
    call = _plain(op)
    leaves, spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    at = [n for n, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def function(*tensors: torch.Tensor) -> Any:
        given = list(leaves)
        for place, tensor in zip(at, tensors, strict=True):
            given[place] = tensor
        first, args, kwargs = pytree.tree_unflatten(given, spec)
        made = call(first, *args, **kwargs)
        return made[0] if op.name in TIED and isinstance(made, tuple) else made

    compiler = Compiler(devices=devices, eager_random=eager_random)
    given = [(leaves[n], leaves[n].requires_grad) for n in at]  # arguments are leaves of their own
    args = [x if x.is_leaf else x.detach().clone().requires_grad_(grad) for x, grad in given]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines = differences(function, args, compiler, signed_zeros=False)
        if lines and "empty" in op.name and not _raised(lines):  # whatever was in memory
            return "undefined", ""
        if lines and not eager_random and draws(function, args):
            found = _try_sample(op, sample, devices, eager_random=True)
            return found if found[0] in ("wrong", "error") else ("random", "")
        torchs = torchs_own(function, args, lines, signed_zeros=False)
    if left := [line for line in lines if line not in torchs]:
        return ("error" if _raised(left) else "wrong"), "; ".join(left)[:300]
    reports = compiler.reports
    eager = [text for r in reports for text in (*r.failures, r.eager) if text]
    if eager or not reports:
        return "eager", eager[0].splitlines()[0][:200] if eager else "torch traces nothing"
    if torchs:
        return "torch's own", "; ".join(torchs)[:300]
    calls = sorted({name for r in reports for name, _, _ in r.library_calls})
    if calls := [name for name in calls if not name.startswith("harness.")]:
        return "library", ", ".join(calls)
    return ("generated" if any(r.kernels for r in reports) else "views only"), ""


def _raised(lines: Sequence[str]) -> bool:
    return "compiled: " in lines[0] and "compiled: a result" not in lines[0]


def run(
    wanted: Sequence[Case],
    samples: int,
    jobs: int,
    cache: Path,
    journal: Path | None,
    device: str = "cpu",
) -> Iterator[Row]:
    """The rows of the ``wanted`` cases as they come, by ``jobs`` processes on ``device``. Those in
    the ``journal`` are taken from there, and new ones added."""

    def lost(case: Case, why: str) -> Row:
        return Row(case.operator, "error", why, 0, case.dtype, case.backward)

    todo = {case: OperatorJob(case, samples, device) for case in wanted}
    yield from answers(
        todo, Row, lambda r: Case(r.operator, r.dtype, r.backward), lost, jobs, cache, journal
    )


def answer(context: Context, job: OperatorJob) -> Row:
    """The handler of ``OperatorJob``."""
    return last_if_lost(try_operator(job.case, job.samples, context.once(devices_of), job.device))
