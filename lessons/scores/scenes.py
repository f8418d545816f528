"""The picture: one of four views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.kit.player.scene import Scene
from app.kit.preview import Preview
from engine.networks.stack import Networks
from lessons.families.digit_posteriors import sources
from lessons.scores import analysis, stage_abstain, stage_errors, stage_probabilities
from lessons.scores.analysis import Reading
from lessons.scores.spec import WORDS, ScoresSpec

VIEWS: dict[str, Callable[[ScoresSpec, Reading, bool], Scene]] = {
    "errors": stage_errors.made,
    "thresholds": stage_probabilities.thresholds,
    "calibration": stage_probabilities.bins,
    "abstain": stage_abstain.made,
}
PREVIEWS = dict.fromkeys(("answered", "abstain_cost", "networks"), Preview(smooth=False))


def scene(spec: ScoresSpec, window: int | None) -> bytes:
    """The picture once the networks are trained."""
    reading = analysis.read(spec)
    assert reading is not None
    return picture(spec, reading)


def grow(spec: ScoresSpec, job: Any) -> bytes | None:
    """The same, with pictures on the way while the networks still learn."""

    def learning(networks: Networks, note: str) -> bytes:
        return picture(spec, analysis.look(spec, networks, analysis.WATCHED), note) if note else scene(spec, None)

    trained = analysis.shared(spec)
    if trained.done and not analysis.is_read(spec):  # on another page of these networks
        few = analysis.look(spec.replace(networks=min(spec.networks, analysis.FEW)), trained.networks())
        job.publish(picture(spec, few, WORDS.phrase("stage.reading", networks=len(few.draws))))
    return sources.grown(spec.data, lambda: analysis.shared(spec), learning, job)


def picture(spec: ScoresSpec, reading: Reading, note: str = "") -> bytes:
    """The scene of these networks; `note`: how far their training is."""
    made = VIEWS[spec.view](spec, reading, not note)
    sources.say(made, spec.data, note)
    return made.encode()
