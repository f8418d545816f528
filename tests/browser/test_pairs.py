"""Before the lock a page tells nothing of what comes: two runs behind one beginning look the same until then."""

from __future__ import annotations

import datetime
import difflib
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from app import catalogue
from app.kit import direction, share, story
from app.kit.lesson import Lesson
from app.kit.player import scene
from app.kit.player.scene import Phase, Scene
from app.kit.visit import Visit
from tests.browser import pairs
from tests.browser.conftest import Lab, answer, player
from tests.lessons.pages import module
from tests.server import app_script, served

SEEDS = 700_001, 800_001  # of the hidden run, over that of the step: numbers that mean nothing else on the page
# Where a picture's length hangs on the data, which are given before any run: seeds whose pictures are as long as the step's.
SEEDS_OF = {"xor-methods": (700_001, 600_001)}
WARMING = re.compile(r'Preparing the kernels|progressbar "progress"|^$')  # of the server, not of a run
GROWN = 300_000  # ms that two long runs may take to their ends, or the check of a kernel
LOOKS = 20  # at a page that comes to rest, at most
INSTALL = "from tests.browser import pairs\npairs.install()"


# Steps that show what another seed changes, and ask about something else: of these no pair can be made.
SHOWN = {
    ("regression", "rivals"): "bands of the posterior beside those of its rivals",
    ("regression", "share"): "the very band that the question is about",
    ("regression", "shrink"): "the very bands that the question is about",
    ("dropout", "where"): "what the network does; asked is the posterior beside it",
    ("weight-space", "later"): "all draws of the run; asked is a later one",
    ("xor", "map"): "the map of one network, found from the seed",
    ("own-chain", "digits"): "which quantity is the worst, by its name; asked are the digits of its mean",
    ("real-data", "held"): "the rows that the seed leaves for the test",
    ("real-data", "threshold"): "the rows that the seed leaves for the test",
    ("real-data", "smallest"): "the numbers that the seed draws; asked is the best rule, which no seed moves",
    ("real-data", "luck"): "the network that learns from them; asked is what stands in print",
}


def waits(slug: str) -> list[int]:
    """The steps of a lesson that wait for a prediction about the run on stage."""
    lesson: Lesson = module(slug, "page").LESSON
    found = []
    for i, step in enumerate(lesson.steps()):
        spec = direction.staged(lesson, step)
        question = next((question for question in lesson.predict if question.id == step.question), None)
        if spec is None or question is None or "seed" not in spec.declarations():
            continue
        if direction.asks_about_stage(lesson, Visit(spec, step.scenario), question):
            found.append(i)
    return found


# Each step that directs the stage and asks, by its lesson; which of them wait is known when their lesson is loaded.
ASKING = [
    (entry.slug, i)
    for entry in catalogue.LESSONS
    for i, step in enumerate(story.read(entry.path.with_name("story.md")))
    if step.question is not None and step.staging != story.Staging()
]
SLOW = {"digits", "occam", "scores", "variational", "delayed-rejection", "layers", "neurons", "missing-factor", "landing"}
QUICK = {"logistic", "model-selection", "metropolis", "gibbs", "hmc"}  # whose pictures are there at once


def today(among: list[tuple[str, int]]) -> list[Any]:
    """One of these in `make test`, another each day; `make test-long` takes all steps."""
    one = among[datetime.date.today().toordinal() % len(among)]
    return [pytest.param(*each, id=f"{each[0]}-{each[1] + 1}", marks=() if each == one else pytest.mark.long) for each in ASKING]


@pytest.fixture(scope="module")
def served_pairs(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Lab]:
    """A page on a server of pairs."""
    folder = tmp_path_factory.mktemp("pairs")
    for server in served(app_script(folder, INSTALL), folder / "log.txt"):
        page = browser.new_page(reduced_motion="reduce")
        yield Lab(page, server.url)
        page.close()


def opened(lab: Lab, slug: str, step: int, more: int) -> Page:
    """The step, before a run that begins as its own does and goes on as that of another seed."""
    lesson: Lesson = module(slug, "page").LESSON
    told = lesson.steps()[step]
    spec = direction.staged(lesson, told)
    assert spec is not None
    query = share.write(spec.replace(seed=spec.seed + more), told.scenario, step=step)
    lab.page.goto(f"{lab.url}/{slug}?{urlencode(query)}")
    expect(player(lab.page).get_by_text("Your prediction first")).to_be_visible(timeout=GROWN)
    lab.settled()
    return lab.page


def seen(page: Page, seed: int) -> dict[str, str]:
    """All that a reader gets to see, hear, or take away, once it has come to rest; the seed itself aside."""
    found: dict[str, str] = {}
    for _ in range(LOOKS):
        page.wait_for_timeout(500)
        expect(page.get_by_role("button", name="kernel ⋯")).to_have_count(0, timeout=GROWN)
        expect(page.locator("[data-waiting]")).to_have_count(0)  # for the inside of a transition
        before, found = found, look(page, seed)
        if found == before:
            break
    return found


def look(page: Page, seed: int) -> dict[str, str]:
    """The same as it is just now."""
    stage = player(page)
    whole = page.get_by_test_id("stMain")
    found = {
        "picture": stage.locator("canvas").first.evaluate("node => node.toDataURL()"),
        "said": whole.aria_snapshot(),
        "words": whole.inner_text(),
        "held back": stage.evaluate("node => [...node.querySelectorAll('details')].map(each => each.hidden).join()"),
    }
    told = {name: text.replace(str(seed), "SEED").splitlines() for name, text in found.items()}
    return {name: "\n".join(line for line in lines if not WARMING.search(line)) for name, lines in told.items()}


def apart(one: dict[str, str], two: dict[str, str]) -> list[str]:
    """What tells two looks apart, line by line."""
    lines = [(name, difflib.unified_diff(one[name].splitlines(), two[name].splitlines(), n=0, lineterm="")) for name in one]
    return [f"{name}: {line[:300]}" for name, found in lines for line in found if not line.startswith(("---", "+++", "@@"))]


@pytest.mark.parametrize("slug,step", today([each for each in ASKING if each[0] not in SLOW]))
def test_what_is_always_in_view_is_not_of_the_run(slug: str, step: int):
    """The same without a browser."""
    if step not in waits(slug):
        return  # its answer is another run than the one on stage
    lesson: Lesson = module(slug, "page").LESSON
    told = lesson.steps()[step]
    if (slug, told.question) in SHOWN:
        return
    spec = direction.staged(lesson, told)
    assert spec is not None and told.scenario is not None
    first = pairs.picture(lesson, spec)
    cue = direction.cue(lesson, Visit(spec, told.scenario, step=step), first)
    assert cue is not None
    begun = pairs.Beginning.of(cue, scene.decode(first)[0])
    window = begun.t if begun.phase and cue.until else None
    begins = pairs.picture(lesson, spec, window)
    one, two = (pairs.picture(lesson, spec.replace(seed=spec.seed + more), window) for more in SEEDS_OF.get(slug, SEEDS))
    assert pairs.in_view(pairs.behind(begins, one, begun), cue.panels) == pairs.in_view(pairs.behind(begins, two, begun), cue.panels)


def tiny(run: int, fault: str = "") -> bytes:
    """A picture of five draws, which are `run` but for the first; `fault`: what gives that away."""
    draws = np.array([1.0, *[float(run)] * 4])
    made = Scene(run=str(run), steps=5, label=f"It ends at {run}." if fault == "alt text" else "Draws")
    panel = made.panel("trace", x=("step", 0, 5), y=("draw", 0, 10))
    panel.points(np.column_stack([np.arange(5.0), draws]), show="all" if fault == "mark" else "upto", role="posterior")
    made.readout("so-far", "mean so far: {m:.2f}", m=draws)
    made.readout("mean", f"mean of all: {run}", withheld=fault != "card")
    made.table({"draw": draws})
    return made.encode()


@pytest.mark.parametrize("fault", ["", "alt text", "mark", "card"])
def test_what_gives_a_run_away_is_found(fault: str):
    begun = pairs.Beginning(0, None)
    one, two = (pairs.in_view(pairs.behind(tiny(5, fault), tiny(run, fault), begun)) for run in (3, 7))
    assert (one != two) == bool(fault)
    header, arrays = scene.decode(pairs.behind(tiny(5), tiny(7), begun))
    assert arrays[header["panels"][0]["layers"][0]["points"]][:, 1].tolist() == [1, 7, 7, 7, 7]


def inside(run: int, first: int, wide: int = 4) -> bytes:
    """A picture of eight transitions of `run`, with two sub-steps each of those of a window."""
    made = Scene(run=str(run), steps=8, label="Paths", phases=[Phase("go", count="inner"), Phase("decide")])
    made.window(first, 2 * np.arange(wide + 1))
    steps = np.repeat(np.arange(first, first + wide), 2)
    panel = made.panel("path", x=("step", 0, 8), y=("run", 0, 10))
    panel.points(np.column_stack([steps, np.full(2 * wide, run)]), show="inner")
    films = np.column_stack([np.arange(8.0), np.full(8, run)])[:, None]
    made.panel("film", x=("step", 0, 8), y=("run", 0, 10)).path(films, at=np.arange(8))
    return made.encode()


def paths(begun: pairs.Beginning, first: int) -> list[list[float]]:
    """The sub-steps of run 7 behind the beginning of run 3; `first`: where its own window begins."""
    header, arrays = scene.decode(pairs.behind(inside(3, first=2), inside(7, first), begun))
    assert arrays[header["window"]["offsets"]].tolist() == [0, 2, 4, 6, 8]
    return arrays[header["panels"][0]["layers"][0]["points"]].tolist()


def test_windows_that_begin_elsewhere_share_what_is_in_view():
    assert paths(pairs.Beginning(0, 0), first=4) == [[step, 7] for step in (4, 4, 5, 5, 6, 6, 7, 7)]
    assert paths(pairs.Beginning(4, None), first=3) == [[3, 3], [3, 3], [4, 3], [4, 3], [5, 7], [5, 7], [6, 7], [6, 7]]
    with pytest.raises(AssertionError, match="not all here"):
        paths(pairs.Beginning(4, None), first=0)


def test_before_the_first_step_a_film_shows_its_own():
    header, arrays = scene.decode(pairs.behind(inside(3, first=0), inside(7, first=0), pairs.Beginning(0, 0)))
    film = header["panels"][1]["layers"][0]
    assert arrays[film["points"]][arrays[film["at"]], 0, 1].tolist() == [3, 7, 7, 7, 7, 7, 7, 7]


def test_a_panel_that_is_not_on_stage_is_not_of_the_beginning():
    header, arrays = scene.decode(pairs.behind(tiny(5), tiny(7), pairs.Beginning(4, None, ("another",))))
    assert arrays[header["panels"][0]["layers"][0]["points"]][:, 1].tolist() == [1, 7, 7, 7, 7]


def drawn(lesson: Lesson, spec: Any) -> list[bytes]:
    """All arrays of a finished picture."""
    return [array.tobytes() for array in scene.decode(pairs.picture(lesson, spec))[1]]


@pytest.mark.parametrize("slug,step", today([each for each in ASKING if each[0] in QUICK]))
def test_two_runs_behind_one_beginning_look_the_same_until_the_lock(served_pairs: Lab, slug: str, step: int):
    lesson: Lesson = module(slug, "page").LESSON
    if step not in waits(slug) or (slug, lesson.steps()[step].question) in SHOWN:
        return
    spec = direction.staged(lesson, lesson.steps()[step])
    assert spec is not None
    seeds = SEEDS_OF.get(slug, SEEDS)
    if drawn(lesson, spec.replace(seed=seeds[0])) == drawn(lesson, spec.replace(seed=seeds[1])):
        return  # nothing in it is random: no seed makes a second run
    looks, ends = [], []
    for more in seeds:
        page = opened(served_pairs, slug, step, more)
        player(page).press("End")  # it stays where it waits
        looks.append(seen(page, spec.seed + more))
        answer(page)
        player(page).press("End")
        ends.append(seen(page, spec.seed + more))
    assert looks[0] == looks[1], "\n".join(apart(*looks))
    assert ends[0]["picture"] != ends[1]["picture"]
