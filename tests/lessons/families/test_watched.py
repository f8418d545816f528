"""A training that is looked at on its way: when, and which pictures are shown of it. That it goes on from its state on disk
is tested where it is used: `test_convolution`, `test_spike_and_slab`.
"""

from __future__ import annotations

import numpy as np
import pytest

from datasets.images import digits
from engine.variational import NetworkFit, start_network
from lessons.families.watched import State, Watched, bent
from tests.lessons.pages import Job


@pytest.mark.parametrize("total,looks", [(36_000, 24), (780, 24), (65, 24), (10, 24), (1, 3)])
def test_looks_are_closer_at_the_beginning_and_end_with_the_training(total: int, looks: int):
    steps = bent(total, looks)
    assert steps[0] == 0 and steps[-1] == total and len(steps) == min(looks, total) + 1
    assert (np.diff(steps) > 0).all()
    if total > looks**2:
        assert steps[1] == round(total / looks**2) and (np.diff(steps, 2) >= -1).all()


def test_pictures_begin_when_it_has_learnt_for_a_while_and_leave_it_time():
    data = digits()

    def training() -> Watched[NetworkFit, int]:
        run = start_network(data.x, data.y, hidden=(5,), method="gaussian", epochs=5)
        return Watched(run, bent(run.total, 12), lambda fit, step: step)

    def picture(state: State[NetworkFit, int], note: str) -> bytes:
        assert state.done == (not note)
        return repr(state.looks).encode()

    job, never = Job(), Job()
    watched = training()
    assert watched.grown(picture, job, 0.0) == repr(bent(65, 12)).encode() and watched.done and watched.share == 1.0
    assert job.blobs and job.blobs[0] == b"(0,)"
    assert training().grown(picture, never, 60.0) is not None and not never.blobs, "it has not learnt for a minute"
    never.cancelled = True
    stopped = training()
    assert stopped.grown(picture, never, 0.0) is None and stopped.state.looks == (0,)
