"""With NUTS replaced by a wrong variant everywhere, no page that samples a network by it calls its kernel right."""

from __future__ import annotations

import dataclasses

import pytest

from engine.samplers.nuts import Nuts
from lessons.priors.spec import PriorsLesson
from lessons.real_data.spec import RealDataSpec
from lessons.regression.spec import RegressionLesson
from lessons.weight_space.spec import WeightSpaceSpec
from lessons.xor_methods.spec import MethodsSpec
from tests.lessons.pages import verdicts

SEED = 424_242  # no other test has filled a cache with right chains of it
PAGES = {
    "regression": RegressionLesson(seed=SEED),
    "weight-space": WeightSpaceSpec(seed=SEED),
    "priors": PriorsLesson(seed=SEED),
    "real-data": RealDataSpec(seed=SEED, draws=50),
    "xor-methods": MethodsSpec(seed=SEED, method="nuts", compare="hmc"),
}


@pytest.mark.parametrize("slug", PAGES)
def test_a_wrong_nuts_is_red(slug, monkeypatch):
    right = Nuts.prepare
    monkeypatch.setattr(Nuts, "prepare", lambda self, target: right(dataclasses.replace(self, variant="aliased_momentum"), target))
    assert verdicts(slug, PAGES[slug])[0] == "fail"
