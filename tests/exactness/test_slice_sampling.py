"""Is slice sampling exact, however the interval is found and limited, and is every mistake seen? The books of its
decisions, and how the interval and the points are drawn.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats

import engine
from engine import judge, targets
from engine.judge import audit
from engine.samplers import SliceSampling
from engine.samplers.slice_sampling import GIVEN_UP, GROWN, OUTSIDE, PLACED, RECORDED, REFUSED, TAKEN
from tests.exactness.test_samplers import FAMILIES, balance_z, flows

W = {"gaussian": 1.5, "gaussian 10-d": 1.5, "banana": 1.5, "ring": 2.0, "student": 2.0, "formula": 1.5}
TWO_WIDTHS = targets.TargetSpec(  # a wide mode and a narrow one: doubling from the two finds different intervals
    target="formula", formula="log(exp(-(x+3)^2/2-y^2/2) + exp(-8*(x-2)^2-y^2/2))"
)
WIDE = ("stepping out", "doubling", "hyperrectangle")  # enough to cross from one to the other
FORMS = {
    "stepping out": {},
    "stepping out, limited": {"w": 0.8, "limit": 3},
    "doubling": {"interval": "doubling"},
    "doubling, limited": {"interval": "doubling", "w": 0.8, "limit": 4},
    "hyperrectangle": {"interval": "hyperrectangle", "w": 4.0},
}


def run(name, draws, **settings):
    target = TWO_WIDTHS.build_target() if name == "two widths" else FAMILIES[name].build_target()
    return engine.sample(target, "slice_sampling", chains=4, draws=draws, warmup=500, seed=31, **{"w": W.get(name, 1.0), **settings})


def judged(recording, truth=None, thin=5):
    target = recording.run.target
    return judge.truth_check(recording.draws[:, ::thin], truth or target.truth, target.labels)


@pytest.mark.parametrize(
    "name,form",
    [
        *((name, form) for name in W for form in ("stepping out", "doubling")),
        *(("gaussian", form) for form in FORMS),
        *(("two widths", form) for form in WIDE),
    ],
)
def test_moments(name, form):
    check = judged(run(name, 150_000, **FORMS[form]))
    assert check.verdict == "pass", check.sentence


def test_a_bias_of_one_per_cent_is_caught():
    recording = run("gaussian", 400_000)
    truth = recording.run.target.truth
    off = dataclasses.replace(truth, covariance=truth.covariance * 1.01**2)
    assert judged(recording, off).verdict == "fail"


MUTANTS = [
    *(("gaussian", form, "wrong_end") for form in FORMS),
    ("two widths", "doubling", "no_test"),
    ("gaussian", "stepping out, limited", "fixed_side"),
    ("gaussian", "doubling, limited", "fixed_side"),
    ("gaussian", "stepping out", "fixed_side"),
]


@pytest.mark.parametrize("name,form,variant", MUTANTS)
def test_mutants_are_caught(name, form, variant):
    check = judged(run(name, 150_000, variant=variant, **FORMS[form]))
    assert check.verdict == "fail", check.sentence


@pytest.mark.parametrize("form", FORMS)
def test_detailed_balance_on_a_grid(form):
    """Of a sweep in one dimension: of several coordinates in order the whole is not reversible."""
    target = targets.build("gaussian") if form == "hyperrectangle" else targets.dense_gaussian([0.0], [[1.0]])
    settings = {"w": 1.5, **FORMS[form]}
    recording = engine.sample(target, "slice_sampling", chains=4, draws=200_000, seed=5, **settings)
    assert balance_z(flows(recording, np.array([-1.2, -0.5, 0.0, 0.4, 1.1]))) < 4


@pytest.mark.parametrize("family,form", [("banana", form) for form in FORMS])
def test_invariance_from_exact_draws(family, form):
    kernel = judge.TransitionKernel(judge.Known(FAMILIES[family].build_target()), SliceSampling(**{"w": 1.0, **FORMS[form]}))
    found = judge.proofs(kernel, seed=7)
    assert judge.overall(found) == "pass", [check.sentence for check in found]
    for fault in kernel.faults:
        assert judge.overall(judge.proofs(kernel.planted(fault), seed=8)) != "pass", fault


def test_without_gaps_the_test_after_doubling_decides_nothing():
    kernel = judge.TransitionKernel(judge.Known(targets.build("gaussian")), SliceSampling(1.0, "doubling"))
    found = judge.proofs(kernel.planted("no_test"), seed=3)
    assert judge.overall(found) == "unknown" and "no slice has a gap" in found[0].sentence
    settings = {"chains": 1, "draws": 500, "seed": 1, "interval": "doubling"}
    same = [engine.sample(kernel.model.aim, "slice_sampling", variant=v, **settings) for v in ("exact", "no_test")]
    assert same[0].draws.tobytes() == same[1].draws.tobytes()
    assert same[0].gradient_evaluations.sum() > 1.2 * same[1].gradient_evaluations.sum()


# The inside -----------------------------------------------------------------------------------------------------------


def books(recording, **changes):
    """Errors of the audit over the transitions of chain 1."""
    inside = recording.transitions._replace(**changes)
    before = np.vstack([recording.start[:1], recording.draws[0, :-1]])
    method, target = recording.run.method, recording.run.target
    return [
        error
        for t, (x, y) in enumerate(zip(before, recording.draws[0], strict=True))
        for error in audit.slice_sampling(target, method, x, y, type(inside)(*(array[0, t] for array in inside)))
    ]


def detailed(name, form, draws=300, **settings):
    target = TWO_WIDTHS.build_target() if name == "two widths" else FAMILIES[name].build_target()
    return engine.sample(
        target, "slice_sampling", chains=1, draws=draws, seed=4, detail="transitions", **{"w": 1.0, **FORMS[form], **settings}
    )


@pytest.mark.parametrize("name", ["banana", "two widths"])
@pytest.mark.parametrize("form", FORMS)
def test_every_event_is_worked_out_again(name, form):
    recording = detailed(name, form)
    errors = books(recording)
    assert len(errors) > 1000 and max(errors) < 1e-9
    inside = recording.transitions
    np.testing.assert_array_equal(inside.events, (inside.kind >= 0).sum(axis=2))
    kinds = inside.kind[0]
    updates = 1 if form == "hyperrectangle" else 2
    assert np.sum(kinds == TAKEN) == updates * 300 and not np.any(kinds == GIVEN_UP)
    if name == "two widths" and form == "doubling":
        assert np.any(kinds == REFUSED)


@pytest.mark.parametrize(
    "form,variant",
    [("stepping out", "wrong_end"), ("stepping out", "fixed_side"), ("doubling", "no_test"), ("hyperrectangle", "wrong_end")],
)
def test_the_books_of_a_mutant_do_not_balance(form, variant):
    assert max(books(detailed("two widths", form, variant=variant))) > 0.01


@pytest.mark.parametrize("name", ["log_level", "offset", "low", "high", "point"])
def test_the_books_see_each_number(name):
    recording = detailed("banana", "stepping out", 50)
    assert max(books(recording, **{name: getattr(recording.transitions, name) + 0.01})) > 1e-4


def test_evaluations_are_counted():
    recording = detailed("banana", "stepping out")
    kind = recording.transitions.kind[0]
    each = {PLACED: 2, GROWN: 1, OUTSIDE: 1, TAKEN: 1}
    np.testing.assert_array_equal(
        sum(cost * (kind == event).sum(axis=1) for event, cost in each.items()), recording.gradient_evaluations[0]
    )


def test_what_does_not_fit_is_counted_and_ends_are_kept():
    target = targets.build("gaussian", dimension=2, correlation=0.0)
    recording = engine.sample(target, "slice_sampling", chains=1, draws=40, seed=1, w=0.01, limit=1000, detail="transitions")
    inside = recording.transitions
    events, room = inside.events[0], 2 * RECORDED
    lost = events > (inside.kind[0] >= 0).sum(axis=1)
    assert lost[events > room].all() and (events > room).sum() > 20
    assert not lost[events <= room - 8].any(), "beginnings and ends have 4 places a coordinate to themselves"
    assert np.all((inside.kind[0] == PLACED).sum(axis=1) == 2) and np.all((inside.kind[0] == TAKEN).sum(axis=1) == 2)
    errors = books(recording)
    assert bool(errors) == (not lost.all()) and max(errors, default=0.0) < 1e-9, "audited is what is whole"


def test_the_slice_is_drawn_uniformly():
    """On one mode, from anywhere: the height is uniform below the density and the point uniform in its slice."""
    recording = engine.sample(
        targets.dense_gaussian([0.0], [[1.0]]), "slice_sampling", chains=1, draws=20_000, seed=6, detail="transitions"
    )
    inside, draws = recording.transitions, recording.draws[0, :, 0]
    half = np.sqrt(-2 * (inside.log_level[0, :, 0] + 0.5 * np.log(2 * np.pi)))
    assert stats.kstest(inside.uniform[0, :, 0], "uniform").pvalue > 1e-4
    assert stats.kstest(draws / half, "uniform", (-1, 2)).pvalue > 1e-4
    assert stats.kstest(inside.offset[0, :, 0], "uniform").pvalue > 1e-4


def test_an_interval_keeps_its_limit():
    for form, most in (("stepping out, limited", 3), ("doubling, limited", 4)):
        inside = detailed("gaussian", form).transitions
        widths = (inside.high - inside.low)[inside.kind >= 0].max(axis=-1) / 0.8
        assert most - 0.5 < widths.max() < most + 1e-9


@pytest.mark.parametrize(
    "parameter,settings", [("w", {"w": 0.0}), ("interval", {"interval": "halving"}), ("limit", {"limit": 0}), ("variant", {"variant": "?"})]
)
def test_a_wrong_setting_is_named(parameter, settings):
    with pytest.raises(engine.SpecError) as error:
        engine.sample(targets.build("gaussian"), "slice_sampling", chains=1, draws=1, **settings)
    assert error.value.parameter == parameter
