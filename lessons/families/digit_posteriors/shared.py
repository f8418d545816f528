"""One training for all who ask, trained once a process and kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from engine import kept
from engine.networks.stack import Networks, Stop
from engine.ticket import Lock
from lessons.families.digit_posteriors.spec import PosteriorSpec
from lessons.families.digit_posteriors.training import Learnt, Traces, Training, begin

SLICE = 0.1  # seconds of training between two looks
FIRST_SLICE = 0.02  # before the first


class Shared:
    """A posterior that everyone in the process shares: whoever needs it trains it on; a look never waits.

    key : under which it is kept once it is trained
    """

    def __init__(self, data: Learnt, spec: PosteriorSpec, key: Hashable = None):
        self.spec, self._key = spec, key
        self._training: Training | None = begin(data, spec)
        self.traces = Traces()  # once done
        self._lock = Lock()
        self._networks: Networks | None = None
        self._drawing = 0.0  # seconds that it took to draw them
        self.fraction = 0.0

    @property
    def done(self) -> bool:
        """Trained to the end."""
        return self._training is None

    def networks(self) -> Networks:
        """The networks as they stood at the last look; trains a first slice where there was none."""
        if self._networks is None:
            self.advance()
        assert self._networks is not None
        return self._networks

    def advance(self, stop: Stop | None = None) -> None:
        """Train on for a slice, or wait while somebody else does."""
        with self._lock:
            if self._training is None:
                return
            slice_seconds = FIRST_SLICE if self._networks is None else max(SLICE, 4.0 * self._drawing)
            self._training.advance(slice_seconds, stop)  # large networks take time to draw
            begin = time.perf_counter()
            self._networks = self._training.networks()
            self._drawing = time.perf_counter() - begin
            self.fraction = self._training.completed / self._training.total
            if self._training.done:
                self.traces = self._training.traces
                self._training = None  # with it go the data
                if self._key is not None:
                    kept.store.put(self._key, self)  # which may have been too heavy while it was trained

    def finish(self, stop: Stop | None = None, look: Callable[[Shared], None] | None = None) -> Networks | None:
        """Train to the end; None when stopped. `look` is called after every slice."""
        while not self.done:
            if stop is not None and stop():
                return None
            self.advance(stop)
            if look is not None:
                look(self)
        return self.networks()


def posterior(name: Hashable, data: Learnt, spec: PosteriorSpec) -> Shared:
    """The posterior of `spec` on `data`, which goes by `name`: the same for all who ask."""
    key = Shared, name, spec
    return kept.store.make(key, lambda: Shared(data, spec, key))
