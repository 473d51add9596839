"""Fuzzing: random programs, as readable Python, through the backend against eager mode.

A program is made statement by statement, each tried in eager mode at once: what eager mode
refuses is left out. What eager mode leaves undefined is not made: writes to memory that
overlaps what is read, conversions of floats out of range, several values for one place.
"""

from __future__ import annotations

import ast
import functools
import linecache
import random
import re
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, nan
from pathlib import Path
from typing import Any, ClassVar

import torch

from harness.backend import Compiler, Devices
from harness.conformance.batch import answers, devices_of, last_if_lost
from harness.conformance.compare import differences, draws, outcome, torchs_own
from harness.devices.job import Context, Job
from harness.graph.capture.scattering import OVERLAPPING, covers_itself
from harness.graph.capture.tangents import OF_CHANGED, OF_VIEWS
from harness.target import H100

_SIZES = (1, 2, 3, 4, 5, 7, 8, 16, 33)
_WIDE_SIZES = (1, 2, 3, 16, 17, 31, 32, 33, 64, 65, 127, 128, 129, 257, 1023, 1024, 1025)
_ASSIGNED = re.compile(r"v\d+ = ")
_NAMES = re.compile(r"\b[vx]\d+\b")
_MOST_ELEMENTS = 20_000
_SECONDS = 120.0
_SPECIAL = (nan, inf, -inf, -0.0, 0.0, 1e-40, 3e38, 65520.0)
_ONE = replace(H100, multiprocessors=1)
"""A device that few results fill: sums of products are matrix products, and rows are shared."""


@functools.cache
def _templates() -> Mapping[str, Sequence[str]]:
    """Statements by kind; ``statements.toml`` says what stands for what."""
    text = Path(__file__).with_name("statements.toml").read_text()
    return {kind: tuple(templates) for kind, templates in tomllib.loads(text).items()}


@dataclass(frozen=True)
class _Placed(ast.NodeTransformer):
    """Makes tensors on ``device`` by naming it in each call: torch 2.11 traces most of these calls
    on the CPU, whatever device is the default."""

    device: str

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if ast.unparse(node.func) in _templates()["made"]:
            node.keywords.append(ast.keyword("device", ast.Constant(self.device)))
        return node


@dataclass(frozen=True)
class Program:
    """Statements over ``x0`` … (the inputs) and ``v0`` …; what is returned, by name; whether it is
    to be compiled for any sizes; where its tensors are; ``y0`` … of a second call, if any; whether
    it is compiled as for a device of one multiprocessor."""

    inputs: tuple[str, ...]
    statements: tuple[str, ...]
    outputs: tuple[str, ...]
    dynamic: bool = False
    device: str = "cpu"
    again: tuple[str, ...] = ()
    alone: bool = False

    @property
    def text(self) -> str:
        """The program as a function ``f``."""
        names = ", ".join(f"x{n}" for n in range(len(self.inputs)))
        lines = [f"def f({names}):", *(f"    {line}" for line in self.statements)]
        return "\n".join([*lines, f"    return {', '.join(self.outputs)},"])

    @property
    def reproducer(self) -> str:
        """Text that makes the inputs of each call and ``f``."""
        read = {name for line in (*self.statements, *self.outputs) for name in _NAMES.findall(line)}
        made_of = (*self.inputs, *(t for n, t in enumerate(self.again) if f"x{n}" in read))
        read.update(name for text in made_of for name in _NAMES.findall(text))
        made = ["import torch, torch.nn.functional as F", "nan, inf = float('nan'), float('inf')"]
        made += [
            f"{given}{n} = {text if f'x{n}' in read else 'torch.zeros(1)'}"
            for given, texts in (("x", self.inputs), ("y", self.again))
            for n, text in enumerate(texts)
        ]
        made += ["# torch.compile(f, dynamic=True)"] * self.dynamic
        made += ["# Compiler(target=replace(H100, multiprocessors=1))"] * self.alone
        text = "\n".join([*made, self.text])
        if self.device == "cpu":
            return text
        return ast.unparse(_Placed(self.device).visit(ast.parse(text)))

    def load(self, where: str = "<program>") -> tuple[Callable[..., Any], list[list[torch.Tensor]]]:
        """The function and the inputs of each call."""
        scope: dict[str, Any] = {}
        text = self.reproducer
        exec(compile(text, where, "exec"), scope)  # noqa: S102 - written here
        # A function whose text is unknown is traced twice where its graph breaks.
        linecache.cache[where] = len(text), None, text.splitlines(keepends=True), where
        calls = "xy" if self.again else "x"
        return scope["f"], [[scope[f"{x}{n}"] for n in range(len(self.inputs))] for x in calls]

    def smaller(self) -> Iterator[Program]:
        """Programs with less: one output alone, the first half, a statement left out (others
        take what it was made from). What is not needed then goes as well."""
        yield replace(self, dynamic=False)
        yield replace(self, again=())
        yield replace(self, alone=False)
        for output in self.outputs if len(self.outputs) > 1 else ():
            yield replace(self, outputs=(output,))._pruned()
        assigned = [n for n, line in enumerate(self.statements) if _ASSIGNED.match(line)]
        for n in assigned[len(assigned) // 2 : -1][::4]:
            name = self.statements[n].partition(" = ")[0]
            yield replace(self, statements=self.statements[: n + 1], outputs=(name,))._pruned()
        for n in reversed(range(len(self.statements))):
            name, _, value = self.statements[n].partition(" = ")
            rest = self.statements[:n] + self.statements[n + 1 :]
            if n not in assigned:
                yield replace(self, statements=rest)
                continue
            for other in dict.fromkeys(_NAMES.findall(value)):
                renamed = [re.sub(rf"\b{name}\b", other, line) for line in rest]
                outputs = [other if output == name else output for output in self.outputs]
                yield replace(self, statements=tuple(renamed), outputs=tuple(outputs))._pruned()

    def _pruned(self) -> Program:
        """Without assignments that nothing reads."""
        read, kept = set(self.outputs), []
        for line in reversed(self.statements):
            name, _, value = line.partition(" = ")
            if not _ASSIGNED.match(line) or name in read:
                kept.append(line)
                read.update(_NAMES.findall(value if _ASSIGNED.match(line) else line))
        return replace(self, statements=tuple(reversed(kept)))


def _is_parameter(value: torch.Tensor) -> bool:
    """Whether ``value`` may not be changed in place because it has a gradient of its own. Torch
    answers for no part of a split any more whose whole was changed: nothing may use it."""
    try:
        return value.is_leaf and value.requires_grad
    except RuntimeError:
        return True


@dataclass
class _Maker:
    """A program in the making, its values at hand."""

    rng: random.Random
    backward: bool
    wide: bool = False
    scope: dict[str, Any] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)

    def tensors(self, *, changeable: bool = False) -> list[str]:
        tensors = {n: v for n, v in self.scope.items() if isinstance(v, torch.Tensor)}
        return [n for n, v in tensors.items() if not (changeable and _is_parameter(v))]

    def input(self) -> None:
        rng, name = self.rng, f"x{len(self.inputs)}"
        sizes, most = (_WIDE_SIZES, 4000) if self.wide else (_SIZES, 600)
        shape = [rng.choice(sizes) for _ in range(rng.choice((0, 1, 2, 2, 2, 3, 3, 4)))]
        while torch.Size(shape).numel() > most:
            shape[rng.randrange(len(shape))] = rng.choice((1, 2, 3))
        if shape and rng.random() < 0.06:
            shape[rng.randrange(len(shape))] = 0
        floats = self.backward or rng.random() < 0.75
        dtype = rng.choice(_templates()["floats" if floats else "integers"])
        if not shape and dtype == "float64":
            dtype = "float32"  # torch.compile itself loses writes to a double without dimensions
        text = f"{self._contents(torch.Size(shape), dtype)}"
        if self.wide and shape and not self.backward and rng.random() < 0.3:
            lying = rng.choice(_templates()["lying"])
            placed = lying.format(text, s=tuple(shape), o=(1,) * len(shape))
            text = placed if self._try(f"{name} = {placed}") else text
        if len(shape) > 1 and rng.random() < 0.35:
            text += ".transpose(0, -1)"
        if shape and rng.random() < 0.15:
            text += "[..., ::2]"
        if self.inputs and not self.backward and rng.random() < 0.12:
            text = f"x{rng.randrange(len(self.inputs))}[..., :2]"
        if self.backward and floats:
            text += ".detach().requires_grad_()"
        if self._try(f"{name} = {text}"):
            self.inputs.append(text)

    def _contents(self, shape: torch.Size, dtype: str) -> str:
        rng, count = self.rng, shape.numel()
        if count > 99 and self.wide:
            is_float = dtype in _templates()["floats"]
            row = rng.choice((2, 2, 2, 3)) if is_float else int(dtype != "bool")
            many = {"n": count, "f": rng.randrange(1, 9999), "x": rng.choice(_SPECIAL)}
            return _templates()["many"][row].format(t=dtype, s=tuple(shape), **many)
        if dtype in _templates()["integers"]:
            kind = None if dtype == "bool" else torch.iinfo(getattr(torch, dtype))
            least, most = (kind.min, kind.max) if kind else (0, 1)
            least += least < -(1 << 16)  # eager mode's process ends where it is divided by -1
            far = rng.random() < 0.2
            numbers: list[Any] = [rng.randint(max(least, -9), min(most, 9)) for _ in range(count)]
            if far:
                numbers = [rng.choice((n, n, least, most)) for n in numbers]
        else:
            numbers = [round(rng.gauss(0, 1.5), 3) for _ in range(count)]
            if rng.random() < (0.1 if self.backward else 0.25):
                numbers = [rng.choice(_SPECIAL) if rng.random() < 0.2 else n for n in numbers]
        return f"torch.tensor({numbers}, dtype=torch.{dtype}).reshape({tuple(shape)})"

    def _try(self, line: str) -> bool:
        """Carry a line out; whether eager mode takes it."""
        name, _, value = line.partition(" = ")
        scope = self.scope | {"torch": torch, "F": torch.nn.functional, "nan": nan, "inf": inf}
        try:
            exec(line, scope)  # noqa: S102 - written here
        except Exception:  # noqa: BLE001 - eager mode refuses in many ways
            return False
        made = scope[name] if value and name.isidentifier() else None
        if isinstance(made, torch.Tensor):
            if made.numel() > _MOST_ELEMENTS or made.is_complex():
                return False
            self.scope[name] = made
        return True

    def statement(self) -> None:
        rng = self.rng
        kinds = _templates()["wide_kinds" if self.wide else "kinds"]
        kind = rng.choice(kinds) if rng.random() > 0.004 else "dependent"
        changes = kind in ("changes", "changing")
        names = self.tensors(changeable=changes)
        # Several elements in one place: what is written there eager mode leaves open.
        names = [n for n in names if not (changes and covers_itself(self.scope[n]))]
        if not names:
            return
        # Later values more often, so that programs are deep.
        picked = [names[-1 - int(rng.random() ** 2 * len(names))] for _ in range(2)]
        rank = self.scope[picked[0]].dim()
        words = {
            "c": rng.choice((2, -1, 0.5, 3, -2.5, 0, 1, 100, 0.1)),
            "d": rng.randrange(-max(rank, 1), max(rank, 1)),
            "a": rng.choice((0, 1, 2)), "b": rng.choice((1, 2, 3, 5)),
            "t": rng.choice(_templates()["floats"]), "i": rng.choice(_templates()["integers"]),
            "v": rng.choice(("int32", "int16", "uint8", "float32", "float16", "int64", "bfloat16")),
            "k": rng.choice(("", ", keepdim=True")),
        }  # fmt: skip
        if self.wide:
            words["e"] = rng.randrange(-max(rank, 1), max(rank, 1))
            indices = "{1}.nan_to_num().abs().clamp(0, 999).long().expand_as({0}) % {0}.shape[{d}]"
            words["n"] = f"({indices.format(picked[0], rng.choice(picked), **words)})"
        template = rng.choice(_templates()[kind])
        many = self.scope[picked[0]].numel()
        minutes = many > 999 and ("unbind" in template or "split(2" in template)
        minutes |= many > 99 and self.backward and "cumprod" in template
        if minutes or ("scaled_dot" in template and not many):
            return  # torch traces every element; a division by zero ends eager mode's process
        if words["c"] == -1 and ("rounding_mode" in template or "// {c}" in template):
            words["c"] = -3  # and so does one of the least integer by -1
        text = template.format(*picked, **words)
        line = text if changes else f"v{len(self.statements)} = {text}"
        if self._try(line):
            self.statements.append(line)


def make_program(seed: int, least: int = 5, most: int = 40) -> Program:
    """The program of a seed, of ``least`` to ``most`` statements, the same every time."""
    rng, other = random.Random(seed), random.Random(f"wide {seed}")
    maker = _Maker(rng, rng.random() < 0.2, other.random() < 0.5)
    for _ in range(rng.choice((1, 2, 3, 4))):
        maker.input()
    wanted = rng.randint(least, most)
    for _ in range(6 * wanted):
        if len(maker.statements) < wanted:
            maker.statement()
    names = maker.tensors()
    outputs = rng.choices(names[-8:], k=rng.choice((1, 2, 3, 4)))
    if rng.random() < 0.3:
        outputs.append(rng.choice(names))
    dynamic = rng.random() < 0.15
    made = Program(tuple(maker.inputs), tuple(maker.statements), tuple(outputs), dynamic)
    made = replace(made, alone=maker.wide and other.random() < 0.5)
    again = random.Random(f"again {seed}")  # so that no program is another than without
    return _called_again(made, again) if again.random() < 0.3 else made


def _called_again(program: Program, rng: random.Random) -> Program:
    """``program`` with a second call, if eager mode takes one: of other sizes (the same for the
    same ones), of other strides, or with one input in the memory of another."""
    template, grown = rng.choice(_templates()["again"]), {0: 0, 1: 0}
    _, (args,) = program.load()
    texts = []
    for n, arg in enumerate(args):
        for size in arg.shape:
            grown.setdefault(size, rng.choice((-1, 0, 1, 3, 60, 1 - size)))
        pad = [added for size in reversed(arg.shape) for added in (0, grown[size])]
        large = [f"x{m}" for m in range(n + 1) if args[m].numel() >= arg.numel()]
        words = {"d": rng.randrange(max(arg.dim(), 1)), "p": pad, "s": tuple(arg.shape)}
        text = template.format(f"x{n}", rng.choice(large), n=arg.numel(), **words)
        texts.append(text + ".requires_grad_()" * arg.requires_grad)
    again = replace(program, again=tuple(texts))
    try:
        function, (_, others) = again.load()
        function(*others)
    except Exception:  # noqa: BLE001 - eager mode refuses in many ways
        return program
    return again if max(other.numel() for other in others) <= _MOST_ELEMENTS else program


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of the program of a seed: kernels and library calls, and what is wrong with
    it, a line for each. ``program`` is then the text of a small one that shows it. ``torchs`` are
    the lines that ``torch.compile`` without a compiler has as well."""

    seed: int
    kernels: int = 0
    library_calls: int = 0
    faults: tuple[str, ...] = ()
    torchs: tuple[str, ...] = ()
    program: str = ""


@dataclass(frozen=True, slots=True)
class TrialJob(Job):
    """Try the program of a seed, on tensors of ``device``. Answers a ``Trial``."""

    handler: ClassVar[str] = "harness.conformance.fuzz:answer"
    seed: int
    device: str = "cpu"


def faults(program: Program, devices: Devices, seed: int = 0) -> Trial:
    """What is wrong with the compiled ``program``: results that differ, and regions or graphs
    that torch had to run because the compiler failed."""
    function, (args, *then) = program.load()
    # What the first call compiled is called for its sizes as well.
    how: dict[str, Any] = {"dynamic": program.dynamic, "then": [*then, args] if then else ()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        target = _ONE if program.alone else None
        compiler = Compiler(target, devices, eager_random=draws(function, args))
        if isinstance(outcome(function, args)[0], Exception):
            return Trial(seed)  # gradients that eager mode does not have
        lines = differences(function, args, compiler, **how)
        told = [text for r in compiler.reports for text in (*r.failures, r.eager) if text]
        meant = OVERLAPPING, OF_CHANGED, OF_VIEWS  # what torch is to run
        failed = [text for text in told if not any(what in text for what in meant)]
        torchs = torchs_own(function, args, [*lines, *failed], **how)
        tracing = ("aot_eager", "eager") if failed else ()
        if any(differences(function, args, backend, **how) for backend in tracing):
            torchs += tuple(failed)  # graphs that torch's tracing gives what they do not fit
    lines = [line for line in (*lines, *failed) if line not in torchs]
    return Trial(
        seed,
        sum(report.kernels for report in compiler.reports),
        sum(report.library_call_count for report in compiler.reports),
        tuple(lines),
        torchs,
    )


def trial(seed: int, devices: Devices, program: Program | None = None) -> Trial:
    """The program of ``seed`` tried (or ``program``), made small if it is wrong."""
    whole = program or make_program(seed)
    found = faults(whole, devices, seed)
    said = dict.fromkeys(line[line.find(": ") :] for line in found.faults)  # of whatever result
    theirs = {what for what in said if _is_torchs(what, whole, devices)}
    left = tuple(line for line in found.faults if line[line.find(": ") :] not in theirs)
    own = tuple(line for line in found.faults if line not in left)
    found = replace(found, faults=left, torchs=found.torchs + own)
    if not found.faults:
        return found
    kind = _kind(found.faults)
    small = shrunk(whole, lambda p: _kind(_safely(p, devices).faults) == kind)
    lines = _safely(small, devices).faults
    return replace(found, faults=lines or found.faults, torchs=(), program=small.reproducer)


def _is_torchs(what: str, program: Program, devices: Devices) -> bool:
    """Whether what differs is torch's own in the smallest program that has it, where of the whole
    ``aot_eager`` tells only that it raises, or adds zeros of other strides to a gradient."""

    def ways(smaller: Program) -> set[bool]:
        made = _safely(smaller, devices)
        told = [one for one in (*made.faults, *made.torchs) if one.endswith(what)]
        return {one in made.torchs for one in told}

    function, calls = program.load()
    told = str(differences(function, calls[0], "aot_eager"))
    hidden = ": stride " in what or "; compiled: " in told
    return hidden and ways(shrunk(program, lambda p: bool(ways(p)))) == {True}


def shrunk(program: Program, wrong: Callable[[Program], bool], most: int = 60) -> Program:
    """``program`` without what is not needed for being ``wrong``, after ``most`` tries at most,
    none of which is begun after two minutes: what is lost with its worker tells nothing."""
    tried, end = {program}, time.monotonic() + _SECONDS
    while len(tried) <= most and time.monotonic() <= end:
        if (smaller := next((p for p in program.smaller() if p not in tried), None)) is None:
            break
        tried.add(smaller)
        program = smaller if wrong(smaller) else program
    return program


def fuzz(
    first: int, programs: int, jobs: int, cache: Path, journal: Path | None, device: str = "cpu"
) -> Iterator[Trial]:
    """Try the programs of ``first``, ``first + 1`` … as they come, by ``jobs`` processes. Those in
    the ``journal`` are taken from there, and new ones added."""
    wanted = {seed: TrialJob(seed, device) for seed in range(first, first + programs)}

    def lost(seed: int, why: str) -> Trial:
        return Trial(seed, faults=(why,))  # making it again here might end this process, too

    yield from answers(wanted, Trial, lambda row: row.seed, lost, jobs, cache, journal)


def answer(context: Context, job: TrialJob) -> Trial:
    """The handler of ``TrialJob``."""
    program = replace(make_program(job.seed), device=job.device)
    try:
        found = trial(job.seed, context.once(devices_of), program)
    except torch.AcceleratorError as error:
        told = f"eager: a result; compiled: {type(error).__name__}: {error}"
        found = Trial(job.seed, faults=(told,), program=program.reproducer)
    return last_if_lost(found)


def _kind(lines: tuple[str, ...]) -> str:
    """What sort of fault it is: shrinking keeps to it."""
    if not lines:
        return ""
    return "raises" if "compiled:" in lines[0] else "region" if "graph0" in lines[0] else "differs"


def _safely(program: Program, devices: Devices) -> Trial:
    """As ``faults``; none of a program that eager mode refuses to make."""
    try:
        function, calls = replace(program, device="cpu").load()
        for args in calls:
            function(*args)  # a GPU that is given nonsense to do is lost
        return faults(program, devices)
    except Exception:  # noqa: BLE001 - shrinking makes programs that mean nothing
        return Trial(0)
