"""What code generation produces: kernel text, and the emitted module around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.heuristics.facts import Facts
from harness.records.modules import code_hash, stated
from harness.runtime.grid import Grid

if TYPE_CHECKING:
    from harness.tiling.plan import KernelPlan


@dataclass(frozen=True, eq=False, slots=True)
class KernelSource:
    """A rendered kernel. ``text`` is the ``@triton.jit`` function alone (no imports),
    named ``name``; ``body_hash`` is the hash of the text with the name taken out, by
    which identical kernels are found. ``grid`` is the rule for its programs."""

    name: str
    text: str = field(repr=False)
    body_hash: str
    grid: Grid = field(repr=False)
    plan: KernelPlan = field(repr=False)


@dataclass(frozen=True, slots=True)
class EmittedModule:
    """One benchmark module: a Python file that needs only torch and triton. ``region`` is the
    region that it computes ``origins`` of (empty for a hand-written kernel), ``code_hash`` names
    what it executes, ``signature`` are its arguments with Triton's types."""

    name: str
    text: str = field(repr=False)
    bytes_moved: int
    facts: Facts | None = field(repr=False)  # none of a kernel that somebody wrote by hand
    category: str
    origins: tuple[str, ...] = field(repr=False)
    region: str
    code_hash: str = field(repr=False)
    signature: tuple[tuple[str, str], ...] = field(repr=False)

    @classmethod
    def of(cls, about: str, imports: str, body: str, facts: Facts | None = None) -> EmittedModule:
        """``body``, which states what a module states of itself, below its documentation and its
        import lines."""
        names = "KERNEL BYTES CATEGORY NODES REGION SIGNATURE".split()
        kernel, moved, category, nodes, region, signature = (stated(body, name) for name in names)
        known, types = code_hash(body), tuple(signature.items())
        head = f'"""{about}"""\n\n{imports}\nCODE_HASH = "{known}"'
        text = f"{head}  # of what executes: types, kernel, grid\n{body}"
        return cls(kernel, text, moved, facts, category, nodes, region, known, types)
