"""Whether the backend rejects the operands that eager mode rejects, in its words.

    python scripts/rejected_types.py [-k PATTERN] [--seconds S] [--part N/M] [--rejected]
        [--device cuda]

Every operator of torch's database gets its first sample in each type that the database does not
list for it, and the first one in float32 that has several tensors of floats with each of these in
another type. A case runs in eager mode and compiled, on a CPU in Triton's interpreter; the order
is random and the same each time. With ``--rejected`` only those are compiled that eager mode
rejects. Prints a line for every case that differs, and last a table in Markdown.
"""

from __future__ import annotations

import argparse
import logging
import random
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch._dynamo.exc import BackendCompilerFailed, TorchDynamoException  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

from harness.backend import Compiler, Devices  # noqa: E402
from harness.conformance.compare import differences, outcome, torchs_own  # noqa: E402

TYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()
OTHERS = "bool int64 float16 float64".split()
OUTCOMES = ("rejected alike", "rejected by torch.compile", "other words", "computed", "raised")
"""Of calls that eager mode rejects: the backend says the same; ``torch.compile`` itself rejects it,
whatever the backend; another exception; a result. And of one that it takes: an exception."""
_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")


@dataclass(frozen=True, slots=True)
class Case:
    """An operator whose tensors are of ``dtype``; with ``place`` those of a float32 sample, but for
    the tensor of this number."""

    operator: str
    dtype: str
    place: int | None = None


def name_of(op: Any) -> str:
    """The name of an operator of the database."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def database() -> dict[str, Any]:
    """Its operators by name."""
    from torch.testing._internal.common_methods_invocations import op_db

    return {name_of(op): op for op in op_db}


def cases(op: Any, device: str = "cpu") -> Iterator[Case]:
    """The cases of an operator of the database."""
    listed = op.supported_dtypes(device)
    for name in TYPES:
        if getattr(torch, name) not in listed:
            yield Case(name_of(op), name)
    if torch.float32 in listed:
        several = _several(op, device)
        for place in range(several[1] if several else 0):
            yield from (Case(name_of(op), name, place) for name in OTHERS)


def call_of(
    case: Case, op: Any, device: str = "cpu"
) -> tuple[Callable[..., Any], list[torch.Tensor]] | None:
    """The function of a case and its tensors; None if the database makes no such sample."""
    sample: Any
    if case.place is None:
        try:
            sample = next(iter(op.sample_inputs(device, getattr(torch, case.dtype))), None)
        except Exception:  # noqa: BLE001 - samples are made for the types that it lists
            return None
    else:
        sample = (_several(op, device) or (None,))[0]
    if sample is None:
        return None
    leaves, spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    at = [n for n, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    if case.place is not None:
        changed = [n for n in at if leaves[n].dtype is torch.float32][case.place]
        leaves[changed] = leaves[changed].to(getattr(torch, case.dtype))

    def function(*tensors: torch.Tensor) -> Any:
        given = list(leaves)
        for place, tensor in zip(at, tensors, strict=True):
            given[place] = tensor
        first, args, kwargs = pytree.tree_unflatten(given, spec)
        return op.op(first, *args, **kwargs)

    return function, [leaves[n] for n in at]


def _several(op: Any, device: str) -> tuple[Any, int] | None:
    """The first float32 sample with several tensors of floats, and how many there are."""
    for sample in op.sample_inputs(device, torch.float32):
        leaves = pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
        floats = [t for t in leaves if isinstance(t, torch.Tensor) and t.dtype is torch.float32]
        if len(floats) > 1:
            return sample, len(floats)
    return None


def tried(
    function: Callable[..., Any], args: Sequence[torch.Tensor], devices: Devices, rejected: bool
) -> tuple[str, str]:
    """What becomes of a call, and where it is not as in eager mode how it differs; empty where it
    has the same result, or, with ``rejected``, any."""
    torch.compiler.reset()
    wanted = outcome(function, args)[0]
    if not isinstance(wanted, Exception):
        if rejected:
            return "", ""
        lines = differences(function, args, Compiler(devices=devices), signed_zeros=False)
        left = set(lines) - set(torchs_own(function, args, lines, signed_zeros=False))
        raised = any("; compiled: " in line for line in left)
        return ("raised" if raised else "wrong") if left else "", "; ".join(sorted(left))
    found = outcome(torch.compile(function, backend=Compiler(devices=devices)), args)[0]
    said = f"{_said(wanted)[:300]} | {_said(found)[:300]}"
    if not isinstance(found, Exception):
        return "computed", _said(wanted)
    if _said(wanted) == _said(found):
        return "rejected alike", ""
    torchs = isinstance(found, TorchDynamoException)
    return OUTCOMES[1 if torchs and not isinstance(found, BackendCompilerFailed) else 2], said


def _said(result: Any) -> str:
    return f"{type(result).__name__}: {_NUMBERS.sub('#', str(result))}"


def main() -> int:
    """Try all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", default="*", help="a pattern of operators' names")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--part", default="1/1", help="which of how many parts")
    parser.add_argument("--rejected", action="store_true")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable()  # torch logs what its tracing raises
    known, end = database(), time.monotonic() + options.seconds
    chosen = [op for name, op in known.items() if fnmatchcase(name, options.k)]
    wanted = [case for op in chosen for case in cases(op, options.device)]
    random.Random(0).shuffle(wanted)
    number, parts = map(int, options.part.split("/"))
    devices, counts, begun = Devices(jobs=1), Counter[tuple[bool, str]](), 0
    for case in wanted[number - 1 :: parts]:
        if time.monotonic() > end:
            break
        begun += 1
        made = call_of(case, known[case.operator], options.device)
        if made is None:
            continue
        found, how = tried(*made, devices, options.rejected)
        counts[case.place is None, found] += 1
        if found not in ("", "rejected alike", OUTCOMES[1]):
            print(f"{found}: {case}: {how}", flush=True)
    devices.close()
    print(f"{begun} of {len(wanted[number - 1 :: parts])} cases")
    print("| operands | taken | " + " | ".join((*OUTCOMES, "wrong")) + " |")
    print("|---|" + "---|" * 7)
    for unlisted, what in ((True, "of a type that is not listed"), (False, "of two types")):
        cells = [str(counts[unlisted, name]) for name in ("", *OUTCOMES, "wrong")]
        print(f"| {what} | " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
