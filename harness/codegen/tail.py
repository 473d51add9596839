"""The part of emitted modules that is not about one kernel, as text.

It is written into every module: modules are kept for years and must run where this package is not
installed. It reads the constants above it and nothing else. What a module has no use for (scatters'
indices, sizes that only a launch knows, types that the interpreter converts wrongly) is left out.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import jinja2

from harness.codegen.frame import quotients, wrapped
from harness.codegen.reference import Reference, triton_signature
from harness.dtypes import DType
from harness.heuristics.limits import block_name, next_power_of_two
from harness.ir.index_text import size_text
from harness.ir.op_triton import TEMME_FROM, ZETA_TERMS, temme_terms
from harness.ir.ops import Op
from harness.tiling.build import INT32_LIMIT

ERRORS = {
    DType.F64: 1e-10,
    DType.F32: 1e-5,
    DType.F16: 2e-3,
    DType.BF16: 1.6e-2,
    DType.F8E4M3: 0.13,
    DType.F8E5M2: 0.26,
}
"""Error allowed relative to the size of an element plus the root mean square of its tensor, or of a
tensor relative to its norm, by type: some units of its last place."""
_ERRORS = {triton_signature(dtype)[1:]: error for dtype, error in ERRORS.items()}

_USUAL_ERRORS = {"fp16": 7e-4, "bf16": 5e-3}
"""In 16 bits a kernel may round twice (a value stored, then read again), and cancellation makes
much of that in a few elements; all others are within about one rounding."""

_STRAY = 1e-5
"""Share of integers that may differ where they come from floating-point values. A sum added up in
another order moves by about 1e-6 of its size, and with it about that share of comparisons changes
sides; no reference can tell which."""


def allowed_pairs(
    written: Sequence[str],
    reduced: int,
    floating: bool,
    rounded: Sequence[str] = (),
    followed: bool = False,
    declared: float | None = None,
) -> list[str]:
    """Pairs in ``ALLOWED`` of a module whose outputs are ``written`` (``*bf16``), for sums of
    ``reduced`` elements; ``floating`` as in ``Reference``, ``declared`` is a user's own limit.
    ``rounded`` are the types that the kernel rounds to on the way. It need not round wherever the
    graph does, so no reference may agree with it, and what follows is as exact as they are. One
    that ``followed`` it is off between two numbers of 16 bits, where few are; of 32 all are.
    """
    pairs = []
    least = max((_ERRORS.get(kind.removeprefix("*"), 0.0) for kind in rounded), default=0.0)
    for name in (kind.removeprefix("*") for kind in written):
        limit = usual = _ERRORS.get(name, _STRAY if floating else 0.0)
        if name in _ERRORS and declared is not None:
            limit = usual = declared
        elif name in ("fp32", "fp64"):
            usual = limit * max(1.0, math.log2(max(2, reduced)))
            limit = max(least, usual)
            coarse = _ERRORS["fp32"] * (name == "fp64" and "*fp32" in rounded)
            usual = max(usual, coarse) if followed else limit
        usual = usual if declared is not None else _USUAL_ERRORS.get(name, usual)
        pairs.append(f"({limit:.3g}, {usual:.3g})")
    return pairs


def allowed_line(pairs: Sequence[str]) -> str:
    """``ALLOWED``, of the ``pairs`` of all outputs."""
    return (
        f"ALLOWED = ({', '.join(pairs)}{',' * (len(pairs) == 1)})"
        "  # error of an output's elements: of any; of all but 4 and 1 in 1000\n"
    )


_OTHER_NAMES = {
    called[1]: op.value.removeprefix("special_")
    for op in Op
    if (called := re.match(r"libdevice\.(\w+)", str(op.text))) and called[1] != op.value
}
"""Functions of the device library that are in ``torch.special``, under another name."""

_TEMPLATES = Path(__file__).parent / "templates"


def _written(kind: Callable[[Any], object], items: Iterable[object]) -> str:
    """A dictionary or a tuple of names and numbers as modules write it."""
    return repr(kind(items)).replace("'", '"')


@functools.cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        autoescape=False,  # it is Python that is written
    )
    mapping, sequence = (functools.partial(_written, kind) for kind in (dict, tuple))
    made.globals.update(mapping=mapping, sequence=sequence, limit=INT32_LIMIT, quotients=quotients)
    made.globals.update(block_name=block_name, size_text=size_text, wrapped=wrapped)
    return made


def template(name: str) -> jinja2.Template:
    """The template of that file's name."""
    return _environment().get_template(name)


@functools.cache
def _functions() -> dict[str, str]:
    """Templates by the names of the functions that they give."""
    each = re.split(r"\n\n(?=@triton)", (_TEMPLATES / "functions.py.j2").read_text("utf-8"))
    return {re.findall(r"def (\w+)", one)[0]: one for one in each}


@functools.cache
def _function(name: str) -> str:
    made = _environment().from_string(_functions()[name])
    return made.render(zeta=ZETA_TERMS, temme=temme_terms, temme_from=TEMME_FROM)


def functions_called(text: str) -> dict[str, str]:
    """Those of the functions of this package that the kernel's ``text`` calls, by name."""
    names, known = set(re.findall(r"\b_\w+", text)), _functions().keys()
    for name in sorted(names & known):  # which call others
        names.update(re.findall(r"\b_\w+", _function(name)))
    found = {name: _function(name) for name in names & known}
    for name, kind, digits, how in re.findall(r"\b(_(exchange|gather|told)_(\d+)(\w*))\b", text):
        facts = {"name": name, "alone": "s" in how, "wide": "w" in how, "count": int(digits)}
        found[name] = template(f"{kind}.py.j2").render(facts, rows=next_power_of_two(int(digits)))
    return found


def imports(kernel: str) -> str:
    """The import lines of a module whose kernel's text is ``kernel``."""
    library = "from triton.language.extra import libdevice\n" if "libdevice." in kernel else ""
    return (
        "import argparse\nimport json\nimport os\n\nimport torch\nimport triton\n"
        f"import triton.language as tl\n{library}"
    )


def arguments(name: str, sizes: bool, rows: str, kernel: str) -> str:
    """What makes the arguments of the kernel ``name`` and launches it; ``rows`` is the text that
    describes them, ``sizes`` whether some are sizes that only a launch knows, ``kernel`` its text.
    """
    return template("launch.py.j2").render(
        name=name,
        sizes=sizes,
        rows=rows,
        kernel=kernel,
        integers=bool(re.search('"(u?int|bool)', rows)),
        variant=bool(re.search("(WIDE|HELD|EVEN|CHUNKS): tl.constexpr", kernel)),
    )


def check(
    kernel: str, signature: Sequence[str], references: Sequence[Reference] = (), masks: str = ""
) -> str:
    """The rest of a module: check, times, command line. ``kernel`` is the kernel's text,
    ``signature`` its arguments' types, ``references`` what it is checked against, ``masks`` the
    text of rows of arguments of which some are masks, which are exact."""
    loops = re.findall(r" in (?:tl\.)?range\((.*)\):", kernel)
    one = re.search(r"\n    [xyz]index = (?!.*arange).*program_id", kernel)  # point a program
    called = sorted(set(re.findall(r"libdevice\.(\w+)", kernel)))
    return template("check.py.j2").render(
        bounds=bool(re.search(r"\b[a-z]\w*\b(?!=)", " ".join(loops))),
        scalars=not all(kind.startswith("*") for kind in signature),
        integers=any(re.match(r"\*[iu]\d", kind) for kind in signature),
        signature=signature,
        steps=any(reference.steps for reference in references),
        inexact=any(reference.inexact for reference in references),
        masks=masks,
        multiplies="tl.dot(" in kernel and "*bf16" in signature,
        rounds=any(re.search("bf16|fp8", kind) for kind in signature),
        library=called,
        maxima="_larger)" in kernel,
        conditions=one is not None and " & " in kernel,
        others={name: _OTHER_NAMES[name] for name in called if name in _OTHER_NAMES},
    )
