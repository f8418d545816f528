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
from lessons.convolution.training import KERNEL, SIDE, State

Array = NDArray[np.float64]

PLAN = "seen*5 kernel*4 map*6 / products*7 pooled*8"
HEIGHTS = (245, 225)
ROWS = ("top", "middle", "bottom")


def draw(spec: ConvolutionLesson, state: State | None) -> bytes:
    """The picture of this part."""
    image = analysis.image_of(spec).astype(np.float64)
    kernel, bias = analysis.kernel_of(spec, state)
    seen = analysis.windows(image)
    products = seen * kernel
    sums = products.sum(axis=(1, 2))
    written = sums + bias
    places = SIDE**2
    name = WORDS["kernels"][spec.kernel]
    label = f"A kernel of nine weights, {name}, goes over a drawn digit; at each of 64 places it writes one number into a map."
    made = begin(spec, state, places, label, rate=8.0).layout(PLAN, HEIGHTS)

    here = np.arange(places)
    rim = "8 × 8 pixels, zeros around"
    panel = square(made, "seen", "The digit, and the window", image, low=0.0, high=1.0, colours="cividis", rim=1, caption=rim)
    panel.path(outline(0, 0, SIDE), role="muted", width=1.0)
    panel.path(window_of(here), at=here, role="highlight", width=3.0, label="window")

    top = most(kernel)
    panel = square(made, "kernel", f"Kernel: {name}", kernel, low=-top, high=top, caption=f"3 × 3 weights, bias {signed(bias)}")
    for row in range(KERNEL):
        for column in range(KERNEL):
            panel.text(column + 0.5, KERNEL - row - 0.5, signed(kernel[row, column]), role="ink")

    top = most(products)
    panel = square(made, "products", "Pixel × weight", products, low=-top, high=top, at=here, caption="nine products at this place")
    panel.path(outline(0, 0, KERNEL, KERNEL), role="highlight", width=3.0)

    _maps(made, written, here)
    _words(made, seen, kernel, bias, sums, written)
    return made.encode()


def _maps(made: Scene, written: Array, here: NDArray[np.int64]) -> None:
    """The map as far as it is filled, and the largest of each 2 × 2 places that are."""
    top, places = most(written), len(written)
    filled = np.where(here[None, :] <= here[:, None], written, 0.0).reshape(places, SIDE, SIDE)
    panel = square(made, "map", "The map so far", filled, low=-top, high=top, at=here, label="sum", caption="8 × 8 places")
    row, column = np.divmod(here, SIDE)
    panel.path(outline(row, column, 1), at=here, role="highlight", width=3.0, label="written now")
    whole = max_pool(written.reshape(1, SIDE, SIDE, 1), 2)[0, :, :, 0]
    last = (2 * np.arange(SIDE // 2) + 1)[:, None] * SIDE + 2 * np.arange(SIDE // 2) + 1  # place that completes a window
    pooled = np.where(last[None] <= here[:, None, None], whole, 0.0)
    title = "Pooled: the largest of 2 × 2"
    square(made, "pooled", title, pooled, low=-top, high=top, at=here, label="largest", caption="4 × 4 windows")


def _words(made: Scene, seen: Array, kernel: Array, bias: float, sums: Array, written: Array) -> None:
    row, column = np.divmod(np.arange(len(seen)), SIDE)
    for i, name in enumerate(ROWS):
        terms = " + ".join(f"{{{name}{j}:.2f}} × {signed(kernel[i, j])}" for j in range(KERNEL))
        terms_of: dict[str, Any] = {f"{name}{j}": seen[:, i, j] for j in range(KERNEL)} | {name: (seen[:, i] * kernel[i]).sum(axis=1)}
        made.readout(name, f"{name} row: {terms} = {{{name}:.2f}}", show="at", **terms_of)
    added = f" + bias {signed(bias)} = {{z:.2f}}" if bias else ""
    values: dict[str, Any] = {"sum": sums, "row": row + 1, "column": column + 1} | ({"z": written} if bias else {})
    made.readout("sum", f"sum {{sum:.2f}}{added}, written at row {{row}}, column {{column}}", show="at", **values)
    made.say("Place {t} of {steps}, row {row}, column {column}: the sum is {z:.2f}.", row=row + 1, column=column + 1, z=written)
    ink = seen.sum(axis=(1, 2))
    made.table({"row": row + 1, "column": column + 1, "ink under the window": ink, "written": written})
