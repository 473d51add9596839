"""From loop nests to kernels: what is fused, in which order, over which loops."""

from __future__ import annotations

from harness.schedule.build import schedule

__all__ = ["schedule"]
