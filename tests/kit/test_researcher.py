"""The researcher's card: it points at a wrong model, and passes a right one."""

from __future__ import annotations

import numpy as np

from app.kit.charts import Figure, Table
from app.kit.researcher import card, classes_card
from engine.leave_one_out import normal_log_density
from engine.predicted import Predicted, classes


def told(sd: float) -> tuple[str, float]:
    """What the picture says of data with sd 1 where the model takes `sd`, and the elpd."""
    rng = np.random.Generator(np.random.SFC64(3))
    y = rng.normal(0.0, 1.0, 60)
    mean = rng.normal(y.mean(), sd / np.sqrt(60), (4, 500, 1))
    replicated = rng.normal(mean.reshape(-1, 1)[:800], sd, (800, 60))
    made = card(Predicted(y, np.asarray(normal_log_density(y, mean, sd)), replicated[None]))
    (elpd,) = [item.columns["elpd (nats)"][0] for item in made if isinstance(item, Table) and "estimate" in item.columns]
    (picture,) = [item for item in made if isinstance(item, Figure) and item.title == "Data drawn from the model"]
    return picture.caption, elpd


def test_a_right_model_passes_and_a_wrong_noise_is_pointed_at():
    (right, best), (wrong, worse) = told(1.0), told(1.0 / 3.0)
    assert "the model makes data like these" in right and "the model does not make data like these" in wrong
    assert best > worse + 20


def test_classes_count_what_is_guessed_right():
    p = np.full((2, 100, 10), 0.9)
    good, bad = (classes_card(classes(np.full(10, label), p, seed=1)) for label in (1, 0))
    assert "makes" in next(item.caption for item in good if "drawn" in item.title)
    assert "does not make" in next(item.caption for item in bad if "drawn" in item.title)


def test_a_run_that_fell_to_pieces_gets_a_sentence():
    (said,) = card(Predicted(np.zeros(5), np.full((2, 10, 5), np.nan), np.zeros((2, 10, 5))))
    assert isinstance(said, Table) and "fallen to pieces" in said.markdown()


def test_where_nothing_was_observed_there_is_no_card():
    nothing = classes(np.empty(0), np.empty((2, 50, 0)), seed=1)
    assert card(nothing) == classes_card(nothing) == []
