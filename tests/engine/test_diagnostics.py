"""Diagnostics of draws."""

from __future__ import annotations

import numpy as np
import pytest
from arviz_stats.base import array_stats

from engine import diagnostics, ticket
from engine.diagnostics import autocorrelation, jackknife, split_rhat, summarise


def test_leaving_out_one_chain_gives_the_error_of_a_mean():
    values = np.random.Generator(np.random.SFC64(1)).standard_normal(12)
    mean, error = jackknife(lambda chains: float(values[chains].mean()), 12)
    assert mean == pytest.approx(values.mean()) and error == pytest.approx(values.std(ddof=1) / np.sqrt(12))


@pytest.mark.parametrize("shape", [(4, 100, 3), (2, 1001, 1), (1, 60, 2), (3, 9, 1)])
def test_r_hat_is_the_one_of_arviz(shape):
    random = np.random.default_rng(1)
    stuck = np.where(np.arange(shape[1])[:, None] < shape[1] // 2, 0.0, random.standard_normal(shape))
    for draws in (random.standard_cauchy(shape), random.integers(0, 3, shape).astype(float), random.exponential(1, shape) ** 4, stuck):
        halves = draws if shape[0] > 1 else np.concatenate([draws[:, : shape[1] // 2], draws[:, shape[1] // 2 :]])
        expected = array_stats.rhat(halves, chain_axis=0, draw_axis=1)
        assert np.array_equal(diagnostics.summarise(draws).rhat, expected)
        assert [diagnostics.rhat(draws[:, :, j]) for j in range(shape[2])] == expected.tolist()


@pytest.mark.parametrize("chains", [1, 2, 4, 9])
def test_the_effective_sizes_are_those_of_arviz(chains: int):
    """What is computed once here and again and again there: slow, antithetic, two-valued, stuck, and with a number missing."""
    noise = np.random.default_rng(chains).normal(size=(chains, 301))
    missing, stuck = noise.copy(), np.repeat(noise[:, :1], 301, axis=1)
    missing[0, 100] = np.nan
    draws = np.stack([noise, noise.cumsum(axis=1), 0.9 * np.roll(noise, 1, 1) - noise, np.sign(noise), stuck, missing], axis=2)
    found, axes = summarise(draws), {"chain_axis": 0, "draw_axis": 1}
    with np.errstate(all="ignore"):
        assert found.ess_bulk == pytest.approx(array_stats.ess(draws, **axes), rel=1e-12, nan_ok=True)
        assert found.ess_tail == pytest.approx(array_stats.ess(draws, method="tail", prob=(0.05, 0.95), **axes), rel=1e-12, nan_ok=True)
        assert found.mcse_mean == pytest.approx(array_stats.mcse(draws, **axes), rel=1e-12, nan_ok=True)
    assert np.isnan(found.ess_bulk[-1]) and np.isfinite(found.ess_bulk[:4]).all()


def test_few_draws_are_not_shared_among_cores(monkeypatch: pytest.MonkeyPatch):
    """Two threads, of which each waits for Python's lock, are slower than one."""
    shared, each = [], ticket.each
    monkeypatch.setattr(ticket, "each", lambda *arguments: shared.append(1) or each(*arguments))
    random = np.random.default_rng(0)
    summarise(random.normal(size=(4, 1000, 5)))
    assert not shared
    summarise(random.normal(size=(4, 2000, 5)))
    assert shared


def test_split_rhat_is_that_of_the_definition():
    values = np.random.default_rng(1).normal(size=(3, 51, 2)).cumsum(axis=1)
    halves = [half for chain in values[..., 0] for half in (chain[:25], chain[25:50])]
    within = np.mean([np.var(half, ddof=1) for half in halves])
    between = np.var([np.mean(half) for half in halves], ddof=1)
    assert split_rhat(values)[0] == pytest.approx(np.sqrt((24 / 25 * within + between) / within))


def test_a_summary_of_many_draws_looks_up_often_and_takes_each_quantity_for_itself():
    draws = np.random.default_rng(2).normal(size=(4, 5000, 6)).cumsum(axis=1)
    looks = []

    class Counting:
        def is_set(self) -> bool:
            looks.append(1)
            return False

    with ticket.holding(Counting()):  # type: ignore[arg-type]
        whole = summarise(draws)
    alone = summarise(draws[:, :, 5:])
    assert len(looks) >= 6 * (1 + 2 + 4), "of each quantity first, and before two rankings and four transforms of 20,000 values"
    for name in ("rhat", "ess_bulk", "ess_tail", "mcse_mean"):
        assert getattr(whole, name)[5] == getattr(alone, name)[0]


def test_autocorrelation_is_that_of_the_definition():
    values = np.random.default_rng(3).normal(size=(2, 300)).cumsum(axis=1)
    centred = values - values.mean(axis=1, keepdims=True)
    found = autocorrelation(values, 20)
    for lag in (0, 1, 20):
        direct = (centred[:, lag:] * centred[:, : 300 - lag]).sum(axis=1) / (centred**2).sum(axis=1)
        assert np.allclose(found[:, lag], direct)
    assert np.isnan(autocorrelation(np.ones((2, 50)), 5)).all()


def test_autocorrelation_of_a_known_process():
    rng = np.random.default_rng(0)
    x = np.zeros(20_000)
    for t in range(1, len(x)):
        x[t] = 0.8 * x[t - 1] + rng.normal()
    np.testing.assert_allclose(autocorrelation(x[None], 5)[0], 0.8 ** np.arange(6), atol=0.05)
    two = np.stack([x[:10_000], x[10_000:]])
    np.testing.assert_allclose(autocorrelation(two, 5, pooled=True), 0.8 ** np.arange(6), atol=0.05)
    assert np.isnan(autocorrelation(np.ones((2, 50)), 3, pooled=True)).all()
