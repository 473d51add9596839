"""The worker process that times two kernels against each other, in turns, on one device.

Both get the same random contents; kernels whose arguments are described alike get the same
tensors, so that where memory happens to lie is no difference between them. Groups of
kernels are launched one after the other, as often as their graph launches them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from harness.bench.machine import fingerprint
from harness.bench.measure import release
from harness.bench.on_device import no_device
from harness.bench.record import Machine
from harness.bench.timer import METHOD, CudaTimer
from harness.errors import CompileFailed, HarnessError, NoDevice
from harness.runtime import module as modules
from harness.runtime.device import current_target
from harness.runtime.launcher import Launcher
from harness.runtime.static import reason
from harness.runtime.timing import Launch, Samples, Timer, Work
from harness.runtime.worker import Handler, Unusable
from harness.target import Target

ROLE = "harness.bench.on_pairs:handlers"


@dataclass(frozen=True, slots=True)
class Contender:
    """A kernel: its module's text, its configuration (None: the module's best guess), how often it
    is launched."""

    module_text: str
    config: dict[str, int] | None = None
    launches: int = 1


@dataclass(frozen=True, slots=True)
class Duel:
    """Kernels of A against kernels of B. ``a_first`` says which is named first; ``seed`` makes the
    arguments; ``budget_ms`` is wall clock, ``width`` what each median's interval should be
    narrower than (a share)."""

    a: tuple[Contender, ...]
    b: tuple[Contender, ...]
    a_first: bool
    seed: int
    budget_ms: float
    width: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one process measured of a duel."""

    a: Samples
    b: Samples


@dataclass(frozen=True, slots=True)
class Ring:
    """The device as the worker found it."""

    target: Target
    machine: Machine
    method: str


@dataclass(eq=False, slots=True)
class PairWorker:
    """What the process does. Nothing touches the GPU before ``open``."""

    cache: Path | None
    _ring: Ring | None = None
    _timer: Timer = field(init=False)

    def open(self, _: object = None) -> Ring:
        """Take the device, once. Raises ``NoDevice``."""
        if self._ring is None:
            try:
                self._timer = CudaTimer()
                self._ring = Ring(current_target(), fingerprint(), METHOD)
            except (RuntimeError, NoDevice) as error:
                raise Unusable(no_device(error)) from error
        return self._ring

    def fight(self, duel: Duel) -> Outcome:
        """Time both sides in turns. Raises ``HarnessError`` where one of them cannot run."""
        target = self.open().target
        try:
            return timed(duel, self._timer, target, self.cache)
        except (RuntimeError, ValueError, TypeError) as error:
            raise self._judged(
                HarnessError("a kernel could not be timed", got=reason(error))
            ) from error
        except HarnessError as error:
            raise self._judged(error) from error
        finally:
            release("cuda")

    def _judged(self, error: HarnessError) -> Exception:
        """``error``, or ``Unusable`` with it if the device's context is lost."""
        try:
            torch.cuda.synchronize()
        except RuntimeError:
            return Unusable(error)
        return error


def timed(
    duel: Duel, timer: Timer, target: Target, cache: Path | None, device: str = "cuda"
) -> Outcome:
    """Both sides' samples, taken in turns with ``timer``."""
    folder = None if cache is None else cache / "modules"
    shared: dict[str, modules.Arguments] = {}
    launches: dict[str, Launch] = {}
    for name in ("a", "b") if duel.a_first else ("b", "a"):
        side = duel.a if name == "a" else duel.b
        launches[name] = _launch(side, shared, duel.seed, folder, target, cache, device)
    found = timer.compare(launches, duel.budget_ms, duel.width)
    return Outcome(found["a"], found["b"])


def _launch(
    side: Sequence[Contender],
    shared: dict[str, modules.Arguments],
    seed: int,
    folder: Path | None,
    target: Target,
    cache: Path | None,
    device: str,
) -> Launch:
    """One side as a launch: a ``Work`` where it is a single kernel launched once."""
    works = []
    for contender in side:
        loaded = modules.load(contender.module_text, folder)
        key = repr((getattr(loaded.raw, "ARGS", None), loaded.outputs))
        if key not in shared or not hasattr(loaded.raw, "ARGS"):
            shared[key] = loaded.get_args(device=device, seed=seed)
        config = loaded.configs[0]
        if contender.config is not None:
            config = modules.config_from_dict(contender.config)
        launcher = Launcher(loaded, config, target, cache)
        _require_fit(launcher, loaded)
        works.append((Work(launcher, shared[key]), contender.launches))
    if len(works) == 1:
        return works[0][0]

    def launch() -> None:
        for work, times in works:
            for _ in range(times):
                work()

    return launch


def _require_fit(launcher: Launcher, loaded: modules.LoadedModule) -> None:
    try:
        launcher.prepare()
    except CompileFailed as error:
        error.where = error.where or loaded.name
        raise


def handlers(cache: str | None) -> dict[str, Handler]:
    """The jobs of a worker that times pairs."""
    worker = PairWorker(None if cache is None else Path(cache))
    return {"open": worker.open, "fight": worker.fight}
