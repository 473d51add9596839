"""A function compiled by the backend against the same function in eager mode. Everything a caller
can see counts: values with signed zeros and NaN, element types, sizes, strides, which tensors share
memory, what became of the arguments, and whether it raises.

Kernels round elsewhere than eager mode: 16-bit numbers only where they are stored, sums in another
order. What that may change is found by repeating the function with every rounded result moved a few
units of its last place, and once without rounding 16 bits: it may differ twice as far as a repeat.
"""

from __future__ import annotations

import copy
import functools
import math
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.exc import TorchRuntimeError
from torch.testing._comparison import default_tolerances
from torch.utils._pytree import tree_leaves

from harness.conformance.rounding import real, repeats, same
from harness.errors import DivisionByZero, IndexOutOfRange
from harness.graph.capture.aot import RestartAnalysis
from harness.graph.capture.scattering import counted_masks
from harness.graph.capture.tangents import boxed

Function = Callable[..., Any]
_NUMBERS = re.compile(r", which is output \d+ of \w+,|0x[0-9a-f]+|\d+")  # and autograd's nodes
_ERROR = re.compile(r"(?:.*; compiled: )?(torch's \w+: |.{0,500})")
_CHANGED = "has been modified by an inplace operation|: dtype "
_ZEROS = "zeros instead of None"
_LINE = re.compile(r'File ".+", line \d+,')
_OUTSIDE = re.compile("IndexError|ZeroDivisionError|out of bounds for (dimension|storage)")
_DECIMALS = re.compile(r"-?\d+\.\d+(?:e[+-]\d+)?")


def differences(
    function: Function,
    args: Sequence[Any],
    compiler: Function | str,
    *,
    signed_zeros: bool = True,
    dynamic: bool = False,
    then: Iterable[Sequence[Any]] = (),
) -> list[str]:
    """What differs between ``function(*args)`` in eager mode and compiled by ``compiler`` (for any
    sizes, if ``dynamic``), a line for each; none if nothing does. What is compiled is called
    with the arguments in ``then`` afterwards. ``args`` stay as they are.

    Values may differ as far as rounding decides them (``Judge``), floats by what ``torch.testing``
    allows anyway. Signs of zeros count unless ``signed_zeros`` is False. Where
    eager mode raises, the compiled function has to. Gradients of all results with respect to the
    arguments that require them are results too.
    """
    torch.compiler.reset()
    compiled = torch.compile(function, backend=compiler, dynamic=dynamic or None)
    lines = _differing(function, compiled, args, signed_zeros)
    for others in then:
        found = _differing(function, compiled, others, signed_zeros)
        lines += [f"then, {line}" for line in found if line not in lines]
    return lines


def _differing(
    function: Function, compiled: Function, args: Sequence[Any], signed_zeros: bool
) -> list[str]:
    """What differs in one call."""
    wanted, given = outcome(function, args)
    found, taken = outcome(compiled, args)
    raised = [isinstance(one, Exception) for one in (wanted, found)]
    if any(raised):
        # Rounding may decide whether it raises: how many elements are chosen.
        made = islice(repeats(lambda: outcome(function, args)[0]), 12)
        alike = all(raised) or (raised[1] and any(_raises_as(found, one) for one in made))
        return [] if alike else [f"eager: {_brief(wanted)}; compiled: {_brief(found)}"]
    eager, ours = tree_leaves((wanted, given)), tree_leaves((found, taken))
    if len(eager) != len(ours):
        return [f"{len(ours)} results instead of {len(eager)}"]

    def run() -> Sequence[Any] | None:
        result, own = outcome(function, args)
        return None if isinstance(result, Exception) else tree_leaves((result, own))

    judge, lines = Judge(run, eager, signed_zeros), []
    for number, (one, other) in enumerate(zip(eager, ours, strict=True)):
        line = _unlike(one, other)
        if line.startswith("shape") and judge.is_right(number, other):
            line = ""  # as many elements as rounding decides
        elif not line and not (
            judge.is_right(number, other) or _shows_another(judge, ours, number)
        ):
            line = f"{_values(other)} instead of {_values(one)}"
            if replace(judge, signed_zeros=False).is_right(number, other):
                # Rounding tells the other elements of two backends apart (``torchs_own``).
                places = _resigned(_seen(one), _seen(other)).nonzero().tolist()
                what = f"{len(places)} zeros at {places[:12]}"
                line = f"signs of {what} instead of eager mode's"
        lines += [f"{number}: {line}"] * bool(line)
    if _sharing(eager, ours) != _sharing(ours, eager):
        lines.append("other tensors share memory")
    return lines


def torchs_own(
    function: Function, args: Sequence[Any], lines: Sequence[str], **how: Any
) -> tuple[str, ...]:
    """Those of ``lines`` (from ``differences(…, **how)``, and why torch ran a graph) that are
    torch's own: ``torch.compile`` with eager mode's kernels (``aot_eager``, with torch to run the
    graphs that it refuses or without, computing again in the backward what it need not keep or
    not, in the types that it traces, for these sizes alone at last), or by its tracing alone,
    differs or raises as well: in the same words but for rounding, or in the same function of
    AOTAutograd's. (Where it raises, it tells nothing of gradients that are None in eager mode.)"""
    if not lines:
        return ()
    own: list[str] = []
    refused: list[str] = []
    known: tuple[str, ...] = ()
    for backend, counts in (
        ("aot_eager", ""),
        ("eager", ""),
        ("aot_eager_decomp_partition", "; compiled: "),
        (functools.partial(_or_torch, torch._dynamo.lookup_backend("aot_eager"), refused), ""),
        (functools.partial(_or_torch, _counting_masks, []), _CHANGED),
    ):
        found = differences(function, args, backend, **how)
        own += [line for line in found if re.search(counts, line)]
        known = _known(lines, own, refused)
        if len(known) == len(lines):
            return known  # the others take nothing away
    if how.get("dynamic"):  # a graph that serves no other sizes is compiled for these
        left = [line for line in lines if line not in known]
        known += torchs_own(function, args, left, **{**how, "dynamic": False})
    return known


def _or_torch(
    compiler: Function, refused: list[str], graph: torch.fx.GraphModule, inputs: Sequence[Any]
) -> Function:
    """A graph by ``compiler`` where that takes it; elsewhere by torch, as with our backend."""
    try:
        compiled: Function = compiler(graph, list(inputs))
    except RestartAnalysis:
        raise
    except Exception as error:  # noqa: BLE001 - as many as tracing knows
        refused.append(_brief(error))
        return graph
    return compiled


def _counting_masks(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Any:
    """``aot_eager`` with our backend's rule for the gradient of ``x[mask] = rows``, which it
    refuses: what that rule gives is no reference, what AOTAutograd makes of the graph is. Results
    have the types of fake tensors: of products without elements torch 2.11 gives them others."""
    aten = torch.ops.aten
    rules = counted_masks(
        dict.fromkeys((aten.index.Tensor, aten.index_put.default), lambda *_, **__: NotImplemented)
    )

    def typed(made: torch.fx.GraphModule, _: Any) -> Function:
        outputs: Any = made.graph.output_node().args[0]
        kinds = [getattr(n and n.meta["val"], "dtype", None) for n in outputs]
        pairs = functools.partial(zip, kinds, strict=True)
        return boxed(lambda args: [x.to(kind) if kind else x for kind, x in pairs(made(*args))])

    return aot_autograd(fw_compiler=typed, decompositions=rules)(graph, inputs)


def _known(lines: Sequence[str], own: Sequence[str], refused: Sequence[str]) -> tuple[str, ...]:
    """Those of ``lines`` that torch's ``own`` lines, or what it ``refused``, say as well."""
    raised = [_NUMBERS.sub("", line) for line in own if "; compiled: " in line]
    raised += [_NUMBERS.sub("", line) for line in refused]
    return tuple(
        line
        for line in lines
        if any(_alike(*(one.removeprefix("then, ") for one in (line, other))) for other in own)
        or any(_NUMBERS.sub("", _ERROR.findall(line)[0]) in text for text in raised)
        or (raised and line.endswith(_ZEROS))
        or ("IndexOutOfRange" in line and any(_OUTSIDE.search(text) for text in raised))
    )


def _alike(line: str, other: str) -> bool:
    """Whether two lines say the same, numbers but for roundings (of 16 bits, several times)."""
    same = _DECIMALS.split(line) == _DECIMALS.split(other)
    pairs = zip(*(map(float, _DECIMALS.findall(text)) for text in (line, other)), strict=False)
    return same and all(math.isclose(*pair, rel_tol=0.02) for pair in pairs)


def draws(function: Function, args: Sequence[Any]) -> bool:
    """Whether ``function(*args)`` draws random numbers."""
    devices = range(torch.cuda.device_count())
    states = []
    for run in (function, lambda *_: None):
        outcome(run, args)
        states.append([torch.get_rng_state(), *map(torch.cuda.get_rng_state, devices)])
    return not all(map(torch.equal, *states))


def outcome(function: Function, args: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """The result (or exception) and the arguments afterwards; a copy is used up."""
    memo: dict[int, Any] = {}
    dense = [getattr(a, "layout", torch.strided) is torch.strided for a in args]
    own = [copy.deepcopy(a, memo) if d else a.clone() for a, d in zip(args, dense, strict=True)]
    torch.manual_seed(0)
    try:
        result = function(*own)
        made = (result, _gradients(result, own)), own
        if torch.cuda.is_available():
            torch.cuda.synchronize()  # what stops the device is an outcome, too
        return made
    except Exception as error:  # noqa: BLE001 - raising is an outcome like any other
        return error, own


def _gradients(result: Any, args: Sequence[Any]) -> Sequence[Any]:
    leaves = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
    made = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
    if not leaves or not made:
        return ()
    # In the layouts of the results: AOTAutograd copies others, whatever the backend is.
    weights = [torch.empty_like(t, requires_grad=False) for t in made]
    for weight in weights:
        line = torch.linspace(0.5, 1.5, weight.numel(), dtype=weight.dtype, device=weight.device)
        weight.copy_(line.view(weight.shape))
    return torch.autograd.grad(made, leaves, weights, allow_unused=True)


def _brief(outcome: Any) -> str:
    if not isinstance(outcome, Exception):
        return "a result"
    frames = traceback.extract_tb(outcome.__traceback__)[-1:]
    where = [f"torch's {one.name}: " for one in frames if "/torch/_functorch/" in one.filename]
    return "".join(where) + f"{type(outcome).__name__}: {str(outcome)[:600]}"


def _raises_as(found: Any, repeat: Any) -> bool:
    """Whether a repeat in eager mode raises what ``found`` says, or, where tracing knows of sizes
    that they do not fit, at that line."""
    if isinstance(found, DivisionByZero | IndexOutOfRange):
        return isinstance(repeat, Exception) and bool(_OUTSIDE.search(_brief(repeat)))
    if not isinstance(found, TorchRuntimeError) or not isinstance(repeat, Exception):
        return _brief(found) == _brief(repeat)
    frames = "".join(traceback.format_tb(repeat.__traceback__))
    return any(line in frames for line in _LINE.findall(str(found))[-1:])


def _unlike(wanted: Any, found: Any) -> str:
    """How two results differ in anything but their values."""
    if not isinstance(wanted, torch.Tensor) or not isinstance(found, torch.Tensor):
        if wanted is None and isinstance(found, torch.Tensor) and not found.any():
            return _ZEROS
        kinds = ["a tensor" if isinstance(t, torch.Tensor) else repr(t) for t in (found, wanted)]
        return "" if type(wanted) is type(found) else f"{kinds[0]} instead of {kinds[1]}"
    for name in ("dtype", "shape", "requires_grad"):
        if getattr(wanted, name) != getattr(found, name):
            return f"{name} {getattr(found, name)} instead of {getattr(wanted, name)}"
    if wanted.layout is not torch.strided:
        return "" if wanted.layout is found.layout else f"layout {found.layout}"
    long = [d for d, n in enumerate(wanted.shape) if n > 1]  # others have any
    strides = [tuple(t.stride(d) for d in long) for t in (found, wanted)]
    if wanted.numel() and strides[0] != strides[1]:
        return f"stride {strides[0]} instead of {strides[1]}"
    return ""


def _shows_another(judge: Judge, ours: Sequence[Any], number: int) -> bool:
    """Whether a result is the bits of floats that are all there as another one, which is right: of
    what rounding decides in each of them a wider or narrower type shows any mixture."""

    def place(leaves: Sequence[Any], other: int) -> tuple[int, int] | None:
        part, whole = leaves[number], leaves[other]
        known = all(isinstance(one, torch.Tensor) for one in (part, whole))
        if not known or part.is_floating_point() or not whole.is_floating_point():
            return None
        size = whole.numel() * whole.itemsize
        there = whole.untyped_storage(), part.untyped_storage()
        alike = there[0].data_ptr() == there[1].data_ptr() and there[0].nbytes() == size
        return (part.storage_offset() * part.itemsize, size) if alike and size else None

    return any(
        (at := place(judge.eager, k)) and at == place(ours, k) and judge.is_right(k, ours[k])
        for k in range(len(ours))
    )


def _sharing(leaves: Sequence[Any], others: Sequence[Any]) -> list[tuple[int, ...]]:
    """For each tensor the earlier ones in the same memory. (Whether there are elements may be what
    rounding decides: those lie nowhere that are nothing among ``others``.)"""
    places = []
    for t, other in zip(leaves, others, strict=True):
        strided = isinstance(t, torch.Tensor) and t.layout is torch.strided
        strided = strided and t.numel() and getattr(other, "numel", bool)()
        zero = strided and torch._is_zerotensor(t)  # a gradient that is known to be
        places.append(t.untyped_storage().data_ptr() if strided and not zero else None)
    return [tuple(k for k in range(n) if p and places[k] == p) for n, p in enumerate(places)]


def _values(value: Any) -> str:
    return repr(value.flatten()[:12].tolist() if isinstance(value, torch.Tensor) else value)


Run = Callable[[], Sequence[Any] | None]
"""The results of a function, and its arguments afterwards; None if it raises."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Compares results of ``run()`` (``eager``) with other ones, values only. Signs of zeros
    count with ``signed_zeros``."""

    run: Run
    eager: Sequence[Any]
    signed_zeros: bool
    known: list[Sequence[Any]] = field(default_factory=list)
    counts: set[int] = field(default_factory=set)

    def is_right(self, number: int, found: Any) -> bool:
        """Whether ``found`` may be the result of this ``number``, whose type and shape it has."""
        wanted = self.eager[number]
        if not isinstance(wanted, Tensor):
            return bool(wanted == found or wanted != wanted)
        if wanted.layout is not torch.strided:
            return _is_close(wanted, found)
        wanted, found = _seen(wanted), _seen(found)
        if wanted.shape != found.shape:  # how many there are may be what rounding decides
            repeats = [wanted, *(_seen(one[number]) for one in self._repeats())]
            alike = (one.shape == found.shape and _is_close(one, found) for one in repeats)
            return any(alike) or _are_between(found, repeats)
        signs = self.signed_zeros and wanted.is_floating_point()
        if _is_close(wanted, found) and not (signs and _resigned(wanted, found).any()):
            return True
        bounds, made = _Bounds(wanted, found, signs), self._repeats()
        if any(bounds.hold_after(_seen(one[number]), number in self.counts) for one in made):
            return True
        known = [_seen(one[number]) for one in self.known]
        return bounds.leave_few_of_many() or _is_an_order(found, known)

    def _repeats(self) -> Iterator[Sequence[Any]]:
        yield from self.known
        for made in repeats(self.run, len(self.known), self.counts):
            self.known.append(made if made and len(made) == len(self.eager) else self.eager)
            yield self.known[-1]


class _Bounds:
    """How far from ``wanted`` each element may be: as far as the repeats seen; an integer or bool
    has to be what one of them gave, or a count between two of them."""

    def __init__(self, wanted: Tensor, found: Tensor, signs: bool) -> None:
        self.wanted, self.found = wanted, found
        self.same = same(wanted, found)
        self.least = self.most = wanted.long()
        self.other_sign = _resigned(wanted, found) & signs
        self.near = wanted.double()
        self.bound = torch.full_like(self.near, -1)
        if wanted.is_floating_point():
            relative, absolute = default_tolerances(wanted.dtype)
            self.bound = absolute + relative * self.near.abs().nan_to_num(0, 0, 0)
            beyond = 1.5 * torch.finfo(wanted.dtype).max  # the largest number, but not infinite
            self.near = self.near.nan_to_num(torch.nan, beyond, -beyond)
        self.allowed = self.bound
        self.error = (found.double() - self.near).abs().nan_to_num(torch.inf)

    def hold_after(self, repeat: Any, counts: bool = False) -> bool:
        """Whether one more ``repeat`` leaves no element out of bounds. (``counts``: it counts.)"""
        if not isinstance(repeat, Tensor) or repeat.shape != self.wanted.shape:
            return isinstance(repeat, Tensor) and _are_between(self.found, [self.wanted, repeat])
        if self.wanted.is_floating_point():
            apart = ~same(self.wanted, repeat)
            moved = (repeat.double() - self.near).abs().nan_to_num(torch.inf)
            self.bound = torch.maximum(self.bound, torch.where(apart, 2 * moved, 0.0))
            signed = torch.signbit(repeat) == torch.signbit(self.wanted)
            self.other_sign = self.other_sign & (repeat == 0) & signed
        else:
            number, found = repeat.long(), self.found.long()  # (few calls take unsigned ones)
            self.least, self.most = self.least.minimum(number), self.most.maximum(number)
            within = (self.least <= found) & (found <= self.most)
            self.same |= within if counts else self.found == repeat
        return bool((self.same | (self.error <= self.bound)).logical_and(~self.other_sign).all())

    def leave_few_of_many(self) -> bool:
        """Whether what is out of bounds are few of many floats that rounding moved far, and no
        farther than these: of a thousand maxima that are nearly equal it chose others."""
        far = (self.bound > 1000 * self.allowed) & self.bound.isfinite() & ~self.other_sign
        beyond = ~self.same & (self.error > self.bound) | self.other_sign
        few = 16 * beyond.sum() <= far.sum() > 0
        return bool(few and far[beyond].all() and self.error[beyond].max() <= self.bound[far].max())


def _seen(value: Any) -> Any:
    """``value`` as it is compared: floats of 8 bits as those of 32."""
    value = real(value)
    narrow = isinstance(value, Tensor) and value.is_floating_point() and value.itemsize == 1
    return value.float() if narrow else value


def _are_between(found: Tensor, repeats: Sequence[Tensor]) -> bool:
    """Whether ``found`` are floats as of ``repeats``, as many as between those of two: of what only
    rounding tells apart, any number may be."""
    counts = [one.numel() for one in repeats]
    if found.dim() != 1 or not min(counts) <= found.numel() <= max(counts):
        return False
    rows = found[:, None].expand(-1, counts[0])  # torch 2.11 does not broadcast them itself
    near = torch.isclose(rows, repeats[0], *default_tolerances(found.dtype), True)
    return found.is_floating_point() and bool(near.any(0).all() and near.any(1).all())


def _is_an_order(found: Tensor, repeats: Sequence[Any]) -> bool:
    """Whether ``found`` and ``repeats`` have each position along a dimension once, as sorts give
    them, and ``found`` none before another that comes earlier in all repeats."""
    alike = all(getattr(one, "shape", None) == found.shape for one in repeats)
    for dim in range(found.dim() if alike else 0):
        rows = torch.stack([found, *repeats]).movedim(dim + 1, -1)
        if rows.sort(-1)[0].equal(torch.arange(rows.shape[-1]).to(rows).expand_as(rows)):
            places = rows[1:].argsort(-1).gather(-1, rows[:1].long().expand_as(rows[1:]))
            # (Each against those before it: all pairs at once are the square of the row in memory.)
            pairs = ((places[..., :n] > places[..., n, None]).all(0) for n in range(rows.shape[-1]))
            return not any(map(torch.any, pairs))
    return False


def _resigned(wanted: Tensor, found: Tensor) -> Tensor:
    """Zeros of the other sign."""
    return (wanted == 0) & (found == 0) & (torch.signbit(wanted) != torch.signbit(found))


def _is_close(wanted: Any, found: Any) -> bool:
    try:
        torch.testing.assert_close(found, wanted, equal_nan=True)
    except AssertionError:
        return False
    return True
