"""What decides a posterior of networks that read digits, and what its method is called."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.words import Words
from engine.spec import Spec, choice, integer, number, seed_field

WORDS = Words(__file__)  # which the lessons on digits share

METHODS = ("nuts", "lbbnn", "dense", "dropout", "ensemble")
NAMES = WORDS["options.method"]
DATA = WORDS["options.data"]
TESTS = {"digits": 450, "mnist": 10_000}  # test images


@dataclass(frozen=True, kw_only=True)
class PosteriorSpec(Spec):
    """Everything that decides a posterior, beside the data."""

    method: str = choice("dense", METHODS, "how the networks are found")
    networks: int = integer(100, 2, 400, "networks R that predict")
    units: int = integer(50, 2, 400, "hidden units; NUTS takes `small`")
    depth: int = integer(1, 1, 3, "hidden layers; NUTS has one")
    small: int = integer(16, 2, 40, "hidden units of the network that NUTS samples")
    epochs: int = integer(0, 0, 400, "passes through the data; 0: as many as the method needs")
    components: int = integer(20, 2, 60, "principal components that NUTS' network reads")
    images: int = integer(500, 20, 4000, "images that NUTS learns from: the first ones")
    warmup: int = integer(100, 20, 2000, "transitions in which NUTS tunes itself, in each of its 2 chains")
    prior_sd: float = number(1.0, 0.01, 10.0, "of every weight", log=True)
    keep: float = number(0.8, 0.1, 1.0, "probability that a hidden unit is kept, for MC dropout")
    seed: int = seed_field()
