"""Kernels ready to launch on a CUDA device, each in one chosen configuration. The choice is the
first candidate that compiles and does not spill much; with a timer, the candidate that is fastest
on the arguments of the kernel's first call."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from harness.errors import CompileFailed, HarnessError, NoDevice, reason
from harness.heuristics.facts import Config
from harness.heuristics.limits import spill_limit
from harness.records.timing import Timer
from harness.runtime import module as modules
from harness.runtime.compile import binary as binaries
from harness.runtime.compile.static import CompileJob, CompilePool, untuned
from harness.runtime.launch.driver import cuda
from harness.runtime.launch.launcher import MOST_VARIANTS, Kernel, Launcher, launching
from harness.runtime.tune.autotune import CachingAutotuner, Settings, none_left
from harness.runtime.tune.race import failure
from harness.runtime.tune.tuning_cache import LookupTable, TuningCache
from harness.target import Target

LaunchOn = Callable[..., object]
"""``launch(stream, *args)`` enqueues a kernel."""
_FEW = 3
"""So few are left to their launches if there is no worker yet: starting one takes as long."""
_log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class SelectedKernels:
    """Kernels of the CUDA device number ``device`` by the text of their modules. ``cache`` is
    where binaries and module files are kept; with more than one of ``jobs``, kernels are
    compiled in that many processes.

    With a ``timer``, a configuration that ``tuning_cache`` knows is taken without timing.
    ``settings`` say how to tune; ``table`` knows better than either, with or without a timer.
    """

    target: Target
    timer: Timer | None = None
    cache: Path | None = None
    device: int = 0
    jobs: int = 1
    tuning_cache: TuningCache | None = None
    settings: Settings = field(default_factory=Settings)
    table: LookupTable | None = None
    _kernels: dict[str, SelectedKernel] = field(default_factory=dict)
    _launchers: dict[tuple[str, Config], Launcher] = field(default_factory=dict)
    ahead: Ahead = field(init=False)

    def __post_init__(self) -> None:
        self.ahead = Ahead(self.cache, self.jobs)

    def get(self, module_text: str) -> SelectedKernel:
        """The module's kernel. Nothing is compiled before its first launch."""
        if (found := self._kernels.get(module_text)) is None:
            found = self._kernels[module_text] = SelectedKernel(module_text, self)
        return found

    def prefetch(self, module_texts: Iterable[str], sizes: Mapping[str, int] | None = None) -> None:
        """Begin to compile in worker processes what the first launches of these modules, of
        ``sizes``, will need and the cache does not have: all candidates with a timer, else the
        default.

        Launches come in the order of the modules, so the workers begin with what takes longest and,
        of what is alike, at the other end.
        """
        if self.cache is not None and self.jobs > 1:
            texts = [*dict.fromkeys(module_texts)][::-1]
            jobs = [job for text in texts for job in self._missing(text, self.cache, sizes)]
            # What compiling takes follows the elements of a warp more than anything else.
            jobs.sort(key=lambda j: -(j.config.elements // j.config.num_warps) if j.config else 0)
            self.ahead.begin(jobs)

    def close(self) -> None:
        """End the worker processes."""
        self.ahead.close()

    def chosen(self) -> dict[str, Config]:
        """The configuration of every kernel that has been launched, by its name."""
        return {k.loaded.name: k.config for k in self._kernels.values() if k.config is not None}

    def candidates(self, loaded: modules.LoadedModule) -> list[Config]:
        """The module's candidates, first the table's, or the one that is known to spill less than
        those before it."""
        given = None if self.table is None else self.table.get(loaded)
        if given is None and not loaded.unknown_sizes:  # else candidates are of one launch
            given = untuned(loaded.text, self.target, self.cache)
        return list(dict.fromkeys((given or loaded.configs[0], *loaded.configs)))

    def launcher(self, loaded: modules.LoadedModule, config: Config) -> Launcher:
        """What launches ``loaded`` under ``config``."""
        key = (loaded.text, config)
        if key not in self._launchers:
            self._launchers[key] = Launcher(loaded, config, self.target, self.cache)
        return self._launchers[key]

    def _missing(
        self, module_text: str, cache: Path, sizes: Mapping[str, int] | None
    ) -> list[CompileJob]:
        kernel = self.get(module_text)
        loaded, known = kernel.loaded, sizes or {}
        if kernel.config is not None or not loaded.unknown_sizes.keys() <= known.keys():
            return []
        loaded = loaded.at(loaded.only_sizes(known), self.target)
        first, *others = self.candidates(loaded)
        jobs = {first: CompileJob(module_text, self.target, first, tuple(others))}
        if self.timer is not None:
            jobs = {c: CompileJob(module_text, self.target, c) for c in (first, *others)}
        names = {binaries.artifact(module_text, c, self.target): job for c, job in jobs.items()}
        return [job for name, job in names.items() if not binaries.path(cache, name).is_file()]


class SelectedKernel:
    """One kernel. ``kernel(stream, *args)`` enqueues it; the first time it is compiled, and
    with a timer tuned. Raises ``NoTritonConfigsError`` then when no candidate compiles."""

    def __init__(self, text: str, owner: SelectedKernels) -> None:
        self.text, self.owner, self.loaded = text, owner, modules.load(text, owner.cache)
        self.config: Config | None = None
        own = self._first_launch, self._misaligned, self._failed
        self.kernel: Kernel = launching(owner.cache)(*own)
        self._launchers: dict[tuple[int, ...], Launcher] = {}

    def _first_launch(self, stream: int, *args: Any) -> None:
        """Choose a configuration, then launch. Where there are sizes among the arguments, every
        launch comes here."""
        device = self.owner.device
        if (launcher := self._launchers.get(self.loaded.sizes(args))) is not None:
            launcher.launch(device, stream, *args)
        elif self._is_timed() and torch.cuda.is_current_stream_capturing():
            # Timing waits for the device, which a recording forbids: choose for this call only.
            config = self._first(self.loaded.at(args, self.owner.target))
            self.owner.launcher(self.loaded, config).launch(device, stream, *args)
        else:
            self.chosen(args)
            self.kernel(stream, *args)

    def _is_timed(self) -> bool:
        alone = len(self.loaded.configs) == 1 and self.owner.settings.search.name == "none"
        return self.owner.timer is not None and not alone

    def chosen(self, args: Sequence[Any]) -> Launcher:
        """What launches it from now on for sizes as in ``args``, in a configuration that is chosen
        the first time, with a timer on ``args``."""
        sizes = self.loaded.sizes(args)
        if sizes not in self._launchers:
            if len(self._launchers) >= MOST_VARIANTS:
                self._launchers.clear()
            loaded = self.loaded.at(args, self.owner.target)
            self.config = self._tuned(loaded, args) if self._is_timed() else self._first(loaded)
            self._launchers[sizes] = self.owner.launcher(self.loaded, self.config)
            if not sizes:
                self._launchers[sizes].bind(self.kernel, self.owner.device)
        return self._launchers[sizes]

    def _failed(self, code: int, tries: int) -> None:
        cuda().recover(code, tries, self.loaded.name, self.owner.device)

    def _misaligned(self, stream: int, *args: Any) -> None:
        self._launchers[self.loaded.sizes(args)].misaligned(self.owner.device, stream, *args)

    def _tuned(self, loaded: modules.LoadedModule, args: Sequence[Any]) -> Config:
        owner = self.owner
        tuner = CachingAutotuner(
            loaded, owner.target, owner.cache, owner.settings, owner.tuning_cache, owner.table
        )
        try:
            config = tuner.tune(args, owner.timer).config
            # The launch may be for another stream than the one on which arguments were put back.
            torch.cuda.synchronize()
            return config
        except torch.OutOfMemoryError as error:
            # The program itself may fit: only what tuning needs beside it does not.
            said = "%s is not tuned, and runs in its default configuration: %s"
            _log.warning(said, self.loaded.name, reason(error))
            return self._first(loaded)
        except (NoDevice, torch.AcceleratorError) as error:
            kept = len(self.owner.chosen())
            raise NoDevice(
                "the GPU was lost while a kernel was tuned",
                where=self.loaded.name,
                got=failure(error),
                expected="a device that answers until the kernel is tuned",
                remedy=f"start a new process; the {kept} kernels that were tuned before this one "
                "keep their configurations in the cache",
            ) from error

    def _first(self, loaded: modules.LoadedModule) -> Config:
        """The first candidate that compiles and does not spill much; else the one that spills
        least."""
        self.owner.ahead.take(self.text)
        spilling: dict[Config, int] = {}
        causes: dict[Config, str] = {}
        for config in self.owner.candidates(loaded):
            try:
                spills = self.owner.launcher(self.loaded, config).resources().spills
            except CompileFailed as error:
                causes[config] = error.got or error.what
                continue
            if spills <= spill_limit(self.owner.target):
                return config
            spilling[config] = spills
        if spilling:
            return min(spilling, key=lambda config: spilling[config])
        raise none_left(self.loaded.name, causes)


@dataclass(eq=False, slots=True)
class Ahead:
    """Compiles into ``cache``, in at most ``jobs`` processes, while this process does other things.
    A kernel is compiled once, by a worker or by its launch: that takes the kernel (``take``)."""

    cache: Path | None
    jobs: int
    _waiting: list[CompileJob] = field(default_factory=list)
    _workers: list[threading.Thread] = field(default_factory=list)
    _begun: dict[threading.Thread, str] = field(default_factory=dict)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _closed: bool = False
    _owner: int = field(default_factory=os.getpid)

    def begin(self, jobs: Sequence[CompileJob]) -> None:
        """Compile ``jobs``, which are in the order in which workers should begin them, after those
        of earlier graphs, which are launched first. Not in a fork, which has no workers."""
        if os.getpid() == self._owner and (self._workers or len(jobs) > _FEW):
            with self._changed:
                self._waiting += jobs
                self._changed.notify_all()
                for _ in range(min(self.jobs, len(self._waiting) // 2) - len(self._workers)):
                    # A daemon, so that the end of the program waits for nothing compiled ahead.
                    thread = threading.Thread(target=self._serve, daemon=True)
                    thread.start()
                    self._workers.append(thread)

    def take(self, module_text: str) -> None:
        """Leave a kernel to this process: no worker begins it any more, and one that has begun it
        is waited for, which ends sooner than what would begin only now."""
        if os.getpid() == self._owner:  # a fork has no thread that it could hear
            with self._changed:
                self._waiting = [job for job in self._waiting if job.module_text != module_text]
                self._changed.wait_for(lambda: module_text not in self._begun.values())

    def close(self) -> None:
        """End the worker processes, if they are this process's."""
        if os.getpid() != self._owner:
            return
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in [*self._workers]:
            thread.join()

    def _serve(self) -> None:
        try:
            with CompilePool(1, self.cache) as pool:
                while (job := self._next()) is not None:
                    ((_, error),) = pool.each([job])
                    if error is not None:
                        _log.info("%s: %s", modules.text_hash(job.module_text), error)
        except (HarnessError, OSError) as error:  # no worker: launches compile for themselves
            _log.warning("kernels are not compiled ahead: %s", error)
        finally:
            with self._changed:
                self._begun.pop(me := threading.current_thread(), None)
                self._workers.remove(me)
                self._changed.notify_all()

    def _next(self) -> CompileJob | None:
        """What this thread compiles next, as soon as there is something; None at the end."""
        with self._changed:
            self._begun.pop(me := threading.current_thread(), None)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting or self._closed)
            if self._closed:
                return None
            self._begun[me] = (job := self._waiting.pop(0)).module_text
            return job
