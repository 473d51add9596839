"""Run by another compiler: graphs in, emitted modules out; or by another interpreter: emitted
modules in, times or figures out with its torch and triton. All as plain data.

A script, never imported by what runs it: the package ``harness`` that graphs are compiled with is
a commit's, while everything that measures is the working tree's. So it uses nothing but what
every commit since the first whole pipeline has (``graph.text.load``, ``target.TARGETS``,
``pipeline.compile_graph``, kernels and launches of its result) and asks for the rest. Timing
modules needs torch and triton alone.

Reads a request as JSON from standard input and writes the answer as JSON to the file that the
request names, because a compiler may print. Request: ``tree`` (the package has to come from
there), ``graphs`` (name to file), ``target``, ``out``, ``stages`` (a folder for what the
compiler's stages make, or null; a commit from before there were hooks leaves it empty). Answer:
``error`` (empty, or why nothing came out), ``graphs``: per name ``reason``, ``kernels`` (``name``,
``kind``, ``bytes``, ``launches``, ``region`` of the first launch, ``origins``, ``text``),
``failures``, ``library_calls`` and ``seconds`` (processor time of compiling). Instead of ``graphs``
a request has ``modules`` (``text``, ``config`` or null, ``launches``) and ``wanted`` (``ms`` of all
launches, ``figures`` of each module); its answer says ``torch`` and ``triton`` (versions), too.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any


def main() -> int:
    """Answer the request on standard input."""
    request = json.load(sys.stdin)
    answer: dict[str, Any] = {"error": ""}
    try:
        answer |= _export(request) if "graphs" in request else _measured(request)
    except Exception as error:  # noqa: BLE001 - whatever another compiler or environment does
        answer["error"] = _said(error)
    Path(request["out"]).write_text(json.dumps(answer), encoding="utf-8")
    return 0


def _export(request: dict[str, Any]) -> dict[str, Any]:
    target = _target(request["tree"], request["target"])
    graphs = {}
    for name, path in request["graphs"].items():
        try:
            graphs[name] = _graph(path, target)
            if request.get("stages"):
                _write_stages(path, target, request["stages"])
        except Exception as error:  # noqa: BLE001 - one graph that this commit cannot compile
            graphs[name] = {"reason": _said(error)}
    return {"graphs": graphs}


class OnlyFrom:
    """Finds the modules of the package ``harness`` below ``tree`` alone. An installed checkout
    puts a finder of its own into ``sys.meta_path`` that would otherwise answer for modules which
    the commit does not have."""

    def __init__(self, tree: str) -> None:
        self._tree = tree

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The module's place below the tree; None for other packages. Raises
        ``ModuleNotFoundError``."""
        if name.partition(".")[0] != "harness":
            return None
        found = PathFinder.find_spec(name, [self._tree] if path is None else path, target)
        if found is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return found


def _target(tree: str, name: str) -> Any:
    sys.meta_path.insert(0, OnlyFrom(tree))
    import harness

    found = Path(harness.__file__).resolve().parent.parent
    if found != Path(tree).resolve():
        raise ImportError(f"the package harness came from {found}, not from {tree}")
    import harness.pipeline
    from harness.target import TARGETS

    return TARGETS[name]


def _graph(path: str, target: Any) -> dict[str, Any]:
    from harness.graph.text import load
    from harness.pipeline import compile_graph

    graph = load(Path(path))
    gc.collect()
    # One thread, no waiting: processor time is the wall clock of a machine that does nothing else.
    began = time.process_time()
    compiled = compile_graph(graph, target)
    seconds = time.process_time() - began
    return {
        "reason": "",
        "kernels": [
            {
                "name": name,
                "kind": str(getattr(module, "category", "")),
                "bytes": int(module.bytes_moved),
                "launches": count,
                "region": region,
                "origins": list(origins),
                "text": module.text,
            }
            for name, module, region, origins, count in _launched(compiled, target)
        ],
        "failures": [_said(f.error) for f in getattr(compiled, "failures", ())],
        "library_calls": len(getattr(compiled, "library_calls", ())),
        "seconds": seconds,
    }


def _launched(compiled: Any, target: Any) -> list[tuple[str, Any, str, Any, int]]:
    """The modules that are launched with their names, region and nodes of their first launch, and
    how often: combos where the commit has them in its runs."""
    if hasattr(compiled, "launched"):
        from harness.combos.choosing import combined

        return [
            (module.name, module, region, nodes[0], len(nodes))
            for module, region, nodes in combined(compiled, target).launched()
        ]
    launches, regions = [*compiled.launches], [*getattr(compiled, "regions", ())]
    counts = Counter(launch.kernel.name for launch in launches)
    origins = {launch.kernel.name: launch.group.origins for launch in reversed(launches)}
    homes = {one.kernel.name: r.region.name for r in reversed(regions) for one in r.launches}
    return [
        (k.name, k.module, homes.get(k.name, ""), origins.get(k.name, ()), counts[k.name])
        for k in compiled.kernels
    ]


def _write_stages(path: str, target: Any, folder: str) -> None:
    """Have every stage write what it makes, where the commit has hooks."""
    from harness.graph.text import load

    try:
        from harness.decisions import UNDECIDED
        from harness.hooks import StageFiles
        from harness.pipeline import compile_graph

        compile_graph(load(Path(path)), target, UNDECIDED, (StageFiles(Path(folder)),))
    except (ImportError, TypeError):
        return


def _measured(request: dict[str, Any]) -> dict[str, Any]:
    """What is wanted of emitted modules, by the interpreter at hand."""
    import torch
    import triton

    answer: dict[str, Any] = {"torch": torch.__version__, "triton": triton.__version__}
    if request["wanted"] == "ms":
        answer["ms"] = sum(_ms(module) for module in request["modules"])
    elif request["wanted"] == "figures":
        answer["figures"] = _figures(request)
    return answer


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
    return [{"error": str(f)} if isinstance(f, HarnessError) else asdict(f) for f in measure(jobs)]


def _said(error: BaseException) -> str:
    first = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}"[:300]


if __name__ == "__main__":
    raise SystemExit(main())
