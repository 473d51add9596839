"""Random bits of a position: what ``Op.RANDOM_BITS`` means, and what torch runs for it."""

from __future__ import annotations

from typing import Any


def philox(seed: Any, index: Any) -> Any:
    """32 random bits, as an integer in [-2**31, 2**31), for every element of ``index``: word
    ``index % 4`` of block ``index // 4`` of Philox 4x32 with 10 rounds under the key ``seed``.
    Both are arrays of int64, of numpy or of torch; the constants are those of Salmon et al.,
    SC 2011. Modules with random numbers have a copy of this text in their reference."""
    low = 0xFFFFFFFF
    c0, c1, c2, c3 = (index >> 2) & low, (index >> 34) & low, index & 0, index & 0
    k0, k1 = seed & low, (seed >> 32) & low
    for _ in range(10):
        a, b = c0 * 0xD2511F53, c2 * 0xCD9E8D57  # products wrap: their bits are what counts
        c0, c2 = ((b >> 32) & low) ^ c1 ^ k0, ((a >> 32) & low) ^ c3 ^ k1
        c1, c3 = b & low, a & low
        k0, k1 = (k0 + 0x9E3779B9) & low, (k1 + 0xBB67AE85) & low
    word = index & 3
    bits = c0 * (word == 0) + c1 * (word == 1) + c2 * (word == 2) + c3 * (word == 3)
    return bits - ((bits >> 31) << 32)
