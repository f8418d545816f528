"""What the lessons on neurons and on layers that are born and die share: their spec, the chains with the averages that
grow with them, the picture, the long run, the checks. What differs between the two is said by the spec's class.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.kit import architectures, charts, theme
from app.kit.architectures import EVIDENCE, HELD, evidence, exact_shares, finished_evidence
from app.kit.charts import Figure, Table
from app.kit.controls import Controls
from app.kit.player.scene import Axis, Editable, Panel, Phase, Scene, Show, levels
from engine import ticket
from engine.diagnostics import summarise
from engine.evidence import ModelProbabilities
from engine.judge import Check, JumpKernel, Kernel, Verdict
from engine.jumps import (
    ArchitectureRecording,
    ArchitectureRun,
    start_architecture,
)
from engine.jumps.settings import Prior, log_size_prior
from engine.kept import kept
from engine.networks import Network
from engine.networks.predictive import Ensemble, probabilities
from engine.spec import Spec, SpecError, check_points, choice, integer, number, points, seed_field

Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]

DATA = ("xor", "noisy", "points")
CLASSES = ("class 0", "class 1")
PRIORS = ("uniform", "geometric", "poisson")
WITHIN = ("nuts", "none")
STARTS = ("spread", "prior")
MAX_POINTS = 200
REACH = 1.5  # the plane is shown from -REACH to REACH in both inputs
CHAINS = 16
MAX_SWEEPS = 5000
MAX_JUMPS = 20  # in a sweep
MOST_JUMPS = 20_000  # of one chain: the ledger keeps them all
MISTAKES = {
    "no_jacobian": "The Jacobian is left out.",
    "no_end_points": "Births at the lowest size and deaths at the highest are not weighed against their rarer reverse.",
    "slot_once": "The birth is weighed by 1/(k+1), the death that undoes it is not weighed back.",
    "no_kernel_densities": "A short NUTS runs before and after each jump, and its densities are left out.",
    "as_coded": "The published scheme as coded: three factors are missing, and its NUTS is re-tuned at every call.",
}
COSTLY = ("no_kernel_densities", "as_coded")  # two NUTS runs a jump


# The spec -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class GrowingSpec(Spec):
    """Chains over the architectures of a network that sorts points of the plane into two classes.

    A lesson's spec says which size changes (`grows`, `low`, `high`), how it is called, what the data are
    (`data_set`) and which network it is (`network`).
    """

    grows: ClassVar[str]  # "width" or "depth"
    low: ClassVar[int] = 1
    symbol: ClassVar[str]  # of the size
    thing: ClassVar[str]  # what is born and dies

    data: str = choice("xor", DATA, "XOR clouds, noisier ones, or your own points")
    corner: int = integer(50, 1, 200, "points in each of the four clouds")
    points: tuple[tuple[float, float, int], ...] = points(MAX_POINTS, "your own points: x₁, x₂ and class 0 or 1")
    temper: float = number(
        0.5, 0.02, 10.0, "factor a in the softmax p ∝ exp(a z): a small one makes every network less sure", log=True
    )
    prior_sd: float = number(1.0, 0.05, 20.0, "prior standard deviation σ of every weight and bias", log=True)
    prior: str = choice("uniform", PRIORS, "prior on the size")
    ratio: float = number(0.7, 0.05, 0.95, "geometric prior: each size has this many times the one before", step=0.05)
    mean: float = number(4.0, 0.1, 30.0, "Poisson prior: its mean, before it is cut to the range", log=True)
    within: str = choice("nuts", WITHIN, "what moves the weights between jumps: NUTS, or nothing")
    step_size: float = number(0.1, 0.001, 2.0, "time ε that one leapfrog step of NUTS simulates", log=True)
    jumps: int = integer(1, 1, MAX_JUMPS, "jumps proposed in a sweep; the stage shows the last one")
    sweeps: int = integer(
        1000, 50, MAX_SWEEPS, "sweeps of the long run: NUTS, then the jumps, in each of 16 chains", log=True
    )
    burn: int = integer(100, 0, 2500, "so many sweeps at the start are left out of every average", step=10)
    start: str = choice("spread", STARTS, "start the chains at different sizes, from the lowest to the highest, or at "
                        "draws from the prior")  # fmt: skip
    shown: int = integer(4, 1, CHAINS, "the chain whose network and jumps are on the stage")
    seed: int = seed_field()

    @property
    def high(self) -> int:
        """The largest size."""
        raise NotImplementedError

    def data_set(self) -> tuple[Array, NDArray[np.int64]]:
        """The points x (n, 2) and their classes y (n,)."""
        raise NotImplementedError

    def network(self) -> Network:
        """The network with its ranges."""
        raise NotImplementedError

    def check(self) -> None:
        check_points(self.points, REACH)
        if self.data == "points" and not self.points:
            raise SpecError("points", "there are none: put at least one point")
        if self.burn > self.sweeps // 2:
            raise SpecError("burn", f"leaving out {self.burn} leaves less than half of the {self.sweeps} sweeps")
        if self.sweeps * self.jumps > MOST_JUMPS:
            raise SpecError("jumps", f"{self.jumps} in each of {self.sweeps} sweeps are more than {MOST_JUMPS:,} jumps")

    @property
    def count(self) -> int:
        """Number of sizes."""
        return self.high - self.low + 1

    @property
    def mistake(self) -> str:
        """What is wrong on purpose, or nothing."""
        return MISTAKES.get(self.variant, "")  # type: ignore[attr-defined]

    def size_prior(self) -> Prior:
        """The prior on the size, as the engine takes it."""
        return {"uniform": "uniform", "geometric": ("geometric", self.ratio), "poisson": ("poisson", self.mean)}[
            self.prior
        ]  # type: ignore[return-value]

    def log_prior(self) -> Array:
        """(K,), normalised."""
        return log_size_prior("prior", self.size_prior(), self.low, self.high)

    def settings(self) -> dict[str, Any]:
        """What `engine.sample_architecture` needs to know of the jumps."""
        return {"variant": self.variant, f"{self.grows}_prior": self.size_prior()}  # type: ignore[attr-defined]

    def start_sizes(self) -> list[int] | None:
        """Where the chains start; None: drawn."""
        if self.start == "prior":
            return None
        return [int(size) for size in np.round(np.linspace(self.low, self.high, CHAINS))]


# The chains and their averages ----------------------------------------------------------------------------------------

EVERY = 200  # up to this sweep the timeline shows every one …
PER_OCTAVE = 48  # … and from there on so many a doubling
FRAMES = 26  # maps of a whole run
WARM_FRAMES = 6  # of them at most before the averages begin
CELLS = 32  # of a map, a side
FIRST = 16  # sweeps of the first picture
FIRST_COSTLY = 8  # where a jump costs two NUTS runs
STUDY = 300  # sweeps of the run below the stage
STUDY_COSTLY = 60
CENTRE = np.zeros((1, 2))
LN2 = float(np.log(2.0))


def timeline(sweeps: int) -> NDArray[np.int64]:
    """The sweeps that the picture steps through, from 1: all up to EVERY, then PER_OCTAVE a doubling, and the last."""
    later = np.unique(np.round(EVERY * 2.0 ** (np.arange(1, PER_OCTAVE * 6) / PER_OCTAVE)).astype(np.int64))
    times = np.concatenate([np.arange(1, EVERY + 1), later[later > EVERY]])
    return np.append(times[times < sweeps], sweeps)


def checkpoints(burn: int, sweeps: int) -> NDArray[np.int64]:
    """The sweeps at which maps are taken: evenly spread in the logarithm before and after the burn-in ends."""
    warm = np.geomspace(1, burn, WARM_FRAMES) if burn else np.empty(0)
    return np.unique(np.concatenate([np.round(warm), burn + np.round(np.geomspace(1, sweeps - burn, FRAMES))])).astype(
        np.int64
    )


def plane() -> Array:
    """Midpoints of the cells of the plane, (CELLS², 2), row by row from the lowest x₂."""
    middles = REACH * (2 * np.arange(CELLS) + 1 - CELLS) / CELLS
    return np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)


def begin(spec: GrowingSpec, sweeps: int, detail: str = "jumps", seed: int | None = None) -> ArchitectureRun:
    """The chains of `spec`, not moved yet; on the same data with another seed."""
    x, y = spec.data_set()
    return start_architecture(
        spec.network(),
        x,
        y,
        **spec.settings(),
        chains=CHAINS,
        draws=sweeps,
        seed=spec.seed if seed is None else seed,
        within=spec.within,
        step_size=spec.step_size,
        jumps=spec.jumps,
        detail=detail,
        **{f"start_{spec.grows}": spec.start_sizes()},
    )


class Maps(NamedTuple):
    """The maps taken so far, uint8 (frames, CELLS, CELLS): `mean` from 0 to 1, `epistemic` from 0 to log 2. counts :
    (frames,), networks averaged.
    """

    mean: Bytes
    epistemic: Bytes
    counts: NDArray[np.int64]


class Growth:
    """All chains of a spec with the averages over their networks, marginal over architecture. `advance` goes on from
    where it is: nothing is computed twice.

    Until the burn-in ends the maps average the present networks of all chains.
    """

    def __init__(self, spec: GrowingSpec, sweeps: int | None = None):
        self.spec = spec
        self.total = sweeps or spec.sweeps
        self.burn = min(spec.burn, self.total // 2)
        self.run = begin(spec, self.total)
        self.x, self.y = spec.data_set()
        self.sweeps = 0
        self.checkpoints = checkpoints(self.burn, self.total)
        self._times = timeline(self.total)
        self._plane = plane()
        self._counted: dict[tuple[int, int], Ensemble] = {}
        self._frames: list[tuple[Bytes, Bytes, int]] = []

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

    def advance(self, sweeps: int, cancel: Any = None) -> Growth:
        """Go on until each chain has made `sweeps` sweeps, or until cancelled."""
        sweeps = min(sweeps, self.total)
        while self.sweeps < sweeps and not (cancel is not None and cancel.is_set()):
            ahead = self.checkpoints[self.checkpoints > self.sweeps]
            upto = min(sweeps, int(ahead[0]), self.sweeps + self.chunk())
            self.run.advance(upto - self.sweeps)
            self._count(slice(max(self.sweeps, self.burn), upto))
            self.sweeps = upto
            if upto == ahead[0]:
                self._frames.append(self._frame())
        return self

    def chunk(self) -> int:
        """Sweeps that take some tenths of a second."""
        if self.sweeps == 0:
            return 4
        return int(np.clip(0.35 * self.sweeps / max(self.run.seconds, 1e-6), 2, 60))

    def maps(self) -> Maps:
        """The maps at the checkpoints passed."""
        mean, epistemic, counts = zip(*self._frames, strict=True)
        return Maps(np.stack(mean), np.stack(epistemic), np.array(counts))

    def frame_at(self) -> NDArray[np.int64]:
        """(steps,), the newest map at each step of the timeline."""
        passed = self.checkpoints[: len(self._frames)]
        return np.searchsorted(passed, self.times, side="right") - 1

    def _count(self, new: slice) -> None:
        for sizes, theta in grouped(self.run.recording(), new).items():
            if sizes not in self._counted:
                self._counted[sizes] = Ensemble(self.run.recording().network(*sizes), self._plane)
            self._counted[sizes].add(theta)

    def _frame(self) -> tuple[Bytes, Bytes, int]:
        ensembles = list(self._counted.values())
        if self.sweeps <= self.burn:
            recording = self.run.recording()
            present = grouped(recording, slice(self.sweeps - 1, self.sweeps))
            ensembles = [Ensemble(recording.network(*s), self._plane).add(theta) for s, theta in present.items()]
        mean, epistemic = mixture(ensembles)
        return (
            quantised(mean[:, 1], 1.0), quantised(epistemic, LN2), sum(e.count for e in ensembles),
        )  # fmt: skip


def grouped(recording: ArchitectureRecording, which: slice) -> dict[tuple[int, int], Array]:
    """The draws of some sweeps of all chains by (width, depth)."""
    width, depth, draws = recording.width[:, which], recording.depth[:, which], recording.draws[:, which]
    groups = {}
    for sizes in sorted({*zip(width.ravel().tolist(), depth.ravel().tolist(), strict=True)}):
        here = (width == sizes[0]) & (depth == sizes[1])
        groups[sizes] = draws[here][:, : recording.network(*sizes).dim]
    return groups


def mixture(ensembles: Sequence[Ensemble]) -> tuple[Array, Array]:
    """Predictive mean (m, classes) and epistemic uncertainty (m,) in nats over the draws of several architectures."""
    counts = [ensemble.count for ensemble in ensembles]
    parts = [ensemble.uncertainty() for ensemble in ensembles]
    mean = np.average([part.mean for part in parts], axis=0, weights=counts)
    aleatoric = np.average([part.aleatoric for part in parts], axis=0, weights=counts)
    total = -(mean * np.log(np.where(mean > 0.0, mean, 1.0))).sum(axis=-1)
    return mean, np.maximum(total - aleatoric, 0.0)


def quantised(values: Array, high: float) -> Bytes:
    """Values from 0 to `high` as whole numbers from 0 to 255, cells of the plane, as heat maps travel."""
    return levels(values, high).reshape(CELLS, CELLS)


@kept
def first_look(spec: GrowingSpec) -> Growth:
    """The chains as far as the first picture shows them. Shared: not to be advanced."""
    return Growth(spec).advance(FIRST_COSTLY if spec.mistake and spec.variant in COSTLY else FIRST)  # type: ignore[attr-defined]


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
    """p(size | data) by annealing, if it has been computed."""
    found = finished_evidence(spec.network(), *spec.data_set())
    return None if found is None else exact_shares(found, spec.log_prior())


# The long run ---------------------------------------------------------------------------------------------------------


def live(spec: GrowingSpec) -> Callable[[Any], bytes]:
    """The body of the long run: the chains to their last sweep, then the evidence of each architecture."""

    def body(job: Any) -> bytes:
        growth = Growth(spec)
        total = spec.sweeps + spec.count * EVIDENCE.pieces
        while not growth.done and not job.is_set():
            growth.advance(growth.sweeps + growth.chunk(), job)
            job.report(growth.sweeps, total)
            job.publish(picture(growth, growing=not growth.done))
        try:
            x, y = spec.data_set()
            evidence(spec.network(), x, y, cancel=job, report=lambda done, _: job.report(spec.sweeps + done, total))
        except InterruptedError:
            pass  # stopped: the chains stand without the exact answer
        job.report(total, total)
        return picture(growth)

    return body


# The picture ----------------------------------------------------------------------------------------------------------

RATE = 4.0  # sweeps a second: slow enough to see a unit fade in
VIEW = (-REACH, REACH)
SHAPES = ["circle", "square"]
ROLES = ["class-0", "class-1"]
MOVE, PROPOSE, WEIGH, DECIDE = "within", "propose", "weigh", "decide"


def picture(growth: Growth, growing: bool = False) -> bytes:
    """The scene of the chains as far as they have come."""
    spec, times, frames = growth.spec, growth.times, growth.frame_at()
    recording, at = growth.run.recording(), growth.times - 1
    moved = "NUTS moves the weights" if spec.within == "nuts" else "the weights stay"
    made = Scene(
        run=hashlib.blake2b(repr(spec).encode(), digest_size=12).hexdigest(),
        steps=len(times),
        label=_label(spec),
        rate=RATE,
        phases=[
            Phase(MOVE, moved), Phase(PROPOSE, f"a {spec.thing} is to come or go"), Phase(WEIGH, "weigh both networks"),
            Phase(DECIDE, "u decides"),
        ],
        autoplay=True,
        total=growth.steps if growing else None,
        theme=theme.palette(),
    )  # fmt: skip
    chain = spec.shown - 1
    jumps = architectures.jumps_of(recording, chain, at)
    drawn = architectures.drawn_networks(recording, chain, at, jumps)
    architectures.network_panel(
        made, drawn, labels=[["x₁", "x₂"], *[None] * (len(drawn.sizes) - 2), ["0", "1"]], phase=PROPOSE,
        title=f"Chain {spec.shown}: its network at each jump", place=(0, 0, 8, 1), height=280,
    )  # fmt: skip
    factors, names = architectures.merged_slots(jumps, spec.symbol)
    architectures.ledger_panel(
        made, factors, names=names, show=Show("at", phase=(WEIGH, None)), place=(8, 0, 12, 1), height=280
    )
    exact = exact_now(spec)
    rows = architectures.running_shares(growth.sizes, spec.low, spec.count, growth.burn)[at]
    architectures.size_panel(
        made, rows, spec.low, exact=exact, name=f"hidden {spec.thing}s {spec.symbol}",
        title=f"p({spec.symbol} | data): jumps of {CHAINS} chains" + ("" if exact is None else " ◆ exact"),
        label=f"share among {CHAINS} chains: now, and after sweep {growth.burn} so far",
        place=(0, 1, 10, 1), height=260,
    )  # fmt: skip
    _maps(made, growth, frames)
    x = Axis("sweep", 1, growth.total if growing else int(times[-1]))
    architectures.size_traces(
        made, times.astype(float), growth.sizes[:, at].astype(float), id="size-traces", shown=chain, x=x,
        title=f"{spec.symbol} of {CHAINS} chains", y=Axis("", spec.low - 0.5, spec.high + 0.5),
        place=(0, 2, 10, 1), height=160,
    )  # fmt: skip
    posterior = recording.log_density[:, at]
    settled = posterior[:, len(at) // 2 :]
    low = float(np.quantile(posterior, 0.02))
    traces = architectures.size_traces(
        made, times.astype(float), posterior, id="posterior-traces", shown=chain, x=x,
        title="Log posterior of each chain (nats)", y=Axis("", low - 5.0, float(settled.max()) + 5.0),
        place=(0, 3, 10, 1), height=160,
    )  # fmt: skip
    if growth.burn and x.high is not None and growth.burn < x.high:
        for panel in (made.panels[-2], traces):
            panel.rule(x=float(growth.burn), role="highlight", dash=True, label="averages begin")
    _words(made, growth, jumps, rows, exact, at)
    return made.encode()


def _maps(made: Scene, growth: Growth, frames: NDArray[np.int64]) -> None:
    """The average of all networks of all sizes, and where they disagree."""
    spec, maps = growth.spec, growth.maps()
    editable = None
    if spec.data == "points":
        editable = Editable(points=np.array(spec.points, dtype=float), classes=CLASSES, limit=MAX_POINTS)
    ticks = [(-1.0, "−1"), (0.0, "0"), (1.0, "1")]
    for id, title, place, height, edit in (
        ("mean", "P(class 1), averaged over all sizes", (10, 1, 10, 1), 260, editable),
        ("epistemic", "Where the networks disagree (nats)", (10, 2, 10, 2), 340, None),
    ):
        x, y = Axis("x₁", *VIEW, ticks=ticks), Axis("x₂", *VIEW, ticks=ticks)
        panel = made.panel(id, title=title, x=x, y=y, place=place, equal=True, height=height, editable=edit)
        if id == "mean":
            panel.heatmap(maps.mean, x=VIEW, y=VIEW, low=0.0, high=1.0, at=frames, colormap="diverging", alpha=0.75)
        else:
            panel.heatmap(maps.epistemic, x=VIEW, y=VIEW, low=0.0, high=LN2, at=frames)
        if edit is None:
            _data(panel, growth, labelled=id == "mean")


def _data(panel: Panel, growth: Growth, labelled: bool) -> None:
    """The points, class by shape and colour, on a rim of the background's colour."""
    panel.points(growth.x, classes=growth.y, role=["surface"] * 2, shape=SHAPES, size=2.2, alpha=1.0)
    label = list(CLASSES) if labelled else None
    panel.points(growth.x, classes=growth.y, role=ROLES, shape=SHAPES, size=1.5, alpha=1.0, label=label)


def _words(
    made: Scene, growth: Growth, jumps: architectures.Jumps, rows: Array, exact: ModelProbabilities | None, at: Array
) -> None:
    """The arithmetic card, the spoken sentence and the table."""
    spec, recording = growth.spec, growth.run.recording()
    size = growth.sizes[spec.shown - 1, at]
    fit, posterior = recording.log_likelihood[spec.shown - 1, at], recording.log_density[spec.shown - 1, at]
    mean = rows @ np.arange(spec.low, spec.high + 1)
    made.readout(
        "state",
        f"sweep {{n:d}}: {spec.symbol} = {{size:d}}, log posterior {{sum:.2f}} = log likelihood {{fit:.2f}} + "
        "log prior {prior:.2f}",
        n=growth.times, size=size, sum=posterior, fit=fit, prior=posterior - fit,
    )  # fmt: skip
    architectures.ledger_words(made, jumps, spec.symbol, spec.thing, (PROPOSE, WEIGH, DECIDE))
    mode = spec.low + rows.argmax(axis=1)
    text = f"all chains so far: mean {spec.symbol} {{mean:.2f}}, most frequent {spec.symbol} = {{mode:d}}"
    values: dict[str, Any] = {"mean": mean, "mode": mode}
    if exact is not None:
        first = architectures.leader(*exact)
        told = "not sure" if first == architectures.UNSURE else f"{spec.symbol} = {spec.low + first}"
        text += f"; exact mean {exact.probability @ np.arange(spec.low, spec.high + 1):.2f}, most probable: {told}"
    made.readout("sizes", text, **values)
    if exact is not None and growth.done:
        kept = growth.sizes[:, growth.burn :]
        check = architectures.shares_check(kept, spec.low, lambda: exact, spec.symbol)
        made.readout("agreement", f"after the whole run: {check.sentence}")
    made.say(
        f"Sweep {{n:d}}. {{birth?Birth:Death}} of a {spec.thing} proposed, {spec.symbol} {{before:d}} to {{after:d}}: "
        f"{{accepted?accepted:rejected}}. Mean {spec.symbol} of all chains so far {{mean:.1f}}.",
        n=growth.times, birth=jumps.birth, before=jumps.before, after=jumps.after, accepted=jumps.accepted, mean=mean,
    )  # fmt: skip
    made.table(
        {
            "sweep": growth.times,
            f"{spec.symbol} before": jumps.before,
            f"{spec.symbol} proposed": jumps.after,
            **({"slot (from 1)": jumps.slot + 1} if (jumps.slot >= 0).any() else {}),
            **{f"log {name}": jumps.factors[:, i] for i, name in enumerate(architectures.SHORT)},
            "log r": jumps.log_ratio,
            "u": jumps.uniform,
            "accepted": jumps.accepted,
            f"{spec.symbol} after": size,
            "log likelihood": fit,
            "log posterior": posterior,
            f"mean {spec.symbol} of all chains": mean,
        }
    )


def _label(spec: GrowingSpec) -> str:
    data = {"xor": "the XOR clouds", "noisy": "noisy XOR clouds", "points": "points of your own"}[spec.data]
    return (
        f"{CHAINS} chains over networks whose number of hidden {spec.thing}s changes, on {data}: one network with its "
        f"{spec.thing}s coming and going, the ledger of each jump, the shares of {spec.symbol}, maps of the averaged "
        f"prediction and of the disagreement, and traces of {spec.symbol} and of the log posterior."
    )


# Checks ---------------------------------------------------------------------------------------------------------------

CHECKED = 1000  # sweeps of the long run that are judged


def kernels(spec: GrowingSpec) -> list[Kernel]:
    """The sweep of the chains on the stage."""
    return [JumpKernel(first_look(spec).run, spec.mistake)]


def audit(spec: GrowingSpec, cancel: Any = None) -> list[Check]:
    """The books of the jumps on the stage."""
    return [ledger_check(first_look(spec))]


def checks(spec: GrowingSpec, cancel: Any = None) -> list[Check]:
    """The chains of the long run: do they agree, and are their shares of the size those that annealing finds?"""
    sweeps = min(spec.sweeps, STUDY_COSTLY if spec.variant in COSTLY else CHECKED)  # type: ignore[attr-defined]

    def chains(seed: int, number: int, work: int) -> ArchitectureRecording:
        run = begin(spec, work * sweeps, detail="draws", seed=seed)
        return architectures.after(architectures.advanced(run, cancel), min(spec.burn, sweeps // 2))

    def exact(number: int) -> ModelProbabilities:
        how = EVIDENCE.replace(seed=EVIDENCE.seed + number - 1)
        found = evidence(spec.network(), *spec.data_set(), spec=how, cancel=cancel)  # type: ignore[arg-type]
        return exact_shares(found, spec.log_prior())

    return architectures.shares_looks(chains, spec.seed, spec.low, exact, spec.symbol)


LEDGER_LIMIT = 1e-8


def ledger_check(growth: Growth) -> Check:
    """Do the factors add up to log r, and is the likelihood after each accepted jump that computed from scratch?"""
    spec, recording = growth.spec, growth.run.recording()
    chain, sweeps = spec.shown - 1, np.arange(growth.sweeps)
    jumps = architectures.jumps_of(recording, chain, sweeps)
    errors = [*np.abs(jumps.factors.sum(axis=1) - jumps.log_ratio)]
    for t in sweeps[jumps.accepted]:
        after = recording.theta(chain, int(t))
        sizes = int(recording.width[chain, t]), int(recording.depth[chain, t])
        scratch = recording.network(*sizes).log_likelihood(growth.x, growth.y).log_density_many(after[None])[0]
        errors.append(abs(scratch - recording.log_likelihood[chain, t]))
    worst = float(np.nan_to_num(errors, nan=np.inf).max())
    verdict: Verdict = "pass" if worst < LEDGER_LIMIT else "fail"
    sentence = (
        f"In {len(sweeps)} jumps of chain {spec.shown} the factors add up to log r, and after the "
        f"{int(jumps.accepted.sum())} accepted ones the likelihood is that computed from scratch, to {worst:.1e}."
    )
    return Check("ledger", verdict, worst, LEDGER_LIMIT, sentence, "nats", kind="kernel")


# Below the stage ------------------------------------------------------------------------------------------------------


def panels(spec: GrowingSpec, cancel: Any) -> list[Figure]:
    """Shares with their errors, acceptance by size, and what size buys in fit."""
    growth = study(spec, cancel)
    return [share_figure(growth), accept_figure(growth), fit_figure(growth)]


def share_figure(growth: Growth) -> Figure:
    """Shares of the sizes among the draws beside the prior and, once computed, the exact probabilities."""
    spec, exact = growth.spec, exact_now(growth.spec)
    drawn = architectures.shares(growth.sizes[:, growth.burn :], spec.low, spec.count)
    caption = (
        f"The first {growth.total} sweeps of {CHAINS} chains, {growth.burn} left out; bars of ± {HELD:g} Monte Carlo "
        f"standard errors. R-hat of {spec.symbol}: {drawn.rhat:.2f}."
    )
    caption += " Exact: by annealing." if exact is not None else " The long run adds the exact answer on the stage."
    title = f"How sure are the shares of {spec.symbol}?"
    return architectures.size_figure(
        title, drawn, spec.low, exact=exact, prior=np.exp(spec.log_prior()), name=f"hidden {spec.thing}s {spec.symbol}",
        caption=caption,
    )  # fmt: skip


class Accepts(NamedTuple):
    """Mean acceptance probability of births from, and deaths from, each size, and how many were proposed: all (K,)."""

    birth: Array
    death: Array
    births: NDArray[np.int64]
    deaths: NDArray[np.int64]


def accepts(growth: Growth) -> Accepts:
    """Acceptance by size before the jump, over all sweeps after the burn-in."""
    spec = growth.spec
    chains = [architectures.jumps_of(growth.run.recording(), c) for c in range(CHAINS)]
    kept = slice(growth.burn, None)
    before = np.concatenate([j.before[kept] for j in chains]) - spec.low
    birth = np.concatenate([j.birth[kept] for j in chains])
    ratio = np.concatenate([j.log_ratio[kept] for j in chains])
    prob = np.exp(np.minimum(np.nan_to_num(ratio, nan=-np.inf), 0.0))
    found = []
    for which in (birth, ~birth):
        number = np.bincount(before[which], minlength=spec.count)
        with np.errstate(invalid="ignore"):
            found.append((np.bincount(before[which], prob[which], minlength=spec.count) / number, number))
    (up, ups), (down, downs) = found
    return Accepts(up, down, ups, downs)


def accept_figure(growth: Growth) -> Figure:
    """Which births and deaths are accepted."""
    spec, found = growth.spec, accepts(growth)
    sizes = np.arange(spec.low, spec.high + 1)
    figure = charts.blank(f"{spec.symbol} before the jump", "mean acceptance probability")
    looks = (("births", found.birth, "accept", "circle"), ("deaths", found.death, "reject", "x"))
    for name, values, role, symbol in looks:
        marker = {"symbol": symbol, "size": 9, "color": theme.colour(role)}
        line = {"color": theme.colour(role), "dash": "solid" if name == "births" else "dash"}
        figure.add_scatter(x=sizes, y=values, mode="lines+markers", marker=marker, line=line, name=name)
    figure.update_yaxes(range=[-0.02, 1.02])
    figure.update_xaxes(dtick=1 if spec.count <= 8 else 2)
    listed = "; ".join(
        f"{name} from {spec.symbol} = {k}: {v:.0%}"
        for name, values, _, _ in looks
        for k, v in zip(sizes, values, strict=True)
        if np.isfinite(v)
    )
    caption = (
        f"Of {int(found.births.sum()):,} births and {int(found.deaths.sum()):,} deaths proposed. A dear loss of fit "
        "makes a death unlikely, a useless newborn is accepted easily."
    )
    return Figure("Which jumps are accepted?", figure, f"Mean acceptance probability by size. {listed}.", caption)


def fit_figure(growth: Growth) -> Figure:
    """Log likelihood of the draws of each size: mean and standard deviation."""
    spec = growth.spec
    sizes, fit = growth.sizes[:, growth.burn :], growth.run.recording().log_likelihood[:, growth.burn :]
    seen = [k for k in range(spec.low, spec.high + 1) if (sizes == k).sum() >= 20]
    mean = [float(fit[sizes == k].mean()) for k in seen]
    sd = [float(fit[sizes == k].std()) for k in seen]
    figure = charts.blank(f"hidden {spec.thing}s {spec.symbol}", "log likelihood (nats)")
    marker = {"symbol": "square", "size": 8, "color": theme.colour("likelihood")}
    bars = {"type": "data", "array": sd, "color": theme.colour("muted")}
    figure.add_scatter(x=seen, y=mean, mode="lines+markers", marker=marker, error_y=bars, name="draws")
    figure.update_xaxes(dtick=1 if spec.count <= 8 else 2)
    listed = "; ".join(f"{k}: {m:.1f} ± {s:.1f}" for k, m, s in zip(seen, mean, sd, strict=True))
    caption = (
        f"Mean ± one standard deviation over the draws with at least 20 of a size. Where the curve is flat, a "
        f"{spec.thing} more neither helps nor harms the fit."
    )
    return Figure(f"What does one {spec.thing} more buy?", figure, f"Log likelihood by size: {listed}.", caption)


def diagnostics(spec: GrowingSpec, cancel: Any) -> list[Table]:
    """R-hat and effective draws of the size and in function space; acceptance by move; cost."""
    growth = study(spec, cancel)
    recording, kept = growth.run.recording(), slice(growth.burn, None)
    corner = np.array([[0.5, 0.5], [1.2, 1.2]])
    at = np.concatenate([CENTRE, corner])
    watched = np.empty((CHAINS, growth.total - growth.burn, 2 + len(at)))
    watched[:, :, 0] = growth.sizes[:, kept]
    watched[:, :, 1] = recording.log_likelihood[:, kept]
    width, depth, draws = recording.width[:, kept], recording.depth[:, kept], recording.draws[:, kept]
    for sizes, theta in grouped(recording, kept).items():
        here = (width == sizes[0]) & (depth == sizes[1])
        watched[here, 2:] = probabilities(recording.network(*sizes), theta, at)[:, :, 1]
    assert draws.shape[:2] == watched.shape[:2]
    summary = summarise(watched)
    names = [
        spec.symbol,
        "log likelihood",
        "P(class 1) at (0, 0)",
        "P(class 1) at (0.5, 0.5)",
        "P(class 1) at (1.2, 1.2)",
    ]
    gradients = int(recording.gradient_evaluations.sum())
    least = float(np.nanmin(summary.ess_bulk)) if np.isfinite(summary.ess_bulk).any() else float("nan")
    cost = (
        f"{CHAINS} chains of {growth.total} sweeps, {growth.burn} left out: {gradients:,} gradients in "
        f"{recording.seconds:.2g} s, at least {least / max(recording.seconds, 1e-9):,.0f} effective draws a second. "
        "R-hat is taken of sizes and of predictions, never of weights: units may change places."
    )
    agree = {
        "quantity": names,
        "mean": summary.mean,
        "± MCSE": summary.mcse_mean,
        "R-hat": summary.rhat,
        "ESS bulk": np.round(summary.ess_bulk).astype(object),
        "ESS tail": np.round(summary.ess_tail).astype(object),
    }
    moves = architectures.accept_table(recording, growth.burn)
    inside = ""
    if spec.within == "nuts":
        inside = (
            f"NUTS between the jumps: mean acceptance {recording.accept_prob[:, kept].mean():.0%}, "
            f"{int(recording.divergent[:, kept].sum())} divergent."
        )
    return [Table("Do the chains agree?", agree, cost), Table("Acceptance by move", moves, inside)]


# Own points -----------------------------------------------------------------------------------------------------------


def own_copy(spec: GrowingSpec) -> dict[str, Any]:
    """The points of the clouds as own points: all of them, or every few where they are too many."""
    x, y = spec.data_set()
    chosen = np.linspace(0, len(x) - 1, min(len(x), MAX_POINTS)).astype(int)
    inside = np.clip(np.round(x, 3), -REACH, REACH)
    return {"data": "points", "points": tuple((float(inside[i, 0]), float(inside[i, 1]), int(y[i])) for i in chosen)}


def on_event(spec: GrowingSpec, event: dict) -> Spec | None:
    """Points placed in the stage become the data."""
    if event.get("kind") != "points" or event.get("panel") != "mean":
        return None
    placed = tuple((round(float(x), 3), round(float(y), 3), int(label)) for x, y, label in event["points"])
    return spec.replace(data="points", points=placed)


# Controls -------------------------------------------------------------------------------------------------------------

DATA_NAMES = {"xor": "XOR", "noisy": "noisy XOR", "points": "your points"}
WITHIN_NAMES = {"nuts": "NUTS", "none": "nothing"}
START_NAMES = {"spread": "one at each size", "prior": "prior draws"}


def data_controls(panel: Controls) -> None:
    """The data."""
    panel.segmented("data", "Data", DATA_NAMES)
    if panel.spec.data == "points":
        panel.points("points", CLASSES)
    else:
        panel.slider("corner", "Points per corner")
        panel.button("Edit these points", own_copy, help="Take them as your own points: click, drag and delete them")


def prior_controls(panel: Controls) -> None:
    """The priors of the size and of the weights."""
    symbol = panel.spec.symbol
    panel.segmented("prior", f"Prior on {symbol}")
    if panel.spec.prior == "geometric":
        panel.slider("ratio", f"p({symbol} + 1) / p({symbol})")
    elif panel.spec.prior == "poisson":
        panel.slider("mean", "Mean")
    panel.slider("temper", "Temper a")
    panel.slider("prior_sd", "Prior sd σ of the weights")


def sampler_controls(panel: Controls) -> None:
    """What few need to change."""
    with panel.more("The sampler"):
        panel.segmented("within", "Between the jumps", WITHIN_NAMES)
        panel.slider("step_size", "Step size ε of NUTS")
        panel.slider("jumps", "Jumps in a sweep")
        panel.slider("sweeps", "Sweeps of the long run")
        panel.slider("burn", "Sweeps left out")
        panel.segmented("start", "Chains start at", START_NAMES)


def runs(spec: GrowingSpec) -> str:
    """Which kernel runs."""
    between = "NUTS moves the weights, then " if spec.within == "nuts" else ""
    wrong = f" Wrong on purpose: {spec.mistake}" if spec.mistake else ""
    many = "one birth or death" if spec.jumps == 1 else f"{spec.jumps} births or deaths"
    return f"Reversible jump: {between}{many} of a {spec.thing} drawn from its prior.{wrong}"
