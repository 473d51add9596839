"""Long rows by hand: programs that share a row hold their parts of it, so that it is read once.

    python scripts/gpu_held_rows.py --out DIR [--seconds 115] [CASE …]

Each form of each case beside what is generated and a copy: medians of 9 events, the L2 cache cold
because another tensor is read before. Every result is compared with eager mode's. First processes
side by side compile all of it.
"""

# ruff: noqa: ANN001, ANN201, C901, E731, N803, PLR0912, PLR0913, PLR0915, PLR0917 — hand-written
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,name-defined"
# mypy: disable-error-code="attr-defined,possibly-undefined"

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
ELEMENTS, PROCESSORS, WARMERS = 1 << 27, 132, 15
SPIN = tl.constexpr(
    "{ .reg .pred p; .reg .b32 a, b, n; mov.b32 n, 0;"
    " again: ld.volatile.global.v2.b64 {$0, $1}, [$2]; add.u32 n, n, 1;"
    " cvt.u32.u64 a, $0; cvt.u32.u64 b, $1;"
    " setp.gt.u32 p, n, 4000000; @p bra ready;"  # wrong, but a trial ends
    " setp.ne.b32 p, a, $3; @p bra again; setp.ne.b32 p, b, $3; @p bra again; ready: }"
)


@triton.jit
def tell(words, a, b, row):
    """Two numbers of this program, each with the row's, into its words."""
    pair = tl.join((a + 0.0).to(tl.int32, bitcast=True), (b + 0.0).to(tl.int32, bitcast=True))
    tl.store(words + tl.arange(0, 2), (pair.to(tl.int64) << 32) | row, cache_modifier=".cg")


@triton.jit
def told(words, row, RSPLIT: tl.constexpr, SINGLE: tl.constexpr):
    """The two numbers of all programs of a row, once they are there. SINGLE: every lane waits for
    the words of one program; else a warp reads them all again."""
    program = tl.arange(0, 32 if RSPLIT <= 32 else 64)
    first = words + 2 * tl.minimum(program, RSPLIT - 1)
    if SINGLE:
        rows = tl.full(first.shape, 0, tl.int32) + row
        a, b = tl.inline_asm_elementwise(
            SPIN, "=&l,=&l,l,r", [first, rows], (tl.int64, tl.int64), is_pure=False, pack=1
        )
    else:
        a = tl.load(first, volatile=True)
        b = tl.load(first + 1, volatile=True)
        while tl.sum((((a & 0xFFFFFFFF) != row) | ((b & 0xFFFFFFFF) != row)).to(tl.int32), 0) > 0:
            a = tl.load(first, volatile=True)
            b = tl.load(first + 1, volatile=True)
    a = (a >> 32).to(tl.int32).to(tl.float32, bitcast=True)
    b = (b >> 32).to(tl.int32).to(tl.float32, bitcast=True)
    return program < RSPLIT, a, b


@triton.jit
def leave(words, COUNT: tl.constexpr, RSPLIT: tl.constexpr):
    """The last program of a row leaves zeros."""
    tl.debug_barrier()
    if tl.atomic_add(words + COUNT, 1, sem="acq_rel") == RSPLIT - 1:
        for place in range(COUNT + 1):
            tl.store(words + place, 0)


@triton.jit
def gradients(
    dy_p, x_p, w_p, m_p, r_p, dx_p, dw_p, db_p, words,
    N: tl.constexpr, ROWS: tl.constexpr, LAYER: tl.constexpr, BLOCK: tl.constexpr,
    RSPLIT: tl.constexpr, EARLY: tl.constexpr, SINGLE: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """A norm's. EARLY: a row's sums are told before the row before is finished. STAGES: of the
    loop over rows, which are loaded so far ahead through shared memory."""
    strip = tl.program_id(0) // RSPLIT
    own = tl.program_id(0) % RSPLIT
    cols = own * BLOCK + tl.arange(0, BLOCK)
    words += strip * (8 * RSPLIT + 2)
    w = tl.load(w_p + cols)
    held_dy = tl.full([BLOCK], 0, tl.float32).to(tl.bfloat16)
    held_x = tl.full([BLOCK], 1, tl.float32).to(tl.bfloat16)
    held_r = tl.full([], 2, tl.float32)
    held_m = tl.full([], 3, tl.float32)
    own_a = tl.full([], 4, tl.float32)
    own_b = tl.full([], 5, tl.float32)
    dw = tl.full([BLOCK], 0, tl.float32)
    db = tl.full([BLOCK], 0, tl.float32)
    for i in tl.range(0, ROWS + 1, num_stages=STAGES):
        at = strip * ROWS + tl.minimum(i, ROWS - 1)
        dy = tl.load(dy_p + (at * N + cols))
        x = tl.load(x_p + (at * N + cols))
        r = tl.load(r_p + at)
        m = tl.load(m_p + at) if LAYER else r
        if EARLY:
            g = dy.to(tl.float32) * w.to(tl.float32)
            n = ((x.to(tl.float32) - m) if LAYER else x.to(tl.float32)) * r
            a = tl.sum(g * n, 0)
            b = tl.sum(g, 0) if LAYER else a
            if RSPLIT > 1:
                tell(words + ((i + 1) % 4) * 2 * RSPLIT + 2 * own, a, b, i + 1)
        if i > 0:
            t, u = own_a, own_b
            if RSPLIT > 1:
                there, ta, tb = told(words + (i % 4) * 2 * RSPLIT, i, RSPLIT, SINGLE)
                t = tl.sum(tl.where(there, ta, 0.0), 0)
                u = tl.sum(tl.where(there, tb, 0.0), 0) if LAYER else t
            n = ((held_x.to(tl.float32) - held_m) if LAYER else held_x.to(tl.float32)) * held_r
            d = held_dy.to(tl.float32)
            dx = d * w.to(tl.float32) - n * (t / N)
            if LAYER:
                dx = dx - u / N
                db += d
            dw += d * n
            tl.store(dx_p + ((strip * ROWS + i - 1) * N + cols), held_r * dx)
        if not EARLY:
            g = dy.to(tl.float32) * w.to(tl.float32)
            n = ((x.to(tl.float32) - m) if LAYER else x.to(tl.float32)) * r
            a = tl.sum(g * n, 0)
            b = tl.sum(g, 0) if LAYER else a
            if RSPLIT > 1:
                tell(words + ((i + 1) % 4) * 2 * RSPLIT + 2 * own, a, b, i + 1)
        held_dy, held_x, held_r, held_m, own_a, own_b = dy, x, r, m, a, b
    tl.store(dw_p + (strip * N + cols), dw)
    if LAYER:
        tl.store(db_p + (strip * N + cols), db)
    if RSPLIT > 1:
        leave(words, 8 * RSPLIT, RSPLIT)


@triton.jit
def forward(
    x_p, w_p, b_p, t_p, loss_p, out_p, words,
    M: tl.constexpr, N: tl.constexpr, KIND: tl.constexpr, BLOCK: tl.constexpr,
    RSPLIT: tl.constexpr, GROUPS: tl.constexpr, SINGLE: tl.constexpr, STAGES: tl.constexpr,
    HOLD: tl.constexpr,
):  # fmt: skip
    """KIND: a softmax (0), a loss with its gradient (1), RMS norm (2), layer norm (3). HOLD: a
    norm's weight and bias are held, too, else loaded for every row (and not ahead: in a branch)."""
    group = tl.program_id(0) // RSPLIT
    own = tl.program_id(0) % RSPLIT
    words += group * (4 * RSPLIT + 2)
    block = own * BLOCK + tl.arange(0, BLOCK)
    if HOLD and KIND >= 2:
        w = tl.load(w_p + block)
        bias = tl.load(b_p + block)
    for i in tl.range(0, (M - group + GROUPS - 1) // GROUPS, num_stages=STAGES):
        row = group + i * GROUPS
        begin = row * N // 8 * 8
        shift = row * N - begin
        column = block - shift
        if N % 8 == 0:
            x = tl.load(x_p + (begin + block)).to(tl.float32)
        else:
            inside = tl.max_constancy(block < shift + N, 8)
            x = tl.load(x_p + (begin + block), inside).to(tl.float32)
            mine = (column >= 0) & (column < N)
            x = tl.where(mine, x, float("-inf"))
        mine_here = min(BLOCK, N - own * BLOCK) * 1.0
        if KIND < 2:
            a = tl.max(x, 0)
            x = libdevice.fast_expf(x - a)
            b = tl.sum(x, 0)
        elif KIND == 2:
            a = tl.sum(x * x, 0)
            b = a
        else:
            a = tl.sum(x, 0) / mine_here
            b = tl.sum((x - a) * (x - a), 0)
        place = words + ((i + 1) % 2) * 2 * RSPLIT
        tell(place + 2 * own, a, b, i + 1)
        there, ta, tb = told(place, i + 1, RSPLIT, SINGLE)
        if KIND < 2:
            top = tl.max(tl.where(there, ta, float("-inf")), 0)
            total = tl.sum(tl.where(there, tb * libdevice.fast_expf(ta - top), 0.0), 0)
            out = x * (libdevice.fast_expf(a - top) / total)
            if KIND == 1:
                target = tl.load(t_p + row).to(tl.int32)
                out = out - (column == target).to(tl.float32)
                at = tl.load(x_p + row * N + target).to(tl.float32)
                tl.store(loss_p + row, tl.log(total) + top - at)
        else:
            shift_by, r = a * 0, a * 0
            if KIND == 2:
                r = tl.rsqrt(tl.sum(tl.where(there, ta, 0.0), 0) / N + 1e-6)
            else:
                shift_by = tl.sum(tl.where(there, ta, 0.0), 0) / RSPLIT
                spread = tb + BLOCK * (ta - shift_by) * (ta - shift_by)
                r = tl.rsqrt(tl.sum(tl.where(there, spread, 0.0), 0) / N + 1e-5)
            out = (x - shift_by) * r
            if HOLD:
                out = out * w.to(tl.float32)
                if KIND == 3:
                    out += bias.to(tl.float32)
            elif row < M:
                out = out * tl.load(w_p + block, eviction_policy="evict_last").to(tl.float32)
                if KIND == 3:
                    out += tl.load(b_p + block, eviction_policy="evict_last").to(tl.float32)
        if N % 8 == 0:
            tl.store(out_p + (begin + block), out, cache_modifier=".cs")
        else:
            whole = (block >= (shift + 7) // 8 * 8) & (block < (shift + N) // 8 * 8)
            tl.store(out_p + (begin + block), out, whole, cache_modifier=".cs")
            if (own == 0) | (own == RSPLIT - 1):
                tl.store(out_p + (begin + block), out, mine & (whole == 0))
    leave(words, 4 * RSPLIT, RSPLIT)


Form = dict[str, int]
KINDS = ("softmax", "loss and gradient", "rms norm", "layer norm")


def forms(name: str) -> list[Form]:
    """Blocks, warps and orders that are timed of a case by hand."""
    family, n = columns(name)
    if family.endswith("backward"):
        usual = {"BLOCK": 4096, "warps": 8, "each": 2, "EARLY": 1, "SINGLE": 1, "STAGES": 3}
        changes: list[Form] = [
            {"EARLY": 0, "SINGLE": 0, "STAGES": 1},
            {"SINGLE": 0, "STAGES": 1},
            {"STAGES": 1},
            {"SINGLE": 0},
            {"STAGES": 2},
            {},
            {"STAGES": 4},
            {"BLOCK": 2048, "warps": 4, "each": 4},
            {"warps": 16},
        ]
        if n == 16384:
            changes += [{"BLOCK": n, "warps": 16, "each": 1, "STAGES": s} for s in (2, 3)]
            changes += [{"BLOCK": n, "warps": 32, "each": 1, "STAGES": s} for s in (2, 3)]
        return [usual | c for c in changes if n // (usual | c)["BLOCK"] <= 64]
    usual = {"BLOCK": 8192, "warps": 8, "each": 4, "SINGLE": 1, "STAGES": 3}
    changes = [{"SINGLE": 0, "STAGES": 1}, {"STAGES": 1}, {"STAGES": 2}, {}]
    changes += [{"warps": 16, "each": 2}, {"warps": 16, "each": 2, "STAGES": 2}]
    changes += [{"BLOCK": 4096}, {"BLOCK": 4096, "warps": 4, "each": 8}]
    changes += [{"BLOCK": 16384, "warps": 16, "each": 2, "STAGES": s} for s in (2, 3)]
    if family.endswith("norm"):
        changes += [c | {"HOLD": 0} for c in changes[2:6] + changes[-2:]]
    return [{"HOLD": 1} | usual | c for c in changes]


LOOPS = [
    *((8192, 32, 32), (4096, 32, 32), (16384, 32, 32), (16384, 32, 64), (8192, 16, 64)),
    *((8192, 16, 40), (8192, 16, 32), (4096, 16, 32), (4096, 16, 40), (4096, 16, 64)),
    *((4096, 8, 64), (4096, 8, 40), (2048, 4, 64), (2048, 8, 32)),
]
SHARED = [
    *((16384, 4, 264, 32, 32), (8192, 4, 264, 32, 32), (8192, 8, 264, 32, 32)),
    *((4096, 8, 264, 32, 32), (4096, 16, 528, 16, 32), (8192, 16, 528, 16, 32)),
    *((4096, 8, 528, 16, 32), (8192, 8, 396, 16, 40), (8192, 16, 396, 16, 40)),
    *((4096, 16, 396, 16, 40), (8192, 16, 792, 8, 40), (8192, 32, 792, 8, 40)),
    *((16384, 16, 528, 8, 64), (8192, 16, 528, 8, 64), (8192, 8, 264, 16, 64)),
]
SPREAD = [
    *((4096, 8, 2, 128), (4096, 8, 3, 128), (4096, 8, 4, 128), (2048, 4, 2, 128)),
    *((2048, 4, 3, 128), (4096, 4, 2, 255), (4096, 4, 3, 255), (2048, 2, 3, 255)),
    *((8192, 8, 2, 255), (8192, 8, 3, 255), (8192, 16, 2, 128), (8192, 16, 3, 128)),
]


def configurations(name: str) -> list[Form]:
    """Blocks, warps and registers that are timed of what is generated for a case; ``narrow``: a
    loss's target is compared in 32 bits, a layer norm's two sums are one reduction."""
    family, n = columns(name)
    if family.endswith("backward"):
        rows = [(r, n // r, w, s, regs) for r, w, s, regs in SPREAD if n // r <= 64]
        every = [
            dict(zip(("R0_BLOCK", "RSPLIT", "warps", "STAGES", "maxnreg"), row, strict=True))
            for row in rows
        ]
        both = [form | {"narrow": 1} for form in every[:2] + every[5:8]]
        return every + both * family.startswith("layer")
    if n == 262144:
        names = ("R0_BLOCK", "RSPLIT", "PROGRAMS", "warps", "maxnreg")
        return [dict(zip(names, row, strict=True)) for row in SHARED]
    found = [dict(zip(("R0_BLOCK", "warps", "maxnreg"), row, strict=True)) for row in LOOPS]
    return found + [found[0] | {"narrow": 1}] * family.startswith("loss")


@functools.cache
def emitted(name: str, narrow: bool, folder: Path) -> Any:
    """The module of the only kernel of a case."""
    from harness.graph.capture.capture import capture
    from harness.pipeline import compile_graph
    from harness.target import H200

    label = f"row_{name.replace(' ', '_')}"
    lines = ["import gpu_limit", f"def {label}():"]
    lines += [f"    case = next(c for c in gpu_limit.cases() if c.name == {name!r})"]
    lines += ["    return (lambda *given: case.function(*given)), tuple(case.inputs())"]
    folder = folder / f"modules{os.getpid()}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{label}.py").write_text("\n".join(lines) + "\n")
    sys.path.insert(0, str(folder))
    (graph,) = capture(f"{label}:{label}")
    text = compile_graph(graph, H200).kernels[0].module.text
    if narrow:
        text = text.replace("_index.to(tl.int64)", "_index").replace(
            "tmp24 = tmp23 == tmp17", "tmp24 = tmp23 == tmp17.to(tl.int32)"
        )
        text = text.replace("        tmp6 = tl.sum(tmp5, 0)\n", "").replace(
            "tmp10 = tl.sum(tmp9, 0)", "tmp6, tmp10 = tl.reduce((tmp5, tmp9), 0, _both)"
        )
        both = "@triton.jit\ndef _both(a, b, c, d):\n    return a + c, b + d\n\n\n"
        text = text.replace("@triton.jit\n", both + "@triton.jit\n", 1)
    (folder / f"{label}{narrow}.py").write_text(text)
    spec: Any = importlib.util.spec_from_file_location(label, folder / f"{label}{narrow}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def columns(name: str) -> tuple[str, int]:
    """Family and columns of a case."""
    family, _, label = name.rpartition(" ")
    return family, int(label.removesuffix("k")) * (1024 if label.endswith("k") else 1)


def launch(name: str, form: Form, inputs: list[Any], warm: bool, folder: Path) -> Any:
    """What runs a form and answers its results."""
    family, n = columns(name)
    m = ELEMENTS // n
    if "R0_BLOCK" in form:
        module = emitted(name, "narrow" in form, folder)
        config = {k: v for k, v in form.items() if k not in ("warps", "narrow")} | {"XBLOCK": 1}
        config |= {"num_warps": form["warps"], "num_stages": 1}
        config |= {"YBLOCK": 1} if "STAGES" in form else {}
        args, left = module.get_args("cuda"), list(inputs)
        for place, arg in enumerate(args):
            same = [t for t in left if t.shape == arg.shape and t.dtype == arg.dtype]
            if same and place not in module.OUTPUTS:
                args[place] = same[0]
                left = [t for t in left if t is not same[0]]
        outs = [args[k] for k in module.OUTPUTS]
        strips = lambda: [outs[0], *(o.sum(0).bfloat16() for o in outs[1:])]
        module.call(args, config)
        return lambda: module.call(args, config), strips if "STAGES" in form else lambda: outs
    split = -(-(n + (7 if n % 8 else 0)) // form["BLOCK"])
    groups = PROCESSORS * form["each"] // split
    options = {k: form[k] for k in ("SINGLE", "STAGES", "BLOCK")} | {"RSPLIT": split, "N": n}
    options |= {"num_warps": form["warps"], "num_stages": 1}
    options |= {"maxnreg": 65536 // (form["each"] * form["warps"] * 32)}
    options |= {"launch_cooperative_grid": split > 1}
    if family.endswith("backward"):
        groups = 1 << groups.bit_length() - 1
        options |= {"ROWS": m // groups, "EARLY": form["EARLY"], "LAYER": family.startswith("lay")}
        words = torch.zeros(groups * (8 * split + 2), dtype=torch.int64, device="cuda")
        dy, x = inputs[:2]
        w, mean, r = (inputs[2], inputs[3], inputs[3])
        if family.startswith("lay"):
            mean, r, w = inputs[2:5]
        dx = torch.empty_like(x)
        dw, db = (torch.empty(groups, n, device="cuda") for _ in range(2))
        arguments = [dy, x, w, mean, r, dx, dw, db, words]
        kernel: Any = gradients
        layer = family.startswith("lay")
        results = lambda: [dx, dw.sum(0).to(w.dtype), *([db.sum(0).to(w.dtype)] * layer)]
    else:
        turns = -(-m // groups)
        groups = -(-m // turns)
        options |= {"M": m, "GROUPS": groups, "HOLD": form["HOLD"], "KIND": KINDS.index(family)}
        words = torch.zeros(groups * (4 * split + 2), dtype=torch.int64, device="cuda")
        x, *others = inputs
        out, loss = torch.empty_like(x), torch.empty(m, 1, device="cuda")
        target = others[0] if family.startswith("loss") else words
        w, bias = (others[0], others[-1]) if "norm" in family else (x, x)
        arguments = [x, w, bias, target, loss, out, words]
        kernel = forward
        results = lambda: [loss, out] if family.startswith("loss") else [out]
    grid = (groups * split,)
    if warm:
        return kernel.warmup(*arguments, grid=grid, **options)
    return lambda: kernel[grid](*arguments, **options), results


def main() -> None:
    """Time every form of every case."""
    import gpu_limit as limit

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=115.0)
    parser.add_argument("--warm", type=int)
    parser.add_argument("--by-hand", action="store_true")
    given = parser.parse_args()
    every = forms if given.by_hand else configurations
    began, cache = time.time(), given.out / "cache"
    sizes = [("rms backward", "16k 64k 256k"), ("layer backward", "16k 64k 256k")]
    sizes += [("loss and gradient", "50257"), ("softmax", "50257"), ("cross entropy", "50257")]
    sizes += [("softmax", "256k"), ("layer norm", "256k"), ("rms norm", "256k")]
    sizes += [("loss and gradient", "64k"), ("layer norm", "64k"), ("softmax", "64k")]
    names = given.cases or [f"{family} {n}" for family, all_ in sizes for n in all_.split()]
    cases = {c.name: c for c in limit.cases()}
    if given.warm is not None:
        work: list[tuple[str, Form | None]] = [(n, f) for n in names for f in (None, *every(n))]
        for name, form in work[given.warm :: WARMERS]:
            inputs = list(cases[name].inputs())
            try:
                if form is None:
                    limit.compiled(cases[name], "untuned", cache, 1)(*inputs)
                else:
                    launch(name, form, inputs, True, given.out)
            except Exception as error:  # noqa: BLE001 - the process that times says it again
                print(name, form, str(error)[:200], file=sys.stderr, flush=True)
            del inputs
            torch.cuda.empty_cache()
        return
    given.out.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, *given.cases, f"--out={given.out}"]
    command += ["--by-hand"] * given.by_hand
    workers = []
    for number in range(WARMERS):
        with (given.out / f"warm{number}.txt").open("w") as log:
            workers.append(subprocess.Popen([*command, f"--warm={number}"], stdout=log, stderr=log))
    while any(w.poll() is None for w in workers) and time.time() < began + given.seconds / 2:
        time.sleep(0.5)
    for worker in workers:
        worker.kill()
        worker.wait()
    copy = limit.copied()
    print(f"compiled after {time.time() - began:.0f} s, copy {copy:.0f} GB/s", flush=True)
    rows: list[dict[str, Any]] = []
    best: dict[str, tuple[float, float, Form]] = {}
    for name in names:
        torch.manual_seed(0)
        inputs = list(cases[name].inputs())
        want = limit.tensors(cases[name].function(*inputs))
        moved = sum(t.nbytes for t in (*limit.tensors(inputs), *want))
        for form in (None, *every(name)):
            if time.time() > began + given.seconds:
                break
            try:
                if form is None:
                    function = limit.compiled(cases[name], "untuned", cache, 8)
                    run = lambda f=function, i=inputs: f(*i)
                    got = limit.tensors(run())
                else:
                    run, results = launch(name, form, inputs, False, given.out)
                    run()
                    got = results()
                off = limit.deviation(got, want, False)
                us = limit.milliseconds(run, moved) * 1e3
            except Exception as error:  # noqa: BLE001 - one form's failure must not end the rest
                rows.append({"case": name, "form": form, "error": str(error)[:300]})
                print(name, form, str(error)[:100], flush=True)
                continue
            share = moved / us / 1e3 / copy
            rows.append({"case": name, "form": form, "us": us, "share": share, "off": off})
            print(name, form or "generated", f"{us:.1f} us {share:.2f} off {off:.1e}", flush=True)
            if off < 2e-2 and us < best.get(name, (us + 1,))[0]:
                best[name] = us, share, form or {}
        head = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
        text = json.dumps({**head, "copy_gbps": copy, "rows": rows}, indent=0)
        (given.out / "held-rows.json").write_text(text + "\n")
        del inputs, want
        torch.cuda.empty_cache()
    for name, (us, share, form) in best.items():
        own = next((r for r in rows if r["case"] == name and r["form"] is None), {})
        print(
            f"{name}: generated {own.get('us', 0):.1f} ({own.get('share', 0):.2f}), best {us:.1f}"
            f" ({share:.2f}) {form}"
        )


if __name__ == "__main__":
    main()
