"""A file of hand-written kernels as an entry of a session, like a graph."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from harness.codegen.source import EmittedModule
from harness.errors import HarnessError
from harness.measure.peers.regions import Comparable
from harness.records.run import KernelRecord, one_line
from harness.session.model import Compiled, CompiledKernel


@dataclass(eq=False, slots=True)
class UserEntry:
    """The kernels that the file at ``path`` declares."""

    path: Path

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem

    def compile(self) -> Compiled:
        """Modules at the declared sizes. A declaration that does not fit is a failure of its
        own. Raises ``UsageError`` where the file as a whole cannot be used."""
        began = time.perf_counter()
        modules, failures = self.modules()
        return Compiled(
            tuple(CompiledKernel(m, (m.origins,), m.name) for m in modules),
            (),
            time.perf_counter() - began,
            tuple(failures),
            frozenset(m.name for m in modules),
            tuple(Comparable(m.name, m.text) for m in modules),
        )

    def compile_small(self) -> Compiled | None:
        """Modules at the small sizes, of those kernels that have some."""
        modules, _ = self.modules(small=True)
        return Compiled(tuple(CompiledKernel(m, (m.origins,), m.name) for m in modules), (), 0.0)

    def modules(self, small: bool = False) -> tuple[list[EmittedModule], list[KernelRecord]]:
        """The kernels' modules, and rows for those that have none. With ``small`` only kernels
        that have small sizes, or whose own are small."""
        from harness.handwritten.kernels import load_kernels
        from harness.handwritten.modules import emit

        file = load_kernels(self.path)
        failures = dict(file.failures)
        modules: list[EmittedModule] = []
        for kernel in file.kernels:
            if small and kernel.declaration.small is None and not _is_small(emit(kernel)):
                continue
            try:
                modules.append(emit(kernel, small))
            except HarnessError as error:
                failures[kernel.name] = error
        return modules, [_row(name, error) for name, error in failures.items()]


_SMALL_BYTES = 1 << 19
"""Most that a kernel may move to be interpreted at its own sizes; some seconds of work."""


def _is_small(module: EmittedModule) -> bool:
    return module.bytes_moved <= _SMALL_BYTES


def _row(name: str, error: HarnessError) -> KernelRecord:
    where = f" ({error.where})" if error.where else ""
    return KernelRecord(name, "user", 0, launches=0, reason=f"{one_line(error)}{where}")
