"""Check a module at full size on the device."""

from __future__ import annotations

import time
from pathlib import Path

from harness.errors import CheckFailed, HarnessError
from harness.heuristics.facts import Config
from harness.measure.measurer import release
from harness.runtime import module as modules
from harness.runtime.compile.static import reason, triton_cache
from harness.runtime.interpret.interpreter import CheckResult
from harness.runtime.interpret.interpreting import result


def check_on_device(
    module_text: str,
    config: Config | None = None,
    seed: int = 0,
    cache: Path | None = None,
    device: str = "cuda",
) -> CheckResult:
    """The module's own check on ``device``: fresh inputs, poisoned outputs, float64 reference.

    Raises ``HarnessError`` where the kernel cannot be run.
    """
    began = time.perf_counter()
    loaded = modules.load(module_text, None if cache is None else cache / "modules")
    try:
        with triton_cache(cache):
            found = loaded.check(loaded.get_args(device=device, seed=seed), config)
    except HarnessError:
        raise
    except Exception as error:
        raise CheckFailed(
            "a kernel could not be run",
            where=loaded.name,
            got=reason(error),
            expected="a kernel that runs to its end",
            remedy=f"run the emitted module with --check; its text is in {loaded.path}",
        ) from error
    finally:
        release(device)
    return result(found, time.perf_counter() - began)
