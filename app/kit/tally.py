"""What the process counts for its operator: events by name and label, and how long things took. `app.server.metrics`
tells it; nothing here knows of whoever asks. No reader's data: labels are names of ours.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, defaultdict

Labels = tuple[str, ...]

BOUNDS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)  # s; the goals of a class are among them

_lock = threading.Lock()
_events: dict[str, Counter[Labels]] = defaultdict(Counter)
_seconds: dict[tuple[str, Labels], list[float]] = {}  # how many within each bound, how many above, and their sum


def count(name: str, *labels: str) -> None:
    """One more of `name`."""
    with _lock:
        _events[name][labels] += 1


def took(name: str, seconds: float, *labels: str) -> None:
    """`name` took so long."""
    with _lock:
        row = _seconds.setdefault((name, labels), [0.0] * (len(BOUNDS) + 2))
        row[bisect_left(BOUNDS, seconds)] += 1
        row[-1] += seconds


def events(name: str) -> dict[Labels, int]:
    """How many of `name` by labels."""
    with _lock:
        return dict(_events[name])


def times(name: str) -> dict[Labels, tuple[list[float], float]]:
    """Of `name` by labels: how many took at most each of `BOUNDS`, and in all; the sum of seconds."""
    with _lock:
        found = {labels: list(row) for (of, labels), row in _seconds.items() if of == name}
    return {labels: ([sum(row[: i + 1]) for i in range(len(BOUNDS) + 1)], row[-1]) for labels, row in found.items()}
