"""In and out of domain as a scene: one image of each kind a step, histograms that fill, the AUROC so far."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from app.kit import theme
from app.kit.player.scene import Axis, Scene
from engine.networks.stack import Networks
from engine.scores import Decomposition, hanley_mcneil, running_auroc
from lessons.families.digit_posteriors import sources
from lessons.families.digit_posteriors.spec import NAMES
from lessons.uncertainty_maps import analysis, domain
from lessons.uncertainty_maps.domain import SHOWN, Both, Outside
from lessons.uncertainty_maps.spec import WORDS, MapsSpec
from lessons.uncertainty_maps.sweep_scenes import MOST, digit_axis, image_panel

RATE = 3.0  # images a second
CELLS = 32  # of an image along an edge
HEIGHT = 190  # px
BINS = 24
LOOKS = {"inside": ("class-0", WORDS.phrase("stage.test_digits")), "outside": ("class-1", WORDS.phrase("stage.out_of_domain"))}


def picture(spec: MapsSpec, networks: Networks, note: str) -> bytes:
    """The scene of these networks; `note`: how far their training is."""
    strange, images = domain.outside(spec), analysis.tests(spec)[0]
    both = domain.read(spec, networks)
    assert both is not None
    return _drawn(spec, networks, both, strange, min(SHOWN, len(images), len(strange.images)), None, note)


def beginning(spec: MapsSpec, networks: Networks, note: str) -> bytes | None:
    """The scene as far as its images are drawn at once; None where nothing needs to be drawn."""
    strange = domain.beginning(spec)
    if strange is None:
        return None
    images, steps = analysis.tests(spec)[0], len(strange.images)
    both = domain.read_of(spec, networks, images[:steps], strange)
    assert both is not None
    return _drawn(spec, networks, both, strange, steps, min(SHOWN, len(images)), note)


def _drawn(spec: MapsSpec, networks: Networks, both: Both, strange: Outside, steps: int, total: int | None, note: str) -> bytes:
    images, y = analysis.tests(spec)
    made = Scene(
        run=hashlib.blake2b(repr((spec.data, spec.outside, spec.method, spec.seed)).encode(), digest_size=12).hexdigest(),
        steps=steps,
        start=(total or steps) - 1,
        rate=RATE,
        total=total,
        theme=theme.palette(),
        label=WORDS.phrase("stage.domain_picture", networks=len(networks), method=NAMES[spec.method]),
    )
    image_panel(made, "in", WORDS.phrase("stage.inside"), images[:steps], (0, 0, 4, 1), HEIGHT, CELLS)
    _intervals(made, "in-strip", WORDS.phrase("stage.inside_strip"), both.inside_draws[:, :steps], (4, 0, 6, 1), y[:steps])
    image_panel(made, "out", WORDS.phrase("stage.outside"), strange.images[:steps], (10, 0, 4, 1), HEIGHT, CELLS)
    _intervals(made, "out-strip", WORDS.phrase("stage.outside_strip"), both.outside_draws[:, :steps], (14, 0, 6, 1), None)
    for column, part in ((0, "total"), (7, "epistemic")):
        _histograms(made, both, part, steps, column)
    _auroc(made, both, steps, total)
    _words(made, spec, both, strange, steps, note)
    return made.encode()


def _intervals(made: Scene, id: str, title: str, draws: np.ndarray, place: tuple, y: np.ndarray | None) -> None:
    """Of each step and digit: where 95 % of the networks are, and their average; a ring at the label."""
    count, steps, classes = draws.shape
    chance = Axis(WORDS.phrase("stage.probability"), -0.03, 1.03)
    panel = made.panel(id, title=title, x=digit_axis(classes), y=chance, place=place, height=HEIGHT)
    digit = np.arange(classes)[:, None]
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    bars = np.full((steps, classes, 3, 2), np.nan)
    bars[..., :2, 0] = digit
    bars[..., 0, 1], bars[..., 1, 1] = low, high
    interval = WORDS.phrase("stage.interval", networks=count)
    panel.path(bars.reshape(steps, -1, 2), at=np.arange(steps), role="posterior", width=5.0, alpha=0.55, label=interval)
    averages = np.empty((steps, classes, 3, 2))
    averages[..., 0] = digit + np.array([-0.4, 0.4, np.nan])
    averages[..., 1] = draws.mean(axis=0)[..., None]
    panel.path(averages.reshape(steps, -1, 2), at=np.arange(steps), role="ink", width=2.4, label=WORDS.phrase("stage.their_average"))
    if y is not None:
        marks = np.column_stack([y, draws.mean(axis=0)[np.arange(steps), y]])
        panel.points(marks, show="at", role="accept", shape="ring", size=6.0, label=WORDS.phrase("stage.label"))


def _histograms(made: Scene, both: Both, part: str, steps: int, column: int) -> None:
    title, nats, density = (WORDS.phrase(f"stage.{name}") for name in (f"histogram_{part}", "nats", "density"))
    panel = made.panel(f"histogram-{part}", title=title, x=Axis(nats, 0.0, MOST), y=Axis(density), place=(column, 1, 7, 1), height=HEIGHT)
    for kind, (role, label) in LOOKS.items():
        values = getattr(getattr(both, kind), part)[:steps]
        panel.histogram(values, bins=(0.0, MOST, BINS), role=role, label=label)
    for kind, (role, _) in LOOKS.items():
        panel.rule(x=getattr(getattr(both, kind), part)[:steps], role=role, dash=kind == "inside")


def _auroc(made: Scene, both: Both, steps: int, total: int | None) -> None:
    panel = made.panel(
        "auroc",
        title=WORDS.phrase("stage.auroc"),
        x=Axis(WORDS.phrase("stage.of_each_kind"), 0, total or steps),
        y=Axis(WORDS.phrase("stage.auroc_axis"), 0.0, 1.05),
        place=(14, 1, 6, 1),
        height=HEIGHT,
    )
    count = np.arange(1, steps + 1)
    for part, role in (("total", "ink"), ("epistemic", "class-2")):
        values = _running(both, part, steps)
        error = 2.0 * hanley_mcneil(values, count, count)
        band = (np.clip(values - error, 0.0, 1.0), np.clip(values + error, 0.0, 1.0))
        by = WORDS.phrase("stage.by", part=WORDS.phrase(f"parts.{part}"))
        panel.line(count.astype(float), values, show="upto", role=role, band=band, dash=part == "total", label=by)
    panel.rule(y=0.5, role="muted", dash=True, label=WORDS.phrase("stage.coin"))


def _running(both: Both, part: str, steps: int) -> np.ndarray:
    return running_auroc(getattr(both.inside, part)[:steps], getattr(both.outside, part)[:steps])


def _words(made: Scene, spec: MapsSpec, both: Both, strange: Outside, steps: int, note: str) -> None:
    sources.say(made, spec.data, note)
    y = analysis.tests(spec)[1][:steps]
    columns: dict[str, Any] = {}
    said: dict[str, Any] = {}
    kinds: tuple[tuple[str, Decomposition], ...] = (("in", both.inside), ("out", both.outside))
    for name, parts in kinds:
        mean = parts.mean[:steps]
        said |= {
            f"{name}_says": mean.argmax(axis=1),
            f"{name}_top": mean.max(axis=1),
            f"{name}_total": parts.total[:steps],
            f"{name}_epistemic": parts.epistemic[:steps],
        }
        columns |= {f"{name}: {part} (nats)": getattr(parts, part)[:steps] for part in domain.PARTS}
    names = list(dict.fromkeys(strange.names))
    which = np.array([names.index(name) for name in strange.names[:steps]])
    made.readout("in", WORDS.phrase("stage.inside_card"), label=y, show="at", **_of(said, "in"))
    made.readout(
        "out", WORDS.phrase("stage.outside_card", names="|".join(names)), which=which, show="at", withheld=True, **_of(said, "out")
    )
    n = np.arange(1, steps + 1)
    total, epistemic = (_running(both, part, steps) for part in ("total", "epistemic"))
    made.readout("auroc", WORDS.phrase("stage.auroc_card"), n=n, total=total, epistemic=epistemic, show="at", withheld=True)
    made.say(WORDS.phrase("stage.domain_said"), withheld=True, n=n, total=total, epistemic=epistemic)
    made.table({"image": n, "label": y, **columns, "AUROC by total": total, "AUROC by epistemic": epistemic})


def _of(said: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: values for key, values in said.items() if key.startswith(name)}
