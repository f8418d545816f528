"""Recordings in ArviZ's schema, read back from NetCDF by xarray and judged by ArviZ."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from arviz_stats import summary

import datasets
import engine
from engine import targets
from engine.diagnostics import summarise
from engine.recording import Recording


@pytest.fixture(scope="module")
def recording() -> Recording:
    return engine.sample(targets.build("banana"), "nuts", chains=4, draws=200, warmup=150, seed=1, keep_warmup=True)


def read_back(tree: xr.DataTree, folder: Path) -> xr.DataTree:
    tree.to_netcdf(folder / "run.nc", engine="h5netcdf")
    return xr.open_datatree(folder / "run.nc", engine="h5netcdf")


def test_a_file_holds_the_run_and_arviz_says_what_we_say(recording: Recording, tmp_path: Path):
    likelihoods = np.random.default_rng(1).normal(size=(4, 200, 3))
    y = np.arange(3.0)
    tree = recording.to_datatree(
        attributes={"link": "/nuts?seed=1"}, log_likelihood=likelihoods, posterior_predictive=likelihoods + y, observed_data={"y": y}
    )
    found = read_back(tree, tmp_path)
    assert found.attrs["link"] == "/nuts?seed=1" and found.attrs["seed"] == 1 and found.attrs["method"] == "nuts"
    assert np.array_equal(found.posterior.x, recording.draws) and list(found.posterior.parameter.values) == ["x₁", "x₂"]
    names = {"lp", "acceptance_rate", "step_size", "tree_depth", "n_steps", "diverging", "energy"}
    assert names <= set(found.sample_stats.data_vars)
    assert np.array_equal(found.sample_stats.energy, recording.energy) and found.sample_stats.lp.dims == ("chain", "draw")
    assert np.array_equal(found.sample_stats.diverging, recording.divergent)
    assert recording.warmup is not None and np.array_equal(found.warmup_posterior.x, recording.warmup.draws)
    assert np.array_equal(found.log_likelihood.y, likelihoods) and np.array_equal(found.observed_data.y, y)
    assert np.array_equal(found.posterior_predictive.y, likelihoods + y)
    assert says_the_same(found, recording)
    moved = dataclasses.replace(recording, draws=recording.draws + np.arange(4.0)[:, None, None])
    assert not says_the_same(moved.to_datatree(), recording), "chains that stand elsewhere are seen"


def says_the_same(tree: xr.DataTree, recording: Recording) -> bool:
    """Whether ArviZ's summary of the tree is that of our diagnostics; its tail ESS is of another interval."""
    theirs, ours = summary(tree, round_to="none"), summarise(recording.draws)
    pairs = {"mean": "mean", "r_hat": "rhat", "ess_bulk": "ess_bulk", "mcse_mean": "mcse_mean"}
    return all(np.allclose(theirs[name].astype(float), getattr(ours, field), rtol=1e-9) for name, field in pairs.items())


def test_networks_that_change_size_bring_k_and_their_ledger(tmp_path: Path):
    x, y, _ = datasets.xor(seed=1)
    recording = engine.sample_architecture(
        engine.network(2, 2, width=(1, 6), temper=0.5), x, y, chains=2, draws=12, warmup=4, seed=1, detail="jumps"
    )
    found = read_back(recording.to_datatree(), tmp_path)
    assert np.array_equal(found.posterior.k, recording.width) and np.array_equal(found.posterior.L, recording.depth)
    assert np.array_equal(found.posterior.x, recording.draws, equal_nan=True)
    assert found.ledger.factors.dims == ("chain", "draw", "jump", "factor") and "likelihood" in found.ledger.factor.values
    assert np.array_equal(found.ledger.accepted.sum(("chain", "draw", "jump")), recording.jumped.sum())


def test_the_first_draws_are_those_of_a_shorter_run(recording: Recording):
    shorter = engine.sample(targets.build("banana"), "nuts", chains=4, draws=50, warmup=150, seed=1)
    first = recording.first(50)
    for name in ("draws", "log_density", "divergent", "energy", "step_size"):
        assert np.array_equal(getattr(first, name), getattr(shorter, name)), name
