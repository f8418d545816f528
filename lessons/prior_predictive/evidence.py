"""The proof and what stands below the stage: checks for the present settings, convergence to the limit, the chains."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from app.kit.text import number
from engine.judge import (
    ALONE,
    FIRST,
    MAX_RHAT,
    MIN_ESS,
    SECOND,
    Z_LIMIT,
    Check,
    Kernel,
    Kind,
    Verdict,
    WalkKernel,
    agreement_check,
    two_looks,
    unknown,
    worst,
)
from engine.judge.looks import surprise
from engine.judge.numbers import OFF
from engine.judge.plant import SHIFTED, is_planted
from engine.networks.prior import ACTIVATIONS, Prior
from engine.networks.process import limit_posterior
from lessons.prior_predictive import analysis
from lessons.prior_predictive.analysis import COMPARED, WATCHED
from lessons.prior_predictive.spec import WIDER, WORDS, PriorSpec, counted

Array = NDArray[np.float64]

CHECKED = 40_000  # networks of a check, fewer where they are large
WORK = 1.2e8  # numbers that a check may draw
PLACES = np.array([-1.5, -0.5, 0.0, 0.5, 1.5])  # inputs at which functions are checked
DEEP_PLACES = [0, 2, 3]  # of them in deep networks, whose kernel is computed anew for each network
DEEP_CHECKED = 500  # and so many networks
LEAST_ACCEPTED = 100  # networks, below which their average is not judged
WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128)
OTHER_SEED = 0xA5A5
WEIGHED = 500_000  # weights whose law is checked, of all networks together
WITHIN = tuple((sd, math.erf(sd / math.sqrt(2.0))) for sd in (0.3, 1.0, 2.0))  # in sds, and the share that lies within
AGREE = 1e-9  # relative error of two computations of one number
UNIT = "MCSE"  # Monte Carlo standard errors


# Checks ---------------------------------------------------------------------------------------------------------------


def kernels(spec: PriorSpec) -> list[Kernel]:
    """The walk with the step that its first chain has come to."""
    if spec.view == "limit":
        return [kernel for width in (WIDER[0], WIDER[-1]) for kernel in kernels(analysis.at_width(spec, width))]
    if spec.view != "rejection":
        return []
    beta = float(analysis.chains(spec).run.step[0])
    return [WalkKernel(spec.prior(), np.ascontiguousarray(analysis.data_of(spec).x), spec.noise_sd, beta)]


def audit(spec: PriorSpec, cancel: Any) -> list[Check]:
    """The parts of the code: the law of the weights, the network that they make, the decisions of the rejection."""
    if spec.view in ("compare", "limit"):
        sizes = COMPARED if spec.view == "compare" else [(width, spec.depth) for width in WIDER]
        priors = [spec.prior().replace(width=width, depth=depth) for width, depth in sizes]
        scaling = spec.scaling if spec.view == "compare" else "sqrt"
        weights = [right_weights(prior.replace(scaling=scaling), prior, spec.seed) for prior in priors]
        return [worst(weights), worst([plain_forward(prior, spec.seed) for prior in priors])]
    meant = analysis.meant(spec) if spec.view == "functions" else spec.prior()
    found = [right_weights(meant, spec.prior(), spec.seed), plain_forward(spec.prior(), spec.seed)]
    return [*found, right_decisions(spec)] if spec.view == "rejection" else found


def checks(spec: PriorSpec, cancel: Any) -> list[Check]:
    """Does the chain agree with itself? And the functions against what is known of them."""
    if spec.view == "rejection":
        return [chains_agree(spec), right_rate(spec), right_posterior(spec), chain_mean(spec)]
    if spec.view == "limit":
        at = [analysis.at_width(spec, width) for width in WIDER]
        chains = [worst([check(one) for one in at if not cancel.is_set()]) for check in (chains_agree, chain_mean)]
        return [*chains, *limit_checks(spec)] if not cancel.is_set() else []
    if spec.view == "functions":
        return function_checks(analysis.meant(spec), spec.prior(), spec.seed)
    found: list[Check] = []
    for width, depth in COMPARED:
        if cancel.is_set():
            return found
        prior = spec.prior().replace(width=width, depth=depth)
        found += function_checks(prior, prior, spec.seed)
    kinds = dict.fromkeys(check.name for check in found)
    return [worst([check for check in found if check.name == kind]) for kind in kinds]


def function_checks(meant: Prior, prior: Prior, seed: int) -> list[Check]:
    """Functions of `prior` against the exact moments of the prior that was `meant`."""
    found = [two_looks(lambda number, work: second_moments(meant, prior, seed, number, work))]
    if prior.depth == 1:
        found.append(two_looks(lambda number, work: fourth_moment(meant, prior, seed, number, work)))
    return found


def _fresh(prior: Prior, seed: int, number: int, work: int) -> Array:
    """Networks of a look's own: theta (n, dim)."""
    return prior.draw(work * int(np.clip(WORK / prior.dim, 500, CHECKED)), seed ^ (number * OTHER_SEED))


def _told(name: str, z: Array, number: int, words: Callable[[int], str], kind: Kind = "numbers") -> Check:
    """The check that errors z, in standard errors, make in a look; `words` of the number of the worst."""
    z = z.ravel() + (OFF if is_planted(SHIFTED) and kind == "numbers" else 0.0)
    seen = surprise(z)
    if seen.place < 0:
        return unknown(name, WORDS.phrase("checks.all_zero"), kind=kind)
    verdict: Verdict = "pass" if seen.p >= (FIRST if number == 1 else SECOND) else "fail"
    found = {"compared": words(seen.place), "z": abs(seen.z), "p": seen.p}
    sentence = WORDS.phrase("checks.worst", number=len(z), **found) if len(z) > 1 else WORDS.phrase("checks.apart", **found)
    return Check(name, verdict, seen.z, Z_LIMIT, sentence, UNIT, kind=kind, p=seen.p)


def right_weights(meant: Prior, prior: Prior, seed: int) -> Check:
    """Shares of the weights within given numbers of the sds that they were meant to have, layer by layer."""

    def look(number: int, work: int) -> Check:
        theta = prior.draw(work * int(np.clip(WEIGHED / prior.dim, 50, 4000)), (seed ^ OTHER_SEED) + number)
        sds = meant.sds()
        kinds = [np.flatnonzero(sds == sd) for sd in np.unique(sds[sds > 0.0])]
        z, told = np.empty((len(kinds), len(WITHIN))), []
        for i, of in enumerate(kinds):
            size = np.abs(theta[:, of]).ravel() / sds[of[0]]
            for j, (sd, share) in enumerate(WITHIN):
                seen = float((size < sd).mean())
                z[i, j] = (seen - share) / math.sqrt(share * (1.0 - share) / size.size)
                numbers = {"parameters": size.size, "meant": sds[of[0]], "seen": 100 * seen, "within": sd, "due": 100 * share}
                told.append(WORDS.phrase("checks.shares", **numbers))
        return _told(WORDS.phrase("checks.weights"), z, number, lambda place: told[place], "kernel")

    return two_looks(look)


def second_moments(meant: Prior, prior: Prior, seed: int, number: int, work: int) -> Check:
    """f(x) f(x') of independent networks against the exact kernel; in deep networks against the kernel given the layer
    before the last, which is exact at every width."""
    theta = _fresh(prior, seed, number, work)
    places = PLACES if meant.depth == 1 else PLACES[DEEP_PLACES]
    theta = theta if meant.depth == 1 else theta[: work * DEEP_CHECKED]
    values = prior.values(theta, places)
    if meant.depth == 1:
        expected = meant.covariance(places, places)
        kernel = WORDS.phrase("checks.kernel")
    else:
        expected = meant.given(hidden_before_last(prior, theta, places))
        kernel = WORDS.phrase("checks.kernel_given")
    products = values[:, :, None] * values[:, None, :]
    pairs = np.triu_indices(len(places))
    gap = (products - expected)[:, pairs[0], pairs[1]]
    with np.errstate(all="ignore"):
        z = gap.mean(axis=0) / (gap.std(axis=0, ddof=1) / math.sqrt(len(gap)))

    def words(place: int) -> str:
        i, j = pairs[0][place], pairs[1][place]
        return WORDS.phrase(
            "checks.product",
            networks=len(gap),
            inputs=len(places),
            a=places[i],
            b=places[j],
            mean=products[:, i, j].mean(),
            kernel=kernel,
            expected=np.mean(expected[..., i, j]),
        )

    return _told(WORDS.phrase("checks.second_moments"), z, number, words)


def limit_checks(spec: PriorSpec) -> list[Check]:
    """The posterior of the limit against fresh networks of every width."""
    if spec.depth > 1:
        return [unknown(WORDS.phrase("checks.limit"), WORDS.phrase("checks.no_judge"), kind="numbers")]
    priors = [spec.prior().replace(width=width) for width in WIDER]
    return [worst([two_looks(lambda number, work, prior=prior: limit_check(spec, prior, number, work)) for prior in priors])]  # type: ignore[misc]


def limit_check(spec: PriorSpec, prior: Prior, number: int, work: int) -> Check:
    """What the limit's posterior mean leaves of f, for networks of `prior` and data that each of them makes itself: its mean
    square is the posterior variance, and it has no covariance with the data. With one hidden layer both are exact at
    every width, for they hang on the kernel alone.
    """
    x, places = analysis.data_of(spec).x, np.array(WATCHED)
    theta = _fresh(prior, spec.seed, number, work)
    values = prior.values(theta, np.concatenate([x, places]))
    rng = np.random.Generator(np.random.SFC64((spec.seed, number, prior.width)))
    y = values[:, : len(x)] + spec.noise_sd * rng.standard_normal((len(theta), len(x)))
    # the mean is linear in the data: its weights are the means for one datum of 1 among zeros
    weights = np.array([limit_posterior(analysis.meant(spec), x, one, spec.noise_sd, places).mean for one in np.eye(len(x))])
    left = values[:, len(x) :] - y @ weights.reshape(len(x), len(places))
    sd = analysis.limit_of(spec, places).sd
    gaps = np.concatenate([left**2 - sd**2, (left[:, :, None] * y[:, None, :]).reshape(len(left), -1)], axis=1)
    z = gaps.mean(axis=0) / (gaps.std(axis=0, ddof=1) / math.sqrt(len(gaps)))

    def words(place: int) -> str:
        networks = {"networks": len(gaps), "units": counted("unit", prior.width)}
        if place < len(places):
            missed = math.sqrt(float(np.mean(left[:, place] ** 2)))
            return WORDS.phrase("checks.limit_sd", x=places[place], missed=missed, sd=sd[place], **networks)
        at, of = divmod(place - len(places), len(x))
        return WORDS.phrase("checks.limit_mean", x=places[at], datum=x[of], **networks)

    return _told(WORDS.phrase("checks.limit"), z, number, words)


def fourth_moment(meant: Prior, prior: Prior, seed: int, number: int, work: int) -> Check:
    """The mean of f^4 against its exact value: not only the size of the functions, their shape too."""
    values = prior.values(_fresh(prior, seed, number, work), PLACES)
    square = np.array([float(meant.variance(x)[0]) ** 2 for x in PLACES])
    true = (3.0 + np.array([meant.excess_kurtosis(float(x)) for x in PLACES])) * square
    fourth = values**4
    with np.errstate(all="ignore"):
        z = (fourth.mean(axis=0) - true) / (fourth.std(axis=0, ddof=1) / math.sqrt(len(fourth)))

    def words(place: int) -> str:
        seen = {"x": PLACES[place], "mean": fourth[:, place].mean(), "exact": true[place], "gaussian": 3.0 * square[place]}
        return WORDS.phrase("checks.fourth_power", **seen)

    return _told(WORDS.phrase("checks.fourth_moment"), z, number, words)


def plain_forward(prior: Prior, seed: int) -> Check:
    """The compiled network against a few lines of numpy."""
    theta = prior.draw(5, seed)
    fast = prior.values(theta, PLACES)
    slow = forward(prior, theta, PLACES)[-1][:, 0]
    slow = np.tanh(slow) if prior.squash == "tanh" else slow
    error = float(np.max(np.abs(fast - slow)) / max(1.0, float(np.max(np.abs(slow)))))
    verdict: Verdict = "pass" if error < 1e-9 else "fail"
    sentence = WORDS.phrase("checks.plain", error=error)
    return Check(WORDS.phrase("checks.same_function"), verdict, error, 1e-9, sentence, WORDS.phrase("checks.relative"), kind="kernel")


def forward(prior: Prior, theta: Array, x: Array) -> list[Array]:
    """The network in numpy: activations (n, k, m) of every hidden layer, then the output (n, 1, m)."""
    phi = (np.tanh, _erf, lambda z: np.maximum(z, 0.0), lambda z: np.where(z >= 0, 1.0, -1.0), lambda z: z)[
        ACTIVATIONS.index(prior.activation)
    ]
    layers, at, h = [], 0, np.broadcast_to(x, (len(theta), 1, len(x)))
    for n_in, n_out in zip(prior.sizes[:-1], prior.sizes[1:], strict=True):
        weights = theta[:, at : at + n_in * n_out].reshape(-1, n_out, n_in)
        at += n_in * n_out
        z = weights @ h + theta[:, at : at + n_out, None]
        at += n_out
        h = z if at == prior.dim else phi(z)
        layers.append(h)
    return layers


def _erf(z: Array) -> Array:
    from scipy.special import erf

    return np.asarray(erf(z))


def hidden_before_last(prior: Prior, theta: Array, x: Array) -> Array:
    """Activations (n, k, m) of the last hidden layer but one."""
    return forward(prior, theta, x)[prior.depth - 2]


def right_decisions(spec: PriorSpec) -> Check:
    """Every network tested again: its squared residuals for some, its verdict for all, and whether the bound is one."""
    run, data = analysis.tested(spec).run, analysis.data_of(spec)
    name, unit = WORDS.phrase("checks.decisions"), WORDS.phrase("checks.relative")
    said = forward(spec.prior(), run.shown, data.x)[-1][:, 0]
    said = np.tanh(said) if spec.squash == "tanh" else said
    squares = ((said - data.y) ** 2).sum(axis=1)
    seen = run.squares[-1, analysis.times(spec.tries) - 1]
    error = float(np.max(np.abs(seen - squares) / np.maximum(squares, 1.0), initial=0.0))
    ratio = -run.squares[-1] / (2.0 * spec.noise_sd**2) + run.log_scale
    with np.errstate(divide="ignore"):
        error = error if np.array_equal(np.log(run.uniform) < ratio, run.accepted) else math.inf
    above = int((ratio > 1e-9).sum())
    sentence = WORDS.phrase("checks.again", networks=len(squares), tried=run.tried, error=error)
    if error >= AGREE or above:
        sentence = f"{sentence} {WORDS.phrase('checks.above', networks=above)}"
        return Check(name, "fail", error, AGREE, sentence, unit, kind="kernel")
    if spec.bound == "observed":
        sentence = f"{sentence} {WORDS.phrase('checks.observed')}"
        return Check(name, "unknown", error, AGREE, sentence, unit, kind="kernel")
    return Check(name, "pass", error, AGREE, sentence, unit, kind="kernel")


def right_rate(spec: PriorSpec) -> Check:
    """The share accepted, times the bound, estimates the evidence; importance sampling estimates it with others."""
    run, other = analysis.tested(spec).run, analysis.weighted(spec)
    name = WORDS.phrase("checks.rate")
    scale = math.exp(-run.log_scale)
    share = float(run.accepted.mean())
    if share == 1.0 and other.rate > 1.0 - 1e-12:
        return Check(name, "pass", 0.0, Z_LIMIT, WORDS.phrase("checks.no_points"), "SE")
    # one more and one less than seen: an error bar of no survivors at all must not be zero
    error = scale * math.sqrt(max(share * (1 - share), 1.0 / run.tried) / run.tried)
    z = (share * scale - other.rate) / math.hypot(error, other.rate_error)
    accepted = int(run.accepted.sum())
    words = WORDS.phrase("checks.evidence", accepted=accepted, tried=run.tried, evidence=share * scale, weighted=other.rate)
    return _alone(name, np.array([z]), lambda place: words)


def _alone(name: str, z: Array, words: Callable[[int], str]) -> Check:
    """One look, with no second one after it."""
    found = _told(name, z, 1, words)
    return dataclasses.replace(found, verdict="pass" if found.p >= ALONE else "fail")


def right_posterior(spec: PriorSpec) -> Check:
    """Mean and mean square of f over the accepted networks against importance sampling with other networks."""
    name, tested, other = WORDS.phrase("checks.accepted"), analysis.tested(spec), analysis.weighted(spec)
    kept = tested.run.weights
    if len(kept) < LEAST_ACCEPTED or other.effective < MIN_ESS:
        needed = {"least": LEAST_ACCEPTED, "least_effective": MIN_ESS}
        reason = WORDS.phrase("checks.too_few", accepted=len(kept), effective=other.effective, **needed)
        return unknown(name, reason, kind="numbers", limit=Z_LIMIT, unit=UNIT)
    values = spec.prior().values(kept, WATCHED)
    z, told = [], []
    for what, power, true, error in (("f", 1, other.mean, other.mean_error), ("f²", 2, other.square, other.square_error)):
        seen = values**power
        z.append((seen.mean(axis=0) - true) / np.hypot(seen.std(axis=0, ddof=1) / math.sqrt(len(kept)), error))
        told += [
            WORDS.phrase("checks.mean", accepted=len(kept), what=what, x=x, mean=mean, effective=number(other.effective), exact=exact)
            for x, mean, exact in zip(WATCHED, seen.mean(axis=0), true, strict=True)
        ]
    return _alone(name, np.stack(z), lambda place: told[place])


def chains_agree(spec: PriorSpec) -> Check:
    """R-hat and effective draws of longer chains, on what the network says and the log likelihood."""
    walked, _ = analysis.long_chains(spec)
    values = np.concatenate([walked.watched, walked.run.log_likelihood[:, :, None]], axis=2)
    return agreement_check(values, [*(f"f({x:g})" for x in WATCHED), WORDS.phrase("checks.log_likelihood")])


def chain_mean(spec: PriorSpec) -> Check:
    """The Markov chain's mean of f against importance sampling."""
    name, other = WORDS.phrase("checks.chain"), analysis.weighted(spec)
    walked, found = analysis.long_chains(spec)
    if np.nanmax(found.rhat) > MAX_RHAT or np.nanmin(found.ess_bulk) < MIN_ESS or other.effective < MIN_ESS:
        reason = WORDS.phrase(
            "checks.not_enough",
            rhat=np.nanmax(found.rhat),
            ess=np.nanmin(found.ess_bulk),
            effective=other.effective,
            most_rhat=MAX_RHAT,
            least=MIN_ESS,
        )
        return unknown(name, reason, kind="numbers", limit=Z_LIMIT, unit=UNIT)
    z = (found.mean - other.mean) / np.hypot(found.mcse_mean, other.mean_error)

    def words(place: int) -> str:
        states = walked.run.log_likelihood.size
        return WORDS.phrase("checks.chain_mean", x=WATCHED[place], mean=found.mean[place], states=states, weighted=other.mean[place])

    return _alone(name, z, words)


# Panels ---------------------------------------------------------------------------------------------------------------


def panels(spec: PriorSpec, cancel: Any) -> list[Figure | Table]:
    """Below the stage: how the limit is approached, or the chain beside the rejection."""
    if spec.view == "rejection":
        return [chain_trace(spec), survivors_table(spec)]
    return [towards_gaussian(spec, cancel), sizes_by_width(spec)]


def towards_gaussian(spec: PriorSpec, cancel: Any) -> Figure:
    """Excess kurtosis of f(a) by width, from runs and exactly."""
    widths, seen, errors, exact = [], [], [], []
    for width in WIDTHS:
        prior = analysis.meant(spec).replace(width=width)
        if cancel.is_set():
            break
        n = int(np.clip(2e7 / prior.dim, 1000, CHECKED))
        value, error = kurtosis(prior.functions(n, spec.seed ^ width, [spec.at_a])[:, 0])
        widths.append(width)
        seen.append(value)
        errors.append(2 * error)
        if prior.depth == 1:
            exact.append(prior.excess_kurtosis(spec.at_a))
    figure = charts.blank(WORDS.phrase("panels.units"), WORDS.phrase("panels.kurtosis"))
    bars = {"type": "data", "array": errors, "color": theme.colour("posterior")}
    marker = {"symbol": "circle", "size": 8, "color": theme.colour("posterior")}
    figure.add_scatter(x=widths, y=seen, mode="markers", marker=marker, error_y=bars, name=WORDS.phrase("panels.drawn"))
    if exact:
        line = {"color": theme.colour("ink"), "dash": "dash", "width": 2}
        figure.add_scatter(x=widths, y=exact, mode="lines", line=line, name=WORDS.phrase("panels.exact"))
    flat = {"color": theme.colour("muted"), "width": 1, "dash": "dot"}
    figure.add_scatter(x=[WIDTHS[0], WIDTHS[-1]], y=[0, 0], mode="lines", line=flat, name=WORDS.phrase("panels.zero"))
    figure.update_xaxes(type="log", tickvals=list(WIDTHS), ticktext=[str(width) for width in WIDTHS])
    caption = WORDS.phrase("panels.gaussian_caption", layers=counted("hidden_layer", spec.depth))
    if exact:
        caption = f"{caption} {WORDS.phrase('panels.gaussian_exactly', one=number(exact[0]))}"
    alt = WORDS.phrase("panels.gaussian_alt", most=WIDTHS[-1], caption=caption)
    return Figure(WORDS.phrase("panels.gaussian"), figure, alt, caption)


def kurtosis(values: Array) -> tuple[float, float]:
    """Excess kurtosis of centred values (n,), and its standard error by the delta method."""
    second, fourth = np.mean(values**2), np.mean(values**4)
    if second == 0:
        return 0.0, 0.0
    ratio = fourth / second**2
    influence = values**4 / second**2 - 2.0 * ratio * values**2 / second
    return float(ratio - 3.0), float(influence.std(ddof=1) / math.sqrt(len(values)))


def sizes_by_width(spec: PriorSpec) -> Figure:
    """sd of f(a) by width for the three scalings, exact in the limit."""
    figure = charts.blank(WORDS.phrase("panels.units"), WORDS.phrase("panels.sd"))
    marks = {"sqrt": ("posterior", "solid", "circle"), "none": ("reject", "dash", "diamond"), "full": ("momentum", "dot", "square")}
    ends = {}
    for scaling, (role, dash, symbol) in marks.items():
        sds = [math.sqrt(spec.prior().replace(width=width, scaling=scaling).variance(spec.at_a)[0]) for width in WIDTHS]
        ends[scaling] = sds[-1] / sds[0]
        look = {"color": theme.colour(role), "dash": dash, "width": 2}
        mark = {"symbol": symbol, "size": 7, "color": theme.colour(role)}
        figure.add_scatter(
            x=list(WIDTHS), y=sds, mode="lines+markers", line=look, marker=mark, name=WORDS.phrase(f"panels.scaling_{scaling}")
        )
    figure.update_xaxes(type="log", tickvals=list(WIDTHS), ticktext=[str(width) for width in WIDTHS])
    figure.update_yaxes(type="log")
    caption = WORDS.phrase("panels.sizes_caption", most=WIDTHS[-1], undivided=number(ends["none"]), by_k=number(ends["full"]))
    return Figure(WORDS.phrase("panels.sizes"), figure, WORDS.phrase("panels.sizes_alt", caption=caption), caption)


def chain_trace(spec: PriorSpec) -> Figure:
    """The chains at the middle watched input."""
    walked = analysis.chains(spec)
    step = number(float(walked.run.step.mean()))
    return charts.trace(
        WORDS.phrase("panels.trace"),
        walked.watched[:, :, 1],
        alt=WORDS.phrase("panels.trace_alt", x=WATCHED[1], chains=analysis.CHAINS),
        y=f"f({WATCHED[1]:g})",
        x=WORDS.phrase("panels.kept_state"),
        caption=WORDS.phrase("panels.trace_caption", chains=analysis.CHAINS, tested=walked.run.evaluations, step=step),
    )


def survivors_table(spec: PriorSpec) -> Table:
    """What the same number of networks buys, by rejection and by the chain."""
    tested, walked, found = analysis.tested(spec), analysis.chains(spec), analysis.summary(spec)
    accepted, effective = tested.number, float(np.nanmin(found.ess_bulk))
    cost = [
        f"{spec.tries / accepted:,.0f}" if accepted else WORDS.phrase("panels.more_than_all"),
        f"{walked.run.evaluations / effective:,.0f}",
    ]
    columns: dict[str, Column] = {
        "method": [WORDS.phrase("panels.by_rejection"), WORDS.phrase("panels.by_chain")],
        "networks tested": [tested.run.tried, walked.run.evaluations],
        "independent draws they are worth": [accepted, round(effective)],
        "networks for one of them": cost,
        "seconds": [tested.seconds, walked.seconds],
    }
    return Table(WORDS.phrase("panels.work"), columns, WORDS.phrase("panels.work_caption", inputs=len(WATCHED), thin=walked.thin))


# Diagnostics ----------------------------------------------------------------------------------------------------------


def diagnostics(spec: PriorSpec, cancel: Any) -> Table:
    """Draws at the inputs looked at: independent ones need no R-hat; the chain's have one."""
    if spec.view == "compare":
        return _six_table(spec)
    if spec.view == "limit":
        return _limit_table(spec)
    if spec.view == "functions":
        return _prior_table(spec)
    found, other, walked = analysis.summary(spec), analysis.weighted(spec), analysis.chains(spec)
    values = spec.prior().values(analysis.tested(spec).run.weights, WATCHED)
    enough = len(values) > 1
    nothing = [float("nan")] * len(WATCHED)
    columns = {
        "f at x": list(WATCHED),
        "rejection: mean": list(values.mean(axis=0)) if enough else nothing,
        "MCSE": list(values.std(axis=0, ddof=1) / math.sqrt(len(values))) if enough else nothing,
        "chain: mean": list(found.mean),
        "MCSE, chain": list(found.mcse_mean),
        "weighted: mean": list(other.mean),
        "SE, weighted": list(other.mean_error),
        "sd, chain": list(found.sd),
        "R-hat": [f"{value:.3f}" for value in found.rhat],
        "ESS bulk": list(np.round(found.ess_bulk)),
        "ESS / s": [ess / max(walked.seconds, 1e-9) for ess in found.ess_bulk],
    }
    accepted = number(float(walked.run.accept_prob.mean()))
    caption = WORDS.phrase("panels.three_ways", accepted=accepted, effective=number(other.effective))
    return Table(WORDS.phrase("panels.diagnostics"), columns, caption)


def _limit_table(spec: PriorSpec) -> Table:
    """At the middle watched input, by width."""
    at = [analysis.at_width(spec, width) for width in WIDER]
    walked, found = [analysis.chains(one) for one in at], [analysis.summary(one) for one in at]
    limit, middle = analysis.limit_of(spec, np.array(WATCHED[1:2])), 1
    columns: dict[str, Column] = {
        "units": [*(str(width) for width in WIDER), WORDS.phrase("panels.of_limit")],
        f"mean of f({WATCHED[middle]:g})": [*(float(each.mean[middle]) for each in found), float(limit.mean[0])],
        "MCSE": [*(f"{each.mcse_mean[middle]:.2g}" for each in found), WORDS.phrase("panels.is_exact")],
        "sd": [*(float(each.sd[middle]) for each in found), float(limit.sd[0])],
        "R-hat": [*(f"{np.nanmax(each.rhat):.3f}" for each in found), "–"],
        "ESS bulk": [*(f"{np.nanmin(each.ess_bulk):,.0f}" for each in found), "–"],
        "ESS / s": [*(f"{np.nanmin(s.ess_bulk) / max(w.seconds, 1e-9):,.0f}" for s, w in zip(found, walked, strict=True)), "–"],
    }
    caption = WORDS.phrase("panels.chains_caption", chains=analysis.CHAINS, tested=walked[0].run.evaluations, inputs=len(WATCHED))
    return Table(WORDS.phrase("panels.chains"), columns, caption)


def _prior_table(spec: PriorSpec) -> Table:
    drawn = analysis.functions(spec)
    meant = analysis.meant(spec)
    n = len(drawn.pair)
    quantities = [
        ("f(a)²", drawn.pair[:, 0] ** 2, float(meant.variance(spec.at_a)[0])),
        ("f(b)²", drawn.pair[:, 1] ** 2, float(meant.variance(spec.at_b)[0])),
        ("f(a)·f(b)", drawn.pair[:, 0] * drawn.pair[:, 1], float(meant.covariance([spec.at_a], [spec.at_b])[0, 0])),
    ]
    means = [float(values.mean()) for _, values, _ in quantities]
    errors = [float(values.std(ddof=1) / math.sqrt(n)) for _, values, _ in quantities]
    columns: dict[str, Column] = {
        "mean of": [name for name, _, _ in quantities],
        "draws": means,
        "MCSE": errors,
        "wide limit": [true for _, _, true in quantities],
        "off by (MCSE)": [(mean - true) / max(error, 1e-300) for mean, error, (_, _, true) in zip(means, errors, quantities, strict=True)],
    }
    holds = WORDS.phrase("panels.at_every_width" if spec.depth == 1 else "panels.in_the_limit")
    return Table(WORDS.phrase("panels.draws"), columns, f"{WORDS.phrase('panels.independent', draws=n)} {holds}")


def _six_table(spec: PriorSpec) -> Table:
    six = analysis.compared(spec)
    squares = [drawn.pair[:, 0] ** 2 for drawn in six]
    columns: dict[str, Column] = {
        "units": [width for width, _ in COMPARED],
        "layers": [depth for _, depth in COMPARED],
        "weights": [drawn.prior.dim for drawn in six],
        "mean of f(a)²": [float(values.mean()) for values in squares],
        "MCSE": [float(values.std(ddof=1) / math.sqrt(len(values))) for values in squares],
        "kernel": [float(drawn.prior.variance(spec.at_a)[0]) for drawn in six],
    }
    return Table(WORDS.phrase("panels.draws"), columns, WORDS.phrase("panels.six_caption", draws=spec.draws))
