"""The trial of kernels: right ones pass with uniform p-values, each planted fault turns one of the proofs red."""

from __future__ import annotations

import functools
import threading

import numpy as np
import pytest
from scipy import stats

import datasets
import engine
from engine import spike_and_slab, targets, ticket
from engine.judge import (
    Kernel,
    Known,
    NestedKernel,
    OfNetwork,
    SelectionKernel,
    Simulated,
    TransitionKernel,
    kernel_check,
    kernel_of,
    overall,
    proofs,
)
from engine.judge import trial as trials
from engine.jumps import start_architecture, toy
from engine.samplers import METHODS


def xor_network(**changes: object) -> tuple[engine.Network, np.ndarray, np.ndarray]:
    x, y, _ = datasets.xor(40, seed=1)
    return engine.network(2, 2, **{"width": 3, "temper": 0.5, **changes}), x, y  # type: ignore[arg-type]


@functools.cache
def nuts_on_xor() -> Kernel:
    network, x, y = xor_network()
    run = engine.sample(network.posterior(x, y), "nuts", chains=1, draws=10, warmup=200, seed=1)
    return kernel_of(run)  # type: ignore[return-value]


@functools.cache
def jumps_on_xor(jump: str) -> Kernel:
    network, x, y = xor_network(width=(1, 8))
    settings = {"within": "hmc", "step_size": 0.3, "steps": 4, "jumps": 5, "bridges": 3}
    run = start_architecture(network, x, y, jump, chains=1, draws=5, warmup=5, seed=2, **settings)
    run.advance(run.total)
    return kernel_of(run.recording())  # type: ignore[return-value]


@functools.cache
def sweep_on_line(weights: str) -> Kernel:
    x = np.linspace(-2.0, 2.0, 15)[:, None]
    network = engine.network(1, 1, width=3, likelihood="gaussian", noise_sd=0.3)
    settings = {"weights": weights, "noise": "learned", "chains": 1, "draws": 10, "warmup": 150}
    return kernel_of(engine.sample_network(network, x, np.sin(x), seed=1, **settings))  # type: ignore[return-value]


@functools.cache
def selection(likelihood: str) -> Kernel:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((50, 5))
    y = x[:, 0] + rng.standard_normal(50)
    answers = y if likelihood == "linear" else (y > 0.0).astype(float)
    return SelectionKernel(spike_and_slab.spike_and_slab(x, answers, likelihood=likelihood))


def coin() -> Simulated:
    """A logistic regression through the origin: prior N(0, 1), ten throws."""
    x = np.linspace(-2.0, 2.0, 10)
    from engine import logistic

    def throw(theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return (rng.random(10) < logistic.sigmoid(theta[0] * x + theta[1])).astype(float)

    return Simulated(
        "a logistic regression",
        ("slope", "intercept"),
        lambda n, rng: rng.standard_normal((n, 2)),
        throw,
        lambda y: logistic.posterior(x, y, 1.0),
    )


def on(name: str, method: str, **settings: object) -> TransitionKernel:
    return TransitionKernel(Known(targets.build(name)), METHODS[method](**settings))  # type: ignore[arg-type]


KERNELS = {
    "metropolis": lambda: on("gaussian", "metropolis", scale=1.2, drift=0.4),
    "delayed rejection": lambda: on("gaussian", "delayed_rejection", scale=3.0),
    "hmc": lambda: on("banana", "hmc", step_size=0.3, steps=8),
    "nuts": lambda: on("student", "nuts", step_size=0.8),
    "gibbs": lambda: on("gaussian", "gibbs"),
    "slice sampling": lambda: on("banana", "slice_sampling", w=0.7),
    "slice sampling, doubling": lambda: on("two_modes", "slice_sampling", w=0.7, interval="doubling"),
    "slice sampling, a box": lambda: on("gaussian", "slice_sampling", w=2.0, interval="hyperrectangle"),
    "one variable at a time": lambda: on("gaussian", "gibbs", update="metropolis"),
    "nuts on a network": nuts_on_xor,
    "sweeps": lambda: sweep_on_line("per_layer"),
    "sweeps, means of their own": lambda: sweep_on_line("own_mean"),
    "plain jump": lambda: jumps_on_xor("plain"),
    "rescaled jump": lambda: jumps_on_xor("rescaled"),
    "delayed jump": lambda: jumps_on_xor("delayed"),
    "jump that splits": lambda: jumps_on_xor("split"),
    "jump that draws all anew": lambda: jumps_on_xor("redraw"),
    "annealed jump": lambda: jumps_on_xor("annealed"),
    "nested models": lambda: NestedKernel(toy.ToySpec()),
    "selection, linear": lambda: selection("linear"),
    "selection, logistic": lambda: selection("logistic"),
    "a model of three functions": lambda: TransitionKernel(coin(), METHODS["metropolis"](scale=1.0)),
}
# whose books are held in test_crossings, in seconds
SLOW = ("jump that splits", "jump that draws all anew")


def marked(name: str, *more: str) -> object:
    """A case, of a slow kernel a long one."""
    return pytest.param(name, *more, marks=pytest.mark.long if name in SLOW else ())


FAULTS = [marked(name, fault) for name, make in KERNELS.items() for fault in make().faults]


def test_every_sampler_is_tried() -> None:
    kernels = [make() for make in KERNELS.values()]
    assert {kernel.method.name for kernel in kernels if isinstance(kernel, TransitionKernel)} == set(METHODS)


@pytest.mark.parametrize("name", map(marked, KERNELS))
def test_right_kernels_pass(name: str) -> None:
    """A false red has a probability below 1e-5 for each."""
    found = proofs(KERNELS[name](), seed=11)
    assert overall(found) == "pass", [check.sentence for check in found]


@pytest.mark.parametrize(("name", "fault"), FAULTS, ids=lambda value: value)
def test_each_planted_fault_turns_a_proof_red(name: str, fault: str) -> None:
    found = proofs(KERNELS[name]().planted(fault), seed=12)
    assert overall(found) == "fail", [check.sentence for check in found]


@pytest.mark.parametrize(
    "name", ["metropolis", *(pytest.param(name, marks=pytest.mark.long) for name in ("nuts on a network", "plain jump"))]
)
def test_p_values_are_uniform_over_seeds(name: str) -> None:
    """A check that is too timid, or constant, is found by this; a right one fails it once in 10,000 times."""
    kernel = KERNELS[name]()
    p = [trials._look(kernel, (seed, 1), 1, 150).p for seed in range(80)]
    assert stats.kstest(p, "uniform").pvalue > 1e-4, np.sort(p)


def test_a_kernel_that_never_moves_shows_nothing() -> None:
    still = on("gaussian", "hmc", step_size=5.0, steps=60)
    found = kernel_check(still, 1, worlds=200)
    assert found.verdict == "unknown"


def test_a_kernel_that_is_wrong_on_purpose_never_passes() -> None:
    """A drift of 0: the Hastings ratio that is left out is 1, so nothing is seen."""
    kernel = TransitionKernel(
        Known(targets.build("gaussian")), METHODS["metropolis"](variant="no_hastings"), mistake="Left out on purpose."
    )
    assert kernel_check(kernel, 1, worlds=300).verdict == "unknown"
    assert "no_hastings" not in kernel.faults  # it changes nothing with these settings


def test_the_misprinted_criterion_keeps_the_target() -> None:
    """Any criterion that hangs on a subtree's states in order of time alone is right, if slow."""
    found = proofs(on("gaussian", "nuts", step_size=0.5, variant="reversed_dot"), seed=3)
    assert overall(found) == "pass", [check.sentence for check in found]


def test_an_engine_with_another_default_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page runs is what is judged: the wrong variant in place of the right one everywhere in the engine."""
    from engine.samplers import nuts

    prepare = nuts.Nuts.prepare

    def wrong(self: nuts.Nuts, target: engine.Target) -> tuple:
        return prepare(self, target)._replace(variant=nuts.VARIANTS.index("aliased_momentum"))

    monkeypatch.setattr(nuts.Nuts, "prepare", wrong)
    assert overall(proofs(nuts_on_xor(), seed=4)) == "fail"
    assert overall(proofs(sweep_on_line("per_layer"), seed=4)) == "fail"


def test_the_same_seed_gives_the_same_check() -> None:
    kernel = KERNELS["hmc"]()
    assert kernel_check(kernel, 7, worlds=200) == kernel_check(kernel, 7, worlds=200)
    assert kernel_check(kernel, 7, worlds=200) != kernel_check(kernel, 8, worlds=200)


def test_a_trial_can_be_stopped() -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(InterruptedError), ticket.holding(stop):
        kernel_check(KERNELS["hmc"](), 1)


@pytest.mark.parametrize("name", KERNELS)
def test_a_trial_gives_way_before_each_world(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture that somebody waits for goes first: a kernel of long transitions held it up for half a second."""
    kernel, looks = KERNELS[name](), [0]

    def counted() -> None:
        looks[0] += 1

    worlds = kernel.worlds(5, np.random.Generator(np.random.SFC64(1)))
    monkeypatch.setattr(ticket, "look", counted)
    kernel.move(worlds, 2, np.random.SeedSequence(2).spawn(5))
    assert looks[0] >= 5


def test_data_forgotten_are_seen_by_the_likelihood_alone() -> None:
    """Of the prior the kernel is exact; that the log likelihood is watched is what finds it out."""
    kernel = nuts_on_xor().planted("data_ignored")
    found = kernel_check(kernel, 5, worlds=400)
    assert found.verdict == "fail" and "likelihood" in found.sentence


def test_network_models_simulate_what_their_likelihood_says() -> None:
    network, x, _ = xor_network()
    model = OfNetwork(network, x)
    theta, y = model.draw(3000, np.random.default_rng(1))
    p = engine.networks.predictive.probabilities(network, theta, x)[:, :, 1]
    z = (np.asarray(y) - p).sum(axis=0) / np.sqrt((p * (1.0 - p)).sum(axis=0))
    assert np.abs(z).max() < 4.5


def test_worlds_that_nobody_waits_for_are_not_drawn():
    """Neither their data, which a function of Python throws, nor the densities, each of another target."""
    model, rng, gone = coin(), np.random.default_rng(1), threading.Event()
    states = model.draw(3, rng)
    gone.set()
    with ticket.holding(gone), pytest.raises(InterruptedError):  # type: ignore[arg-type]
        model.draw(3, rng)
    with ticket.holding(gone), pytest.raises(InterruptedError):  # type: ignore[arg-type]
        model.values(*states)


def test_a_trial_looks_up_while_it_sums_up():
    """After the last world has moved: 40 to 65 ms of sorting, comparing and simulating, with a picture perhaps waiting."""
    rng = np.random.default_rng(1)
    expected, before = rng.random((8000, 8)), rng.random((2000, 8))
    after = np.repeat(before[:, None], 5, axis=1)
    after[:, 1:] = rng.random((2000, 4, 8))
    looks: list[str] = []

    class Counting:
        def is_set(self) -> bool:
            looks.append("")
            return False

    with ticket.holding(Counting()):  # type: ignore[arg-type]
        found = trials._errors(expected, before, after)
        assert len(looks) >= 3
        looks.clear()
        trials.largest_of_right_ones(found.correlation)
        assert len(looks) >= 8
        looks.clear()
        trials._curve("x", expected[:, 0], before[:, 0], after[..., 0])
        assert len(looks) >= 3 + 3 + 8
