"""Single rows of data: sizes, distributions, seeds, cards, bad parameters."""

from __future__ import annotations

import numpy as np
import pytest

from datasets import coin, counts, kinds, measurements, waiting_times
from engine.spec import SpecError


def test_horse_kicks_are_the_published_ones():
    data = counts()
    assert np.bincount(data.x.astype(int)).tolist() == [109, 65, 22, 3, 1]
    assert data.x.sum() == 122 and "Bortkiewicz" in data.card.source and data.card.licence == "public domain"
    assert sorted(counts(1).x) == sorted(counts(2).x) and not np.array_equal(counts(1).x, counts(2).x)


@pytest.mark.parametrize(
    ("x", "mean", "sd"),
    [
        (coin(40_000, 0.3).x, 0.3, np.sqrt(0.21)),
        (waiting_times(40_000, 0.5).x, 2.0, 2.0),
        (measurements(40_000, 5.0, 1.5).x, 5.0, 1.5),
        (kinds(40_000, (0.5, 0.3, 0.2)).x, 1.7, np.sqrt(0.61)),
    ],
)
def test_means(x, mean, sd):
    assert abs(x.mean() - mean) < 4 * sd / np.sqrt(len(x)) and abs(x.std() / sd - 1) < 0.03


def test_cards_name_seed_and_units():
    for data in (coin(seed=7), waiting_times(seed=7), measurements(seed=7), kinds(seed=7)):
        assert "seed 7" in data.card.source and data.card.units and data.card.licence
    assert measurements().x.shape == (100,)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: coin(-1), "n"),
        (lambda: coin(5, 1.2), "p"),
        (lambda: coin(5, float("nan")), "p"),
        (lambda: waiting_times(5, 0.0), "rate"),
        (lambda: measurements(5, 0.0, float("inf")), "sd"),
        (lambda: kinds(5, (0.5, 0.4)), "shares"),
        (lambda: kinds(5, (1.5, -0.5)), "shares"),
    ],
)
def test_a_bad_parameter_is_named(call, name):
    with pytest.raises(SpecError) as caught:
        call()
    assert caught.value.parameter == name
