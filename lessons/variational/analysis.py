"""What the lesson computes: fits step by step with their exact ELBO, coordinate ascent, the two divergences, checks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit.text import number
from datasets.logistic import logistic_pairs
from engine import diagnostics, sample, ticket
from engine.judge import (
    Check,
    Kernel,
    Simulated,
    TransitionKernel,
    Verdict,
    agreement_check,
    divergence_check,
    kernel_of,
    two_looks,
    unknown,
)
from engine.judge.looks import correlation_of, looked
from engine.judge.plant import SHIFTED, STUCK, is_planted
from engine.judge.recordings import LATER
from engine.kept import kept
from engine.recording import Recording
from engine.spec import MAX_SEED, SpecError
from engine.targets import gaussian
from engine.targets.target import Target, TargetError
from engine.variational import (
    FAMILIES,
    Advi,
    AdviRun,
    Approximation,
    Decaying,
    Descent,
    Elbo,
    Fit,
    GaussianAscent,
    NormalGammaAscent,
    advi,
    ascend_gaussian,
    ascend_normal_gamma,
    descend,
    elbo,
    gradients,
    kl_from_p,
    kl_from_q,
    logistic_regression,
    pack,
)
from engine.variational.advi import Inside
from engine.variational.optimum import elbo_gradient, still_to_gain
from engine.variational.transforms import constrained
from lessons.variational.spec import DATA_SEED, ESTIMATORS, PARAMETERS, PRIOR, WORDS, VariationalLesson

Array = NDArray[np.float64]

NODES = 20  # of the quadrature of the ELBO, a coordinate
EARLY = 8  # steps at the start whose energy the first picture has, and so many parts of the others at whose ends it is known
SETTLED = 0.25  # nats by which the ELBO of a settled fit may still wander
STILL = 0.1  # nats that a Newton step may still gain where a fit has come to rest
OFF_NATS = 5.0  # by which the fit is off where that is planted


# Stochastic gradients -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Climb:
    """A fit of N steps, with what is known exactly at each q.

    exact : (N + 1,) energy and entropy of q by quadrature; not finite where q has run away
    log_evidence : of the target
    """

    spec: VariationalLesson
    target: Target
    fit: Fit
    exact: Elbo
    log_evidence: float

    @property
    def steps(self) -> int:
        return len(self.fit.energy)

    @property
    def inside(self) -> Inside:
        """The samples of every step, which a fit for the stage records."""
        assert self.fit.inside is not None
        return self.fit.inside

    @property
    def gap(self) -> Array:
        """(N + 1,) KL(q‖p)."""
        return self.log_evidence - self.exact.value

    def on_map(self, zeta: Array) -> Array:
        """Points (..., 2) of q's own coordinates as points of the map."""
        flat = np.ascontiguousarray(zeta.reshape(-1, 2))
        with np.errstate(all="ignore"):
            return constrained(self.fit.maps, flat)[0].reshape(zeta.shape)

    def final(self) -> Approximation:
        """q averaged over the last quarter of the steps."""
        return self.fit.averaged(0.25)


def simulate(spec: VariationalLesson) -> Climb:
    """The fit of `spec`; the same object for all ways of looking at it."""
    return _simulate(spec.simulation())


@kept
def _simulate(spec: VariationalLesson) -> Climb:
    target, fit = _fitted(spec)
    return Climb(spec, target, fit, exact_elbo(spec, fit.parameters), log_evidence(target))


def beginning(spec: VariationalLesson) -> Climb | None:
    """The fit of `spec` with its exact energy at some steps, NaN at the others; None where all of the picture is there."""
    one = spec.simulation()
    found = _simulate.peek(one)
    if found is not None:
        whole = spec.view != "gradients" or (_slopes.peek(one) is not None and _noise.peek(one, REPEATS) is not None)
        return None if whole else found
    target, fit = _fitted(one)
    last = len(fit.parameters) - 1
    some = np.unique(np.append(np.arange(min(EARLY, last)), np.linspace(0, last, EARLY + 1).astype(int)))  # the first decide the axis
    known = exact_elbo(one, fit.parameters[some])
    energy, error = np.full((2, last + 1), np.nan)
    energy[some], error[some] = known.energy, known.error
    entropy = np.append(fit.entropy, known.entropy[-1])
    return Climb(one, target, fit, Elbo(energy, entropy, error), log_evidence(target))


@kept
def _fitted(spec: VariationalLesson) -> tuple[Target, Fit]:
    target = spec.build_target()
    try:
        run = AdviRun(target, spec.settings(), steps=spec.steps, seed=spec.seed, detail="samples")
    except TargetError as error:
        raise SpecError("start_x", str(error)) from error
    run.advance(run.total)
    return target, run.fit()


def log_evidence(target: Target) -> float:
    """Log of the integral of the target's density; NaN where it is not known."""
    return float("nan") if target.truth is None else target.truth.log_normaliser


def exact_elbo(spec: VariationalLesson, parameters: Array, nodes: int = NODES) -> Elbo:
    """By quadrature, at rows of parameters."""
    with np.errstate(all="ignore"):
        return elbo(spec.build_target(), parameters, supports=spec.supports, nodes=nodes)


def exact_gradient(spec: VariationalLesson, parameters: Array, components: Sequence[int] | None = None, nodes: int = NODES) -> Array:
    """(M, components) slopes of the exact ELBO at rows (M, P) of parameters."""
    with np.errstate(all="ignore"):
        return elbo_gradient(spec.build_target(), parameters, supports=spec.supports, components=components, nodes=nodes)


def slopes(spec: VariationalLesson) -> Array:
    """(N,) exact slope of the ELBO in the first mean, at q before each step."""
    return _slopes(spec.simulation())


@kept
def _slopes(spec: VariationalLesson) -> Array:
    return exact_gradient(spec, simulate(spec).fit.parameters[:-1], [0])[:, 0]


def ellipses(means: Array, roots: Array, shares: Sequence[float], points: int = 41) -> Array:
    """(F, N, 2) borders of the regions that hold `shares` of each normal; a NaN row after each."""
    angle = np.linspace(0.0, 2.0 * np.pi, points)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    rings = []
    for share in shares:
        radius = np.sqrt(-2.0 * np.log1p(-share))
        rings += [means[:, None] + radius * circle @ roots.transpose(0, 2, 1), np.full((len(means), 1, 2), np.nan)]
    return np.concatenate(rings, axis=1)


def marginals_of_q(climb: Climb, rows: NDArray[np.int64], coordinate: int, x: Array) -> Array:
    """(rows, x) density of one coordinate under q at rows (R,), on the scale of the map."""
    mean, sd = (values[rows, coordinate][:, None] for values in (climb.fit.mean, climb.fit.sd))
    if climb.spec.supports[coordinate] == "real":
        return np.asarray(np.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * np.sqrt(2.0 * np.pi)))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = (np.log(x) - mean) / sd
        return np.where(x > 0.0, np.exp(-0.5 * z**2) / (np.where(x > 0.0, x, 1.0) * sd * np.sqrt(2.0 * np.pi)), 0.0)


def moments_of_q(spec: VariationalLesson, mean: Array, sd: Array) -> tuple[Array, Array]:
    """Mean and sd, each (..., 2), of q on the scale of the map, from those of its own coordinates."""
    mean, sd = np.array(mean, dtype=float), np.array(sd, dtype=float)
    for j, support in enumerate(spec.supports):
        if support == "positive":  # log-normal
            with np.errstate(over="ignore"):
                m, s = mean[..., j].copy(), sd[..., j].copy()
                mean[..., j] = np.exp(m + 0.5 * s**2)
                sd[..., j] = mean[..., j] * np.sqrt(np.expm1(s**2))
    return mean, sd


PLACES, REPEATS = 16, 400


@dataclass(frozen=True, eq=False)
class Noise:
    """Standard deviation of the estimated slope in the first mean, at some steps, of every estimator: (places,)."""

    at: NDArray[np.int64]
    sd: dict[str, Array]


def noise(spec: VariationalLesson, repeats: int = REPEATS) -> Noise:
    """How noisy each estimator would be with this step's number of points, along the path of the fit."""
    return _noise(spec.simulation(), repeats)


@kept
def _noise(spec: VariationalLesson, repeats: int) -> Noise:
    climb = simulate(spec)
    last = climb.steps if climb.fit.stopped is None else climb.fit.stopped
    at = np.unique(np.linspace(0, max(last - 1, 0), PLACES).astype(int))
    found = {}
    for name in ESTIMATORS:
        if name == "score_control" and spec.samples < 2:
            continue
        settings = spec.replace(estimator=name, variant="exact").settings()
        found[name] = np.array(
            [gradients(climb.target, settings, climb.fit.parameters[i], repeats=repeats, seed=spec.seed)[:, 0].std() for i in at]
        )
    return Noise(at, found)


DIMENSIONS = (2, 5, 10, 20, 50)
NEIGHBOURS, ESTIMATES = 0.3, 2000  # correlation of neighbours in the target, and estimates of each slope


@kept
def noise_by_dimension(samples: int, seed: int) -> dict[str, Array]:
    """(dimensions,) sd of the estimated slope in the first mean of every estimator, near a Gaussian target."""
    found: dict[str, list[float]] = {name: [] for name in ESTIMATORS}
    for dim in DIMENSIONS:
        target, at = gaussian(dimension=dim, correlation=NEIGHBOURS), np.concatenate([np.full(dim, 0.3), np.full(dim, -0.3)])
        for name, values in found.items():
            settings = Advi(
                samples=max(samples, 2),
                estimator="reparameterised" if name == "reparameterised" else "score",
                control_variate=name == "score_control",
            )
            values.append(float(gradients(target, settings, at, repeats=ESTIMATES, seed=seed)[:, 0].std()))
    return {name: np.array(values) for name, values in found.items()}


# Three inferences -----------------------------------------------------------------------------------------------------

NUTS_CHAINS, NUTS_DRAWS, NUTS_WARMUP = 4, 1000, 500
FIT_STEPS, FIT_POINTS = 1000, 10
GRID = 301  # points a side


@dataclass(frozen=True, eq=False)
class Inference:
    """What one way of inference says: mean, sd (2,), correlation; seconds; evaluations of density or gradient."""

    name: str
    mean: Array
    sd: Array
    correlation: float
    seconds: float
    evaluations: int
    note: str


@kept
def nuts(spec: VariationalLesson) -> Recording:
    """Four chains of NUTS on the target of `spec`: a recording."""
    target = spec.build_target()
    return sample(target, "nuts", chains=NUTS_CHAINS, draws=NUTS_DRAWS, warmup=NUTS_WARMUP, seed=spec.seed)


def draws(spec: VariationalLesson) -> Array:
    """(chains, draws, 2) of NUTS on the target; chains depend on target and seed only."""
    return nuts(_bare(spec)).draws


def _bare(spec: VariationalLesson) -> VariationalLesson:
    """The same target and seed, all else as it comes."""
    names = ("target", "seed", *PARAMETERS[spec.target])
    return VariationalLesson().replace(**{name: getattr(spec, name) for name in names})


def _on_a_grid(target: Target) -> tuple[tuple[Array, Array] | None, float]:
    """Mean and covariance of a target added up around its view, None where it does not fall off there; and the
    seconds.
    """
    begin = time.perf_counter()
    x, y = (np.linspace(low - 0.4 * (high - low), high + 0.4 * (high - low), GRID) for low, high in target.view)
    values = target.density_grid(x, y)
    ticket.look()
    weight = np.exp(np.where(np.isfinite(values), values, -np.inf) - np.nanmax(values))
    weight /= weight.sum()
    points = np.stack(np.meshgrid(x, y), axis=-1)
    mean = np.einsum("ij,ijk->k", weight, points)
    covariance = np.einsum("ij,ijk,ijl->kl", weight, points - mean, points - mean)
    seconds = time.perf_counter() - begin
    edge = weight[0].sum() + weight[-1].sum() + weight[:, 0].sum() + weight[:, -1].sum()
    return ((mean, covariance) if edge < 0.01 else None), seconds


@kept
def three(spec: VariationalLesson) -> tuple[Inference, ...]:
    """Exact by quadrature, NUTS, and stochastic gradients with both families, each with its time."""
    target, found = spec.build_target(), []
    exact, seconds = _on_a_grid(target)
    if exact is not None:
        found.append(_inference("grid", *exact, seconds, GRID**2, WORDS.phrase("inferences.grid_points", side=GRID)))
    run = nuts(_bare(spec))
    flat = run.draws.reshape(-1, 2)
    evaluations = int(run.gradient_evaluations.sum() + run.warmup_gradient_evaluations.sum())
    summary = diagnostics.summarise(run.draws)
    length = {"chains": NUTS_CHAINS, "draws": number(NUTS_DRAWS)}
    note = WORDS.phrase("inferences.nuts_draws", **length, rhat=max(summary.rhat), ess=number(int(min(summary.ess_bulk))))
    found.append(_inference("nuts", flat.mean(axis=0), np.cov(flat.T), run.seconds, evaluations, note))
    for family in ticket.looking(FAMILIES):
        settings = Advi(
            family=family,
            samples=FIT_POINTS,
            supports=spec.supports,
            optimiser=Decaying(step_size=1.0),
            init=(spec.start_x, spec.start_y),
            init_sd=spec.start_sd,
        )
        fit = advi(target, steps=FIT_STEPS, seed=spec.seed, **vars(settings))
        points = fit.averaged().draw(np.random.Generator(np.random.SFC64(spec.seed)), 200_000)
        ticket.look()
        note = WORDS.phrase("inferences.advi_steps", steps=number(FIT_STEPS), points=FIT_POINTS)
        found.append(_inference(family, points.mean(axis=0), np.cov(points.T), fit.seconds, FIT_POINTS * FIT_STEPS, note))
    return tuple(found)


def _inference(name: str, mean: Array, covariance: Array, seconds: float, evaluations: int, note: str) -> Inference:
    sd = np.sqrt(np.diag(covariance))
    return Inference(WORDS["inferences"][name], mean, sd, float(covariance[0, 1] / (sd[0] * sd[1])), seconds, evaluations, note)


# Coordinate ascent ----------------------------------------------------------------------------------------------------


def coordinate_ascent(spec: VariationalLesson) -> GaussianAscent | NormalGammaAscent:
    """The updates of coordinate ascent on the pair of `spec`."""
    if spec.pair == "gaussian":
        truth = pair_target(spec).known
        return ascend_gaussian(truth.mean, truth.covariance, start=(spec.start_x, spec.start_y), start_sd=spec.start_sd, sweeps=spec.sweeps)
    shape = 1.0 / spec.start_sd**2  # a Gamma with mean 1 and the sd of q's start
    return ascend_normal_gamma(spec.measured(), PRIOR, start=(spec.start_x, spec.start_sd), start_tau=(shape, shape), sweeps=spec.sweeps)


def pair_target(spec: VariationalLesson) -> Target:
    """What coordinate ascent fits, as a target."""
    return spec.replace(method="advi", target=spec.pair, variant="exact").build_target()


def centres(found: GaussianAscent | NormalGammaAscent) -> Array:
    """(U + 1, 2) means of both factors."""
    if isinstance(found, GaussianAscent):
        return found.mean
    return np.column_stack([found.mean, found.shape / found.rate])


def spreads(found: GaussianAscent | NormalGammaAscent) -> Array:
    """(U + 1, 2) standard deviations of both factors."""
    if isinstance(found, GaussianAscent):
        return found.sd
    return np.column_stack([found.sd, np.sqrt(found.shape) / found.rate])


def gamma_normal_rings(found: NormalGammaAscent, u: int, shares: Sequence[float], points: int = 81) -> Array:
    """(N, 2) borders of the regions that hold `shares` of q(mu) q(tau) after u updates, a NaN row after each."""
    mean, sd = float(found.mean[u]), float(found.sd[u])
    shape, rate = float(found.shape[u]), float(found.rate[u])
    rng = np.random.Generator(np.random.SFC64(7))
    mu, tau = rng.normal(mean, sd, 4000), rng.gamma(shape, 1.0 / rate, 4000)
    held = np.sort(found.log_density(u, mu, np.maximum(tau, 1e-300)))
    centre, spread = shape / rate, np.sqrt(shape) / rate
    at = np.linspace(max(centre - 5.0 * spread, 1e-4 * centre), centre + 7.0 * spread, 600)
    top = found.log_density(u, mean, at)
    rings = []
    for share in shares:
        level = held[int((1.0 - share) * len(held))]
        inside = at[top >= level]
        if len(inside) < 2:
            rings.append(np.full((points + 1, 2), np.nan))
            continue
        half = np.linspace(inside[0], inside[-1], points // 2)
        width = sd * np.sqrt(2.0 * np.maximum(np.interp(half, at, top) - level, 0.0))
        right, left = np.column_stack([mean + width, half]), np.column_stack([mean - width, half])[::-1]
        ring = np.vstack([right, left, right[:1]])
        rings.append(np.vstack([ring, np.full((points + 1 - len(ring), 2), np.nan)]))
    return np.concatenate(rings)


# The two divergences --------------------------------------------------------------------------------------------------

DESCENT = 40  # steps


def descents(spec: VariationalLesson) -> dict[str, Descent]:
    """From the same start down both divergences."""
    return _descents(spec.replace(seed=spec.default("seed")))


@kept
def _descents(spec: VariationalLesson) -> dict[str, Descent]:
    start = spec.start_x, spec.start_sd, spec.mixture()
    return {direction: descend(*start, divergence=direction, steps=DESCENT) for direction in ("from_q", "from_p")}


@kept
def minima(separation: float, weight: float) -> list[tuple[float, float, float, float]]:
    """(mean, sd, KL(q‖p), KL(p‖q)) of every local minimum of KL(q‖p), from left to right."""
    mixture = VariationalLesson(separation=separation, weight=weight).mixture()
    found: list[tuple[float, float, float, float]] = []
    half = 0.5 * separation
    for start, sd in ((-half, 1.0), (0.0, 1.0 + half), (half, 1.0)):
        m, s = (float(v) for v in descend(start, sd, mixture, steps=100).path[-1])
        if all(abs(m - other[0]) + abs(s - other[1]) > 0.05 for other in found):
            found.append((m, s, float(kl_from_q(m, s, mixture)), float(kl_from_p(m, s, mixture))))
    return sorted(found)


# Checks ---------------------------------------------------------------------------------------------------------------

WORK = 60_000  # points drawn for one gradient check, at a first look
EXACT = 1e-6
SUMMED = 60_001  # points of a plain sum
BLURRED = 0.02  # relative error of quadrature above which nothing is compared
NODES_OF_SLOPES = (6 * NODES, 5 * NODES + 1, 4 * NODES, 3 * NODES + 1)  # even and odd: a bend at the mean shows


def kernels(spec: VariationalLesson) -> list[Kernel]:
    """NUTS, whose draws stand beside q, with the step size and mass of its first chain."""
    if spec.method != "advi":
        return []
    recording = nuts(_bare(spec))
    if spec.target != "logistic":
        found = kernel_of(recording)
        return [] if found is None else [found]
    x = logistic_pairs(spec.rows, seed=DATA_SEED).x
    rows, sd = np.column_stack([np.ones(spec.rows), x]), spec.prior_sd

    def simulate_answers(w: Array, rng: np.random.Generator) -> Array:
        return (rng.random(len(rows)) < 1.0 / (1.0 + np.exp(-rows @ w))).astype(np.float64)

    model = Simulated(
        WORDS.phrase("checks.simulated", rows=spec.rows),
        ("w₀", "w₁"),
        lambda n, rng: sd * rng.standard_normal((n, 2)),
        simulate_answers,
        lambda y: logistic_regression(rows, y, prior_sd=sd),
        {
            "prior_forgotten": lambda y: logistic_regression(rows, y, prior_sd=100.0 * sd),
            "data_ignored": lambda y: logistic_regression(1e-6 * rows, y, prior_sd=sd),
        },
    )
    return [TransitionKernel(model, recording.run.method, recording.run.adaptation)]


def audit(spec: VariationalLesson, cancel: object = None) -> list[Check]:
    """The code of the present method against what is known exactly of it."""
    if spec.method == "kl":
        return [_divergence_check(spec)]
    if spec.method == "cavi":
        return _ascent_checks(spec)
    return [_gradient_check(spec), *_bound_checks(spec)]


def checks(spec: VariationalLesson, cancel: object = None) -> list[Check]:
    """Has the fit come to rest, do the chains of NUTS beside it agree, and what is missing?"""
    if spec.method == "kl":
        return [_descent_check(spec), _gap_check(spec, WORDS.phrase("checks.by_one_normal"))]
    if spec.method == "cavi":
        return [_ascended_check(spec), _gap_check(spec, WORDS.phrase("checks.by_factors"))]
    recording = nuts(_bare(spec))
    names = [*recording.run.target.labels, WORDS.phrase("checks.log_density")]
    values = np.concatenate([recording.draws, recording.log_density[:, :, None]], axis=2)
    rest = _settled_check(spec)
    return [
        rest,
        agreement_check(values, names, WORDS.phrase("checks.chains")),
        divergence_check(recording.divergent),
        _exact_check(spec, rest) if holds_target(spec) else _gap_check(spec, WORDS.phrase("checks.by_family")),
    ]


def faults(spec: VariationalLesson) -> dict[str, VariationalLesson]:
    """The mistakes in the gradient that can be made with these settings."""
    if spec.method != "advi":
        return {}
    known: dict[str, dict[str, Any]] = {"entropy_sign": {}, "no_jacobian": {}, "no_scaling": {}}
    if spec.target != "precision":
        del known["no_jacobian"]
    if spec.target != "logistic":
        del known["no_scaling"]
    elif spec.minibatch is None:
        known["no_scaling"] = {"batch": max(1, spec.rows // 4)}
    return {WORDS["mistakes"][name]: spec.replace(variant=name, **changes) for name, changes in known.items() if name != spec.variant}


def holds_target(spec: VariationalLesson) -> bool:
    """Whether some q of the family is the target itself, so that the fit must be exact."""
    return spec.target == "gaussian" and (spec.family == "full_rank" or spec.correlation == 0.0)


def _gradient_check(spec: VariationalLesson) -> Check:
    """Is the estimated gradient that of the ELBO on average?"""
    from scipy.linalg import block_diag  # slow to import

    climb = simulate(spec)
    last = climb.steps if climb.fit.stopped is None else climb.fit.stopped
    looks = {i: _slopes_with_error(spec, climb.fit.parameters[i]) for i in sorted({0, last // 3, last})}
    known = {i: (true, blur) for i, (true, blur) in looks.items() if blur.max() < BLURRED * (1.0 + np.abs(true).max())}
    if not known:
        return unknown(WORDS.phrase("checks.gradient"), WORDS.phrase("checks.gradient_unknown"), kind="kernel", unit="SE")

    def look(number: int, work: int) -> Check:
        repeats = work * max(1000, WORK // spec.samples)
        z, blocks = [], []
        for place, (i, (true, blur)) in enumerate(known.items()):
            seed = (spec.seed + LATER * (3 * number + place)) % MAX_SEED
            found = gradients(climb.target, spec.settings(), climb.fit.parameters[i], repeats=repeats, seed=seed)
            covariance = np.cov(found.T) / repeats + np.diag((1e-9 + 1e-6 * np.abs(true) + blur) ** 2)
            z.append((found.mean(axis=0) - true) / np.sqrt(np.diag(covariance)))
            blocks.append(correlation_of(covariance))
        words = WORDS.phrase("checks.gradient_sentence", places=len(known), estimates=repeats, components=sum(map(len, z)))
        return looked(number, WORDS.phrase("checks.gradient"), np.concatenate(z), block_diag(*blocks), words, kind="kernel")

    return two_looks(look)


def _slopes_with_error(spec: VariationalLesson, at: Array) -> Array:
    """(2, P) slopes of the exact ELBO at a q, and how far quadrature may be off, by several numbers of nodes: where
    log p bends sharply, as between two modes, it takes many.
    """
    found = np.stack([exact_gradient(spec, at, nodes=nodes)[0] for nodes in NODES_OF_SLOPES])
    return np.stack([found[0], np.full(found.shape[1], 3.0 * np.ptp(found, axis=0).max())])


def _still(gain: float, risen: float, where: str, remedy: str, wander: float = 0.0) -> Check:
    """Has a fit come to rest? One that has not is not wrong, but it is not what the page says of a fit, either.

    risen : nats by which it ended above its start; NaN where it ended nowhere
    """
    found = WORDS.phrase("checks.gain" if np.isfinite(gain) else "checks.no_optimum", where=where, gain=gain)
    if wander:
        found = WORDS.phrase("checks.wander", found=found, wander=wander)
    verdict: Verdict
    if gain < STILL and wander < SETTLED:
        verdict, words = "pass", WORDS.phrase("checks.settled", found=found)
    elif not risen > 0.0:
        verdict, words = "fail", WORDS.phrase("checks.nowhere", found=found, remedy=remedy)
    else:
        verdict, words = "unknown", WORDS.phrase("checks.not_settled", found=found, remedy=remedy)
    return Check(WORDS.phrase("checks.at_rest"), verdict, gain, STILL, words, "nats", kind="run")


def _settled_check(spec: VariationalLesson) -> Check:
    """Does the fit end at a maximum of the exact ELBO, and stay there?"""
    climb = simulate(spec)
    values, row = climb.exact.value, 0 if is_planted(STUCK) else -1
    tail = values[-max(climb.steps // 4, 5) :]
    wander = float(np.ptp(tail)) if np.all(np.isfinite(tail)) else float("inf")
    gain = still_to_gain(lambda rows: exact_elbo(spec, rows, 3 * NODES).value, climb.fit.parameters[row])
    remedy = WORDS.phrase("checks.more_steps" if spec.variant == "exact" else "checks.no_top")
    return _still(gain, float(values[row] - values[0]), WORDS.phrase("checks.last_q"), remedy, wander)


def _bound_checks(spec: VariationalLesson) -> list[Check]:
    """No q has an ELBO above the log evidence, where that is known."""
    climb = simulate(spec)
    if not np.isfinite(climb.log_evidence) or not np.any(np.isfinite(climb.exact.value)):
        return []
    at = climb.fit.parameters[int(np.nanargmax(np.where(np.isfinite(climb.exact.value), climb.exact.value, -np.inf)))]
    values = np.array([exact_elbo(spec, at[None], nodes).value[0] for nodes in NODES_OF_SLOPES])
    largest, limit = float(values[0]), 1e-3 + 3.0 * float(np.ptp(values))  # and how far quadrature may be off
    excess = largest - climb.log_evidence
    side = WORDS.phrase("checks.below" if excess <= 0 else "checks.above")
    known = {"log_evidence": climb.log_evidence, "largest": largest, "excess": abs(excess), "side": side}
    sentence = WORDS.phrase("checks.bound_sentence", **known)
    return [Check(WORDS.phrase("checks.bound"), "pass" if excess < limit else "fail", excess, limit, sentence, "nats", kind="kernel")]


def _exact_check(spec: VariationalLesson, rest: Check) -> Check:
    """Where the family holds the target, a fit at rest is the target."""
    name = WORDS.phrase("checks.exact")
    gap = float(simulate(spec).gap[-1]) + (OFF_NATS if is_planted(SHIFTED) else 0.0)
    sentence = WORDS.phrase("checks.exact_sentence", gap=gap)
    if rest.verdict != "pass":
        sentence = f"{sentence} {WORDS.phrase('checks.proves_nothing')}"
        return unknown(name, sentence, kind="numbers", limit=STILL + SETTLED, unit=WORDS.phrase("stage.nats"))
    verdict: Verdict = "pass" if gap < STILL + SETTLED else "fail"
    return Check(name, verdict, gap, STILL + SETTLED, sentence, "nats")


def _gap_check(spec: VariationalLesson, what: str) -> Check:
    """What is missing, told and not judged."""
    if spec.method == "kl":
        (m, s), mixture = descents(spec)["from_q"].path[-1], spec.mixture()
        gap = float(kl_from_q(m, s, mixture))
    elif spec.method == "cavi":
        found = coordinate_ascent(spec)
        gap = (0.0 if isinstance(found, GaussianAscent) else found.log_evidence) - float(found.elbo[-1])
    else:
        gap = float(simulate(spec).gap[-1])
    told = WORDS.phrase("checks.gap_known" if np.isfinite(gap) else "checks.gap_unknown", gap=gap)
    return unknown(WORDS.phrase("checks.gap"), WORDS.phrase("checks.gap_sentence", what=what, told=told), kind="numbers")


def _ascent_checks(spec: VariationalLesson) -> list[Check]:
    found = coordinate_ascent(spec)
    rise = float(np.diff(found.elbo).min())
    sentence = WORDS.phrase("checks.ascent_sentence", updates=len(found.coordinate), rise=rise)
    ascent = Check(WORDS.phrase("checks.ascent"), "pass" if rise > -1e-9 else "fail", rise, -1e-9, sentence, "nats", kind="kernel")
    if isinstance(found, GaussianAscent):
        off = float(np.abs(elbo(pair_target(spec), _packed(found)).value - found.elbo).max())
        words = WORDS.phrase("checks.closed_form_by_quadrature", off=off)
        verdict: Verdict = "pass" if off < EXACT else "fail"
        return [ascent, Check(WORDS.phrase("checks.closed_form"), verdict, off, EXACT, words, "nats", kind="kernel")]

    def look(number: int, work: int) -> Check:
        rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([spec.seed, number])))
        n = 100_000 * work
        mu = rng.normal(found.mean[-1], found.sd[-1], n)
        tau = rng.gamma(found.shape[-1], 1.0 / found.rate[-1], n)
        posterior = found.posterior.log_density(np.column_stack([mu, tau])) + found.log_evidence  # log p(y, theta)
        values = posterior - found.log_density(-1, mu, tau)
        z = (values.mean() - found.elbo[-1]) / (values.std() / np.sqrt(n))
        words = WORDS.phrase("checks.closed_form_by_draws", draws=n, found=values.mean(), exact=found.elbo[-1])
        return looked(number, WORDS.phrase("checks.closed_form"), np.array([z]), None, words, kind="kernel")

    return [ascent, two_looks(look)]


def _packed(found: GaussianAscent) -> Array:
    """(U + 1, P) parameters of every q."""
    return np.stack([pack(m, np.diag(s), "mean_field") for m, s in zip(found.mean, found.sd, strict=True)])


def _ascended_check(spec: VariationalLesson) -> Check:
    """Have the updates come to rest?"""
    found, row = coordinate_ascent(spec), 0 if is_planted(STUCK) else -1
    if isinstance(found, GaussianAscent):
        target = pair_target(spec)
        gain = still_to_gain(lambda parameters: elbo(target, parameters).value, _packed(found)[row])
    else:
        y = np.array(spec.measured())
        last = np.array([found.mean[row], *(np.log(part[row]) for part in (found.sd, found.shape, found.rate))])
        gain = still_to_gain(lambda parameters: _normal_gamma_elbo(y, parameters), last)
    risen = float(found.elbo[row] - found.elbo[0])
    return _still(gain, risen, WORDS.phrase("checks.last_q"), WORDS.phrase("checks.more_sweeps"))


def _normal_gamma_elbo(y: Array, parameters: Array) -> Array:
    """(R,) of q(mu) q(tau) at rows of mean, log sd, log shape and log rate."""
    starts = [(row[0], *np.exp(row[1:])) for row in parameters]
    runs = [ascend_normal_gamma(y, PRIOR, start=(m, s), start_tau=(a, b), sweeps=1) for m, s, a, b in starts]
    return np.array([run.elbo[0] for run in runs])


def _divergence_check(spec: VariationalLesson) -> Check:
    """Both divergences at the last q of both descents against a plain sum on a fine grid."""
    mixture, off = spec.mixture(), 0.0
    for found in descents(spec).values():
        m, s = found.path[-1]
        reach = 14.0 * max(float(s), 1.0) + abs(float(m)) + 0.5 * spec.separation
        x, step = np.linspace(-reach, reach, SUMMED, retstep=True)
        log_p = mixture.log_density(x)
        log_q = -0.5 * ((x - m) / s) ** 2 - np.log(s * np.sqrt(2.0 * np.pi))
        from_q, from_p = (float(np.exp(a) @ (a - b)) * step for a, b in ((log_q, log_p), (log_p, log_q)))
        off = max(off, abs(from_q - float(kl_from_q(m, s, mixture))), abs(from_p - float(kl_from_p(m, s, mixture))))
    sentence = WORDS.phrase("checks.divergence_sentence", points=SUMMED, off=off)
    return Check(WORDS.phrase("checks.divergence"), "pass" if off < EXACT else "fail", off, EXACT, sentence, "nats", kind="kernel")


def _descent_check(spec: VariationalLesson) -> Check:
    """Does each descent end at a minimum of its divergence?"""
    mixture, gains, fallen = spec.mixture(), [], []
    for direction, divergence in (("from_q", kl_from_q), ("from_p", kl_from_p)):
        path = descents(spec)[direction].path
        m, s = path[0 if is_planted(STUCK) else -1]

        def falls(rows: Array, divergence: Callable[..., Array] = divergence) -> Array:
            return -divergence(rows[:, 0], np.exp(rows[:, 1]), mixture)

        gains.append(still_to_gain(falls, np.array([m, np.log(s)])))
        fallen.append(float(divergence(path[0][0], path[0][1], mixture) - divergence(m, s, mixture)))
    return _still(max(gains), min(fallen), WORDS.phrase("checks.end_of_descents"), WORDS.phrase("checks.start_nearer"))
