"""Data sets: one module a family, one function a data set; each returns arrays and a card."""

from datasets.card import Card, Classes
from datasets.samples import Sample, coin, counts, kinds, measurements, waiting_times
from datasets.xor import own_points, xor

__all__ = [
    "Card",
    "Classes",
    "Sample",
    "coin",
    "counts",
    "kinds",
    "measurements",
    "own_points",
    "waiting_times",
    "xor",
]
