"""A training that is looked at on its way, one for all in the process; of what takes minutes the state is on disk, too."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from app.kit.charts import Column
from app.kit.words import Words
from engine import states, ticket
from engine.ticket import Lock
from engine.variational import NetworkFit, NetworkRun

Fit = TypeVar("Fit", bound=NetworkFit)
Look = TypeVar("Look")
Stop = Callable[[], bool]

WORDS = Words(__file__)
SHARE = 3.0  # times as long as a picture takes the training goes on before the next one


class State(NamedTuple, Generic[Fit, Look]):
    """What is known of a training so far.

    looks : at it, the first before the first step; fit : as it stood at the last of them
    seconds : of training
    """

    looks: tuple[Look, ...]
    fit: Fit
    done: bool
    seconds: float = 0.0


def bent(total: int, looks: int, power: float = 2.0) -> tuple[int, ...]:
    """After how many of `total` steps a training is looked at: at its start and `looks` times more, closer at the
    beginning: look k is after (k / looks)^power of the steps.
    """
    steps = [0]
    for k in range(1, looks + 1):
        steps.append(max(steps[-1] + 1, round(total * (k / looks) ** power)))
    return (*(step for step in steps if step < total), total)


def cost(state: State[Any, Any], **own: float) -> dict[str, Column]:
    """Columns of what a training was and took; `own`: what its method adds to them, by name."""
    fit, history = state.fit, state.fit.history
    return {
        "weights": [fit.shape.weights],
        "steps": [int(history.step[-1])],
        "seconds": [state.seconds],
        "ELBO (nats)": [float(history.elbo[-1])],
        "energy (nats)": [float(history.energy[-1])],
        **{name: [value] for name, value in own.items()},
        "training images right (%)": [f"{100 * history.accuracy[-1]:.1f}"],
    }


class Watched(Generic[Fit, Look]):
    """A training that everyone in the process shares: whoever needs it trains it on; `state` never waits.

    run : before its first step
    steps : after how many it is looked at: from 0 to the last, rising
    look : what is seen of a fit after so many steps
    path : of its state on disk, from which it goes on; None: it has none
    """

    def __init__(self, run: NetworkRun, steps: Sequence[int], look: Callable[[Fit, int], Look], path: Path | None = None):
        self._run, self._steps, self._look, self._saved = run, steps, look, states.Saved(path)
        self._lock = Lock()
        self.state: State[Fit, Look] = self._seen(self._restored())
        if not self.state.looks:
            self.state = self._looked()

    @property
    def total(self) -> int:
        """Looks there will be."""
        return len(self._steps)

    @property
    def done(self) -> bool:
        """Trained to the end."""
        return self.state.done

    @property
    def share(self) -> float:
        """How much of the training is done."""
        return self._steps[len(self.state.looks) - 1] / self._steps[-1]

    @property
    def note(self) -> str:
        """What a picture says of a training that goes on; nothing of one that is done."""
        return "" if self.done else WORDS.phrase("training.note", seconds=self.state.seconds, share=100.0 * self.share)

    def advance(self, stop: Stop | None = None) -> None:
        """To the next look, or wait while somebody else trains. One that is stopped on the way is left out."""
        with self._lock:
            if self.done:
                return
            wanted = self._steps[len(self.state.looks)] - self._run.completed
            if self._run.advance(wanted, stop) == wanted:
                self.state = self._looked()
            self._saved.keep(lambda: (self.state.looks, self._run.without_data()), self._run.done)

    def finish(self, stop: Stop | None = None) -> State[Fit, Look] | None:
        """Train to the end; None when stopped."""
        while not self.done:
            if stop is not None and stop():
                return None
            self.advance(stop)
        return self.state

    def ended(self) -> State[Fit, Look]:
        """Train to the end. Raises InterruptedError where nobody wants it any more."""
        state = self.finish(ticket.stopped)
        if state is None:
            raise InterruptedError
        return state

    def grown(self, picture: Callable[[State[Fit, Look], str], bytes], job: Any, first: float = 0.0) -> bytes | None:
        """The picture of its end, with pictures on the way, the first after `first` seconds of training; None when
        stopped. `picture(state, note)`: the note says how far it is.
        """
        until = 0.0
        while not self.done:
            if job.is_set():
                return None
            if self.state.seconds >= first and time.perf_counter() >= until:
                begin = time.perf_counter()
                job.publish(picture(self.state, self.note))
                until = time.perf_counter() + SHARE * (time.perf_counter() - begin)
            self.advance(job.is_set)
        return picture(self.state, self.note)

    def _restored(self) -> tuple[Look, ...]:
        """Go on from the state on disk: its looks. None where there is none of this training."""
        found = self._saved.read()
        if found is None:
            return ()
        try:
            looks, run = found
            self._run = run.with_data_of(self._run)
        except (AttributeError, TypeError, ValueError):  # of another version
            return ()
        return tuple(looks)

    def _seen(self, looks: tuple[Look, ...]) -> State[Fit, Look]:
        fit: Any = self._run.fit()
        return State(looks, fit, self._run.done, self._run.seconds)

    def _looked(self) -> State[Fit, Look]:
        state = self._seen(self.state.looks)
        return state._replace(looks=(*state.looks, self._look(state.fit, self._run.completed)))
