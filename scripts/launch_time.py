"""Microseconds of the host's work for one launch, by way of launching, on the GPU at hand.

    python scripts/launch_time.py --out FILE [--arguments 3 5 10 20 40]

One kernel per number of arguments (it adds up one block of each input); every way launches it
interleaved, in rows of launches so short that the GPU's queue never fills, and waits for the
device between rows. Prints a Markdown table of medians; the file gets every row as JSON.

The ways: ``kernel`` is ours as a generated host function calls it (stream at hand), ``launcher``
asks for device and stream itself.
``triton jit`` is ``kernel[grid](...)``, ``triton compiled`` the same on the compiled kernel.
``inductor run`` is what Inductor's generated code calls, ``inductor launcher`` what that calls.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from harness.errors import HarnessError, reason  # noqa: E402
from harness.files import write_atomically  # noqa: E402
from harness.options import current  # noqa: E402
from harness.records.machine import fingerprint  # noqa: E402
from harness.runtime import module as modules  # noqa: E402
from harness.runtime.compile.static import compile_for  # noqa: E402
from harness.runtime.device import current_target  # noqa: E402
from harness.runtime.launch.host import raw_stream  # noqa: E402
from harness.runtime.launch.launcher import Launcher, launching  # noqa: E402

ROW, ROWS, WARM_UP = 200, 60, 3
SIZE, BLOCK = 1024, 1024
Way = Callable[[], object]


def sum_launches(tensors: Sequence[torch.Tensor]) -> dict[str, Callable[[], object]]:
    """Inductor's kernel that adds up ``tensors`` (equal sizes, on CUDA), launched in two ways:
    ``run`` as its generated code does it, ``launcher`` what that calls in the end.

    Raises ``HarnessError`` if this Inductor compiles it to something else than one kernel.
    """
    from torch._inductor import compile as compile_graph
    from torch._inductor.codecache import PyCodeCache
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    graph = torch.fx.Graph()
    inputs = [graph.placeholder(f"x{n}") for n in range(len(tensors))]
    total = inputs[0]
    for one in inputs[1:]:
        total = graph.call_function(torch.ops.aten.add.Tensor, (total, one))
    graph.output((total,))
    known = {id(module) for module in PyCodeCache.modules}
    compiled = compile_graph(torch.fx.GraphModule(torch.nn.Module(), graph), list(tensors))
    outputs: Any = compiled(*tensors)
    made = [m for m in PyCodeCache.modules if id(m) not in known]
    found = {id(v): v for m in made for v in vars(m).values() if isinstance(v, CachingAutotuner)}
    if len(found) != 1:
        raise HarnessError("Inductor's kernel was not found", got=f"{len(found)} kernels")
    (kernel,) = found.values()
    size = tensors[0].numel()
    kinds = [k for k in kernel.triton_meta["signature"].values() if k != "constexpr"]
    given = iter([*tensors, *outputs])
    args = [next(given) if kind.startswith("*") else size for kind in kinds]
    stream = raw_stream()(tensors[0].device.index)
    run: Callable[..., object] = kernel.run
    run(*args, stream=stream)
    (launcher,) = kernel.launchers[:1]
    return {
        "run": lambda: run(*args, stream=stream),
        "launcher": lambda: launcher(*args, stream=stream),
    }


TEXT = '''"""triton_poi_fused_add_0: the sum of {count} tensors."""
import torch
import triton
import triton.language as tl

KERNEL = "triton_poi_fused_add_0"; CATEGORY = "poi"; BYTES = {count} * 4096
CONFIGS = [{{"XBLOCK": {block}, "num_warps": 4, "num_stages": 1}}]
SIGNATURE = {signature}
DIVISIBLE_BY_16 = tuple(SIGNATURE)
OUTPUTS = ({last},)

@triton.jit
def triton_poi_fused_add_0({names}, XBLOCK: tl.constexpr):
    index = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)
    total = {total}
    tl.store(out_ptr0 + index, total)

def grid(config): return ({size} // config["XBLOCK"], 1, 1)
def get_args(device=None, seed=0): return [torch.randn({size}, device=device) for _ in SIGNATURE]
def call(args, config=None): triton_poi_fused_add_0[grid(CONFIGS[0])](*args, **CONFIGS[0])
def reference(args, wide=False, nudge=1.0): return [sum(args[:-1])]
def check(args=None, config=None): return {{}}
'''


def module_text(count: int) -> str:
    """A kernel of ``count`` arguments, the last one its output."""
    names = [*(f"in_ptr{n}" for n in range(count - 1)), "out_ptr0"]
    return TEXT.format(
        count=count,
        last=count - 1,
        size=SIZE,
        block=BLOCK,
        names=", ".join(names),
        signature=dict.fromkeys(names, "*fp32"),
        total=" + ".join(f"tl.load({name} + index)" for name in names[:-1]),
    )


def ways(count: int, cache: Path) -> dict[str, Way]:
    """Every way to launch the kernel of ``count`` arguments that works here."""
    loaded, target = modules.load(module_text(count), cache / "modules"), current_target()
    config = loaded.configs[0]
    args: list[Any] = loaded.get_args("cuda")
    stream = raw_stream()(torch.cuda.current_device())
    launcher = Launcher(loaded, config, target, cache)
    kernel = launching(cache)(print, print, print)
    launcher.bind(kernel, torch.cuda.current_device())
    found: dict[str, Way] = {
        "kernel": lambda: kernel(stream, *args),
        "launcher": lambda: launcher(args),
    }
    jit, grid = loaded.kernel, loaded.grid(config)
    found["triton jit"] = lambda: jit[grid](*args, XBLOCK=BLOCK, num_warps=4, num_stages=1)
    compiled = compile_for(loaded, target, config, cache=cache)
    found["triton compiled"] = lambda: compiled[grid](*args, BLOCK)
    for name, way in sum_launches(args[:-1]).items():
        found[f"inductor {name}"] = way
    return found


def measure(found: dict[str, Way]) -> dict[str, list[float]]:
    """Microseconds a launch, one number per row of launches, the ways interleaved."""
    times: dict[str, list[float]] = {name: [] for name in found}
    for row in range(-WARM_UP, ROWS):
        for name, way in found.items():
            torch.cuda.synchronize()
            began = time.perf_counter_ns()
            for _ in range(ROW):
                way()
            took = (time.perf_counter_ns() - began) / ROW / 1e3
            if row >= 0:
                times[name].append(took)
    torch.cuda.synchronize()
    return times


def main() -> int:
    """Run; 1 if a way of launching is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--arguments", type=int, nargs="+", default=[3, 5, 10, 20, 40])
    parser.add_argument("--out", type=Path, help="file for every row")
    given = parser.parse_args()
    cache = current().cache
    rows: dict[int, dict[str, list[float]]] = {}
    failed = 0
    for count in given.arguments:
        try:
            rows[count] = measure(ways(count, cache))
        except Exception as error:  # noqa: BLE001 - one number of arguments must not end the rest
            print(f"{count} arguments: {reason(error)}", file=sys.stderr)
            failed = 1
    names = list(next(iter(rows.values()), {}))
    print("| arguments | " + " | ".join(names) + " |")
    print("|---:|" + "---:|" * len(names))
    for count, times in rows.items():
        cells = [f"{statistics.median(times[name]):.2f}" for name in names]
        print(f"| {count} | " + " | ".join(cells) + " |")
    if given.out:
        machine = asdict(fingerprint())
        data = {"machine": machine, "row": ROW, "microseconds": rows}
        write_atomically(given.out, json.dumps(data, indent=1).encode())
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
