"""The tuning cache: configurations that were tuned, beside the compiled kernels; lookup tables.

An entry is found by what decides a configuration: the kernel's source, its list of candidates,
the device as its driver shows it, and the versions of Triton, torch and the driver. It is
written atomically, carries a checksum and repeats its key, so that an entry that is torn,
from an older version, or from elsewhere is recognised: it is ignored, with one warning, and
the kernel is tuned again.

A lookup table gives configurations ahead of time, on whatever device: a JSON file that people may
keep under version control, one entry a kernel, found by its source with the name and white space
taken out.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from harness.errors import RecordError
from harness.files import read_error, write_atomically
from harness.heuristics.facts import Config
from harness.records.trials import Tuned
from harness.runtime import module as modules
from harness.runtime.compile.cache import checksum, sealed, unsealed

FORMAT = 6
"""Raise when an old entry would be misread (5 has quick kernels' times with the launch floor)."""
TABLE_FORMAT = 2
"""The format of lookup tables."""

T = TypeVar("T")
Warn = Callable[[str], None]
_DRIVER = Path("/proc/driver/nvidia/version")
_PROPERTIES = (
    "name major minor multi_processor_count total_memory L2_cache_size regs_per_multiprocessor "
    "shared_memory_per_block_optin shared_memory_per_multiprocessor clock_rate gcnArchName "
    "max_threads_per_multi_processor warp_size memory_clock_rate memory_bus_width"
).split()


@functools.lru_cache(maxsize=8)
def device_identity(index: int = 0) -> tuple[tuple[str, str], ...]:
    """The CUDA device ``index`` as its driver shows it, with the versions that decide which binary
    it runs. Two devices that agree in this have the same tuning_cache."""
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
class TuningCache:
    """Entries below ``folder`` for one device. ``device`` is its identity. Each kind of trouble
    is told to ``warn`` once in the life of this object; none of it is an error."""

    folder: Path
    device: tuple[tuple[str, str], ...]
    warn: Warn = warn_once
    _told: set[str] = field(default_factory=set)

    def key(self, loaded: modules.LoadedModule, deterministic: bool = False) -> dict[str, Any]:
        """What decides the configuration of ``loaded``."""
        # The candidates' order counts: the first is the default.
        candidates = json.dumps([modules.config_dict(c) for c in loaded.configs])
        return {
            "format": FORMAT,
            "launch": loaded.launch_hash,
            "candidates": hashlib.sha256(candidates.encode()).hexdigest()[:40],
            "device": dict(self.device),
            "deterministic": deterministic,
        }

    def path(self, key: Mapping[str, Any]) -> Path:
        """Where the entry of ``key`` lies."""
        return self.folder / f"{checksum(key)[:40]}.json"

    def get(
        self, loaded: modules.LoadedModule, search: str = "", deterministic: bool = False
    ) -> Tuned | None:
        """The tuning kept for ``loaded``, if there is one made with ``search`` (empty: with any).
        A damaged, old or foreign entry counts as none."""
        key = self.key(loaded, deterministic)
        return self.read(key, lambda body: _tuning(body, search, loaded.configs))

    def read(self, key: Mapping[str, Any], understand: Callable[[dict[str, Any]], T]) -> T | None:
        """What ``understand`` makes of the entry of ``key``; None where there is none."""
        path = self.path(key)
        try:
            body = unsealed(path.read_bytes())
            if body["key"] != key:
                raise ValueError("it belongs to another kernel, device or version")
            return understand(body)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._tell("read", f"{path} cannot be read ({error.strerror or error})")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            said = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            self._tell("damaged", f"{path} is ignored: {said or type(error).__name__}")
        return None

    def put(
        self,
        loaded: modules.LoadedModule,
        tuned: Tuned,
        search: str = "",
        deterministic: bool = False,
    ) -> None:
        """Keep ``tuned``, unless the tuning ended early."""
        if not tuned.partial and tuned.source in ("timed", "only candidate"):
            body = {"search": search, "tuned": msgspec.to_builtins(tuned)}
            self.write(self.key(loaded, deterministic), body)

    def write(self, key: dict[str, Any], body: Mapping[str, Any]) -> None:
        """Keep ``body`` as the entry of ``key``, if the folder can be written."""
        try:
            write_atomically(self.path(key), sealed({"key": key, **body}))
        except RecordError as error:
            self._tell("write", f"{error.where} cannot be written ({error.got})")

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


def _tuning(body: Mapping[str, Any], search: str, candidates: tuple[Config, ...]) -> Tuned | None:
    if search and body["search"] != search:
        return None
    found = msgspec.convert(body["tuned"], Tuned)
    fields = modules.config_dict(candidates[0])
    for one in (modules.config_dict(found.config), *(trial.config for trial in found.trials)):
        if one.keys() != fields.keys():
            raise ValueError("its configuration has other fields than the kernel")
    # Sealing sorts the keys.
    trials = (replace(t, config={name: t.config[name] for name in fields}) for t in found.trials)
    return replace(found, trials=tuple(trials), source="cache")


@dataclass(frozen=True, slots=True)
class LookupTable:
    """Configurations by the hash of a launch; ``where`` is the file, for messages."""

    format: int
    kernels: dict[str, dict[str, int]]
    where: str = ""

    @classmethod
    def load(cls, path: Path | None) -> LookupTable | None:
        """Read a table, if one is named. Raises ``RecordError`` for a file that is none."""
        if path is None:
            return None
        try:
            found = msgspec.json.decode(path.read_bytes(), type=cls)
            if found.format != TABLE_FORMAT:
                raise ValueError(f"format {found.format}")
        except (OSError, ValueError) as error:
            remedy = "write it with `harness tune GRAPH --save-table FILE`"
            raise read_error(path, error, "a lookup table of configurations", remedy) from error
        return replace(found, where=str(path))

    def get(self, loaded: modules.LoadedModule) -> Config | None:
        """The configuration for ``loaded``; None if the table has none. Raises ``RecordError`` for
        one with other fields than the kernel's."""
        if (values := self.kernels.get(loaded.launch_hash)) is None:
            return None
        names = list(modules.config_dict(loaded.configs[0]))
        if sorted(values) != sorted(names):
            raise RecordError(
                "a lookup table's configuration does not fit its kernel",
                where=f"{self.where}: {loaded.name}",
                got=", ".join(values),
                expected=", ".join(names),
                remedy="remove the entry, or tune the kernel again",
            )
        return modules.config_from_dict({n: values[n] for n in names})

    def save(self, path: Path) -> None:
        """Write the table, entries in the order of their hashes. Raises ``RecordError``."""
        kernels = dict(sorted(self.kernels.items()))
        text = json.dumps({"format": self.format, "kernels": kernels}, indent=1)
        write_atomically(path, text.encode() + b"\n", own=False)
