"""Thin commands: each reads its arguments, calls one package, and prints."""
