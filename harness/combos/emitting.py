"""Kernels that have nothing to do with each other as one: a combo.

Its programs are those of one kernel after those of another. A kernel that is launched several
times is in it once: a program finds out which launch it belongs to and takes that one's pointers,
by an index into the parameters, which lie side by side in constant memory (a choice by comparisons
ends up reading them all: 3.7 ms for 200 small tensors on an H200). Every kernel keeps its own
block sizes (``XBLOCK_0``, ``R0_BLOCK_1`` ...); warps are common. Sizes that only a launch knows are
arguments after all pointers, each once; a kernel that is launched for different ones is as many
parts, and where one's programs begin is computed from the sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import sympy

from harness.codegen import module, tail
from harness.codegen.inputs import argument_rows
from harness.codegen.kernel import constants, function, variants
from harness.codegen.operations import floating_operations
from harness.codegen.reference import Reference, reference_of
from harness.codegen.source import EmittedModule
from harness.errors import InvalidProgram
from harness.graph.model import Graph
from harness.heuristics import reduction
from harness.heuristics.joint import Member, joint_candidates
from harness.heuristics.limits import block_name
from harness.ir.affine import UNKNOWN_SIZE
from harness.ir.index_text import IndexPrinter
from harness.ir.simplify import Simplifier
from harness.runtime.module import ALIGNED, config_dict
from harness.target import Target
from harness.tiling.plan import ArgumentKind, Category, KernelPlan

_PROGRAM = "program"


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """A kernel, launched ``count`` times for equal sizes; ``graph`` is the region that its buffers
    speak of."""

    plan: KernelPlan
    graph: Graph
    count: int

    @property
    def parallel(self) -> list[tuple[str, sympy.Expr]]:
        """The parallel tiles: the name of the block size, and the points."""
        tiles = (tile for tile in self.plan.tiles if not tile.is_reduction)
        return [(block_name(tile.prefix), tile.numel) for tile in tiles]

    @property
    def has_known_grid(self) -> bool:
        """Whether the number of its programs does not depend on a launch's sizes."""
        return all(points.is_Integer for _, points in self.parallel)

    @property
    def pointers(self) -> list[str]:
        """The names of its arguments but for sizes."""
        return [a.name for a in self.plan.arguments if a.kind is not ArgumentKind.SIZE]

    def constants(self, number: int) -> list[str]:
        """What a combo, whose part ``number`` it is, calls what is known when it is compiled."""
        return [n if n == ALIGNED else f"{n}_{number}" for n in constants(self.plan)]


def can_combine(plan: KernelPlan) -> bool:
    """Whether a combo takes the kernel: a program for every block, or several for each row."""
    shaped = plan.category in (Category.POINTWISE, Category.PERSISTENT, Category.REDUCTION)
    return shaped and (not plan.workspace or (plan.facts.alone and bool(plan.sizes)))


def emit_combo(parts: Sequence[Part], number: int, target: Target) -> EmittedModule:
    """The module of one launch that does what ``parts`` do; its arguments are those of each
    part's launches, part after part. Raises ``InvalidProgram`` for a kernel that cannot be in one,
    ``GraphError`` as ``emit`` does."""
    unfit = next((p.plan.name for p in parts if not can_combine(p.plan)), None)
    if unfit is not None:
        raise InvalidProgram("a kernel cannot be part of a combo", where=unfit)
    heaviest = max(parts, key=lambda part: part.count * part.plan.bytes_moved)
    operators = heaviest.plan.name.partition("_fused_")[2]
    name = f"triton_for_fused_{operators}_{number}"
    references = [reference_of(part.plan, part.graph) for part in parts]
    unknown = list(dict.fromkeys(size for part in parts for size in part.plan.sizes))
    sizes = {size: f"ks{n}" for n, size in enumerate(unknown)}
    signature = {
        f"{pointer}_{n}_{copy}": module.signature_of(part.plan)[pointer]
        for n, part in enumerate(parts)
        for copy in range(part.count)
        for pointer in part.pointers
    } | dict.fromkeys(sizes.values(), "i64")
    each = ((part, argument_rows(part.plan, part.graph)) for part in parts)
    rows = [row for part, own in each for row in own[: len(part.pointers)] * part.count]
    rows += [f'((), (), "int64", "size", {size})' for size in sizes]
    text = _kernel(parts, name, list(signature), sizes)
    origins = tuple(dict.fromkeys(o for part in parts for o in part.plan.origins))
    moved = sum(part.count * part.plan.bytes_moved for part in parts)
    given = {"signature": signature, "rows": rows, "text": text}
    described = {"name": name, "region": parts[0].graph.name, "origins": origins, "moved": moved}
    own = _own(parts, references, target, unknown, **described, **given)
    arguments = tail.arguments(name, bool(sizes), "".join(rows), text)
    body = "\n".join((own, arguments, tail.check(text, list(signature.values()), references)))
    launches = sum(part.count for part in parts)
    about = f"{name}: {launches} launches of {len(parts)} kernels as one."
    return EmittedModule.of(about, tail.imports(text), body)


def _kernel(
    parts: Sequence[Part], name: str, arguments: Sequence[str], sizes: Mapping[sympy.Symbol, str]
) -> str:
    """The functions of all parts, and the kernel that calls them."""
    written = [function(part.plan, _PROGRAM) for part in parts]
    helpers = {name: text for used, _ in written for name, text in used.items()}
    above = "".join(helpers[h] + "\n\n" for h in sorted(helpers))
    above += "".join(f"@triton.jit\ndef _part_{n}{t}\n\n" for n, (_, t) in enumerate(written))
    known = [c for n, part in enumerate(parts) for c in part.constants(n) if c != ALIGNED]
    wide = {size: f"size_{argument}" for size, argument in sizes.items()}
    return above + tail.template("combo_kernel.py.j2").render(
        name=name,
        parts=parts,
        sizes=sizes,
        parameters=[*arguments, *(f"{c}: tl.constexpr" for c in (*known, ALIGNED))],
        # Assertions are compiled only where a kernel asks for it.
        asserts="(debug=True)" if "tl.device_assert(" in above else "",
        operand=IndexPrinter(Simplifier({}), wide, triton=True).operand,
    )


def _own(
    parts: Sequence[Part],
    references: Sequence[Reference],
    target: Target,
    sizes: Sequence[sympy.Symbol],
    **given: object,
) -> str:
    """The part of the module that is about its kernels; ``given`` is known already. ``sizes`` are
    unknown ones, its last arguments."""
    written, kept, allowed = _outputs(parts, references)
    first = sum(part.count * len(part.pointers) for part in parts)
    plans = [(part.plan, part.count) for part in parts]
    members = [Member(module.timed(p), n, p.bytes_moved, p.facts.unknown) for p, n in plans]
    return tail.template("combo.py.j2").render(
        parts=parts,
        target=target,
        configs=[config_dict(config) for config in joint_candidates(members, target)],
        operations=sum(part.count * floating_operations(part.plan) for part in parts),
        written=written,
        kept=kept,
        reduced=max(module.reduced_elements(part.plan) for part in parts),
        allowed=tail.allowed_line(allowed),
        assumed=dict.fromkeys(map(str, sizes), UNKNOWN_SIZE),
        size_lines=[f"    {size} = args[{first + n}]" for n, size in enumerate(sizes)],
        references=[
            module.reference_text(reference, part.plan, f"_reference_{n}")
            for n, (part, reference) in enumerate(zip(parts, references, strict=True))
        ],
        sizes=sizes,
        rules=reduction,
        builtins=msgspec.to_builtins,
        operand=IndexPrinter(Simplifier({})).operand,
        constants=constants,
        variants=variants,
        **given,
    )


def _outputs(
    parts: Sequence[Part], references: Sequence[Reference]
) -> tuple[list[int], list[int], list[str]]:
    """Of all arguments the positions that are written, those whose old contents are needed, and
    the errors allowed (``tail.allowed_pairs``)."""
    written, kept, allowed, first = list[int](), list[int](), list[str](), 0
    for part, reference in zip(parts, references, strict=True):
        plan, types = part.plan, list(module.signature_of(part.plan).values())
        own = plan.written
        for _ in range(part.count):
            written += [first + n for n in own]
            kept += [first + n for n in reference.kept]
            first += len(part.pointers)
        kinds, reduced = [types[n] for n in own], module.reduced_elements(plan)
        pairs = tail.allowed_pairs(kinds, reduced, reference.floating, *reference.rounds)
        allowed += part.count * pairs
    return written, kept, allowed
