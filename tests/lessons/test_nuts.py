"""The NUTS lesson: its trees against their definition, its checks against kernels that are wrong, its page."""

from __future__ import annotations

import numpy as np
import pytest

from app.kit.player.scene import decode
from engine import sample
from engine.judge import mean_check, overall
from engine.judge.audit import turn_products, turns
from engine.samplers import trees
from engine.samplers.nuts import TOO_DEEP, TURNED_INSIDE
from engine.spec import SpecError
from engine.targets import funnel
from engine.targets.target import Target
from lessons.nuts import analysis, panels, questions, scenes
from lessons.nuts.spec import ALIASED, CURE, DOUBLING, FIGURE, FORMS, FUNNEL, PACES, RAVINE, SCENARIOS, SHALLOW, VIEWS, NutsLesson
from tests.lessons.pages import MOST_BYTES, NEVER, page, planted, says, verdicts

BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}


# Spec -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("draws", {"draws": 1501}),
        ("dimension", {"dimension": 3}),
        ("view", {"view": "sideways"}),
        ("pace", {"pace": "hours"}),
        ("max_depth", {"max_depth": 0}),
        ("formula", {"target": "formula", "formula": "x +"}),
        ("formula", {"target": "formula", "formula": "x + y"}),
        ("mass", {"mass": "diagonal"}),
        ("mass", {"target": "student", "dof": 1.0, "mass": "variances"}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        NutsLesson(**changes)
    assert error.value.parameter == parameter


def test_a_start_without_density_is_named():
    far = NutsLesson(target="formula", formula="-(x-60)^2 - (y-60)^2 where x > 50, y > 50")
    with pytest.raises(SpecError) as error:
        scenes.scene(far, None)
    assert error.value.parameter == "start"


def test_looking_otherwise_is_the_same_run():
    assert analysis.simulate(NutsLesson(view="cost", pace="leapfrogs")) is analysis.simulate(NutsLesson())
    heads = {view: decode(scenes.scene(NutsLesson(view=view)))[0]["run"] for view in ("tree", "draws", "cost")}
    assert len(set(heads.values())) == 1, "the player keeps its place exactly when the run and its sub-steps are the same"
    assert decode(scenes.scene(NutsLesson(seed=2)))[0]["run"] != heads["tree"]
    assert decode(scenes.scene(NutsLesson(pace="leapfrogs")))[0]["run"] != heads["tree"]


# Trees ----------------------------------------------------------------------------------------------------------------


def grown(spec, count=60, fine=False):
    inside = analysis.simulate(spec).inside(0, count)
    return inside, [trees.grow(inside, t, fine) for t in range(count)]


def test_what_is_kept_and_thrown_away_adds_up():
    walk = analysis.simulate(DOUBLING)
    _, found = grown(DOUBLING, 200)
    thrown = [int(np.isin(tree.fate[tree.leaf], (1, 2)).sum()) for tree in found]
    assert thrown == walk.wasted[:200].tolist()
    assert 0.2 < walk.waste < 0.4


def test_dot_products_are_recomputed_as_they_are_defined():
    inside, _ = grown(DOUBLING.replace(mass="variances"), 40)
    inverse = analysis.simulate(DOUBLING.replace(mass="variances")).inverse_mass
    assert not np.allclose(inverse, np.eye(2))
    for t in range(40):
        x = trees.one(inside, t)
        at = {int(time): row for row, time in enumerate(x["leaf_time"])}
        for k in range(len(x["node_low"])):
            rows = [at[time] for time in range(int(x["node_low"][k]), int(x["node_high"][k]) + 1)]
            momentum = x["leaf_momentum"][rows]
            dots = turn_products(x["leaf_position"][rows], momentum, momentum @ inverse, "multinomial")
            assert np.allclose(dots, x["node_dots"][k], equal_nan=True)
            assert turns(dots, "multinomial") == x["node_turning"][k]


def test_trees_beyond_what_is_recorded_are_cut():
    deep = RAVINE.replace(step_size=0.005, draws=40)
    _, found = grown(deep, 40)
    cut = [tree.cut for tree in found]
    assert any(cut) and not all(cut)
    for tree in found:
        assert np.isnan(tree.chance[tree.leaf]).all() == tree.cut
    for view in VIEWS:
        scenes.scene(deep.replace(view=view))
    assert analysis.origins(deep)[2] == cut.count(False)


# What the scenarios say -----------------------------------------------------------------------------------------------


@pytest.mark.one_seed
def test_the_figure_is_the_one_of_the_caption():
    """Sixteen states in four doublings, the last of which turns inside and is thrown away: eight candidates."""
    inside, found = grown(FIGURE, 1, fine=True)
    assert inside.ending[0] == TURNED_INSIDE and inside.leaves[0] == 16
    assert questions.candidates(FIGURE) == (16, 8, "turned inside the extension")
    assert len(set(inside.doubling_direction[0][:4].tolist())) == 2, "it grows both ways"
    assert np.flatnonzero(found[0].fate == 4).size == 1
    assert np.allclose(FIGURE.build_target().truth.mean, (2.5, 1.5))


def test_both_forms_begin_alike():
    walks = [analysis.simulate(spec) for spec in (FORMS, FORMS.other_form())]
    first = [walk.inside(0, 1) for walk in walks]
    assert np.array_equal(first[0].leaf_position[0, 0], first[1].leaf_position[0, 0])
    assert np.array_equal(first[0].leaf_momentum[0, 0], first[1].leaf_momentum[0, 0])
    assert np.isnan(first[0].slice_uniform[0]) and np.isfinite(first[1].slice_uniform[0])


def test_a_tree_that_turned_at_the_depth_allowed_does_not_count_as_cut_off():
    spec = NutsLesson(target="gaussian", tuning="fixed", step_size=0.4, max_depth=3, warmup=0)
    walk = analysis.simulate(spec)
    deepest = walk.depth == spec.max_depth
    assert 0 < walk.saturated.sum() < deepest.sum() and not walk.saturated[~deepest].any()
    assert analysis.diagnose(spec).saturated == walk.saturated.sum()


def test_the_shallow_tree_is_cut_off():
    walk = analysis.simulate(SHALLOW)
    inside = walk.inside(0, 200)
    assert walk.saturated.mean() > 0.8 and np.array_equal(walk.saturated[:200], inside.ending == TOO_DEEP)
    assert questions.depth_gain(SHALLOW) > 2
    widths = np.sqrt(np.linalg.eigvalsh(SHALLOW.build_target().truth.covariance))
    assert widths[1] == pytest.approx(1.0, abs=0.1) and (2**SHALLOW.max_depth - 1) * SHALLOW.step_size < 0.15


def test_the_map_of_the_funnel_is_made_once(monkeypatch):
    scenes.scene(CURE.replace(seed=1))
    monkeypatch.setattr(Target, "density_grid", lambda *_: pytest.fail("another seed has the same map"))
    scenes.scene(CURE.replace(seed=2))


def test_the_cure_is_the_same_posterior():
    """Draws carried back from the non-centred coordinates have the funnel's density, and reach into its neck."""
    target, centred = CURE.build_target(), funnel(neck=CURE.neck)
    points = np.random.default_rng(1).normal(size=(20, 2)) * (3.0, 1.0)
    jacobian = -0.5 * points[:, 0]  # dx = exp(v/2) dz
    assert np.allclose(target.log_density_many(points), centred.log_density_many(analysis.to_funnel(points)) - jacobian, atol=1e-9)
    assert questions.divergent_shares(CURE)[0] == 0.0 < 0.03 < questions.divergent_shares(CURE)[1]
    lowest = [analysis.simulate(spec).recording.draws[0, :, 0].min() for spec in (CURE, FUNNEL)]
    assert lowest[0] < -8.0 < -6.0 < lowest[1]


def test_the_aliased_momentum_has_the_variance_of_the_real_bug():
    found, true, agreement = questions.variance(ALIASED)
    assert 1.15 < found < 1.24 and true == 1.0 and agreement < 1.01, "wrong, and R-hat does not see it"
    assert 0.95 < questions.variance(ALIASED.replace(variant="exact"))[0] < 1.05


# Checks ---------------------------------------------------------------------------------------------------------------


FINAL = NutsLesson(target="gaussian", correlation=0.0, tuning="fixed", step_size=0.8, variant="final_accept")
SPECS = {
    **BY_ID,
    "hidden divergences": NutsLesson(target="funnel", neck=2, target_accept=0.6, seed=4),
    "reversed dot": RAVINE.replace(variant="reversed_dot"),
    "reversed dot, bent": DOUBLING.replace(variant="reversed_dot"),
    "final accept": FINAL,
    "no final accept": FINAL.replace(variant="exact"),
    "heavy tails": NutsLesson(target="formula", formula="-2.3*log(1+x^2+y^2)"),
    "two modes": NutsLesson(target="formula", formula="log(exp(-8*((x-4)^2+y^2))+exp(-8*((x+4)^2+y^2)))"),
}
VERDICTS = {  # kernel, this run, numbers
    "doubling": ("pass", "not fail", "not fail"),  # about one in a thousand diverges
    "figure": ("pass", "pass", "pass"),
    "forms": ("pass", "pass", "pass"),
    "waste": ("pass", "not fail", "not fail"),  # about one in a thousand diverges
    "shallow": ("pass", "not pass", "not fail"),
    "funnel": ("pass", "fail", "unknown"),
    "cure": ("pass", "pass", "pass"),
    "aliased": ("fail", "pass", "fail"),
    "hidden divergences": ("pass", "fail", "unknown"),
    "reversed dot": ("pass", "not pass", "not fail"),
    "reversed dot, bent": ("pass", "not fail", "not fail"),
    "final accept": ("fail", "pass", "fail"),
    "no final accept": ("pass", "pass", "pass"),
    "heavy tails": ("pass", "not fail", "not fail"),
    "two modes": ("pass", "fail", "unknown"),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_the_three_signs(name):
    assert says(verdicts("nuts", SPECS[name]), VERDICTS[name])


@pytest.mark.parametrize("name", ["figure", "forms", "cure"])
def test_planted_faults_turn_their_sign_red(name):
    found = planted("nuts", SPECS[name])
    assert len(found) > 2 and {key: overall(checks) for key, checks in found.items()} == dict.fromkeys(found, "fail")


def test_a_reversed_dot_product_is_slow_and_said_to_be():
    spec = RAVINE.replace(variant="reversed_dot")
    books = analysis.kernels(spec)[0].audit(1)
    assert books.verdict == "pass" and "nothing is biased" in books.sentence
    assert "nothing is biased" not in analysis.kernels(RAVINE)[0].audit(1).sentence
    assert analysis.simulate(spec).depth.mean() < 1.2 < 2 < analysis.simulate(RAVINE).depth.mean()
    assert analysis.form(spec).ess_per_1000 < 0.5 * analysis.form(RAVINE).ess_per_1000


def test_the_kernel_checked_is_the_one_on_screen():
    assert analysis.frozen(DOUBLING)["step_size"] == analysis.simulate(DOUBLING).step_size
    long = analysis.longer(DOUBLING, 50)
    assert np.all(long.step_size == analysis.simulate(DOUBLING).step_size)


def test_both_forms_have_the_same_answer():
    for spec in (FORMS, FORMS.other_form()):
        run = sample(spec.build_target(), "nuts", chains=4, draws=20_000, seed=9, **spec.settings())
        assert mean_check("variance", "x", run.draws[:, :, 0] ** 2, 1.0).verdict == "pass"


# Scenes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pace", PACES)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", BY_ID)
def test_scenes_encode_and_are_small(name, view, pace):
    spec = BY_ID[name].replace(view=view, pace=pace)
    blob = scenes.scene(spec)
    header, _ = decode(blob)
    assert len(blob) < MOST_BYTES
    assert header["steps"] == spec.draws and len(header["panels"]) == (4 if view == "compare" else 3)


def test_the_largest_scene_is_small_enough():
    largest = ALIASED.replace(chains=4, pace="leapfrogs", view="tree", variant="aliased_momentum", step_size=0.02)
    assert len(scenes.scene(largest, 1499)) < MOST_BYTES


@pytest.mark.parametrize("target", NutsLesson.declarations()["target"].options)
@pytest.mark.parametrize("step_size", [0.02, 5.0])
def test_every_target_can_be_shown(target, step_size):
    for view in VIEWS:
        for variant in ("exact", "aliased_momentum", "final_accept"):
            spec = NutsLesson(target=target, tuning="fixed", step_size=step_size, draws=20, warmup=0, view=view)
            scenes.scene(spec.replace(variant=variant, max_depth=8))


def test_the_window_holds_the_transition_asked_for():
    for wanted in (0, 17, DOUBLING.draws - 1, DOUBLING.draws + 5):
        header, arrays = decode(scenes.scene(DOUBLING, wanted))
        first, offsets = header["window"]["first"], arrays[header["window"]["offsets"]]
        asked = min(wanted, DOUBLING.draws - 1)
        assert first <= asked < first + len(offsets) - 1
        assert len(arrays[header["parts"]["tree"]["offsets"]]) == len(offsets)


def card(spec):
    """The lines of the card by the beginning of their template: the rows they are for, and their values."""
    header, arrays = decode(scenes.scene(spec))
    lines = {}
    for line in header["parts"]["tree"]["lines"]:
        text = "".join(token if isinstance(token, str) else f"{{{token['name']}}}" for token in line["tokens"])
        when = slice(None) if line["when"] is None else arrays[line["when"]].astype(bool)
        lines[text] = {name: arrays[value["array"]][when] for name, value in line["values"].items()}
    return lines


def test_the_arithmetic_adds_up():
    lines = card(DOUBLING)
    weigh = next(values for text, values in lines.items() if "newer/sum" in text)
    assert np.allclose(weigh["b"] / (weigh["a"] + weigh["b"]), weigh["r"], atol=1e-4)
    assert np.array_equal(weigh["u"] < weigh["r"], weigh["new"].astype(bool))
    join = next(values for text, values in lines.items() if "extension/before" in text)
    assert np.allclose(np.minimum(1, join["b"] / join["a"]), join["r"], atol=1e-4)
    assert np.array_equal(join["u"] < join["r"], join["new"].astype(bool))
    state = next(values for text, values in lines.items() if text.startswith("H − H₀"))
    assert np.allclose(np.exp(-state["e"]), state["w"], rtol=1e-4)
    dots = next(values for text, values in lines.items() if text.startswith("ρ = Σp"))
    assert np.all(dots["turn"][(dots["a"] <= 0) | (dots["b"] <= 0)] == 1)


def test_the_card_of_the_bug_shows_both_numbers():
    lines = card(ALIASED.replace(view="tree"))
    shown = next(values for text, values in lines.items() if text.startswith("(x₊ − x₋)"))
    right = next(values for text, values in lines.items() if "own momenta" in text)
    assert 0 < len(right["a"]) <= len(shown["a"])
    assert not any("own momenta" in text for text in card(ALIASED.replace(view="tree", variant="exact")))


# Panels and questions -------------------------------------------------------------------------------------------------


def test_panels_and_diagnostics_say_what_they_show():
    spec = DOUBLING.replace(draws=60, chains=2)
    found = panels.panels(spec, NEVER)
    assert len(found) == 4 and all(figure.caption or figure.alt for figure in found)
    table = panels.diagnostics(spec, NEVER)
    assert table.columns["coordinate"] == ["x₁", "x₂"]
    assert "thrown away" in table.caption and "maximum depth" in table.caption


def test_the_last_doubling_gives_most_draws():
    chance, share, count = analysis.origins(DOUBLING)
    assert chance.sum() == pytest.approx(1.0) and share.sum() == pytest.approx(1.0) and count == 200
    assert chance[0] > 0.8 > 0.6 > share[0]


@pytest.mark.one_seed
@pytest.mark.parametrize("question,right", [("waste", 1), ("candidates", 1), ("form", 1), ("depth", 2), ("cure", 2), ("aliased", 2)])
def test_the_runs_answer_as_the_story_says(question, right):
    asked = next(q for q in questions.QUESTIONS if q.id == question)
    spec = BY_ID[asked.scenario]
    assert asked.answer(spec) == right
    assert any(character.isdigit() for character in asked.explain(spec))


# Page -----------------------------------------------------------------------------------------------------------------


def test_a_control_changes_the_run():
    app = page("nuts")
    app.number_input(key="nuts/max_depth/box").set_value(2).run()
    assert not app.exception and not app.error
    assert app.session_state["visit/nuts"].spec.max_depth == 2
    assert app.query_params["max_depth"] in ("2", ["2"])


def test_a_wrong_link_is_named_and_the_page_still_works():
    app = page("nuts", v="1", step_size="-3", sampling="magic")
    text = " ".join(warning.value for warning in app.warning)
    assert "step" in text and "sampling" in text
    assert not app.exception


def test_a_formula_with_a_mistake_keeps_the_last_good_run():
    app = page("nuts", v="1", target="formula")
    app.text_input(key="nuts/formula/text").set_value("-x^2 -").run()
    assert not app.exception and app.error
    assert app.session_state["visit/nuts"].spec.formula != "-x^2 -"
