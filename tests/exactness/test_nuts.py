"""NUTS proves itself: moments, invariance, detailed balance, the recorded tree recomputed from its leaves, reference
posteriors, and every wrong variant caught.
"""

import dataclasses
import json

import numpy as np
import pytest

import engine
from engine import diagnostics, judge, targets
from engine.samplers import Nuts, trajectory
from engine.samplers.nuts import DIVERGED, ENDINGS, JOINED, TOO_DEEP, TURNED, TURNED_INSIDE

CHAINS = 4
FAMILIES = {
    "gaussian": targets.TargetSpec(target="gaussian", correlation=0.7),
    "gaussian 100-d": targets.TargetSpec(target="gaussian", dimension=100, correlation=0.5, scale_ratio=10.0),
    "banana": targets.TargetSpec(target="banana"),
    "ring": targets.TargetSpec(target="ring"),
    "student": targets.TargetSpec(target="student", dof=9.0),
}
SHOWN = {"gaussian 100-d": [0, 1, 2, 30, 60, 97, 98, 99]}  # coordinates judged; all of them would take a minute of diagnostics
SETTINGS = {"banana": {"target_accept": 0.95}, "ring": {"target_accept": 0.9}}


def nuts(name, draws=30_000, **settings):
    arguments = {"chains": CHAINS, "warmup": 500, "seed": 20, **SETTINGS.get(name, {}), **settings}
    return engine.sample(FAMILIES[name].build_target(), "nuts", draws=draws, **arguments)


def moments(recording, shown=slice(None)):
    target = recording.run.target
    labels = np.array(target.labels)[shown]
    truth = dataclasses.replace(
        target.truth,
        mean=target.truth.mean[shown],
        covariance=target.truth.covariance[shown][:, shown],
        marginals=tuple(np.array(target.truth.marginals, dtype=object)[shown]),
    )
    return judge.truth_check(recording.draws[:, :, shown], truth, tuple(labels))


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("sampling", ["multinomial", "slice"])
def test_moments(name, sampling):
    """The same truth for both forms: they agree with it, hence with each other."""
    check = moments(nuts(name, sampling=sampling), SHOWN.get(name, slice(None)))
    assert check.verdict == "pass", check.sentence


@pytest.mark.parametrize("mass", ["dense", [4.0, 0.25], [[2.0, 0.6], [0.6, 0.5]]])
def test_moments_with_any_mass_matrix(mass):
    for sampling in ("multinomial", "slice"):
        check = moments(nuts("gaussian", mass=mass, sampling=sampling))
        assert check.verdict == "pass", check.sentence


def test_a_bias_of_two_per_cent_is_caught():
    recording = nuts("gaussian", 50_000)
    checked = judge.mean_check("variance", "x", recording.draws[:, :, 0] ** 2, 1.02**2)
    assert checked.verdict == "fail"


EXACT = {f"{s}, mass {m}": Nuts(0.5, mass=m, sampling=s) for s in ("multinomial", "slice") for m in (1.0, 3.0)}
EXACT["depth 2"] = Nuts(0.3, mass=1.0, max_depth=2)
EXACT["reversed dot"] = Nuts(
    0.5, mass=1.0, variant="reversed_dot"
)  # a bad U-turn test that depends on the set of states alone biases nothing
WRONG = {
    "aliased momentum": Nuts(0.5, mass=1.0, variant="aliased_momentum"),
    "aliased momentum, slice": Nuts(0.2, mass=1.0, sampling="slice", variant="aliased_momentum"),
    "final accept": Nuts(0.8, mass=1.0, variant="final_accept"),
    "final accept, slice": Nuts(0.8, mass=1.0, sampling="slice", variant="final_accept"),
}


def tried(target, method):
    """What the judge has against a frozen kernel."""
    settings = {field.name: getattr(method, field.name) for field in dataclasses.fields(method)}
    return judge.proofs(judge.kernel_of(engine.sample(target, "nuts", chains=1, draws=1, **settings)), seed=7)


@pytest.mark.parametrize("family", ["gaussian", "banana"])
@pytest.mark.parametrize("name", EXACT)
def test_frozen_nuts_leaves_the_target_invariant(name, family):
    found = tried(FAMILIES[family].build_target(), EXACT[name])
    assert judge.overall(found) == "pass", [check.sentence for check in found]


@pytest.mark.parametrize("name", WRONG)
def test_wrong_nuts_does_not(name):
    found = tried(FAMILIES["gaussian"].build_target(), WRONG[name])
    assert judge.overall(found) == "fail", [check.sentence for check in found]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_aliased_momentum_shows_the_variance_of_the_real_bug(seed):
    """The demo's own setting: slice, step size 0.1, standard normal, 30,000 draws: 1.16 to 1.20 was measured where 1 is
    true. Held to what 30,000 draws can tell.
    """
    target = targets.gaussian(correlation=0.0)
    arguments = {"chains": 1, "draws": 30_000, "seed": seed, "step_size": 0.1, "mass": 1.0, "sampling": "slice"}
    runs = (engine.sample(target, "nuts", variant=variant, **arguments) for variant in ("aliased_momentum", "exact"))
    wrong, right = (diagnostics.summarise((run.draws**2).mean(axis=2, keepdims=True)) for run in runs)
    assert wrong.mcse_mean[0] < 0.02 and right.mcse_mean[0] < 0.02
    assert 1.16 - 4 * wrong.mcse_mean[0] < wrong.mean[0] < 1.20 + 4 * wrong.mcse_mean[0]
    assert abs(right.mean[0] - 1.0) < 4 * right.mcse_mean[0] and wrong.mean[0] - 1.0 > 4 * wrong.mcse_mean[0]


@pytest.mark.parametrize("sampling", ["multinomial", "slice"])
def test_reversed_dot_stops_at_once(sampling):
    """Right draws, one step each: this mistake is seen in the trees, not in the moments."""
    wrong, right = (nuts("gaussian", 1000, sampling=sampling, variant="reversed_dot"), nuts("gaussian", 1000, sampling=sampling))
    assert wrong.tree_depth.mean() < 1.3 < 1.8 < right.tree_depth.mean()


def flows(recording, edges):
    bins = len(edges) + 1
    before = np.concatenate([recording.start[:, None, :], recording.draws[:, :-1]], axis=1)[:, :, 0]
    i, j = np.searchsorted(edges, before.ravel()), np.searchsorted(edges, recording.draws[:, :, 0].ravel())
    return np.bincount(i * bins + j, minlength=bins * bins).reshape(bins, bins).astype(float)


@pytest.mark.parametrize("sampling", ["multinomial", "slice"])
def test_detailed_balance_on_a_grid(sampling):
    recording = nuts("gaussian", 100_000, step_size=0.7, mass=1.0, warmup=100, sampling=sampling)
    counts = flows(recording, np.array([-1.2, -0.5, 0.0, 0.4, 1.1]))
    upper = np.triu_indices(len(counts), 1)
    forth, back = counts[upper], counts.T[upper]
    assert np.max(np.abs(forth - back) / np.sqrt(np.maximum(forth + back, 1))) < 4


# The recorded tree.


def recorded(sampling="multinomial", family="banana", **settings):
    arguments = {
        "chains": 1,
        "draws": 150,
        "seed": 5,
        "detail": "transitions",
        "step_size": 0.25,
        "mass": [0.5, 2.0],
        "sampling": sampling,
        **settings,
    }
    return engine.sample(FAMILIES[family].build_target(), "nuts", **arguments)


def tree(recording, t):
    """Transition t as a dict of arrays cut to the rows that are filled, the leaves sorted by time under "at"."""
    inside = {name: array[0, t] for name, array in recording.transitions._asdict().items()}
    for name, array in inside.items():
        if name.startswith("leaf_"):
            inside[name] = array[: inside["leaves"]]
        elif name.startswith("node_"):
            inside[name] = array[: inside["nodes"]]
    inside["at"] = {int(time): row for row, time in enumerate(inside["leaf_time"])}
    return inside


def expected_dots(q, p, inverse_mass, sampling):
    """The numbers of a subtree whose states, in order of time, are q and p (n, dim)."""
    v = p * inverse_mass
    if sampling == "slice":
        return np.array([(q[-1] - q[0]) @ p[0], (q[-1] - q[0]) @ p[-1]])
    rho, half = p.sum(axis=0), len(p) // 2
    if len(p) == 2:
        return np.array([v[0] @ rho, v[-1] @ rho])
    left, right = p[: half + 1].sum(axis=0), p[half - 1 :].sum(axis=0)
    return np.array([v[0] @ rho, v[-1] @ rho, v[0] @ left, v[half] @ left, v[half - 1] @ right, v[-1] @ right])


@pytest.mark.parametrize("sampling", ["multinomial", "slice"])
def test_tree_explains_itself(sampling):
    recording = recorded(sampling)
    target, mass = recording.run.target, np.array([0.5, 2.0])
    seen = set()
    for t in range(150):
        x = tree(recording, t)
        q, p, at = x["leaf_position"], x["leaf_momentum"], x["at"]
        before = recording.start[0] if t == 0 else recording.draws[0, t - 1]
        np.testing.assert_array_equal(q[0], before)
        assert x["leaves"] == 1 + recording.gradient_evaluations[0, t] == len(at)
        # Leaves: neighbours in time are one leapfrog step apart, and carry their energy.
        for time, row in at.items():
            if time + 1 in at:
                path = trajectory(target, q[row], p[row], step_size=0.25, steps=1, mass=mass)
                np.testing.assert_allclose(path.position[1], q[at[time + 1]], rtol=1e-8, atol=1e-10)
                np.testing.assert_allclose(path.momentum[1], p[at[time + 1]], rtol=1e-8, atol=1e-10)
        energy = 0.5 * np.sum(p**2 / mass, axis=1) - target.log_density_many(q)
        np.testing.assert_allclose(x["leaf_energy"], energy, rtol=1e-9, atol=1e-9)
        log_weight = energy[0] - energy
        if sampling == "slice":
            log_weight = np.where(np.log(x["slice_uniform"]) <= log_weight, 0.0, -np.inf)
        np.testing.assert_allclose(x["leaf_log_weight"], log_weight, atol=1e-8)
        accept = np.minimum(1, np.exp(energy[0] - energy[1:])).mean()
        np.testing.assert_allclose(recording.accept_prob[0, t], accept, rtol=1e-7)
        # Nodes: span, dot products, verdict, weight.
        kept_low, kept_high = 0, 0
        for k in range(x["nodes"]):
            low, high = int(x["node_low"][k]), int(x["node_high"][k])
            rows = [at[time] for time in range(low, high + 1)]
            dots = expected_dots(q[rows], p[rows], 1 / mass, sampling)
            found = x["node_dots"][k]
            np.testing.assert_allclose(found[: len(dots)], dots, rtol=1e-6, atol=1e-8)
            assert np.all(np.isnan(found[len(dots) :]))
            assert x["node_turning"][k] == (np.any(dots < 0) if sampling == "slice" else not np.all(dots > 0))
            with np.errstate(divide="ignore"):
                np.testing.assert_allclose(x["node_log_weight"][k], np.log(np.exp(log_weight[rows]).sum()), atol=1e-7)
            assert low <= x["node_proposal"][k] <= high
            if x["node_whole"][k]:
                assert (low, high) == (min(low, kept_low), max(high, kept_high)) and x["node_kept"][k]
                kept_low, kept_high = low, high
        # Ending, proposal and draw.
        ending, endings = int(x["ending"]), x["doubling_ending"]
        seen.add(ENDINGS[ending])
        used = int(np.sum(x["doubling_direction"] != 0))
        joined = used - (ending in (TURNED_INSIDE, DIVERGED))
        assert joined == recording.tree_depth[0, t] and kept_high - kept_low + 1 == 2**joined
        assert np.all(endings[:joined] == JOINED) and (joined == used or endings[joined] == ending)
        np.testing.assert_array_equal(x["doubling_direction"][:used], np.where(x["doubling_coin"][:used] < 0.5, 1, -1))
        if ending == TURNED:
            assert x["node_turning"][x["node_whole"]][-1]
        if ending == TURNED_INSIDE:
            thrown = ~x["node_kept"]
            assert x["node_turning"][-1] and thrown[-1] and np.all(x["node_doubling"][thrown] == joined)
        assert kept_low <= x["proposal"] <= kept_high
        np.testing.assert_array_equal(recording.draws[0, t], q[at[int(x["proposal"])]])
        np.testing.assert_allclose(recording.energy[0, t], energy[at[int(x["proposal"])]], rtol=1e-9, atol=1e-9)
    assert {"turned", "turned inside the extension"} <= seen


@pytest.mark.parametrize("sampling", ["multinomial", "slice"])
def test_proposals_follow_from_the_uniforms(sampling):
    """Within an extension in proportion to the weights; between trajectory and extension with min(1, w_new / w_old)."""
    recording = recorded(sampling)
    for t in range(150):
        x = tree(recording, t)
        weight = {(int(time), int(time)): np.exp(w) for time, w in zip(x["leaf_time"], x["leaf_log_weight"], strict=True)}
        carried = {(int(time), int(time)): int(time) for time in x["leaf_time"]}
        for k in range(x["nodes"]):
            low, high = int(x["node_low"][k]), int(x["node_high"][k])
            middle = (low + high + 1) // 2
            halves = [(low, middle - 1), (middle, high)]
            if x["doubling_direction"][x["node_doubling"][k]] < 0:
                halves.reverse()
            old, new = halves
            weight[low, high] = weight[old] + weight[new]
            if not np.isnan(x["node_uniform"][k]):
                total = weight[old] if x["node_whole"][k] else weight[low, high]
                assert x["node_took_new"][k] == (x["node_uniform"][k] * total < weight[new])
            else:
                assert x["node_turning"][k] and not x["node_took_new"][k]
            carried[low, high] = carried[new] if x["node_took_new"][k] else carried[old]
            assert x["node_proposal"][k] == carried[low, high]
        whole = np.flatnonzero(x["node_whole"])
        assert x["proposal"] == (x["node_proposal"][whole[-1]] if len(whole) else 0)


def test_recording_is_capped_and_changes_nothing():
    small, full = recorded(max_leaves=5), recorded(detail="draws")
    assert small.draws.tobytes() == full.draws.tobytes()
    assert small.transitions.leaf_position.shape == (1, 150, 6, 2) and small.transitions.node_dots.shape == (1, 150, 5, 6)
    assert small.transitions.leaves.max() == 6 and small.gradient_evaluations.max() > 5


def test_maximum_depth_saturates():
    recording = nuts("gaussian", 500, step_size=0.01, mass=1.0, max_depth=4, detail="transitions")
    saturated = recording.transitions.ending == TOO_DEEP
    assert saturated.mean() > 0.95  # with a momentum near 0 even this short a path may turn
    assert np.all(recording.gradient_evaluations[saturated] == 15) and np.all(recording.tree_depth[saturated] == 4)


def test_a_tree_that_turned_at_the_depth_allowed_was_not_cut_short():
    whole, draws = (nuts("gaussian", 500, step_size=0.4, mass=1.0, max_depth=3, detail=detail) for detail in ("transitions", "draws"))
    assert draws.tree_ending.tobytes() == whole.transitions.ending.tobytes()
    deepest = draws.tree_ending[draws.tree_depth == 3]
    assert (deepest == TOO_DEEP).any() and (deepest == TURNED).any()
    assert not (draws.tree_ending[draws.tree_depth < 3] == TOO_DEEP).any()


def test_divergence_in_the_funnel_is_flagged():
    target = targets.TargetSpec(target="funnel").build_target()
    recording = engine.sample(target, "nuts", chains=4, draws=2000, seed=1, step_size=0.5, mass=1.0, detail="transitions")
    assert recording.divergent.any()
    np.testing.assert_array_equal(recording.divergent, recording.transitions.ending == DIVERGED)
    assert np.all(recording.transitions.leaf_divergent.any(axis=2) == recording.divergent)


def test_a_cliff_of_any_height_is_climbed():
    """The weights of 1,000 log units above the start overflow no float: the sampler moves their reference."""

    def cliff(q, grad, data, ints):
        grad[0] = -q[0]
        return -0.5 * q[0] ** 2 - (2000.0 if q[0] < 0.0 else 0.0)

    target = engine.target(cliff, 1, at=[1.0])
    recording = engine.sample(target, "nuts", chains=4, draws=20_000, seed=1, step_size=0.4, mass=1.0, init=[-1.0])
    late = recording.draws[:, 50:]
    assert np.all(late > 0)
    half_normal = judge.mean_check("mean", "x", late[:, :, 0], np.sqrt(2 / np.pi))
    assert half_normal.verdict == "pass", half_normal.sentence


def test_a_hole_in_the_support_is_never_entered():
    def hole(q, grad, data, ints):
        grad[0] = -q[0]
        return np.nan if abs(q[0]) > 1 else -0.5 * q[0] ** 2

    recording = engine.sample(engine.target(hole, 1), "nuts", chains=2, draws=2000, warmup=100, seed=1, init=[0.0])
    assert np.all(np.abs(recording.draws) <= 1) and recording.divergent.any() and np.all(np.isfinite(recording.accept_prob))


@pytest.mark.parametrize(
    "parameter,settings",
    [
        ("step_size", {"step_size": 0.0}),
        ("step_size", {"step_size": np.nan}),
        ("mass", {"mass": "full"}),
        ("mass", {"mass": [1.0, -1.0]}),
        ("target_accept", {"target_accept": 1.0}),
        ("max_depth", {"max_depth": 0}),
        ("max_depth", {"max_depth": 30}),
        ("max_leaves", {"max_leaves": 0}),
        ("sampling", {"sampling": "uniform"}),
        ("variant", {"variant": "right"}),
        ("steps", {"steps": 3}),
    ],
)
def test_wrong_settings_name_the_parameter(parameter, settings):
    with pytest.raises(engine.SpecError) as error:
        engine.sample(FAMILIES["gaussian"].build_target(), "nuts", draws=10, **settings)
    assert error.value.parameter == parameter


# Reference posteriors. Each builder gives a log density on the unconstrained line (log of every positive parameter, its
# Jacobian included), the data for it, and the way from draws to the quantities of the reference.


def eight_schools(data):
    """q: t (J), mu, log tau. data: y (J), sigma (J)"""
    schools = data["J"]

    def density(q, grad, numbers, ints):
        n = q.size - 2
        mu, log_tau = q[n], q[n + 1]
        tau = np.exp(log_tau)
        ratio = (tau / 5.0) ** 2
        value = -0.5 * (mu / 5.0) ** 2 - np.log1p(ratio) + log_tau
        grad[n], grad[n + 1] = -mu / 25.0, 1.0 - 2.0 * ratio / (1.0 + ratio)
        for j in range(n):
            z = (numbers[j] - mu - tau * q[j]) / numbers[n + j]
            pull = z / numbers[n + j]
            value -= 0.5 * (q[j] * q[j] + z * z)
            grad[j] = -q[j] + tau * pull
            grad[n] += pull
            grad[n + 1] += tau * q[j] * pull
        return value

    def quantities(draws):
        mu, tau = draws[..., schools], np.exp(draws[..., schools + 1])
        named = {f"theta[{j + 1}]": mu + tau * draws[..., j] for j in range(schools)}
        return {**named, "mu": mu, "tau": tau}

    return density, schools + 2, np.concatenate([data["y"], data["sigma"]]), quantities


def kidiq(data):
    """q: beta (2) against centred mother's IQ, log sigma. Flat prior on beta, half-Cauchy(0, 2.5) on sigma."""
    score, iq = np.array(data["kid_score"], float), np.array(data["mom_iq"], float)
    centre = iq.mean()

    def density(q, grad, numbers, ints):
        n = numbers.size // 2
        precision = np.exp(-2.0 * q[2])
        ratio = np.exp(2.0 * q[2]) / 6.25
        value = -np.log1p(ratio) + q[2] - n * q[2]
        grad[0], grad[1], grad[2] = 0.0, 0.0, 1.0 - n - 2.0 * ratio / (1.0 + ratio)
        for i in range(n):
            x = numbers[n + i]
            off = numbers[i] - q[0] - q[1] * x
            value -= 0.5 * precision * off * off
            grad[0] += precision * off
            grad[1] += precision * off * x
            grad[2] += precision * off * off
        return value

    def quantities(draws):
        return {"beta[1]": draws[..., 0] - centre * draws[..., 1], "beta[2]": draws[..., 1], "sigma": np.exp(draws[..., 2])}

    return density, 3, np.concatenate([score, iq - centre]), quantities


def autoregression(data):
    """q: alpha, beta (K), log sigma. N(0, 10) on alpha and beta, half-Cauchy(0, 2.5) on sigma."""
    lags = data["K"]

    def density(q, grad, y, ints):
        k = q.size - 2
        log_sigma = q[k + 1]
        precision = np.exp(-2.0 * log_sigma)
        ratio = np.exp(2.0 * log_sigma) / 6.25
        value = -np.log1p(ratio) + log_sigma
        grad[k + 1] = 1.0 - 2.0 * ratio / (1.0 + ratio)
        for j in range(k + 1):
            value -= 0.005 * q[j] * q[j]
            grad[j] = -0.01 * q[j]
        for t in range(k, y.size):
            off = y[t] - q[0]
            for j in range(k):
                off -= q[1 + j] * y[t - 1 - j]
            pull = precision * off
            value -= 0.5 * pull * off + log_sigma
            grad[0] += pull
            for j in range(k):
                grad[1 + j] += pull * y[t - 1 - j]
            grad[k + 1] += pull * off - 1.0
        return value

    def quantities(draws):
        named = {f"beta[{j + 1}]": draws[..., 1 + j] for j in range(lags)}
        return {"alpha": draws[..., 0], **named, "sigma": np.exp(draws[..., lags + 1])}

    return density, lags + 2, np.array(data["y"], float), quantities


def gaussian_mixture(data):
    """q: mu1, log(mu2 - mu1), log sigma (2), logit theta. N(0, 2) on mu (ordered) and half-normal on sigma, Beta(5, 5)
    on theta.
    """

    def density(q, grad, y, ints):
        gap, s1, s2 = np.exp(q[1]), np.exp(q[2]), np.exp(q[3])
        mu1, mu2 = q[0], q[0] + gap
        theta = 1.0 / (1.0 + np.exp(-q[4]))
        value = (
            -0.125 * (mu1 * mu1 + mu2 * mu2) + q[1] - 0.125 * (s1 * s1 + s2 * s2) + q[2] + q[3] + 5.0 * (np.log(theta) + np.log1p(-theta))
        )
        d1, d2 = -0.25 * mu1, -0.25 * mu2
        grad[2], grad[3], grad[4] = 1.0 - 0.25 * s1 * s1, 1.0 - 0.25 * s2 * s2, 5.0 - 10.0 * theta
        for i in range(y.size):
            z1, z2 = (y[i] - mu1) / s1, (y[i] - mu2) / s2
            a = np.log(theta) - q[2] - 0.5 * z1 * z1
            b = np.log1p(-theta) - q[3] - 0.5 * z2 * z2
            top = max(a, b)
            total = top + np.log(np.exp(a - top) + np.exp(b - top))
            share = np.exp(a - total)
            value += total
            d1 += share * z1 / s1
            d2 += (1.0 - share) * z2 / s2
            grad[2] += share * (z1 * z1 - 1.0)
            grad[3] += (1.0 - share) * (z2 * z2 - 1.0)
            grad[4] += share - theta
        grad[0] = d1 + d2
        grad[1] = 1.0 + d2 * gap
        return value

    def quantities(draws):
        return {
            "mu[1]": draws[..., 0],
            "mu[2]": draws[..., 0] + np.exp(draws[..., 1]),
            "sigma[1]": np.exp(draws[..., 2]),
            "sigma[2]": np.exp(draws[..., 3]),
            "theta": 1 / (1 + np.exp(-draws[..., 4])),
        }

    return density, 5, np.array(data["y"], float), quantities


REFERENCES = {
    "eight_schools-eight_schools_noncentered": (eight_schools, None),
    "kidiq-kidscore_momiq": (kidiq, [86.0, 0.6, 3.0]),
    "arK-arK": (autoregression, None),
    "low_dim_gauss_mix-low_dim_gauss_mix": (gaussian_mixture, [-2.0, 1.5, 0.0, 0.0, 0.0]),
}


def z_scores(values, reference):
    """z of mean and sd of `values` (chains, draws) against a reference of independent draws; the error of the sd by the
    delta method on the square.
    """
    from engine.diagnostics import ess_mean

    n = reference["draws"]
    mean, sd = values.mean(), values.std()
    squares = (values - mean) ** 2
    noise = squares.std() ** 2
    of_mean = np.sqrt(values.var() / ess_mean(values) + reference["sd"] ** 2 / n)
    of_sd = np.sqrt(noise / ess_mean(squares) + noise / n) / (2 * sd)
    return (mean - reference["mean"]) / of_mean, (sd - reference["sd"]) / of_sd


@pytest.mark.parametrize("name", REFERENCES)
def test_reference_posterior(name, data_folder):
    stored = json.loads((data_folder / "posteriordb" / f"{name}.json").read_text())
    build, at = REFERENCES[name]
    density, dim, numbers, quantities = build(stored["data"])
    target = engine.target(density, dim, numbers, at=at)
    draws = 2_500 if name.startswith("low_dim") else 10_000
    recording = engine.sample(target, "nuts", chains=4, draws=draws, warmup=1000, seed=3, target_accept=0.9, init=at)
    named = quantities(recording.draws)
    assert set(named) == set(stored["reference"])
    scores = {quantity: z_scores(values, stored["reference"][quantity]) for quantity, values in named.items()}
    assert all(abs(z) < 4 for pair in scores.values() for z in pair), scores


# Simulation-based calibration (Talts et al. 2018): the rank of the true value among posterior draws is uniform.


def _hierarchical(q, grad, data, ints):
    """q: mu, log tau, t (n); theta = mu + tau t; mu ~ N(0, 1), tau ~ lognormal(0, 1/2), t ~ N(0, 1), y ~ N(theta, 1).
    data: y (n)
    """
    mu, tau = q[0], np.exp(q[1])
    value = -0.5 * mu * mu - 2.0 * q[1] * q[1]
    grad[0], grad[1] = -mu, -4.0 * q[1]
    for j in range(data.size):
        t = q[2 + j]
        off = data[j] - mu - tau * t
        value -= 0.5 * (t * t + off * off)
        grad[0] += off
        grad[1] += off * tau * t
        grad[2 + j] = -t + off * tau
    return value


def calibration_ranks(replications, seed, variant="exact", step_size=None):
    """Ranks (replications, 3) of mu, log tau and the first t among 19 thinned posterior draws."""
    rng = np.random.default_rng(seed)
    template = engine.target(_hierarchical, 7, np.zeros(5))
    ranks = np.empty((replications, 3), int)
    for r in range(replications):
        mu, log_tau, t = rng.normal(), 0.5 * rng.normal(), rng.normal(size=5)
        y = mu + np.exp(log_tau) * t + rng.normal(size=5)
        target = engine.Target(template.name, 7, template.owner, y, template.ints)
        settings = {"step_size": step_size, "mass": 1.0} if step_size else {}
        recording = engine.sample(target, "nuts", chains=1, draws=19 * 8, warmup=300, seed=r, variant=variant, **settings)
        ranks[r] = np.sum(recording.draws[0, ::8, :3] < [mu, log_tau, t[0]], axis=0)
    return ranks


def chi_square(ranks):
    """Chi-square of 10 bins of two ranks each, 9 degrees of freedom, the worst of the three quantities."""
    counts = np.stack([np.bincount(column // 2, minlength=10) for column in ranks.T])
    expected = len(ranks) / 10
    return float(np.max(((counts - expected) ** 2 / expected).sum(axis=1)))


LIMIT = 35.0  # of chi-square with 9 degrees of freedom: 6e-5 each


def test_calibration_on_a_hierarchical_model():
    assert chi_square(calibration_ranks(600, seed=1)) < LIMIT


@pytest.mark.long
def test_calibration_on_a_hierarchical_model_long():
    assert chi_square(calibration_ranks(20_000, seed=2)) < LIMIT


@pytest.mark.long
def test_calibration_catches_wrong_nuts():
    assert chi_square(calibration_ranks(5_000, seed=3, variant="final_accept", step_size=1.0)) > LIMIT
