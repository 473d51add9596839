"""Kernels that a user's file declares: loaded, looked over, and as modules.

The file is executed (it is the user's own program); a kernel whose declaration does not fit
is a failure of its own, the others go on. Its module has the same contract as a generated one: its
arguments, reference and grid are the user's own functions, copied into it; what they are given
follows from the names of their parameters.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import textwrap
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from harness.codegen import tail
from harness.codegen.reference import triton_signature
from harness.codegen.source import EmittedModule
from harness.declare import ATTRIBUTE, Declaration, wrong
from harness.dtypes import from_torch_name
from harness.errors import HarnessError, UsageError, nearest, reason
from harness.files import read_text
from harness.handwritten.source import KernelText, bound_names, cut
from harness.runtime.module import USER

_RESERVED = frozenset(
    "KERNEL CATEGORY BYTES FLOPS TENSOR CONFIGS SIGNATURE DIVISIBLE_BY_16 OUTPUTS KEPT REDUCED "
    "CODE_HASH REGION NODES ALLOWED GRID SIZES DECLARED_SIZES NAMES NUMBERS CONSTANTS "
    "PARAMETERS grid reference expected get_args call check main benchmark_all_configs".split()
)
_OPTIONS = {"num_warps": 4, "num_stages": 3}
_NOT_FINITE = (float("inf"), float("-inf"))
_INT32 = range(-(2**31), 2**31)
_MOST = float("inf")
_DOT = re.compile(r"\b(tl|language)\.dot(_scaled)?\(")
"""What runs on the tensor cores."""


@dataclass(frozen=True, eq=False, slots=True)
class UserKernel:
    """A declared kernel. ``arguments`` are its parameters without constexpr ones, ``parameters``
    what each function of the declaration is given (None: everything, as one mapping)."""

    file: str
    text: KernelText
    declaration: Declaration
    arguments: tuple[str, ...]
    configs: tuple[dict[str, int], ...]
    constants: Mapping[str, Any]
    parameters: Mapping[str, tuple[str, ...] | None]

    @property
    def name(self) -> str:
        """The function's name."""
        return self.text.name

    @property
    def where(self) -> str:
        """File, line and name, for messages."""
        return f"{self.file}:{self.text.line}: {self.name}"


def load_kernels(path: Path) -> tuple[list[UserKernel], dict[str, HarnessError]]:
    """Execute the file at ``path`` and take in its declared kernels; what is wrong with the others,
    by name. Raises ``UsageError`` for a file that cannot be executed, or declares nothing."""
    remedy = "check the file's name and permissions"
    text = read_text(path, UsageError, "a file of kernels", "Python text in UTF-8", remedy)
    if not (texts := cut(text, str(path))):
        raise UsageError(
            "a file declares no kernels",
            where=str(path),
            got="no function at the top level has the decorator",
            expected="@harness.kernel(…) above @triton.jit",
            remedy="see docs/user-kernels.md",
        )
    module = _executed(path)
    kernels: list[UserKernel] = []
    failures: dict[str, HarnessError] = {}
    for name, cut_out in texts.items():
        try:
            kernels.append(_kernel(module, path.name, cut_out))
        except UsageError as error:
            failures[name] = error
    return kernels, failures


def _executed(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"harness_user_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except UsageError:
        raise
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        line = f":{frames[-1].lineno}" if frames else ""
        raise UsageError(
            "a file of kernels cannot be executed",
            where=f"{path}{line}",
            got=reason(error),
            expected="a file that python runs to its end",
            remedy="a kernel must stand alone: keep what it uses in its file or in an installed "
            "package",
        ) from error
    return module


def _kernel(module: ModuleType, file: str, text: KernelText) -> UserKernel:
    where = f"{file}:{text.line}: {text.name}"
    value: Any = getattr(module, text.name, None)
    declaration = _declaration(value, where)
    configs = list(declaration.configs)
    while not inspect.isfunction(getattr(value, "fn", None)):
        configs = configs or list(getattr(value, "configs", ()))
        if (value := getattr(value, "fn", None)) is None:
            raise wrong("it is not a Triton kernel", "a function", "@triton.jit below it", where)
    parameters = inspect.signature(value.fn).parameters
    arguments = tuple(n for n, p in parameters.items() if not _is_constexpr(p))
    constexprs = {n: p for n, p in parameters.items() if _is_constexpr(p)}
    if tuple(parameters)[: len(arguments)] != arguments:
        what = "a constexpr parameter stands before an argument"
        expected = "arguments first, then every constexpr parameter"
        raise wrong(what, ", ".join(parameters), expected, where)
    _require_names(where, declaration, arguments, constexprs)
    made = tuple(_config(where, config, constexprs) for config in configs) or ({},)
    constants = {n: p.default for n, p in constexprs.items() if p.default is not p.empty}
    constants |= dict(declaration.constants)
    constants = {n: v for n, v in constants.items() if n not in made[0]}
    for config in made:
        if missing := [n for n in constexprs if n not in config and n not in constants]:
            got = f"{', '.join(missing)} in {dict(config)}"
            expected = "a value in every candidate, in constants, or as its default"
            raise wrong("a constexpr parameter has no value", got, expected, where)
        if (set(config) ^ set(made[0])) - set(_OPTIONS):
            raise wrong("candidates set different names", str(dict(config)), "the same", where)
    known = {*arguments, *constants, *made[0], *declaration.sizes} - set(_OPTIONS)
    finished = tuple({**c, **{n: c.get(n, usual) for n, usual in _OPTIONS.items()}} for c in made)
    if taken := _RESERVED & bound_names(text.device):
        what = "the kernel uses a name that its module needs for itself"
        raise wrong(what, ", ".join(sorted(taken)), "another name", where)
    asked = {
        "reference": _asked(where, "reference", declaration.reference, known - set(made[0])),
        "grid": _asked(where, "grid", declaration.grid, known, whole=True),
    }
    return UserKernel(file, text, declaration, arguments, finished, constants, asked)


def _declaration(value: Any, where: str) -> Declaration:
    found = getattr(value, ATTRIBUTE, None)
    if not isinstance(found, Declaration):
        what = "the name does not mean the declared kernel at the end of the file"
        expected = "@harness.kernel above all other decorators, and one function of that name"
        raise wrong(what, type(value).__name__, expected, where)
    return found


def _is_constexpr(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    return "constexpr" in (annotation if isinstance(annotation, str) else repr(annotation))


def _require_names(
    where: str, declaration: Declaration, arguments: Sequence[str], constexprs: Mapping[str, Any]
) -> None:
    for name in (*declaration.outputs, *declaration.mutates):
        if name not in arguments:
            raise _not_among(where, "an output is no argument", name, arguments)
    for name, value in declaration.constants.items():
        if not isinstance(value, int | float | str | None) or value in _NOT_FINITE:
            what, expected = "a constant cannot be written down", "a number, a string or None"
            raise wrong(what, f"{name}={value!r}", expected, where)
        if name not in constexprs:
            raise _not_among(where, "a constant is no constexpr parameter", name, constexprs)


def _config(where: str, given: Any, constexprs: Mapping[str, Any]) -> dict[str, int]:
    """A candidate as plain numbers."""
    if hasattr(given, "kwargs") and hasattr(given, "num_warps"):  # triton.Config
        extra = {"num_ctas": 1, "maxnreg": None, "pre_hook": None}
        odd = [n for n, usual in extra.items() if getattr(given, n, usual) not in (usual, None)]
        if odd:
            raise wrong("a candidate sets what is not supported", odd[0], "blocks, warps", where)
        given = {**given.kwargs, "num_warps": given.num_warps, "num_stages": given.num_stages}
    if not isinstance(given, Mapping):
        raise wrong("a candidate is not a dict", repr(given), "a dict or triton.Config", where)
    for name, value in given.items():
        if name not in constexprs and name not in _OPTIONS:
            what, known = "a candidate sets an unknown name", (*constexprs, *_OPTIONS)
            raise _not_among(where, what, str(name), known)
        if not isinstance(value, int):
            what = "a candidate holds no whole number"
            raise wrong(what, f"{name}={value!r}", "constants={…}", where)
    return {str(name): int(value) for name, value in given.items()}


def _asked(
    where: str, part: str, function: Callable[..., Any], known: set[str], *, whole: bool = False
) -> tuple[str, ...] | None:
    """What ``function`` is to be given, by the names of its parameters."""
    parameters = inspect.signature(function).parameters.values()
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if any(p.kind not in plain for p in parameters):
        raise wrong(f"the parameters of {part} have no names", part, "named parameters", where)
    unknown = [p.name for p in parameters if p.name not in known and p.default is p.empty]
    if whole and len(parameters) == 1 and unknown:
        return None
    if unknown:
        raise _not_among(where, f"{part} asks for what there is not", unknown[0], sorted(known))
    return tuple(p.name for p in parameters if p.name in known)


def _made(kernel: UserKernel, sizes: Mapping[str, int]) -> dict[str, Any]:
    """The arguments by name, without contents where the user's function can do without."""
    errors = []
    for device in ("meta", "cpu"):
        try:
            made = kernel.declaration.args(device, **sizes)
            break
        except Exception as error:  # noqa: BLE001 - the user's function may raise anything
            errors.append(error)
    else:
        wanted = f"args(device, {', '.join(sizes)}) that returns {', '.join(kernel.arguments)}"
        raise wrong("its arguments cannot be made", reason(errors[-1]), wanted, kernel.where)
    named = dict(made if isinstance(made, Mapping) else zip(kernel.arguments, made, strict=False))
    count = len(made)
    if count != len(kernel.arguments) or set(named) != set(kernel.arguments):
        got = f"{count}: {', '.join(map(str, named))}"
        wanted = f"{len(kernel.arguments)}: {', '.join(kernel.arguments)}"
        raise wrong("args does not return the kernel's arguments", got, wanted, kernel.where)
    return {name: named[name] for name in kernel.arguments}


def _stated(
    kernel: UserKernel, args: Mapping[str, Any], sizes: Mapping[str, int]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the module of a kernel states of it, and what a launch at these ``sizes`` depends on
    besides the kernel's text. ``args`` that are 1 or None are constants, as Triton has it."""
    declared, text = kernel.declaration, kernel.text
    constants = {n: v for n, v in args.items() if v is None or (type(v) is int and v == 1)}
    types = {n: _type(kernel, n, v) for n, v in args.items() if n not in constants}
    names = list(types)
    tensors = {n: args[n] for n in names if isinstance(args[n], torch.Tensor)}
    numbers = {n: args[n] for n in names if n not in tensors}
    aligned = {*tensors, *(n for n, v in numbers.items() if type(v) is int and v % 16 == 0)}
    written = sorted(names.index(n) for n in (*declared.outputs, *declared.mutates))
    known, nbytes = {**sizes, **kernel.constants, **args}, declared.bytes
    if nbytes is None:  # every argument once, what is read and written twice
        each = {n: t.numel() * t.element_size() for n, t in tensors.items()}
        nbytes = sum(size * (2 if n in declared.mutates else 1) for n, size in each.items())
    least = min(tensors[names[at]].numel() for at in written)
    stated = {
        "REGION": "",
        "NODES": (kernel.name,),
        "KERNEL": kernel.name,
        "CATEGORY": USER,
        "BYTES": _number(kernel, "bytes", nbytes, known),
        "SIGNATURE": types,
        "DIVISIBLE_BY_16": tuple(n for n in names if n in aligned),
        "OUTPUTS": tuple(written),
        "KEPT": tuple(names.index(n) for n in names if n in declared.mutates),
        "REDUCED": max(1, max(t.numel() for t in tensors.values()) // max(1, least)),
    }
    if flops := _number(kernel, "flops", declared.flops or 0, known):
        stated |= {"FLOPS": flops, "TENSOR": bool(_DOT.search(text.device))}
    return stated, {
        "GRID": " ".join(text.parts["grid"].split()),
        "DECLARED_SIZES": dict(sizes),
        "NAMES": kernel.arguments,
        "NUMBERS": numbers,
        "CONSTANTS": {**kernel.constants, **constants},
        "PARAMETERS": dict(kernel.parameters),
    }


def _type(kernel: UserKernel, name: str, value: Any) -> str:
    """Triton's type of an argument."""
    if isinstance(value, torch.Tensor):
        return triton_signature(from_torch_name(str(value.dtype).removeprefix("torch.")))
    if name in (*kernel.declaration.outputs, *kernel.declaration.mutates):
        raise wrong("an output is not a tensor", f"{name}={value!r}", "a tensor", kernel.where)
    if isinstance(value, bool):
        return "u1"
    if isinstance(value, int):
        return "i32" if value in _INT32 else "i64"
    if isinstance(value, float):
        return "fp32"
    got, expected = f"{name}={value!r}"[:200], "tensors, numbers and None"
    raise wrong("an argument is neither tensor nor number", got, expected, kernel.where)


def _number(
    kernel: UserKernel, part: str, given: int | Callable[..., int], known: Mapping[str, Any]
) -> int:
    """A quantity of one launch: a number, or what a function of the declaration makes of what is
    ``known``."""
    if callable(given):
        asked = _asked(kernel.where, part, given, set(known))
        try:
            given = given(**{name: known[name] for name in asked or ()})
        except Exception as error:  # the user's function may raise anything
            what = f"{part} cannot be computed"
            raise wrong(what, reason(error), "a number", kernel.where) from error
    found: Any = given
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < _MOST:
        raise wrong(f"{part} is no quantity", repr(found), "a whole number from 0", kernel.where)
    return int(found)


def _not_among(where: str, what: str, name: str, known: Collection[str]) -> UsageError:
    return wrong(what, name, ", ".join(nearest(name, known) or known), where)


def emit(kernel: UserKernel, small: bool = False) -> EmittedModule:
    """The module of ``kernel`` at its sizes, or at its small ones. Raises ``UsageError`` where its
    arguments cannot be made or do not fit."""
    declared = kernel.declaration
    sizes = {**declared.sizes, **((declared.small or {}) if small else {})}
    stated, launch = _stated(kernel, _made(kernel, sizes), sizes)
    kinds = list(stated["SIGNATURE"].values())
    outputs = [kinds[n] for n in stated["OUTPUTS"]]
    floating = any(kind.startswith(("*fp", "*bf")) for kind in kinds)
    pairs = tail.allowed_pairs(outputs, stated["REDUCED"], floating, declared=declared.tolerance)
    configs = "".join(f"    {config!r},\n" for config in kernel.configs)
    parts = "".join(f"    {name!r}: {text},\n" for name, text in kernel.text.parts.items())
    host = f'"""The functions of the declaration."""\n{kernel.text.host}\nreturn {{\n{parts}}}'
    # Up to the reference, a module's text says what executes (``records.modules.code``).
    body = tail.template("by_hand.py.j2").render(
        kernel=kernel,
        constants=f"CONFIGS = [\n{configs}]\n{tail.allowed_line(pairs)}{_assigned(stated)}",
        sizes=_assigned(launch),
        user=textwrap.indent(host, "    "),
        check=tail.check(kernel.text.device, kinds),
    )
    ours = tail.imports("")
    own = [line for line in kernel.text.imports.split("\n") if line not in ours.split("\n")]
    imports = ours + "".join(f"{line}\n" for line in own)
    return EmittedModule.of(_summary(kernel), imports, body)


def _summary(kernel: UserKernel) -> str:
    what = f": {kernel.text.summary.rstrip('.')}" if kernel.text.summary else ""
    text = f"{kernel.name}{what}. Written by hand in {kernel.file}."
    return text.replace("\\", "\\\\").replace('"""', "'''") + "\n"


def _assigned(values: Mapping[str, Any]) -> str:
    return "".join(f"{name} = {value!r}\n" for name, value in values.items())
