"""Posteriors of digit readers: each learns, is the same however it is trained, and its gradients are exact."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kstest

from datasets.images import Images, digits
from engine import kept, scores, slices, states
from engine.judge import overall, proofs, training
from engine.judge.plant import STUCK, planted
from engine.levels import Levels
from engine.networks.predictive import probabilities
from engine.networks.stack import Networks
from engine.spec import SpecError
from engine.variational import NetworkRun, start_network
from lessons.families.digit_posteriors import sources
from lessons.families.digit_posteriors import training as training_of_digits
from lessons.families.digit_posteriors.checks import kernels, run_checks, training_check
from lessons.families.digit_posteriors.shared import WATCHED, Shared, posterior
from lessons.families.digit_posteriors.spec import METHODS, PosteriorSpec
from lessons.families.digit_posteriors.training import EPOCHS, begin
from tests.conftest import ROOT
from tests.engine.test_slices import Pickling
from tests.lessons.pages import NEVER

DATA = digits()
QUICK = {
    "nuts": {"warmup": 40, "images": 200, "small": 6, "networks": 20},
    "lbbnn": {"epochs": 40, "networks": 20},
    "dense": {"epochs": 40, "networks": 20},
    "dropout": {"epochs": 20, "networks": 20},
    "ensemble": {"epochs": 10, "networks": 4},
}
HOPED = {"nuts": 0.8, "lbbnn": 0.9, "dense": 0.9, "dropout": 0.9, "ensemble": 0.9}


def quick(method: str) -> PosteriorSpec:
    return PosteriorSpec(method=method, **QUICK[method])


@pytest.fixture(scope="module")
def trained() -> dict[str, Networks]:
    """Every method, trained in one go."""
    found = {}
    for method in METHODS:
        training = begin(DATA, quick(method))
        training.advance(60.0)
        assert training.done
        found[method] = training.networks()
    return found


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_and_gives_its_networks(trained: dict[str, Networks], method: str):
    p = trained[method].predict(DATA.x_test)
    assert p.shape == (QUICK[method]["networks"], 450, 10) and p.sum(axis=2) == pytest.approx(1.0, abs=1e-5)
    assert scores.top_accuracy(p.mean(axis=0), DATA.y_test) > HOPED[method]
    assert (scores.decompose(p).epistemic > 0.0).all()


@pytest.mark.parametrize("method", ["nuts", "lbbnn", "ensemble"])
def test_networks_that_learn_elsewhere_are_the_same(trained: dict[str, Networks], method: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(slices, "WORTH", 0.0)
    place = Pickling()
    with slices.at(place):
        training = begin(DATA, quick(method))
        while not training.done:
            training.advance(0.05)
            assert training.networks().predict(DATA.x_test[:1]).shape[2] == 10, "what there is so far can be looked at"
    assert place.done and place.at_once == {"nuts": 2, "lbbnn": 1, "ensemble": 2}[method], "chains and members go side by side"
    for here, there in zip(trained[method].layers, training.networks().layers, strict=True):
        assert here.tobytes() == there.tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_pieces_give_the_same_networks(trained: dict[str, Networks], method: str):
    training = begin(DATA, quick(method))
    first = training.networks()  # before anything is learnt
    assert np.isfinite(first.predict(DATA.x_test[:3])).all()
    while not training.done:
        training.advance(0.0)
    for one, other in zip(training.networks().layers, trained[method].layers, strict=True):
        assert np.array_equal(one, other)


def test_networks_on_components_and_on_pixels_are_the_same():
    training = begin(DATA, quick("nuts"))
    training.advance(60.0)
    theta = training.draws[:, 1::2].transpose(1, 0, 2).reshape(-1, training.network.dim)
    z = (DATA.x_test[:50].astype(np.float64) - training._mean) @ training._axes.T
    assert training.networks().predict(DATA.x_test[:50]) == pytest.approx(probabilities(training.network, theta, z), abs=1e-4)


@pytest.mark.parametrize("method", ["nuts", "dense"])
def test_the_first_look_is_at_the_first_few_networks(method: str):
    one = Shared(DATA, PosteriorSpec(method=method))
    few, all_of_them = one.networks(), one._training.networks()
    assert len(few) == WATCHED < len(all_of_them)
    for some, whole in zip(few.layers, all_of_them.layers, strict=True):
        assert np.array_equal(some, whole[:WATCHED])


def test_a_variational_fit_predicts_the_same(trained: dict[str, Networks]):
    training = begin(DATA, quick("lbbnn"))
    training.advance(60.0)
    fit = training._run.fit()
    theirs = fit.predict(DATA.x_test, samples=400, seed=1).mean
    assert np.abs(trained["lbbnn"].predict(DATA.x_test).mean(axis=0) - theirs).mean() < 0.02


def test_a_posterior_is_shared_and_goes_on_where_it_was_left():
    spec = PosteriorSpec(method="dropout", epochs=20, networks=3, seed=77)
    one = posterior("digits", DATA, spec)
    assert posterior("digits", DATA, spec) is one and posterior("other", DATA, spec) is not one
    assert one.networks() is one.networks() and one.fraction > 0.0
    assert Shared(DATA, spec).finish(stop=lambda: True) is None
    seen: list[list[float]] = [[], []]
    threads = [threading.Thread(target=one.finish, kwargs={"look": lambda s, mine=mine: mine.append(s.fraction)}) for mine in seen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one.done and one.fraction == 1.0 and all(mine == sorted(mine) for mine in seen)
    alone = Shared(DATA, spec).finish()
    assert all(np.array_equal(a, b) for a, b in zip(one.networks().layers, alone.layers, strict=True))


def test_one_that_is_too_heavy_while_it_is_trained_is_shared_and_kept_once_it_is_done(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kept, "store", kept.Store(DATA.x.nbytes))
    spec = PosteriorSpec(method="dropout", epochs=2, networks=3, seed=78)
    one = posterior("digits", DATA, spec)
    assert not len(kept.store) and posterior("digits", DATA, spec) is one, "who trains it holds it"
    one.finish()
    assert len(kept.store) == 1 and posterior("digits", DATA, spec) is one


def test_settings_that_do_not_fit_are_named():
    with pytest.raises(SpecError, match="method"):
        PosteriorSpec(method="laplace")
    with pytest.raises(SpecError, match="components"):
        begin(DATA, PosteriorSpec(method="nuts", images=20, components=40))


# What is told of them -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [method for method in METHODS if method != "nuts"])
def test_a_training_is_judged_by_its_gradient_and_its_rest(method: str, monkeypatch: pytest.MonkeyPatch):
    spec = PosteriorSpec(method=method, networks=3)
    shared = Shared(DATA, spec)
    shared.finish()
    (rest,) = run_checks(shared, np.zeros(3), "nothing")
    assert rest.verdict == "pass" and kernels(shared) == []
    with planted(STUCK):
        assert run_checks(shared, np.zeros(3), "nothing")[0].verdict == "fail"
    early = Shared(DATA, PosteriorSpec(method=method, networks=3, epochs=max(2, EPOCHS[method] // 20)))
    early.finish()
    assert run_checks(early, np.zeros(3), "nothing")[0].verdict == "unknown"
    (gradient,) = training_check(DATA, spec, NEVER)
    assert gradient.verdict == "pass" and gradient.kind == "kernel"
    real = NetworkRun.gradient_estimates  # the prior counted a little too much
    monkeypatch.setattr(NetworkRun, "gradient_estimates", lambda self, *given: 1.05 * real(self, *given))
    assert training_check(DATA, spec, NEVER)[0].verdict == "fail"


@pytest.mark.long
def test_the_p_values_of_the_gradient_are_uniform(monkeypatch: pytest.MonkeyPatch):
    """Over seeds, of the first look; KS at a level of 1e-4."""
    monkeypatch.setattr(training, "two_looks", lambda look: look(1, 1))
    spec = {"hidden": (4,), "method": "gaussian", "batch": 60}
    run = start_network(DATA.x[:60, 10:20], DATA.y[:60], **spec)
    run.advance(4)
    p = []
    for seed in range(150):
        run.spec = run.spec.replace(seed=seed)
        p.append(training.training_gradient_check(run, seed).p)
    assert kstest(p, "uniform").pvalue > 1e-4


@pytest.fixture(scope="module")
def chains() -> Shared:
    found = Shared(DATA, PosteriorSpec(method="nuts"))
    found.finish()
    return found


def test_nuts_is_tried_on_its_own_network(chains: Shared):
    (kernel,) = kernels(chains)
    assert "20-16-10" in kernel.name and "60 simulated observations (of 500" in kernel.name
    assert overall(proofs(kernel, 1)) == "pass"


@pytest.mark.parametrize("fault", ["data_ignored", "aliased_momentum", "prior_forgotten"])
def test_a_wrong_nuts_is_red(chains: Shared, fault: str):
    (kernel,) = kernels(chains)
    assert overall(proofs(kernel.planted(fault), 1)) == "fail"


def test_few_draws_are_no_agreement_and_gross_disagreement_is_seen(chains: Shared):
    values = np.random.default_rng(1).standard_normal(100)
    found = {c.name: c.verdict for c in run_checks(chains, values, "x")}
    assert found == {"chains agree": "unknown", "divergences": "pass", "energy": "pass", "depth": "unknown"}
    values[::2] += 5.0
    assert run_checks(chains, values, "x")[0].verdict == "fail"
    values = np.random.default_rng(1).standard_normal(100)
    values[::2] += 0.8
    assert run_checks(chains, values, "x")[0].verdict == "unknown"
    with planted(STUCK):
        assert run_checks(chains, values, "x")[0].verdict == "fail"


# On disk --------------------------------------------------------------------------------------------------------------

KILLED = """
import tests.conftest  # what shifts the seeds of a run shifts them here
import os, signal
from engine import states
from lessons.families.digit_posteriors import shared, sources

states.EVERY = -1.0
real = states.write


def write(path, state):
    real(path, state)
    if state[0] > 0.0 and shared_one.begun.completed > 20:
        os.kill(os.getpid(), signal.SIGKILL)


states.write = write
shared_one = sources.shared("mnist", {method!r}, 3)
shared_one.begun = shared_one._training
while True:
    shared_one.begun.advance(0.0)
    shared_one._keep()
"""


@pytest.mark.parametrize("method", ["dense", "lbbnn", "dropout", "ensemble"])
def test_a_killed_training_goes_on_to_the_same_bytes(few_of_mnist: Images, monkeypatch: pytest.MonkeyPatch, method: str):
    path = sources.state_path(few_of_mnist, spec := sources.recipe(few_of_mnist, method, 3))
    whole = Shared(few_of_mnist, spec).finish()
    died = subprocess.run([sys.executable, "-c", KILLED.format(method=method)], cwd=ROOT, timeout=120, check=False)
    assert died.returncode == -signal.SIGKILL and path.is_file()
    one = sources.shared("mnist", method, 3)
    assert 20 < one._training.completed < one._training.total, "it goes on"
    assert one.seconds == 0.0 < one._training.seconds
    same(one.finish(), whole)
    kept.store.forget()
    del one
    again = sources.shared("mnist", method, 3)
    assert again._training.done, "what was trained is not trained again"
    same(again.networks(), whole)
    assert again.done and len(again.traces.elbo) == (sources.MEMBERS if method == "ensemble" else 1)
    assert path.stat().st_size < 20_000_000


def same(one: Networks | None, other: Networks | None) -> None:
    assert one is not None and other is not None and one.activation == other.activation
    assert all(np.array_equal(a, b) for a, b in zip(one.layers, other.layers, strict=True))


def test_a_state_is_of_these_settings_and_data(few_of_mnist: Images):
    spec = sources.recipe(few_of_mnist, "dense", 1)
    others = [
        sources.state_path(few_of_mnist, sources.recipe(few_of_mnist, "dense", 2)),
        sources.state_path(few_of_mnist, sources.recipe(few_of_mnist, "lbbnn", 1)),
        sources.state_path(few_of_mnist, spec.replace(units=51)),
        sources.state_path(few_of_mnist.some(110), spec),
    ]
    assert len({sources.state_path(few_of_mnist, spec), *others}) == 5
    assert sources.state_path(few_of_mnist, sources.recipe(few_of_mnist, "nuts", 1)) is None


@pytest.mark.parametrize("content", [b"half a st", pickle.dumps(("a", "b")), pickle.dumps((1.0, None))])
def test_a_broken_state_costs_only_itself(few_of_mnist: Images, content: bytes):
    spec = sources.recipe(few_of_mnist, "dense", 1).replace(epochs=2)
    path = sources.state_path(few_of_mnist, spec)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    same(Shared(few_of_mnist, spec, path=path).finish(), Shared(few_of_mnist, spec).finish())


def test_a_disk_that_takes_nothing_costs_the_state_not_the_picture(few_of_mnist: Images, tmp_path: Path):
    (tmp_path / "state").write_bytes(b"")  # a file where the folder would be
    one = sources.shared("mnist", "dropout", 1)
    assert one.finish() is not None and one.done


def test_states_keep_to_their_budget_and_those_in_use_stay(tmp_path: Path):
    for number in range(4):
        states.write(tmp_path / f"{number}.run", bytes(1000))
        os.utime(tmp_path / f"{number}.run", (number, number))
    assert states.read(tmp_path / "0.run") == bytes(1000)  # used just now
    states.fit(tmp_path, 2500)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.run", "3.run"]


def test_of_many_images_the_bytes_alone_are_held(few_of_mnist: Images, monkeypatch: pytest.MonkeyPatch):
    """And what comes out is the same."""
    spec = sources.recipe(few_of_mnist, "dense", 1).replace(epochs=3)
    settings = training_of_digits.network_spec(spec, 1, 120)
    plain, held = (start_network(x, few_of_mnist.y, settings) for x in (few_of_mnist.x, few_of_mnist.levels))
    for run in (plain, held):
        run.advance(run.total)
    assert plain.posterior.blocks.tobytes() == held.posterior.blocks.tobytes()
    assert held._x.values.base is not None and not held._x.values.flags.owndata, "on the disk"
    assert np.array_equal(np.asarray(few_of_mnist.levels), few_of_mnist.x)
    monkeypatch.setattr(training_of_digits, "LARGE", 100)
    assert isinstance(begin(few_of_mnist, spec)._run._x, Levels)
    with pytest.raises(SpecError, match="uint8"):
        Levels(few_of_mnist.x, 255)
