"""Moments of a run and what words may light, read from a picture."""

from __future__ import annotations

import numpy as np
import pytest

from app.kit.moments import MomentError, Moments
from app.kit.player.scene import Axis, Phase, Scene


@pytest.fixture(scope="module")
def moments() -> Moments:
    picture = Scene(run="a", steps=5, label="A picture.", phases=[Phase("propose"), Phase("decide")])
    panel = picture.panel("plane", x=Axis("x", 0, 5), y=Axis("y", 0, 5))
    panel.points(np.ones((5, 2)), role="proposal", show="at")
    panel.points(np.ones((5, 2)), role=["accept", "reject"], classes=np.array([0, 1, 0, 1, 1]), show="upto")
    picture.panel("bars", y=Axis("share", 0, 1)).bars([0.5, 0.5], labels=["a", "b"], truth=[0.4, 0.6], role="posterior")
    picture.readout("ratio", "{r:.2f}", r=np.arange(5.0))
    picture.table({"accepted": [1, 0, 1, 0, 0], "energy error": [0.1, -2.0, 3.5, np.nan, 1.0]})
    return Moments(picture.encode())


@pytest.mark.parametrize(
    ("moment", "place"),
    [
        ("start", (-1, None)),
        ("end", (4, None)),
        ("2", (1, None)),
        ("propose of 2", (1, "propose")),
        ('first "accepted" = 0', (1, None)),
        ('last "accepted" = 1', (2, None)),
        ('first "accepted" = 0 and "energy error" > 0.5', (4, None)),
        ('decide of first "energy error" >= 3.5', (2, "decide")),
        ('max "energy error"', (2, None)),
        ('min "energy error"', (1, None)),
    ],
)
def test_a_moment_is_found_in_the_run(moments, moment, place):
    assert moments[moment] == place


@pytest.mark.parametrize(
    ("moment", "named"),
    [
        ("0", "1 to 5"),
        ("6", "1 to 5"),
        ("soon", "soon"),
        ("ratio of 2", "propose, decide"),
        ('first "accept" = 0', "accepted, energy error"),
        ('first "accepted" = 7', "accepted"),
        ('first "accepted" is 0', "compare"),
    ],
)
def test_a_moment_that_the_run_does_not_have_is_named(moments, moment, named):
    with pytest.raises(MomentError, match=named):
        moments[moment]


@pytest.mark.parametrize("address", ["plane", "plane.proposal", "plane.reject", "plane.accept.points", "bars.truth", "card.ratio"])
def test_what_stands_in_the_picture_can_be_lit(moments, address):
    assert moments.has(address)


@pytest.mark.parametrize("address", ["map", "plane.truth", "plane.proposal.line", "plane.proposal.points.more", "card", "card.u", "ratio"])
def test_what_does_not_stand_there_cannot(moments, address):
    assert not moments.has(address)
