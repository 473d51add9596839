"""What an interpreter worker can do. Imported only in worker processes."""

from __future__ import annotations

import math
import re
import time
from typing import Any

import torch

from harness.devices.job import Context
from harness.errors import CheckFailed, HarnessError, IndexOutOfRange
from harness.heuristics.facts import Config
from harness.runtime import module as modules
from harness.runtime.compile.static import reason
from harness.runtime.interpret import standins
from harness.runtime.interpret.bounds import Bounds
from harness.runtime.interpret.interpreter import CheckJob, CheckResult, LaunchJob

_KEPT = 256
_OUT_OF_RANGE = re.compile("outside its tensor|index is out of range")
"""Loaded modules a worker remembers."""


class Interpreter:
    """Triton's interpreter made exact, loaded modules by text, and the two jobs."""

    def __init__(self, context: Context) -> None:
        torch.set_num_threads(1)
        standins.install()
        standins.install_rounding()
        standins.install_splat()
        standins.install_index()
        self._bounds = Bounds()
        self._bounds.install()
        self._cache = context.cache
        self._loaded: dict[str, modules.LoadedModule] = {}

    def load(self, text: str) -> modules.LoadedModule:
        """The module, loaded once."""
        found = self._loaded.get(text)
        if found is None:
            if len(self._loaded) >= _KEPT:
                self._loaded.pop(next(iter(self._loaded)))
            found = self._loaded[text] = modules.load(text, self._cache)
        return found

    def check(self, job: CheckJob) -> CheckResult:
        """The module's own check on fresh inputs in host memory."""
        began = time.perf_counter()
        loaded = self.load(job.module_text)
        self._bounds.allow(())
        try:
            args = loaded.get_args("cpu", job.seed, dict(job.sizes))
            found = loaded.check(args, job.config)
        except HarnessError:
            raise
        except Exception as error:
            raise self._failed(loaded, job.config, error) from error
        seconds = time.perf_counter() - began
        return result(found, seconds)

    def launch(self, job: LaunchJob) -> tuple[int, ...]:
        """Run the kernel on the arguments; the positions it writes."""
        loaded = self.load(job.module_text)
        args = job.package.unpack()
        self._bounds.allow(job.package.storages(args))
        try:
            loaded.call(args, job.config)
        except Exception as error:
            raise self._failed(loaded, job.config, error) from error
        return loaded.outputs

    def _failed(
        self, loaded: modules.LoadedModule, config: Config | None, error: Exception
    ) -> HarnessError:
        chosen = modules.config_dict(config or loaded.configs[0])
        cause = error.__cause__ or error
        if isinstance(cause, IndexError | AssertionError) and _OUT_OF_RANGE.search(str(cause)):
            return IndexOutOfRange(
                "an index is out of range",
                where=loaded.name,
                got=str(cause),
                expected="indices within the tensor",
                remedy="run the model without the backend: eager mode names the index",
            )
        return CheckFailed(
            "a kernel could not be run in the interpreter",
            where=f"{loaded.name} {chosen}",
            got=reason(error),
            expected="a kernel that runs to its end",
            remedy=f"see its text in {loaded.path}",
        )


def result(found: dict[str, Any], seconds: float) -> CheckResult:
    """A module's answer as data; an error that is not a number counts as infinite."""
    error = float(found["max_error"])
    error = math.inf if math.isnan(error) else error
    return CheckResult(
        passed=bool(found["passed"]) and not math.isinf(error),
        max_error=error,
        allowed=float(found["allowed"]),
        message=str(found.get("message", "")),
        seconds=seconds,
    )


def check(context: Context, job: CheckJob) -> CheckResult:
    """The handler of ``CheckJob``."""
    return context.once(Interpreter).check(job)


def launch(context: Context, job: LaunchJob) -> tuple[int, ...]:
    """The handler of ``LaunchJob``."""
    return context.once(Interpreter).launch(job)
