"""The part of emitted modules that is not about one kernel, as text.

It is written into every module: modules are kept for years and must run where this package is
not installed. It reads the constants above it and nothing else. What a module has no use for
(scatters' indices, sizes that only a launch knows, types that the interpreter converts wrongly)
is left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

_ERRORS = {
    "fp64": 1e-10,
    "fp32": 1e-5,
    "fp16": 2e-3,
    "bf16": 1.6e-2,
    "fp8e4nv": 0.13,
    "fp8e5": 0.26,
}
"""Error allowed relative to the size of an element plus the root mean square of its tensor, by
Triton's name of the type: some units of its last place."""

_USUAL_ERRORS = {"fp16": 7e-4, "bf16": 5e-3}
"""In 16 bits a kernel may round twice (a value stored, then read again), and cancellation makes
much of that in a few elements; all others are within about one rounding."""

_STRAY = 1e-5
"""Share of integers that may differ where they come from floating-point values. A sum added up in
another order moves by about 1e-6 of its size, and with it about that share of comparisons changes
sides; no reference can tell which."""


def allowed_errors(
    written: Sequence[str],
    reduced: int,
    floating: bool,
    declared: float | None = None,
    rounded: Sequence[str] = (),
) -> str:
    """``ALLOWED`` of a module whose outputs have the types ``written`` (``*bf16``), for sums of
    ``reduced`` elements; ``floating`` as in ``Reference``, ``declared`` is a user's own limit.
    ``rounded`` are the types that the kernel rounds to on the way. It need not round wherever the
    graph does, so no reference may agree with it, and what follows is as exact as they are.
    """
    pairs = []
    least = max((_ERRORS.get(kind.removeprefix("*"), 0.0) for kind in rounded), default=0.0)
    for name in (kind.removeprefix("*") for kind in written):
        limit = _ERRORS.get(name, _STRAY if floating else 0.0)
        if name in _ERRORS and declared is not None:
            limit = declared
        elif name in ("fp32", "fp64"):
            limit = max(least, limit * max(1.0, math.log2(max(2, reduced))))
        usual = limit if declared is not None else _USUAL_ERRORS.get(name, limit)
        pairs.append(f"({limit:.3g}, {usual:.3g})")
    return (
        f"ALLOWED = ({', '.join(pairs)}{',' * (len(pairs) == 1)})"
        "  # error of an output's elements: of any; of all but 4 and 1 in 1000\n"
    )


_DISTINCT = '''

def _make_distinct(index, dim, bound, generator):
    """Indices that a scatter can write to: no two equal along ``dim``, or none at all."""
    lines = index.movedim(int(dim), -1) if dim else index.reshape(-1)
    if index.numel() == 0 or lines.shape[-1] > bound:
        return
    shape = (*lines.shape[:-1], bound)
    drawn = torch.rand(shape, generator=generator, device=index.device).argsort(-1)
    drawn = drawn[..., : lines.shape[-1]].to(index.dtype)
    index.copy_(drawn.movedim(-1, int(dim)) if dim else drawn.view(index.shape))
'''

_ARGUMENTS = '''
# What follows is no different in other modules.


def get_args(device=None, seed=0{parameter}):
    """Fresh random arguments (zeros are quicker), 64 elements behind each as a guard.{sizes}"""
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    like = {"generator": torch.Generator(device=device).manual_seed(seed), "device": device}
    args = []
    for shape, stride, dtype, kind, bound in {rows}:
{size}        dtype = getattr(torch, dtype)
        extent = 64 + (0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, stride)))
        if not dtype.is_floating_point:
            high = 2 if dtype is torch.bool else bound or 8
            made = torch.randint(int(kind == "positive" and high > 1), high, (extent,), **like)
        else:
            draw = torch.rand if kind == "positive" else torch.randn
            made = draw(extent, dtype=dtype if dtype is torch.float64 else torch.float32, **like)
            made += 0.5 if kind == "positive" else 0.0
        args.append(made.to(dtype).as_strided(shape, stride))
{distinct}    return args


def call(args, config=None):
    """Launch the kernel on the current stream."""
    config = dict(CONFIGS[0] if config is None else config)
{shared}    {name}[grid({where})](*args, **config{options})
'''

_SHARED = """    if os.environ.get("TRITON_INTERPRET") == "1":
        config["RSPLIT"] = 1  # programs run one after the other: they cannot wait for each other
"""

_SIZE = """        if kind == "size":
            args.append(bound)
            continue
"""

_CALL_DISTINCT = """        if kind.startswith("distinct"):
            _make_distinct(args[-1], kind.partition(":")[2], bound, like["generator"])
"""

_CALL_SORTED = """        if kind == "sorted" and shape:
            args[-1].copy_(args[-1].sort(-1).values)
"""

_CHECK = '''
def _memory(tensor):
    """The bytes of all memory behind ``tensor``, guard and gaps included."""
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())


def _copied(arg, poisoned=False):
    """The argument in memory of its own, gaps too; ``poisoned``: all of it what nothing writes."""
    if not isinstance(arg, torch.Tensor):
        return arg
    memory = _memory(arg).clone()
    if poisoned and arg.dtype is torch.bool:
        memory[:] = torch.arange(memory.numel(), device=memory.device) % 3 == 0
    elif poisoned:
        memory[:] = 0xFF if arg.is_floating_point() else 0x71
    return memory.view(arg.dtype).as_strided(arg.shape, arg.stride(), arg.storage_offset())


def _distance(actual, expected):
    """Error of each element relative to its size and the root mean square; of integers 0 or 1."""
    if actual.shape != expected.shape:
        raise RuntimeError(f"shapes {tuple(actual.shape)} and {tuple(expected.shape)} differ")
    if not actual.dtype.is_floating_point:
        return (actual != expected.to(actual.dtype)).double()
    finite = actual.dtype is torch.float8_e4m3fn  # beyond its numbers torch before 2.13 gives NaN
    wide = expected.double().clamp(-448, 448) if finite else expected.to(actual.dtype).double()
    scale = wide[wide.isfinite()].square().mean().sqrt().nan_to_num()
    actual = actual.double()
    off = ((actual - wide).abs() / (wide.abs() + scale)).nan_to_num(torch.inf, torch.inf)
    return off.masked_fill((actual == wide) | (actual.isnan() & wide.isnan()), 0.0)


def _error(distance, is_float, allowed, usual):
    """Error of an output, see ALLOWED: the largest, or the share of integers that differ."""
    if distance.numel() == 0 or not is_float:
        return distance.mean().nan_to_num().item()
    beyond, tolerated = (distance > usual).sum().item(), 4 + 1e-3 * distance.numel()
    return max(distance.max().item(), allowed * beyond / tolerated if beyond > tolerated else 0.0)


def check(args=None, config=None):
    """Run on poisoned outputs: ``passed``, the worst output's ``max_error`` and its ``allowed``;
    ``outside``: whether all other memory was left alone, ``message``: which was not.

    An element is right if a reference has it: float64; the recorded types; where results jump
    (STEPS), float64 with functions that are not rounded exactly (exp, log, division) 8 units
    of float32's last place off: the floor of a logarithm that should be 3 may be 2."""
    args = get_args() if args is None else args
    run = [_copied(arg, n in OUTPUTS and n not in KEPT) for n, arg in enumerate(args)]
    before = [_copied(run[n]) if n in OUTPUTS else arg for n, arg in enumerate(args)]
    call(run, config)
    outputs, distances = [run[n] for n in OUTPUTS], [torch.inf] * len(OUTPUTS)
    nudges = ((True, 1 + 2**-20), (True, 1 - 2**-20)) if STEPS else ()
    for wide, nudge in ((True, 1), (False, 1), *nudges):
        expected = reference([_copied(arg) for arg in args], wide, nudge)
        rows = zip(outputs, expected, distances)
        distances = [_distance(got, wanted).clamp(max=least) for got, wanted, least in rows]
        rows = zip(distances, outputs, ALLOWED)
        errors = [(_error(d, o.is_floating_point(), *limits), limits[0]) for d, o, limits in rows]
        error, allowed = max(errors, key=lambda e: (e[0] > e[1], e[0] / (e[1] or 1)))
        if error <= allowed:
            break
    for output, n in zip(outputs, OUTPUTS):
        output.copy_(before[n])  # what is left of a difference is around the elements
    said = ("{} was changed, which is not among the outputs", "memory around {} was changed")
    message = "; ".join(
        said[n in OUTPUTS].format(name)
        for n, name in enumerate(SIGNATURE)
        if isinstance(run[n], torch.Tensor) and not _memory(run[n]).equal(_memory(before[n]))
    )
    passed = error <= allowed and not message
    rest = {"max_error": error, "allowed": allowed, "outside": not message, "message": message}
    return {"passed": passed, **rest}


def benchmark_all_configs(args, configs=CONFIGS):
    """Candidates timed with a cold L2 cache: ``config``, ``ms`` (median), ``gbps`` or ``error``."""
    rows = []
    for config in configs:
        try:
            ms = triton.testing.do_bench(lambda: call(args, config), return_mode="median")
            rows.append({"config": config, "ms": ms, "gbps": BYTES / ms / 1e6})
        except (RuntimeError, triton.TritonError) as problem:
            rows.append({"config": config, "ms": None, "gbps": None, "error": str(problem)})
    return rows
'''

_ROUNDING = '''

def _round_as_the_device():
    """Triton's interpreter cuts bits off where the device rounds to nearest (8 bits saturate)."""
    from triton.runtime import interpreter

    kinds = {"bf16": torch.bfloat16, "fp8e5": torch.float8_e5m2, "fp8e4nv": torch.float8_e4m3fn}
    others = interpreter._convert_float

    def convert(data, source, target, rounding):
        kind = kinds.get(target.name)
        if kind is None or source.name != "fp32":
            return others(data, source, target, rounding)
        most = torch.finfo(kind).max if kind.itemsize == 1 else torch.inf
        made = torch.as_tensor(data.copy()).clamp(-most, most).to(kind)
        return made.view(torch.uint8).numpy().view(f"u{kind.itemsize}").reshape(data.shape)

    interpreter._convert_float = convert
'''

_LIBRARY = '''

def _stand_in_for_the_device_library():
    """Triton's interpreter has none of its functions: torch has those that this kernel calls."""
    import functools

    from triton.language.extra import cuda, libdevice
    from triton.runtime import interpreter

    def create(_builder, _library, _path, symbol, args, kind, _pure):
        name = symbol.removeprefix("__nv_").replace("rint", "round")
        function = {special}getattr(torch, name, None) or getattr(torch, name.removesuffix("f"))
        found = function(*(torch.as_tensor(arg.data.copy()).double() for arg in args)).numpy()
        kind = kind.scalar
        return interpreter.TensorHandle(found.astype(interpreter._get_np_dtype(kind)), kind)

    interpreter.InterpreterBuilder.create_extern_elementwise = create
    for name in {names}:
        called, semantic = getattr(cuda.libdevice, name), interpreter.interpreter_semantic
        setattr(libdevice, name, functools.partial(called, _semantic=semantic))
'''

_OTHER_NAMES = {
    "cyl_bessel_i0": "i0",
    "cyl_bessel_i1": "i1",
    "erfcx": "erfcx",
    "j0": "bessel_j0",
    "j1": "bessel_j1",
    "normcdfinv": "ndtri",
    "y0": "bessel_y0",
    "y1": "bessel_y1",
}
"""Functions of the device library that are in ``torch.special``."""

_MAIN = '''

def main(argv=None):
    """Command line of the module."""
    parser = argparse.ArgumentParser(description=f"{KERNEL}: run, time or check this kernel.")
    parser.add_argument("--check", action="store_true", help="compare with plain torch")
    parser.add_argument("--all-configs", action="store_true", help="time every candidate")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)
    gpu, interpreted = torch.cuda.is_available(), os.environ.get("TRITON_INTERPRET") == "1"
    if options.check and (gpu or interpreted):
{repair}        found = check()
        status, word = (0, "passed") if found["passed"] else (1, "failed")
        text = f"{word}: error {found['max_error']:.3g}, allowed {found['allowed']:.3g}"
        text = ", ".join(filter(None, (text, found["message"])))
    elif gpu and not interpreted:
        rows = benchmark_all_configs(get_args(), CONFIGS if options.all_configs else CONFIGS[:1])
        found, status = {"bytes": BYTES, "configs": rows}, int(not any(row["ms"] for row in rows))
        shown = "{ms:.4f} ms  {size:.4f} GB  {gbps:.1f} GB/s  {config}", "failed: {error}  {config}"
        text = "\\n".join(shown["error" in row].format(size=BYTES / 1e9, **row) for row in rows)
    else:
        why = "set TRITON_INTERPRET=1 to check without one" if options.check else "nothing to time"
        found, status, text = {"ms": None}, 2 if options.check else 0, f"no GPU: {why}"
    print(json.dumps({"kernel": KERNEL, **found}) if options.json else text)
    return status


if __name__ == "__main__":
    raise SystemExit(main())
'''


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
    distinct = '"distinct:' in rows
    parts = {
        "{name}": name,
        "{parameter}": ", sizes=None" if sizes else "",
        "{sizes}": "\n    Unknown sizes: ``sizes``, else UNKNOWN_SIZES." if sizes else "",
        "{rows}": "arg_rows(**{**UNKNOWN_SIZES, **(sizes or {})})" if sizes else "ARGS",
        "{size}": _SIZE if sizes else "",
        "{shared}": _SHARED if "RSPLIT: tl.constexpr" in kernel else "",
        "{options}": _launch_options(kernel),
        "{where}": "config, args" if sizes else "config",
        "{distinct}": (_CALL_DISTINCT if distinct else "")
        + (_CALL_SORTED if '"sorted"' in rows else ""),
    }
    return _filled(_ARGUMENTS, parts) + (_DISTINCT if distinct else "")


def check(kernel: str, signature: Sequence[str]) -> str:
    """The rest of a module: check, times, command line. ``kernel`` is the kernel's text,
    ``signature`` its arguments' types."""
    repairs, calls = "", []
    if any(re.search("bf16|fp8", kind) for kind in signature):
        repairs += _ROUNDING
        calls.append("_round_as_the_device()")
    called = sorted(set(re.findall(r"libdevice\.(\w+)", kernel)))
    if called:
        names = ", ".join(f'"{name}"' for name in called)
        others = {name: _OTHER_NAMES[name] for name in called if name in _OTHER_NAMES}
        find = f'getattr(torch.special, {others}.get(name.removesuffix("f"), ""), None) or '
        parts = {"{names}": f"({names},)", "{special}": find if others else ""}
        repairs += _filled(_LIBRARY, parts)
        calls.append("_stand_in_for_the_device_library()")
    lines = ["        if interpreted:\n"] if calls else []
    lines += [f"            {text}\n" for text in calls]
    return _CHECK + repairs + _filled(_MAIN, {"{repair}": "".join(lines)})


def _launch_options(kernel: str) -> str:
    """What a launch says besides its configuration."""
    options = ""
    if "tl.device_assert(" in kernel:  # of a kernel's assertions its own: integers may wrap around
        options += ", sanitize_overflow=False"
    if "RSPLIT: tl.constexpr" in kernel:
        options += ', launch_cooperative_grid=config["RSPLIT"] > 1'
    return options


def _filled(text: str, parts: Mapping[str, str]) -> str:
    for name, part in parts.items():
        text = text.replace(name, part)
    return text
