"""Options: the only place that reads the environment. A command builds one ``Options`` and passes
it down; nothing below looks an option up. Folders are absolute paths and need not exist yet."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from harness.errors import UsageError, unknown
from harness.files import read_text

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("", "0", "false", "no", "off")
_INSTALLED = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Options:
    """What a user can set from outside.

    ``cache`` holds what can be made again (compiled kernels, static metrics); ``results`` holds
    runs, which cannot; ``suites`` holds the graphs and suite declarations. ``jobs`` is the number
    of worker processes; ``color`` whether tables may be coloured, ``interactive`` whether progress
    bars may be drawn (both still need a terminal); ``target`` names the device kind kernels are
    compiled for where there is no GPU; ``verify`` whether the compiler checks every program that it
    makes; ``commit`` the commit that a run is recorded under where it is not to be, or cannot be,
    read off the checkout (``SHA``, or ``SHA-dirty`` for a tree that differs from it);
    ``tuning_table`` a file of launch configurations that are not to be tuned
    (``harness tune --save-table``).

    For programs compiled with ``torch.compile(…, backend="harness")``: ``trace`` marks every
    launch for ``torch.profiler``; ``bandwidth`` is a regular expression of the kernels that are
    timed the first time they run (empty: all, None: none), and ``bandwidth_file`` gets what is
    found besides the log; ``eager_random`` has torch draw all random numbers, as eager mode does;
    ``unchecked_indices`` leaves out the assertions that indices are in range; ``assert_no_nan``
    and ``assert_finite`` look at what every kernel reads and writes; ``warn_layouts`` warns of
    kernels whose inputs lie in memory in different orders; ``templates`` has large products of
    16-bit matrices generated, with what is fused to them, not called; ``many_tiles`` gives
    pointwise kernels as many tiles as can be; ``dump`` is a folder that gets a folder of readable
    files for every graph that is compiled."""

    cache: Path
    results: Path
    suites: Path
    jobs: int
    target: str = "sm_90"
    color: bool = True
    interactive: bool = True
    use_cache: bool = True
    verify: bool = False
    commit: str = ""
    tuning_table: Path | None = None
    trace: bool = False
    bandwidth: str | None = None
    bandwidth_file: Path | None = None
    dump: Path | None = None
    eager_random: bool = False
    unchecked_indices: bool = False
    assert_no_nan: bool = False
    assert_finite: bool = False
    warn_layouts: bool = False
    templates: bool = False
    many_tiles: bool = False

    @property
    def kept_cache(self) -> Path | None:
        """The cache folder; None where nothing is to be found or kept (HARNESS_NO_CACHE)."""
        return self.cache if self.use_cache else None


def from_environment(
    environ: Mapping[str, str], directory: Path, *, cores: int | None = None
) -> Options:
    """The options that ``environ`` asks for, seen from the folder ``directory``.

    ``HARNESS_CACHE``, ``HARNESS_RESULTS``, ``HARNESS_SUITES`` name folders (relative ones are
    relative to ``directory``); ``HARNESS_JOBS`` counts worker processes (default: the processor's
    cores); ``HARNESS_TARGET`` names a target; ``HARNESS_COMMIT`` is the commit that runs are
    recorded under; ``HARNESS_TUNING_TABLE`` names a table of configurations; ``HARNESS_DUMP`` a
    folder for what compilations make; ``CI`` and ``NO_COLOR`` count when they are set and not
    empty. ``HARNESS_NO_CACHE``, ``HARNESS_BANDWIDTH`` and those of ``_SWITCHES``
    (``HARNESS_VERIFY``, …) are switches; ``HARNESS_BANDWIDTH_KERNELS`` (a regular expression of
    kernels' names) and ``HARNESS_BANDWIDTH_FILE`` each turn the latter on. What the environment
    does not say, ``harness.toml`` or ``[tool.harness]`` of ``pyproject.toml`` may (``declared``).
    Raises ``UsageError`` for a value that makes no sense."""
    root = project_root(directory)
    own = (root / "suites").is_dir()
    seen = _Environment({**declared(directory), **environ}, directory)
    return Options(
        cache=seen.path("HARNESS_CACHE") or _cache_folder(environ),
        results=seen.path("HARNESS_RESULTS") or root / "results",
        suites=seen.path("HARNESS_SUITES") or (root if own else _INSTALLED) / "suites",
        jobs=seen.count("HARNESS_JOBS", cores or 1),
        target=seen.text("HARNESS_TARGET") or "sm_90",
        color=not seen.text("NO_COLOR"),
        interactive=seen.text("CI").lower() in _FALSE,  # services set it to all sorts
        use_cache=not seen.switch("HARNESS_NO_CACHE"),
        commit=seen.text("HARNESS_COMMIT").strip(),
        tuning_table=seen.path("HARNESS_TUNING_TABLE"),
        bandwidth=_bandwidth(seen),
        bandwidth_file=seen.path("HARNESS_BANDWIDTH_FILE"),
        dump=seen.path("HARNESS_DUMP"),
        **{name: seen.switch(f"HARNESS_{name.upper()}") for name in _SWITCHES},
    )


@dataclass(frozen=True, slots=True)
class _Environment:
    """Variables as what they stand for; a ``UsageError`` for one that makes no sense."""

    variables: Mapping[str, str]
    directory: Path

    def text(self, name: str) -> str:
        return self.variables.get(name, "")

    def path(self, name: str) -> Path | None:
        text = self.text(name)
        try:
            return self.directory / Path(text).expanduser() if text else None
        except RuntimeError as error:
            what = "a path is in the home folder of a user who does not exist"
            expected = "a path, which may begin with ~ or with ~ and a user's name"
            raise _wrong(name, what, repr(text), expected, "set it to another path") from error

    def count(self, name: str, default: int) -> int:
        text = self.text(name)
        if text and (not text.isdecimal() or int(text) < 1):
            what = "a number of worker processes makes no sense"
            expected = "a whole number from 1 up"
            raise _wrong(name, what, repr(text), expected, "set it to the number of cores to use")
        return int(text or default)

    def switch(self, name: str) -> bool:
        text = self.text(name).strip().lower()
        if text not in (*_TRUE, *_FALSE):
            expected = f"{', '.join(word for word in (*_TRUE, *_FALSE) if word)} or nothing"
            what = "a switch is neither on nor off"
            raise _wrong(name, what, repr(self.text(name)), expected, "set it to 1")
        return text in _TRUE


def _wrong(name: str, what: str, got: str, expected: str, remedy: str) -> UsageError:
    where = f"{name} of the environment or a file of defaults"
    return UsageError(what, where, got, expected, f"unset {name}, or {remedy}")


def _bandwidth(seen: _Environment) -> str | None:
    """The pattern of the kernels to time; None if nothing asks for it."""
    name = "HARNESS_BANDWIDTH_KERNELS"
    text = seen.text(name)
    asked = seen.switch("HARNESS_BANDWIDTH")
    if not asked and not text and not seen.text("HARNESS_BANDWIDTH_FILE"):
        return None
    try:
        re.compile(text)
    except re.error as error:
        what = "a pattern of kernels' names is not a regular expression"
        expected = "a regular expression, such as softmax|layer_norm"
        raise _wrong(name, what, f"{text!r}: {error}", expected, "mend the pattern") from error
    return text


def current() -> Options:
    """The options of this process: its environment, working directory and processor."""
    return from_environment(os.environ, Path.cwd(), cores=len(os.sched_getaffinity(0)))


_FOLDERS = ("cache", "results", "suites", "tuning-table", "bandwidth-file", "dump")
_SWITCHES = tuple(f.name for f in fields(Options) if f.type == "bool" and f.default is False)
"""Fields that are on where their variable, ``HARNESS_`` and their name, says so."""
_EXPECTED = {str: "text in quotes", bool: "true or false", int: "a number from 1 up"}
_KEYS: dict[str, type] = {
    **dict.fromkeys((*_FOLDERS, "target", "bandwidth-kernels"), str),
    **{name.replace("_", "-"): bool for name in ("no-cache", "bandwidth", *_SWITCHES)},
    "jobs": int,
}
"""What a project may declare, and of which type: the variables' names without ``HARNESS_``."""


def declared(directory: Path) -> dict[str, str]:
    """The variables that the nearest ``harness.toml``, or ``pyproject.toml`` with a table
    ``[tool.harness]``, sets from ``directory`` upwards. Paths are relative to that file. Raises
    ``UsageError`` for a file that is not TOML, and for a key or a value that makes no sense."""
    for folder in (directory, *directory.parents):
        for name in ("harness.toml", "pyproject.toml"):
            if (table := _table(folder / name)) is not None:
                return {
                    f"HARNESS_{key.upper().replace('-', '_')}": _text(folder / name, key, value)
                    for key, value in table.items()
                }
    return {}


def _table(path: Path) -> dict[str, Any] | None:
    what, others = "a file of defaults", path.name == "pyproject.toml"
    remedy = "correct the line, or remove the file"
    try:
        text = read_text(path, UsageError, what, "TOML", remedy) if path.is_file() else ""
    except UsageError:
        if not others:
            raise
        return None
    if not text or (others and "tool.harness" not in text):
        return None
    import tomllib

    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{what} is not TOML", str(path), str(error), remedy=remedy) from error
    found = found.get("tool", {}).get("harness") if others else found
    return found if isinstance(found, dict) else None


def _text(path: Path, key: str, value: Any) -> str:
    """A declared value as the variable would have it."""
    if (kind := _KEYS.get(key)) is None:
        remedy = "name one of these, or remove the line"
        raise unknown("there is no such default", key, sorted(_KEYS), str(path), remedy, most=None)
    wrong = type(value).__name__ != kind.__name__  # True is an int
    if wrong or (kind is int and value < 1):
        raise UsageError(
            "a default makes no sense",
            where=f"{path}: {key}",
            got=repr(value),
            expected=_EXPECTED[kind],
            remedy="change the value, or remove the line",
        )
    if key in _FOLDERS:
        return value if value.startswith("~") else str(path.parent / value)
    return str(int(value)) if kind is bool else str(value)


def project_root(directory: Path) -> Path:
    """The nearest folder from ``directory`` upwards that holds ``suites`` or ``results`` beside a
    ``pyproject.toml``; ``directory`` itself if there is none."""
    for folder in (directory, *directory.parents):
        if (folder / "pyproject.toml").is_file() and (folder / "suites").is_dir():
            return folder
    return directory


def _cache_folder(environ: Mapping[str, str]) -> Path:
    """Below the user's home; a user without one has a folder of their own in the temporary one."""
    import pwd

    if environ.get("XDG_CACHE_HOME"):
        return Path(environ["XDG_CACHE_HOME"]) / "harness"
    user = os.getuid()
    try:
        home = environ.get("HOME") or pwd.getpwuid(user).pw_dir
    except KeyError:
        return Path(tempfile.gettempdir()) / f"harness-{user}"
    return Path(home) / ".cache" / "harness"
