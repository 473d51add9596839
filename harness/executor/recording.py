"""Graphs recorded as CUDA graphs and replayed, so that a call costs the host one launch.

A recording reads its inputs where they were when it was made and writes its outputs to memory of
its own. So a replay is a run only if every input is where it was, and nobody still uses what the
last replay returned (another stream's use counts only while a tensor is held). Callers get the
outputs as they lie there. Those that a caller still has when the same call comes again, though all
else is over, are copies from then on, as single numbers always are; views of inputs are of each
call's.

A graph that a step calls several times (the layers of a model, traced once) has a recording for
each set of inputs, and another one for a set whose outputs are still in use. Other sizes
or parameters are another set, and without parameters inputs that are elsewhere, if the memory where
they were still exists and they are more than half of all bytes. Otherwise they have moved: the
recording is thrown away and, after some times, such an input is copied to a place of its own before
each replay.

What is wrong for a recording (inputs elsewhere than on the device, a changed input that moves, an
input's memory returned as another type) ends recording for good, with the reason in ``refused``.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from harness.runtime.launch.host import storage_uses

Run = Callable[[list[Any]], list[Any]]

_WARM = 2
"""Calls before a recording, for each set of sizes: kernels are compiled and tuned, libraries
choose theirs."""
_MOST, _SIZES = 32, 4
"""Recordings of one graph at a time, and sets of sizes that have any: each has memory of its own.
As many are thrown away, and ``_MOVES`` a set, before a graph is given up."""
_MOVES = 4
"""After so many moves an input is copied. (Each costs a recording, a copy costs every step.)"""


Record = Callable[[Callable[[], list[Any]]], tuple[list[Any], Callable[[], None]]]
"""Records a function: what that returns, undefined until it has been replayed, and what replays
it."""


def cuda_graph(run: Callable[[], list[Any]]) -> tuple[list[Any], Callable[[], None]]:
    """A ``Record`` with memory of its own. Raises what a call that cannot be recorded raises."""
    graph: Any = torch.cuda.CUDAGraph()
    # Other threads go on: a data loader may allocate meanwhile.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        outputs = run()
    return outputs, graph.replay


_Place = tuple[int, tuple[int, ...]]


def _place(given: torch.Tensor | int) -> _Place:
    """Where a tensor is, and how it lies there; a size is its own place."""
    return (given, ()) if isinstance(given, int) else (given.data_ptr(), given.stride())


def _key(args: Iterable[Any]) -> tuple[int, ...]:
    """What tells sets of inputs apart: sizes, and which parameters are read."""
    known = (a.data_ptr() if isinstance(a, torch.nn.Parameter) else a for a in args)
    return tuple(a for a in known if isinstance(a, int))


def _once(tensor: torch.Tensor) -> torch.Tensor:
    """``tensor`` without what repeats, so that it can be written."""
    for dim in (n for n, stride in enumerate(tensor.stride()) if not stride):
        tensor = tensor.narrow(dim, 0, min(1, tensor.shape[dim]))
    return tensor


def _within(output: torch.Tensor, given: list[Any]) -> tuple[int, Callable[..., Any]] | None:
    """The input that ``output`` is or lies in, and what makes it of another call's inputs."""
    storage = output.untyped_storage().data_ptr() if output.numel() else None
    for at in (n for n, tensor in enumerate(given) if tensor is output):
        return at, operator.itemgetter(at)
    tensors = [(n, t) for n, t in enumerate(given) if isinstance(t, torch.Tensor)]
    if not (holding := [n for n, t in tensors if t.untyped_storage().data_ptr() == storage]):
        return None
    at, shape, stride = holding[0], output.shape, output.stride()
    offset = output.storage_offset() - given[at].storage_offset()
    return at, lambda a: a[at].as_strided(shape, stride, a[at].storage_offset() + offset)


@dataclass(eq=False, slots=True)
class _Recording:
    replay: Callable[[], None]
    outputs: list[Any]
    within: dict[int, Callable[..., Any]]  # what makes outputs of inputs
    places: list[_Place]
    memory: dict[int, Any]  # of the inputs
    nbytes: list[int]
    key: tuple[int, ...]  # as of ``_key``
    copies: dict[int, torch.Tensor]
    idle: dict[int, tuple[int, int]] = field(default_factory=dict)  # uses when nobody else has any

    def moved(self, places: Sequence[_Place]) -> list[int]:
        """Inputs that are elsewhere than at ``places`` and not copied."""
        if places == self.places:
            return []
        pairs = enumerate(zip(places, self.places, strict=True))
        return [n for n, (new, old) in pairs if new != old and n not in self.copies]

    def is_set_of(self, moved: Sequence[int], args: Iterable[Any]) -> bool:
        """Whether its inputs, but for those that have ``moved``, are still those of ``args``."""
        if self.key != _key(args):
            return False
        if any(isinstance(a, torch.nn.Parameter) for a in args):
            return True
        return all(self.memory[n].expired() for n in moved) or 2 * sum(
            self.nbytes[n] for n in moved
        ) <= sum(self.nbytes)

    def uses(self) -> dict[int, tuple[int, int]]:
        """Of the memory of each output, and where that is (a caller may resize it)."""
        outputs = enumerate(self.outputs)
        return {n: (storage_uses(o), o.data_ptr()) for n, o in outputs if o is not None}

    def held(self) -> set[int]:
        """Outputs that somebody uses."""
        return {n for n, use in self.uses().items() if use != self.idle[n]}


@dataclass(eq=False, slots=True)
class Recorded:
    """``run`` as ``record`` records it. ``changed`` are positions of inputs that it writes; the
    first ``kept`` outputs are the caller's (None: all). ``replays`` and ``plain`` count calls."""

    run: Run
    record: Record
    changed: frozenset[int] = frozenset()
    kept: int | None = None
    refused: str = ""
    replays: int = 0
    plain: int = 0
    _in_vain: int = 0
    _calls: dict[tuple[int, ...], int] = field(default_factory=dict)  # by sizes
    _sizes: set[tuple[int, ...]] = field(default_factory=set)  # that are recorded
    _moves: dict[tuple[tuple[int, ...], int], int] = field(default_factory=dict)  # by sets
    _copied: set[int] = field(default_factory=set)  # outputs
    _made: list[_Recording] = field(default_factory=list)

    def __call__(self, args: list[Any]) -> list[Any]:
        """The outputs; ``args`` is emptied."""
        if not self.refused:
            sizes = tuple(a for a in args if isinstance(a, int))
            self._calls[sizes] = calls = self._calls.get(sizes, 0) + 1
            if calls > _WARM and len(self._sizes) < _SIZES:
                self._sizes.add(sizes)
            made = self._idle(args) if sizes in self._sizes else None
            if made is not None:
                return self._replayed(made, args)
        self.plain += 1
        return self.run(args)

    def _idle(self, args: list[Any]) -> _Recording | None:
        """A recording that reads ``args`` and whose outputs nobody uses, the oldest (what reads its
        outputs finds them where they were in the step before); made now if there is none."""
        if self._made:
            places = [_place(a) for a in args]
            busy = [made for made in self._made if not made.moved(places)]
            for made in busy:
                if made.uses() == made.idle:
                    return made
                if self._callers(held := made.held()):
                    self._copied |= held
                    self._made.remove(made)
            if not busy:
                self._forget(args, places)
            elif len(self._made) >= _MOST:
                return None
        return self._new(args)

    def _callers(self, held: set[int]) -> bool:
        """Whether of these outputs all are for callers, none for a backward graph to come."""
        return self.kept is None or all(n < self.kept for n in held)

    def _forget(self, args: list[Any], places: Sequence[_Place]) -> None:
        """Throw away recordings of the set that ``places`` are now, but for those that a backward
        graph is to come for; if there are too many, the one from which the fewest have moved."""
        moved = {n: made.moved(places) for n, made in enumerate(self._made)}
        same = [n for n, at in moved.items() if self._made[n].is_set_of(at, args)]
        gone = [n for n in same if self._callers(self._made[n].held())]
        if not gone and len(self._made) >= _MOST:
            gone = [min(moved, key=lambda n: len(moved[n]))]
        for key in {(self._made[n].key, at) for n in gone for at in moved[n]}:
            self._moves[key] = self._moves.get(key, 0) + 1
        self._made = [made for n, made in enumerate(self._made) if n not in gone]
        self._in_vain += len(gone)

    def _new(self, args: list[Any]) -> _Recording | None:
        now = _key(args)
        copied = {n for (key, n), moves in self._moves.items() if key == now and moves >= _MOVES}
        self.refused = self._reason(args, copied)
        if self.refused:
            return None
        try:
            made = self._recorded(args, copied)
        except (RuntimeError, torch.AcceleratorError) as error:
            self.refused = f"the device refuses: {error}"
            self._made.clear()  # whose memory may be what is missing
            return None
        if made is not None:
            made.idle = made.uses()
            self._made.append(made)
        return made

    def _reason(self, args: Iterable[Any], copied: set[int]) -> str:
        if self._in_vain >= _MOST + _MOVES * min(_MOST, len({key for key, _ in self._moves})):
            return f"its inputs move: {self._in_vain} recordings were made in vain"
        if copied & self.changed:
            return "an input that it changes moves"
        tensors = [a for a in args if not isinstance(a, int)]
        devices = {a.device if isinstance(a, torch.Tensor) else None for a in tensors}
        if len(devices) > 1 or None in devices:
            return "its inputs are not all on one device"
        return ""

    def _recorded(self, args: list[Any], copied: set[int]) -> _Recording | None:
        copies = {}
        for n, a in ((n, args[n]) for n in copied):
            copies[n] = torch.empty_strided(a.shape, a.stride(), dtype=a.dtype, device=a.device)
        given = [copies.get(n, a) for n, a in enumerate(args)]
        outputs, replay = self.record(lambda: self.run([*given]))
        within: dict[int, Callable[..., Any]] = {}
        for number, output in enumerate(outputs):
            if isinstance(output, int):  # made of sizes, which are this recording's
                within[number] = functools.partial(lambda size, _args: size, output)
            elif output is not None and (found := _within(output, given)):
                at, within[number] = found
                kind = output.dtype, output.is_conj(), output.is_neg()
                if kind != (args[at].dtype, False, False):
                    self.refused = "an output is an input's memory as another type"
                    return None
        places = [_place(a) for a in args]
        tensors = [(n, a) for n, a in enumerate(args) if not isinstance(a, int)]
        memory = {n: StorageWeakRef(a.untyped_storage()) for n, a in tensors}
        nbytes = [0 if isinstance(a, int) else a.nbytes for a in args]
        outputs = [None if n in within else o for n, o in enumerate(outputs)]
        return _Recording(replay, outputs, within, places, memory, nbytes, _key(args), copies)

    def _replayed(self, made: _Recording, args: list[Any]) -> list[Any]:
        for number, copy in made.copies.items():
            _once(copy).copy_(_once(args[number]))
        made.replay()
        self.replays += 1
        found: list[Any] = []
        for number, output in enumerate(made.outputs):
            if number in made.within:
                found.append(made.within[number](args))
            elif output is None:
                found.append(None)
            elif number in self._copied or (output.numel() == 1 and self._callers({number})):
                found.append(output.clone(memory_format=torch.preserve_format))
            else:
                found.append(output.detach())
        args.clear()
        return found
