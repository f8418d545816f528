"""Random valid links of every lesson, and what each of them must come to: a picture, or a sentence that says why not.

`python -m tests.fuzz [slug ...] [--each N] [--first N] [--large SHARE]` prints what does not, with its link.

A link is built from the declarations of the lesson's spec: each field keeps its default, or takes an end of its range
or a value between. What counts how much is computed mostly stays near its low end. As in the address bar, a value that
breaks a rule between fields is dropped with a message; what is left is valid.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import struct
import time
import traceback
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

from app import catalogue
from app.kit import frame, share
from app.kit.lesson import Lesson
from engine.spec import Declaration, Spec, SpecError

SECONDS = 8.0  # of CPU that a picture may take
LARGE = 0.03  # share of links whose sizes may be anything that the declarations allow
KEPT = 0.5  # share of fields at their default
MANY = 60  # a whole number that may be larger counts how much is computed
RANDOM = ("seed", "data_seed", "split", "image", "other", "number", "case")  # numbers that choose, and count nothing
NUMBERS = ("4.6, 6.9", "4.6, 6.9, 3.1, 5.4", "0", "1e6, -1e6", "3, 3, 3, 3", "1e-9, 2e-9, 3e-9", "")
FORMULAS = (
    "-x^2/2 - y^2/2",
    "-(x^2 + y - 11)^2/20 - (x + y^2 - 7)^2/20",
    "logsumexp(-(x-4)^2-(y-4)^2, -(x+4)^2-(y+4)^2)",
    "-2.3*log(1+x^2+y^2)",
    "-abs(x) - abs(y)",
    "0 where -1 < x < 1, -1 < y < 1",
    "-x - y where x > 0, y > 0",
    "-1e6*(x^2 + y^2)",
    "-1e-8*(x^2 + y^2)",
    "-(x-1e5)^2 - y^2",
    "-x^2/2",
    "log(x) - x - y^2",
    "0",
)
TEXTS: dict[str, tuple[str, ...]] = {
    "formula": FORMULAS,
    "measurements": NUMBERS,
    "estimates": ("28, 8", "1, 2, 3", "1e6, -1e6"),
    "errors": ("15, 10", "1, 1, 1", "1e-3, 1e3"),
    "populations": ("1, 2, 3", "1000000, 0.001, 1", "1, 1, 1, 12, 1, 1, 1, 1"),
    "flips": ("", "1", "0 0 0 0", "1 1 1 1 1 1"),
    "counts": ("", "0", "0 0 0", "500 1"),
    "waits": ("", "0.001", "1000 0.001"),
    "values": ("", "0", "1e5 -1e5", "3 3 3"),
    "kinds": ("", "1", "3 3 3 3"),
    "effects": ("0", "1", "0, 0, 0", "100, -100", "1, 0, 0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0"),
    "parameters": ("mu", "a positive, b unit", "p simplex 3, c ordered 2", "x 20", "e", ""),
    "log_density": ("-mu^2/2", "-a + log(b)", "log(p1) - c1^2 - c2^2", "-x1^2", "1/0", ""),
    "target": ("", "age", "no such column"),
    "without": ("", "age", "no such column"),
}


def lesson_of(slug: str) -> Lesson:
    """What a lesson hands to the frame, without a page being drawn."""
    entry = next(entry for entry in catalogue.LESSONS if entry.slug == slug)
    with patch.object(frame, "show", lambda lesson: None):
        return importlib.import_module(f"{entry.package}.page").LESSON


# Links ----------------------------------------------------------------------------------------------------------------


def link(lesson: Lesson, number: int, large: float = LARGE) -> Spec:
    """The valid spec that link `number` of a lesson comes to."""
    rng = np.random.default_rng([zlib.crc32(lesson.slug.encode()), number])
    everything = rng.random() < large
    raw: dict[str, list[str]] = {}
    for name, declaration in lesson.spec.declarations().items():
        if name in ("file", "files"):
            continue  # of another reader: a link cannot bring it along
        default = lesson.spec.default(name)
        kept = rng.random() < KEPT
        counts = declaration.kind == "integer" and declaration.high > MANY and name not in RANDOM
        if counts and not everything:
            value: object = int(rng.integers(int(declaration.low), _few(declaration, default) + 1))
        elif kept:
            continue
        else:
            value = _value(rng, name, declaration, default)
        raw[name] = [share._written(declaration, value)]
    return share.read(lesson.spec, raw, {}).spec


def _few(declaration: Declaration, default: int) -> int:
    """A small number of what may be many."""
    return int(min(max(4.0 * declaration.low, 40.0), max(default, declaration.low), declaration.high))


def _value(rng: np.random.Generator, name: str, declaration: Declaration, default: object) -> object:
    low, high = declaration.low, declaration.high
    if declaration.kind == "choice":
        return declaration.options[rng.integers(len(declaration.options))]
    if declaration.kind == "text":
        texts = TEXTS.get(name, ())
        return texts[rng.integers(len(texts))] if texts else default
    if declaration.kind == "points":
        n = int(rng.integers(0, min(int(high), 12) + 1))
        size = float(rng.choice([0.0, 0.3, 1.0, 1.0, 1.5]))
        several = rng.random() < 0.7
        return [(*(rng.uniform(-size, size, 2)), int(several and rng.random() < 0.5)) for _ in range(n)]
    where = rng.random()
    if where < 0.2:
        value = low
    elif where < 0.4:
        value = high
    elif declaration.log or (declaration.kind == "integer" and low > 0 and high / low > 100):
        value = math.exp(rng.uniform(math.log(low), math.log(high)))
    else:
        value = rng.uniform(low, high)
    value = min(max(float(f"{value:.4g}"), low), high)
    return int(value) if declaration.kind == "integer" else value


# What a link comes to -------------------------------------------------------------------------------------------------


class FirstPicture:
    """The job of a picture that grows: given up once something is on the stage."""

    def __init__(self) -> None:
        self.blob: bytes | None = None

    def is_set(self) -> bool:
        return self.blob is not None

    cancelled = property(is_set)

    def publish(self, blob: bytes) -> None:
        self.blob = self.blob or blob

    def report(self, done: int, total: int) -> None:
        pass


@dataclass(frozen=True)
class Outcome:
    """What came of a link: "picture", "sentence", "blank" or "exception", with what was said, and seconds of CPU."""

    kind: str
    said: str
    seconds: float

    @property
    def bad(self) -> bool:
        return self.kind in ("blank", "exception") or self.seconds > SECONDS


def outcome(lesson: Lesson, spec: Spec) -> Outcome:
    """The first picture of a spec, as the stage makes it."""
    begin = time.process_time()
    kind, said = "picture", ""
    try:
        blob = _picture(lesson, spec)
        blank = blank_panels(blob)
        if blank is None:
            kind, said = "blank", "no panel holds a finite number"
    except SpecError as error:
        kind, said = "sentence", str(error)
    except Exception:
        kind, said = "exception", traceback.format_exc(limit=-6)
    return Outcome(kind, said, time.process_time() - begin)


def _picture(lesson: Lesson, spec: Spec) -> bytes:
    if lesson.grow is None:
        return lesson.scene(spec, None)
    job = FirstPicture()
    blob = lesson.grow(spec, job)  # type: ignore[arg-type]
    assert job.blob is not None or blob is not None, "nothing was published"
    return job.blob or blob


def blank_panels(blob: bytes) -> list[str] | None:
    """The panels of a scene none of whose layers holds a finite number; None where all panels are so."""
    (length,) = struct.unpack_from("<I", blob)
    header = json.loads(blob[4 : 4 + length])
    arrays = [_has_finite(entry, blob[4 + length :]) for entry in header["arrays"]]
    blank = [panel["id"] for panel in header["panels"] if not any(_draws(layer, arrays) for layer in panel["layers"])]
    return None if len(blank) == len(header["panels"]) else blank


def _has_finite(entry: dict, data: bytes) -> bool:
    count = int(np.prod(entry["shape"], dtype=np.int64))
    values = np.frombuffer(data, np.dtype(entry["dtype"]).newbyteorder("<"), count, entry["offset"])
    return bool(np.isfinite(values).any())


def _draws(layer: dict, arrays: list[bool]) -> bool:
    """Whether there is something to draw: the arrays that say where are not all empty or not finite."""
    keys = ("points", "values", "frames", "ys", "start", "heights")
    places = [layer[key] for key in keys if layer.get(key) is not None]
    numbers = [place for place in places if isinstance(place, int)]
    return all(arrays[place] for place in numbers) if numbers else True


def query(spec: Spec) -> dict[str, str]:
    """The query of the link, with what is not at its default."""
    written = share.encode(spec)
    return {name: written[name] for name in spec.declarations() if getattr(spec, name) != spec.default(name)}


def bad(lesson: Lesson, numbers: Iterator[int] | range, large: float = LARGE) -> list[str]:
    """The links that do not come to what they must, one a line, each with what happened."""
    found = []
    for number in numbers:
        try:
            spec = link(lesson, number, large)
        except Exception:
            found.append(f"{lesson.slug} link {number} could not be read\n{traceback.format_exc(limit=-6)}")
            continue
        came = outcome(lesson, spec)
        if came.bad:
            address = share.address(f"/{lesson.slug}", query(spec))
            found.append(f"{came.kind} after {came.seconds:.1f} s, link {number}: {address}\n{came.said}")
    return found


def main() -> None:
    """Look for links that do not come to what they must."""
    arguments = argparse.ArgumentParser(description=main.__doc__)
    arguments.add_argument("slugs", nargs="*", default=[entry.slug for entry in catalogue.LESSONS])
    arguments.add_argument("--each", type=int, default=30, help="links of each lesson")
    arguments.add_argument("--first", type=int, default=0, help="number of the first")
    arguments.add_argument("--large", type=float, default=LARGE, help="share of links whose sizes may be anything")
    given = arguments.parse_args()
    for slug in given.slugs:
        lesson, begin = lesson_of(slug), time.process_time()
        lines = bad(lesson, range(given.first, given.first + given.each), given.large)
        each = (time.process_time() - begin) / given.each
        print(f"== {slug}: {len(lines)} of {given.each}, {each:.3f} s of CPU a link", *lines, sep="\n", flush=True)


if __name__ == "__main__":
    main()
