"""Philox 2x64-10 in Python's whole numbers (Salmon et al. 2011, section 3.3)."""

from __future__ import annotations

MASK = (1 << 64) - 1


def philox(key: int, a: int, b: int) -> tuple[int, int]:
    """Two words of a key and a counter."""
    for _ in range(10):
        product = 0xD2B74407B1CE6E93 * a
        a, b = (product >> 64) ^ key ^ b, product & MASK
        key = (key + 0x9E3779B97F4A7C15) & MASK
    return a, b


class Uniforms:
    """Draws in (0, 1) of one coordinate: (time, particle, purpose)."""

    def __init__(self, seed: int, time: int, particle: int, purpose: int) -> None:
        self.key, self.time = seed, time
        self.counter = (particle << 32) | (purpose << 28)

    def __call__(self) -> float:
        word = philox(self.key, self.time, self.counter & ~1)[self.counter & 1]
        self.counter += 1
        return ((word >> 11) + 0.5) * 2.0**-53
