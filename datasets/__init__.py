"""Data sets: one module a family, one function a data set; each returns arrays and a card."""

from datasets.card import Card, Classes
from datasets.files import from_files
from datasets.images import Images, digits, overlap, principal_components
from datasets.remote import download, download_table
from datasets.samples import Sample, coin, counts, kinds, measurements, waiting_times
from datasets.xor import own_points, xor

__all__ = [
    "Card",
    "Classes",
    "Images",
    "Sample",
    "coin",
    "counts",
    "digits",
    "download",
    "download_table",
    "from_files",
    "kinds",
    "measurements",
    "overlap",
    "own_points",
    "principal_components",
    "waiting_times",
    "xor",
]
