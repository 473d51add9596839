"""Benchmarks for asv: what the compiler itself costs."""
