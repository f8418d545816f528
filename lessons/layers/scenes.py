"""The picture of this lesson is that of all growing networks, see `app.kit.growing`."""

from __future__ import annotations

from app.kit import growing
from lessons.layers.spec import LayersSpec


def scene(spec: LayersSpec, window: int | None) -> bytes:
    """The first picture: all chains as far as they come at once. `window` is not used: a sweep's inside travels with
    it.
    """
    return growing.picture(growing.first_look(spec))
