"""The symmetries of a hidden layer: units change places, tanh units change sign. Pure functions of weights.

The weights of a draw are held unit by unit, (..., k, parts): those from the inputs, the bias, the output weight; the
output bias apart. A symmetry is a pair (places (k,), signs (k,)): unit j becomes signs[j] times what stood at
places[j].
"""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.networks.mlp import Network

Array = NDArray[np.float64]


def by_unit(network: Network, draws: ArrayLike) -> tuple[Array, Array]:
    """Weights (..., dim) of a network with one hidden layer and one output as (..., k, inputs + 2), and the output bias
    (...)."""
    (weights, biases), (out, last) = network.unpack(draws)
    parts = np.concatenate([weights, biases[..., None], np.moveaxis(out, -2, -1)], axis=-1)
    return parts, last[..., 0]


def as_draws(parts: Array, last: Array) -> Array:
    """The way back from `by_unit`: (..., dim)."""
    *lead, units, width = parts.shape
    weights = parts[..., : width - 2].reshape(*lead, units * (width - 2))
    return np.concatenate([weights, parts[..., -2], parts[..., -1], last[..., None]], axis=-1)


def odd(network: Network) -> bool:
    """Whether the activation is odd, φ(−a) = −φ(a), so that a unit's signs may flip."""
    return network.activation == "tanh"


def copies(network: Network) -> int:
    """How many weight vectors make the same function with the same prior density: k! orders, times 2^k signs for an
    odd activation."""
    units = network.sizes[1]
    return math.factorial(units) * (2**units if odd(network) else 1)


def elements(network: Network) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All symmetries as (places, signs); the first is the one that changes nothing."""
    units = network.sizes[1]
    signs = product((1, -1), repeat=units) if odd(network) else [(1,) * units]
    return [(places, sign) for sign in signs for places in permutations(range(units))]


def act(network: Network, draws: Array, places: ArrayLike, signs: ArrayLike, mistake: str = "none") -> Array:
    """The draws (n, dim) after one symmetry each; places and signs (n, k) or (k,).

    mistake : "forget_bias" leaves the biases as they were, "forget_output" the output weights: neither is a symmetry
    """
    parts, last = by_unit(network, draws)
    places, signs = np.broadcast_to(places, parts.shape[:-1]), np.broadcast_to(signs, parts.shape[:-1])
    moved = np.take_along_axis(parts, places[..., None], axis=-2) * signs[..., None]
    if mistake == "forget_bias":
        moved[..., -2] = parts[..., -2]
    elif mistake == "forget_output":
        moved[..., -1] = parts[..., -1]
    return as_draws(moved, last)


def chosen(network: Network, kind: str, n: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """n symmetries (places, signs), each (n, k): "permute" moves every unit one place on, "flip" turns the first
    unit's signs, "random" takes any of them, but not the one that changes nothing.

    A flip is taken at its word also where the activation is not odd: then it is no symmetry.
    """
    units = network.sizes[1]
    same = np.arange(units)
    if kind == "permute":
        return np.tile(np.roll(same, 1), (n, 1)), np.ones((n, units), np.int64)
    if kind == "flip":
        return np.tile(same, (n, 1)), np.tile(np.where(same == 0, -1, 1), (n, 1))
    every = elements(network)
    picked = np.random.Generator(np.random.SFC64(seed)).integers(min(1, len(every) - 1), len(every), size=n)
    return np.array([every[i][0] for i in picked]), np.array([every[i][1] for i in picked])


def ordered(network: Network, draws: Array, rule: str) -> Array:
    """The copy of each draw (n, dim) that a rule picks: the same function, its units in a fixed order.

    rule : "output" makes every output weight v positive and sorts by it, the largest first; "bend" makes every weight w
        from the first input positive and sorts by −b/w, where the unit bends; "none" changes nothing. Signs change
        only where the activation is odd.
    """
    if rule == "none":
        return draws
    parts, last = by_unit(network, draws)
    pivot = parts[..., -1] if rule == "output" else parts[..., 0]
    if odd(network):
        parts = parts * np.where(pivot < 0.0, -1.0, 1.0)[..., None]
    key = -parts[..., -1] if rule == "output" else -parts[..., -2] / parts[..., 0]
    places = np.argsort(key, axis=-1, kind="stable")
    return as_draws(np.take_along_axis(parts, places[..., None], axis=-2), last)


def shadows(network: Network, draws: Array, first: tuple[int, int] | None, second: tuple[int, int] | None) -> Array:
    """Where the copies of each draw (n, dim) fall in the plane of two weights: (different places, n, 2), the draw's own
    first. A weight is (unit, part), or None for the output bias. Many copies share a place."""
    parts, last = by_unit(network, draws)
    seen: dict[tuple, Array] = {}
    for places, signs in elements(network):
        sources = tuple((0, 1, 0) if at is None else (places[at[0]], signs[at[0]], at[1]) for at in (first, second))
        if sources not in seen:
            columns = [
                last if at is None else sign * parts[:, unit, part] for at, (unit, sign, part) in zip((first, second), sources, strict=True)
            ]
            seen[sources] = np.stack(columns, axis=-1)
    return np.stack(list(seen.values()))
