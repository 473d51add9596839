from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from harness.codegen.source import EmittedModule
from harness.errors import CheckFailed, CompileFailed, OutOfMemory, UnsupportedOperator
from harness.heuristics.facts import Config
from harness.measure.jobs import Timing
from harness.measure.peers.jobs import Comparable
from harness.records.metrics import read_static
from harness.records.run import Check, GraphRecord, KernelRecord
from harness.runtime.interpret.interpreter import CheckResult
from harness.session.model import GraphDone, GraphStarted, KernelDone, RegionDone
from harness.session.session import NO_ASSEMBLY, NO_SMALL, Session, with_metrics
from tests.measure.fakes import (
    METRICS,
    FakeDevice,
    FakeEntry,
    FakePeers,
    RepeatableDevice,
    compiled,
    module,
    session,
)

A, B = module("triton_poi_a_0", "add"), module("triton_red_b_1", "sum", "mul")
SMALL_A, SMALL_B = module("small_a", "add"), module("small_b", "mul", "sum")


EARLIER = Config((("XBLOCK", 128),), 2)


def finished(run: Session) -> dict[str, GraphRecord]:
    return {e.record.name: e.record for e in run.events() if isinstance(e, GraphDone)}


def test_kernels_get_metrics_and_checks_in_launch_order() -> None:
    entry = FakeEntry("g", compiled(A, B, launches=3), compiled(SMALL_B, SMALL_A))
    checks: list[str] = []
    graph = finished(session(entry, checks=checks))["g"]
    assert [k.name for k in graph.kernels] == [A.name, B.name]
    assert sorted(checks) == [SMALL_A.text, SMALL_B.text]
    for kernel in graph.kernels:
        assert kernel.metrics == read_static(METRICS)
        assert (kernel.check, kernel.max_error, kernel.allowed) == (Check.PASSED, 1e-7, 1e-5)
        assert (kernel.launches, kernel.bytes, kernel.kind) == (3, 4_000_000, "poi")
        assert (kernel.ms, kernel.gbps, kernel.fraction, kernel.samples_ms) == (
            None,
            None,
            None,
            (),
        )
    assert graph.library_calls[0].count == 2
    assert not graph.failed


def test_inline_assembly_is_not_interpreted_and_says_so() -> None:
    made = replace(A, text=A.text + "tl.inline_asm_elementwise(...)")
    (kernel,) = finished(session(FakeEntry("g", compiled(made), compiled(made))))["g"].kernels
    assert (kernel.check, kernel.check_note) == (Check.SKIPPED, NO_ASSEMBLY)
    assert kernel.metrics == read_static(METRICS)


def test_events_come_in_a_sensible_order() -> None:
    entries = [FakeEntry(n, compiled(A), compiled(SMALL_A)) for n in "xy"]
    events = list(session(*entries).events())
    kinds = [(type(e).__name__, getattr(e, "name", "")) for e in events]
    assert kinds[0] == ("GraphStarted", "x")
    assert [e.name for e in events if isinstance(e, GraphStarted)] == ["x", "y"]
    for name in "xy":
        done = [i for i, e in enumerate(events) if isinstance(e, KernelDone) and e.graph == name]
        (end,) = (
            i for i, e in enumerate(events) if isinstance(e, GraphDone) and e.record.name == name
        )
        assert done
        assert max(done) < end


def test_equal_kernels_are_compiled_and_checked_once() -> None:
    entries = [FakeEntry(n, compiled(A), compiled(SMALL_A)) for n in "xyz"]
    jobs: list[object] = []
    checks: list[object] = []
    graphs = finished(session(*entries, jobs=jobs, checks=checks))
    assert (len(jobs), len(checks)) == (1, 1)
    assert all(g.kernels[0].check is Check.PASSED and g.kernels[0].metrics for g in graphs.values())


def test_a_graph_that_does_not_compile_is_a_row_and_the_rest_goes_on() -> None:
    bad = FakeEntry("bad", UnsupportedOperator("no lowering", got="aten.nope"))
    graphs = finished(session(bad, FakeEntry("good", compiled(A), compiled(SMALL_A))))
    assert graphs["bad"].reason == "UnsupportedOperator: no lowering\n  got: aten.nope"
    assert graphs["bad"].failed
    assert not graphs["good"].failed


def test_a_kernel_that_does_not_compile_has_a_reason() -> None:
    def static(job: tuple[str, object]) -> object:
        return CompileFailed("too big") if job[0] == A.text else METRICS

    entry = FakeEntry("g", compiled(A, B), compiled(SMALL_A, SMALL_B))
    first, second = finished(session(entry, static=static))["g"].kernels
    assert first.reason == "CompileFailed: too big"
    assert first.failed
    assert first.metrics == {}
    assert not second.failed


def test_a_configuration_chosen_because_the_first_spills_is_recorded() -> None:
    chosen = {"XBLOCK": 1, "num_warps": 8, "num_stages": 1}
    found = with_metrics(KernelRecord("k", "poi", 1), replace(METRICS, chosen=(*chosen.items(),)))
    assert found.config == chosen
    assert with_metrics(KernelRecord("k", "poi", 1), METRICS).config is None


def test_a_wrong_kernel_fails() -> None:
    def check(text: str) -> object:
        return CheckResult(text != SMALL_A.text, 0.5, 0.1)

    entry = FakeEntry("g", compiled(A, B), compiled(SMALL_A, SMALL_B))
    first, second = finished(session(entry, check=check))["g"].kernels
    assert (first.check, first.max_error) == (Check.FAILED, 0.5)
    assert second.check is Check.PASSED


def test_a_kernel_that_cannot_run_fails_with_the_reason() -> None:
    entry = FakeEntry("g", compiled(A), compiled(SMALL_A))
    run = session(entry, check=lambda _: CheckFailed("it crashed"))
    (kernel,) = finished(run)["g"].kernels
    assert (kernel.check, kernel.check_note) == (Check.FAILED, "CheckFailed: it crashed")


def test_without_a_small_capture_checks_are_skipped_with_the_reason() -> None:
    (kernel,) = finished(session(FakeEntry("g", compiled(A))))["g"].kernels
    assert (kernel.check, kernel.check_note) == (Check.SKIPPED, NO_SMALL)
    assert kernel.metrics["registers"] == METRICS.registers
    assert not kernel.failed


def test_a_small_capture_that_does_not_compile_skips_with_the_reason() -> None:
    entry = FakeEntry("g", compiled(A), UnsupportedOperator("no lowering"))
    (kernel,) = finished(session(entry))["g"].kernels
    assert kernel.check is Check.SKIPPED
    assert "no lowering" in kernel.check_note


@pytest.mark.parametrize("wrong", ["", "small_1", "small_2"])
def test_a_kernel_that_is_two_at_small_sizes_passes_only_if_both_do(wrong: str) -> None:
    small = compiled(module("small_1", "sum"), module("small_2", "mul"))

    def check(text: str) -> object:
        bad = bool(wrong) and wrong in text
        return CheckResult(not bad, 0.5 if bad else 1e-7, 0.1)

    (kernel,) = finished(session(FakeEntry("g", compiled(B), small), check=check))["g"].kernels
    assert kernel.check is (Check.FAILED if wrong else Check.PASSED)
    assert kernel.max_error == (0.5 if wrong else 1e-7)
    assert kernel.check_note.endswith("as 2 kernels")


LACKING = OutOfMemory("there is too little memory", got="OutOfMemoryError: CUDA out of memory.")
LACKED = "OutOfMemory: there is too little memory; OutOfMemoryError: CUDA out of memory."


@pytest.mark.parametrize("full", [False, True])
def test_a_kernel_whose_check_lacks_memory_is_not_checked_and_keeps_its_time(full: bool) -> None:
    class Full(FakeDevice):
        def check(self, module: EmittedModule) -> CheckResult:
            if module.name == A.name:
                raise LACKING
            return super().check(module)

        def time(self, module: EmittedModule) -> Timing:
            if full and module.name == A.name:
                raise LACKING
            return super().time(module)

    graph = finished(session(FakeEntry("g", compiled(A, B)), device=Full()))["g"]
    first, second = graph.kernels
    assert (first.check, first.check_note, first.max_error) == (Check.SKIPPED, LACKED, None)
    assert (first.ms, first.reason) == (None if full else 0.002, "")
    assert (second.check, second.ms) == (Check.PASSED, 0.002)
    assert not graph.failed


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("other", [True, False])
def test_a_part_whose_check_lacks_memory_leaves_a_kernel_unchecked_but_for_a_wrong_part(
    order: tuple[int, int], other: bool
) -> None:
    parts = (module("small_1", "sum"), module("small_2", "mul"))
    small = compiled(*(parts[n] for n in order))

    def check(text: str) -> object:
        return LACKING if text == parts[0].text else CheckResult(other, 0.25, 0.1)

    (kernel,) = finished(session(FakeEntry("g", compiled(B), small), check=check))["g"].kernels
    assert kernel.check is (Check.SKIPPED if other else Check.FAILED)
    assert kernel.max_error == (None if other else 0.25)
    assert not other or kernel.check_note == LACKED


def test_a_kernel_without_a_counterpart_is_skipped() -> None:
    (kernel,) = finished(session(FakeEntry("g", compiled(B), compiled(SMALL_A))))["g"].kernels
    assert kernel.check is Check.SKIPPED
    assert "no kernel at small sizes" in kernel.check_note
    assert kernel.metrics


def test_a_graph_of_library_calls_alone_has_no_kernels() -> None:
    graph = finished(session(FakeEntry("g", compiled())))["g"]
    assert graph.kernels == ()
    assert not graph.failed


def test_with_a_device_kernels_are_checked_and_timed_at_full_size() -> None:
    device = FakeDevice()
    jobs: list[tuple[str, object]] = []
    checks: list[str] = []
    entry = FakeEntry("g", compiled(A), compiled(SMALL_A))
    (kernel,) = finished(session(entry, device=device, jobs=jobs, checks=checks))["g"].kernels
    assert (kernel.check, kernel.max_error, kernel.allowed) == (Check.PASSED, 0.25, 0.5)
    assert kernel.ms == 0.002
    assert kernel.gbps == pytest.approx(4_000_000 / 0.002e-3 / 1e9)
    assert kernel.fraction == pytest.approx(kernel.gbps / 3000.0)
    assert kernel.config == {"XBLOCK": 256, "num_warps": 4, "num_stages": 2}
    assert kernel.samples_ms == (0.0019, 0.002, 0.0021)
    assert device.prepared == [A.name]
    assert checks == []
    ((text, config),) = jobs
    assert text == A.text
    assert config is not None, "the metrics are those of the configuration that was timed"


def test_in_one_process_kernels_that_execute_the_same_are_timed_once() -> None:
    """Whatever they are called; others, and those that were disturbed, each. All are checked."""
    asked: list[tuple[str, str]] = []

    class Device(RepeatableDevice):
        def check(self, module: EmittedModule) -> CheckResult:
            asked.append(("check", module.name))
            return super().check(module)

        def time(self, module: EmittedModule) -> Timing:
            asked.append(("time", module.name))
            timing = super().time(module)
            stopped = "disturbed" if "slow" in module.name else "width"
            return replace(timing, samples=replace(timing.samples, stopped=stopped))

    def kernel(name: str, code: str, size: int = 8, nbytes: int = 8) -> EmittedModule:
        said = f'CODE_HASH = "{code}"', f"BYTES = {nbytes}", f"ARGS = [\n    {size},\n]\n"
        return module(name, name, text="\n".join((f"# {name}", *said)))

    graphs = {
        "x": [kernel("first", "c0de"), kernel("slow_0", "ab")],
        "y": [kernel("again", "c0de"), kernel("slow_1", "ab")],
        "z": [kernel("larger", "c0de", 16), kernel("more", "c0de", 8, 16), kernel("other", "cd")],
    }
    names = [made.name for one in graphs.values() for made in one]
    entries = [FakeEntry(name, compiled(*made)) for name, made in graphs.items()]
    found = finished(session(*entries, device=Device(), processes=1))
    assert [name for what, name in asked if what == "check"] == names
    assert [name for what, name in asked if what == "time"] == [n for n in names if n != "again"]
    assert found["y"].kernels[0].sets == found["x"].kernels[0].sets != ()
    asked.clear()
    finished(session(*entries, device=Device(), processes=2))
    assert [name for what, name in asked if what == "time"] == names


def test_a_kernel_that_is_wrong_on_the_device_is_still_timed() -> None:
    device = FakeDevice(wrong=(A.name,))
    (kernel,) = finished(session(FakeEntry("g", compiled(A)), device=device))["g"].kernels
    assert kernel.check is Check.FAILED
    assert kernel.ms is not None


def test_a_kernel_that_cannot_be_launched_has_a_reason() -> None:
    device = FakeDevice(unlaunchable=(A.name,))
    entry = FakeEntry("g", compiled(A, B))
    first, second = finished(session(entry, device=device))["g"].kernels
    assert first.reason == "CompileFailed: out of resources"
    assert first.ms is None
    assert second.ms is not None


def test_leaving_early_does_not_wait_for_what_is_running() -> None:

    release = threading.Event()

    def slow(_: object) -> object:
        release.wait(30)
        return METRICS

    entry = FakeEntry("g", compiled(A), compiled(SMALL_A))
    events = session(entry, static=slow).events()
    next(events)
    next(events)
    events.close()
    release.set()


def test_a_pool_that_breaks_answers_everything() -> None:
    def broken(_: object) -> object:
        raise RuntimeError("boom")

    entries = [FakeEntry(n, compiled(A, B), compiled(SMALL_A)) for n in "xy"]
    graphs = finished(session(*entries, static=broken))
    for graph in graphs.values():
        assert all("WorkerDied" in kernel.reason for kernel in graph.kernels)


def test_other_compilers_are_compared_once_a_graph_is_timed() -> None:
    one, two = Comparable("g.r0", "text"), Comparable("g.r1", "text", count=3)
    full = replace(compiled(module("a"), module("b")), regions=(one, two))
    peers = FakePeers()
    events = list(session(FakeEntry("g", full), device=FakeDevice(), peers=peers).events())
    assert peers.prepared == ["g.r0", "g.r1"]
    (graph,) = (event.record for event in events if isinstance(event, GraphDone))
    assert [(r.region, r.compiler, r.ms) for r in graph.regions[:3]] == [
        ("g.r0", "harness", 0.002),
        ("g.r0", "inductor", 0.004),
        ("g.r0", "eager", None),
    ]
    done = [event for event in events if isinstance(event, RegionDone)]
    assert [(e.position, e.total) for e in done] == [(1, 2), (2, 2)]
    assert isinstance(events[-1], GraphDone), "a graph is done after its regions"
    assert {text: c.num_warps for text, c in peers.configs[0].items()} == {"# a\n": 4, "# b\n": 4}


def test_past_its_end_no_graph_is_begun_and_what_was_timed_is_whole() -> None:
    class Device(FakeDevice):
        def time(self, module: EmittedModule) -> Timing:
            run.until = 0.0
            return super().time(module)

    run = session(FakeEntry("x", compiled(A)), FakeEntry("y", compiled(B)), device=Device())
    run.until = time.monotonic() + 600
    found = finished(run)
    assert list(found) == ["x"]
    assert found["x"].kernels[0].metrics and found["x"].kernels[0].ms


def test_the_tuner_knows_the_earlier_configuration() -> None:
    asked: list[Any] = []

    class Device(FakeDevice):
        def time(self, module: EmittedModule, *earlier: Config) -> Timing:
            asked.append((module.name, earlier))
            return super().time(module)

    known = replace(compiled(A).kernels[0], earlier=(EARLIER,))
    whole = replace(compiled(A, B), kernels=(known, compiled(B).kernels[0]))
    assert list(finished(session(FakeEntry("x", whole), device=Device()))) == ["x"]
    assert asked == [(A.name, (EARLIER,)), (B.name, ())]


def test_without_a_device_nothing_is_compared() -> None:
    full = replace(compiled(module("a")), regions=(Comparable("g.r0", "text"),))
    peers = FakePeers()
    list(session(FakeEntry("g", full), peers=peers).events())
    assert not peers.prepared
