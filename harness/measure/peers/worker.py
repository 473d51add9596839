"""What happens to the jobs that compare compilers: one region at a time, all compilers in one
worker process.

A region (or a user's kernel) is compared as a whole: same inputs, same process, same timer, every
provider replayed as a CUDA graph (so that what the host costs decides nothing), interleaved, with a
cold L2 cache, on the same copies of the inputs. Results are compared with torch in float64.

Inductor and other compilers run here and nowhere else: one that crashes or never ends takes
this process with it, and the parent, told step by step how far it came, goes on without it.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from sympy import Integer
from torch.utils._python_dispatch import TorchDispatchMode

from harness.codegen.reference import inexact
from harness.codegen.source import EmittedModule
from harness.codegen.tail import ERRORS
from harness.combos.choosing import combined
from harness.compiled import CompiledGraph, CompiledRegion
from harness.devices.job import Context, Unusable
from harness.dtypes import DType, from_torch_name
from harness.errors import CheckFailed, HarnessError, reason
from harness.executor import Launches, prepare_graph
from harness.graph.model import Graph, Input, Node, Partition, Ref, TensorType
from harness.graph.replay import copied, memory, random_inputs, replay
from harness.heuristics.facts import Config
from harness.measure.peers import providers
from harness.measure.peers.jobs import SUBJECTS, TIMING, CompareJob, WarmJob
from harness.measure.peers.providers import Make, Provider
from harness.measure.timer.graph_timer import METHOD_DIRECT
from harness.measure.worker import Gpu, give_back, is_lost
from harness.records.run import Check, RegionRecord
from harness.records.timing import WIDTH, Samples, Timer, Work
from harness.runtime import module as modules
from harness.runtime.device import current_target
from harness.runtime.launch.launcher import Launcher
from harness.runtime.launch.selecting import LaunchOn
from harness.runtime.products import in_slices
from harness.target import Target

_AS_GOOD = 2.0
"""How many times further from float64 than the nearest other compiler is still right, and how many
times as far as rounding moves an element."""
_BUDGET_MS, _WIDTH = 120.0, 2 * WIDTH
"""For the times of each provider: they differ by more, and a sample takes half as long."""
_NARROW, _WIDE = (torch.bfloat16, torch.float16), (torch.float32, torch.float64)
_BOUNDED = frozenset("cos erf sigmoid sin tanh _softmax".split())  # nowhere beyond 1
_REPEATS = 16
"""Of a task in its own types, to see what rounding moves."""
HOST = "no CUDA graph of it can be recorded: its host's time is included"
"""The remark on a provider that is enqueued anew for each sample."""


@dataclass(frozen=True, eq=False, slots=True)
class Task:
    """What all providers do. ``inputs`` makes the inputs, ``results`` picks what is compared out of
    a provider's outputs and the inputs it was given, ``wanted`` computes the same, in float64 or in
    its own types."""

    inputs: Callable[[], list[Any]]
    results: Callable[[Sequence[torch.Tensor | None], Sequence[Any]], list[torch.Tensor]]
    wanted: Callable[[Sequence[Any], bool], list[torch.Tensor]]


def region_task(graph: Graph, device: torch.device) -> Task:
    """A region: its outputs, then the new contents of the inputs that it changes."""
    positions = {item.name: n for n, item in enumerate(graph.inputs)}
    changed = [positions[mutation.input] for mutation in graph.mutations]
    asked = without_mutations(graph)

    def results(outputs: Sequence[torch.Tensor | None], given: Sequence[Any]) -> list[torch.Tensor]:
        return [t for t in outputs if t is not None] + [given[n] for n in changed]

    @in_slices
    def wanted(given: Sequence[Any], float64: bool) -> list[torch.Tensor]:
        # Such a replay changes none of its inputs, so what they will hold is an output.
        return [t for t in replay(asked, given, device, float64) if t is not None]

    return Task(lambda: list(random_inputs(graph, device)), results, wanted)


def without_mutations(graph: Graph) -> Graph:
    """``graph`` with what mutated inputs will hold as further outputs."""
    outputs = (*(n for n in graph.outputs if n is not None), *(m.value for m in graph.mutations))
    return replace(graph, outputs=outputs, mutations=())


def compare(
    task: Task,
    makers: Mapping[str, Make],
    timer: Timer,
    step: Callable[[str], None] = lambda _: None,
) -> dict[str, RegionRecord]:
    """Run every provider on the same inputs, compare results, then time them interleaved. A
    provider that fails is a row with its reason; after one that took the device with it nothing can
    go on, and ``Unusable`` is raised. ``step`` hears which one is about to be run."""
    inputs = task.inputs()
    want = task.wanted(inputs, True)
    peers: dict[str, RegionRecord] = {}
    works: dict[str, Work] = {}
    allowed = 0.0
    for name, make in makers.items():
        step(name)
        try:
            provider = make(inputs)
            got = _results(task, provider, inputs)
            error = _error(got, want)
            allowed = max([allowed, *(ERRORS.get(from_torch_name(str(g.dtype)), 0.0) for g in got)])
            del got
        except Exception as failure:  # noqa: BLE001 - one provider's failure is its row
            _require_device(failure)
            check = Check.FAILED if isinstance(failure, CheckFailed) else Check.SKIPPED
            peers[name] = RegionRecord("", name, check=check, reason=why(failure))
            continue
        works[name] = Work(provider, inputs)
        peers[name] = RegionRecord("", name, max_error=error)
    if any((peer.max_error or 0.0) > allowed for peer in peers.values()):
        with contextlib.suppress(torch.OutOfMemoryError):  # there is no room to look closer
            unsure = _unsure(task, inputs, want)
            for name, work in works.items():
                error = _error(_results(task, work.launch, inputs), want, unsure)
                peers[name] = replace(peers[name], max_error=error)
    want = unsure = []
    peers = _judged(peers, allowed)
    step(TIMING)
    found = _timed(works, timer)
    return peers | {name: _timed_peer(peers[name], samples) for name, samples in found.items()}


def _unsure(task: Task, inputs: Sequence[Any], want: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """How far rounding moves each element: the farthest from float64 that the task comes in its own
    types, its inputs, but for 16-bit ones, and inexact functions off by up to two units."""
    most = [torch.zeros_like(w, dtype=torch.float64) for w in want]
    for seed in range(_REPEATS):
        given = [_moved(value, seed, _WIDE) for value in inputs]
        with _Elsewhere(seed, given):
            made = task.wanted(given, False)
        for far, one, w in zip(most, made, want, strict=True):
            torch.maximum(far, (one.double() - w).abs().nan_to_num(math.inf, math.inf), out=far)
    return most


class _Elsewhere(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """What is rounded to 16 bits is off by up to a unit, as what is rounded elsewhere, or not; each
    use that rounds anew, by another: a kernel may keep such a value for one use as it was before.
    Functions that are not correctly rounded are off by up to two, as another library's."""

    def __init__(self, seed: int, given: Sequence[Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seed = seed
        self.given = {_place(value) for value in given if isinstance(value, torch.Tensor)}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        rounds = name == "_to_copy" or (name != "clone" and torch.Tag.pointwise in func.tags)
        made = func(*args, **(kwargs or {}))
        if func._schema.is_mutable:
            return made
        # What is compared is not told apart.
        if rounds and isinstance(made, torch.Tensor) and made.is_floating_point():
            made = func(*map(self._used, args), **(kwargs or {}))
        types = _NARROW * rounds + _WIDE * inexact(str(func), args)
        made = self._moved(made, types)
        return made.clamp(-1, 1) if name in _BOUNDED and made.dtype in types else made

    def _used(self, value: Any) -> Any:
        """An operand; inputs and constants are what they are."""
        computed = (
            isinstance(value, torch.Tensor) and value.dim() and _place(value) not in self.given
        )
        return self._moved(value, _NARROW) if computed else value

    def _moved(self, value: Any, types: Sequence[torch.dtype]) -> Any:
        self.seed += _REPEATS
        return _moved(value, self.seed, types)


def _place(value: torch.Tensor) -> int:
    return value.untyped_storage().data_ptr()


def _moved(value: Any, seed: int, types: Sequence[torch.dtype]) -> Any:
    """A copy of a tensor of these types, its elements off by up to two units of the last place,
    16-bit ones by one."""
    if not isinstance(value, torch.Tensor) or value.dtype not in types:
        return value
    made, chance = copied(value), torch.Generator(value.device).manual_seed(seed)
    size = torch.finfo(value.dtype).eps * min(2, value.itemsize // 2)
    wide = torch.promote_types(value.dtype, torch.float32)
    whole = memory(made)  # what lies in one place is off by the same
    off = torch.empty_like(whole, dtype=wide).uniform_(-size, size, generator=chance)
    whole.copy_(whole * (off + 1))
    return made


def _timed(works: Mapping[str, Work], timer: Timer) -> dict[str, Samples | Exception]:
    """Samples of all works, interleaved; where that fails, the works that fail alone are
    left out and the others are timed again."""
    if not works:
        return {}
    try:
        return dict(timer.compare(works, _BUDGET_MS * len(works), _WIDTH))
    except Exception as failure:  # noqa: BLE001 - one provider's failure is its row
        _require_device(failure)
    failed: dict[str, Samples | Exception] = {}
    for name, work in works.items():
        try:
            timer.measure(work, 1.0)
        except Exception as failure:  # noqa: BLE001 - one provider's failure is its row
            _require_device(failure)
            failed[name] = failure
    left = {name: work for name, work in works.items() if name not in failed}
    return failed | (dict(timer.compare(left, _BUDGET_MS * len(left), _WIDTH)) if left else {})


def _timed_peer(peer: RegionRecord, found: Samples | Exception) -> RegionRecord:
    if isinstance(found, Exception):
        return replace(peer, reason=why(found))
    note = HOST if found.method == METHOD_DIRECT else ""
    return replace(peer, ms=found.median, sets=(found,), reason=note)


def _judged(peers: Mapping[str, RegionRecord], allowed: float) -> dict[str, RegionRecord]:
    """Every provider with whether it is right: as close to float64 as its types allow, or
    almost as close as the nearest of the others (where all are far away, it is the region)."""
    judged = {}
    for name, peer in peers.items():
        others = [p.max_error for n, p in peers.items() if n != name and p.max_error is not None]
        limit = max(allowed, _AS_GOOD * min(others, default=0.0))
        if peer.max_error is not None:
            peer = replace(peer, check=Check.PASSED if peer.max_error <= limit else Check.FAILED)
        judged[name] = peer
    return judged


def _results(task: Task, provider: Provider, inputs: Sequence[Any]) -> list[torch.Tensor]:
    copies = [copied(t) for t in inputs]
    outputs = provider(copies)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return task.results(outputs, copies)


def _error(
    got: Sequence[torch.Tensor], want: Sequence[torch.Tensor], unsure: Sequence[torch.Tensor] = ()
) -> float:
    shapes, expected = ([list(t.shape) for t in side] for side in (got, want))
    if shapes != expected:
        raise CheckFailed(f"its results have the shapes {shapes}, expected {expected}")
    return max(itertools.starmap(distance, itertools.zip_longest(got, want, unsure)), default=0.0)


def distance(got: torch.Tensor, want: torch.Tensor, unsure: torch.Tensor | None = None) -> float:
    """‖got − want‖ / ‖want‖; for integers the share of elements that differ. Infinite where
    one has a NaN or an infinity and the other has not. Elements that are off by what is ``unsure``,
    floats by twice that, do not count."""
    if not got.is_floating_point():
        off = (got.double() - want.double()).abs() > (0.0 if unsure is None else unsure)
        return float(off.double().mean()) if got.numel() else 0.0
    a, b = got.double(), want.double()
    odd = ~torch.isfinite(b)
    # An overflow in the output's own type is not an error of the kernel.
    odd |= b.abs() > torch.finfo(got.dtype).max
    scale = float(torch.linalg.vector_norm(b.masked_fill(odd, 0.0)))
    if unsure is not None:
        odd |= ((a - b).abs() <= _AS_GOOD * unsure) | unsure.isinf()
    if bool((~torch.isfinite(a) & ~odd).any()):
        return math.inf
    difference = float(torch.linalg.vector_norm((a - b).masked_fill(odd, 0.0)))
    return difference / scale if scale else difference


def _require_device(error: Exception) -> None:
    """Raises ``Unusable`` with ``error``'s text if the device's context is lost."""
    if is_lost():
        raise Unusable(HarnessError("the device's context was lost", got=why(error))) from error


def why(error: Exception) -> str:
    """An error as a row's reason."""
    return str(error).splitlines()[0] if isinstance(error, HarnessError) else reason(error)


def compare_region(context: Context, job: CompareJob) -> dict[str, RegionRecord]:
    """The handler of ``CompareJob``."""
    warnings.filterwarnings("ignore")
    return compared(job, context, context.once(Gpu).timer, torch.device("cuda"))


def warm(_: Context, job: WarmJob) -> str:
    """The handler of ``WarmJob``. What fails fails again, with its reason, when it is compared.
    No kernel is loaded or run and inputs take no memory: others are being timed on the device."""
    warnings.filterwarnings("ignore")
    try:
        with providers.unloaded():
            providers.inductor(job.graph or _small(), torch.device("cuda"), job.tuned)
    except Exception as error:  # noqa: BLE001 - see above
        return why(error)
    finally:
        torch.compiler.reset()
    return ""


def _small() -> Graph:
    kind = TensorType(DType.F32, (Integer(8),), (Integer(1),))
    node = Node("y", "aten.add.Tensor", (Ref("x"), Ref("x")), (), kind)
    return Graph("small", (Input("x", kind),), (node,), ("y",))


def compared(
    job: CompareJob, context: Context, timer: Timer, device: torch.device
) -> dict[str, RegionRecord]:
    """All compilers on one region. Raises ``Unusable`` when the device's context is lost."""
    if isinstance(job.work, str):
        task, ours, other = _of_kernel(job, job.work, context, device)
    else:
        task, ours, other = _of_region(job, job.work, context, device)
    makers = {name: ours if name in SUBJECTS else other(name) for name in job.names}
    try:
        return compare(task, makers, timer, context.step)
    except (RuntimeError, HarnessError) as error:
        _require_device(error)
        raise
    finally:
        if not is_lost():  # else these fail, too, in place of what says that the process ends
            torch.compiler.reset()
            give_back()


def _of_region(
    job: CompareJob, region: CompiledRegion, context: Context, device: torch.device
) -> tuple[Task, Make, Callable[[str], Make]]:
    def ours(_: Sequence[Any]) -> Provider:
        target = current_target()
        load = context.once(modules.keeping)  # as it was for who timed them
        kernels = compiled_kernels(target, job.configs, context.cache, load)
        return region_provider(region, kernels, device, target)

    graph = region.region.graph
    return (region_task(graph, device), ours, lambda n: providers.maker(n, graph, device))


def _of_kernel(
    job: CompareJob, text: str, context: Context, device: torch.device
) -> tuple[Task, Make, Callable[[str], Make]]:
    loaded = context.once(modules.keeping)(text, context.cache)
    config = job.configs.get(text, loaded.configs[0])

    def ours(_: Sequence[Any]) -> Provider:
        return kernel_provider(loaded, Launcher(loaded, config, current_target(), context.cache))

    task = kernel_task(loaded, device)
    return task, ours, lambda n: providers.function_maker(n, loaded.raw.expected)


def compiled_kernels(
    target: Target,
    configs: Mapping[str, Config],
    cache: Path | None,
    load: modules.Load = modules.load,
) -> Launches:
    """Compiled kernels for the current device. ``configs`` are tuned configurations by module
    text; a kernel that has none gets its default configuration. Module files go to ``cache``."""

    def kernel(module: EmittedModule) -> LaunchOn:
        loaded = load(module.text, cache)
        run = Launcher(loaded, configs.get(module.text, loaded.configs[0]), target, cache)
        return lambda _stream, *args: run(args)

    return Launches(kernel)


def region_provider(
    region: CompiledRegion, launches: Launches, device: torch.device, target: Target
) -> Provider:
    """``region`` as a function of its inputs. Raises as ``launched_alone`` does."""
    run = prepare_graph(launched_alone(region, target), launches, device)
    return lambda tensors: run(list(tensors))


def launched_alone(region: CompiledRegion, target: Target) -> CompiledGraph:
    """A graph of ``region`` alone, its launches combined as where it is run. Raises
    ``HarnessError`` for one that has no kernels: running torch in their place would be another
    provider's time."""
    if not region.complete or region.program is None:
        raise HarnessError(
            "a region has no kernels to run",
            where=region.region.name,
            got="; ".join(str(f.error) for f in region.failures)[:500],
            expected="every kernel of the region generated",
            remedy="see the compile report",
        )
    alone = Partition(region.region.graph, (region.region,))
    return combined(CompiledGraph(alone, (region,), (), (), ()), target)


def kernel_task(loaded: modules.LoadedModule, device: torch.device) -> Task:
    """What the kernel does to its arguments: the contents of what it writes."""
    return Task(
        lambda: loaded.get_args(device=str(device)),
        lambda outputs, _: [t for t in outputs if t is not None],
        in_slices(lambda args, wide: loaded.reference([copied(a) for a in args], wide=wide)),
    )


def kernel_provider(
    loaded: modules.LoadedModule, launch: Callable[[Sequence[Any]], None]
) -> Provider:
    """The kernel itself, through ``launch``."""

    def run(args: Sequence[Any]) -> list[torch.Tensor | None]:
        launch(args)
        return [args[position] for position in loaded.outputs]

    return run
