"""The emitted module: one Python file per kernel that needs only torch and triton."""

from __future__ import annotations

import inspect

import msgspec

from harness.codegen import tail
from harness.codegen.inputs import argument_rows
from harness.codegen.kernel import constants, variants
from harness.codegen.operations import floating_operations
from harness.codegen.reference import Reference, reference_of, triton_signature
from harness.codegen.source import EmittedModule, KernelSource
from harness.graph.model import Graph
from harness.heuristics import reduction
from harness.heuristics.facts import Facts
from harness.heuristics.registry import candidates
from harness.ir.affine import UNKNOWN_SIZE, size_hint
from harness.ir.philox import philox
from harness.runtime.module import config_dict
from harness.target import Target
from harness.tiling.plan import ArgumentKind, KernelPlan

_MOST_SOURCE_LINES = 24
_DEVICE = "    device = next((a.device for a in args if isinstance(a, torch.Tensor)), None)"


def emit(source: KernelSource, graph: Graph, target: Target) -> EmittedModule:
    """The module around ``source``, a kernel of the region ``graph``, with candidates for
    ``target``. Raises ``GraphError`` if its calls do not make the outputs of the inputs."""
    plan = source.plan
    reference = reference_of(plan, graph)
    signature = signature_of(plan)
    rows = argument_rows(plan, graph)
    types = [signature[plan.arguments[n].name] for n in plan.written]
    reduced = reduced_elements(plan)
    made = "arg_rows(**UNKNOWN_SIZES)" if plan.sizes else "ARGS"
    masks = made * any('"mask"' in row for row in rows)
    facts = timed(plan)
    allowed = tail.allowed_pairs(types, reduced, reference.floating, *reference.rounds)
    own = tail.template("kernel.py.j2").render(
        source=source,
        plan=plan,
        facts=facts,
        known=[msgspec.to_builtins(p.facts) for p in (plan, plan.held) if p is not None],
        rules=reduction,
        target=target,
        region=graph.name,
        reference=reference,
        operations=floating_operations(plan),
        configs=[config_dict(config) for config in candidates(facts, target)],
        signature=signature,
        written=plan.written,
        reduced=reduced,
        allowed=tail.allowed_line(allowed),
        assumed=dict.fromkeys(map(str, plan.sizes), UNKNOWN_SIZE),
        rows=rows,
        size_lines=_size_lines(plan),
        constants=constants,
        variants=variants,
    )
    body = "\n".join(
        (
            own,
            f"\n{reference_text(reference, plan)}",
            tail.arguments(source.name, bool(plan.sizes), "".join(rows), source.text),
            tail.check(source.text, list(signature.values()), [reference], masks),
        )
    )
    return EmittedModule.of(
        _summary(source, graph), tail.imports(source.text), body, facts=plan.facts
    )


def timed(plan: KernelPlan) -> Facts:
    """The facts that hold for the sizes that the module is timed with."""
    points = {tile.prefix: size_hint(tile.numel) for tile in plan.tiles}
    short = plan.held is not None and points["r0_"] <= plan.facts.longest
    facts = (plan.held if plan.held and short else plan).facts
    return facts.at(points) if plan.sizes else facts


def _summary(source: KernelSource, graph: Graph) -> str:
    """What the kernel is and where it came from, safe inside triple quotes."""
    plan = source.plan
    space = " x ".join(f"{t.prefix.rstrip('_')}={t.numel}" for t in plan.tiles)
    lines = [f"{source.name}: {plan.category.name.lower()} kernel over {space}."]
    nodes = {n.name: n for n in graph.nodes}
    found = [nodes[o].source for o in plan.origins if o in nodes and nodes[o].source]
    if sources := list(dict.fromkeys(found)):
        lines.append("")
        lines += [f"    {s}" for s in sources[:_MOST_SOURCE_LINES]]
        if len(sources) > _MOST_SOURCE_LINES:
            lines.append(f"    and {len(sources) - _MOST_SOURCE_LINES} more")
    text = "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''")
    return f"{text}\n"


def signature_of(plan: KernelPlan) -> dict[str, str]:
    """Triton's type name of each argument, in order."""
    return {
        a.name: "i64" if a.kind is ArgumentKind.SIZE else triton_signature(a.dtype)
        for a in plan.arguments
    }


def reduced_elements(plan: KernelPlan) -> int:
    """Elements that one element of an output sums up."""
    return next((int(t.numel) for t in plan.tiles if t.is_reduction and t.numel.is_Integer), 1)


def _size_lines(plan: KernelPlan) -> list[str]:
    """Unknown sizes by the names they have in the graph, read from the arguments."""
    first = len(plan.arguments) - len(plan.sizes)
    return [f"    {size} = args[{first + n}]" for n, size in enumerate(plan.sizes)]


def reference_text(reference: Reference, plan: KernelPlan, name: str = "reference") -> str:
    """The module's function that computes the outputs."""
    body = "\n".join(reference.lines)
    copied = inspect.getsource(philox) if "philox(" in body else ""
    lines = [
        *((copied.replace(": Any", "").replace(" -> Any", ""), "") if copied else ()),
        *((tail.template("scanned.py.j2").render(), "", "") if "scanned(" in body else ()),
        f"def {name}(args, wide=False, nudge=1.0, other=1.0):",
        '    """By plain torch; ``wide``: float64; ``nudge``, ``other``: of inexact calls."""',
        *([_DEVICE] if "device=device" in body else ()),
        *_size_lines(plan),
        *(f"    {line}" for line in body.splitlines()),
        "",
    ]
    return "\n".join(lines)
