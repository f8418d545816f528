"""One training for all who ask, trained once a process and kept; of what takes minutes the state is on disk, too."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from pathlib import Path

from engine import kept, states, ticket
from engine.networks.stack import Networks, Stop
from engine.ticket import Lock
from lessons.families.digit_posteriors.spec import WORDS, PosteriorSpec
from lessons.families.digit_posteriors.training import LARGE, Learnt, Traces, Training, begin

SLICE = 0.1  # seconds of training between two looks
FIRST_SLICE = 0.005  # before the first: its picture is all that a reader waits for
FIRST_OF_MANY = 0.8  # before the first, where the images are many: earlier there is little to see
WATCHED = 25  # networks drawn for the first picture, and while those of many images learn: all of them take seconds to draw


class Shared:
    """A posterior that everyone in the process shares: whoever needs it trains it on; a look never waits.

    key : under which it is kept once it is trained
    path : of its state on disk, from which it goes on; None: it has none
    """

    def __init__(self, data: Learnt, spec: PosteriorSpec, key: Hashable = None, path: Path | None = None):
        self.spec, self._key, self._saved = spec, key, states.Saved(path)
        self.large = len(data.y) >= LARGE
        self._training: Training | None = _going_on(data, spec, self._saved)
        self.traces = Traces()  # once done
        self._lock = Lock()
        self._networks: Networks | None = None
        self._drawing = 0.0  # seconds that it took to draw them
        self.fraction = 0.0
        self.seconds = 0.0  # of training

    @property
    def done(self) -> bool:
        """Trained to the end."""
        return self._training is None

    @property
    def note(self) -> str:
        """What a picture says of a training that goes on; nothing of one that is done."""
        if self.done:
            return ""
        how_far = {"done": 100 * self.fraction, "seconds": self.seconds}
        return WORDS.phrase("training.many" if self.large else "training.few", **how_far)

    def networks(self) -> Networks:
        """The networks as they stood at the last look; trains a first slice where there was none."""
        if self._networks is None:
            self.advance(ticket.stopped)
        assert self._networks is not None
        return self._networks

    def advance(self, stop: Stop | None = None) -> None:
        """Train on for a slice, or wait while somebody else does."""
        with self._lock:
            if self._training is None:
                return
            first = FIRST_OF_MANY if self.large else FIRST_SLICE
            slice_seconds = first if self._networks is None else max(SLICE, 4.0 * self._drawing)
            self._training.advance(slice_seconds, stop)  # large networks take time to draw
            self._keep()
            begin = time.perf_counter()
            few = not self._training.done and (self.large or self._networks is None)
            self._networks = self._training.networks(WATCHED if few else None)
            self._drawing = time.perf_counter() - begin
            self.fraction = self._training.completed / self._training.total
            self.seconds = self._training.seconds
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

    def _keep(self) -> None:
        training = self._training
        if training is not None:
            self._saved.keep(lambda: (training.seconds, training.state()), training.done)


def _going_on(data: Learnt, spec: PosteriorSpec, saved: states.Saved) -> Training:
    """The training from its state on, if there is one."""
    training = begin(data, spec)
    found = saved.read()
    if found is None:
        return training
    try:
        training.seconds, state = found
        training.restore(state)
    except (AttributeError, TypeError, ValueError):  # of another version
        return begin(data, spec)
    return training


def posterior(name: Hashable, data: Learnt, spec: PosteriorSpec, path: Path | None = None) -> Shared:
    """The posterior of `spec` on `data`, which goes by `name`: the same for all who ask. `path`: of its state on disk."""
    key = Shared, name, spec
    return kept.store.make(key, lambda: Shared(data, spec, key, path))
