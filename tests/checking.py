"""Triton's interpreter as tests ask it: of one module whether it is right."""

from __future__ import annotations

from harness.heuristics.facts import Config
from harness.runtime.interpret.interpreter import CheckJob, CheckResult, InterpreterPool


class CheckingPool(InterpreterPool):
    """An ``InterpreterPool`` that checks one module at a time."""

    def check(self, module_text: str, config: Config | None = None, seed: int = 0) -> CheckResult:
        """Check one module. Raises ``HarnessError`` where the kernel cannot be run."""
        answer = self.run(CheckJob(module_text, config, seed))
        assert isinstance(answer, CheckResult)
        return answer
