"""Run by another interpreter: emitted modules timed, or compiled, with its torch and triton.

A script, never imported by what runs it. Timing needs torch and triton alone, figures the package's
own requirements as well. Request, as JSON from standard input: ``tree`` (the package), ``modules``
(``text``, ``config`` or null, ``launches``), ``wanted`` (``ms`` or ``figures``), ``target``,
``out``. Answer, to the file ``out``: ``error`` (empty, or why nothing came out), ``torch``,
``triton`` (versions), ``ms`` of all launches, ``figures`` of each module.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any


def main() -> int:
    """Answer the request on standard input."""
    request = json.load(sys.stdin)
    answer: dict[str, Any] = {"error": "", "ms": None, "figures": []}
    try:
        import torch
        import triton

        answer |= {"torch": torch.__version__, "triton": triton.__version__}
        if request["wanted"] == "ms":
            answer["ms"] = sum(_ms(module) for module in request["modules"])
        elif request["wanted"] == "figures":
            answer["figures"] = _figures(request)
    except Exception as error:  # noqa: BLE001 - whatever another environment does
        first = (str(error).strip().splitlines() or [""])[0]
        answer["error"] = f"{type(error).__name__}: {first}"[:300]
    Path(request["out"]).write_text(json.dumps(answer), encoding="utf-8")
    return 0


def _ms(module: dict[str, Any]) -> float:
    """Milliseconds of all of a module's launches, in its configuration, else in its first."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "emitted.py"  # triton reads a kernel's source from its file
        path.write_text(module["text"], encoding="utf-8")
        spec = importlib.util.spec_from_file_location("emitted", path)
        if spec is None or spec.loader is None:
            raise ImportError("the module cannot be loaded")
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        configs = [module["config"] or loaded.CONFIGS[0]]
        (row,) = loaded.benchmark_all_configs(loaded.get_args(), configs)
    if row["ms"] is None:
        raise RuntimeError(row["error"])
    return float(row["ms"]) * int(module["launches"])


def _figures(request: dict[str, Any]) -> list[dict[str, Any]]:
    from harness.errors import HarnessError
    from harness.runtime.compile.static import CompileJob, measure
    from harness.runtime.module import config_from_dict
    from harness.target import TARGETS

    target = TARGETS[request["target"]]
    jobs = [
        CompileJob(m["text"], target, config_from_dict(m["config"]) if m["config"] else None)
        for m in request["modules"]
    ]
    found = measure(jobs)
    return [{"error": str(f)} if isinstance(f, HarnessError) else asdict(f) for f in found]


if __name__ == "__main__":
    raise SystemExit(main())
