"""Every head of transformers through ``torch.compile(backend="harness")``, against eager mode.

    python scripts/heads.py [PATTERN …] [--jobs N] [--seconds S] [--total S] [--journal FILE]
        [--device cpu | cuda | none] [--modes inference training]

The classes are those that the library lists. Each is built at a small configuration (the smallest
of a few that the library builds and runs), with random weights and inputs, and run in eager mode,
compiled, and in float64. Inference compares all results, training the loss, all gradients and
all buffers. A number is right if it is as near to the one of float64 as eager mode's (eight times
its error and rounding at the tensor's scale are allowed). Dropout is off; what else is random is
drawn by torch, from one seed. A class runs in a worker process under a time limit, in an order
that is random and the same each time; what ``--journal`` holds is not run again. On CUDA workers
share the visible devices out; ``none`` builds heads and no more. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import functools
import gc
import importlib
import operator
import os
import random
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from torch._dynamo.backends.registry import lookup_backend  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

from harness.backend import Compiler, Devices  # noqa: E402
from harness.conformance.batch import answers, devices_of  # noqa: E402
from harness.devices.job import Context, Job, Unusable  # noqa: E402
from harness.errors import HarnessError  # noqa: E402
from harness.options import current  # noqa: E402
from suites.building.heads import made, size, unequal  # noqa: E402

HEAD = re.compile(
    r"(LMHeadModel|For(CausalLM|MaskedLM|ImageClassification\w*|ConditionalGeneration|CTC|XVector"
    r"|RNNT|TDT|\w*(Segmentation|Detection|Depth|Audio|Speech)\w*))$"
)
MODES = ("inference", "training")
OUTCOMES = "right,not traced,torch's own,not built,fell back,lost,wrong,error".split(",")
"""As eager mode; torch.compile finds no graph; ``aot_eager`` does the same; the library cannot
build or run it; a part or all runs in torch; no answer in time; another result; an exception."""


def heads(patterns: Sequence[str]) -> list[str]:
    """The library's classes that are heads and like one of ``patterns``."""
    names = [n for n in dir(transformers) if HEAD.search(n) and not n.startswith("AutoModel")]
    return [n for n in names if not patterns or any(fnmatchcase(n, p) for p in patterns)]


def results(run: Any, inputs: Mapping[str, Any], training: bool) -> dict[str, Any]:
    """All tensors that a head gives, by name; in training the loss, gradients and buffers."""
    for seed in (torch.manual_seed, np.random.seed, random.seed):
        seed(0)
    model = getattr(run, "_orig_mod", run)
    model.train(training)
    with torch.set_grad_enabled(training):
        given = run(**inputs)
    leaves = pytree.tree_flatten_with_path(dict(given) if hasattr(given, "keys") else given)[0]
    found = {pytree.keystr(k): v for k, v in leaves if isinstance(v, torch.Tensor)}
    if training:
        floats = [v for v in found.values() if v.is_floating_point() and v.requires_grad]
        loss: Any = found.get("['loss']")
        loss = sum(v.square().mean() for v in floats) if loss is None else loss
        loss.backward()
        named = model.named_parameters()
        # compiled, a parameter that is not used has a gradient of zeros
        grads = {n: torch.zeros_like(p) if p.grad is None else p.grad for n, p in named}
        found = {"loss": loss, **grads}
    return {k: v.detach() for k, v in [*found.items(), *model.named_buffers()] if v.numel()}


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """What became of a class: ``reason`` says why, ``library`` are its library calls."""

    name: str
    mode: str
    outcome: str
    reason: str = ""
    graphs: int = 0
    kernels: int = 0
    library: tuple[str, ...] = ()
    parameters: int = 0
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HeadJob(Job):
    """Try one class. The answer is a ``Row``."""

    handler: ClassVar[str] = "scripts.heads:answer"
    name: str
    mode: str
    device: str


def answer(context: Context, job: HeadJob) -> Row:
    """The handler of ``HeadJob``."""
    warnings.simplefilter("ignore")
    gc.collect()
    began = time.perf_counter()
    try:
        training = job.mode == "training"
        model, inputs = made(job.name, training, lambda m, given: results(m, given, training))
    except Exception as error:  # noqa: BLE001 - the library's own sentence
        row = Row(job.name, job.mode, "not built", _said(error))
    else:
        row = Row(job.name, job.mode, "right", parameters=size(model))
        if job.device != "none":
            row = tried(row, model, inputs, job.device, context.once(devices_of))
    return dataclasses.replace(row, seconds=round(time.perf_counter() - began, 1))


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:400]


def tried(row: Row, model: Any, inputs: Mapping[str, Any], device: str, devices: Devices) -> Row:
    """Run a head in eager mode, in float64 and compiled; ``row`` with what became of it."""
    training = row.mode == "training"
    if device == "cuda":
        device = f"cuda:{os.getpid() % torch.cuda.device_count()}"
        torch.cuda.set_device(device)
        torch.backends.cudnn.allow_tf32 = False
    moved = {k: v.to(device) for k, v in inputs.items()}

    def fresh() -> Any:
        return copy.deepcopy(model).to(device)

    wanted = results(fresh(), moved, training)
    doubles = {k: v.double() if v.is_floating_point() else v for k, v in moved.items()}
    try:
        wide = results(fresh().double(), doubles, training)
    except RuntimeError:  # the model says float32 somewhere
        wide = {}

    def compiled(backend: Any) -> Any:
        torch.compiler.reset()
        try:
            return results(torch.compile(fresh(), backend=backend), moved, training)
        except Exception as error:
            if "CUDA error" in str(error):
                raise Unusable(HarnessError("a kernel failed", got=_said(error))) from error
            return _said(error)

    compiler = Compiler(devices=devices, eager_random=True)
    found, reports = compiled(compiler), compiler.reports
    fallen = [" ".join(text.split()) for r in reports for text in (*r.failures, r.eager) if text]
    reason = found if isinstance(found, str) else unequal(wanted, found, wide)
    outcome = "right" if reports else "not traced"
    if reason or fallen:
        refused: list[str] = []
        own = compiled(functools.partial(_aot_eager, refused))
        if reason:
            outcome = "error" if isinstance(found, str) else "wrong"
            if isinstance(own, str) or not (outcome == "error" or unequal(own, found, {}, 1e4)):
                outcome = "torch's own"
        else:
            outcome, reason = "torch's own" if refused else "fell back", fallen[0][:300]
    library = tuple(sorted({op for r in reports for op, _, _ in r.library_calls}))
    counts = (len(reports), sum(r.kernels for r in reports), library)
    return Row(row.name, row.mode, outcome, reason, *counts, row.parameters)


def _lost(key: tuple[str, str], why: str) -> Row:
    return Row(*key, "lost", " ".join(why.split()))


def _aot_eager(refused: list[str], gm: Any, inputs: Any) -> Any:
    """torch.compile's ``aot_eager``; notes what it raises, which torch answers with eager mode."""
    try:
        return lookup_backend("aot_eager")(gm, inputs)
    except Exception as error:
        refused.append(_said(error))
        raise


def table(rows: Sequence[Row]) -> str:
    """How many there are of each outcome, and what is not right, in Markdown."""
    counts = Counter((row.mode, row.outcome) for row in rows)
    lines = [f"| | {' | '.join(OUTCOMES)} |", "|---" * (len(OUTCOMES) + 1) + "|"]
    for mode in MODES:
        lines.append(f"| {mode} | {' | '.join(str(counts[mode, name]) for name in OUTCOMES)} |")
    lines += ["", "| head | mode | outcome | reason |", "|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: (-OUTCOMES.index(row.outcome), row.name, row.mode)):
        if row.outcome != "right":
            said = row.reason[:160].replace("|", "\\|").replace("<", "&lt;")
            lines.append(f"| {row.name} | {row.mode} | {row.outcome} | {said} |")
    return "\n".join(lines)


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=180.0, help="for one class in one mode")
    parser.add_argument("--total", type=float, default=1e9, help="ends after so many seconds")
    parser.add_argument("--journal", type=Path)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda", "none"))
    parser.add_argument("--modes", nargs="+", default=MODES, choices=MODES)
    given = parser.parse_intermixed_args()
    wanted = [(n, m) for n in heads(given.patterns) for m in given.modes]
    random.Random(0).shuffle(wanted)
    common = {"device": given.device, "seconds": given.seconds}
    jobs: dict[Any, Job] = {(n, m): HeadJob(name=n, mode=m, **common) for n, m in wanted}
    rows: list[Row] = []
    end = time.monotonic() + given.total
    key, cache = operator.attrgetter("name", "mode"), current().cache / "heads"
    for row in answers(jobs, Row, key, _lost, given.jobs, cache, given.journal):
        rows.append(row)
        figures = f"{row.kernels} kernels, {row.seconds} s"
        print(row.name, row.mode, row.outcome, figures, row.reason, flush=True)
        if time.monotonic() > end:
            break
    print(table(rows))


if __name__ == "__main__":
    importlib.import_module("scripts.heads").main()
