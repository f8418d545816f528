"""The checks of this lesson: identities that the present scores must keep, each against another way to compute it."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine import scores, ticket
from engine.judge import Check, Kernel, Verdict, two_looks, unknown
from engine.judge.looks import looked
from lessons.families.digit_posteriors import checks as posterior_checks
from lessons.families.digit_posteriors.checks import numbers_check, run_checks, training_check
from lessons.scores import analysis
from lessons.scores.analysis import Reading
from lessons.scores.spec import WORDS, ScoresSpec

SAME = 1e-9
DRAWN = 90_000  # labels drawn from the forecast: so many for each of the test digits that there are about
BINS = 10
EXPECTED = 20.0  # right and wrong answers in a bin, below which it is not judged


def kernels(spec: ScoresSpec) -> list[Kernel]:
    """NUTS, where the networks are its draws."""
    return posterior_checks.kernels(analysis.shared(spec))


def audit(spec: ScoresSpec, cancel: Any) -> list[Check]:
    """The gradient that trains the networks; γ against scikit-learn's ROC curve, GA against inconsistency, the parts
    against divergences, the reliability diagram against a forecaster that is calibrated by construction.
    """
    shared = analysis.shared(spec)
    reading = analysis.read(spec, stop=cancel.is_set)
    if reading is None:
        return []
    found = training_check(analysis.data_of(spec), shared.spec, cancel)
    found += [roc_check(spec, reading), *rank_checks(reading), parts_check(reading)]
    return [*found, calibrated_check(spec, reading)]


def checks(spec: ScoresSpec, cancel: Any) -> list[Check]:
    """Has the training come to rest, or do the chains agree on these digits? How near the posterior, nobody knows."""
    reading = analysis.read(spec.replace(networks=analysis.NETWORKS), stop=cancel.is_set)
    if reading is None:
        return []
    doubt = scores.entropy(reading.draws).mean(axis=1)
    found = run_checks(analysis.shared(spec), doubt, WORDS.phrase("checks.doubt"))
    return [*found, numbers_check(spec.method)]


def faults(spec: ScoresSpec) -> dict[str, ScoresSpec]:
    """The mistakes; ties show where there are some, so the score is that of votes."""
    made = {"ties": {"score": "inconsistency"}, "true_class": {}}
    return {
        WORDS.phrase(f"options.variant.{variant}"): spec.replace(variant=variant, **changes)
        for variant, changes in made.items()
        if variant != spec.variant
    }


def roc_check(spec: ScoresSpec, reading: Reading) -> Check:
    """The curve on the stage, turned about, against another library's ROC curve of the same scores."""
    from sklearn.metrics import roc_auc_score, roc_curve

    score, wrong = analysis.values(reading, spec.score), reading.wrong
    if not 0 < wrong.sum() < len(wrong):
        return unknown(WORDS.phrase("checks.roc"), WORDS.phrase("checks.one_kind"), kind="kernel", limit=SAME)
    ours = analysis.curve(spec, score, wrong)
    other = float(roc_auc_score(wrong, score))
    off = abs(ours.area - other)
    if spec.variant != "ties":
        false_positive, true_positive, _ = roc_curve(wrong, score, drop_intermediate=False)
        turned = np.column_stack([1.0 - ours.y[::-1], 1.0 - ours.x[::-1]])
        reference = np.column_stack([false_positive, true_positive])
        off = max(off, float(np.abs(turned - reference).max()) if turned.shape == reference.shape else np.inf)
    sentence = WORDS.phrase("checks.roc_told", score=analysis.NAMES[spec.score], area=ours.area, other=other)
    verdict: Verdict = "pass" if off < SAME else "fail"
    if off < SAME and spec.variant == "ties":
        sentence, verdict = WORDS.phrase("checks.no_ties", roc=sentence), "unknown"
    return Check(WORDS.phrase("checks.roc"), verdict, off, SAME, sentence, kind="kernel")


def rank_checks(reading: Reading) -> list[Check]:
    """Does GA put any two images in another order than inconsistency? It may not, for a cutoff between 0 and K - 1.
    Elsewhere nothing is claimed of it, so nothing is checked: where too many errors are unanimous, GA calls images that
    all agree on the most uncertain ones.
    """
    name, cutoff = WORDS.phrase("checks.ga"), analysis.cutoff(reading)
    if not 0.0 < cutoff < len(reading.draws) - 1:
        return []
    by_votes, by_ga = analysis.values(reading, "inconsistency"), analysis.values(reading, "ga")
    levels = np.unique(by_votes)
    same = [by_ga[by_votes == level] for level in levels]
    lowest, highest = np.array([part.min() for part in same]), np.array([part.max() for part in same])
    # how far images with equal votes lie apart, or one falls below another that its networks agree more on
    off = float(max((highest - lowest).max(), np.max(np.maximum.accumulate(highest)[:-1] - lowest[1:], initial=0.0)))
    if off > 0.0:
        return [Check(name, "fail", off, 0.0, WORDS.phrase("checks.ga_differs", off=off), kind="kernel")]
    merged = int((np.diff(lowest) <= 0.0).sum())
    sentence = WORDS.phrase("checks.ga_agrees", levels=len(levels), images=len(by_ga))
    if merged:
        sentence = WORDS.phrase("checks.ga_rounds", agrees=sentence, merged=merged)
    return [Check(name, "pass", off, 0.0, sentence, kind="kernel")]


def parts_check(reading: Reading) -> Check:
    """Total - aleatoric of every image against the mean divergence of its networks from their average."""
    p, mean = np.maximum(reading.draws, 1e-300), np.maximum(reading.mean, 1e-300)
    divergence = (p * np.log(p / mean)).sum(axis=2).mean(axis=0)
    off = float(np.abs(reading.parts.total - reading.parts.aleatoric - divergence).max())
    sentence = WORDS.phrase("checks.parts_told", images=len(mean), networks=len(p), off=off)
    return Check(WORDS.phrase("checks.parts"), "pass" if off < SAME else "fail", off, SAME, sentence, "nats", kind="kernel")


def calibrated_check(spec: ScoresSpec, reading: Reading) -> Check:
    """The diagram of a forecaster whose labels are drawn from its own forecast must be the diagonal."""
    name = WORDS.phrase("checks.calibration")

    def look(number: int, work: int) -> Check:
        copies = work * max(1, DRAWN // len(reading.y))
        rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([spec.seed, number])))
        up_to, last = np.cumsum(reading.mean, axis=1), reading.mean.shape[1] - 1
        # one copy after the other, with a look before each: all at once is many ms in which the next picture waits
        labels = [(up_to < rng.random(len(up_to))[:, None]).sum(axis=1).clip(0, last) for _ in ticket.looking(range(copies))]
        found = analysis.calibration(spec, np.tile(reading.mean, (copies, 1)), np.concatenate(labels), BINS)
        with np.errstate(invalid="ignore"):
            spread = found.held * found.confidence * (1.0 - found.confidence)
            z = (found.accuracy - found.confidence) * found.held / np.sqrt(spread)
        judged = np.nan_to_num(spread) >= EXPECTED
        if not judged.any():
            return unknown(name, WORDS.phrase("checks.certain"), kind="kernel", unit="SE")
        words = WORDS.phrase("checks.calibration_told", copies=copies, bins=int(judged.sum()))
        return looked(number, name, z[judged], np.eye(int(judged.sum())), words, kind="kernel")

    return two_looks(look)
