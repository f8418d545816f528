"""The player in a browser: what it shows, how it is operated, what it tells Python, and how fast it is."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

ROOT = Path(__file__).parents[2]
BINS = (-4, 4, 40)


# ---------------------------------------------------------------------------------------------------------------------
# Server and page


def serve(folder: Path, *options: str):
    """Runs the demo; Streamlit serves the `static` folder beside the script, so the script is copied beside a link."""
    shutil.copy(Path(__file__).with_name("player_demo.py"), folder)
    (folder / "static").symlink_to(ROOT / "app" / "static")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {
        "server.port": port,
        "server.address": "127.0.0.1",
        "server.headless": "true",
        "server.enableStaticServing": "true",
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
        "runner.postScriptGC": "false",
    }
    command = [sys.executable, "-m", "streamlit", "run", "player_demo.py"]
    command += [f"--{name}={value}" for name, value in settings.items()] + list(options)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    log = (folder / "log").open("w")
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    return process, port


def wait_for(url: str, process: subprocess.Popen):
    for _ in range(150):
        assert process.poll() is None, "the server did not start"
        try:
            return urllib.request.urlopen(url, timeout=1).read()
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"no answer from {url}")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    process, port = serve(tmp_path_factory.mktemp("player"))
    try:
        wait_for(f"http://127.0.0.1:{port}/_stcore/health", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
def watched(page):
    """The page; at the end: no error, no warning, no request to elsewhere."""
    problems = []

    def on_console(message):
        # Streamlit probes these two relative to a deep link; they are 404 there and harmless.
        probe = re.search(r"/deep/_stcore/(health|host-config)", message.location.get("url", ""))
        if message.type in ("error", "warning") and not probe:
            problems.append(f"{message.type}: {message.text} {message.location}")

    def on_request(request):
        if not re.match(r"(http|ws)://127\.0\.0\.1|data:|blob:", request.url):
            problems.append(f"outside request {request.url}")

    page.on("console", on_console)
    page.on("request", on_request)
    page.on("pageerror", lambda error: problems.append(f"page error: {error}"))
    yield page
    assert problems == []


@pytest.fixture
def visit(watched, address):
    """visit(scene, **query) opens a scene and gives its player."""

    def open_scene(scene: str, **query):
        rest = "".join(f"&{name}={value}" for name, value in query.items())
        watched.goto(f"{address}/?scene={scene}{rest}")
        return ready(watched)

    return open_scene


def ready(page):
    player = page.get_by_test_id("player")
    expect(player).to_have_attribute("data-t", re.compile(r"\d+"), timeout=20_000)
    player.focus()
    return player


def cursor(player):
    return int(player.get_attribute("data-t")), int(player.get_attribute("data-s"))


def at(player, t, s=None):
    expect(player).to_have_attribute("data-t", str(t), timeout=10_000)
    if s is not None:
        expect(player).to_have_attribute("data-s", str(s), timeout=10_000)


def scrub(player, t):
    player.get_by_role("slider", name="Step").evaluate(
        """(range, t) => {
            range.value = t;
            range.dispatchEvent(new Event("input", {bubbles: true}));
            range.dispatchEvent(new Event("change", {bubbles: true}));
        }""",
        t,
    )
    at(player, t)


def counts(player):
    return [int(k) for k in player.get_attribute("data-counts").split()]


def picture(player):
    return player.locator(".stage canvas").evaluate("canvas => canvas.toDataURL()")


def saved(page, player, button):
    if not player.locator("details").evaluate("details => details.open"):
        player.locator("summary").click()
    with page.expect_download() as download:
        player.get_by_role("button", name=button).click()
    return Path(download.value.path())


# ---------------------------------------------------------------------------------------------------------------------
# Moving


def test_steps_by_keyboard(visit):
    player = visit("plain")
    at(player, 0)
    for key, t in [
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("End", 999),
        ("ArrowRight", 999),
        ("ArrowLeft", 998),
        ("Home", 0),
        ("ArrowLeft", 0),
        (".", 1),
        (",", 0),
    ]:
        player.press(key)
        at(player, t)
    player.press("+")
    player.press("+")
    expect(player).to_have_attribute("data-speed", "4")
    player.press("-")
    expect(player).to_have_attribute("data-speed", "2")
    player.press(" ")
    expect(player).to_have_attribute("data-playing", "true")
    expect(player.get_by_role("button", name="Pause")).to_be_visible()
    expect(player).not_to_have_attribute("data-t", "0")
    player.press(" ")
    expect(player).to_have_attribute("data-playing", "false")


def test_steps_by_buttons(visit):
    player = visit("inside")
    button = lambda name: player.get_by_role("button", name=name, exact=True)  # noqa: E731
    button("Last step").click()
    at(player, 299)
    expect(button("Step forward")).to_be_disabled()
    button("First step").click()
    at(player, 0)
    expect(button("Step back")).to_be_disabled()
    button("Step forward").click()
    at(player, 1)
    expect(player.locator(".status")).to_have_text("2 / 300")
    button("Sub-step forward").click()
    at(player, 2, 0)
    button("Sub-step back").click()
    at(player, 1)
    player.get_by_label("Speed").select_option("64")
    expect(player.locator(".status")).to_have_text("2 / 300")


def test_substeps_visit_every_phase(visit):
    player = visit("inside")
    # Transition 1 has 12 inner items: momentum, 12 leapfrog states, ratio, decision.
    spoken = []
    for s in range(15):
        player.press("Shift+ArrowRight")
        at(player, 1, s)
        spoken.append(player.locator(".phases [aria-current]").all_text_contents())
    assert spoken == [["draw a momentum"], *[["move along the trajectory"]] * 12, ["compute the ratio"], []]
    lines = player.locator(".readouts li")
    expect(lines.nth(2)).to_have_text(re.compile(r"^u = 0\.\d{3}: (accepted|rejected)$"))
    player.press("Shift+ArrowLeft")
    expect(lines.nth(1)).to_have_text(re.compile(r"^log r = \d\.\d{3} − \d\.\d{3} = [+−]\d\.\d{3}$"))
    expect(lines.nth(2)).to_have_text("u = …: …")
    expect(lines.nth(2)).to_have_class("idle")
    player.press("ArrowRight")  # a step from inside settles the transition
    at(player, 1, 14)
    player.press("Shift+ArrowLeft")
    player.press("ArrowLeft")  # and a step back takes it back
    at(player, 0)


def test_substep_outside_the_window_asks_for_it(visit, watched):
    player = visit("inside")
    player.press("+")
    player.press("End")
    player.press("Shift+ArrowLeft")  # the inside of transition 299 is not loaded
    at(player, 299, 10)  # momentum, 9 or 12 states, ratio, decision: one before the last
    expect(watched.get_by_text('{"kind": "window", "t": 299}')).to_be_visible()
    expect(player).to_have_attribute("data-speed", "2")


def test_a_window_that_never_comes_is_stepped_over(visit):
    player = visit("deaf")
    scrub(player, 50)
    player.press("Shift+ArrowRight")
    at(player, 51, 0)  # settled: all that is known of transition 51
    player.press("Shift+ArrowRight")
    at(player, 52, 0)


def test_a_window_that_never_comes_is_waited_for_no_longer_than_a_while(visit):
    player = visit("deaf")
    scrub(player, 50)
    expect(player).to_have_attribute("data-waiting", "")
    expect(player).not_to_have_attribute("data-waiting", "", timeout=15_000)


def test_slow_motion_plays_the_substeps(visit):
    player = visit("inside")
    player.evaluate(
        """node => {
            node.seen = [];
            const note = () => node.seen.push([Number(node.dataset.t), Number(node.dataset.s)]);
            new MutationObserver(note).observe(node, {attributes: true, attributeFilter: ["data-s"]});
        }"""
    )
    player.get_by_role("button", name="slow motion").click()
    player.press("+")
    player.press(" ")
    expect(player).to_have_attribute("data-t", "2", timeout=20_000)
    player.press(" ")
    inside_one = [s for t, s in player.evaluate("node => node.seen") if t == 1]
    assert inside_one == sorted(inside_one) and len(set(inside_one)) > 8  # a busy machine may drop a frame or two


def test_spoken_state_and_names(visit):
    player = visit("plain")
    expect(player.get_by_role("img", name="Draws from a correlated normal, with trace and histogram")).to_be_visible()
    player.press("ArrowRight")
    expect(player.locator("[aria-live=polite]")).to_have_text(re.compile(r"^Step 2 of 1.?000: x₁ is −?\d\.\d\d\.$"))


# ---------------------------------------------------------------------------------------------------------------------
# Showing


def test_histogram_is_right_after_scrubbing_back(visit, watched):
    player = visit("plain")
    x = np.genfromtxt(saved(watched, player, "Download data (CSV)"), delimiter=",", skip_header=2)[:, 1]
    for t in (999, 300, 301, 7, 650, 0):
        scrub(player, t)
        expect(player).to_have_attribute("data-points-drawn", str(t + 1))
        wanted = np.histogram(x[: t + 1], bins=BINS[2], range=BINS[:2])[0]
        assert counts(player) == wanted.tolist()


def test_fifty_frames_a_second_with_20000_draws(visit):
    player = visit("plain", draws=20_000)
    for _ in range(9):
        player.press("+")
    best = 0
    for _ in range(3):  # the machine may be busy with something else; the best second counts
        scrub(player, 5000)
        player.press(" ")
        for _ in range(5):
            time.sleep(0.3)
            best = max(best, int(player.get_attribute("data-fps") or 0))
        player.press(" ")
        if best >= 50:
            break
    print(f"frames a second: {best}")
    assert best >= 50


PRESSED = """async ({player, press}) => {
  const box = document.body.appendChild(document.createElement("input"));
  const stand = [], begin = performance.now();
  const bubbles = true;
  box.dispatchEvent(press === "Enter" ? new KeyboardEvent("keydown", {key: press, bubbles}) : new PointerEvent(press, {bubbles}));
  while (performance.now() - begin < 800) {
    await new Promise(requestAnimationFrame);
    stand.push([performance.now() - begin, Number(player.dataset.t)]);
  }
  box.remove();
  return stand;
}"""


@pytest.mark.parametrize("press", ["Enter", "pointerup"])
def test_a_playing_picture_stands_still_while_another_may_be_made(visit, press: str):
    """What draws it would take from the machine what the new one needs."""
    player = visit("plain", draws=20_000)
    for _ in range(5):
        player.press("+")
    player.press(" ")
    expect(player).to_have_attribute("data-playing", "true")
    stand = player.evaluate("(player, press) => (" + PRESSED + ")({player, press})", press)
    first = stand[0][1]
    assert all(t == first for after, t in stand if after < 100), "it goes on beside what was asked for"
    assert stand[-1][1] > first, "it does not go on though nothing came"


def test_every_layer_is_drawn(visit):
    player = visit("gallery")
    colours = player.locator("canvas").first.evaluate(
        """canvas => {
            const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            const seen = new Set();
            for (let i = 0; i < data.length; i += 4) {
                if (data[i + 3] === 255) seen.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
            }
            return seen.size;
        }"""
    )
    assert colours > 200
    legend = player.get_by_role("list", name="Legend").get_by_role("listitem").all_text_contents()
    assert len(legend) == len(set(legend)) == 24
    assert {"truth", "shares"} <= set(legend), "marks that are no truth bear their own name"


def test_tooltip_names_the_nearest_draw(visit, watched):
    player = visit("plain")
    box = player.locator("canvas").first.bounding_box()
    found = set()
    for share in np.linspace(0.05, 0.95, 25):
        watched.mouse.move(box["x"] + share * box["width"], box["y"] + 0.5 * box["height"])
        tooltip = player.locator(".tooltip")
        if tooltip.evaluate("node => node.style.visibility") == "visible":
            found.add(tooltip.text_content())
    scrub(player, 999)
    for share in np.linspace(0.1, 0.9, 25):
        watched.mouse.move(box["x"] + share * box["width"], box["y"] + 0.45 * box["height"])
        if player.locator(".tooltip").evaluate("node => node.style.visibility") == "visible":
            found.add(player.locator(".tooltip").text_content())
    assert any(re.match(r"draw \d+: \(−?[\d.]+, −?[\d.]+\)$", text) for text in found), found


def test_pointing_at_a_part_tells_of_it(visit, watched):
    player = visit("linked")
    card = player.get_by_role("list", name="What is pointed at")
    expect(card.get_by_role("listitem")).to_have_text(["Point at a node.", "span 0 to 3"])  # what came last
    box = player.locator("canvas").first.bounding_box()
    places = [(x, y) for x in np.linspace(0.55, 0.98, 30) for y in np.linspace(0.06, 0.5, 6)]
    found = set()
    for x, y in places:
        watched.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        found.add(card.inner_text())
        if "4 states" in card.inner_text():
            break
    assert "span 0 to 3\n4 states" in {text.replace("\n\n", "\n") for text in found}, found
    # a click holds on to it, another place or Escape lets go
    watched.mouse.down()
    watched.mouse.up()
    watched.mouse.move(box["x"] + 2, box["y"] + 2)
    expect(card).to_contain_text("4 states")
    player.press("Escape")
    expect(card).to_contain_text("Point at a node.")
    # by keyboard, and forgotten with the transition
    player.press("n")
    expect(card).to_have_text("span 0 to 0")
    player.press("p")
    expect(card).to_contain_text("4 states")
    player.press("ArrowRight")
    expect(card).to_contain_text("Point at a node.")
    # inside a transition the card tells of what came last, and parts that have not appeared cannot be picked
    player.press("Shift+ArrowRight")
    expect(card).to_have_text("span 0 to 0")
    player.press("Shift+ArrowRight")
    expect(card).to_contain_text("span 0 to 1")
    player.press("p")
    expect(card).to_contain_text("2 states")


@pytest.mark.parametrize("scene", ["plain", "inside", "gallery", "edit", "linked"])
def test_narrow_screen(visit, watched, scene):
    watched.set_viewport_size({"width": 360, "height": 740})
    player = visit(scene)
    assert watched.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert player.evaluate("node => node.scrollWidth <= node.clientWidth")
    for button in player.locator("button:visible").all():
        box = button.bounding_box()
        assert box["height"] >= 40 and box["width"] >= 40, button.get_attribute("aria-label")
    plots = player.locator(".stage canvas").bounding_box()
    assert plots["width"] <= 360


# ---------------------------------------------------------------------------------------------------------------------
# Preferences


def test_dark_mode(visit, watched):
    watched.emulate_media(color_scheme="light")
    player = visit("plain")
    expect(player).to_have_attribute("data-dark", "false")
    light = player.evaluate("node => getComputedStyle(node).color")
    watched.emulate_media(color_scheme="dark")
    expect(player).to_have_attribute("data-dark", "true")
    dark = player.evaluate("node => getComputedStyle(node).color")
    assert sum(map(int, re.findall(r"\d+", light))) < 200 < 600 < sum(map(int, re.findall(r"\d+", dark)))
    surface, page = player.evaluate(
        "node => [getComputedStyle(node).getPropertyValue('--role-surface'), "
        "getComputedStyle(node).getPropertyValue('--st-background-color')]"
    )
    assert surface == page.strip().lower()


def test_reduced_motion(visit, watched):
    watched.emulate_media(reduced_motion="reduce")
    player = visit("plain")
    at(player, 999)  # the finished picture
    player.press("Home")
    for _ in range(9):
        player.press("+")
    player.press(" ")
    time.sleep(2.2)
    player.press(" ")
    assert 1 <= cursor(player)[0] <= 5


def test_reduced_motion_never_autoplays(visit, watched):
    watched.emulate_media(reduced_motion="reduce")
    player = visit("grow")
    expect(player).to_have_attribute("data-playing", "false")
    at(player, 999)  # the end of the run, once it is there
    expect(player).to_have_attribute("data-playing", "false")


# ---------------------------------------------------------------------------------------------------------------------
# Data out and in


def test_exports(visit, watched):
    player = visit("plain")
    rows = saved(watched, player, "Download data (CSV)").read_text().splitlines()
    assert rows[0].startswith("# Draws from a correlated normal") and "32-bit" in rows[0]
    assert rows[1] == "step,x₁,x₂"
    assert len(rows) == 2 + 1000
    values = np.array([row.split(",") for row in rows[2:]], dtype=float)
    assert np.array_equal(values[:, 0], np.arange(1, 1001))
    picture = saved(watched, player, "Download picture (PNG)").read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    width = int.from_bytes(picture[16:20], "big")
    assert width == 2 * (player.locator("canvas").first.evaluate("canvas => canvas.clientWidth") + 24)


def test_table_twin_follows_the_cursor(visit):
    player = visit("plain")
    player.locator("summary").click()
    expect(player.locator("tbody tr")).to_have_count(50)
    scrub(player, 500)
    expect(player.locator("tbody tr[aria-current] th")).to_have_text("501")
    expect(player.locator("caption")).to_have_text("Steps 476 to 525 of 1000")


def test_text_from_data_is_never_markup(visit, watched):
    player = visit("hostile")
    player.press("Shift+ArrowRight")
    player.locator("summary").click()
    expect(player.locator("img")).to_have_count(0)
    expect(player.locator("caption")).to_be_visible()
    watched.mouse.move(200, 200)
    expect(player.locator(".readouts li")).to_contain_text("<img src=x")
    assert watched.evaluate("window.__attacked") is None
    header = saved(watched, player, "Download data (CSV)").read_text().splitlines()[1]
    assert "'=HYPERLINK()" in header  # a spreadsheet takes it as text


def events(page):
    return [json.loads(text) for text in page.get_by_text(re.compile(r'^{"kind"')).all_text_contents()]


def test_points_are_edited_and_reach_python(visit, watched):
    player = visit("edit")
    box = player.locator(".stage canvas").bounding_box()
    middle = box["x"] + box["width"] / 2
    # Two points stand at x = ±1; the plot is centred, a unit is as long in x as in y.
    watched.mouse.click(middle, box["y"] + 60)
    expect(watched.get_by_text('"points"')).to_have_count(1, timeout=10_000)
    (added,) = events(watched)
    assert added["panel"] == "data" and len(added["points"]) == 3
    x, y, label = added["points"][2]
    assert abs(x) < 0.6 and y > 0.5 and label == 0

    player.get_by_role("radio", name="square").click()
    watched.mouse.click(middle, box["y"] + 180)
    expect(watched.get_by_text('"points"')).to_have_count(2, timeout=10_000)
    assert events(watched)[1]["points"][3][2] == 1

    watched.mouse.move(middle, box["y"] + 180)
    watched.mouse.down()
    watched.mouse.move(middle + 30, box["y"] + 150, steps=5)
    watched.mouse.up()
    expect(watched.get_by_text('"points"')).to_have_count(3, timeout=10_000)
    before, after = events(watched)[1]["points"][3], events(watched)[2]["points"][3]
    assert after[0] > before[0] and after[1] > before[1]

    watched.mouse.dblclick(middle, box["y"] + 60)
    expect(watched.get_by_text('"points"')).to_have_count(4, timeout=10_000)
    assert len(events(watched)[3]["points"]) == 3

    watched.mouse.click(middle + 30, box["y"] + 150)
    player.press("Delete")
    expect(watched.get_by_text('"points"')).to_have_count(5, timeout=10_000)
    assert len(events(watched)[4]["points"]) == 2


def test_click_reaches_python(visit, watched):
    player = visit("edit")
    box = player.locator(".stage canvas").bounding_box()
    watched.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 80)
    expect(watched.get_by_text('"click"')).to_have_count(1, timeout=10_000)
    (event,) = events(watched)
    assert event["panel"] == "other" and 0.4 < event["x"] < 0.6 and 0 < event["y"] < 1


def test_a_growing_run_plays_on(visit):
    player = visit("grow")
    expect(player).to_have_attribute("data-playing", "true")
    seen = []
    deadline = time.monotonic() + 15
    while cursor(player)[0] < 999 and time.monotonic() < deadline:
        seen.append(cursor(player)[0])
        time.sleep(0.1)
    at(player, 999)
    assert seen == sorted(seen), "the cursor went back"
    expect(player).to_have_attribute("data-playing", "false")
    expect(player).to_have_attribute("data-points-drawn", "1000")
    grown = picture(player)
    player = visit("grow", each=1000)
    player.press("End")
    expect(player).to_have_attribute("data-points-drawn", "1000")
    assert picture(player) == grown, "early draws look like late ones"


def test_a_run_that_starts_where_it_has_not_grown_yet_stands_there_once_it_has(visit):
    player = visit("grow", start=650)
    at(player, 650)
    expect(player).to_have_attribute("data-steps", "1000")
    at(player, 650)
    expect(player).to_have_attribute("data-playing", "false")


def test_of_another_picture_under_the_same_name_nothing_old_stays(visit, watched):
    """Networks learn, a digit gets a stroke: marks that gather along the run are those of the new arrays, all of them."""
    player = visit("anew", seed=2)
    wanted = picture(player)
    player = visit("anew", seed=1)
    assert picture(player) != wanted
    watched.get_by_role("button", name="Other draws").click()
    deadline = time.monotonic() + 10
    while picture(player) != wanted:
        assert time.monotonic() < deadline, "something of the picture before is still there"
        time.sleep(0.1)


def test_deep_link_under_a_base_path(watched, tmp_path):
    process, port = serve(tmp_path, "--server.baseUrlPath=lab/one")
    try:
        wait_for(f"http://127.0.0.1:{port}/lab/one/_stcore/health", process)
        watched.goto(f"http://127.0.0.1:{port}/lab/one/deep?scene=plain")
        player = ready(watched)
        player.press("End")
        at(player, 999)
    finally:
        process.terminate()
        process.wait(10)
