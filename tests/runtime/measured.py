"""One kernel's static metrics, or the error that it is answered with."""

from __future__ import annotations

from pathlib import Path

from harness.errors import HarnessError
from harness.heuristics.facts import Config
from harness.records.metrics import StaticMetrics
from harness.runtime.compile.static import CompileJob, known, measure
from harness.target import Target


def metrics(
    module_text: str, target: Target, config: Config | None = None, cache: Path | None = None
) -> StaticMetrics:
    job = CompileJob(module_text, target, config)
    found = known(job, cache) or measure([job], cache)[0]
    if isinstance(found, HarnessError):
        raise found
    return found
