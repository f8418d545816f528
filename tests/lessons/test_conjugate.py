"""The conjugate lesson: its numbers against the formulas, its pictures, its page."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from app.kit.player.scene import decode
from engine.conjugate import PAIRS, BetaBernoulli
from engine.judge import overall
from engine.spec import SpecError
from lessons.conjugate import analysis, drawing, panels, questions, scenes
from lessons.conjugate.pairs import TERMS, coin_formula
from lessons.conjugate.spec import DATA, MAX_DATA, SCENARIOS, ConjugateLesson, at_plane, in_plane, read
from tests.lessons.pages import MOST_BYTES, NEVER, page, planted, says, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}


# Spec -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "changes"),
    [
        ("alpha", {"alpha": 0.0}),
        ("alpha", {"alpha": math.nan}),
        ("beta", {"beta": -1.0}),
        ("flips", {"flips": ""}),
        ("flips", {"flips": "1 0 2"}),
        ("flips", {"flips": "nan"}),
        ("flips", {"flips": "1*999999999999"}),
        ("flips", {"flips": "1 x"}),
        ("counts", {"pair": "poisson", "counts": "3 -1"}),
        ("counts", {"pair": "poisson", "counts": "0.5"}),
        ("waits", {"pair": "exponential", "waits": "-2"}),
        ("values", {"pair": "mean", "values": "inf"}),
        ("values", {"pair": "both", "values": " , "}),
        ("kinds", {"pair": "categorical", "kinds": "1 4"}),
        ("a2", {"pair": "categorical", "a2": 0.0}),
        ("rival_1", {"rival_1": -3.0}),
        ("rival_2", {"pair": "mean", "rival_2": 0.0}),
        ("mistake", {"mistake": "typo"}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        ConjugateLesson(**changes)
    assert error.value.parameter == parameter


def test_data_are_read_as_people_write_them():
    assert read("flips", "H, t;1  0*3").tolist() == [1, 0, 1, 0, 0, 0]
    assert read("values", "-1.5e2 +2").tolist() == [-150, 2]
    assert len(read("flips", f"1*{MAX_DATA}")) == MAX_DATA
    with pytest.raises(SpecError, match="301 observations"):
        read("flips", f"0 1*{MAX_DATA}")


def test_every_pair_has_a_scenario():
    assert set(TERMS) == set(PAIRS) == {spec.pair for spec in BY_ID.values()}


@pytest.mark.parametrize("pair", PAIRS)
def test_the_plane_of_imagined_data_holds_the_prior(pair):
    prior = ConjugateLesson(pair=pair).prior()
    there = at_plane(prior, in_plane(prior))
    assert in_plane(there) == pytest.approx(in_plane(prior), rel=1e-12)


# Analysis -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", PAIRS)
def test_data_one_by_one(pair):
    here = analysis.course(ConjugateLesson(pair=pair))
    assert len(here.exact) == len(here.x) + 1 and here.exact[0] == here.prior
    assert here.log_evidence[-1] == pytest.approx(here.prior.log_evidence(here.x), abs=1e-9)
    likelihood = here.best[-1]
    if pair not in ("both", "categorical"):
        near = likelihood * np.array([[0.99], [1.0], [1.01]])
        values = here.prior.log_likelihoods(near, here.x).sum(axis=1)
        assert values[1] > max(values[0], values[2]), "the maximum likelihood estimate is one"


def test_prior_times_likelihood_is_the_posterior_on_screen():
    for pair in PAIRS:
        for newest in (False, True):
            here = analysis.course(ConjugateLesson(pair=pair))
            at = scenes._axis(here)
            curves = scenes.densities(here.exact, 0, at)
            before = curves[-2] if newest else curves[0]
            product = before * scenes.likelihoods(here, at, newest=newest)[-1]
            seen = curves[-1] > 1e-6 * curves[-1].max()
            ratio = (product / curves[-1])[seen]
            assert ratio == pytest.approx(np.full(seen.sum(), ratio[0]), rel=1e-6), (pair, newest)


def test_the_coin_formula_is_the_flat_posterior():
    for heads, tails in ((0, 0), (3, 1), (13, 7)):
        exact = BetaBernoulli(1.0 + heads, 1.0 + tails).marginal(0, [0.37])[0]
        assert coin_formula(np.array(float(heads)), np.array(float(tails)), 0.37) == pytest.approx(exact)


def test_beliefs_know_nothing_of_a_seed():
    spec = BY_ID["vague"]
    here, other = analysis.course(spec), analysis.course(spec.replace(seed=spec.seed + 1))
    assert other.exact is here.exact and other.spec.seed == spec.seed + 1


def test_a_fair_coin_has_its_p_value_and_its_bayes_factor():
    here = analysis.course(ConjugateLesson(pair="bernoulli", alpha=1.0, beta=1.0))
    p, factor = here.fair
    n, heads = len(here.x), int(here.x.sum())
    assert p[0] == factor[0] == 1.0
    assert p[-1] == pytest.approx(stats.binomtest(heads, n).pvalue, rel=1e-9)
    assert factor[-1] == pytest.approx((n + 1) * math.comb(n, heads) / 2.0**n, rel=1e-9), "a flat prior predicts all counts alike"


def test_a_narrow_prior_meets_a_conflict_and_a_vague_one_does_not():
    assert analysis.conflict(BY_ID["narrow"]).share < 0.001 < 0.05 < analysis.conflict(BY_ID["vague"]).share
    narrow, vague = (analysis.course(BY_ID[name]).exact[-1] for name in ("narrow", "vague"))
    assert 4.4 < narrow.m < 4.6 and abs(vague.m - analysis.course(BY_ID["vague"]).x.mean()) < 0.001
    for name in ("narrow", "vague"):
        found, _ = analysis.summary(BY_ID[name])
        assert found.mean[0] == pytest.approx(analysis.course(BY_ID[name]).exact[-1].m, abs=5 * found.mcse_mean[0])


@pytest.mark.parametrize("pair", PAIRS)
def test_the_width_of_the_prior(pair):
    found = analysis.widths(ConjugateLesson(pair=pair))
    inside = (found.low < found.mean) & (found.mean < found.high)
    assert inside.all() and len(found.factor) == 41


# Checks ---------------------------------------------------------------------------------------------------------------


VERDICTS = {  # kernel, this run, numbers
    **{name: ("pass", "pass", "pass") for name, spec in BY_ID.items() if spec.mistake == "none"},
    "twice": ("fail", "pass", "fail"),
    "rate": ("fail", "pass", "fail"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_the_three_signs(name):
    assert says(verdicts("conjugate", BY_ID[name]), VERDICTS[name])


@pytest.mark.parametrize("name", ["coin", "counts", "waits", "narrow", "spread", "both", "kinds"])
def test_planted_faults_turn_their_sign_red(name):
    found = planted("conjugate", BY_ID[name])
    assert len(found) > 2 and {key: overall(checks) for key, checks in found.items()} == dict.fromkeys(found, "fail")


@pytest.mark.parametrize(
    ("pair", "mistake"),
    [
        *((pair, "twice") for pair in PAIRS),
        *((pair, "miscount") for pair in PAIRS),
        *((pair, "scale") for pair in ("poisson", "exponential", "precision", "both")),
    ],
)
def test_mistakes_are_seen_by_quadrature_too(pair, mistake):
    spec = ConjugateLesson(pair=pair, mistake=mistake)
    found = {check.name: check.verdict for check in [*analysis.audit(spec, NEVER), *analysis.checks(spec, NEVER)]}
    assert found["posterior"] == found["predictive"] == "fail" and found["evidence"] == "pass"
    if mistake != "twice":
        assert found["sequence"] == ("fail" if mistake == "scale" else found["sequence"])
    assert found["exact answer"] == "pass", "the chain knows nothing of the formula"


def test_a_wrong_evidence_is_seen(monkeypatch):
    monkeypatch.setattr(BetaBernoulli, "log_evidence", lambda self, x: 0.1 - 14.0)
    found = {check.name: check.verdict for check in analysis.audit(BY_ID["coin"], NEVER)}
    assert found["evidence"] == "fail"


def test_a_mistake_that_cannot_be_made_changes_nothing():
    assert not analysis.course(ConjugateLesson(mistake="scale")).wrong


# Scenes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", ["next", "evidence", "estimate"])
@pytest.mark.parametrize("pair", PAIRS)
def test_scenes_encode_and_are_small(pair, view):
    for changes in ({}, {"likelihood": "newest"}, {"play": "walk", "draws": 300}, {"unknown": 2}, {"mistake": "twice"}):
        spec = ConjugateLesson(pair=pair, view=view, **changes)
        header, _ = decode(blob := scenes.scene(spec))
        assert len(blob) < MOST_BYTES and len(header["panels"]) == 4


@pytest.mark.parametrize("name", BY_ID)
def test_scenarios_are_small(name):
    assert len(scenes.scene(BY_ID[name])) < MOST_BYTES


def test_one_observation_can_be_shown():
    for pair, field in DATA.items():
        for value in ("1", "0" if pair in ("bernoulli", "poisson", "exponential") else "1"):
            spec = ConjugateLesson(pair=pair, **{field: value})
            scenes.scene(spec), scenes.scene(spec.replace(view="estimate", likelihood="newest"))
            panels.panels(spec, NEVER)


def test_the_place_is_kept_while_the_prior_is_dragged_and_not_when_data_change():
    heads = [decode(scenes.scene(ConjugateLesson(**c)))[0]["run"] for c in ({}, {"alpha": 2.0}, {"flips": "1 0"})]
    assert heads[0] == heads[1] != heads[2]


@pytest.mark.parametrize("pair", PAIRS)
def test_the_arithmetic_adds_up(pair):
    spec = ConjugateLesson(pair=pair)
    here = analysis.course(spec)
    header, arrays = decode(scenes.scene(spec))
    lines = {line["id"]: {k: arrays[v["array"]] for k, v in line["values"].items()} for line in header["readouts"]}
    update, last = lines["update"], here.exact[-1]
    if pair in ("mean", "both"):
        assert update["c"][-1] == pytest.approx(last.m, rel=1e-5)
    elif pair == "categorical":
        assert [update[f"d{k}"][-1] for k in range(3)] == pytest.approx(last.a)
    else:
        assert (update["c"][-1], update["d"][-1]) == pytest.approx((last.alpha, last.beta), rel=1e-6)
    factor = lines["evidence"]
    assert np.exp(factor["a"] - factor["b"])[-1] == pytest.approx(factor["f"][-1], rel=1e-3)


# What the reader does -------------------------------------------------------------------------------------------------


def test_dragging_moves_prior_and_rival():
    event = {"kind": "points", "panel": "plane", "points": [[3.0, 9.0, 0], [0.0, 2.0, 1]]}
    moved = drawing.on_event(ConjugateLesson(), event)
    assert (moved.alpha, moved.beta, moved.rival_1, moved.rival_2) == (3.0, 9.0, 0.5, 2.0)
    mean = drawing.on_event(ConjugateLesson(pair="mean", sigma=2.0), {**event, "points": [[1.5, 4.0, 0]]})
    assert (mean.m, mean.s) == (1.5, 1.0)
    assert drawing.on_event(ConjugateLesson(), {**event, "points": []}) == ConjugateLesson()


def test_clicked_data_are_snapped_and_kept_in_order():
    event = {"kind": "points", "panel": "data", "points": [[2.0, 0.8, 0], [1.0, 0.1, 0], [9.9, 1.2, 0]]}
    assert drawing.on_event(ConjugateLesson(), event).flips == "0 1 1"
    assert drawing.on_event(ConjugateLesson(pair="poisson"), event).counts == "0 1 1"
    with pytest.raises(SpecError) as error:
        drawing.on_event(ConjugateLesson(), {**event, "points": []})
    assert error.value.parameter == "flips"


@pytest.mark.parametrize("pair", PAIRS)
def test_more_data_are_drawn(pair):
    spec = ConjugateLesson(pair=pair)
    longer = spec.replace(**drawing.more(spec, 10))
    before, after = spec.observations(), longer.observations()
    assert len(after) == len(before) + 10 and after[: len(before)] == pytest.approx(before)
    assert drawing.more(spec, 10) == drawing.more(spec, 10)
    with pytest.raises(SpecError, match="more than the 300"):
        drawing.more(spec, MAX_DATA)


# Panels and questions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", PAIRS)
def test_panels_and_diagnostics_say_what_they_show(pair):
    spec = ConjugateLesson(pair=pair, draws=500)
    figures = panels.panels(spec, NEVER)
    assert len(figures) == 2 and all(figure.alt and figure.caption for figure in figures)
    table = panels.diagnostics(spec, NEVER)
    assert table.columns["unknown"] == list(spec.prior().unknowns) and "evaluations" in table.caption


@pytest.mark.parametrize(("question", "right"), [("better", 0), ("order", 0), ("twice", 1)])
def test_the_runs_answer_as_the_story_says(question, right):
    asked = next(q for q in questions.QUESTIONS if q.id == question)
    spec = BY_ID[asked.scenario]
    assert asked.answer(spec) == right
    assert any(character.isdigit() for character in asked.explain(spec))


def test_prior_and_data_meet_in_the_middle():
    asked = next(q for q in questions.QUESTIONS if q.id == "pull")
    low, high = asked.answer(BY_ID["narrow"])
    assert 4.0 < low < 4.5 < high < 5.0 and high - low == pytest.approx(2 * 1.96 / math.sqrt(200), rel=1e-3)


# Page -----------------------------------------------------------------------------------------------------------------


def test_typing_and_flipping():
    app = page("conjugate")
    app.text_input(key="conjugate/flips/text").set_value("H H T").run()
    assert app.session_state["visit/conjugate"].spec.flips == "H H T"
    app.button(key="conjugate/heads").click().run()
    assert app.session_state["visit/conjugate"].spec.flips == "1 1 0 1"
    app.text_input(key="conjugate/flips/text").set_value("").run()
    assert not app.exception and "empty" in app.error[0].value
    assert app.session_state["visit/conjugate"].spec.flips == "1 1 0 1", "the last good data stay"


def test_a_wrong_link_is_named_and_the_page_still_works():
    app = page("conjugate", v="1", alpha="0", flips="", mistake="magic")
    text = " ".join(warning.value for warning in app.warning)
    assert "alpha" in text and "flips" in text and "mistake" in text
    assert not app.exception
