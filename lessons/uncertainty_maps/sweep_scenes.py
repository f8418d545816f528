"""The sweep as a scene: one amount a step. The image, its networks, the parts of the uncertainty, maps over two
changes.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from app.kit import theme
from app.kit.player.scene import Axis, Panel, Scene, levels, pixel_blocks
from engine.networks.stack import Networks
from lessons.families.digit_posteriors import sources
from lessons.families.digit_posteriors.spec import NAMES
from lessons.uncertainty_maps import analysis
from lessons.uncertainty_maps.analysis import Maps, Sweep
from lessons.uncertainty_maps.spec import MapsSpec

RATE = 6.0  # steps a second
TOP, MIDDLE, BOTTOM = 190, 190, 190  # px
CELLS = 48  # of an image along an edge: the player smooths, and pixels should be seen as such
SHOWN = 20  # networks in the strip
LINES = 4  # digits whose probability is drawn
MOST = 2.35  # nats, a little above log 10
CHANGES = {
    "rotate": ("turned", "°"),
    "blur": ("blurred", "px"),
    "shift": ("shifted right", "px"),
    "noise": ("noise", "sd"),
    "morph": ("morphed", "share"),
}
PARTS = {"total": ("ink", "total"), "aleatoric": ("class-0", "aleatoric"), "epistemic": ("class-1", "epistemic")}
DIGIT_ROLES = ("class-2", "chain-3", "chain-4", "muted")


def picture(spec: MapsSpec, networks: Networks, note: str) -> bytes:
    """The scene of these networks; `note`: how far their training is."""
    found, maps = analysis.sweep(spec, networks), analysis.maps(spec, networks)
    same = (spec.data, spec.image, spec.other, spec.across, spec.second, spec.method, spec.seed)
    made = Scene(
        run=hashlib.blake2b(repr(same).encode(), digest_size=12).hexdigest(),  # another row keeps the reader's place
        steps=len(found.amounts),
        start=int(found.parts.total.argmax()),
        rate=RATE,
        theme=theme.palette(),
        label=f"A test image changed step by step, and what {len(networks)} networks ({NAMES[spec.method]}) say.",
    )
    _image(made, found)
    strip(made, "strip", "Probability, a dash a network", found.draws, place=(4, 0, 8, 1), height=TOP)
    _digits(made, spec, found)
    _curves(made, spec, found)
    _maps(made, spec, found, maps)
    _words(made, spec, found, note)
    return made.encode()


def amount_axis(spec: MapsSpec, name: str, **limits: Any) -> Axis:
    """An axis of amounts of a change."""
    words, unit = CHANGES[name]
    ticks = [(at, f"{at:g}") for at in (0, 90, 180, 270, 360)] if name == "rotate" else None
    return Axis(f"{words} ({unit})", limits.get("low", 0.0), limits.get("high", analysis.reach(spec, name)), ticks=ticks)


# Panels ---------------------------------------------------------------------------------------------------------------


def image_panel(made: Scene, id: str, title: str, images: np.ndarray, place: tuple, height: int, cells: int) -> None:
    """The image (T, side, side) of each step, in about so many `cells` along an edge."""
    side = images.shape[1]
    panel = made.panel(
        id,
        title=title,
        x=Axis(f"{side} × {side} pixels", 0, side, ticks=()),
        y=Axis("", 0, side, ticks=()),
        equal=True,
        place=place,
        height=height,
    )
    frames = pixel_blocks(levels(images, 1.0), round(cells / side))
    panel.heatmap(frames, x=(0, side), y=(0, side), low=0.0, high=1.0, at=np.arange(len(frames)), colormap="cividis", colorbar=False)


def _image(made: Scene, found: Sweep) -> None:
    image_panel(made, "seen", "The image", found.images, (0, 0, 4, 1), TOP, CELLS)


def strip(made: Scene, id: str, title: str, draws: np.ndarray, place: tuple, height: int) -> Panel:
    """Of each step: a dash for each of the first networks and each digit, and the average of all. draws (R, T, 10)."""
    count, steps, classes = draws.shape
    shown = min(SHOWN, count)
    ticks = [(digit, str(digit)) for digit in range(classes)]
    panel = made.panel(
        id, title=title, x=Axis("digit", -0.6, classes - 0.4, ticks=ticks), y=Axis("probability", -0.02, 1.02), place=place, height=height
    )
    digit = np.arange(classes)[:, None]
    where = np.linspace(-0.32, 0.32, shown)
    dashes = np.empty((steps, classes, shown, 3, 2))
    dashes[..., 0] = (digit + where)[:, :, None] + np.array([-0.05, 0.05, np.nan])
    dashes[..., 1] = draws[:shown].transpose(1, 2, 0)[..., None]
    panel.path(
        dashes.reshape(steps, -1, 2), at=np.arange(steps), role="posterior", width=2.4, alpha=0.7, label=f"networks (the first {shown})"
    )
    averages = np.empty((steps, classes, 3, 2))
    averages[..., 0] = digit + np.array([-0.4, 0.4, np.nan])
    averages[..., 1] = draws.mean(axis=0)[..., None]
    panel.path(averages.reshape(steps, -1, 2), at=np.arange(steps), role="ink", width=2.4, label=f"average of all {count}")
    return panel


def _digits(made: Scene, spec: MapsSpec, found: Sweep) -> None:
    """Averaged probability of the digits that come up, against the amount."""
    panel = made.panel(
        "digits",
        title="Averaged probability",
        x=amount_axis(spec, spec.across),
        y=Axis("probability", -0.02, 1.12),
        place=(12, 0, 8, 1),
        height=TOP,
    )
    mean = found.parts.mean
    most = np.argsort(-mean.max(axis=0), kind="stable")[:LINES]
    for rank, (digit, role) in enumerate(zip(sorted(most), DIGIT_ROLES, strict=False)):
        values = mean[:, digit]
        panel.line(found.amounts, values, role=role, width=1.2, alpha=0.45, dash=rank % 2 == 1)
        panel.line(found.amounts, values, show="upto", role=role, width=2.4, dash=rank % 2 == 1, label=f"P({digit})")
        top = int(values.argmax())
        panel.text(found.amounts[top], min(float(values[top]) + 0.04, 1.05), str(digit), role=role)
    panel.rule(x=found.amounts, role="highlight", dash=True)


def _curves(made: Scene, spec: MapsSpec, found: Sweep) -> None:
    panel = made.panel(
        "parts",
        title="Uncertainty along the way",
        x=amount_axis(spec, spec.across),
        y=Axis("nats, 0 to log 10", 0.0, MOST),
        place=(0, 1, 12, 1),
        height=MIDDLE,
    )
    for name, (role, label) in PARTS.items():
        values = getattr(found.parts, name)
        panel.line(found.amounts, values, role=role, width=1.2, alpha=0.4, dash=name == "aleatoric")
        panel.line(
            found.amounts, values, show="upto", role=role, width=2.6 if name == "total" else 2.0, label=label, dash=name == "aleatoric"
        )
    panel.points(np.column_stack([found.amounts, found.parts.epistemic]), show="at", role="class-1", shape="diamond", size=5.0)
    panel.points(np.column_stack([found.amounts, found.parts.total]), show="at", role="ink", size=4.0)
    panel.rule(x=found.amounts, role="highlight", dash=True)


def _maps(made: Scene, spec: MapsSpec, found: Sweep, maps: Maps) -> None:
    """The three parts on one scale, and the probability of the label."""
    half_x = 0.5 * analysis.reach(spec, spec.across) / (analysis.COLUMNS - 1)
    half_y = 0.5 * analysis.reach(spec, spec.second) / (analysis.ROWS - 1)
    x, y = (-half_x, analysis.reach(spec, spec.across) + half_x), (-half_y, analysis.reach(spec, spec.second) + half_y)
    truth = " or ".join(str(label) for label in analysis.labels(spec))
    row = np.full(len(found.amounts), spec.level * analysis.reach(spec, spec.second))
    here = np.column_stack([found.amounts, row])
    looks = (
        ("truth", f"Averaged P({truth})", (12, 1, 8, 1), 1.0, "cividis", True),
        ("total", "Total", (0, 2, 6, 1), MOST, "viridis", False),
        ("aleatoric", "Aleatoric", (6, 2, 6, 1), MOST, "viridis", False),
        ("epistemic", "Epistemic", (12, 2, 8, 1), MOST, "viridis", True),
    )
    for name, title, place, high, colormap, bar in looks:
        panel = made.panel(
            f"map-{name}",
            title=title,
            x=amount_axis(spec, spec.across, low=x[0], high=x[1]),
            y=amount_axis(spec, spec.second, low=y[0], high=y[1]) if name in ("total", "truth") else _bare(y),
            place=place,
            height=BOTTOM,
            clickable=True,
        )
        unit = "probability" if name == "truth" else "nats"
        panel.heatmap(levels(getattr(maps, name), high), x=x, y=y, low=0.0, high=high, colormap=colormap, colorbar=bar, label=unit)
        panel.points(here, role="surface", size=1.4, alpha=0.8)
        panel.points(here, show="at", role="highlight", shape="diamond", size=6.0)


def _bare(y: tuple[float, float]) -> Axis:
    return Axis("", *y, ticks=())


def _words(made: Scene, spec: MapsSpec, found: Sweep, note: str) -> None:
    sources.say(made, spec.data, note)
    words, unit = CHANGES[spec.across]
    space, digits = ("", 0) if unit == "°" else (" ", 2)
    mean, parts = found.parts.mean, found.parts
    says, top = mean.argmax(axis=1), mean.max(axis=1)
    truth = mean[:, analysis.labels(spec)].sum(axis=1)
    other, other_unit = CHANGES[spec.second]
    held = f"; {other} {spec.level * analysis.reach(spec, spec.second):.2g} {other_unit}" if spec.level else ""
    names = " or ".join(str(label) for label in analysis.labels(spec))
    made.readout(
        "image",
        f"test image {spec.image}, {words} {{amount:.{digits}f}}{space}{unit}{held}: P({names}) = {{truth:.2f}}",
        amount=found.amounts,
        truth=truth,
        show="at",
    )
    made.readout("average", "the average says {says:.0f} with probability {top:.2f}", says=says, top=top, show="at")
    made.readout(
        "parts",
        "total = aleatoric + epistemic: {total:.3f} = {aleatoric:.3f} + {epistemic:.3f} nats (at most log 10 = 2.30)",
        total=parts.total,
        aleatoric=parts.aleatoric,
        epistemic=parts.epistemic,
        show="at",
    )
    made.say(
        f"{words} {{amount:.{digits}f}} {unit}: {{says:.0f}} with probability {{top:.2f}}. Total {{total:.2f}} nats, "
        "of it {epistemic:.2f} epistemic.",
        amount=found.amounts,
        says=says,
        top=top,
        total=parts.total,
        epistemic=parts.epistemic,
    )
    columns: dict[str, Any] = {f"{words} ({unit})": found.amounts, "says": says, "probability": top}
    columns |= {f"{name} (nats)": getattr(parts, name) for name in PARTS}
    made.table(columns)
