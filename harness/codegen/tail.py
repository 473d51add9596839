"""The part that all emitted modules share, as text.

It is written into every module as it stands: modules are kept for years and must run
where this package is not installed. It reads the constants above it and nothing else.
Modules with sizes that are unknown until a launch have two functions of their own in it.
"""

from __future__ import annotations

_BEFORE = '''
# Everything below is the same in every emitted module.

_POSITIVE_LEAST = 0.5
_GUARD = 64  # elements behind every tensor; a kernel must not touch them
# Error allowed relative to the size of an element plus the root mean square of its tensor:
# some units of the last place of the output type, more for long sums in float32.
_ALLOWED = {
    torch.float64: 1e-10,
    torch.float32: 1e-5,
    torch.float16: 2e-3,
    torch.bfloat16: 1.6e-2,
    torch.float8_e4m3fn: 1.3e-1,
    torch.float8_e5m2: 2.6e-1,
}
# In 16 bits a kernel may round twice (a value stored, then read again), and cancellation
# makes much of that in a few elements; all others are within about one rounding.
_USUAL = {torch.float16: 7e-4, torch.bfloat16: 5e-3}
_RARE = 1e-3  # share of elements that may be beyond it, and four more
# Share of integer or bool elements that may differ where they come from floating-point
# values. A sum added up in another order moves by about 1e-6 of its size, and with it about
# that share of comparisons changes sides; no reference can tell which.
_STRAY = 1e-5
# An element is right if it is near one of these, tried in turn until all elements are:
# float64 arithmetic; the recorded types, as torch computes; float64 again, with the results
# of functions that are not rounded exactly (exp, log, sqrt, division ...) 8 units of the
# last place of float32 higher, and lower. The last two matter where a value jumps: floor,
# comparisons, conversions to integers or 8-bit floats. A logarithm that should be exactly 3
# is 2.9999998 in one library and 3 in another, and its floor is 2 or 3.
_REFERENCES = (
    {"wide": True},
    {"wide": False},
    {"wide": True, "nudge": 1 + 2.0**-20},
    {"wide": True, "nudge": 1 - 2.0**-20},
)


def _extent(shape, stride):
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(shape, stride))


def _wide(arg):
    floating = isinstance(arg, torch.Tensor) and arg.is_floating_point()
    return arg.double() if floating else arg


def _storage(tensor):
    """All memory behind ``tensor``, guard and gaps included, as one dimension."""
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    return tensor.as_strided((count,), (1,), 0)


def _random(extent, dtype, kind, bound, device, generator):
    if dtype is torch.bool or not (dtype.is_floating_point):
        high = 2 if dtype is torch.bool else (bound if bound else 8)
        low = 1 if kind == "positive" and high > 1 else 0
        drawn = torch.randint(low, high, (extent,), generator=generator, device=device)
        return drawn.to(dtype)
    wide = torch.float64 if dtype is torch.float64 else torch.float32
    if kind == "positive":
        drawn = torch.rand(extent, generator=generator, device=device, dtype=wide) + _POSITIVE_LEAST
    else:
        drawn = torch.randn(extent, generator=generator, device=device, dtype=wide)
    return drawn.to(dtype)


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


def _arguments(signature: str, contents: str, rows: str, where: str) -> str:
    """``get_args`` and ``call`` of a module: the signature and documentation of the first, the
    rows it goes through, what the grid depends on."""
    return f"""def get_args({signature}):
    \"\"\"Fresh arguments: random inputs in the recorded layout, outputs with random {contents}
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    generator = torch.Generator(device=device).manual_seed(seed)
    args = []
    for shape, stride, dtype, kind, bound in {rows}:
        if kind == "size":
            args.append(bound)
            continue
        extent = _extent(shape, stride) + _GUARD
        made = _random(extent, getattr(torch, dtype), kind, bound, device, generator)
        made = made.as_strided(shape, stride)
        if kind.startswith("distinct"):
            _make_distinct(made, kind.partition(":")[2], bound, generator)
        args.append(made)
    return args


def call(args, config=None):
    \"\"\"Launch the kernel on the current stream.\"\"\"
    config = dict(CONFIGS[0] if config is None else config)
    _KERNEL[grid({where})](*args, **config)
"""


_KNOWN = _arguments("device=None, seed=0", 'contents."""', "ARGS", "config")
_UNKNOWN = _arguments(
    "device=None, seed=0, sizes=None",
    'contents;\n    unknown sizes as in ``sizes``, else as in UNKNOWN_SIZES."""',
    "arg_rows(**{**UNKNOWN_SIZES, **(sizes or {})})",
    "config, args",
)

_AFTER = '''

def _copied(args):
    """The arguments again, in fresh memory of the same layout."""
    made = []
    for arg in args:
        if isinstance(arg, torch.Tensor):
            storage = _storage(arg).clone()
            arg = storage.as_strided(arg.shape, arg.stride(), arg.storage_offset())
        made.append(arg)
    return made


def _poison(tensor):
    """Fill everything with what a kernel would not write by chance."""
    storage = _storage(tensor)
    if storage.dtype is torch.bool:
        storage.copy_(torch.arange(storage.numel(), device=storage.device) % 3 == 0)
    elif not storage.dtype.is_floating_point:
        storage.fill_(113)
    elif storage.element_size() == 1:
        storage.view(torch.uint8).fill_(0x7F)
    else:
        storage.fill_(float("nan"))


def _outside(tensor):
    """The memory around the elements of ``tensor``: gaps and guard."""
    storage = _storage(tensor)
    inside = torch.zeros(storage.numel(), dtype=torch.bool, device=storage.device)
    inside.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).fill_(True)
    raw = storage.view(torch.uint8).view(storage.numel(), storage.element_size())
    return raw[~inside]


def _same_bytes(before, after):
    """Whether an argument and all memory behind it is what it was."""
    if not isinstance(before, torch.Tensor):
        return True
    return torch.equal(_storage(before).view(torch.uint8), _storage(after).view(torch.uint8))


def _distance(actual, expected):
    """Error of every element of one output: relative, see ``_ALLOWED``; 0 or 1 for integers."""
    if tuple(actual.shape) != tuple(expected.shape):
        raise RuntimeError(f"shapes {tuple(actual.shape)} and {tuple(expected.shape)} differ")
    if not actual.dtype.is_floating_point:
        return (actual != expected.to(actual.dtype)).double()
    wide = actual.double()
    expected = expected.double()
    if actual.dtype in (torch.float16, torch.bfloat16, torch.float8_e5m2):
        expected = expected.to(actual.dtype).double()  # beyond the largest number is infinity
    elif actual.dtype is torch.float8_e4m3fn:
        expected = expected.clamp(-448.0, 448.0)  # without infinity: torch before 2.13 gives NaN
    finite = expected[expected.isfinite()]
    scale = finite.square().mean().sqrt().item() if finite.numel() else 0.0
    same = (wide == expected) | (wide.isnan() & expected.isnan())
    off = (wide - expected).abs() / (expected.abs() + scale)
    return torch.where(same, 0.0, torch.where(off.isfinite(), off, float("inf")))


def _error(distance, dtype):
    """(error, allowed) of one output: the largest, or the share of integers that differ.

    Too many elements beyond ``_USUAL`` count as an error in proportion to their number.
    """
    if distance.numel() == 0:
        return 0.0, 0.0
    if not dtype.is_floating_point:
        return distance.mean().item(), _STRAY if FLOATING else 0.0
    allowed = _ALLOWED[dtype]
    if dtype in (torch.float32, torch.float64):
        allowed *= max(1.0, math.log2(max(2, REDUCED)))
    error = distance.max().item()
    if dtype in _USUAL:
        beyond = (distance > _USUAL[dtype]).sum().item()
        tolerated = 4 + _RARE * distance.numel()
        error = max(error, allowed * beyond / tolerated if beyond > tolerated else 0.0)
    return error, allowed


def _errors(args, outputs):
    """(error, allowed) of every output, each element compared with the nearest reference."""
    distances = None
    for which in _REFERENCES if STEPS else _REFERENCES[:2]:
        expected = reference(_copied(args), **which)
        found = [_distance(o, e) for o, e in zip(outputs, expected)]
        if distances is not None:
            found = [torch.minimum(a, b) for a, b in zip(distances, found)]
        distances = found
        errors = [_error(d, o.dtype) for d, o in zip(distances, outputs)]
        if all(error <= allowed for error, allowed in errors):
            break
    return errors


def check(args=None, config=None):
    """Run on poisoned outputs and compare with the references, see ``_REFERENCES``.

    Returns ``passed``, ``max_error`` and ``allowed`` (of the output nearest to failing),
    ``outside``: whether memory around the outputs and all other arguments were left alone, and
    in ``message`` what was not.
    """
    args = get_args() if args is None else args
    run = _copied(args)
    for position in OUTPUTS:
        if position not in KEPT:
            _poison(run[position])
    before = [_outside(run[position]).clone() for position in OUTPUTS]
    call(run, config)
    errors = _errors(args, [run[p] for p in OUTPUTS])
    names = list(SIGNATURE)
    changed = [
        f"memory around {names[p]} was changed"
        for b, p in zip(before, OUTPUTS)
        if not torch.equal(b, _outside(run[p]))
    ]
    changed += [
        f"{names[p]} was changed, which is not among the outputs"
        for p in range(len(args))
        if p not in OUTPUTS and not _same_bytes(args[p], run[p])
    ]
    intact = not changed
    worst = max(errors, key=lambda pair: (pair[0] > pair[1], pair[0] / (pair[1] or 1.0)))
    passed = intact and all(error <= allowed for error, allowed in errors)
    return {
        "passed": passed,
        "max_error": worst[0],
        "allowed": worst[1],
        "outside": intact,
        "message": "; ".join(changed),
    }


def _measure(args, config, repeats=25):
    """Median milliseconds of a launch with a cold L2 cache."""
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    for _ in range(3):
        call(args, config)
    times = []
    for _ in range(repeats):
        flush.zero_()
        start = torch.cuda.Event(enable_timing=True)
        stop = torch.cuda.Event(enable_timing=True)
        start.record()
        call(args, config)
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop))
    return sorted(times)[len(times) // 2]


def benchmark_all_configs(args):
    """Time every candidate: ``config``, ``ms``, ``gbps``; ``error`` where one fails."""
    rows = []
    for config in CONFIGS:
        try:
            ms = _measure(args, config)
        except (RuntimeError, triton.TritonError) as problem:
            rows.append({"config": config, "ms": None, "gbps": None, "error": str(problem)})
            continue
        rows.append({"config": config, "ms": ms, "gbps": BYTES / ms / 1e6})
    return rows


def _shown(row):
    if row["ms"] is None:
        return f"failed: {row['error'].splitlines()[0]}  {row['config']}"
    return f"{row['ms']:.4f} ms  {BYTES / 1e9:.4f} GB  {row['gbps']:.1f} GB/s"


def _timed(everything, as_json):
    args = get_args("cuda")
    if everything:
        rows = benchmark_all_configs(args)
    else:
        ms = _measure(args, CONFIGS[0])
        rows = [{"config": CONFIGS[0], "ms": ms, "gbps": BYTES / ms / 1e6}]
    if as_json:
        print(json.dumps({"kernel": KERNEL, "bytes": BYTES, "configs": rows}))
        return 0
    for row in rows:
        print(_shown(row) + (f"  {row['config']}" if everything else ""))
    return 0


def _checked(as_json):
    result = check()
    if as_json:
        print(json.dumps({"kernel": KERNEL, **result}))
    else:
        word = "passed" if result["passed"] else "failed"
        where = "" if result["outside"] else f", {result['message']}"
        print(f"{word}: error {result['max_error']:.3g}, allowed {result['allowed']:.3g}{where}")
    return 0 if result["passed"] else 1


def main(argv=None):
    """Command line of the module."""
    parser = argparse.ArgumentParser(description=f"{KERNEL}: run, time or check this kernel.")
    parser.add_argument("--check", action="store_true", help="compare with plain torch")
    parser.add_argument("--all-configs", action="store_true", help="time every candidate")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)
    gpu = torch.cuda.is_available()
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if options.check and (gpu or interpreted):
        return _checked(options.json)
    if gpu and not interpreted:
        return _timed(options.all_configs, options.json)
    why = "set TRITON_INTERPRET=1 to check without one" if options.check else "nothing to time"
    print(json.dumps({"kernel": KERNEL, "ms": None}) if options.json else f"no GPU: {why}")
    return 2 if options.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
'''

BEFORE_ARGUMENTS, AFTER_ARGUMENTS = _BEFORE, _AFTER
"""What is around ``get_args`` and ``call`` in a module whose own text makes its arguments."""

TAIL = _BEFORE + _KNOWN + _AFTER
"""The end of a module whose sizes are all known."""

TAIL_OF_UNKNOWN_SIZES = _BEFORE + _UNKNOWN + _AFTER
"""The end of one that takes sizes as arguments: ``arg_rows`` in place of ``ARGS``, UNKNOWN_SIZES
for what ``get_args`` takes by default, and a grid that reads the arguments."""
