"""Benchmarks for asv. A commit is measured once, in ``setup_cache``; the rest looks up.

``setup_cache`` runs in the working tree's package on what the commit's compiler emitted. A
version names the way of measuring: asv compares no two values of different versions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from harness import options
from suites.tracking.measure import CODEGEN_METHOD, STATIC_METHOD, collect, look_up
from suites.tracking.overlay import overlay

from .declared import WANTED  # noqa: TID252 - asv decides what this package is called

F = TypeVar("F", bound=Callable[..., Any])
_OVERLAY = overlay()
_TIMED = _OVERLAY.method if _OVERLAY else ""


def _labels() -> list[str]:
    """Every kernel that asv has seen of any commit."""
    if _OVERLAY is None or not Path(_OVERLAY.series).is_file():
        return ["none yet"]
    prefixes = tuple(f"{graph}/" for graph in WANTED.graphs)
    known = Path(_OVERLAY.series).read_text(encoding="utf-8").split()
    return [label for label in known if label.startswith(prefixes)] or ["none yet"]


def setup_cache() -> dict[str, Any]:
    """Measure the commit that asv has laid over."""
    assert _OVERLAY is not None, "the overlay environment of asv.conf.json starts this"
    return collect(_OVERLAY, options.current(), WANTED)


setup_cache.timeout = 3600


def _tracked(
    table: str, metric: str, unit: str, version: str, better: str = "lower"
) -> Callable[[F], F]:
    """A tracked function, of which name, parameters and docstring are written down: it looks up
    ``metric`` in its row of ``table``. That, the unit and which way is better stand on it, for
    asv and the plugin."""

    def mark(function: F) -> F:
        @functools.wraps(function)
        def tracked(_: object, cache: dict[str, Any], row: str) -> Any:
            return look_up(cache, table, row, metric)

        vars(tracked).update(unit=unit, version=version, better=better, table=table, metric=metric)
        return cast("F", tracked)

    return mark


class Graph:
    """Everything that is generated for a graph, one run of it."""

    params = (list(WANTED.graphs),)
    param_names = ("graph",)

    @_tracked("graphs", "seconds", "seconds", _TIMED)
    def track_seconds(self, cache: dict[str, Any], graph: str) -> Any:
        """Time of all launches, each measured by itself."""

    @_tracked("graphs", "gbps", "GB/s", _TIMED, better="higher")
    def track_gbps(self, cache: dict[str, Any], graph: str) -> Any:
        """Bytes of all launches over their time."""

    @_tracked("graphs", "codegen_seconds", "seconds", CODEGEN_METHOD)
    def track_codegen(self, cache: dict[str, Any], graph: str) -> Any:
        """Graph to emitted modules."""

    @_tracked("graphs", "kernels", "kernels", STATIC_METHOD, better="neither")
    def track_kernels(self, cache: dict[str, Any], graph: str) -> Any:
        """Distinct kernels."""

    @_tracked("graphs", "launches", "launches", STATIC_METHOD)
    def track_launches(self, cache: dict[str, Any], graph: str) -> Any:
        """Kernel launches of one run."""

    @_tracked("graphs", "library_calls", "calls", STATIC_METHOD)
    def track_library_calls(self, cache: dict[str, Any], graph: str) -> Any:
        """Operators left to torch."""

    @_tracked("graphs", "failures", "failures", STATIC_METHOD)
    def track_failures(self, cache: dict[str, Any], graph: str) -> Any:
        """Kernels that could not be generated."""

    @_tracked("graphs", "bytes", "bytes", STATIC_METHOD)
    def track_bytes(self, cache: dict[str, Any], graph: str) -> Any:
        """Bytes that all launches have to move (modelled)."""


class Kernel:
    """One kernel, named by its graph and the last node that it computes."""

    params = (_labels(),)
    param_names = ("kernel",)

    @_tracked("kernels", "seconds", "seconds", _TIMED)
    def track_seconds(self, cache: dict[str, Any], kernel: str) -> Any:
        """Time of one launch with its best configuration."""

    @_tracked("kernels", "gbps", "GB/s", _TIMED, better="higher")
    def track_gbps(self, cache: dict[str, Any], kernel: str) -> Any:
        """Bytes (modelled) over time."""

    @_tracked("kernels", "registers", "registers", STATIC_METHOD, better="neither")
    def track_registers(self, cache: dict[str, Any], kernel: str) -> Any:
        """Registers of a thread."""

    @_tracked("kernels", "XBLOCK", "elements", _TIMED, better="neither")
    def track_xblock(self, cache: dict[str, Any], kernel: str) -> Any:
        """``XBLOCK`` of the configuration that was timed; the next four are the rest of it."""

    @_tracked("kernels", "YBLOCK", "elements", _TIMED, better="neither")
    def track_yblock(self, cache: dict[str, Any], kernel: str) -> Any:
        """``YBLOCK``."""

    @_tracked("kernels", "R0_BLOCK", "elements", _TIMED, better="neither")
    def track_r0_block(self, cache: dict[str, Any], kernel: str) -> Any:
        """``R0_BLOCK``."""

    @_tracked("kernels", "num_warps", "warps", _TIMED, better="neither")
    def track_warps(self, cache: dict[str, Any], kernel: str) -> Any:
        """Warps of a block."""

    @_tracked("kernels", "num_stages", "stages", _TIMED, better="neither")
    def track_stages(self, cache: dict[str, Any], kernel: str) -> Any:
        """Pipeline stages."""

    @_tracked("kernels", "spills", "bytes", STATIC_METHOD)
    def track_spills(self, cache: dict[str, Any], kernel: str) -> Any:
        """Spill loads and stores of a thread."""

    @_tracked("kernels", "shared", "bytes", STATIC_METHOD, better="neither")
    def track_shared(self, cache: dict[str, Any], kernel: str) -> Any:
        """Shared memory of a block."""

    @_tracked("kernels", "instructions", "instructions", STATIC_METHOD, better="neither")
    def track_instructions(self, cache: dict[str, Any], kernel: str) -> Any:
        """Instructions of the binary."""

    @_tracked("kernels", "bytes", "bytes", STATIC_METHOD, better="neither")
    def track_bytes(self, cache: dict[str, Any], kernel: str) -> Any:
        """Bytes that one launch has to move (modelled). Other bytes mean another fusion: what
        counts is the graph's sum."""
