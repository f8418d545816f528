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
from lessons.uncertainty_maps.spec import WORDS, MapsSpec

RATE = 6.0  # steps a second
TOP, MIDDLE, BOTTOM = 190, 190, 190  # px
CELLS = 48  # of an image along an edge: the player smooths, and pixels should be seen as such
SHOWN = 20  # networks in the strip
LINES = 4  # digits whose probability is drawn
MOST = 2.35  # nats, a little above log 10
CHANGED, UNITS = WORDS["changed"], WORDS["units"]  # of every change
PARTS = {"total": "ink", "aleatoric": "class-0", "epistemic": "class-1"}
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
        label=WORDS.phrase("stage.picture", networks=len(networks), method=NAMES[spec.method]),
    )
    _image(made, found)
    strip(made, "strip", WORDS.phrase("stage.strip"), found.draws, place=(4, 0, 8, 1), height=TOP)
    _digits(made, spec, found)
    _curves(made, spec, found)
    _maps(made, spec, found, maps)
    _words(made, spec, found, note)
    return made.encode()


def amount_axis(spec: MapsSpec, name: str, **limits: Any) -> Axis:
    """An axis of amounts of a change."""
    ticks = [(at, f"{at:g}") for at in (0, 90, 180, 270, 360)] if name == "rotate" else None
    return Axis(amount_name(name), limits.get("low", 0.0), limits.get("high", analysis.reach(spec, name)), ticks=ticks)


def amount_name(name: str) -> str:
    """What stands at an axis of amounts of a change."""
    return WORDS.phrase("stage.amount_axis", changed=CHANGED[name], unit=UNITS[name])


def digit_axis(classes: int) -> Axis:
    """An axis with a place for every digit."""
    return Axis(WORDS.phrase("stage.digit"), -0.6, classes - 0.4, ticks=[(digit, str(digit)) for digit in range(classes)])


# Panels ---------------------------------------------------------------------------------------------------------------


def image_panel(made: Scene, id: str, title: str, images: np.ndarray, place: tuple, height: int, cells: int) -> None:
    """The image (T, side, side) of each step, in about so many `cells` along an edge."""
    side = images.shape[1]
    panel = made.panel(
        id,
        title=title,
        x=Axis(WORDS.phrase("stage.pixels", side=side), 0, side, ticks=()),
        y=Axis("", 0, side, ticks=()),
        equal=True,
        place=place,
        height=height,
    )
    frames = pixel_blocks(levels(images, 1.0), round(cells / side))
    panel.heatmap(frames, x=(0, side), y=(0, side), low=0.0, high=1.0, at=np.arange(len(frames)), colormap="cividis", colorbar=False)


def _image(made: Scene, found: Sweep) -> None:
    image_panel(made, "seen", WORDS.phrase("stage.seen"), found.images, (0, 0, 4, 1), TOP, CELLS)


def strip(made: Scene, id: str, title: str, draws: np.ndarray, place: tuple, height: int) -> Panel:
    """Of each step: a dash for each of the first networks and each digit, and the average of all. draws (R, T, 10)."""
    count, steps, classes = draws.shape
    shown = min(SHOWN, count)
    chance = Axis(WORDS.phrase("stage.probability"), -0.02, 1.02)
    panel = made.panel(id, title=title, x=digit_axis(classes), y=chance, place=place, height=height)
    digit = np.arange(classes)[:, None]
    where = np.linspace(-0.32, 0.32, shown)
    dashes = np.empty((steps, classes, shown, 3, 2))
    dashes[..., 0] = (digit + where)[:, :, None] + np.array([-0.05, 0.05, np.nan])
    dashes[..., 1] = draws[:shown].transpose(1, 2, 0)[..., None]
    some = WORDS.phrase("stage.some_networks", some=shown)
    panel.path(dashes.reshape(steps, -1, 2), at=np.arange(steps), role="posterior", width=2.4, alpha=0.7, label=some)
    averages = np.empty((steps, classes, 3, 2))
    averages[..., 0] = digit + np.array([-0.4, 0.4, np.nan])
    averages[..., 1] = draws.mean(axis=0)[..., None]
    average = WORDS.phrase("stage.average", networks=count)
    panel.path(averages.reshape(steps, -1, 2), at=np.arange(steps), role="ink", width=2.4, label=average)
    return panel


def _digits(made: Scene, spec: MapsSpec, found: Sweep) -> None:
    """Averaged probability of the digits that come up, against the amount."""
    panel = made.panel(
        "digits",
        title=WORDS.phrase("stage.digits"),
        x=amount_axis(spec, spec.across),
        y=Axis(WORDS.phrase("stage.probability"), -0.02, 1.12),
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
        title=WORDS.phrase("stage.parts"),
        x=amount_axis(spec, spec.across),
        y=Axis(WORDS.phrase("stage.parts_axis"), 0.0, MOST),
        place=(0, 1, 12, 1),
        height=MIDDLE,
    )
    for name, role in PARTS.items():
        values = getattr(found.parts, name)
        panel.line(found.amounts, values, role=role, width=1.2, alpha=0.4, dash=name == "aleatoric")
        width, label = 2.6 if name == "total" else 2.0, WORDS.phrase(f"parts.{name}")
        panel.line(found.amounts, values, show="upto", role=role, width=width, label=label, dash=name == "aleatoric")
    panel.points(np.column_stack([found.amounts, found.parts.epistemic]), show="at", role="class-1", shape="diamond", size=5.0)
    panel.points(np.column_stack([found.amounts, found.parts.total]), show="at", role="ink", size=4.0)
    panel.rule(x=found.amounts, role="highlight", dash=True)


def _maps(made: Scene, spec: MapsSpec, found: Sweep, maps: Maps) -> None:
    """The three parts on one scale, and the probability of the label."""
    half_x = 0.5 * analysis.reach(spec, spec.across) / (analysis.COLUMNS - 1)
    half_y = 0.5 * analysis.reach(spec, spec.second) / (analysis.ROWS - 1)
    x, y = (-half_x, analysis.reach(spec, spec.across) + half_x), (-half_y, analysis.reach(spec, spec.second) + half_y)
    row = np.full(len(found.amounts), spec.level * analysis.reach(spec, spec.second))
    here = np.column_stack([found.amounts, row])
    looks = (
        ("truth", WORDS.phrase("stage.map_truth", labels=_labels(spec)), (12, 1, 8, 1), 1.0, "cividis", True),
        ("total", WORDS.phrase("stage.map_total"), (0, 2, 6, 1), MOST, "viridis", False),
        ("aleatoric", WORDS.phrase("stage.map_aleatoric"), (6, 2, 6, 1), MOST, "viridis", False),
        ("epistemic", WORDS.phrase("stage.map_epistemic"), (12, 2, 8, 1), MOST, "viridis", True),
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
        unit = WORDS.phrase("stage.probability" if name == "truth" else "stage.nats")
        panel.heatmap(levels(getattr(maps, name), high), x=x, y=y, low=0.0, high=high, colormap=colormap, colorbar=bar, label=unit)
        panel.points(here, role="surface", size=1.4, alpha=0.8)
        panel.points(here, show="at", role="highlight", shape="diamond", size=6.0)


def _bare(y: tuple[float, float]) -> Axis:
    return Axis("", *y, ticks=())


def _labels(spec: MapsSpec) -> str:
    """What the image may show."""
    one, *other = analysis.labels(spec)
    return WORDS.phrase("stage.either", one=one, other=other[0]) if other else str(one)


def _words(made: Scene, spec: MapsSpec, found: Sweep, note: str) -> None:
    sources.say(made, spec.data, note)
    changed, unit, places = CHANGED[spec.across], UNITS[spec.across], 0 if spec.across == "rotate" else 2
    mean, parts = found.parts.mean, found.parts
    says, top = mean.argmax(axis=1), mean.max(axis=1)
    truth = mean[:, analysis.labels(spec)].sum(axis=1)
    second = spec.level * analysis.reach(spec, spec.second)
    held = WORDS.phrase("stage.held", changed=CHANGED[spec.second], amount=second, unit=UNITS[spec.second]) if spec.level else ""
    card = WORDS.phrase(
        "stage.image_card",
        image=spec.image,
        changed=changed,
        places=places,
        unit=unit if unit == "°" else f" {unit}",
        held=held,
        labels=_labels(spec),
    )
    made.readout("image", card, amount=found.amounts, truth=truth, show="at")
    made.readout("average", WORDS.phrase("stage.average_card"), says=says, top=top, show="at")
    made.readout(
        "parts",
        WORDS.phrase("stage.uncertainty_card", classes=mean.shape[1], most=np.log(mean.shape[1])),
        total=parts.total,
        aleatoric=parts.aleatoric,
        epistemic=parts.epistemic,
        show="at",
    )
    made.say(
        WORDS.phrase("stage.said", changed=changed, places=places, unit=unit),
        amount=found.amounts,
        says=says,
        top=top,
        total=parts.total,
        epistemic=parts.epistemic,
    )
    columns: dict[str, Any] = {amount_name(spec.across): found.amounts, "says": says, "probability": top}
    columns |= {f"{name} (nats)": getattr(parts, name) for name in PARTS}
    made.table(columns)
