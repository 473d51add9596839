"""The disk cache of tuned configurations, beside the compiled kernels.

An entry is found by what decides a configuration: the kernel's source, its list of candidates,
the device as its driver shows it, and the versions of Triton, torch and the driver. It is
written atomically, carries a checksum and repeats its key, so that an entry that is torn,
from an older version, or from elsewhere is recognised: it is ignored, with one warning, and
the kernel is tuned again.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import RecordError
from harness.files import write_atomically
from harness.heuristics.facts import Config
from harness.records.timing import Samples
from harness.records.trials import Origin, Resources, Trial, Tuned
from harness.runtime import module as modules
from harness.runtime.compile.cache import sealed, unsealed

FORMAT = 2
"""Raise when an old entry would be misread. 2: binaries are named by what they execute."""

Warn = Callable[[str], None]
_DRIVER = Path("/proc/driver/nvidia/version")
_PROPERTIES = (
    "name",
    "major",
    "minor",
    "multi_processor_count",
    "total_memory",
    "L2_cache_size",
    "regs_per_multiprocessor",
    "shared_memory_per_block_optin",
    "shared_memory_per_multiprocessor",
    "max_threads_per_multi_processor",
    "warp_size",
    "clock_rate",
    "memory_clock_rate",
    "memory_bus_width",
    "gcnArchName",
)


def source_hash(text: str, name: str) -> str:
    """Names a kernel by what it computes and on what: the emitted module from its argument types
    to its grid, without the kernel's name and all white space. What comes before and after (where
    it is from, candidates, how its arguments are drawn and its results checked) moves no time.
    A hand-written kernel's arguments are made by a function further down, so all of it counts."""
    start = max(0, text.find("\nSIGNATURE"))
    end = text.find("\n\n\n", text.find("\ndef grid("))
    listed = (
        text.find("\nARGS = [", start, end) >= 0 or text.find("\ndef arg_rows(", start, end) >= 0
    )
    body = text[start : end if listed else None].replace(name, "")
    return hashlib.sha256(re.sub(r"\s+", "", body).encode()).hexdigest()[:40]


def candidates_hash(configs: tuple[Config, ...]) -> str:
    """Names a list of candidates; the order counts, since the first is the best guess."""
    text = json.dumps([modules.config_dict(c) for c in configs])
    return hashlib.sha256(text.encode()).hexdigest()[:40]


@functools.lru_cache(maxsize=8)
def device_identity(index: int = 0) -> tuple[tuple[str, str], ...]:
    """The CUDA device ``index`` as its driver shows it, with the versions that decide which binary
    it runs. Two devices that agree in this have the same winners."""
    import torch
    import triton

    found = torch.cuda.get_device_properties(index)
    parts = {n: str(getattr(found, n)) for n in _PROPERTIES if hasattr(found, n)}
    parts |= {"driver": driver_version(), "cuda": str(torch.version.cuda)}
    parts |= {"torch": torch.__version__, "triton": triton.__version__}
    return tuple(sorted(parts.items()))


def driver_version(path: Path = _DRIVER) -> str:
    """The NVIDIA kernel driver's version; empty where there is none."""
    try:
        found = re.search(r"Kernel Module.*?(\d+\.\d+(?:\.\d+)?)", path.read_text())
    except OSError:
        return ""
    return found.group(1) if found else ""


def warn_once(text: str) -> None:
    """Say ``text`` through Python's warnings."""
    warnings.warn(text, RuntimeWarning, stacklevel=3)


@dataclass(eq=False, slots=True)
class Winners:
    """Entries below ``folder`` for one device. ``device`` is its identity. Each kind of trouble
    is told to ``warn`` once in the life of this object; none of it is an error."""

    folder: Path
    device: tuple[tuple[str, str], ...]
    warn: Warn = warn_once
    _told: set[str] = field(default_factory=set)

    def __getstate__(self) -> tuple[Path, tuple[tuple[str, str], ...]]:
        return (self.folder, self.device)

    def __setstate__(self, state: tuple[Path, tuple[tuple[str, str], ...]]) -> None:
        self.folder, self.device = state
        self.warn, self._told = warn_once, set()

    def key(self, loaded: modules.LoadedModule, deterministic: bool = False) -> dict[str, Any]:
        """What decides the winner of ``loaded``."""
        return {
            "format": FORMAT,
            "source": source_hash(loaded.text, loaded.name),
            "candidates": candidates_hash(loaded.configs),
            "device": dict(self.device),
            "deterministic": deterministic,
        }

    def path(self, key: Mapping[str, Any]) -> Path:
        """Where the entry of ``key`` lies."""
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:40]
        return self.folder / f"{digest}.json"

    def get(
        self, loaded: modules.LoadedModule, search: str = "", deterministic: bool = False
    ) -> Tuned | None:
        """The tuning kept for ``loaded``, if there is one made with ``search`` (empty: with any).
        A damaged, old or foreign entry counts as none."""
        key = self.key(loaded, deterministic)
        path = self.path(key)
        try:
            body = _read(path, key)
            if body is None or (search and body["search"] != search):
                return None
            return _tuned(body, loaded.configs)
        except OSError as error:
            self._tell("read", f"{path} cannot be read ({error.strerror or error})")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._tell("damaged", f"{path} is ignored: {_said(error)}")
        return None

    def put(
        self,
        loaded: modules.LoadedModule,
        tuned: Tuned,
        search: str = "",
        deterministic: bool = False,
    ) -> bool:
        """Keep ``tuned``; whether it could be. A tuning that ended early is not kept."""
        if tuned.partial or tuned.source not in ("timed", "only candidate"):
            return False
        key = self.key(loaded, deterministic)
        body = {"key": key, "search": search, **_values(tuned)}
        try:
            write_atomically(self.path(key), sealed(body))
        except RecordError as error:
            self._tell("write", f"{error.where} cannot be written ({error.got})")
            return False
        return True

    def reject(self, loaded: modules.LoadedModule, why: str) -> None:
        """Say that an entry that was read does not hold any more."""
        self._tell("stale", f"the entry of {loaded.name} is stale: {why}")

    def _tell(self, kind: str, text: str) -> None:
        if kind not in self._told:
            self._told.add(kind)
            self.warn(
                f"cache of tuned configurations: {text}; kernels concerned are tuned again "
                "(further ones are not mentioned)"
            )


def _read(path: Path, key: Mapping[str, Any]) -> dict[str, Any] | None:
    """An entry's contents, None where there is no file; ``ValueError`` for a file that is not
    this key's entry."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    body = unsealed(data)
    if body["key"] != key:
        raise ValueError("it belongs to another kernel, device or version")
    return body


def _values(tuned: Tuned) -> dict[str, Any]:
    return {
        "config": modules.config_dict(tuned.config),
        "seconds": tuned.seconds,
        "found_by_coordesc": tuned.found_by_coordesc,
        "artifact": tuned.artifact,
        "noise": tuned.noise,
        "trials": [trial_values(t) for t in tuned.trials],
    }


def trial_values(trial: Trial) -> dict[str, Any]:
    """``trial`` as plain values."""
    samples = trial.samples
    needs = trial.resources
    return {
        "config": modules.config_dict(trial.config),
        "origin": trial.origin.value,
        "samples_ms": [] if samples is None else list(samples.ms),
        "method": "" if samples is None else samples.method,
        "level": trial.level,
        "registers": needs.registers,
        "spills": needs.spills,
        "shared": needs.shared,
        "artifact": needs.artifact,
        "reason": trial.reason,
    }


def trial_from_values(values: Mapping[str, Any], like: Config) -> Trial:
    """The inverse of ``trial_values``; fields are in the order of ``like``'s."""
    ms = tuple(float(v) for v in values["samples_ms"])
    needs = (values["registers"], values["spills"], values["shared"], values["artifact"])
    return Trial(
        _config(values["config"], like),
        Samples(ms, method=values["method"], stopped="race") if ms else None,
        values["reason"],
        Origin(values["origin"]),
        Resources(*needs),
        values["level"],
    )


def _tuned(body: Mapping[str, Any], candidates: tuple[Config, ...]) -> Tuned:
    like = candidates[0]
    return Tuned(
        _config(body["config"], like),
        tuple(trial_from_values(t, like) for t in body["trials"]),
        float(body["seconds"]),
        bool(body["found_by_coordesc"]),
        float(body["noise"]),
        "cache",
        str(body["artifact"]),
    )


def _config(values: Mapping[str, int], like: Config) -> Config:
    """A configuration out of JSON, which has no order of fields."""
    names = list(modules.config_dict(like))
    if set(names) != set(values):
        raise ValueError("its configuration has other fields than the kernel")
    return modules.config_from_dict({name: values[name] for name in names})


def _said(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it has no {error}"
    return str(error) or type(error).__name__
