"""The picture of the part that is shown, and how it grows while the networks learn."""

from __future__ import annotations

from typing import Any

from app.kit.preview import Preview
from engine.networks.stack import Networks
from lessons.uncertainty_maps import analysis, domain_scenes, sweep_scenes
from lessons.uncertainty_maps.spec import MapsSpec

PREVIEWS = {"level": Preview()}


def scene(spec: MapsSpec, window: int | None) -> bytes:
    """The picture once the networks are trained."""
    networks = analysis.trained(spec)
    assert networks is not None
    return _picture(spec, networks, 1.0)


def grow(spec: MapsSpec, job: Any) -> bytes | None:
    """The same, with pictures on the way while the networks still learn."""
    shared = analysis.shared(spec)
    while not shared.done:
        job.publish(_picture(spec, shared.networks(), shared.fraction))
        if job.is_set():
            return None
        shared.advance(job.is_set)
    return _picture(spec, shared.networks(), 1.0)


def _picture(spec: MapsSpec, networks: Networks, fraction: float) -> bytes:
    part = domain_scenes if spec.part == "domain" else sweep_scenes
    return part.picture(spec, networks, fraction)
