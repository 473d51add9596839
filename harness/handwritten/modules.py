"""The emitted module of a hand-written kernel: same contract as a generated one.

Its arguments, reference and grid are the user's own functions, copied into it; what they are
given follows from the names of their parameters.
"""

from __future__ import annotations

import re

from harness.codegen import tail
from harness.codegen.source import EmittedModule
from harness.handwritten.kernels import Signature, UserKernel
from harness.records.modules import code_hash
from harness.runtime.module import USER

_DOT = re.compile(r"\b(tl|language)\.dot(_scaled)?\(")
"""What runs on the tensor cores."""

_MEANING = '''
def _call(part, values):
    """The user's function ``part`` of what its parameters name."""
    names = PARAMETERS[part]
    if names is None:
        return _USER[part](values)
    return _USER[part](**{name: values[name] for name in names})


def _values(args):
    return {**DECLARED_SIZES, **CONSTANTS, **dict(zip(SIGNATURE, args))}


def _listed(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def grid(config):
    """Programs in x, y, z."""
    found = _listed(_call("grid", {**DECLARED_SIZES, **CONSTANTS, **NUMBERS, **config}))
    return (*found, 1, 1)[:3]


def reference(args, wide=False, nudge=1.0):
    """What the outputs should hold, by plain torch; ``wide``: floats as float64."""
    if wide:
        floats = (isinstance(arg, torch.Tensor) and arg.is_floating_point() for arg in args)
        args = [arg.double() if floating else arg for arg, floating in zip(args, floats)]
    return _listed(_call("reference", _values(args)))


def expected(*args):
    """The reference as other compilers are given it."""
    return _listed(_call("reference", _values(args)))

'''
"""Up to the reference, a module's text says what executes (``records.modules.code``)."""

_ARGUMENTS = '''
def _guarded(value):
    """``value`` in memory of its own, with a guard behind it."""
    if not isinstance(value, torch.Tensor) or 0 in value.stride():
        return value
    sizes = zip(value.shape, value.stride())
    extent = 0 if value.numel() == 0 else 1 + sum((n - 1) * s for n, s in sizes)
    storage = torch.zeros(extent + 64, dtype=value.dtype, device=value.device)
    return storage.as_strided(value.shape, value.stride()).copy_(value)


def get_args(device=None, seed=0):
    """Fresh arguments, as the user's function makes them."""
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(seed)
    made = _USER["args"](device, **DECLARED_SIZES)
    named = dict(made) if isinstance(made, dict) else dict(zip(NAMES, made))
    return [_guarded(named[name]) for name in SIGNATURE]


def call(args, config=None):
    """Launch the kernel on the current stream."""
    config = dict(CONFIGS[0] if config is None else config)
    _KERNEL[grid(config)](**dict(zip(SIGNATURE, args)), **CONSTANTS, **config)
'''


def emit(kernel: UserKernel, small: bool = False) -> EmittedModule:
    """The module of ``kernel`` at its sizes, or at its small ones.

    Raises ``UsageError`` where its arguments cannot be made or do not fit.
    """
    facts = kernel.signature(small)
    body = "\n".join(
        (
            _constants(kernel, facts),
            f"\n{kernel.text.device}\n",
            f"\n_KERNEL = {kernel.name}\n{_sizes(kernel, facts)}\n",
            _MEANING.strip(),
            _ARGUMENTS,
            f"\ndef _user():\n{_indented(_host(kernel))}\n\n\n_USER = _user()\n",
            tail.check(kernel.text.device, list(facts.types.values())),
        )
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
    allowed = tail.allowed_errors(kinds, facts.reduced, facts.floating, tolerance)
    return f"CONFIGS = [\n{configs}]\n{allowed}" + _assigned(
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
        STEPS=False,
        **_arithmetic(kernel, facts),
    )


def _arithmetic(kernel: UserKernel, facts: Signature) -> dict[str, object]:
    """What a launch computes, where the declaration says so."""
    if not facts.flops:
        return {}
    return {"FLOPS": facts.flops, "TENSOR": bool(_DOT.search(kernel.text.device))}


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


def _host(kernel: UserKernel) -> str:
    parts = "".join(f"    {name!r}: {text},\n" for name, text in kernel.text.parts.items())
    return f'"""The functions of the declaration."""\n{kernel.text.host}\nreturn {{\n{parts}}}'


def _indented(text: str) -> str:
    # Only text that ``ast.unparse`` wrote comes here: none but docstrings go over a line.
    return "\n".join(f"    {line}" if line else "" for line in text.split("\n"))
