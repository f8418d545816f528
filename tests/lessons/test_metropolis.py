"""The Metropolis lesson: its numbers against theory, its pictures, its page."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from app.kit import share
from app.kit.player.scene import decode
from engine.judge import overall
from engine.spec import SpecError
from lessons.metropolis import analysis, evidence, scenes
from lessons.metropolis.questions import QUESTIONS
from lessons.metropolis.spec import PRESETS, SCENARIOS, MetropolisLesson
from tests.lessons.pages import MOST_BYTES, NEVER, page, planted, says, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}


def plane(**changes) -> MetropolisLesson:
    return MetropolisLesson(part="plane", **changes)


# Spec -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("populations", {"populations": "1, 2"}),
        ("populations", {"populations": "1, two, 3"}),
        ("populations", {"populations": "1, 0, 3"}),
        ("populations", {"populations": "1, nan, 3"}),
        ("populations", {"populations": "1, inf, 3"}),
        ("first_island", {"populations": "1, 2, 3", "first_island": 4}),
        ("burn", {"draws": 500, "burn": 460}),
        ("draws", {"draws": 5000}),
        ("formula", {"target": "formula", "formula": "x +"}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        MetropolisLesson(**changes)
    assert error.value.parameter == parameter


@pytest.mark.parametrize("formula,parameter", [("x + y", "formula"), ("log(x - 50)*0 - (x-60)^2 - y^2", "start")])
def test_a_formula_that_cannot_be_sampled_says_why(formula, parameter):
    with pytest.raises(SpecError) as error:
        scenes.scene(plane(target="formula", formula=formula), None)
    assert error.value.parameter == parameter


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.id)
def test_a_link_holds_the_whole_scenario(scenario):
    raw = {name: [value] for name, value in share.encode(scenario.spec).items()}
    spec, problems = share.decode(MetropolisLesson, raw)
    assert spec == scenario.spec and not problems


# Numbers --------------------------------------------------------------------------------------------------------------


def test_the_walk_decides_as_its_numbers_say():
    walk = analysis.walk(plane(drift=0.4, scale=1.5, draws=800))
    np.testing.assert_array_equal(walk.accepted, walk.uniform < np.minimum(1, np.exp(walk.log_ratio)))
    np.testing.assert_allclose(walk.log_ratio, walk.log_proposal - walk.log_before + walk.log_hastings, atol=1e-12)
    np.testing.assert_array_equal(walk.draws, np.where(walk.accepted[:, None], walk.proposal, walk.before))
    assert 0.1 < walk.accepted.mean() < 0.9


def test_the_walk_on_the_stage_is_chain_one_of_the_run():
    spec = plane(chains=4, draws=300)
    for chain in (0, 3):
        np.testing.assert_array_equal(analysis.walk(spec, chain).draws, analysis.record(spec).draws[chain])


def test_dwell_counts_visits_in_a_row():
    accepted = np.array([0, 0, 1, 0, 0, 1, 1, 0], dtype=bool)
    assert analysis.dwell(accepted).tolist() == [1, 2, 1, 2, 3, 1, 1, 2]


def test_the_three_walks_share_their_random_numbers():
    small, middle, big = (analysis.walk(run) for run in analysis.three(BY_ID["sizes"]))
    np.testing.assert_array_equal(small.uniform, big.uniform)
    scales = [run.scale for run in analysis.three(BY_ID["sizes"])]
    z = [(w.proposal - w.before) / scale for w, scale in zip((small, middle, big), scales, strict=True)]
    np.testing.assert_allclose(z[0], z[1], atol=1e-9)
    np.testing.assert_allclose(z[1], z[2], atol=1e-9)


@pytest.mark.parametrize(
    "spec",
    [
        BY_ID["hastings"],
        BY_ID["rejections"],
        plane(variant="no_hastings", drift=-0.3, scale=1.4, target="two_modes", separation=2.0),
        plane(variant="drop_rejections", drift=0.4, scale=1.5, correlation=0.5),
    ],
)
def test_a_wrong_sampler_converges_to_what_is_predicted(spec):
    prediction, draws = analysis.predicted(spec), analysis.longer(spec, spec.seed, 2).draws
    for j in range(2):
        mean, sd = prediction.moments(j)
        assert abs(draws[:, :, j].mean() - mean) < 0.06 * sd
        assert abs(draws[:, :, j].std() / sd - 1) < 0.03
    wrong, true = prediction.moments(0), analysis.plane_of(spec).truth
    assert abs(wrong[0] - true.mean[0]) > 0.1 or abs(wrong[1] / np.sqrt(true.covariance[0, 0]) - 1) > 0.05


def test_a_new_seed_has_the_same_prediction():
    """It takes longer than the walk, and the seed is no part of it."""
    for spec in (BY_ID["hastings"], BY_ID["rejections"]):
        assert analysis.predicted(spec) is analysis.predicted(spec.replace(seed=spec.seed + 1))


def test_no_prediction_where_the_sampler_is_right_or_the_wrong_density_does_not_exist():
    assert analysis.predicted(plane(drift=0.5)) is None
    assert analysis.predicted(plane(variant="no_hastings")) is None
    heavy = plane(target="student", variant="no_hastings", drift=0.5)
    assert analysis.predicted(heavy) is None
    assert analysis.remarks(heavy) == ["no_limit"]


def test_the_ring_in_the_long_run():
    spec = MetropolisLesson(p_right=0.7)
    assert analysis.distance(analysis.long_run(spec), analysis.shares(spec)) < 1e-12
    lost = spec.replace(variant="no_hastings")
    assert analysis.distance(analysis.long_run(lost), analysis.shares(lost)) > 0.05
    visits = np.bincount(analysis.more_walkers(lost, 4, 20_000).ravel(), minlength=7) / 80_000
    assert analysis.distance(visits, analysis.long_run(lost)) < 0.02
    distances = analysis.crowd_distance(spec, 200)
    assert distances[0] > 0.5 and distances[-1] < 1e-6


def test_acceptance_and_effective_draws_fall_with_dimension():
    rows = list(analysis.dimension_sweep(plane(scale=1.0)))
    assert [row[0] for row in rows] == [1, 2, 5, 10, 20, 50]
    assert all(a[1].acceptance > b[1].acceptance for a, b in pairwise(rows))
    assert rows[-1][2].acceptance > 0.2, "the scale 2.38/√d keeps its acceptance"
    assert rows[-1][2].effective < rows[0][2].effective / 10, "and still pays for the dimension"


# Pictures -------------------------------------------------------------------------------------------------------------

LARGEST = dict(draws=3000, seed=5)
SETTINGS = [
    *BY_ID.values(),
    MetropolisLesson(populations=PRESETS["two_capitals"], variant="drop_rejections", **LARGEST),
    MetropolisLesson(populations=", ".join(["7"] * 16), p_right=0.05, variant="no_hastings", **LARGEST),
    plane(chains=4, burn=2000, **LARGEST),
    plane(chains=4, drift=1.0, variant="no_hastings", **LARGEST),
    plane(chains=4, variant="drop_rejections", scale=3.0, **LARGEST),
    plane(target="funnel", dimension=10, drift=0.5, variant="no_hastings"),
    plane(target="student", dof=0.5, scale=30.0, draws=3000),
    plane(target="ring"),
    plane(target="two_modes", separation=12.0, chains=4),
    plane(target="formula", formula="-abs(x) - y^2"),
    plane(dimension=200, draws=200),
    plane(start="at", start_x=-100.0, start_y=100.0, scale=0.01, draws=100),
    MetropolisLesson(part="triptych", target="banana", variant="drop_rejections", factor=30.0, **LARGEST),
    MetropolisLesson(part="triptych", target="formula", formula="-x^4 - y^4"),
]


@pytest.mark.parametrize("spec", SETTINGS, ids=lambda s: f"{s.part}-{s.target}-{s.variant}-{s.draws}")
def test_every_picture_encodes_and_is_light(spec):
    blob = scenes.scene(spec, None)
    assert len(blob) < MOST_BYTES
    header, _ = decode(blob)
    assert header["steps"] == spec.draws
    assert [phase["id"] for phase in header["phases"]] == ["propose", "ratio", "u", "decide"]
    assert all(panel["x"] and panel["x"]["low"] < panel["x"]["high"] for panel in header["panels"])


def test_the_ring_shows_walk_truth_and_long_run():
    spec = BY_ID["king"]
    header, arrays = decode(scenes.scene(spec, None))
    panels = {panel["id"]: panel for panel in header["panels"]}
    assert set(panels) == {"ring", "shares", "distance", "trace"}
    counts, limit = panels["shares"]["layers"]
    np.testing.assert_array_equal(arrays[counts["values"]], analysis.island_walk(spec).draws)
    np.testing.assert_allclose(arrays[counts["truth"]], np.arange(1, 8) / 28, rtol=1e-6)
    np.testing.assert_allclose(arrays[limit["points"]][:, 1], np.arange(1, 8) / 28, rtol=1e-6)
    ratio = next(line for line in header["readouts"] if line["id"] == "ratio")
    values = {name: arrays[value["array"]] for name, value in ratio["values"].items()}
    np.testing.assert_allclose(values["r"], values["there"] / values["here"] * values["back"] / values["forth"], rtol=1e-5)


def test_the_burn_in_is_left_out_of_the_histogram():
    header, _ = decode(scenes.scene(BY_ID["far"], None))
    marginal = next(panel for panel in header["panels"] if panel["id"] == "marginal-0")
    burns = sorted(layer["burn"] for layer in marginal["layers"] if layer["kind"] == "histogram")
    assert burns == [0, BY_ID["far"].burn]
    assert marginal["x"]["low"] < -11, "the journey is in view"


def test_each_rejection_adds_a_ring():
    spec = BY_ID["plane"]
    header, arrays = decode(scenes.scene(spec, None))
    rings = [
        layer
        for layer in header["panels"][0]["layers"]
        if layer["kind"] == "points" and layer["shapes"] == ["ring"] and layer["mask"] is not None
    ]
    counted = sum(int(arrays[ring["mask"]].sum()) for ring in rings)
    dwell = analysis.walk(spec).dwell
    assert counted == int(((dwell >= 2) & (dwell <= scenes.RINGS)).sum())


def test_the_card_of_a_wrong_sampler_names_what_is_left_out():
    header, _ = decode(scenes.scene(BY_ID["hastings"], None))
    words = {line["id"]: "".join(t for t in line["tokens"] if isinstance(t, str)) for line in header["readouts"]}
    assert "left out" in words["ratio"]
    header, arrays = decode(scenes.scene(BY_ID["rejections"], None))
    thrown = next(line for line in header["readouts"] if line["id"] == "thrown")
    assert arrays[thrown["values"]["k"]["array"]].sum() > 0


# Evidence -------------------------------------------------------------------------------------------------------------


HEAVY = plane(target="formula", formula="-2.3*log(1+x^2+y^2)")
SPECS = {
    **BY_ID,
    "heavy tails": HEAVY,
    "no variance": plane(target="student", dof=0.5),
    "two modes": plane(target="formula", formula="log(exp(-8*((x-4)^2+y^2))+exp(-8*((x+4)^2+y^2)))"),
    "two modes, unequal": plane(target="formula", formula="log(0.05*exp(-8*(x^2+(y-4)^2))+exp(-8*(x^2+(y+4)^2)))"),
    "ring, dropped": MetropolisLesson(variant="drop_rejections"),
    "ring, no Hastings": MetropolisLesson(variant="no_hastings", p_right=0.6),
    "nothing lost": MetropolisLesson(variant="no_hastings"),
    "small steps, dropped": plane(dimension=50, variant="drop_rejections", scale=0.2),
    "three, no Hastings": MetropolisLesson(part="triptych", variant="no_hastings", drift=0.1),
}
VERDICTS = {  # kernel, this run, numbers
    "king": ("pass", "pass", "pass"),
    "plane": ("pass", "pass", "not fail"),
    "sizes": ("pass", "not pass", "unknown"),
    "far": ("pass", "pass", "pass"),
    "hastings": ("fail", "pass", "fail"),
    "rejections": ("fail", "pass", "fail"),
    "high": ("pass", "not pass", "not fail"),
    "heavy tails": ("pass", "not fail", "not fail"),
    "no variance": ("pass", "not pass", "not fail"),
    "two modes": ("pass", "fail", "unknown"),
    "two modes, unequal": ("pass", "fail", "unknown"),
    "ring, dropped": ("fail", "pass", "fail"),
    "ring, no Hastings": ("fail", "pass", "fail"),
    "nothing lost": ("pass", "pass", "pass"),
    "small steps, dropped": ("fail", "not pass", "not pass"),
    "three, no Hastings": ("fail", "not pass", "not pass"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_the_three_signs(name):
    assert says(verdicts("metropolis", SPECS[name]), VERDICTS[name])


@pytest.mark.parametrize("name", ["king", "far"])
def test_planted_faults_turn_their_sign_red(name):
    found = planted("metropolis", SPECS[name].replace(p_right=0.6, drift=0.5))
    assert len(found) > 2 and {key: overall(checks) for key, checks in found.items()} == dict.fromkeys(found, "fail")


def test_a_lost_visit_is_counted():
    assert evidence.counting_check(analysis.walk(BY_ID["plane"])).verdict == "pass"
    assert evidence.counting_check(analysis.walk(BY_ID["rejections"])).verdict == "fail"


def test_no_exact_draws_is_unknown_not_a_pass(monkeypatch):
    monkeypatch.setattr(analysis, "kernels", lambda spec: [])
    assert [check.verdict for check in evidence.audit(BY_ID["plane"], NEVER)] == ["pass", "unknown"]


@pytest.mark.parametrize("spec", [*BY_ID.values(), MetropolisLesson(variant="drop_rejections"), plane(target="student", dof=1.5)])
def test_panels_and_diagnostics_of_every_part(spec):
    figures = evidence.panels(spec, NEVER)
    assert figures and all(figure.alt for figure in figures)
    table = evidence.diagnose(spec, NEVER)
    assert "ESS" in " ".join(table.columns) and table.caption


# Story and questions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
def test_the_run_answers_the_question(question):
    spec = BY_ID[question.scenario]
    answer = question.answer(spec)
    if question.draw is None:
        assert answer == {"king": 2, "sizes": 1, "high": 2}[question.id]
    else:
        heights, over = np.array(answer), np.array(question.draw.over)
        mean = heights @ over / heights.sum()
        sd = np.sqrt(heights @ (over - mean) ** 2 / heights.sum())
        assert mean == pytest.approx({"hastings": 1.0, "rejections": 0.0}[question.id], abs=0.1)
        assert sd > {"hastings": 0.9, "rejections": 1.1}[question.id]
    assert question.explain(spec)


# The page -------------------------------------------------------------------------------------------------------------


def test_the_part_decides_which_controls_there_are():
    test = page("metropolis")
    assert [box.label for box in test.text_input] == ["People on each island"]
    test = page("metropolis", scenario="sizes")
    assert any(slider.label.startswith("Small and big") for slider in test.select_slider)
    test = page("metropolis", part="plane", target="formula")
    assert [box.label for box in test.text_input] == ["log density in x and y"]


def test_a_formula_that_is_no_density_says_so_on_the_page():
    test = page("metropolis", part="plane", target="formula", formula="x+y")
    assert not test.exception
    assert any("no probability density" in error.value for error in test.error)


def test_wrong_populations_stay_in_the_box_with_their_reason():
    test = page("metropolis")
    test.text_input[0].set_value("1, 2, many").run()
    assert any("many" in error.value for error in test.error)
    assert test.text_input[0].value == "1, 2, many"
