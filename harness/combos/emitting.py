"""Kernels that have nothing to do with each other as one: a combo.

Its programs are those of one kernel after those of another. A kernel that is launched several
times is in it once: a program finds out which launch it belongs to and takes that one's pointers,
by an index into the parameters, which lie side by side in constant memory (a choice by comparisons
ends up reading them all: 3.7 ms for 200 small tensors on an H200). Every kernel keeps its own
block sizes (``XBLOCK_0``, ``R0_BLOCK_1`` ...); warps are common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.codegen import module, tail
from harness.codegen.inputs import argument_rows
from harness.codegen.kernel import constants, function
from harness.codegen.operations import floating_operations
from harness.codegen.reference import Reference, reference_of
from harness.codegen.source import EmittedModule
from harness.errors import InvalidProgram
from harness.graph.model import Graph
from harness.heuristics.joint import Member, joint_candidates
from harness.heuristics.limits import block_name
from harness.records.modules import code_hash
from harness.runtime.module import ALIGNED, config_dict
from harness.target import Target
from harness.tiling.plan import Category, KernelPlan

_INDENT = "    "
_PROGRAM = "program"


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """A kernel, launched ``count`` times; ``graph`` is the region that its buffers speak of."""

    plan: KernelPlan
    graph: Graph
    count: int


def can_combine(plan: KernelPlan) -> bool:
    """Whether a combo takes the kernel: a program for every block, every size known, no
    workspace."""
    shaped = plan.category in (Category.POINTWISE, Category.PERSISTENT, Category.REDUCTION)
    return shaped and not plan.sizes and not plan.workspace


def _parallel(part: Part) -> list[tuple[str, int]]:
    """The part's parallel tiles: the name of the block size, and the points."""
    tiles = (tile for tile in part.plan.tiles if not tile.is_reduction)
    return [(block_name(tile.prefix), int(tile.numel)) for tile in tiles]


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
    signature = {
        f"{argument}_{n}_{copy}": kind
        for n, part in enumerate(parts)
        for copy in range(part.count)
        for argument, kind in module.signature_of(part.plan).items()
    }
    rows = [r for part in parts for r in argument_rows(part.plan, part.graph) * part.count]
    text = _kernel(parts, name, list(signature))
    origins = tuple(dict.fromkeys(o for part in parts for o in part.plan.origins))
    moved = sum(part.count * part.plan.bytes_moved for part in parts)
    given = {"signature": signature, "rows": rows, "text": text}
    region = parts[0].graph.name
    described = {"name": name, "region": region, "origins": origins, "moved": moved}
    own = _own(parts, references, target, **described, **given)
    arguments = tail.arguments(name, False, "".join(rows), text)
    steps = any(reference.steps for reference in references)
    body = "\n".join((own, arguments, tail.check(text, list(signature.values()), steps)))
    known = code_hash(body)
    launches = sum(part.count for part in parts)
    head = f'"""{name}: {launches} launches of {len(parts)} kernels as one."""\n\n'
    return EmittedModule(
        name=name,
        text=f'{head}{tail.imports(text)}\nCODE_HASH = "{known}"  # of what executes\n{body}',
        bytes_moved=moved,
        facts=None,
        category="for",
        origins=origins,
        region=region,
        code_hash=known,
        signature=tuple(signature.items()),
    )


def _constants(part: Part) -> list[str]:
    """The parameters that a configuration has for the part."""
    return [name for name in constants(part.plan) if name != ALIGNED]


def _kernel(parts: Sequence[Part], name: str, arguments: Sequence[str]) -> str:
    """The functions of all parts, and the kernel that calls them."""
    helpers: dict[str, str] = {}
    functions, lines = [], [f"{_PROGRAM} = tl.program_id(0)", "first_0: tl.constexpr = 0"]
    for number, part in enumerate(parts):
        used, rest = function(part.plan, _PROGRAM)
        helpers |= used
        functions.append(f"@triton.jit\ndef _part_{number}{rest}\n\n")
        each = [(f"{name}_{number}", numel) for name, numel in _parallel(part)]
        blocks = " * ".join(f"(({numel} + {block} - 1) // {block})" for block, numel in each)
        lines.append(f"blocks_{number}: tl.constexpr = {blocks}")
        stop = f"first_{number} + {part.count} * blocks_{number}"
        lines.append(f"first_{number + 1}: tl.constexpr = {stop}")
    given = 0
    for number, part in enumerate(parts):
        word = "if" if number == 0 else "elif"
        last = number == len(parts) - 1
        lines.append("else:" if last and number else f"{word} {_PROGRAM} < first_{number + 1}:")
        lines += [_INDENT + line for line in _called(part, number, given)]
        given += part.count * len(part.plan.arguments)
    parameters = [
        *arguments,
        *(f"{c}_{n}: tl.constexpr" for n, p in enumerate(parts) for c in _constants(p)),
        f"{ALIGNED}: tl.constexpr",
    ]
    above = "".join(helpers[h] + "\n\n" for h in sorted(helpers)) + "".join(functions)
    above += tail.template("argument.py.j2").render(name=name)
    body = "".join(f"{_INDENT}{line}\n" for line in lines)
    # Assertions are compiled only where a kernel asks for it.
    asserts = "(debug=True)" if "tl.device_assert(" in above else ""
    return f"{above}@triton.jit{asserts}\ndef {name}({', '.join(parameters)}):\n{body}"


def _called(part: Part, number: int, first: int) -> list[str]:
    """The lines of a program of ``part``, whose first argument is the combo's argument ``first``:
    which launch it is of, and the call."""
    names = [argument.name for argument in part.plan.arguments]
    lines = [f"own_{number} = {_PROGRAM} - first_{number}"]
    given = [f"{name}_{number}_0" for name in names]
    if part.count > 1:
        lines.append(f"copy_{number} = own_{number} // blocks_{number}")
        given = [f"{name}_{number}" for name in names]
    for at, name in enumerate(names if part.count > 1 else ()):
        among = ", ".join(f"{name}_{number}_{copy}" for copy in range(part.count))
        place = f"{first + at}, {len(names)}, {ALIGNED}"
        lines.append(f"{name}_{number} = _argument(({among}), copy_{number}, {place})")
    given.append(f"own_{number} % blocks_{number}")
    given += [name if name == ALIGNED else f"{name}_{number}" for name in constants(part.plan)]
    return [*lines, f"_part_{number}({', '.join(given)})"]


def _own(
    parts: Sequence[Part], references: Sequence[Reference], target: Target, **given: object
) -> str:
    """The part of the module that is about its kernels; ``given`` is known already."""
    written, kept, allowed = _outputs(parts, references)
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
        programs=[
            " * ".join(
                (str(p.count), *(f'-(-{k} // config["{name}_{n}"])' for name, k in _parallel(p)))
            )
            for n, p in enumerate(parts)
        ],
        references=[
            module.reference_text(reference, part.plan, f"_reference_{n}")
            for n, (part, reference) in enumerate(zip(parts, references, strict=True))
        ],
        mapping=module.dict_text,
        sequence=module.tuple_text,
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
        own = [n for n, a in enumerate(plan.arguments) if a.name in plan.mutated]
        for _ in range(part.count):
            written += [first + n for n in own]
            kept += [first + n for n in reference.kept]
            first += len(types)
        kinds, reduced = [types[n] for n in own], module.reduced_elements(plan)
        pairs = tail.allowed_pairs(kinds, reduced, reference.floating, *reference.rounds)
        allowed += part.count * pairs
    return written, kept, allowed
