"""What ``torch.compile(…, backend="harness", options={…})`` may say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import UsageError, nearest
from harness.runtime.tune.autotune import Settings
from harness.runtime.tune.search import SEARCHES

_TUNING = ("tune", "deterministic", "tuning_table")


@dataclass(frozen=True, slots=True)
class Tuning:
    """How kernels on CUDA get their configurations: by the search called so (None: nothing is
    timed), or from a file."""

    search: str | None = None
    deterministic: bool = False
    table: Path | None = None

    @property
    def settings(self) -> Settings:
        """What the tuner is told."""
        return Settings(SEARCHES[self.search or "none"](), self.deterministic)


def parsed(given: Mapping[str, Any], switches: Sequence[str]) -> tuple[dict[str, bool], Tuning]:
    """The ``switches`` that are ``given``, and how to tune. Raises ``UsageError``."""
    known = (*switches, *_TUNING)
    for name, value in given.items():
        if name not in known:
            what = "the backend does not know this option"
            remedy = "make a harness.backend.Compiler and pass it as the backend"
            raise _wrong(what, name, known, remedy)
        if name not in ("tune", "tuning_table") and not isinstance(value, bool | int):
            what = f"the option {name} is a switch"
            raise _wrong(what, repr(value), ("True", "False"), "say which")
    tune, table = given.get("tune", False), given.get("tuning_table")
    if tune is not True and tune is not False and tune not in SEARCHES:
        what = "the option tune is no way to tune"
        raise _wrong(what, str(tune), ("True", "False", *SEARCHES), "name one of these")
    if table is not None and not isinstance(table, str | Path):
        raise _wrong("the option tuning_table is a file", repr(table), ("a path",), "name the file")
    search = {True: "none", False: None}.get(tune, tune)
    file = None if table is None else Path(table).absolute()
    tuning = Tuning(search, bool(given.get("deterministic", False)), file)
    return {name: bool(given[name]) for name in switches if name in given}, tuning


def _wrong(what: str, got: str, expected: Sequence[str], remedy: str) -> UsageError:
    near = nearest(got, expected)
    where = 'torch.compile(…, backend="harness", options={…})'
    remedy = f"did you mean {near[0]}?" if near else remedy
    return UsageError(what, where, got, ", ".join(expected), remedy)
