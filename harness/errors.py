"""The catalogue of errors: every failure a user can meet is one of these, named for its condition.
Each says what happened, where, what was got, what was expected and what to do, and can be pickled
so that a worker process can hand it to its parent."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import astuple, dataclass

_ALIKE = 0.6
"""Least similarity (0 to 1) of a name worth proposing: difflib's own cutoff."""


def nearest(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Up to ``most`` of the ``known`` names that someone who typed ``name`` may have meant, best
    first; none if none is alike. A name is as alike as its most similar part, parts being its
    beginning, and what is separated by ``_``, ``.``, ``-`` or ``/``."""
    scored = [(_likeness(name.lower(), candidate.lower()), candidate) for candidate in known]
    alike = sorted((-score, candidate) for score, candidate in scored if score >= _ALIKE)
    return [candidate for _, candidate in alike[:most]]


def _likeness(name: str, candidate: str) -> float:
    whole = difflib.SequenceMatcher(None, candidate, name).ratio()
    parts = candidate.replace(".", "_").replace("-", "_").replace("/", "_").split("_")
    parts.append(candidate[: max(1, len(name))])
    # A part counts less than the whole, so that an exact whole comes first.
    best = max(difflib.SequenceMatcher(None, part, name).ratio() for part in parts)
    return max(whole, 0.9 * best)


def reason(error: BaseException) -> str:
    """An error as one line: its type, and its first and last line of text."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = " … ".join(lines if len(lines) < 2 else (lines[0], lines[-1]))
    return f"{type(error).__name__}: {text}"[:500]


@dataclass(eq=False)
class HarnessError(Exception):
    """Base of every error raised on purpose. ``what`` is one sentence naming the condition; the
    other fields are filled where they are known and left empty where they are not. ``step`` is what
    a job for a worker process was about to do, where it said so."""

    what: str
    where: str = ""
    got: str = ""
    expected: str = ""
    remedy: str = ""
    step: str = ""

    def __str__(self) -> str:
        more = {"got": self.got, "expected": self.expected, "what to do": self.remedy}
        lines = [f"  {label}: {text}" for label, text in more.items() if text]
        return "\n".join([f"{self.where}: {self.what}" if self.where else self.what, *lines])

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), astuple(self)


class UsageError(HarnessError):
    """The command line asks for something that makes no sense."""


class UnknownName(UsageError):
    """A graph, kernel, provider or machine by that name does not exist."""


def unknown(
    what: str,
    got: str,
    known: Iterable[str],
    where: str = "",
    remedy: str = "name one of these",
    most: int | None = 3,
) -> UnknownName:
    """That ``got`` is none of the ``known`` names: expected are the nearest ones, else the first
    ``most`` (None: all)."""
    names = list(known)
    return UnknownName(what, where, got, ", ".join(nearest(got, names) or names[:most]), remedy)


class GraphError(HarnessError):
    """A graph cannot be used as it stands."""


class DamagedGraph(GraphError):
    """A graph file does not parse, or its contents contradict each other."""


class CaptureFailed(HarnessError):
    """A model could not be turned into a graph."""


class UnsupportedOperator(HarnessError):
    """An operator has no lowering and cannot be called from a library."""


class InvalidProgram(HarnessError):
    """A program breaks a rule of the intermediate representation."""


class CompileFailed(HarnessError):
    """Triton or the assembler rejected a kernel."""


class NoTritonConfigsError(CompileFailed):
    """Every candidate configuration of a kernel failed."""


class GridTooLarge(CompileFailed):
    """A launch would need more programs than the device takes."""


class FellBack(HarnessError):
    """Torch runs what the compiler should have, and ``fail_on_fallback`` forbids it."""


class FallbackWarning(UserWarning):
    """Torch runs what the compiler should have: right results, without our kernels."""


class IndexOutOfRange(HarnessError, IndexError, RuntimeError):
    """A kernel reads or writes outside the tensors that it was given. Eager mode raises an
    ``IndexError`` for some operators and a ``RuntimeError`` for others."""


class DivisionByZero(HarnessError, RuntimeError):
    """A kernel divides an integer by zero on a CPU, where eager mode raises a ``RuntimeError``."""


class NotFinite(HarnessError, FloatingPointError):
    """A kernel read or wrote NaN, or an infinity, and an option forbids that."""


class LayoutWarning(UserWarning):
    """A kernel's inputs lie in memory in different orders, which costs bandwidth."""


class DumpWarning(UserWarning):
    """What was compiled could not be written where ``HARNESS_DUMP`` asks for it."""


class DamagedBinary(HarnessError):
    """A file is not a saved kernel, or a damaged one."""


class CheckFailed(HarnessError):
    """A kernel's result differs from its reference by more than allowed."""


class OutOfMemory(HarnessError):
    """The device or the host has too little memory: it says nothing about the kernel."""


class NoDevice(HarnessError):
    """A GPU is needed and none can be used."""


class CommitUnusable(HarnessError):
    """The compiler of another commit cannot be unpacked, imported or run."""


class DamagedCorpus(HarnessError):
    """A file of the corpus is damaged, missing, or of another version."""


class RecordError(HarnessError):
    """A run file cannot be read or written."""


class WorkerDied(HarnessError):
    """A worker process ended without an answer."""
