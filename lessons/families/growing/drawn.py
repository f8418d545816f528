"""The network of a jump, its units coming and going."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.kit.player.scene import Panel, Place, Scene
from engine.jumps import ArchitectureRecording
from engine.kept import kept
from engine.networks import Network
from lessons.families.growing.ledger import Jumps
from lessons.families.growing.spec import WORDS

Array = NDArray[np.float64]


class Drawn(NamedTuple):
    """The larger network of each of n jumps, padded to the largest architecture, as `Panel.network` wants it.

    sizes : units of each layer; weights : (n, W), NaN where there is none
    before, proposed, active : (n, units) bool, the units that were there, would be there, and are there after the jump
    """

    sizes: list[int]
    weights: Array
    before: NDArray[np.bool_]
    proposed: NDArray[np.bool_]
    active: NDArray[np.bool_]


def drawn_networks(recording: ArchitectureRecording, chain: int, sweeps: ArrayLike, jumps: Jumps) -> Drawn:
    """The networks of one chain at the jumps `jumps_of(recording, chain, sweeps)`.

    A jump leaves the weights of the larger network behind: the draw itself, or the draw and what died or was not born.
    """
    network = recording.run.network
    widest, deepest = int(np.max(network.width)), int(np.max(network.depth))
    sizes = [network.inputs, *[widest] * deepest, network.outputs]
    rows = []
    for i, t in enumerate(np.asarray(sweeps)):
        width, depth = int(recording.width[chain, t]), int(recording.depth[chain, t])
        larger = int(max(jumps.before[i], jumps.after[i]))
        width, depth = (larger, depth) if jumps.move[i] < 2 else (width, larger)
        theta, slot = recording.theta(chain, int(t)), int(jumps.slot[i])
        new = born_unit(recording.network(width, depth), slot)
        if len(theta) < new.size:
            whole = np.full(new.size, np.nan)
            whole[~new] = theta
            if recording.run.settings.jump != "redraw":
                whole[new] = jumps.parameters[i, : new.sum()]
            elif jumps.birth[i]:
                whole = jumps.parameters[i, : new.size]
            theta = whole
        there = _there(sizes, width, depth)
        less = _there(sizes, width, depth - 1) if slot < 0 else there.copy()
        if slot >= 0:
            less[[sum(sizes[:layer]) + slot for layer in range(1, depth + 1)]] = False
        before, proposed = (less, there) if jumps.birth[i] else (there, less)
        weights = padded_weights(recording.network(width, depth), theta, sizes)
        rows.append((weights, before, proposed, proposed if jumps.accepted[i] else before))
    return Drawn(sizes, *(np.stack(column) for column in zip(*rows, strict=True)))


def network_panel(
    scene: Scene,
    drawn: Drawn,
    *,
    labels: Sequence[Sequence[str] | None] | None = None,
    phase: str | None = None,
    id: str = "network",
    title: str = WORDS.phrase("stage.drawn"),
    place: Place | None = None,
    height: int = 280,
) -> Panel:
    """The network of each step, its units coming and going. `labels` : of each layer, as `Panel.network`; `phase` : of
    the proposal.
    """
    panel = scene.panel(id, title=title, place=place, height=height)
    return panel.network(
        drawn.sizes, drawn.weights, labels=labels, active=drawn.active, before=drawn.before, proposed=drawn.proposed, phase=phase
    )


@kept
def born_unit(network: Network, slot: int) -> NDArray[np.bool_]:
    """Which parameters (dim,) of one architecture belong to the unit at `slot` of every hidden layer; with a slot of
    -1, to the last hidden layer. Not to be written to.
    """
    new = np.zeros(network.dim)
    layers = network.unpack(new)  # views
    if slot < 0:
        for part in layers[-2]:
            part[...] = 1.0
    else:
        for weights, biases in layers[:-1]:
            weights[slot], biases[slot] = 1.0, 1.0
        for weights, _ in layers[1:]:
            weights[:, slot] = 1.0
    found = new > 0.0
    found.flags.writeable = False
    return found


def _there(sizes: list[int], width: int, depth: int) -> NDArray[np.bool_]:
    """The units (units,) of one architecture among those of the largest."""
    layers = [np.arange(size) < (width if 0 < layer <= depth else 0) for layer, size in enumerate(sizes)]
    layers[0][:] = layers[-1][:] = True
    return np.concatenate(layers)


def padded_weights(network: Network, theta: Array, sizes: list[int]) -> Array:
    """The parameters (..., dim) of one architecture at their places in the largest, (..., W); NaN elsewhere."""
    layers, shape = network.unpack(theta), theta.shape[:-1]
    parts = []
    for layer, (n_in, n_out) in enumerate(pairwise(sizes)):
        weights, biases = np.full((*shape, n_out, n_in), np.nan), np.full((*shape, n_out), np.nan)
        own = len(layers) - 1 if layer == len(sizes) - 2 else layer
        if own == len(layers) - 1 and layer < len(sizes) - 2:
            own = len(layers)  # a hidden layer that this architecture does not have
        if own < len(layers):
            rows, columns = layers[own][0].shape[-2:]
            weights[..., :rows, :columns], biases[..., :rows] = layers[own]
        parts += [weights.reshape(*shape, -1), biases]
    return np.concatenate(parts, axis=-1)
