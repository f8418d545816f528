"""The proofs of a story in the browser turn red where a step names what is not to be seen, or never comes to rest."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser import mentions, stills
from tests.browser.conftest import Lab, player
from tests.pace import slower

STORY = """
from app.kit import story
steps = story.parse('''
## The walk {{scenario=short}}
```stage
panels = ["walk"]
play = {{seconds = {seconds}}}
```
{words}
''')
read = story.read
story.read = lambda path: steps if "demo" in str(path) else read(path)
"""


def telling(words: str, more: str = "", seconds: int = 1) -> str:
    """Python for the demo's server: its story is one step of these words, which plays for so long."""
    return STORY.format(words=words, seconds=seconds) + more


NEVER = """
import dataclasses
from app.kit import direction
cue = direction.cue
direction.cue = lambda *given: dataclasses.replace(cue(*given), seconds=1e6)
"""
GROWS = """
import time
from tests.kit.demo import lesson
def grow(spec, job):
    job.publish(lesson.scene(spec, None, 100))
    time.sleep(15)
    return lesson.scene(spec, None)
object.__setattr__(lesson.DEMO, "grow", grow)
"""
LATE = """
from app.kit.player.scene import Panel
line = Panel.line
def late(panel, x, y, **given):
    y[:5] = float("nan")
    return line(panel, x, y, **given)
Panel.line = late
"""


def missed(page: Page, awaited: list[str]) -> list[str]:
    """What is named and not seen, without the places, once it is what is awaited: a page may still be laid out anew."""
    found: list[str] = []
    for _ in range(60):
        found = [fault.split(" is lit")[0] for fault in mentions.missed(page, held=False)]
        if found == awaited:
            break
        page.wait_for_timeout(400)
    return found


@pytest.mark.parametrize(
    ("altered_demo", "said"),
    [
        pytest.param(telling("[The walk](#at=walk.posterior), and [where](#at=card.now) it is."), "", id="right"),
        pytest.param(telling("[The trace](#at=trace.posterior)."), "nothing lights up as trace.posterior", id="hidden panel"),
        pytest.param(telling("[The truth](#at=walk.truth)."), "nothing lights up as walk.truth", id="no such mark"),
        pytest.param(telling("[So far](#at=card.later)."), "nothing lights up as card.later", id="no such line"),
        pytest.param(telling("Open *More*."), "“More” is named, and is out of view", id="control"),
    ],
    indirect=["altered_demo"],
)
def test_a_step_that_names_what_is_not_to_be_seen_is_found(altered_demo: Lab, said: str):
    page = altered_demo.open("/demo?story=1")
    expect(player(page)).to_have_attribute("data-cue", re.compile("demo"))
    page.emulate_media(reduced_motion="reduce")
    expect(player(page)).to_have_attribute("data-playing", "false")
    assert missed(page, [said] if said else []) == ([said] if said else [])
    if not said:
        page.set_viewport_size({"width": 1280, "height": 420})  # the bar of controls covers the walk, the card is below it
        hidden = ["walk.posterior", "card.now"]
        assert missed(page, hidden) == hidden


@pytest.mark.parametrize(
    "altered_demo", [telling("It walks.", more, seconds=4) for more in ("", NEVER)], indirect=True, ids=["rests", "never"]
)
def test_a_play_that_never_rests_is_seen(altered_demo: Lab, request: pytest.FixtureRequest):
    """By itself the walk takes 10 s: long enough to be seen at play, however busy the machine."""
    page = altered_demo.open("/demo?story=1")
    stage = player(page)
    expect(stage).to_have_attribute("data-playing", "true")
    if "never" in request.node.callspec.id:
        page.wait_for_timeout(8_000)
        assert stage.get_attribute("data-playing") == "true"
    else:
        # sooner than by itself; a busy machine draws few frames, and then a play takes longer than it is told to
        expect(stage).to_have_attribute("data-playing", "false", timeout=9_000 * slower())


@pytest.mark.parametrize("altered_demo", [telling("[The walk](#at=walk.posterior).", LATE)], indirect=True, ids=["late"])
def test_the_panel_lights_up_for_a_curve_that_has_no_value_yet(altered_demo: Lab):
    page = altered_demo.open("/demo?story=1")
    expect(player(page)).to_have_attribute("data-cue", re.compile("demo"))
    page.emulate_media(reduced_motion="reduce")
    player(page).press("Home")
    expect(player(page)).to_have_attribute("data-t", "0")
    assert mentions.missed(page, held=True) == []
    assert mentions.missed(page, held=False) == ["nothing lights up as walk.posterior"]
    player(page).press("End")
    assert mentions.missed(page, held=False) == []


@pytest.mark.long
@pytest.mark.parametrize("altered_demo", [GROWS], indirect=True, ids=["grows"])
def test_a_still_waits_for_the_end_of_a_run_that_pauses(altered_demo: Lab):
    page = altered_demo.open("/demo")
    expect(player(page)).to_have_attribute("data-cue", re.compile("demo"))
    stills.at_rest(page)
    assert player(page).get_attribute("data-steps") == "400"
