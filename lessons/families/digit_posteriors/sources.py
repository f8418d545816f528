"""Which digits the networks learn from: the bundled ones, or MNIST. Where MNIST is not on this machine the bundled
digits stand in for it, and every picture says so.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.kit.charts import Figure, Table
from app.kit.player.scene import Scene
from datasets import local, remote
from datasets.images import Images, digits
from engine import states, turns
from engine.kept import kept
from engine.networks.stack import Networks
from engine.spec import SpecError
from lessons.families.digit_posteriors.shared import Shared, posterior
from lessons.families.digit_posteriors.spec import WORDS, PosteriorSpec
from lessons.families.digit_posteriors.training import LARGE, network_spec

STAND_IN, FAILED, WHERE = (WORDS.phrase(f"data.{name}") for name in ("stand_in", "failed", "where"))

NETWORKS = 100
SMALL = 12  # pixels a side up to which images are read as the bundled digits are
MANY: dict[str, Any] = {"units": 200, "depth": 2}  # of larger images
FEW: dict[str, Any] = {"units": 50, "epochs": 30}  # of larger ones, where there are few
MEMBERS = 10  # of an ensemble on larger ones
TESTED = 1_000  # images of MNIST by which a training is tried at each look: the first ones
AGAIN = 60.0  # s before a download that failed is tried again
FORMAT = 1  # of states on disk: another number leaves the old ones behind

Shown = TypeVar("Shown", bound=Figure | Table)

log = logging.getLogger(__name__)
_failed: dict[str, float] = {}  # when
_door = threading.Lock()


# Data -----------------------------------------------------------------------------------------------------------------


def present(name: str) -> str:
    """The data that are learnt from where `name` is chosen: those, or what stands in for them."""
    return "digits" if name == "mnist" and not local.here("mnist") else name


def is_here(name: str) -> bool:
    """Whether nothing stands in for the data."""
    return present(name) == name


def images(name: str) -> Images:
    """The data that are learnt from where `name` is chosen, "digits" or "mnist"."""
    return digits() if present(name) == "digits" else local.images(name)


def few_tested(name: str) -> Images:
    """The same for a training that is tried at each look: with the first `TESTED` images to test on."""
    data = images(name)
    return data.some(len(data.labels), TESTED)


@kept
def never_inked(data: Images) -> NDArray[np.bool_]:
    """(pixels,) whether a pixel is paper in every image to learn from: no data reach the weights that leave it."""
    return np.asarray(data.images.max(axis=0) == 0).ravel()


def stand_in(name: str) -> str:
    """What every picture says where other data stand in; nothing where not."""
    if is_here(name):
        return ""
    return f"{STAND_IN}. {FAILED}" if name in _failed else STAND_IN


def fetch(name: str, job: Any) -> None:
    """Download data that are not here yet, for a job that has other things to show meanwhile; it is told how far it is.
    Where that fails, `stand_in` says so, and the log why.
    """
    if is_here(name) or time.monotonic() < _failed.get(name, -AGAIN) + AGAIN:
        return
    with turns.resting(), _door:
        try:
            remote.download(name, progress=lambda done, total, _: job.report(done, total), stop=job.is_set)
        except SpecError as problem:
            if not job.is_set():
                log.warning("%s", problem.reason)
                _failed[name] = time.monotonic()
        else:
            _failed.pop(name, None)


def behind(name: str, picture: Callable[[], bytes | None], job: Any) -> bytes | None:
    """`picture()`, which may take a while; data that are not here are fetched behind the picture of what stands in for
    them, and it is made again. None when stopped.
    """
    here, found = is_here(name), picture()
    if here or found is None:
        return found
    job.publish(found)
    fetch(name, job)
    return None if job.is_set() else picture()


def trained_path(lesson: str, data: Images, *about: object) -> Path:
    """Where the state of a training on these images is kept on disk; `about`: all else that it depends on."""
    return states.path_of(remote.trained_folder(), lesson, repr((*about, mark(data))).encode())


# Posteriors -----------------------------------------------------------------------------------------------------------


def recipe(data: Images, method: str, seed: int) -> PosteriorSpec:
    """The posterior by `method` that all lessons ask of these images."""
    if data.side <= SMALL:
        return PosteriorSpec(method=method, networks=NETWORKS, seed=seed)
    networks = MEMBERS if method == "ensemble" else NETWORKS
    return PosteriorSpec(method=method, networks=networks, seed=seed, **(MANY if len(data.y) >= LARGE else FEW))


def shared(name: str, method: str, seed: int) -> Shared:
    """That posterior on the data that are learnt from where `name` is chosen, as far as somebody has trained it."""
    data = images(name)
    spec = recipe(data, method, seed)
    if present(name) == "digits":
        return posterior("digits", data, spec)
    return posterior((name, mark(data)), data, spec, state_path(data, spec))


def state_path(data: Images, spec: PosteriorSpec) -> Path | None:
    """Where its state is kept on disk, if it is. The name holds all that it depends on."""
    if spec.method == "nuts":  # on a few images: it takes seconds
        return None
    return trained_path(spec.method, data, FORMAT, spec, network_spec(spec, spec.seed, len(data.y)))


@kept
def mark(data: Images) -> str:
    """A digest of the labels and of every 60th image: data with another one are other data."""
    digest = hashlib.blake2b(np.ascontiguousarray(data.labels).tobytes(), digest_size=12)
    digest.update(np.ascontiguousarray(data.images[::60]).tobytes())
    return digest.hexdigest()


# Pictures -------------------------------------------------------------------------------------------------------------


def grown(name: str, posterior_of: Callable[[], Shared], picture: Callable[[Networks, str], bytes], job: Any) -> bytes | None:
    """The picture of trained networks, with pictures on the way while data are fetched and networks learn; None when
    stopped. `picture(networks, note)`: the note says how far they are.
    """
    if not is_here(name):
        one = posterior_of()
        job.publish(picture(one.networks(), one.note))
        fetch(name, job)
    one = posterior_of()
    while not one.done:
        networks = one.networks()
        if job.is_set():
            return None
        if one.done:  # as it was on the disk
            break
        begin = time.perf_counter()
        job.publish(picture(networks, one.note))
        # at least three times as long for training as for the picture of it
        until = time.perf_counter() + 3.0 * (time.perf_counter() - begin)
        one.advance(job.is_set)
        while not one.done and not job.is_set() and time.perf_counter() < until:
            one.advance(job.is_set)
    return None if job.is_set() else picture(one.networks(), "")


def say(made: Scene, name: str, note: str) -> None:
    """On a scene: how far the training is, and what stands in for the data."""
    if note:
        made.readout("training", note)
    if instead := stand_in(name):
        made.readout("data", instead)


def captioned(items: list[Shown], name: str) -> list[Shown]:
    """Figures and tables below the stage, whose captions say what stands in for the data."""
    instead = stand_in(name)
    return [replace(item, caption=f"{instead}. {item.caption}") for item in items] if instead else items
