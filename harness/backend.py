"""The backend for ``torch.compile``.

    torch.compile(model, backend="harness")            # registered by name
    compiler = harness.backend.Compiler()
    torch.compile(model, backend=compiler)             # and afterwards: compiler.reports

Forward and backward graphs go through the pipeline; library calls run in torch. Tensors on
a CPU run in Triton's interpreter (slow, for checking), tensors on CUDA through compiled
kernels. Sizes that torch calls dynamic are arguments of what is compiled once. On CUDA a
kernel is launched in its best-guess configuration, or, with a ``Compiler`` that was given a
timer, in the one that was fastest on the arguments of its first call.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import fx

from harness import options as settings
from harness.codegen.source import EmittedModule
from harness.combos.choosing import Partition, combined
from harness.compiled import CompiledGraph, Report, mixed_layouts
from harness.errors import FallbackWarning, FellBack, HarnessError, LayoutWarning, unknown
from harness.executor import Launches, prepare_graph
from harness.executor.graphs import Sizes
from harness.executor.recording import Record, Recorded, cuda_graph
from harness.executor.specialising import (
    NotForEverySize,
    bases,
    boxed,
    counted,
    fix_floats,
    guard_sizes,
    is_dynamic,
    require_sizes,
    specialised,
)
from harness.graph.bounds import with_bounds
from harness.graph.capture import control
from harness.graph.capture.aot import (
    KEPT_OUTPUTS,
    RestartAnalysis,
    compile_joint,
    differentiable,
    run_eagerly,
)
from harness.graph.capture.decompositions import Rejected
from harness.graph.capture.fx import convert, real_tensors
from harness.graph.model import CHECKED, DIVISORS, MANY_TILES, TEMPLATES, Graph
from harness.hooks import Dump
from harness.measure.deciding import Choose, decided, faster_joined
from harness.measure.timer.graph_timer import CudaTimer
from harness.pipeline import compile_graph
from harness.records.timing import Timer
from harness.runtime.compile.cache import usable
from harness.runtime.device import current_target, device_of
from harness.runtime.interpret.interpreter import InterpreterPool
from harness.runtime.launch.host import compiling, on_device, raw_stream
from harness.runtime.launch.launcher import expect
from harness.runtime.launch.observing import Asserted, Bandwidth, Guarded, Traced, unguarded
from harness.runtime.launch.selecting import LaunchOn, SelectedKernel, SelectedKernels
from harness.runtime.tune.autotune import Settings, Tuning, parsed
from harness.runtime.tune.choosing import Chooser
from harness.runtime.tune.tuning_cache import LookupTable, TuningCache, device_identity
from harness.target import TARGETS, Target

Runner = Callable[..., Any]
Templates = bool | Literal["timed"]
_LEAVE_OUT = "report it, and leave out fail_on_fallback to have torch run it"
_IN_PARTS = "parts are compiled, each in a folder in this one that ends in its name"


def backend(
    gm: fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
    **other: Any,
) -> Runner:
    """What ``torch.compile(…, backend="harness", options={…})`` calls.

    Options are the switches of a ``Compiler`` and, on CUDA, how to tune (docs/tuning.md): ``tune``,
    ``deterministic``, ``tuning_table``. A ``mode`` is short for some of them. Its reports are not
    kept; pass a ``Compiler`` for them.
    """
    if (mode := mode or "default") not in _MODES:
        where = 'torch.compile(…, backend="harness", mode=…)'
        raise unknown("the backend has no such mode", str(mode), _MODES, where, most=None)
    given = {**_MODES[mode], **(options or {}), **other}
    switches, tuning = parsed(given, _SWITCHES)
    devices = _shared_devices(tuning if device_of(gm, example_inputs).type == "cuda" else None)
    compiler = Compiler(devices=devices, **switches)
    return compiler(gm, example_inputs)


@functools.cache
def _shared_devices(tuning: Tuning | None) -> Devices:
    """Worker processes and loaded kernels of all graphs compiled under the plain name."""
    timed, settings, table = tuning or (False, Settings(), None)
    return Devices(CudaTimer() if timed else None, tuning=settings, table=table)


@dataclass(eq=False, slots=True)
class Devices:
    """Ways to run kernels: one interpreter for the CPU, loaded kernels per CUDA device.

    They start with the first kernel. With a ``timer``
    (``harness.measure.timer.graph_timer.CudaTimer``) kernels on CUDA are tuned by their first
    call. Binaries and module files are kept in the folder ``cache`` (None: the one the
    environment names); if it cannot be written, a warning says so and a temporary folder does
    until ``close``, which also ends the worker processes (all that ends with this process as
    well). ``jobs`` processes compile kernels (None: as many as the environment says). ``tuning``
    says how to tune; a configuration that the lookup table ``table`` has (None: the one the
    environment names) is taken before anything is timed.
    """

    timer: Timer | None = None
    cache: Path | None = None
    jobs: int | None = None
    tuning: Settings = field(default_factory=Settings)
    table: Path | None = None
    _pool: InterpreterPool | None = None
    _kernels: dict[torch.device, SelectedKernels] = field(default_factory=dict)
    _folder: Path | None = None
    _bandwidth: Bandwidth | None = None
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def target(self, device: torch.device) -> Target:
        """What to generate code for: the device itself, or for a CPU an H100."""
        return current_target(device) if device.type == "cuda" else TARGETS["sm_90"]

    def is_gpu(self, device: torch.device) -> bool:
        """Whether library calls on ``device`` are written as a GPU's libraries run them best."""
        return device.type == "cuda"

    def expect(self, device: torch.device) -> None:
        """Get ready to launch on ``device`` while a graph is traced."""
        if device.type == "cuda":
            expect(self._usable())

    def launches(
        self,
        device: torch.device,
        modules: Iterable[EmittedModule] = (),
        name: str = "graph",
        sizes: Mapping[str, int] | None = None,
    ) -> Launches:
        """What makes kernels of the graph ``name`` run on tensors of ``device``. On CUDA those of
        ``modules`` begin to be compiled, side by side, for ``sizes``. Raises ``HarnessError`` for a
        device that is neither a CPU nor CUDA."""
        if device.type == "cuda":
            kernels = self._on_cuda(device)
            kernels.prefetch((module.text for module in modules), sizes)
            return self._watched(kernels, name)
        if device.type == "cpu":
            return Launches(lambda module: lambda _stream, *args: self._on_cpu(module, args))
        raise HarnessError(
            "kernels cannot run on this device",
            got=str(device),
            expected="tensors on a CPU or a CUDA device",
            remedy="move the model and its inputs to one of these",
        )

    def close(self) -> None:
        """End the interpreter's process and unload kernels."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None
        for kernels in self._kernels.values():
            kernels.close()
        self._kernels.clear()
        self._folder = None
        self._stack.close()

    def _usable(self) -> Path:
        """A cache folder that can be written."""
        if self._folder is None:
            options = settings.current()
            self._folder, note = self._stack.enter_context(usable(self.cache or options.kept_cache))
            if note:
                warnings.warn(note, stacklevel=2)
        return self._folder

    def _watched(self, kernels: SelectedKernels, graph: str) -> Launches:
        """Launches of ``kernels`` as the environment asks for them: plain, unless it wants
        them marked for the profiler, or timed."""
        options = settings.current()
        watch: Callable[[SelectedKernel], LaunchOn] = operator.attrgetter("kernel")
        finished = None
        if options.bandwidth is not None:
            if self._bandwidth is None:
                self._bandwidth = Bandwidth(re.compile(options.bandwidth), options.bandwidth_file)
            timed = self._bandwidth.graph(graph)
            watch, finished = timed.watch, timed.finished
        shown = (lambda one: Traced(one, watch(one))) if options.trace else watch
        return Launches(lambda m: shown(kernels.get(m.text)), raw_stream(), finished)

    def chooser(self, device: torch.device) -> Choose | None:
        """What times kernels of one way against those of another on ``device``; None where that
        is a CPU, or where nothing may depend on timing."""
        if device.type != "cuda" or self.tuning.deterministic:
            return None
        known = TuningCache(self._usable() / "tuned", device_identity(device.index))
        with real_tensors():
            timer = self.timer or CudaTimer()
        chooser = Chooser(self._on_cuda(device), timer, known, str(device))
        return on_device(chooser.choose, device)

    def _on_cuda(self, device: torch.device) -> SelectedKernels:
        if (kernels := self._kernels.get(device)) is None:
            number = device.index
            jobs = self.jobs or settings.current().jobs
            target, cache = self.target(device), self._usable()
            known = None
            if self.timer is not None:
                known = TuningCache(cache / "tuned", device_identity(number))
            table = LookupTable.load(self.table or settings.current().tuning_table)
            tuning = (known, self.tuning, table)
            kernels = SelectedKernels(target, self.timer, cache, number, jobs, *tuning)
            self._kernels[device] = kernels
        return kernels

    def _on_cpu(self, module: EmittedModule, args: Sequence[Any]) -> None:
        if self._pool is None:
            self._pool = InterpreterPool(1, self._usable())
        self._pool.launch(module.text, args)


@dataclass(eq=False, repr=False, slots=True)  # torch.compile prints its backend
class Compiler:
    """A backend that remembers what it compiled.

    ``compiled`` are the graphs in the order of their compilation (a forward graph and, once
    its gradient is asked for, a backward graph; the parts of one that ``torch.cond`` and its like
    cut, or ``x[mask]``), ``reports`` the account of each, last those of which torch runs the whole,
    or what cuts them. ``target`` overrides the device that code is generated for.

    What torch runs, this runs: a region that could not be compiled, or a whole graph, is run
    by torch instead, with a ``FallbackWarning`` that names the operator and the source line,
    or, with ``fail_on_fallback``, the error ``FellBack``.

    Its switches are options of ``torch.compile`` too (docs/backend.md); reports say what was chosen
    by timing (``measure.deciding``). ``templates`` has all products of matrices generated that can
    be, or those that are faster so ("timed"); ``many_tiles`` gives pointwise kernels as many tiles
    as can be, not as many as make more memory contiguous.

    For finding where numbers go wrong: ``assert_no_nan`` looks for NaN in all that a kernel
    reads, before, and writes, after, and raises ``NotFinite``; ``assert_finite`` for infinities
    too; both wait for the device at every launch and look at nothing while a CUDA graph is being
    captured. ``warn_layouts`` gives a ``LayoutWarning`` for a kernel whose inputs of one shape
    lie in memory in different orders. Without ``combo_kernels`` every kernel is launched by itself;
    with ``timed_combos`` those on CUDA that are not surely faster as one, which is timed while
    compiling. ``combo_partition`` shares launches out among combos (``combos.choosing``).

    With ``reduce_overhead`` graphs on CUDA are recorded as CUDA graphs at their third call and
    replayed from then on, where that is right (``executor.recording``): one launch for the host,
    for more memory. ``recordings`` says of each how it went.
    """

    target: Target | None = None
    devices: Devices = field(default_factory=Devices)
    compiled: list[CompiledGraph] = field(default_factory=list)
    fail_on_fallback: bool = False
    eager: list[Report] = field(default_factory=list)
    eager_random: bool = False
    unchecked_indices: bool = False
    assert_no_nan: bool = False
    assert_finite: bool = False
    warn_layouts: bool = False
    combo_kernels: bool = True
    timed_combos: bool = False
    combo_partition: Partition | None = None
    reduce_overhead: bool = False
    multi_kernel: bool = False
    timed_fusion: bool = False
    templates: Templates = False
    many_tiles: bool = False
    recordings: dict[str, Recorded] = field(default_factory=dict)
    record: Record = cuda_graph

    def __post_init__(self) -> None:
        parsed({name: getattr(self, name) for name in _SWITCHES}, _SWITCHES)  # raises UsageError

    @property
    def reports(self) -> list[Report]:
        """One account per graph."""
        return [*(graph.report() for graph in self.compiled), *self.eager]

    def close(self) -> None:
        """End the processes that it started."""
        self.devices.close()

    def __deepcopy__(self, memo: object) -> Compiler:
        """The copy of a compiled model is compiled by the same compiler."""
        return self

    def __call__(self, gm: fx.GraphModule, example_inputs: Sequence[Any]) -> Runner:
        """Compile ``gm`` for all sizes or, if that cannot be, whenever new sizes are met."""
        try:
            return self._aot(gm, example_inputs)
        except NotForEverySize as error:
            fix_floats()
            self._tell("sizes are compiled one by one", "graph", str(error))
            return specialised(functools.partial(self._aot, gm))

    @compiling
    def _aot(self, gm: fx.GraphModule, inputs: Sequence[Any]) -> Runner:
        kinds = ("forward", "backward", "inference")
        dump = Dump(settings.current().dump)
        forward, backward, inference = (functools.partial(self._compile, dump, k) for k in kinds)

        def tell(error: Exception) -> None:
            self._fall_back("graph", gm, dump.within("graph"), error)

        try:
            eager_random = self.eager_random or settings.current().eager_random
            self.devices.expect(device := device_of(gm, inputs))
            for_gpu = self.devices.is_gpu(device)
            tensors = (one for one in inputs if isinstance(one, torch.Tensor))
            if any(one.is_mkldnn or one._is_zerotensor() for one in tensors):
                raise HarnessError("an input has no memory that kernels can read")
            parts = (forward, backward, inference)
            return compile_joint(gm, inputs, tell, *parts, eager_random, for_gpu)
        except Rejected as error:
            return error.run(gm, tell)
        except (FellBack, FallbackWarning, RestartAnalysis, NotForEverySize):
            raise
        except Exception as error:  # eager mode may run what cannot be traced
            if any(map(is_dynamic, inputs)):  # nor may some derivatives be for unknown sizes
                raise NotForEverySize(str(control.located(gm, error))) from error
            fix_floats()
            tell(error)
            return gm

    @compiling
    def _compile(
        self, parent: Dump, kind: str, gm: fx.GraphModule, inputs: Sequence[Any], part: str = ""
    ) -> Runner:
        guard_sizes(gm)
        cut = any(map(control.is_cut, gm.graph.nodes))

        def compile_for(late: bool) -> Runner:
            name = f"graph{len(self.compiled) + len(self.eager)}_{kind}{part and '_'}{part}"
            dump = parent.within(name)
            try:
                if not cut:
                    return self._compiled(kind, name, gm, inputs, part, dump)
                compile_part = functools.partial(self._compile, dump, kind)
                whole, calls = control.in_parts(gm, compile_part)
                self.eager.append(Report(name, 0, 0, 0, calls, (), ()))
                dump.by_torch(whole, _IN_PARTS, *(f"{op}: {why}" for op, _, why in calls))
                return run_eagerly(whole)
            except (FellBack, FallbackWarning, RestartAnalysis):
                raise
            except Exception as error:
                if kind == "backward" or late or not any(map(is_dynamic, inputs)):
                    return self._fall_back(name, gm, dump, error)
                why = str(control.located(gm, error))
                dump.by_torch(gm, f"sizes are compiled one by one, in other folders: {why}")
                raise NotForEverySize(why) from error

        return counted(compile_for, () if cut else inputs)

    def _fall_back(self, name: str, gm: fx.GraphModule, dump: Dump, error: Exception) -> Runner:
        """Torch runs the whole graph ``name``."""
        reason = str(control.located(gm, error))
        self.eager.append(Report(name, 0, 0, 0, (), (), (), reason))
        dump.by_torch(gm, f"torch runs a whole graph: {reason}")
        self._tell("torch runs a whole graph", name, reason)
        return run_eagerly(gm)

    def _tell(self, what: str, where: str, reason: str) -> None:
        if self.fail_on_fallback:
            raise FellBack(what, where, reason, "kernels, or library calls", _LEAVE_OUT)
        warnings.warn(f"{where}: {what}: {reason}", FallbackWarning, stacklevel=2)

    def _compiled(
        self, kind: str, name: str, gm: fx.GraphModule, inputs: Sequence[Any], part: str, dump: Dump
    ) -> Runner:
        facts = () if part else differentiable(gm)
        converted, options = convert(gm, name, None, facts), settings.current()
        require_sizes(converted.graph)
        shared, device = bases(converted.graph), device_of(gm, inputs)
        target = self.target or self.devices.target(device)
        asked = (self.multi_kernel, self.timed_fusion, timed := self.templates == "timed")
        chooser = self.devices.chooser(device) if any(asked) or self.timed_combos else None
        asks = {
            CHECKED: not (self.unchecked_indices or options.unchecked_indices),
            DIVISORS: device.type == "cpu",
            TEMPLATES: chooser if timed else self.templates or options.templates,
            MANY_TILES: self.many_tiles or options.many_tiles,
        }
        nodes = ((str(s), getattr(inputs[n], "node", None)) for s, n in converted.sizes.items())
        hints = {s: hint for s, n in nodes if isinstance(hint := getattr(n, "hint", None), int)}
        added = [fact for fact, is_asked in asks.items() if is_asked]
        # Rounded, so that graphs for about the same sizes are the same.
        added += [(s, str(1 << (n - 1).bit_length())) for s, n in hints.items() if n > 0]
        graph = with_bounds(replace(converted.graph, facts=(*converted.graph.facts, *added)))
        decisions, choices = decided(graph, target, chooser, *asked)
        compiled = replace(compile_graph(graph, target, decisions, (dump,)), choices=choices)
        if self.combo_kernels:
            faster = faster_joined(chooser) if self.timed_combos and chooser else None
            compiled = combined(compiled, target, faster, self.combo_partition)
        failures = compiled.report().failures
        if failures and converted.sizes and kind != "backward":
            raise NotForEverySize(failures[0])
        self.compiled.append(compiled)
        for failure in failures:
            self._tell("torch runs a region", name, failure)

        layouts = self.warn_layouts or options.warn_layouts
        for sentence in mixed_layouts(compiled) if layouts else ():
            warnings.warn(f"{name}: {sentence}", LayoutWarning, stacklevel=2)
        infinite = self.assert_finite or options.assert_finite
        asserted = infinite or self.assert_no_nan or options.assert_no_nan
        modules = (module for module, _ in compiled.distinct())
        launches = self.devices.launches(device, modules, name, hints)
        launch = launches.kernel
        kernel = functools.partial(_asserted, graph, infinite, launch) if asserted else launch
        guarded = functools.partial(self._guarded, graph, kernel)
        sizes = Sizes(tuple(converted.sizes), converted.literals)
        run: Runner = prepare_graph(compiled, replace(launches, kernel=guarded), device, sizes)
        launched = functools.partial(unguarded, run)
        rescue = functools.partial(self._fall_back, name, gm, dump)
        dump.by_kernels(graph, compiled, run)
        kept = None if kind == "inference" else len(gm.meta.get(KEPT_OUTPUTS, ()))
        if self.reduce_overhead and not (asserted or part):
            run = self._recorded(compiled, kept, run)
        return boxed(converted, compiled.partition, run, device, rescue, shared, launched)

    def _guarded(
        self, graph: Graph, kernel: Callable[[EmittedModule], LaunchOn], module: EmittedModule
    ) -> LaunchOn:
        def failed(error: HarnessError) -> None:
            why = f"{_where(graph, module)}: {error}"
            self.eager.append(Report(graph.name, 0, 0, 0, (), (why,), ()))
            self._tell("torch runs a kernel's operators", graph.name, why)

        return Guarded(module.text, kernel(module), failed)

    def _recorded(
        self, compiled: CompiledGraph, kept: int | None, run: Callable[[list[Any]], list[Any]]
    ) -> Callable[[list[Any]], list[Any]]:
        graph = compiled.partition.graph
        names = {mutation.input for mutation in graph.mutations}
        changed = frozenset(n for n, item in enumerate(graph.inputs) if item.name in names)
        made = self.recordings[graph.name] = Recorded(run, self.record, changed, kept)
        return made


_SWITCHES = tuple(f.name for f in fields(Compiler) if f.type in ("bool", "Templates"))
_MODES: dict[str, dict[str, Any]] = {
    "default": {},
    "reduce-overhead": {"reduce_overhead": True},
    "max-autotune": {"tune": True, "templates": "timed", "reduce_overhead": True},
    "max-autotune-no-cudagraphs": {"tune": True, "templates": "timed"},
}
"""What modes of ``torch.compile`` are short for, as its own backend takes them."""


def _asserted(
    graph: Graph, infinite: bool, kernel: Callable[[EmittedModule], LaunchOn], module: EmittedModule
) -> LaunchOn:
    names = tuple(name for name, _ in module.signature)
    return Asserted(_where(graph, module), names, kernel(module), infinite)


def _where(graph: Graph, module: EmittedModule) -> str:
    sources = [n.source for n in graph.nodes if n.name in module.origins and n.source]
    return "; ".join((f"{module.region}, {module.name}", *dict.fromkeys(sources)))
