"""The picture of the part that is shown, and how it grows while the networks learn."""

from __future__ import annotations

from typing import Any

from app.kit.preview import Preview
from engine.networks.stack import Networks
from lessons.families.digit_posteriors import sources
from lessons.uncertainty_maps import analysis, domain_scenes, sweep_scenes
from lessons.uncertainty_maps.spec import MapsSpec

PREVIEWS = {"level": Preview()}


def scene(spec: MapsSpec, window: int | None) -> bytes:
    """The picture once the networks are trained."""
    networks = analysis.trained(spec)
    assert networks is not None
    return _picture(spec, networks, "")


def grow(spec: MapsSpec, job: Any) -> bytes | None:
    """The same, with pictures on the way while letters are drawn and the networks still learn."""
    if spec.part == "domain":
        one = analysis.shared(spec)
        first = domain_scenes.beginning(spec, one.networks(), one.note)
        if first is not None:
            job.publish(first)
    return sources.grown(spec.data, lambda: analysis.shared(spec), lambda networks, note: _picture(spec, networks, note), job)


def _picture(spec: MapsSpec, networks: Networks, note: str) -> bytes:
    part = domain_scenes if spec.part == "domain" else sweep_scenes
    return part.picture(spec, networks, note)
