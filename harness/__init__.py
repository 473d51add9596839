"""Benchmarks and regression tracking for fused GPU kernels."""

from __future__ import annotations

from harness.declare import Declaration

__all__ = ["kernel"]
__version__ = "0.1.0"
kernel = Declaration
