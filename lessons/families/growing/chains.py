"""The chains of a lesson on neurons or on layers, and the averages that grow with them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.diagnostics import rhat
from engine.evidence import ModelProbabilities
from engine.jumps import ArchitectureRecording, ArchitectureRun, start_architecture
from engine.jumps.predict import each_draw, of_data, pooled
from engine.kept import kept
from engine.networks.predictive import Ensemble
from engine.predicted import Predicted
from engine.scores import Performance, Sums, performance
from lessons.families.growing.evidence import EVIDENCE, QUICK, finished_evidence
from lessons.families.growing.plane import LN2, Bytes, plane, quantised
from lessons.families.growing.spec import CHAINS, COSTLY, GrowingSpec

Array = NDArray[np.float64]

EVERY = 200  # up to this sweep the timeline shows every one …
PER_OCTAVE = 48  # … and from there on so many a doubling
FRAMES = 22  # maps of a whole run
WARM_FRAMES = 6  # of them at most before the averages begin
FIRST = 16  # sweeps of the picture that does not grow
BEGINNING = 1  # sweep of the first picture of one that grows
FIRST_COSTLY = 8  # where a jump costs two NUTS runs
AGREE = 1.05  # R-hat of the size up to which chains agree
STUDY = 300  # sweeps of the run below the stage
STUDY_COSTLY = 60


def timeline(sweeps: int) -> NDArray[np.int64]:
    """The sweeps that the picture steps through, from 1: all up to EVERY, then PER_OCTAVE a doubling, and the last."""
    later = np.unique(np.round(EVERY * 2.0 ** (np.arange(1, PER_OCTAVE * 6) / PER_OCTAVE)).astype(np.int64))
    times = np.concatenate([np.arange(1, EVERY + 1), later[later > EVERY]])
    return np.append(times[times < sweeps], sweeps)


def checkpoints(burn: int, sweeps: int) -> NDArray[np.int64]:
    """The sweeps at which maps are taken: evenly spread in the logarithm before and after the burn-in ends."""
    warm = np.geomspace(1, burn, WARM_FRAMES) if burn else np.empty(0)
    return np.unique(np.concatenate([np.round(warm), burn + np.round(np.geomspace(1, sweeps - burn, FRAMES))])).astype(np.int64)


def begin(spec: GrowingSpec, sweeps: int, detail: str = "jumps", seed: int | None = None, chains: int = CHAINS) -> ArchitectureRun:
    """The first `chains` of `spec`, not moved yet; on the same data with another seed."""
    x, y = spec.data_set()
    sizes = spec.start_sizes()
    starts: dict[str, Any] = {f"start_{spec.grows}": sizes and sizes[:chains]}
    return start_architecture(
        spec.network(),
        x,
        y,
        **spec.settings(),
        chains=chains,
        draws=sweeps,
        seed=spec.seed if seed is None else seed,
        within=spec.within,
        step_size=spec.step_size,
        jumps=spec.jumps,
        detail=detail,
        **starts,
    )


def advanced(run: ArchitectureRun, cancel: Any = None, at_once: int = 10) -> ArchitectureRecording:
    """The run at its end. Raises InterruptedError when cancelled, and as `engine.ticket.look`."""
    while not run.done:
        ticket.look()
        if cancel is not None and cancel.is_set():
            raise InterruptedError
        run.advance(at_once)
    return run.recording()


class Maps(NamedTuple):
    """The maps taken so far, uint8 (frames, CELLS, CELLS): `mean` from 0 to 1, `epistemic` from 0 to log 2. counts :
    (frames,), networks averaged.
    """

    mean: Bytes
    epistemic: Bytes
    counts: NDArray[np.int64]


class Growth:
    """The chains of a spec, all or the first ones, with the averages over their networks, marginal over architecture.
    `advance` goes on from where it is: nothing is computed twice.

    Until the burn-in ends the maps average the present networks of all chains.
    """

    def __init__(self, spec: GrowingSpec, sweeps: int | None = None, chains: int = CHAINS):
        self.spec = spec
        self.total = sweeps or spec.sweeps
        self.burn = min(spec.burn, self.total // 2)
        self.run = begin(spec, self.total, chains=chains)
        self.x, self.y = spec.data_set()
        self.sweeps = 0
        self.checkpoints = checkpoints(self.burn, self.total)
        self._times = timeline(self.total)
        self._plane = plane()
        self._counted: dict[tuple[int, int], Ensemble] = {}
        self._frames: list[tuple[Bytes, Bytes, int]] = []
        self._held = spec.held_out()
        self._sums = Sums(), Sums()
        self._scores: list[dict[str, Performance]] = []

    @property
    def done(self) -> bool:
        return self.sweeps == self.total

    @property
    def times(self) -> NDArray[np.int64]:
        """The sweeps of the timeline that have happened."""
        return self._times[self._times <= self.sweeps]

    @property
    def steps(self) -> int:
        """Of the whole timeline."""
        return len(self._times)

    @property
    def sizes(self) -> NDArray[np.int16]:
        """(chains, sweeps so far)."""
        return np.asarray(getattr(self.run.recording(), self.spec.grows))

    def tally(self) -> Array:
        """Births and deaths of all chains, tried and landed, up to each sweep after the burn-in: (2, sweeps, 2)."""
        recording, first = self.run.recording(), 2 * (self.spec.grows == "depth")
        each = np.stack([recording.proposed, recording.jumped])[..., first : first + 2].sum(axis=1).astype(float)
        each[:, : self.burn] = 0.0
        return each.cumsum(axis=1)

    def agree(self) -> bool:
        """Whether the chains have forgotten where they began: only then their shares are an answer."""
        return rhat(self.sizes[:, self.burn :].astype(float)) <= AGREE

    def advance(self, sweeps: int, cancel: Any = None) -> Growth:
        """Go on until each chain has made `sweeps` sweeps, or until cancelled."""
        sweeps = min(sweeps, self.total)
        while self.sweeps < sweeps and not (cancel is not None and cancel.is_set()):
            ahead = self.checkpoints[self.checkpoints > self.sweeps]
            upto = min(sweeps, int(ahead[0]), self.sweeps + self.chunk())
            self.run.advance(upto - self.sweeps)
            self._count(slice(max(self.sweeps, self.burn), upto))
            self._score(slice(self.sweeps, upto))
            self.sweeps = upto
            if upto == ahead[0]:
                self._frames.append(self._frame())
        return self

    def chunk(self) -> int:
        """Sweeps that take some tenths of a second."""
        if self.sweeps == 0:
            return BEGINNING
        return int(np.clip(0.35 * self.sweeps / max(self.run.seconds, 1e-6), 2, 60))

    def maps(self) -> Maps:
        """The maps at the checkpoints passed."""
        mean, epistemic, counts = zip(*self._frames, strict=True)
        return Maps(np.stack(mean), np.stack(epistemic), np.array(counts))

    def frame_at(self) -> NDArray[np.int64]:
        """(steps,), the newest map at each step of the timeline."""
        passed = self.checkpoints[: len(self._frames)]
        return np.searchsorted(passed, self.times, side="right") - 1

    def scores(self) -> dict[str, Performance]:
        """Of every sweep so far: "average" of all chains on the points they learn from, and on those "held" out, where more
        can be drawn.
        """
        return {
            whose: Performance(*(np.concatenate(parts) for parts in zip(*(piece[whose] for piece in self._scores), strict=True)))
            for whose in self._scores[0]
        }

    def _score(self, new: slice) -> None:
        recording, kept = self.run.recording(), np.arange(new.start, new.stop) >= self.burn
        found = {}
        for whose, points, sums in (("average", (self.x, self.y), self._sums[0]), ("held", self._held, self._sums[1])):
            if points is not None:
                p = each_draw(recording, points[0], new).mean(axis=0)
                found[whose] = performance(sums.running(p, kept)[0], points[1])
        self._scores.append(found)

    def _count(self, new: slice) -> None:
        for sizes, theta in self.run.recording().by_architecture(new).items():
            if sizes not in self._counted:
                self._counted[sizes] = Ensemble(self.run.recording().network(*sizes), self._plane)
            self._counted[sizes].add(theta)

    def _frame(self) -> tuple[Bytes, Bytes, int]:
        ensembles = list(self._counted.values())
        if self.sweeps <= self.burn:
            recording = self.run.recording()
            present = recording.by_architecture(slice(self.sweeps - 1, self.sweeps))
            ensembles = [Ensemble(recording.network(*s), self._plane).add(theta) for s, theta in present.items()]
        said = pooled(ensembles)
        return quantised(said.mean[:, 1], 1.0), quantised(said.epistemic, LN2), sum(e.count for e in ensembles)


@kept
def first_look(spec: GrowingSpec) -> Growth:
    """The chains as far as the first picture shows them. Shared: not to be advanced."""
    return Growth(spec).advance(FIRST_COSTLY if spec.mistake and spec.variant in COSTLY else FIRST)  # type: ignore[attr-defined]


def recording(spec: GrowingSpec) -> ArchitectureRecording:
    """The run of the first picture."""
    return first_look(spec).run.recording()


def predicted(spec: GrowingSpec) -> Predicted | None:
    """What each draw of that run says of the data."""
    return of_data(recording(spec), *spec.data_set(), spec.seed)


def study(spec: GrowingSpec, cancel: Any = None) -> Growth:
    """A shorter run of the same chains for what stands below the stage. Raises InterruptedError when cancelled."""
    with ticket.holding(cancel):
        return _study(spec)


@kept
def _study(spec: GrowingSpec) -> Growth:
    length = STUDY_COSTLY if spec.variant in COSTLY else STUDY  # type: ignore[attr-defined]
    growth = Growth(spec, min(spec.sweeps, length))
    while not growth.done:
        ticket.look()
        growth.advance(growth.sweeps + growth.chunk())
    return growth


def exact_now(spec: GrowingSpec) -> ModelProbabilities | None:
    """p(size | data) by annealing, the best that has been computed."""
    for how in (EVIDENCE, QUICK):
        if found := finished_evidence(spec.network(), *spec.data_set(), spec=how):
            return found.probabilities(spec.log_prior())
    return None
