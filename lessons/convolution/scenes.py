"""The pictures: which part is on stage, and what all parts share."""

from __future__ import annotations

from typing import Any

from lessons.convolution import stage_kernel, stage_moved, stage_posterior, stage_training, training
from lessons.convolution.spec import ConvolutionLesson

STAGES = {"kernel": stage_kernel.draw, "posterior": stage_posterior.draw, "moved": stage_moved.draw, "training": stage_training.draw}


def scene(spec: ConvolutionLesson, window: int | None = None) -> bytes:
    """The picture once the network is trained. `window` is not used: nothing has an inside."""
    return STAGES[spec.part](spec, training.trained(spec) if spec.learns else None)


def grow(spec: ConvolutionLesson, job: Any) -> bytes | None:
    """The same, with pictures on the way while the network still learns."""
    if not spec.learns:
        return scene(spec)
    learning = training.learning(spec)
    while not learning.state.done:
        job.publish(STAGES[spec.part](spec, learning.state))
        if job.is_set():
            return None
        learning.advance(job.is_set)
    return STAGES[spec.part](spec, learning.state)
