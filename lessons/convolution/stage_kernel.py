"""A kernel goes over a digit, one place a step: the pixels under it, their products, the sum written into the map."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit.player.scene import Scene
from engine.variational.convolution import max_pool
from lessons.convolution import analysis
from lessons.convolution.marks import begin, most, outline, signed, square, window_of
from lessons.convolution.spec import WORDS, ConvolutionLesson
from lessons.convolution.training import KERNEL, POOL, SIDE, State

Array = NDArray[np.float64]

PLAN = "seen*5 kernel*4 map*6 / products*7 pooled*8"
HEIGHTS = (245, 225)


def draw(spec: ConvolutionLesson, state: State | None) -> bytes:
    """The picture of this part."""
    image = analysis.image_of(spec).astype(np.float64)
    kernel, bias = analysis.kernel_of(spec, state)
    seen = analysis.windows(image)
    products = seen * kernel
    sums = products.sum(axis=(1, 2))
    written = sums + bias
    places = SIDE**2
    name = WORDS["options.kernel"][spec.kernel]
    label = WORDS.phrase("kernel.picture", name=name, places=places)
    made = begin(spec, state, places, label, rate=8.0).layout(PLAN, HEIGHTS)

    here = np.arange(places)
    rim = WORDS.phrase("kernel.rim", side=SIDE)
    panel = square(made, "seen", WORDS.phrase("kernel.digit"), image, low=0.0, high=1.0, colours="cividis", rim=1, caption=rim)
    panel.path(outline(0, 0, SIDE), role="muted", width=1.0)
    panel.path(window_of(here), at=here, role="highlight", width=3.0, label=WORDS.phrase("kernel.window"))

    top = most(kernel)
    weights = WORDS.phrase("kernel.weights_and_bias", edge=KERNEL, bias=signed(bias))
    panel = square(made, "kernel", WORDS.phrase("kernel.name", name=name), kernel, low=-top, high=top, caption=weights)
    for row in range(KERNEL):
        for column in range(KERNEL):
            panel.text(column + 0.5, KERNEL - row - 0.5, signed(kernel[row, column]), role="ink")

    top = most(products)
    title, nine = WORDS.phrase("kernel.products"), WORDS.phrase("kernel.nine")
    panel = square(made, "products", title, products, low=-top, high=top, at=here, caption=nine)
    panel.path(outline(0, 0, KERNEL, KERNEL), role="highlight", width=3.0)

    _maps(made, written, here)
    _words(made, seen, kernel, bias, sums, written)
    return made.encode()


def _maps(made: Scene, written: Array, here: NDArray[np.int64]) -> None:
    """The map as far as it is filled, and the largest of each 2 × 2 places that are."""
    top, places = most(written), len(written)
    filled = np.where(here[None, :] <= here[:, None], written, 0.0).reshape(places, SIDE, SIDE)
    title, label, caption = WORDS.phrase("kernel.map"), WORDS.phrase("kernel.sum"), WORDS.phrase("stage.places", side=SIDE)
    panel = square(made, "map", title, filled, low=-top, high=top, at=here, label=label, caption=caption)
    row, column = np.divmod(here, SIDE)
    panel.path(outline(row, column, 1), at=here, role="highlight", width=3.0, label=WORDS.phrase("kernel.written_now"))
    whole = max_pool(written.reshape(1, SIDE, SIDE, 1), POOL)[0, :, :, 0]
    ends = POOL * np.arange(1, SIDE // POOL + 1) - 1
    last = ends[:, None] * SIDE + ends  # place that completes a window
    pooled = np.where(last[None] <= here[:, None, None], whole, 0.0)
    title, label = WORDS.phrase("kernel.pooled", pool=POOL), WORDS.phrase("kernel.largest")
    caption = WORDS.phrase("stage.windows", side=SIDE // POOL)
    square(made, "pooled", title, pooled, low=-top, high=top, at=here, label=label, caption=caption)


def _words(made: Scene, seen: Array, kernel: Array, bias: float, sums: Array, written: Array) -> None:
    row, column = np.divmod(np.arange(len(seen)), SIDE)
    for i, (id, name) in enumerate(WORDS["rows"].items()):
        terms = " + ".join(f"{{pixel{j}:.2f}} × {signed(kernel[i, j])}" for j in range(KERNEL))
        pixels: dict[str, Any] = {f"pixel{j}": seen[:, i, j] for j in range(KERNEL)}
        words = WORDS.phrase("kernel.row_card", row=name, terms=terms)
        made.readout(id, words, show="at", **pixels, sum=(seen[:, i] * kernel[i]).sum(axis=1))
    words = WORDS.phrase("kernel.sum_and_bias_card", bias=signed(bias)) if bias else WORDS.phrase("kernel.sum_card")
    values: dict[str, Any] = {"sum": sums, "row": row + 1, "column": column + 1} | ({"z": written} if bias else {})
    made.readout("sum", words, show="at", **values)
    made.say(WORDS.phrase("kernel.said"), row=row + 1, column=column + 1, z=written)
    ink = seen.sum(axis=(1, 2))
    made.table({"row": row + 1, "column": column + 1, "ink under the window": ink, "written": written})
