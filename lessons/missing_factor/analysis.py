"""From the spec to recordings: the scheme and the right one beside it, the exact answer, what a wrong scheme tends to,
and checks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import datasets
import engine
from datasets.xor import NOISY_VARIANCE, VARIANCE
from engine import ticket
from engine.evidence import EvidenceSpec, ModelProbabilities, model_probabilities
from engine.judge import Check, JumpKernel, Kernel
from engine.judge.shares import shares_looks
from engine.jumps import FACTORS, ArchitectureRecording, ArchitectureRun, start_architecture
from engine.jumps.sweep import CHOICE, JACOBIAN, SLOT_BIRTH, SLOT_DEATH
from engine.kept import kept
from engine.networks import Network
from lessons.families.growing.chains import advanced
from lessons.families.growing.evidence import QUICK, finished_evidence, quick_evidence, shared_evidence
from lessons.families.growing.ledger import Jumps
from lessons.missing_factor.spec import WORDS, MissingSpec

Array = NDArray[np.float64]

TEMPER = 0.5  # of the thesis's XOR experiment; its prior sd is 1
OUTPUTS = 2
CHAINS = 16
SHOWN = 4  # the chain whose jumps are on the stage
WITHIN: dict[str, Any] = {"within": "hmc", "step_size": 0.1, "steps": 10}
FIRST, FIRST_SLOW = 20, 3  # sweeps of the picture that does not grow
BEGINNING, GROWS = 1, 4  # sweeps of the first picture of one that grows; each next one has at most so many times as many
STUDIED, STUDIED_SLOW = 250, 40  # sweeps that panels look at
CHECKED = 1000  # sweeps that are judged at most
EVIDENCE = EvidenceSpec(particles=64, islands=8)  # errors of about 0.1 nats, in seconds
FRAMES = 240  # sweeps that are shown


def data_of(spec: MissingSpec) -> tuple[Array, NDArray[np.int64]]:
    """Inputs (n, 2) and classes (n,)."""
    if spec.data == "none":
        return np.zeros((0, 2)), np.zeros(0, dtype=np.int64)
    variance = {"xor": VARIANCE, "noisy": NOISY_VARIANCE}[spec.data]
    x, y, _ = datasets.xor(spec.corner, variance, seed=1)
    return x, y


def network_of(spec: MissingSpec) -> Network:
    """The 2-k-2 network of the thesis, k from 1 to `highest`."""
    return engine.network(2, OUTPUTS, width=(1, spec.highest), temper=TEMPER)


def sizes_of(spec: MissingSpec) -> NDArray[np.int64]:
    return np.arange(1, spec.highest + 1)


def right(spec: MissingSpec) -> MissingSpec:
    """The same run with every factor in place."""
    return spec.replace(variant="exact")


def begin(spec: MissingSpec, sweeps: int, detail: str = "jumps", chains: int = CHAINS) -> ArchitectureRun:
    """The first `chains` of the scheme at their starts, with room for `sweeps`: all are spread over all k, as in the thesis."""
    starts = np.round(np.linspace(1, spec.highest, CHAINS)).astype(int)[:chains]
    return start_architecture(
        network_of(spec),
        *data_of(spec),
        chains=chains,
        draws=sweeps,
        seed=spec.seed,
        jump=spec.jump,
        variant=spec.variant,
        start_width=starts.tolist(),
        detail=detail,
        **WITHIN,
    )


class Growing:
    """The scheme's chains, all or the first ones, and those of the right scheme, advanced together up to `most` sweeps (default
    all).
    """

    def __init__(self, spec: MissingSpec, most: int | None = None, chains: int = CHAINS):
        self.spec = spec
        self.scheme = begin(spec, most or spec.sweeps, chains=chains)
        self.right = self.scheme if spec.variant == "exact" else begin(right(spec), most or spec.sweeps, chains=chains)

    @property
    def sweeps(self) -> int:
        """Sweeps that every chain has done."""
        return self.right.completed

    @property
    def done(self) -> bool:
        return self.right.done

    def advance(self, to: int) -> Growing:
        """Run on until `to` sweeps are done."""
        for run in {self.scheme, self.right}:
            run.advance(max(0, to - run.completed))
        return self


def first_sweeps(spec: MissingSpec) -> int:
    return FIRST_SLOW if spec.slow else FIRST


@kept
def first_look(spec: MissingSpec) -> Growing:
    """As far as the first picture goes."""
    return Growing(spec, first_sweeps(spec)).advance(first_sweeps(spec))


def times(spec: MissingSpec, sweeps: int) -> NDArray[np.int64]:
    """The sweeps that are shown of a run that has done `sweeps`: the first ones all, then evenly spread."""
    every = np.arange(min(40, spec.sweeps))
    spread = np.linspace(len(every), spec.sweeps - 1, FRAMES - len(every)).astype(np.int64)
    shown = np.unique(np.concatenate([every, spread if spec.sweeps > len(every) else []]).astype(np.int64))
    return shown[shown < sweeps]


# What panels and questions look at ------------------------------------------------------------------------------------


class Study(NamedTuple):
    """Recordings of the scheme and of the right scheme, and the sweeps at the start to leave out."""

    scheme: ArchitectureRecording
    right: ArchitectureRecording
    burn: int


def study(spec: MissingSpec, cancel: Any) -> Study:
    """The first part of the run, kept. Raises InterruptedError when stopped."""
    with ticket.holding(cancel):
        return _study(spec)


@kept
def _study(spec: MissingSpec) -> Study:
    last = min(spec.sweeps, STUDIED_SLOW if spec.slow else STUDIED)
    growing = Growing(spec, last)
    while growing.sweeps < last:
        ticket.look()
        growing.advance(min(last, growing.sweeps + 5))
    return Study(growing.scheme.recording(), growing.right.recording(), min(spec.burn, last // 3))


def exact(spec: MissingSpec, cancel: Any = None, report: Any = None, number: int = 1) -> ModelProbabilities:
    """p(k | data) from annealed evidence, with its error; without data the prior. Another number: other random
    numbers.
    """
    if spec.data == "none":
        return model_probabilities(np.zeros(spec.highest))
    how = EVIDENCE.replace(seed=EVIDENCE.seed + number - 1)
    found = shared_evidence(network_of(spec), *data_of(spec), spec=how, cancel=cancel, report=report)
    return found.probabilities()


def roughly(spec: MissingSpec, cancel: Any = None, report: Any = None) -> ModelProbabilities:
    """`exact` if it has been computed; else a rougher estimate, whose error says how rough."""
    if spec.data == "none":
        return exact(spec)
    return quick_evidence(network_of(spec), *data_of(spec), spec=EVIDENCE, cancel=cancel, report=report).probabilities()


def known_now(spec: MissingSpec) -> ModelProbabilities | None:
    """The best of `exact` and `roughly` that costs nothing."""
    if spec.data == "none":
        return exact(spec)
    for how in (EVIDENCE, QUICK):
        if found := finished_evidence(network_of(spec), *data_of(spec), spec=how):
            return found.probabilities()
    return None


# What a wrong scheme tends to -----------------------------------------------------------------------------------------


def log_weights(spec: MissingSpec) -> Array | None:
    """log w (K,): the scheme leaves w(k) p(k | data) p(weights | k, data) as it is. None where there is no such w.

    A factor f(k) missing from the births k → k + 1, and 1/f(k) from the deaths that undo them, is the same as a prior
    with p(k + 1)/p(k) multiplied by 1/f(k). A factor that deaths do not undo is of that kind only where all ratios are
    1: without data.
    """
    k = np.arange(1, spec.highest)
    if spec.variant == "exact":
        steps = np.zeros(len(k))
    elif spec.variant == "no_end_points":
        steps = np.array([-log_choice(int(j), int(j) + 1, spec.highest) for j in k])
    elif spec.variant == "no_jacobian":
        steps = -log_jacobian(k) if spec.jump == "rescaled" else np.zeros(len(k))
    elif spec.variant == "slot_once" and spec.data == "none" and spec.jump == "plain":
        steps = -np.log(k + 1.0)
        steps[-1] += np.log(2.0)  # the last birth has ratio 2, and the factor takes it below 1 from there
    else:
        return None
    return np.concatenate([[0.0], np.cumsum(steps)])


def log_choice(before: int, after: int, highest: int) -> float:
    """log of the factor of a jump for the choice between birth and death: the chance of the way back over that of the
    way there.
    """

    def chance(size: int, birth: bool) -> float:
        return 1.0 if size == (1 if birth else highest) else 0.5

    return float(np.log(chance(after, after < before) / chance(before, before < after)))


def log_jacobian(k: Any) -> Any:
    """log |J| of a rescaling birth from k units: its k · OUTPUTS kept output weights shrink by √(k / (k + 1))."""
    return 0.5 * OUTPUTS * k * np.log(k / (k + 1.0))


class Limit(NamedTuple):
    """What a scheme tends to: shares (K,), and how that is known."""

    shares: Array
    how: str


def limit(spec: MissingSpec, known: ModelProbabilities, cancel: Any) -> Limit | None:
    """What the scheme's histogram of k tends to; None where only a run can tell."""
    weights = log_weights(spec)
    if weights is not None:
        return Limit(_normalised(weights, known.probability), WORDS.phrase("checks.known_factor"))
    if spec.variant == "slot_once":
        steps = np.log(kept_births(spec, cancel))
        weights = np.concatenate([[0.0], np.cumsum(steps)])
        return Limit(_normalised(weights, known.probability), WORDS.phrase("checks.surviving"))
    return None


def _normalised(weights: Array, probability: Array) -> Array:
    with np.errstate(divide="ignore"):
        logs = weights + np.log(probability)
    return np.exp(logs - np.logaddexp.reduce(logs))


def kept_births(spec: MissingSpec, cancel: Any) -> Array:
    """c(k) = E min(1, r/(k+1)) / E min(1, r) over births from k = 1..highest − 1 at posterior weights, in [1/(k+1), 1].

    In the long run as many births k → k + 1 are accepted as deaths back. With weights settled at their posterior the
    deaths are those of the right scheme and the births c(k) times as many, so p'(k+1)/p'(k) = c(k) p(k+1)/p(k).
    r is read off a right chain whose prior on k, Poisson(2), keeps it at small k; p(weights | k, data) is the same. A
    k with hardly a birth gets 1/(k + 1).
    """
    with ticket.holding(cancel):
        return _kept_births(right(spec).replace(sweeps=1000, burn=0))


@kept
def _kept_births(spec: MissingSpec) -> Array:
    x, y = data_of(spec)
    run = start_architecture(
        network_of(spec),
        x,
        y,
        spec.jump,
        chains=8,
        draws=300,
        warmup=30,
        jumps=10,
        seed=spec.seed,
        detail="jumps",
        width_prior=("poisson", 2.0),
        start_width=np.linspace(1, min(12, spec.highest), 8).astype(int).tolist(),
        **WITHIN,
    )
    while not run.done:
        ticket.look()
        run.advance(10)
    return survivors(run.recording(), spec.highest)


def survivors(recording: ArchitectureRecording, highest: int) -> Array:
    """c(k) from the ledger of a right chain, see `kept_births`."""
    ledger = recording.ledger
    bare = ledger.factors.sum(axis=-1) - ledger.factors[..., FACTORS.index("architecture prior")]
    result = 1.0 / np.arange(2.0, highest + 1)
    for k in range(1, highest):
        r = bare[(ledger.move == 0) & (ledger.width == k)]
        if len(r) >= 50:
            result[k - 1] = np.exp(np.minimum(r - np.log(k + 1), 0.0)).mean() / np.exp(np.minimum(r, 0.0)).mean()
    return result


# The ledger, put right, and the way back ------------------------------------------------------------------------------


def put_right(spec: MissingSpec, jumps: Jumps) -> Array:
    """The factors (n, 8) of the same jumps with slots, choice and Jacobian as they should be. What the short NUTS runs
    would add is not known.
    """
    factors, sign = jumps.factors.copy(), np.where(jumps.birth, 1.0, -1.0)
    large = np.maximum(jumps.before, jumps.after)
    factors[:, SLOT_BIRTH], factors[:, SLOT_DEATH] = sign * np.log(large), -sign * np.log(large)
    ends = zip(jumps.before, jumps.after, strict=True)
    factors[:, CHOICE] = [log_choice(int(before), int(after), spec.highest) for before, after in ends]
    if spec.jump == "rescaled":
        factors[:, JACOBIAN] = sign * log_jacobian(large - 1.0)
    return factors


def way_back(spec: MissingSpec, jumps: Jumps) -> Array:
    """The factors (n, 8), as the scheme codes them, of the jumps that undo these."""
    factors = -jumps.factors
    if spec.variant in ("slot_once", "as_coded"):
        large = np.maximum(jumps.before, jumps.after)
        factors[:, SLOT_DEATH] = np.where(jumps.birth, 0.0, -np.log(large))
    return factors


# Checks ---------------------------------------------------------------------------------------------------------------

WRONG = WORDS.phrase("checks.mistake")


def wrong(spec: MissingSpec) -> bool:
    """Whether the scheme misses anything: a plain jump has the Jacobian 1, so there is none to forget."""
    return spec.variant != "exact" and not (spec.variant == "no_jacobian" and spec.jump == "plain")


def kernels(spec: MissingSpec) -> list[Kernel]:
    """The scheme, at the inputs of the page."""
    return [JumpKernel(first_look(spec).scheme, WRONG if wrong(spec) else "")]


def checks(spec: MissingSpec, cancel: Any = None) -> list[Check]:
    """The scheme's chains: do they agree, and are their shares of k the exact ones?"""
    sweeps = min(spec.sweeps, STUDIED_SLOW if spec.slow else CHECKED)

    def chains(seed: int, number: int, work: int) -> ArchitectureRecording:
        run = begin(spec.replace(seed=seed), work * sweeps, detail="draws")
        return advanced(run, cancel).after(min(spec.burn, sweeps // 2))

    return shares_looks(chains, spec.seed, 1, lambda number: exact(spec, cancel, number=number), EVIDENCE.islands)


def runs(spec: MissingSpec) -> str:
    """What runs."""
    plain = spec.variant == "no_jacobian" and spec.jump == "plain"
    return WORDS.phrase("runs.plain" if plain else f"runs.{spec.variant}")
