"""Many small images in one panel, as on a contact sheet."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit.player.scene import Axis, Panel, Scene, pixel_blocks


def sheet(
    made: Scene,
    id: str,
    title: str,
    frames: NDArray[np.uint8],
    *,
    in_row: int,
    caption: str,
    grain: int = 1,
    panel: dict[str, Any] | None = None,
    colorbar: bool = True,
    label: str | None = None,
    at: NDArray[np.integer[Any]] | None = None,
    **look: Any,
) -> Panel:
    """A panel with N images a step, (steps, N, h, w) bytes, the top row first: `in_row` of them in a row, with room between.
    Of one step alone they stay. With `at` (steps, N), step t shows image n as it is in frame `at[t, n]` of (F, N, h, w).

    caption : under them; grain : cells of a pixel along an edge, for the player smooths
    panel : its place, if no layout names it; look : low, high and colormap, of all images
    """
    count, high, wide = frames.shape[1:]
    rows = -(-count // in_row)
    if at is None and len(frames) > 1:
        at = np.repeat(np.arange(len(frames))[:, None], count, axis=1)
    across, down = in_row * (wide + 1) - 1, rows * (high + 1) - 1
    x, y = Axis(caption, 0, across, ticks=()), Axis("", 0, down, ticks=())
    found = made.panel(id, title=title, x=x, y=y, equal=True, **(panel or {}))
    for image in range(count):
        row, column = divmod(image, in_row)
        left, top = column * (wide + 1), down - row * (high + 1)
        last = image == count - 1
        found.heatmap(
            pixel_blocks(frames[:, image], grain),
            x=(left, left + wide),
            y=(top - high, top),
            at=None if at is None else at[:, image],
            label=label if last else None,
            colorbar=colorbar and last,
            **look,
        )
    return found
