"""Thin commands: each reads its arguments, calls one room, and prints."""
