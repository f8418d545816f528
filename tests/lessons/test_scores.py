"""The lesson about scores: its numbers against direct formulas, its signs against mistakes, its pictures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.metrics import roc_auc_score

from app.kit.player.scene import decode
from datasets.images import Images
from engine import scores, ticket
from engine.judge import overall
from engine.spec import SpecError
from lessons.families.digit_posteriors import sources
from lessons.scores import analysis, galleries, panels, proof, scenes, stage_errors
from lessons.scores.analysis import NAMES, Reading
from lessons.scores.questions import QUESTIONS
from lessons.scores.spec import SCENARIOS, VIEWS, ScoresSpec
from tests.lessons.pages import MOST_BYTES, NEVER, Job, verdicts

SPECS = {scenario.id: scenario.spec for scenario in SCENARIOS}
FIRST = ScoresSpec(method="dropout")  # trained fastest


@pytest.fixture(scope="module")
def reading() -> Reading:
    return analysis.read(FIRST)


@pytest.fixture(scope="module")
def voters() -> Reading:
    """Networks that sometimes agree on an error: made up, so that no ensemble need be trained."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 450)
    logits = rng.normal(size=(20, 450, 10)) * rng.gamma(1.0, 1.0, (450, 1)) + 4.0 * np.eye(10)[y]
    draws = np.exp(logits - logits.max(axis=2, keepdims=True))
    draws /= draws.sum(axis=2, keepdims=True)
    y[:20] = (y[:20] + 1) % 10
    return Reading(draws, scores.decompose(draws), y)


@pytest.mark.parametrize(
    "parameter,changes",
    [
        ("view", {"view": "elsewhere"}),
        ("score", {"score": "none"}),
        ("networks", {"networks": 1}),
        ("learnt", {"learnt": 10}),
        ("answered", {"answered": 101}),
        ("abstain_cost", {"abstain_cost": 1.0}),
        ("variant", {"variant": "no"}),
    ],
)
def test_a_wrong_setting_is_named(parameter, changes):
    with pytest.raises(SpecError) as error:
        ScoresSpec(**changes)
    assert error.value.parameter == parameter


# Scores ---------------------------------------------------------------------------------------------------------------


def test_the_reading_is_of_the_networks_asked():
    few = analysis.read(FIRST.replace(networks=7))
    everyone = analysis.read(FIRST)
    assert len(few.draws) == 7 and np.array_equal(few.draws, everyone.draws[:7])
    assert few.draws.sum(axis=2) == pytest.approx(1.0, abs=1e-12)


def test_the_errors_of_areas_are_those_of_resampled_images(voters: Reading):
    """DeLong against a bootstrap, of an area and of a difference; the area itself against scikit-learn."""
    names = ("inconsistency", "total")
    both, wrong = [analysis.values(voters, name) for name in names], voters.wrong
    found = analysis.ranked(both, wrong)
    assert found.area == pytest.approx([roc_auc_score(wrong, score) for score in both], abs=1e-12)
    rng = np.random.default_rng(1)
    again = []
    for _ in range(400):
        # rare errors: the theory takes their number as given
        some = np.concatenate([rng.choice(part, len(part)) for part in (np.flatnonzero(wrong), np.flatnonzero(~wrong))])
        again.append([scores.auroc(score[some], wrong[some]) for score in both])
    spread = np.std(again, axis=0)
    assert [found.error(0), found.error(1)] == pytest.approx(spread, rel=0.2)
    assert found.error(0, 1) == pytest.approx(np.std(np.diff(again, axis=1)), rel=0.2)
    assert found.error(0, 0) == 0.0


def test_one_error_leaves_the_area_without_an_error_bar():
    found = analysis.ranked([np.arange(5.0)], np.array([False] * 4 + [True]))
    assert found.area[0] == 1.0 and np.isnan(found.error(0))


def test_lucky_ties_raise_the_area(voters: Reading):
    score, wrong = analysis.values(voters, "inconsistency"), voters.wrong
    lucky = analysis.ordered_curve(score, wrong)
    assert lucky.area > scores.gamma_curve(score, wrong).area + 0.01
    apart = score + 1e-9 * np.arange(len(score))
    assert analysis.ordered_curve(apart, wrong).area == pytest.approx(scores.auroc(apart, wrong), abs=1e-12)


def test_the_band_of_gamma_holds_gamma(reading: Reading):
    score = analysis.values(reading, "sd")
    low, high = analysis.gamma_band(score, reading.wrong, np.array([0.1, 0.5]), seed=1)
    curve = scores.gamma_curve(score, reading.wrong)
    assert (low <= [curve.at(0.1), curve.at(0.5)]).all() and (high >= [curve.at(0.1), curve.at(0.5)]).all()


def test_the_error_of_a_share_is_never_nothing():
    assert analysis.share_error(1.0, 10) > 0.05
    assert analysis.share_error(0.5, 10_000) == pytest.approx(0.005, rel=0.01)


# Probabilities --------------------------------------------------------------------------------------------------------


def test_chance_makes_an_error_that_grows_with_the_bins():
    """The simulated diagrams against the engine's, one by one."""
    rng = np.random.default_rng(2)
    confidence = rng.uniform(0.5, 1.0, 450)
    right = analysis.forecasters(confidence, 3)
    assert right.mean() == pytest.approx(confidence.mean(), abs=0.01)
    p = np.column_stack([confidence, 1.0 - confidence])
    for bins in (5, 20):
        found = analysis.chance(confidence, right, bins)
        direct = [scores.calibration_error(p, (~row).astype(int), bins) for row in right[:5]]
        assert found.errors[:5] == pytest.approx(direct, abs=1e-6)
        assert np.nanmax(found.high) <= 1.0 and (found.low <= found.high)[np.isfinite(found.low)].all()
    few, many = (analysis.chance(confidence, right, bins).errors.mean() for bins in (5, 30))
    assert 0.01 < few < many


# The game -------------------------------------------------------------------------------------------------------------


def test_a_game_is_what_its_rules_say(reading: Reading):
    first, second = analysis.halves(3, 450)
    assert first.sum() == second.sum() == 225 and not (first & second).any()
    score, wrong = analysis.values(reading, "confidence"), reading.wrong
    played = analysis.play(score, wrong, 0.3, 0.2)
    given = score <= 0.3
    assert played.cost == pytest.approx(((given & wrong).sum() + 0.2 * (~given).sum()) / 450)
    costs = [analysis.play(score, wrong, at, 0.2).cost for at in [-np.inf, *score]]
    assert analysis.play(score, wrong, analysis.best(score, wrong, 0.2), 0.2).cost == pytest.approx(min(costs))
    assert analysis.chosen(score, 0) == -np.inf and analysis.chosen(score, 100) == score.max()
    assert (score <= analysis.chosen(score, 50)).sum() == 225


def test_the_first_half_alone_decides_the_game(voters: Reading):
    """Nothing chosen may depend on a label of the half that judges."""
    spec = ScoresSpec(view="abstain")
    _, second = analysis.halves(spec.split, 450)
    other = np.where(second, (voters.y + 1) % 10, voters.y)
    changed = voters._replace(y=other)
    for name in NAMES:
        games = [analysis.game(spec, someone, name) for someone in (voters, changed)]
        assert games[0].first == games[1].first, name
        assert games[0].second != games[1].second, name


@pytest.mark.one_seed
def test_the_least_cost_flatters(voters: Reading):
    assert panels.flattery(ScoresSpec(view="abstain", score="confidence"), voters, NEVER).mean() > 0.0


# The signs ------------------------------------------------------------------------------------------------------------

NUTS = ("pass", "unknown", "unknown")  # too few draws, and trees cut off
VERDICTS = {
    "find": ("pass", "pass", "unknown"),
    "ga": ("pass", "pass", "unknown"),
    "unanimous": ("pass", "pass", "unknown"),
    "lucky-ties": ("fail", "pass", "unknown"),
    "thresholds": ("pass", "pass", "unknown"),
    "calibration": NUTS,
    "true-class": ("fail", *NUTS[1:]),
    "abstain": ("pass", "pass", "unknown"),
}


@pytest.mark.parametrize("name", SPECS)
def test_the_signs(name):
    assert verdicts("scores", SPECS[name]) == VERDICTS[name]


def test_every_score_passes(reading: Reading):
    for name in NAMES:
        found = proof.audit(FIRST.replace(score=name), NEVER)
        assert overall(found) == "pass", [check.sentence for check in found]


def test_both_mistakes_can_be_planted(reading: Reading):
    spec = FIRST.replace(score="total")
    for name, check in (("ties put in a lucky order", "ROC"), ("binned by the true class", "calibration")):
        found = {found.name: found.verdict for found in proof.audit(proof.faults(spec)[name], NEVER)}
        assert found[check] == "fail" and list(found.values()).count("fail") == 1


def test_the_p_values_of_the_calibration_are_uniform(reading: Reading, monkeypatch):
    """Over seeds, of the first look; KS at a level of 1e-4."""
    monkeypatch.setattr(proof, "two_looks", lambda look: look(1, 1))
    monkeypatch.setattr(proof, "DRAWN", 50 * len(reading.y))
    p = [proof.calibrated_check(FIRST.replace(seed=seed), reading).p for seed in range(200)]
    assert kstest(p, "uniform").pvalue > 1e-4


def test_lucky_ties_are_red_where_there_are_ties(voters: Reading, reading: Reading):
    tied = ScoresSpec(score="inconsistency", variant="ties")
    assert proof.roc_check(tied, voters).verdict == "fail"
    assert proof.roc_check(tied.replace(variant="exact"), voters).verdict == "pass"
    assert proof.roc_check(tied.replace(score="total"), voters).verdict == "unknown", "no ties, no mistake to see"


def test_binning_by_the_true_class_is_red(reading: Reading, voters: Reading):
    for someone in (reading, voters):
        assert proof.calibrated_check(FIRST, someone).verdict == "pass"
        assert proof.calibrated_check(FIRST.replace(variant="true_class"), someone).verdict == "fail"


@pytest.mark.one_seed
def test_a_cutoff_for_every_image_would_be_red(reading: Reading, monkeypatch):
    """What may have happened in Steyn (2018): GA with another cutoff for every image ranks otherwise."""
    rng = np.random.default_rng(0)
    shift = rng.normal(scale=10.0, size=450)
    proper = scores.gaussian_approximation
    each = np.array([proper(reading.draws[:, k : k + 1], 50.0 + shift[k])[0] for k in range(450)])
    monkeypatch.setattr(scores, "gaussian_approximation", lambda draws, cutoff: each)
    (found,) = proof.rank_checks(reading)
    assert found.verdict == "fail"


def test_of_a_cutoff_beyond_the_votes_nothing_is_claimed():
    """Unanimous errors push Steyn's cutoff past all votes; there GA does not rank as inconsistency."""
    draws = np.full((10, 6, 2), 0.1)
    draws[..., 0] = 0.9
    draws[:4, 1:3] = draws[:4, 1:3, ::-1]
    reading = Reading(draws, scores.decompose(draws), np.array([1, 0, 0, 0, 0, 0]))
    assert proof.rank_checks(reading) == []
    ga = analysis.values(reading, "ga")
    assert ga[0] > ga[1], "the unanimous error ranks above the doubtful image"


def test_a_wrong_decomposition_is_red(reading: Reading):
    parts = reading.parts
    broken = reading._replace(parts=parts._replace(aleatoric=0.5 * parts.aleatoric))
    assert proof.parts_check(reading).verdict == "pass" and proof.parts_check(broken).verdict == "fail"


# The picture ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", VIEWS)
def test_the_scene_is_small_and_grows_without_another_answer(view, reading: Reading):
    spec = FIRST.replace(view=view, judged="yes", score="ga")
    blob = scenes.scene(spec, None)
    assert len(blob) < MOST_BYTES and scenes.grow(spec, Job()) == blob
    header, _ = decode(scenes.picture(spec, reading, "the networks still learn: 40 % of the training is done"))
    assert any("40 %" in str(line) for line in header["readouts"])
    header, _ = decode(blob)
    assert "training" not in [line["id"] for line in header["readouts"]]


def test_networks_that_are_trained_already_show_the_first_of_them_first():
    """Another page has trained them: to ask all of them, and for their bands, takes six times as long."""
    job, spec = Job(), FIRST.replace(seed=97)
    analysis.shared(spec).finish()
    last = scenes.grow(spec, job)
    (first,) = job.blobs
    told = [line for line in decode(first)[0]["readouts"] if line["id"] == "training"]
    assert "the first 25 of them" in str(told)
    assert last == scenes.scene(spec, None)
    scenes.grow(spec.replace(score="ga"), job)
    assert len(job.blobs) == 1, "they have been asked"


def test_the_stage_counts_what_lies_below(reading: Reading):
    header, arrays = decode(scenes.scene(FIRST, None))
    table = {column["name"]: arrays[column["values"]] for column in header["table"]}
    score = analysis.values(reading, "sd")
    columns = (table[name] for name in ("threshold on the predictive sd", "wrong below", "right below"))
    for at, wrong, right in zip(*columns, strict=True):
        below = score <= at + 1e-7  # travelled as float32
        assert (below & reading.wrong).sum() == wrong and (below & ~reading.wrong).sum() == right
    assert np.array_equal(table["label"], reading.y[table["image"]])
    # every wrongly read image is met
    assert set(np.flatnonzero(reading.wrong)) <= set(table["image"].tolist())


def test_the_game_hides_the_other_half(reading: Reading):
    spec = FIRST.replace(view="abstain", score="confidence")
    shown = {judged: decode(scenes.scene(spec.replace(judged=judged), None))[0] for judged in ("no", "yes")}
    told = {judged: " ".join(str(line["tokens"]) for line in header["readouts"]) for judged, header in shown.items()}
    assert "on the other" in told["yes"] and "on the other" not in told["no"]
    labels = {judged: [layer["label"] for panel in header["panels"] for layer in panel["layers"]] for judged, header in shown.items()}
    assert any("other half" in str(label) for label in labels["yes"])
    assert not any("other half" in str(label) for label in labels["no"])


def test_a_first_picture_of_few_networks_has_room_for_all_averages():
    job = Job()
    whole = scenes.grow(FIRST.replace(view="calibration", method="nuts", seed=4711), job)
    axes = [next(panel["x"] for panel in decode(blob)[0]["panels"] if panel["id"] == "averaging") for blob in (job.blobs[0], whole)]
    assert axes[0] == axes[1] and axes[0]["high"] == FIRST.networks


def test_stopped_work_gives_nothing():
    class Stopped(Job):
        cancelled = True

    spec = FIRST.replace(seed=40_077)  # trained by no other test of this process
    assert scenes.grow(spec, Stopped()) is None
    assert proof.checks(spec, Stopped()) == proof.audit(spec, Stopped()) == [] and panels.panels(spec, Stopped()) == []


# Panels and questions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", [view for view in VIEWS if view != "calibration"])
def test_the_panels_are_made(view, reading: Reading):
    for panel in panels.panels(FIRST.replace(view=view), NEVER):
        assert panel.title and panel.caption
    assert len(panels.diagnostics(FIRST, NEVER).columns) == 5


def test_the_average_is_less_sure_than_most_of_its_members(reading: Reading):
    figure = panels._ranks(FIRST.replace(method="nuts"), reading, NEVER)  # no other network is trained beside
    low, high, one, average = figure.figure.data
    sure = reading.draws.max(axis=2)
    ranks = (sure < reading.confidence).mean(axis=0) + 0.5 * (sure == reading.confidence).mean(axis=0)
    assert average.y == pytest.approx(100.0 * np.histogram(ranks, 10, (0.0, 1.0))[0] / len(ranks)) and ranks.mean() < 0.4
    assert f"than the average of all: {100 * ranks.mean():.0f} %" in figure.caption
    assert all(sum(each.y) == pytest.approx(100.0) for each in (one, average)) and (np.asarray(low.y) <= high.y).all()
    others = [scores.rank_among(each, np.delete(sure, r, axis=0)) for r, each in enumerate(sure)]
    tenths = np.array([100.0 * np.histogram(each, 10, (0.0, 1.0))[0] / len(each) for each in others])
    assert tenths.mean(axis=0) == pytest.approx(10.0, abs=0.5), "among each other the members stand anywhere"
    assert one.y == pytest.approx(tenths[0]) and np.allclose([low.y, high.y], np.quantile(tenths, (0.05, 0.95), axis=0))


def test_all_scores_stand_beside_what_s2_printed(reading: Reading):
    table = panels.panels(FIRST, NEVER)[0]
    assert table.columns["Steyn: γ, BNN"] == [0.866, 0.865, 0.978, "–", "–", "–"]
    row = list(NAMES).index("total")
    area = roc_auc_score(reading.wrong, reading.parts.total)
    assert table.columns["AUROC ± SE"][row].startswith(f"{area:.3f}")
    assert stage_errors.PRINTED["ga"] == (0.978, 0.99)


@pytest.mark.one_seed
def test_the_claims_of_the_questions_hold_on_fast_networks(reading: Reading):
    asked = {question.id: question for question in QUESTIONS}
    spec = FIRST.replace(score="ga", against="inconsistency")
    assert asked["ga"].answer(spec) == 1, "equal"
    assert asked["honest"].answer(FIRST.replace(view="abstain", score="confidence")) in (0, 1)
    assert asked["averaging"].answer(FIRST) in (0, 1, 2) and "ECE is" in asked["averaging"].explain(FIRST)
    for question in QUESTIONS:
        assert question.scenario in SPECS
    assert asked["honest"].reveal(SPECS["abstain"]).judged == "yes"


# The image report -----------------------------------------------------------------------------------------------------


def test_the_report_shows_the_worst_the_most_uncertain_and_the_sure_and_wrong(voters: Reading):
    spec = ScoresSpec(score="total")
    voters = voters._replace(y=np.where(np.arange(450) < 60, 9 - voters.y, voters.y))
    *figures, table = galleries.report(spec, voters)
    assert [figure.title.split(" by ")[0] for figure in figures] == ["Worst errors", "Most uncertain", "Sure and wrong", "Least uncertain"]
    shown = [[int(text.split("<br>")[0].split()[-1]) for text in figure.figure.data[2].text] for figure in figures]
    wrong, truth = set(np.flatnonzero(voters.wrong)), voters.mean[np.arange(450), voters.y]
    worst, uncertain, sure, _ = shown
    assert len(wrong) > 30 and [len(each) for each in shown] == [30, 30, 30, 10]
    assert set(worst) <= wrong and truth[worst].max() <= truth[sorted(wrong - set(worst))].min()
    assert set(sure) <= wrong and voters.confidence[sure].min() >= voters.confidence[sorted(wrong - set(sure))].max()
    assert voters.parts.total[uncertain].min() >= np.delete(voters.parts.total, uncertain).max()
    votes = dict(zip(table.columns["test image"], table.columns["votes of networks 1 to 20"], strict=True))
    assert set(votes) == {*worst, *uncertain, *sure}
    for figure, place in ((0, 0), (1, 3), (2, 29)):
        image, (_, words, hover) = shown[figure][place], figures[figure].figure.data
        each = [str(digit) for digit in voters.draws[:, image].argmax(axis=1)]
        assert votes[image].replace(" ", "") == "".join(each) == hover.text[place].split("<br>", 1)[1].replace("<br>", "")
        most = max(sorted(set(each)), key=each.count)
        assert words.text[2 * place + 1].startswith(f"{most}×{each.count(most)}")


def test_without_an_error_the_report_is_made(voters: Reading):
    right = voters._replace(y=voters.mean.argmax(axis=1))
    assert all(item.title and item.caption for item in galleries.report(ScoresSpec(), right))


# MNIST ----------------------------------------------------------------------------------------------------------------


def test_mnist_goes_the_same_way(few_of_mnist: Images, monkeypatch: pytest.MonkeyPatch):
    """With a few made-up images in its place."""
    monkeypatch.setattr(sources, "FEW", {"units": 8, "epochs": 20})
    monkeypatch.setattr(sources, "NETWORKS", 7)
    spec = FIRST.replace(data="mnist", networks=5)
    found = analysis.read(spec)
    assert found.draws.shape == (5, 40, 10) and np.array_equal(found.y, few_of_mnist.y_test)
    by_hand = analysis.shared(spec).networks().predict(few_of_mnist.x_test)[:5]
    assert found.draws == pytest.approx(by_hand, abs=1e-6)
    for view in VIEWS:
        blob = scenes.grow(spec.replace(view=view), Job())
        header, _ = decode(blob)
        assert len(blob) < MOST_BYTES and not any(line["id"] in ("data", "training") for line in header["readouts"])
        assert "40 test digits" in header["label"] or view == "abstain"
        assert panels.panels(spec.replace(view=view), NEVER)
    seen = [panel for panel in decode(scenes.scene(spec, None))[0]["panels"] if panel["id"] == "image"]
    assert "28 × 28" in str(seen)
    assert overall(proof.audit(spec, NEVER)) != "fail"


def test_where_mnist_is_not_every_picture_says_what_stands_in(no_mnist: list[str]):
    spec = FIRST.replace(data="mnist")
    assert analysis.shared(spec) is analysis.shared(FIRST), "the same networks"
    for view in VIEWS:
        header, _ = decode(scenes.grow(spec.replace(view=view), Job()))
        assert any(sources.STAND_IN in str(line["tokens"]) for line in header["readouts"])
        assert all(item.caption.startswith(sources.STAND_IN) for item in panels.panels(spec.replace(view="errors"), NEVER))


def test_bands_and_a_calibrated_forecaster_look_up_often(reading: Reading):
    """A few looks would not do: a band resamples hundreds of times, a forecaster draws 90,000 labels."""
    looks: list[int] = []

    class Counting(Job):
        def is_set(self) -> bool:
            looks.append(1)
            return False

    with ticket.holding(Counting()):
        analysis.gamma_band(reading.confidence, reading.wrong, np.array([0.1]), seed=1)
        band = len(looks)
        proof.calibrated_check(FIRST, reading)
    assert band >= analysis.RESAMPLES and len(looks) - band >= proof.DRAWN // len(reading.y)
