"""The reading as a scene: one network a step. Strips of probabilities, votes, what the networks see, which pixels
matter, the parts of the uncertainty.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from app.kit import theme
from app.kit.player.scene import Axis, Scene, levels, pixel_blocks
from engine.networks.stack import Networks
from lessons.digits import analysis
from lessons.digits.analysis import Reading
from lessons.digits.spec import WORDS, DigitsSpec
from lessons.families.digit_posteriors import sources
from lessons.families.digit_posteriors.spec import NAMES
from lessons.families.digit_posteriors.strip import digit_axis, probability_axis, strip

HEIGHT = 205
SMALL = 190
CELLS = 48  # of a map along an edge: the player smooths, and pixels should be seen as such
RATE = 8.0  # networks a second
PARTS = ("total", "aleatoric", "epistemic")


def scene(spec: DigitsSpec, window: int | None) -> bytes:
    """The picture once the networks are trained."""
    networks = analysis.trained(spec)
    assert networks is not None
    return picture(spec, networks)


def grow(spec: DigitsSpec, job: Any) -> bytes | None:
    """The same, with pictures on the way while the networks still learn."""
    return sources.grown(spec.data, lambda: analysis.shared(spec), lambda networks, note: picture(spec, networks, note), job)


def picture(spec: DigitsSpec, networks: Networks, note: str = "") -> bytes:
    """The scene of these networks; `note`: how far their training is."""
    reading = analysis.read(spec, networks)
    count = len(reading.draws)
    same = (spec.data, spec.files, spec.method, spec.seed, spec.source == "pad", count)
    made = Scene(
        run=hashlib.blake2b(repr(same).encode(), digest_size=12).hexdigest(),  # a new stroke keeps the reader's place
        steps=count,
        start=count - 1,
        rate=RATE,
        theme=theme.palette(),
        label=WORDS.phrase("stage.picture", networks=count, method=NAMES[spec.method]),
    )
    _strip(made, reading)
    _votes(made, reading)
    _image(made, spec, reading)
    _maps(made, spec, networks, reading)
    _parts(made, reading)
    _words(made, spec, reading, note)
    return made.encode()


def _strip(made: Scene, reading: Reading) -> None:
    count, classes = reading.draws.shape
    panel = made.panel(
        "strip",
        title=WORDS.phrase("stage.strip", networks=count),
        x=digit_axis(classes),
        y=probability_axis(),
        place=(5, 0, 12, 1),
        height=HEIGHT,
    )
    each, average, this = (WORDS.phrase(f"stage.{name}") for name in ("each", "average", "this_network"))
    strip(panel, reading.draws, reading.mean, each, average, this)


def _votes(made: Scene, reading: Reading) -> None:
    classes = reading.draws.shape[1]
    share = Axis(WORDS.phrase("stage.share"), 0.0, 1.02)
    panel = made.panel("votes", title=WORDS.phrase("stage.votes"), x=None, y=share, place=(0, 1, 7, 1), height=SMALL)
    names = [str(digit) for digit in range(classes)]
    panel.counts(reading.says, classes, names, role="class-1", label=WORDS.phrase("stage.voters"))


def _image(made: Scene, spec: DigitsSpec, reading: Reading) -> None:
    side = len(reading.image)
    pixels: dict[str, Any] = {"x": _pixels(side), "y": _pixels(side, ""), "equal": True}
    panel = made.panel("seen", title=WORDS.phrase("stage.seen"), place=(0, 0, 5, 1), height=HEIGHT, **pixels)
    ink = _grainy(levels(reading.image, 1.0))
    panel.heatmap(ink, x=(0, side), y=(0, side), low=0.0, high=1.0, colormap="cividis", colorbar=False)


def _maps(made: Scene, spec: DigitsSpec, networks: Networks, reading: Reading) -> None:
    found = analysis.maps(spec, networks, reading.image)
    side = len(reading.image)
    most = max(float(np.abs(values).max()) for values in found)
    most = float(f"{max(most, 1e-3):.2g}")
    unit = WORDS.phrase(f"stage.unit_{spec.maps}")
    places = {"epistemic": (7, 1, 7, 1), "aleatoric": (14, 1, 9, 1)}
    for (name, place), values in zip(places.items(), (found.epistemic, found.aleatoric), strict=True):
        last = name == "aleatoric"
        title = WORDS.phrase(f"stage.{name}_map")
        panel = made.panel(name, title=title, x=_pixels(side), y=_pixels(side, ""), equal=True, place=place, height=SMALL)
        cells = _grainy(levels(values, most, -most))
        panel.heatmap(cells, x=(0, side), y=(0, side), low=-most, high=most, colormap="diverging", label=unit, colorbar=last)


def _pixels(side: int, label: str | None = None) -> Axis:
    return Axis(WORDS.phrase("stage.pixels", side=side) if label is None else label, 0, side, ticks=())


def _grainy(image: np.ndarray) -> np.ndarray:
    """Pixels in blocks, of about CELLS cells along an edge in all."""
    return pixel_blocks(image, -(-CELLS // len(image)))


def _parts(made: Scene, reading: Reading) -> None:
    classes = reading.draws.shape[1]
    panel = made.panel(
        "parts",
        title=WORDS.phrase("stage.parts"),
        x=None,
        y=Axis(WORDS.phrase("stage.parts_axis", classes=classes), min(0.0, _lowest(reading)), 2.35),
        place=(17, 0, 6, 1),
        height=HEIGHT,
    )
    values = np.column_stack([getattr(reading, part) for part in PARTS])
    panel.bars(values, labels=[WORDS.phrase(f"stage.part_{part}") for part in PARTS], role="energy")


def _lowest(reading: Reading) -> float:
    """Below 0 only where the average is a wrong one."""
    return min(0.0, float(f"{1.1 * reading.epistemic.min():.2g}"))


def _words(made: Scene, spec: DigitsSpec, reading: Reading, note: str) -> None:
    count, classes = reading.draws.shape
    n = np.arange(1, count + 1)
    sources.say(made, spec.data, note)
    truth = analysis.truth_of(spec)
    if truth is not None:
        made.readout("truth", WORDS.phrase("stage.truth_card", number=spec.number, digit=truth))
    best = reading.mean.argmax(axis=1)
    top = reading.mean.max(axis=1)
    so_far = {"n": n, "best": best, "top": top, "votes": _votes_for(reading, best)}
    made.readout("average", WORDS.phrase("stage.average_card"), show="at", withheld=True, **so_far)  # one network says much of all
    made.readout(
        "parts",
        WORDS.phrase("stage.uncertainty_card", classes=classes, most=np.log(classes)),
        withheld=True,
        total=reading.total,
        aleatoric=reading.aleatoric,
        epistemic=reading.epistemic,
        show="at",
    )
    alone = {"n": n, "says": reading.says, "sure": reading.draws.max(axis=1)}
    made.readout("network", WORDS.phrase("stage.network_card"), show="at", withheld=True, **alone)
    made.say(WORDS.phrase("stage.said"), withheld=True, n=n, best=best, top=top, total=reading.total, epistemic=reading.epistemic)
    columns: dict[str, Any] = {"network": n, "says": reading.says}
    columns |= {f"P({digit})": reading.draws[:, digit] for digit in range(classes)}
    columns |= {f"{name} so far (nats)": getattr(reading, name) for name in PARTS}
    made.table(columns)


def _votes_for(reading: Reading, best: np.ndarray) -> np.ndarray:
    """(R,) of the first networks, how many say what their average says."""
    said = np.cumsum(reading.says[:, None] == np.arange(reading.draws.shape[1]), axis=0)
    return said[np.arange(len(best)), best]
