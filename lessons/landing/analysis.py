"""The numbers behind the pictures: one chain jump by jump, methods beside each other, and what is checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.diagnostics import ess_mean, least_ess
from engine.evidence import ModelProbabilities
from engine.judge import Z_LIMIT, Check, JumpKernel, Kernel, Verdict, run_checks, unknown
from engine.judge.shares import shares_looks
from engine.jumps import ArchitectureRecording, ArchitectureRun, start_architecture
from engine.kept import kept
from engine.networks import Network
from lessons.families.growing.chains import advanced
from lessons.families.growing.drawn import born_unit
from lessons.families.growing.evidence import EVIDENCE, shared_evidence
from lessons.families.growing.ledger import SHORT, Jumps, jumps_of
from lessons.landing import boston
from lessons.landing.spec import WORDS, LandingSpec, crossing, sandwich

Array = NDArray[np.float64]

WARM = 20  # sweeps before the stage begins
STEPS = 140  # of the stage, about
LEAST_JUMPS = 3
BEGINNING = 4  # jumps at most that are shown while the others are made


# One chain, jump by jump ----------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """One state on a jump's way. theta : (dim,) of the larger network, NaN for a unit that is not there; level : share
    of the unit's output, or power of the likelihood; there : whether the unit is; gained : log weight; value, hurdle :
    what decides, and what it must end above; accept_prob : of the moves that led here; verdict : the last row.
    """

    theta: Array
    level: float
    there: bool
    gained: float
    value: float
    hurdle: float
    accept_prob: float
    verdict: bool


class Stage(NamedTuple):
    """The jumps of one chain. recording : all its sweeps; sweeps : (n,), those shown; jumps : of them; rows : a list of
    states for each.
    """

    recording: ArchitectureRecording
    sweeps: NDArray[np.int64]
    jumps: Jumps
    rows: list[list[Row]]


def rows_of(spec: LandingSpec) -> int:
    """States that a jump goes through, the verdict not counted."""
    settings = spec.settings()
    return {"annealed": spec.bridges, "tempered": 2 * settings.get("bridges", 1) + 1, "delayed": 2}.get(spec.jump, 1)


def shown_jumps(spec: LandingSpec) -> int:
    """How many jumps the stage shows."""
    return max(LEAST_JUMPS, STEPS // (rows_of(spec) + 1))


@kept
def stage(spec: LandingSpec) -> Stage:
    """Some jumps of the chain on the stage, each with its way."""
    return _chain(spec).upto(shown_jumps(spec))


def beginning(spec: LandingSpec) -> Stage | None:
    """The first of them; None where all are there, or where a jump tells by itself how many steps it takes."""
    if spec.jump == "delayed" or stage.peek(spec) is not None:
        return None
    return _chain(spec).upto(min(BEGINNING, shown_jumps(spec) // LEAST_JUMPS))


class _Chain:
    """The chain on the stage, advanced as far as anybody asked."""

    def __init__(self, spec: LandingSpec):
        starts = spec.start_sizes()
        self._spec, self._lock = spec, ticket.Lock()
        self._run = start_architecture(
            spec.network(),
            *spec.data_set(),
            **spec.settings(),
            chains=1,
            draws=WARM + shown_jumps(spec),
            seed=spec.seed,
            within=spec.within,
            step_size=spec.step_size,
            max_depth=6,
            detail="jumps",
            start_width=None if starts is None else starts[spec.shown - 1],
        )

    def upto(self, count: int) -> Stage:
        with self._lock:
            self._run.advance(self._run.left(WARM + count))
            recording = self._run.recording()
        sweeps = np.arange(WARM, WARM + count)
        jumps = jumps_of(recording, 0, sweeps)
        return Stage(recording, sweeps, jumps, [_way(self._spec, recording, int(t), jumps, i) for i, t in enumerate(sweeps)])


_chain = kept(_Chain)


def larger(recording: ArchitectureRecording, jumps: Jumps, i: int) -> Network:
    """The larger of the two networks of jump i."""
    return recording.network(int(max(jumps.before[i], jumps.after[i])), 1)


def unit_of(net: Network, slot: int) -> NDArray[np.bool_]:
    """Which parameters belong to the unit at `slot`: into it, its bias, out of it."""
    return born_unit(net, slot)


def whole(net: Network, theta: Array, slot: int, unit: Array | float = np.nan) -> Array:
    """Parameters of `net`: `theta` itself, or those of the network without the unit and the `unit`."""
    if len(theta) == net.dim:
        return np.array(theta)
    new, full = unit_of(net, slot), np.empty(net.dim)
    full[new], full[~new] = unit, theta
    return full


def _way(spec: LandingSpec, recording: ArchitectureRecording, t: int, jumps: Jumps, i: int) -> list[Row]:
    net, slot, ledger = larger(recording, jumps, i), int(jumps.slot[i]), recording.ledger
    birth, accepted, nan = bool(jumps.birth[i]), bool(jumps.accepted[i]), float("nan")
    born = jumps.parameters[i][: unit_of(net, slot).sum()]
    likelihood, log_u = float(jumps.factors[i, 0]), float(np.log(jumps.uniform[i]))
    hurdle = log_u - (float(jumps.log_ratio[i]) - likelihood)
    final = whole(net, recording.theta(0, t), slot, born)
    rows: list[Row] = []
    if spec.jump in ("annealed", "tempered"):
        total = 0.0
        for r, gained in enumerate(ledger.bridge_log_weight[0, t, 0]):
            total += float(gained)
            crossed = spec.jump == "annealed" or r >= ledger.bridge_level.shape[-1] // 2
            there = spec.jump == "annealed" or birth == crossed
            place = ledger.bridge_position[0, t, 0, r]
            theta = whole(net, place[np.isfinite(place)], slot)
            level, accept = float(ledger.bridge_level[0, t, 0, r]), float(ledger.bridge_accept_prob[0, t, 0, r])
            rows.append(Row(theta, level, there, float(gained), total, hurdle, accept, False))
    elif spec.jump == "delayed":
        for s in range(2):
            value = float(ledger.stage_log_ratio[0, t, 0, s])
            if np.isnan(value):
                continue
            unit = ledger.stage_parameters[0, t, 0, s if birth else 0][: len(born)]
            theta = np.array(final)
            theta[unit_of(net, slot)] = unit
            hurdle = float(np.log(ledger.stage_uniform[0, t, 0, s]))
            rows.append(Row(theta, 1.0, birth, value, value, hurdle, nan, False))
    else:
        rows.append(Row(final, 1.0, birth, likelihood, likelihood, hurdle, nan, False))
    last = rows[-1]
    decided = Row(final, 1.0, birth == accepted, nan, last.value, last.hurdle, nan, True)
    return [*rows, decided]


def shown(net: Network, row: Row, slot: int, annealed: bool) -> Array:
    """The weights as drawn: those that lead out of the unit at their level, nothing of a unit that is not there."""
    theta = np.array(row.theta)
    new = unit_of(net, slot)
    if not row.there:
        theta[new] = np.nan
    elif annealed and not row.verdict:
        net.unpack(theta)[-1][0][:, slot] *= row.level
    return theta


# The sandwich ---------------------------------------------------------------------------------------------------------

AROUND = 48  # jumps of the chain between two NUTS moves
AROUND_SHOWN = 24
FIRST_AROUND = 12  # of them, that are looked at while the others are made


class Sandwich(NamedTuple):
    """Jumps between two NUTS moves, n of them.

    jumps : as the ledger has them; posterior : (n, 4), log posterior at θ, θ~, θ′ and θ*
    proposal : (n,), log of everything else: proposals, slots, ends, Jacobian, as they entered
    bare : (n,), log ratio of the bare jump from θ~ to θ′; factors : (n, 7), see `FACTORS_AROUND`
    thetas : (n, dim), the larger network at the jump; total : of the jumps, once all are there
    """

    recording: ArchitectureRecording
    jumps: Jumps
    posterior: Array
    proposal: Array
    bare: Array
    factors: Array
    thetas: list[Array]
    total: int


FACTORS_AROUND = ("1/π(θ)", "π(θ)", "1/π(θ~)", "jump", "π(θ′)", "1/π(θ*)", "π(θ*)")


@kept
def between(spec: LandingSpec) -> Sandwich:
    """Some jumps between NUTS moves of one chain, with every factor of their ratio."""
    chain = _around(spec)
    with chain.lock:
        chain.run.advance(1)
    return _sandwich_of(spec, chain.run.recording())


def first_between(spec: LandingSpec) -> Sandwich | None:
    """The first of them; None where all are there, or where none of these few has landed."""
    if between.peek(spec) is not None:
        return None
    chain = _around(spec)
    with chain.lock:
        if chain.run.done:
            return None
        recording = chain.run.ahead(FIRST_AROUND)
    return _sandwich_of(spec, recording) if recording.ledger.accepted[0, 0, :-1].any() else None


class _Around:
    """One chain, all of whose jumps are of one sweep."""

    def __init__(self, spec: LandingSpec):
        starts = spec.start_sizes()
        self.lock = ticket.Lock()
        self.run = start_architecture(
            spec.network(),
            *spec.data_set(),
            **spec.settings(),
            chains=1,
            draws=1,
            jumps=AROUND,
            seed=spec.seed,
            within="nuts",
            step_size=spec.step_size,
            max_depth=6,
            detail="jumps",
            start="best",
            start_width=None if starts is None else starts[spec.shown - 1],
        )


_around = kept(_Around)


def _sandwich_of(spec: LandingSpec, recording: ArchitectureRecording) -> Sandwich:
    ledger = recording.ledger
    made = ledger.move.shape[2]
    every = [jumps_of(recording, 0, jump=j) for j in range(made)]
    jumps = Jumps(*(np.concatenate(column) for column in zip(*every, strict=True)))
    # The state before a jump is where the last accepted one ended; before the first of them it is not recorded.
    landed = np.flatnonzero(jumps.accepted)
    first = int(landed[0]) + 1 if len(landed) and landed[0] + 1 < AROUND else 0
    total = min(AROUND_SHOWN, AROUND - first)
    kept = np.arange(first, min(first + total, made))
    log_prior = spec.log_prior()
    x, y = spec.data_set()

    @cache
    def target(width: int) -> Any:
        return recording.network(width, 1).posterior(x, y)

    def at(theta: Array, width: int) -> float:
        theta = theta[: recording.network(width, 1).dim]
        return float(target(width).log_density(theta) + log_prior[width - spec.low])

    before = ledger.bridge_position[0, 0, first - 1, 2] if first else recording.draws[0, -1]
    posterior, thetas, here = np.empty((len(kept), 4)), [], at(before, int(jumps.before[first]))
    for n, j in enumerate(kept):
        k, k_new, path = int(jumps.before[j]), int(jumps.after[j]), ledger.bridge_position[0, 0, j]
        posterior[n] = here, at(path[0], k), at(path[1], k_new), at(path[2], k_new)
        thetas.append(path[1 if jumps.birth[j] else 0][: recording.network(max(k, k_new), 1).dim])
        if jumps.accepted[j]:
            here = posterior[n, 3]
    jumps = Jumps._make(column[kept] for column in jumps)
    names = list(SHORT)
    density = jumps.factors[:, [names.index("likelihood"), names.index("architecture prior"), names.index("weight prior")]]
    proposal = jumps.factors.sum(axis=1) - density.sum(axis=1)
    start, tilde, prime, star = posterior.T
    none = np.zeros(len(kept))
    if spec.sandwich == "palindromic":
        columns = (-start, start, -tilde, proposal, prime, -star, star)
    else:
        columns = (-start, none, none, proposal, none, none, star)
    return Sandwich(recording, jumps, posterior, proposal, prime - tilde + proposal, np.stack(columns, 1), thetas, total)


# Methods beside each other --------------------------------------------------------------------------------------------

CHAINS, SMALL_CHAINS, SMALL = 8, 4, 100
DIGIT_CHAINS, SMALL_ON_DIGITS = 2, 20  # networks of up to 128 units take their time
BOSTON_CHAINS = 16  # as many as the thesis had
TUNING = 30  # warm-up sweeps of the thesis' runs, where no step size is given
ROUND = 10  # sweeps of each method between two pictures


def methods(spec: LandingSpec) -> dict[str, dict[str, Any]]:
    """The jumps that are compared, by name."""
    if spec.part == "sandwich":
        return {
            "plain": crossing("plain", 1),
            "palindrome": sandwich("palindromic"),
            "no_densities": sandwich("no_kernel_densities"),
            "as_coded": sandwich("as_coded"),
        }
    annealed = {f"annealed {T}": crossing("annealed", T) for T in (1, 4, 16, 64)}
    found = {"plain": crossing("plain", 1), "tempered": crossing("tempered", 1), **annealed}
    found["delayed"] = crossing("delayed", 1)
    found |= {"split": {"jump": "split"}, "redraw": {"jump": "redraw"}}
    if spec.part == "thesis":
        found = {name: found[name] for name in ("plain", "tempered", "annealed 4", "annealed 16", "delayed")}
    if spec.on_boston:
        found["as_coded"] = sandwich("as_coded")
    return found


def called(method: str, *, briefly: bool = False) -> str:
    """One of these in words; briefly, as it stands under a bar."""
    kind, _, bridges = method.partition(" ")
    brief = WORDS.named("under_bars", kind, T=bridges) if briefly else None
    return brief or WORDS.phrase(f"methods.{kind}", T=bridges)


def short_methods(spec: LandingSpec) -> tuple[str, ...]:
    """The names of those that the short run below the stage compares; on digits two, on houses the exact ones."""
    names = tuple(methods(spec))
    if spec.part == "thesis":
        return names[:-1] if spec.on_boston else ("plain", "annealed 16")
    return names


def chains_of(spec: LandingSpec, small: bool = False) -> int:
    """How many chains each method runs."""
    if spec.part == "thesis":
        return BOSTON_CHAINS if spec.on_boston else DIGIT_CHAINS
    return SMALL_CHAINS if small else CHAINS


def starts(spec: LandingSpec, chains: int) -> list[int]:
    """The size at which each chain starts: all sizes equally often on houses, as in the thesis, else evenly spread; on
    digits the two ends are left out.
    """
    if spec.on_boston:
        return [spec.low + c * spec.count // chains for c in range(chains)]
    if spec.part == "thesis":
        return [int(k) for k in np.round(np.linspace(spec.low, spec.high, chains + 2))[1:-1]]
    return [int(k) for k in np.round(np.linspace(spec.low, spec.high, chains))]


def sizes(spec: LandingSpec, recording: ArchitectureRecording) -> NDArray[np.int16]:
    """(chains, draws), hidden units, or layers where these are born and die."""
    return recording.depth if spec.grows == "depth" else recording.width


class Outcome(NamedTuple):
    """What one method did after the burn-in. accepted : share of its jumps; error : its standard error; within : mean
    acceptance of NUTS; trips : round trips of k in all chains; effective : least effective draws of k; seconds; mean :
    of k; distance : of the shares of k from the exact ones (total variation), NaN while these are not known.
    """

    accepted: float
    error: float
    within: float
    trips: int
    effective: float
    seconds: float
    mean: float
    distance: float
    jumps: int

    @property
    def distance_of_a_second(self) -> float:
        """The distance that one second would leave: it falls with the root of the seconds."""
        return self.distance * float(np.sqrt(self.seconds))


def round_trips(widths: NDArray[np.int16], low: int, high: int) -> int:
    """Full ways of k from the lowest sizes (k <= low) to the highest (k >= high) and back, of (chains, draws)."""
    total = 0
    for chain in np.asarray(widths):
        ends = chain[(chain <= low) | (chain >= high)] >= high
        total += int(np.count_nonzero(ends[1:] != ends[:-1])) // 2
    return total


def trip_ends(spec: LandingSpec) -> tuple[int, int]:
    """Of a round trip: 3 and 12 of 1 to 16."""
    return max(1, round(3 * spec.high / 16)), round(12 * spec.high / 16)


class Race:
    """All methods on the same data, advanced in turns of `ROUND` sweeps."""

    def __init__(self, spec: LandingSpec, sweeps: int, chains: int, names: tuple[str, ...] = ()):
        self.spec, self.total, self.sweeps = spec, sweeps, 0
        self.burn = min(spec.burn, sweeps // 2)
        thesis = spec.part == "thesis"
        sized: dict[str, Any] = {f"{spec.grows}_prior": spec.size_prior(), f"start_{spec.grows}": starts(spec, chains)}
        x, y = spec.data_set()
        chosen = {name: how for name, how in methods(spec).items() if not names or name in names}
        self.runs: dict[str, ArchitectureRun] = {
            name: start_architecture(
                spec.network(),
                x,
                y,
                **sized,
                **how,
                chains=chains,
                draws=sweeps,
                seed=spec.seed,
                warmup=TUNING if thesis else 0,
                step_size=None if thesis else spec.step_size,
                max_depth=6,
                start="best" if thesis else "prior",
            )
            for name, how in chosen.items()
        }
        self.history: list[dict[str, Outcome]] = []
        self.at: list[int] = []

    @property
    def done(self) -> bool:
        return self.sweeps == self.total

    def advance(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """One round of every method. False once `stop()`: then the round does not count."""
        n = min(ROUND, self.total - self.sweeps)
        for run in self.runs.values():
            if stop():
                return False
            run.advance(n if self.sweeps else n + run.warmup)
        self.sweeps += n
        self.at.append(self.sweeps)
        self.history.append({name: self.outcome(name, self.sweeps) for name in self.runs})
        return True

    def outcome(self, name: str, upto: int, exact: ModelProbabilities | None = None) -> Outcome:
        """Of one method after `upto` sweeps; the seconds are its share of all it has spent."""
        run, burn = self.runs[name], min(self.burn, upto // 2)
        recording, late = run.recording(), slice(burn, upto)
        asked, landed = (each[:, late].sum(axis=2) for each in (recording.proposed, recording.jumped))
        share, watched = float(landed.sum() / asked.sum()), sizes(self.spec, recording)[:, late]
        independent = ess_mean(landed.astype(float))
        independent = min(independent, landed.size) if np.isfinite(independent) else landed.size
        distance = float("nan")
        if exact is not None:
            seen = np.bincount(watched.ravel() - self.spec.low, minlength=self.spec.count)
            distance = 0.5 * float(np.abs(seen / seen.sum() - exact.probability).sum())
        return Outcome(
            share,
            float(np.sqrt(share * (1.0 - share) / independent)),
            float(recording.accept_prob[:, late].mean()),
            round_trips(watched, *trip_ends(self.spec)),
            least_ess(watched[:, :, None].astype(float)) if watched.shape[1] > 8 else 0.0,
            max(run.seconds * upto / max(self.sweeps, 1), 1e-9),
            float(watched.mean()),
            distance,
            int(asked.sum()),
        )

    def judged(self, exact: ModelProbabilities | None) -> list[dict[str, Outcome]]:
        """The history, with distances once the exact answer is known."""
        if exact is None:
            return self.history
        return [{name: self.outcome(name, upto, exact) for name in self.runs} for upto in self.at]


def small(spec: LandingSpec, cancel: Any = None) -> Race:
    """A short comparison for what stands below the stage. Raises InterruptedError when cancelled."""
    with ticket.holding(cancel):
        return _small(spec)


@kept
def _small(spec: LandingSpec) -> Race:
    digits = spec.part == "thesis" and not spec.on_boston
    sweeps = SMALL_ON_DIGITS if digits else min(SMALL, spec.sweeps)
    race = Race(spec, sweeps, chains_of(spec, small=True), short_methods(spec))
    while not race.done:
        if not race.advance(ticket.stopped):
            raise InterruptedError
    return race


# Checks ---------------------------------------------------------------------------------------------------------------

BETWEEN = 3  # jumps of a sweep between NUTS moves in the trial: they are dear
AFFORDED, ROWS = 6, 50  # sizes and observations at most at which the jumps of the thesis are tried
CHECKED = {"landing": 2000, "sandwich": 100}  # sweeps that are judged at most
CHECKED_AS_CODED = 40
LEDGER_LIMIT = 1e-7


def kernels(spec: LandingSpec) -> list[Kernel]:
    """The sweep of the chain on the stage; of the thesis, the jumps that the short run compares, at a size that can be
    afforded.
    """
    if spec.part == "thesis":
        return [thesis_kernel(spec, how) for name, how in methods(spec).items() if name in short_methods(spec)]
    run = stage(spec).recording.run if spec.part == "landing" else chains(spec, 1, 1, jumps=BETWEEN)
    return [JumpKernel(run, spec.mistake)]


@kept
def small_inputs(spec: LandingSpec) -> tuple[Array, NDArray[Any]]:
    """Some rows of the thesis' data; where they are not on this machine, as many normal inputs."""
    if spec.is_ready:
        x, y = spec.data_set()
        return np.ascontiguousarray(x[:: max(1, len(x) // ROWS)][:ROWS]), y[:: max(1, len(y) // ROWS)][:ROWS]
    x = np.random.Generator(np.random.SFC64(spec.seed)).standard_normal((ROWS, boston.INPUTS))
    return x, np.zeros(ROWS)


def thesis_kernel(spec: LandingSpec, how: dict[str, Any]) -> JumpKernel:
    """One jump of the thesis' networks, with few units or layers and few observations."""
    most = min(spec.high, AFFORDED)
    x, y = small_inputs(spec.replace(sweeps=20, burn=0))
    run = start_architecture(spec.network(most), x, y, **how, chains=1, draws=1, seed=spec.seed, step_size=spec.step_size, max_depth=6)
    return JumpKernel(run, aside=WORDS.phrase("checks.aside", most=most, thing=spec.thing))


def audit(spec: LandingSpec, cancel: Any = None) -> list[Check]:
    """The books of the jumps between two NUTS moves."""
    return [cancelled(between(spec), spec)] if spec.part == "sandwich" else []


def checks(spec: LandingSpec, cancel: Any = None) -> list[Check]:
    """Chains of the jump on the stage: do they agree, and are their shares of k those that annealing finds? Of the
    thesis, the chains of the short run.
    """
    if spec.part == "thesis":
        return thesis_checks(spec, cancel)
    sweeps = CHECKED_AS_CODED if spec.settings()["jump"] == "as_coded" else min(CHECKED[spec.part], spec.sweeps)

    def look(seed: int, number: int, work: int) -> ArchitectureRecording:
        run = chains(spec, CHAINS, work * sweeps, seed=seed)
        return advanced(run, cancel).after(min(spec.burn, sweeps // 2))

    def exact(number: int) -> ModelProbabilities:
        how: Any = EVIDENCE.replace(seed=EVIDENCE.seed + number - 1)
        return shared_evidence(spec.network(), *spec.data_set(), spec=how, cancel=cancel).probabilities(spec.log_prior())

    return shares_looks(look, spec.seed, spec.low, exact, EVIDENCE.islands)


def thesis_checks(spec: LandingSpec, cancel: Any) -> list[Check]:
    """What the chains of each method say of themselves."""
    found = [unknown(WORDS.phrase("checks.answer"), WORDS.phrase("checks.no_answer"), kind="numbers")]
    if not spec.is_ready:
        return found
    race = small(spec, cancel)
    for method, run in race.runs.items():
        name = called(method)
        for check in run_checks(run.recording().after(race.burn)):
            found.append(dataclasses.replace(check, name=f"{check.name}: {name}", sentence=f"{name}: {check.sentence}"))
    return found


def chains(spec: LandingSpec, count: int, sweeps: int, jumps: int = 1, seed: int | None = None) -> ArchitectureRun:
    """Chains of the jump on the stage, from sizes far apart; on the same data with another seed."""
    return start_architecture(
        spec.network(),
        *spec.data_set(),
        **spec.settings(),
        chains=count,
        draws=sweeps,
        jumps=jumps,
        seed=spec.seed if seed is None else seed,
        within="nuts" if spec.part == "sandwich" else spec.within,
        step_size=spec.step_size,
        max_depth=6,
        start_width=starts(spec, count),
    )


def cancelled(found: Sandwich, spec: LandingSpec) -> Check:
    """Is the ratio that decided the bare one?"""
    worst = float(np.abs(found.jumps.log_ratio - found.bare).max())
    verdict: Verdict = "pass" if worst < LEDGER_LIMIT else "fail"
    sentence = WORDS.phrase("checks.cancelled", jumps=len(found.bare), worst=worst)
    if verdict == "fail":
        sentence += f" {spec.mistake}"
    return Check(WORDS.phrase("checks.bare_ratio"), verdict, worst, LEDGER_LIMIT, sentence, "nats", kind="kernel")


def apart(one: Outcome, other: Outcome) -> float:
    """How many standard errors the acceptance of two methods lies apart."""
    return (one.accepted - other.accepted) / float(np.hypot(one.error, other.error))


def alike(one: Outcome, other: Outcome) -> bool:
    """Whether two methods accept equally often, as far as their runs can tell."""
    return abs(apart(one, other)) < Z_LIMIT
