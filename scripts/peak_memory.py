"""Peak memory of whole models and of the suite's graphs, counted without a GPU.

    python scripts/peak_memory.py --out FILE [MODEL | GRAPH …] [--ways eager harness inductor]
        [--modes inference training] [--alive WAY]

Everything runs as a step runs (torch.compile, AOTAutograd and the generated host functions
included), on tensors that have sizes and no memory; kernels do nothing. Counted are bytes of live
storages: of parameters, inputs and gradients, of what every operator returns, of what host
functions allocate. Left out are the allocator's rounding, and what a library takes for itself
while it works. ``above`` is the peak over parameters, buffers and inputs; ``first`` that of
the first step, which compiles.

Models are those of ``gpu_models.py`` in bfloat16, a training step forward and backward;
graphs those of the suite, whose inputs the caller keeps. Tensors are on a CPU, so that attention
is the CPU's flash attention for every way (the same results and what it saves as on a GPU), and
Inductor generates Triton for it. ``--alive`` prints what is in memory at the peak.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import inspect
import json
import linecache
import sys
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from gpu_models import MODELS  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

from harness import executor  # noqa: E402
from harness.backend import Compiler, Devices  # noqa: E402
from harness.executor import Launches, prepare_graph  # noqa: E402
from harness.files import write_atomically  # noqa: E402
from harness.graph.capture.aot import fake_mode  # noqa: E402
from harness.graph.model import Graph  # noqa: E402
from harness.graph.replay import replay, stand_in  # noqa: E402
from harness.graph.suite import load_suite  # noqa: E402
from harness.measure.peers.providers import backend  # noqa: E402
from harness.pipeline import compile_graph  # noqa: E402
from harness.target import TARGETS  # noqa: E402

WAYS, MODES = ("eager", "harness", "inductor"), ("inference", "training")
MB = 1e6


class LiveBytes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes of all storages that operators return, until nobody holds them."""

    def __init__(self, trace: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.trace = trace
        self.live = self.peak = 0
        self.sizes: dict[int, tuple[int, str]] = {}
        self.at_peak: tuple[tuple[int, str], ...] = ()

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """torch.compile compiles although this is active."""
        return True

    def see(self, tensor: torch.Tensor, origin: str) -> None:
        """Count the memory of ``tensor`` unless it is known."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.sizes:
            return
        self.sizes[key] = (storage.nbytes(), origin)
        self.live += storage.nbytes()
        if self.live > self.peak:
            self.peak = self.live
            self.at_peak = tuple(self.sizes.values()) if self.trace else ()
        weakref.finalize(storage, self._gone, key)

    def restart(self) -> int:
        """Forget the peak; what is in memory now."""
        self.peak, self.at_peak = self.live, ()
        return self.live

    def _gone(self, key: int) -> None:
        self.live -= self.sizes.pop(key)[0]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        if func is torch.ops.aten._local_scalar_dense.default:
            return 1.0 if args[0].is_floating_point() else 1
        result = func(*args, **(kwargs or {}))
        if torch._guards.TracingContext.try_get() is not None:
            return result  # what compiling computes with has no memory in a real step either
        origin = _origin(str(func)) if self.trace else ""
        for one in tree_leaves(result):
            if isinstance(one, torch.Tensor) and one.device.type != "meta":
                self.see(one, origin)
        return result


def _origin(operator: str) -> str:
    """The line of a generated host function that called, if one did."""
    frame = inspect.currentframe()
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith("<graph") or "torchinductor" in name:
            return (
                f"{name[:24]} {frame.f_lineno}: {linecache.getline(name, frame.f_lineno).strip()}"
            )
        frame = frame.f_back
    return operator


class WithoutKernels(Devices):
    """Launches that do nothing; library calls are a GPU's."""

    def is_gpu(self, _device: torch.device) -> bool:
        """Yes: convolutions channels last, odd products through larger ones."""
        return True

    def launches(self, *_given: Any) -> Launches:
        """Nothing, whatever the kernel."""
        return Launches(lambda _module: lambda *_arguments: None)


@contextlib.contextmanager
def inductor_without_kernels(empty: Callable[..., Any], view: Callable[..., Any]) -> Iterator[None]:
    """Inductor's host code by itself, for counting its memory without a GPU: Triton kernels for
    CPU tensors that do nothing, memory from ``empty(shape, stride, dtype)``, laid out differently
    by ``view(tensor, shape, stride, offset)``. Products of odd sizes are padded, as on a GPU where
    that proves faster: a benchmark decides there, and here all are."""
    from torch._inductor import config
    from torch._inductor.async_compile import AsyncCompile
    from torch._inductor.fx_passes import pad_mm
    from torch.utils import _triton

    def idle(*_given: Any, **_options: Any) -> None:
        """A kernel, or a check."""

    idle.run = idle  # type: ignore[attr-defined]
    patched: Any = mock.patch.multiple
    made = dict.fromkeys(("triton", "cpp_pybinding"), lambda *_given, **_options: idle)
    host = {"_empty_strided_cpu": empty, "_reinterpret_tensor": view, "assert_size_stride": idle}
    with (
        config.patch(force_disable_caches=True, cpu_backend="triton", force_shape_pad=True),
        patched(pad_mm, check_device=lambda *_: True, has_triton=lambda: True),
        patched(AsyncCompile, **made),
        patched(torch._C._dynamo.guards, **host),
        patched(_triton, triton_hash_with_backend=lambda: ""),
    ):
        yield


@contextlib.contextmanager
def counted_host(way: str) -> Iterator[None]:
    """Host functions allocate by way of operators, which are counted."""

    def empty(shape: Any, stride: Any, dtype: torch.dtype) -> torch.Tensor:
        return torch.empty_strided(shape, stride, dtype=dtype)

    def view(tensor: torch.Tensor, shape: Any, stride: Any, offset: int) -> torch.Tensor:
        return tensor.as_strided(shape, stride, tensor.storage_offset() + offset)

    with (
        mock.patch.object(executor, "allocator", lambda _device: empty),
        mock.patch.object(executor, "reinterpreter", lambda: view),
        inductor_without_kernels(empty, view) if way == "inductor" else contextlib.nullcontext(),
    ):
        yield


@dataclass(frozen=True)
class Row:
    """Bytes of one model or graph, one way: held before, at most, and held afterwards; ``first``:
    at most in the first step, over what was held before it."""

    name: str
    mode: str
    way: str
    before: int
    peak: int
    after: int
    first: int
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def above(self) -> int:
        """Bytes at the peak that were not there before."""
        return self.peak - self.before


def measured(
    name: str, mode: str, way: str, given: Iterable[Any], step: Callable[[], object], trace: bool
) -> Row:
    """``step`` twice to compile it, and once to count; ``given`` is in memory before."""
    start = time.monotonic()
    live = LiveBytes(trace)
    with live:
        for tensor in given:
            live.see(tensor, "given")
        given_bytes = live.restart()
        step()
        first = live.peak - given_bytes
        step()  # models that note something at their first call are compiled again
        gc.collect()  # compiling leaves cycles behind
        before = live.restart()
        kept = step()
    seconds = time.monotonic() - start
    row = Row(name, mode, way, before, live.peak, live.live, first, seconds)
    del kept
    for size, origin in sorted(live.at_peak, reverse=True)[:40]:
        if origin != "given":
            print(f"    {size / MB:10.1f} MB  {origin}")
    return row


def of_model(name: str, mode: str, way: str, trace: bool) -> Row:
    """A step of a model of ``gpu_models``."""
    training = mode == "training"
    torch._dynamo.reset()
    with fake_mode() as fake:
        model, inputs = MODELS[name]()
    model.train(training)
    compiler = Compiler(devices=WithoutKernels(), target=TARGETS["h200"])
    ways: dict[str, Any] = {
        "eager": lambda: model,
        "harness": lambda: torch.compile(model, backend=compiler),
        "inductor": lambda: torch.compile(model),
    }
    run = ways[way]()

    def step() -> object:
        with torch.set_grad_enabled(training):
            result = run(**inputs)
            if training:
                loss = result if isinstance(result, torch.Tensor) else result.loss
                del result
                loss.backward()
        model.zero_grad()
        return None

    with fake, counted_host(way):
        given = [*model.parameters(), *model.buffers(), *inputs.values()]
        row = measured(name, mode, way, given, step, trace)
    notes = [f"{r.name}: {r.eager}" for r in compiler.reports if r.eager]
    notes += [f for r in compiler.reports for f in r.failures]
    return Row(**{**asdict(row), "notes": tuple(notes)})


def of_graph(graph: Graph, way: str, trace: bool) -> Row:
    """A graph of the suite."""
    cpu = torch.device("cpu")
    with fake_mode() as fake:
        given = [stand_in(item.type, cpu) for item in graph.inputs]
    with fake, counted_host(way):
        if way == "eager":
            run: Callable[[list[Any]], object] = lambda tensors: replay(graph, tensors, cpu)  # noqa: E731
        elif way == "harness":
            compiled = compile_graph(graph, TARGETS["h200"])
            run = prepare_graph(compiled, WithoutKernels().launches(), cpu)
        else:
            run = backend("inductor", graph, cpu)
        step = lambda: run(list(given))  # noqa: E731
        return measured(graph.name, "graph", way, given, step, trace)


def main() -> None:
    """Count, print a line per row as it comes, keep all rows in a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    graphs = {g.name: g for entry in load_suite().entries for g in entry.graphs}
    parser.add_argument("names", nargs="*", help="models and graphs (default: all)")
    parser.add_argument("--out", type=Path, required=True, help="JSON; rows in it are kept")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--alive", choices=WAYS, help="print what is alive at this way's peak")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    torch.set_default_dtype(torch.bfloat16)
    found = json.loads(given.out.read_text()) if given.out.exists() else []
    for name in given.names or [*MODELS, *graphs]:
        for mode in ("graph",) if name in graphs else given.modes:
            for way in given.ways:
                trace = way == given.alive
                row = (
                    of_graph(graphs[name], way, trace)
                    if name in graphs
                    else of_model(name, mode, way, trace)
                )
                line = f"{name} {mode} {way}: {row.above / MB:.1f} MB above {row.before / MB:.1f}"
                line += f", first {row.first / MB:.1f} ({row.seconds:.0f} s)"
                print(line, *row.notes, flush=True)
                key = (name, mode, way)
                found = [r for r in found if (r["name"], r["mode"], r["way"]) != key]
                found.append(asdict(row))
                write_atomically(given.out, json.dumps(found, indent=1).encode())


if __name__ == "__main__":
    main()
