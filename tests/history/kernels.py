"""Kernels and sides for tests of comparing: as little of a record as a comparison looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.records.run import GraphRecord, KernelRecord, Run
from harness.records.timing import Samples
from harness.verdicts.comparing import Side
from tests.history.examples import MACHINE

CONFIG = {"XBLOCK": 64, "num_warps": 4, "num_stages": 1}


def module(name: str, body: str = "x", args: str = "f32", computes: str = "") -> str:
    """The parts of an emitted module that say what runs, and the operator that it ``computes``."""
    call = f"    y = torch.ops.aten.{computes}.default(x)\n" if computes else ""
    return (
        f'"""{name}: a kernel.\n\nRegion g.r0; graph nodes: n\n"""\n'
        f'KERNEL = "{name}"\nCATEGORY = "poi"\nBYTES = 100\n'
        'CONFIGS = [\n    {"XBLOCK": 64, "num_warps": 4, "num_stages": 1},\n]\n'
        'SIGNATURE = {"in_ptr0": "*fp32"}\n'
        f'ARGS = [\n    "{args}",\n]\n'
        f"@triton.jit\ndef {name}(in_ptr0):\n    {body}\n"
        f"\ndef reference(args): ...\n{call}"
    )


METRICS = {
    "registers": 32,
    "spills": 0,
    "stack": 0,
    "shared": 0,
    "instructions": 100,
    "widest_load": 16,
    "widest_store": 16,
}


def kernel(
    name: str,
    origins: str = "",
    *,
    region: str = "g.r0",
    ms: Sequence[float] = (),
    body: str = "",
    **changes: object,
) -> KernelRecord:
    """A kernel that computes the nodes in ``origins`` (space between) and took ``ms`` in as many
    processes; its code is told apart by ``body`` (default: its nodes)."""
    made = KernelRecord(
        name=name,
        kind="poi",
        bytes=100,
        origins=tuple(origins.split()),
        region=region,
        ms=ms[0] if ms else None,
        sets=tuple(Samples(process=n, ms=(m,) * 3) for n, m in enumerate(ms)),
        config=CONFIG,
        metrics=dict(METRICS),
        mix={"float32": 60, "load_global": 4},
        module=module(name, body or origins or name),
    )
    return changed(made, **changes)


def changed(kernel: KernelRecord, **changes: object) -> KernelRecord:
    """``kernel`` with other fields and static metrics."""
    static = {name: value for name, value in changes.items() if name in METRICS}
    rest = {name: value for name, value in changes.items() if name not in METRICS}
    return replace(kernel, metrics={**kernel.metrics, **static}, **rest)  # type: ignore[arg-type]


def graph(*kernels: KernelRecord, name: str = "g") -> GraphRecord:
    return GraphRecord(name, kernels=kernels)


def side(*graphs: GraphRecord, label: str = "A", **changes: object) -> Side:
    run = Run("id", "", MACHINE, "sm_90", method="m/1", graphs=graphs)
    return Side(label, replace(run, **changes))  # type: ignore[arg-type]
