"""The picture of this lesson is that of all growing networks, see `lessons.families.growing`."""

from __future__ import annotations

from lessons.families.growing.chains import first_look
from lessons.families.growing.scenes import picture
from lessons.neurons.spec import NeuronsSpec


def scene(spec: NeuronsSpec, window: int | None) -> bytes:
    """The first picture: all chains as far as they come at once. `window` is not used: a sweep's inside travels with
    it.
    """
    return picture(first_look(spec))
