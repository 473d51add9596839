"""The emitted module: one Python file per kernel that needs only torch and triton."""

from __future__ import annotations

from collections.abc import Sequence

from harness.codegen.inputs import argument_rows
from harness.codegen.operations import floating_operations
from harness.codegen.reference import Reference, reference_of, triton_signature
from harness.codegen.source import EmittedModule, KernelSource
from harness.codegen.tail import TAIL, TAIL_OF_UNKNOWN_SIZES
from harness.graph.model import Graph
from harness.heuristics.facts import Config
from harness.heuristics.registry import candidates
from harness.ir.affine import UNKNOWN_SIZE
from harness.runtime.module import config_dict
from harness.target import Target
from harness.tiling.plan import ArgumentKind, KernelPlan

_MOST_SOURCE_LINES = 24
_IMPORTS = """import argparse
import json
import math
import os

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
"""


def emit(source: KernelSource, graph: Graph, target: Target) -> EmittedModule:
    """The module around ``source``, a kernel of the region ``graph``, with candidate
    configurations for ``target``.

    Raises ``GraphError`` if the kernel's outputs cannot be computed from its inputs with
    the region's calls.
    """
    plan = source.plan
    reference = reference_of(plan, graph)
    parts = [
        f'"""{_summary(source, graph)}"""\n\n{_IMPORTS}',
        _constants(source, reference, target),
        _arguments(plan, graph),
        f"\n{source.text}",
        f"\n_KERNEL = {source.name}\n",
        "\n" + _grid(source),
        "\n" + _reference(reference, plan),
        TAIL_OF_UNKNOWN_SIZES if plan.sizes else TAIL,
    ]
    return EmittedModule(
        name=source.name,
        text="\n".join(parts),
        bytes_moved=plan.bytes_moved,
        facts=plan.facts,
        category=plan.category.value,
        origins=plan.origins,
    )


def _summary(source: KernelSource, graph: Graph) -> str:
    """What the kernel is and where it came from, safe inside triple quotes."""
    plan = source.plan
    space = " x ".join(f"{t.prefix.rstrip('_')}={t.numel}" for t in plan.tiles)
    lines = [
        f"{source.name}: {plan.category.name.lower()} kernel over {space}.",
        "",
        f"Region {graph.name}; graph nodes: {', '.join(plan.origins)}",
    ]
    nodes = {n.name: n for n in graph.nodes}
    found = [nodes[o].source for o in plan.origins if o in nodes and nodes[o].source]
    sources = list(dict.fromkeys(found))
    if sources:
        lines += ["", "Source lines:"]
        lines += [f"    {s}" for s in sources[:_MOST_SOURCE_LINES]]
        if len(sources) > _MOST_SOURCE_LINES:
            lines.append(f"    and {len(sources) - _MOST_SOURCE_LINES} more")
    text = "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''")
    return f"{text}\n"


def _constants(source: KernelSource, reference: Reference, target: Target) -> str:
    plan = source.plan
    configs = "".join(f"    {_config(c)},\n" for c in candidates(plan.facts, target))
    written = [
        n
        for n, a in enumerate(plan.arguments)
        if a.kind in (ArgumentKind.OUTPUT, ArgumentKind.IN_OUT)
    ]
    pointers = [a.name for a in plan.arguments if a.kind is not ArgumentKind.SIZE]
    counted = "modelled, for UNKNOWN_SIZES" if plan.sizes else "modelled"
    lines = [
        f'KERNEL = "{source.name}"',
        f'CATEGORY = "{plan.category.value}"',
        f"BYTES = {plan.bytes_moved}  # bytes one launch moves ({counted})",
        f"FLOPS = {floating_operations(plan)}  # floating-point operations of one (modelled)",
        f"CONFIGS = [  # candidates for {target.name}, best guess first\n{configs}]",
        f"POINTS = {_dict_text(plan.facts.sizes)}  # points by tile: what blocks may grow to",
        f"PINNED = {_dict_text(plan.facts.fixed_blocks)}  # blocks that the kernel's text fixes",
        f"LEAST_PER_THREAD = {plan.facts.min_elements_per_thread}  # elements a thread must own",
        f"SIGNATURE = {_signature(plan)}",
        f"DIVISIBLE_BY_16 = {_tuple_text(pointers)}",
        f"OUTPUTS = {_tuple_text(written)}  # positions in args that the kernel writes",
        f"KEPT = {_tuple_text(reference.kept)}  # outputs whose old contents it needs",
        f"REDUCED = {_reduced(plan)}  # elements that one output element sums up",
        f"FLOATING = {reference.floating}  # whether floating-point values take part",
        f"STEPS = {reference.steps}  # whether results jump somewhere: floor, comparisons ...",
    ]
    return "\n".join(lines)


def _signature(plan: KernelPlan) -> str:
    rows = [
        f'"{a.name}": "{"i64" if a.kind is ArgumentKind.SIZE else triton_signature(a.dtype)}"'
        for a in plan.arguments
    ]
    return "{" + ", ".join(rows) + "}"


def _reduced(plan: KernelPlan) -> int:
    for tile in plan.tiles:
        if tile.is_reduction and tile.numel.is_Integer:
            return int(tile.numel)
    return 1


def _config(config: Config) -> str:
    pairs = config_dict(config).items()
    return "{" + ", ".join(f'"{name}": {value}' for name, value in pairs) + "}"


def _dict_text(pairs: Sequence[tuple[str, int]]) -> str:
    return "{" + ", ".join(f'"{name}": {value}' for name, value in pairs) + "}"


def _tuple_text(items: Sequence[object]) -> str:
    inside = ", ".join(f'"{i}"' if isinstance(i, str) else str(i) for i in items)
    return f"({inside},)" if len(items) == 1 else f"({inside})"


def _arguments(plan: KernelPlan, graph: Graph) -> str:
    """What the arguments look like: rows, or a function of the sizes that are not known."""
    what = "# shape, stride, dtype, kind of contents, bound"
    rows = argument_rows(plan, graph)
    if not plan.sizes:
        return "".join([f"ARGS = [  {what}\n", *(f"    {row},\n" for row in rows), "]\n"])
    names = ", ".join(str(size) for size in plan.sizes)
    defaults = ", ".join(f'"{size}": {UNKNOWN_SIZE}' for size in plan.sizes)
    lines = [
        f"UNKNOWN_SIZES = {{{defaults}}}  # known at a launch; get_args takes these by default",
        "",
        "",
        f"def arg_rows({names}):",
        f"    return [  {what}",
        *(f"        {row}," for row in rows),
        "    ]",
        "",
    ]
    return "\n".join(lines)


def _grid(source: KernelSource) -> str:
    plan = source.plan
    names = [f'    {name} = config["{name}"]' for name in source.grid.names]
    if plan.sizes:
        head = [
            "def grid(config, args):",
            '    """Programs in x, y, z, for the sizes in ``args``."""',
        ]
    else:
        head = ["def grid(config):", '    """Programs in x, y, z."""']
    lines = [*head, *_size_lines(plan), *names, f"    return {source.grid.text()}", ""]
    return "\n".join(lines)


def _size_lines(plan: KernelPlan) -> list[str]:
    """Unknown sizes by the names they have in the graph, read from the arguments."""
    first = len(plan.arguments) - len(plan.sizes)
    return [f"    {size} = args[{first + n}]" for n, size in enumerate(plan.sizes)]


def _reference(reference: Reference, plan: KernelPlan) -> str:
    lines = [
        "def reference(args, wide=False, nudge=1.0):",
        '    """What the outputs should hold, by plain torch; ``wide``: floats as float64;',
        '    ``nudge``: a factor on functions that are not rounded exactly."""',
        "    device = next((a.device for a in args if isinstance(a, torch.Tensor)), None)",
        *_size_lines(plan),
        *(f"    {line}" for line in reference.lines),
        "",
    ]
    return "\n".join(lines)
