"""The emitted module of a hand-written kernel: same contract as a generated one. Its arguments,
reference and grid are the user's own functions, copied into it; what they are given follows from
the names of their parameters."""

from __future__ import annotations

import re
import textwrap

from harness.codegen import tail
from harness.codegen.source import EmittedModule
from harness.handwritten.kernels import Signature, UserKernel
from harness.records.modules import code_hash
from harness.runtime.module import USER

_DOT = re.compile(r"\b(tl|language)\.dot(_scaled)?\(")
"""What runs on the tensor cores."""


def emit(kernel: UserKernel, small: bool = False) -> EmittedModule:
    """The module of ``kernel`` at its sizes, or at its small ones. Raises ``UsageError`` where its
    arguments cannot be made or do not fit."""
    facts = kernel.signature(small)
    parts = "".join(f"    {name!r}: {text},\n" for name, text in kernel.text.parts.items())
    host = f'"""The functions of the declaration."""\n{kernel.text.host}\nreturn {{\n{parts}}}'
    # Up to the reference, a module's text says what executes (``records.modules.code``).
    body = tail.template("by_hand.py.j2").render(
        kernel=kernel,
        constants=_constants(kernel, facts),
        sizes=_sizes(kernel, facts),
        user=textwrap.indent(host, "    "),
        check=tail.check(kernel.text.device, list(facts.types.values())),
    )
    known = code_hash(body)
    head = f'"""{_summary(kernel)}"""\n\n{_imports(kernel)}\nCODE_HASH = "{known}"\n'
    return EmittedModule(
        name=kernel.name,
        text=head + body,
        bytes_moved=facts.nbytes,
        facts=None,
        category=USER,
        origins=(kernel.name,),
        region="",
        code_hash=known,
        signature=tuple(facts.types.items()),
    )


def _summary(kernel: UserKernel) -> str:
    what = f": {kernel.text.summary.rstrip('.')}" if kernel.text.summary else ""
    text = f"{kernel.name}{what}. Written by hand in {kernel.file}."
    return text.replace("\\", "\\\\").replace('"""', "'''") + "\n"


def _imports(kernel: UserKernel) -> str:
    ours = tail.imports("")
    own = [line for line in kernel.text.imports.split("\n") if line not in ours.split("\n")]
    return ours + "".join(f"{line}\n" for line in own)


def _constants(kernel: UserKernel, facts: Signature) -> str:
    configs = "".join(f"    {config!r},\n" for config in kernel.configs)
    kinds = [list(facts.types.values())[n] for n in facts.outputs]
    tolerance = kernel.declaration.tolerance
    allowed = tail.allowed_pairs(kinds, facts.reduced, facts.floating, declared=tolerance)
    arithmetic: dict[str, object] = {}  # what a launch computes, where the declaration says so
    if facts.flops:
        arithmetic = {"FLOPS": facts.flops, "TENSOR": bool(_DOT.search(kernel.text.device))}
    return f"CONFIGS = [\n{configs}]\n{tail.allowed_line(allowed)}" + _assigned(
        REGION="",
        NODES=(kernel.name,),
        KERNEL=kernel.name,
        CATEGORY=USER,
        BYTES=facts.nbytes,
        SIGNATURE=dict(facts.types),
        DIVISIBLE_BY_16=facts.divisible,
        OUTPUTS=facts.outputs,
        KEPT=facts.kept,
        REDUCED=facts.reduced,
        **arithmetic,
    )


def _sizes(kernel: UserKernel, facts: Signature) -> str:
    """What a launch depends on besides the kernel's text."""
    return _assigned(
        GRID=" ".join(kernel.text.parts["grid"].split()),
        DECLARED_SIZES=dict(facts.sizes),
        NAMES=kernel.arguments,
        NUMBERS=dict(facts.numbers),
        CONSTANTS=dict(facts.constants),
        PARAMETERS=dict(kernel.parameters),
    )


def _assigned(**values: object) -> str:
    return "".join(f"{name} = {value!r}\n" for name, value in values.items())
