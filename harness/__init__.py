"""Benchmarks and regression tracking for fused GPU kernels."""

__version__ = "0.1.0"
