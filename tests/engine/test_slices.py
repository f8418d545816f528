"""Slices that go through a pickle and back, one by one: the same bytes, whatever is done where; and what they must carry."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import datasets
import engine
from engine import slices, targets
from engine.evidence import EvidenceSpec, architecture_evidence
from engine.jumps.run import ArchitectureRun
from engine.networks.sweep import NetworkRun as SweepRun
from engine.networks.sweep import sample_network
from engine.samplers.run import Run
from engine.spike_and_slab import SelectionRun, SpikeAndSlab, sample_models, spike_and_slab
from engine.training import EnsembleRun, TrainingSpec, train
from engine.variational import advi, fit_convolution, fit_network, start_network

X, Y, _ = datasets.xor(seed=1)
SMALL = engine.network(2, 2, width=3)


class Pickling:
    """A place in this process that does `most` slices, then is gone."""

    def __init__(self, most: int = 10_000):
        self.most, self.done, self.at_once = most, 0, 0

    def width(self) -> int:
        return 2 if self.done < self.most else 0

    @contextmanager
    def working(self, function: Callable[[Any, Any], Any], shared: slices.Shared) -> Iterator[Any]:
        yield _Work(self, function, shared.pickled())


class _Work:
    def __init__(self, place: Pickling, function: Callable[[Any, Any], Any], same: bytes):
        self.place, self.function, self.same = place, function, same
        self.sent: list[tuple[Hashable, bytes]] = []

    def send(self, name: Hashable, item: Any) -> None:
        self.sent.append((name, slices.pickled((self.function, item))))
        self.place.at_once = max(self.place.at_once, len(self.sent))

    def __iter__(self) -> Iterator[tuple[Hashable, Any, float]]:
        while self.sent:
            name, data = self.sent.pop()  # what was sent last comes back first
            self.place.done += 1
            if self.place.done > self.place.most:
                raise slices.StaysHere("gone")
            function, item = pickle.loads(data)
            with slices.at(None):
                found = function(pickle.loads(self.same), item)
            yield name, pickle.loads(pickle.dumps(found)), 0.01


def regression() -> SpikeAndSlab:
    """Three predictors, one of them with an effect."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    return spike_and_slab(x, x[:, 0] + 0.1 * rng.normal(size=40))


def fitted() -> tuple[Any, ...]:
    """By stochastic gradients."""
    fit = advi(targets.build("banana"), steps=300)
    return fit.parameters, fit.energy


def trained() -> tuple[Any, ...]:
    """A variational network."""
    fit = fit_network(X, np.asarray(Y), hidden=(5,), epochs=20, batch=20)
    return fit.posterior.mean, fit.posterior.sd, *fit.history


def gone_on() -> tuple[Any, ...]:
    """The same, stopped on the way, and gone on with its structure fixed."""
    run = start_network(X, np.asarray(Y), method="spike_and_slab", hidden=(5,), epochs=20, batch=20)
    run.advance(run.total, lambda: run.completed > 10)
    run.advance(run.total)
    more = run.post_train(epochs=5)
    more.advance(more.total)
    return run.posterior.mean, more.posterior.mean, more.posterior.sd, *more.history()


def convolved() -> tuple[Any, ...]:
    """A variational convolutional network."""
    rng = np.random.default_rng(0)
    fit = fit_convolution(rng.random((60, 12, 12)), np.arange(60) % 3, epochs=4, batch=20)
    return fit.posterior.mean, fit.posterior.sd, *fit.history


def descended() -> tuple[Any, ...]:
    """A trained network."""
    found = train(SMALL, X, Y, epochs=50, batch=20, validation=0.2)
    return found.path, found.loss


def members() -> tuple[Any, ...]:
    """Networks trained from several seeds, each on rows of its own, until they get no better."""
    run = EnsembleRun(SMALL, X, Y, TrainingSpec(epochs=1000, validation=0.2, patience=2), members=5, bootstrap=True)
    while run.advance(run.total):
        pass
    assert len({len(each.steps) for each in run.trained()}) > 1, "they end at different times"
    return tuple(each.path for each in run.trained())


def evidence() -> tuple[Any, ...]:
    """Of two widths."""
    found = architecture_evidence(engine.network(2, 2, width=(1, 2), temper=0.5), X, Y, EvidenceSpec(particles=16, islands=4))
    return found.log_evidence, *(each.accept for each in found.evidence if each)


def grown(**settings: Any) -> Any:
    """Chains that grow."""
    network = engine.network(2, 2, width=(1, 6), temper=0.5)
    return engine.sample_architecture(network, X, Y, chains=2, draws=20, warmup=10, seed=1, **settings)


MAKE: dict[str, Callable[[], Any]] = {
    "nuts": lambda: engine.sample(targets.build("banana"), "nuts", chains=3, draws=60, warmup=60, seed=1),
    "inside": lambda: engine.sample(targets.build("gaussian"), "nuts", chains=2, draws=30, seed=1, detail="transitions", step_size=0.5),
    "gibbs": lambda: engine.sample(targets.build("gaussian"), "gibbs", chains=2, draws=60, warmup=10, seed=1),
    "kept": lambda: engine.sample(targets.build("gaussian"), "nuts", chains=2, draws=30, warmup=30, seed=1, keep_warmup=True),
    "jumps": lambda: grown(detail="jumps"),
    "annealed": lambda: grown(jump="annealed"),
    "network": lambda: sample_network(SMALL, X, Y, chains=2, draws=30, warmup=30, seed=1, weights="own_mean"),
    "models": lambda: sample_models(regression(), chains=2, draws=50, warmup=10, seed=1),
    "evidence": evidence,
    "calibration": lambda: engine.calibrate("nuts", SMALL, x=X[:10], replications=12, draws=7, warmup=20).ranks,
    "calibration of a target": lambda: engine.calibrate("nuts", targets.build("gaussian"), replications=12, draws=7, warmup=20).ranks,
    "advi": fitted,
    "variational": trained,
    "gone on": gone_on,
    "convolution": convolved,
    "training": descended,
    "ensemble": members,
}


def contents(value: Any) -> list[bytes]:
    """The bytes of all arrays of a result."""
    if isinstance(value, np.ndarray):
        return [value.tobytes()]
    if isinstance(value, tuple | list):
        return [each for item in value for each in contents(item)]
    return [each for name, item in sorted(getattr(value, "__dict__", {}).items()) if name != "run" for each in contents(item)]


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(slices, "WORTH", 0.0)
    monkeypatch.setattr(slices, "SLICE", 0.005)


@pytest.mark.parametrize("name", MAKE)
def test_bytes_are_the_same_there_and_where_the_place_goes_on_the_way(name: str):
    make, place = MAKE[name], Pickling()
    here = contents(make())
    with slices.at(place):
        there = contents(make())
    assert here == there and len(here) > 0
    assert place.done or name == "kept"
    for most in (1, 2):
        with slices.at(Pickling(most)):
            assert contents(make()) == here, f"after {most} slices"


RUNS = {"nuts": Run, "jumps": ArchitectureRun, "network": SweepRun, "models": SelectionRun}


@pytest.mark.parametrize("name", RUNS)
def test_whatever_a_chain_did_not_carry_or_write_would_be_seen(name: str, monkeypatch: pytest.MonkeyPatch):
    kind, here = RUNS[name], contents(MAKE[name]())
    written, make_room = kind._writes, kind._make_room

    def make_clean_room(run: Any) -> None:  # else what is not written may be there from the run before
        make_room(run)
        for attribute in written:
            arrays = getattr(run, attribute)
            for array in arrays if isinstance(arrays, tuple) else [arrays]:
                array[:] = 1

    monkeypatch.setattr(kind, "_make_room", make_clean_room)
    for of in ("_carries", "_writes"):
        for left_out in set(getattr(kind, of)) - {"_inside"}:  # of which this run has no rows
            kept = tuple(each for each in getattr(kind, of) if each != left_out)
            with monkeypatch.context() as patch, slices.at(Pickling()):
                patch.setattr(kind, of, kept)
                try:
                    found = contents(MAKE[name]())
                except AttributeError:
                    continue
                assert found != here, f"{name} without {left_out}"


def test_what_does_not_pickle_stays_here():
    place = Pickling()
    with slices.at(place):
        assert slices.each(lambda shared, item: item + 1, None, range(3)) == [1, 2, 3]
        assert slices.each(_plus, threading.Lock(), range(3)) == [1, 2, 3]
        assert place.done == 0
        assert slices.each(_plus, None, range(3)) == [1, 2, 3]
    assert place.done == 3


def _plus(_: Any, item: int) -> int:
    return item + 1


def test_what_is_done_in_no_time_stays_here(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(slices, "WORTH", 10.0)
    place = Pickling()
    with slices.at(place):
        MAKE["nuts"]()
        trained()
    assert place.done == 0
