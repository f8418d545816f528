"""Scenes for the browser test of the player: `?scene=plain|inside|deaf|gallery|edit|grow|anew|hostile|linked`.

Run by hand: link app/static beside a copy of this file as `static`, put the repository on PYTHONPATH, and
`streamlit run player_demo.py --server.enableStaticServing true`.
"""

import json

import numpy as np
import streamlit as st

from app.kit.canvas import player
from app.kit.player.scene import Axis, Editable, Phase, Scene, Show

GRID = np.linspace(-4, 4, 81)


def density(x, y):
    return np.exp(-0.5 * (x**2 - 1.6 * x * y + y**2) / (1 - 0.8**2))


def draws(number, seed=1):
    rng = np.random.default_rng(seed)
    out = np.empty((number, 2))
    x = np.array([-3.0, 3.0])
    noise = rng.normal(size=(number, 2))
    for i in range(number):
        x = 0.9 * x + np.sqrt(1 - 0.9**2) * (np.linalg.cholesky([[1, 0.8], [0.8, 1]]) @ noise[i])
        out[i] = x
    return out


def plane(scene, **kwargs):
    panel = scene.panel("plane", title="Position", x=Axis("x₁", -4, 4), y=Axis("x₂", -4, 4), equal=True, **kwargs)
    values = density(GRID[None, :], GRID[:, None])
    levels = [0.03, 0.1, 0.25, 0.5, 0.8]
    return panel.contour(values, levels=levels, x=(-4, 4), y=(-4, 4), role="truth", label="target density")


def plain(number, **kwargs):
    """Draws, trace and histogram: the performance scene."""
    position = draws(number)
    scene = Scene(run=f"plain-{number}", steps=number, label="Draws from a correlated normal, with trace and histogram", **kwargs)
    plane(scene, place=(0, 0, 3, 2), height=480).points(position, show="upto", role="posterior", size=2.2, label="draws").points(
        position, show=Show("upto", last=1), role="highlight", size=5, label="newest draw"
    )
    trace = scene.panel("trace", title="Trace", x=Axis("step"), y=Axis("x₁", -4, 4), place=(3, 0, 2, 1), height=220)
    trace.line(np.arange(1, number + 1), position[:, 0], show="upto", role="posterior", width=1.2)
    marginal = scene.panel("marginal", title="Marginal of x₁", x=Axis("x₁", -4, 4), place=(3, 1, 2, 1), height=240)
    marginal.histogram(position[:, 0], bins=(-4, 4, 40), label="draws so far")
    marginal.line(GRID, np.exp(-(GRID**2) / 2) / np.sqrt(2 * np.pi), role="truth", dash=True, label="exact marginal")
    scene.say("Step {t} of {steps}: x₁ is {x:.2f}.", x=position[:, 0])
    scene.table({"x₁": position[:, 0], "x₂": position[:, 1]})
    return scene


def inside(first, width=20, number=300):
    """Transitions with an inside: momentum, leapfrog, ratio, decision."""
    rng = np.random.default_rng(2)
    stages, stretch = 9, 12
    position = draws(number, seed=3)
    proposal = position + rng.normal(0, 0.4, (number, 2))
    accepted = rng.random(number) < 0.75
    momentum = rng.normal(size=(number, 2))
    previous = np.vstack([position[:1] + 0.5, position[:-1]])
    width = min(width, number - first)
    lengths = np.full(width, stages)
    lengths[1::3] = stretch
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    path, step, energy = np.empty((offsets[-1], 2)), np.empty(offsets[-1]), np.empty(offsets[-1])
    for w in range(width):
        part = slice(offsets[w], offsets[w + 1])
        share = np.linspace(0, 1, lengths[w])[:, None]
        a, b = previous[first + w], proposal[first + w]
        bow = np.array([[b[1] - a[1], a[0] - b[0]]]) * np.sin(np.pi * share) * 0.5
        path[part] = a + share * (b - a) + bow
        step[part] = np.arange(lengths[w])
        energy[part] = 2 + 0.1 * np.sin(np.arange(lengths[w])) + 0.02 * np.arange(lengths[w])
    phases = [
        Phase("momentum", "draw a momentum"),
        Phase("leapfrog", "move along the trajectory", "inner"),
        Phase("ratio", "compute the ratio"),
        Phase("decide", "accept or reject"),
    ]
    scene = Scene(run="inside", steps=number, label="Hamiltonian transitions in slow motion", phases=phases, rate=10)
    scene.window(first, offsets)
    panel = plane(scene, place=(0, 0, 3, 2), height=440)
    panel.points(position, show=Show("upto"), role="posterior", size=3, label="draws")
    panel.arrows(previous, previous + 0.6 * momentum, show=Show("at", phase=("momentum", "leapfrog")), label="momentum")
    panel.path(path, show="inner", role="proposal", width=2.2, label="trajectory")
    panel.points(path, show="inner", role="proposal", size=3)
    panel.points(
        proposal,
        show=Show("at", phase=("ratio", "decide")),
        classes=accepted.astype(np.uint8),
        role=["reject", "accept"],
        shape=["cross", "circle"],
        size=6,
        label=["rejected", "accepted"],
    )
    along = scene.panel(
        "energy", title="Energy along the trajectory", x=Axis("leapfrog step", 0, 12), y=Axis("H", 1.8, 2.6), place=(3, 0, 2, 1), height=210
    )
    along.line(step, energy, show="inner", role="energy").rule(y=2.0, role="muted", dash=True, label="energy at start")
    trace = scene.panel("trace", title="Trace", x=Axis("step", 0, number), y=Axis("x₁", -4, 4), place=(3, 1, 2, 1))
    trace.line(np.arange(1, number + 1), position[:, 0], show="upto", role="posterior", width=1.5)
    old, new = rng.normal(2, 0.1, number), rng.normal(2, 0.1, number)
    scene.readout(
        "energy",
        "H after {i:d} leapfrog steps = {h:.3f}",
        inner=True,
        i=step.astype(int),
        h=energy,
        show=Show("all", phase=("leapfrog", None)),
    )
    scene.readout(
        "ratio", "log r = {old:.3f} − {new:.3f} = {r:+.3f}", old=old, new=new, r=old - new, show=Show("at", phase=("ratio", None))
    )
    scene.readout(
        "verdict",
        "u = {u:.3f}: {accepted?accepted:rejected}",
        u=rng.random(number),
        accepted=accepted,
        show=Show("at", phase=("decide", None)),
    )
    scene.say("Step {t} of {steps}, {phase}.")
    scene.table({"x₁": position[:, 0], "accepted": accepted})
    return scene


def gallery():
    """One of each layer."""
    number = 200
    rng = np.random.default_rng(4)
    scene = Scene(run="gallery", steps=number, label="One of each layer", start=number - 1)
    xs = np.linspace(-1, 1, 60)
    curves = np.sin(3 * xs)[None] + rng.normal(0, 0.25, (number, 1)) + rng.normal(0, 0.3, (number, 1)) * xs
    fit = scene.panel("fit", title="Posterior functions", x=Axis("x (m)"), y=Axis("y (°C)"), place=(0, 0, 2, 1), height=280)
    fit.line(xs, curves.mean(0), band=np.quantile(curves, [0.05, 0.95], axis=0), role="posterior", label="mean, 90 % band")
    fit.line(xs, curves, show=Show("upto", last=15, fade=True), role="highlight", width=1.2, label="last 15 functions")
    fit.points(np.column_stack([xs[::6], np.sin(3 * xs[::6])]), role="ink", shape="diamond", size=4, label="data")
    waves = np.linspace(-3, 3, 60)
    frames = np.stack([255 / (1 + np.exp(-(1 + f / 10) * (waves[None] * np.cos(f / 10) + waves[:, None]))) for f in range(30)]).astype(
        np.uint8
    )
    heat = scene.panel("heat", title="Predictive map", x=Axis("x₁", -3, 3), y=Axis("x₂", -3, 3), place=(2, 0, 2, 1), equal=True, height=280)
    heat.heatmap(frames, x=(-3, 3), y=(-3, 3), low=0, high=1, colormap="diverging", label="P(class 1)")
    classes = rng.integers(0, 2, 60).astype(np.uint8)
    points = rng.normal(0, 0.8, (60, 2)) + np.where(classes, 1, -1)[:, None]
    heat.points(points, classes=classes, role=["class-0", "class-1"], shape=["circle", "square"], size=4, label=["class 0", "class 1"])
    sizes = [2, 4, 3, 1]
    active = np.ones((number, 10), np.uint8)
    active[:, 5] = np.arange(number) // 10 % 2
    active[:, 8] = 0
    net = scene.panel("net", title="Network", place=(4, 0, 2, 1), height=280)
    net.network(sizes, rng.normal(0, 1, (number, 31)), labels=[["x₁", "x₂"], None, None, ["y"]], active=active)
    move = rng.integers(0, 4, number)
    moves = scene.panel("moves", title="Number of units", place=(0, 1, 2, 1), height=240)
    moves.counts(move, 4, ["1", "2", "3", "4"], truth=[0.25] * 4, label="running frequency")
    bars = scene.panel("bars", title="Evidence", place=(2, 1, 2, 1), height=240)
    bars.bars(
        rng.dirichlet([3, 4, 5], number), labels=["A", "B", "C"], truth=[0.25, 0.33, 0.42], marks="shares", role="prior", label="estimate"
    )
    bars.bars([0.3, 0.3, 0.4], labels=["A", "B", "C"], role="likelihood", label="other method")
    chains = scene.panel(
        "chains", title="Four chains", x=Axis("step", 0, number), y=Axis("log ε", 1e-3, 1e2, log=True), place=(4, 1, 2, 1), height=240
    )
    for c in range(4):
        walk = np.exp(np.clip(np.cumsum(rng.normal(0, 0.3, number)), -6, 4))
        chains.line(np.arange(number), walk, show="upto", chain=c, width=1.4, label=f"chain {c + 1}")
    chains.rule(y=1.0, role="truth", dash=True).rule(x=np.arange(number), role="highlight").text(100, 50, "warm-up ends")
    arrows = scene.panel("arrows", title="Walk", x=Axis("a"), y=Axis("b"), place=(0, 2, 6, 1), height=200)
    walk = np.cumsum(rng.normal(0, 1, (number, 2)), axis=0)
    arrows.path(walk, show="upto", role="muted", alpha=0.6, label="path")
    arrows.arrows(walk[:-1][np.r_[0, :199]], walk, show=Show("upto", last=12, fade=True), role="momentum", label="last moves")
    for k, shape in enumerate(("circle", "cross", "square", "triangle", "ring", "diamond")):
        arrows.points(walk[20 * k : 20 * k + 1], shape=shape, role=f"chain-{k}", size=6, label=shape)
    scene.table({"k": move})
    return scene


def edit():
    points = np.array(st.session_state.get("points", [[-1.0, 0.0, 0], [1.0, 0.0, 1]]))
    scene = Scene(run=f"edit-{points.tobytes().hex()[:40]}-{len(points)}", steps=1, label="Points to edit")
    panel = scene.panel(
        "data", x=Axis("x", -2, 2), y=Axis("y", -2, 2), height=300, equal=True, editable=Editable(points, classes=("circle", "square"))
    )
    panel.rule(x=0.0)
    other = scene.panel("other", x=Axis("x", 0, 1), y=Axis("y", 0, 1), height=160, clickable=True)
    other.line([0, 1], [0, 1])
    return scene


def linked():
    """One orbit and the tree on it: pointing at a node lights up its span in both panels."""
    number, leaves = 20, 4
    scene = Scene(
        run="linked", steps=number, label="An orbit and its tree", phases=[Phase("grow", "double", "inner"), Phase("draw", "take the draw")]
    )
    scene.window(0, np.arange(number + 1) * 3)
    low, high = np.tile([0, 1, 0, 2, 3, 2, 0], number), np.tile([0, 1, 1, 2, 3, 3, 3], number)
    scene.parts("tree", np.arange(number + 1) * 7, np.tile([0, 1, 1, 2, 2, 2, 2], number), low=low, high=high, hint="Point at a node.")
    scene.part_line("tree", "span {a:d} to {b:d}", a=low, b=high)
    scene.part_line("tree", "{n:d} states", when=high > low, n=high - low + 1)
    middle, level = 0.5 * (low + high), np.log2(high - low + 1)
    base = 7 * np.repeat(np.arange(number), 7)
    show = Show("inner", parts="tree")
    orbit = scene.panel("orbit", x=Axis("x", -2, 2), y=Axis("y", -2, 2), place=(0, 0, 1, 1), height=300)
    state = np.where(high > low, np.nan, low * 2 * np.pi / leaves)
    before = np.tile([-1, 0, -1, 1, 3, -1, -1], number)
    orbit.tree(np.column_stack([np.cos(state), np.sin(state)]), np.where(before < 0, -1, before + base), show=show)
    tree = scene.panel("tree", x=Axis("time", -0.5, 3.5), y=Axis("level", -0.3, 2.3), place=(1, 0, 1, 1), height=300)
    parent = np.tile([2, 2, 6, 5, 5, 6, -1], number)
    tree.tree(
        np.column_stack([middle, level]),
        np.where(parent < 0, -1, parent + base),
        show=show,
        classes=(high > low).astype(int),
        role=["highlight", "reject"],
        shape=["circle", "triangle"],
        label=["state", "subtree"],
    )
    return scene


def hostile():
    attack = '<img src=x onerror="window.__attacked=1">'
    scene = Scene(run=attack, steps=3, label=attack, phases=[Phase("a", attack), Phase("b", attack)])
    panel = scene.panel("p", title=attack, x=Axis(attack, 0, 1), y=Axis(attack, 0, 1))
    panel.points(np.full((3, 2), 0.5), show="upto", label=attack).text(0.5, 0.6, attack)
    scene.panel("b").bars([1.0], labels=[attack], label=attack)
    scene.readout("r", attack + "{x|" + attack + "|" + attack + "|" + attack + "}", x=[0, 1, 2])
    scene.say(attack)
    scene.table({attack: [1, 2, 3], "=HYPERLINK()": [1.0, 2.0, 3.0]})
    return scene


def note(event):
    """Keeps the events, as a page would keep what it needs of them."""
    state = st.session_state
    state.events = [*state.get("events", []), event]
    if event["kind"] == "points":
        state.points = event["points"]
    if event["kind"] == "window":
        state.first = max(0, event["t"] - 5)


def show(scene):
    event = player(scene.encode(), key="player", on_event=note)
    st.text(f"this run: {event}")
    for past in st.session_state.get("events", []):
        st.text(json.dumps(past))


@st.fragment(run_every=0.4)
def grow():
    each = int(st.query_params.get("each", "100"))
    steps = st.session_state.grown = min(1000, st.session_state.get("grown", 0) + each)
    start = int(st.query_params["start"]) if "start" in st.query_params else None
    scene = Scene(run="grow", steps=steps, total=1000, label="A growing run", rate=400, start=start, autoplay=start is None)
    plane(scene, height=300).points(draws(1000)[:steps], show="upto", label="draws")
    player(scene.encode(), key="player")


def other_draws():
    """Another picture under the name of the one before: networks that have learnt more, a digit with one more stroke."""
    seed = int(st.query_params.get("seed", "1")) + st.button("Other draws")
    position, curves = draws(60, seed), draws(60, seed)[:, :1] * np.linspace(0.2, 1.0, 81)
    scene = Scene(run="anew", steps=60, start=59, label="Draws, and everything that stays")
    plane(scene, place=(0, 0, 1, 1), height=300).points(position, show="upto")
    trails = scene.panel("trails", x=Axis("x", -4, 4), y=Axis("y", -4, 4), place=(1, 0, 1, 1), height=300)
    trails.path(position, show="upto").arrows(position, position[::-1] * 0.5, show="upto")
    trails.line(GRID, curves, show="upto")
    marginal = scene.panel("marginal", x=Axis("x", -4, 4), place=(0, 1, 1, 1), height=200)
    marginal.histogram(position[:, 0], bins=(-4, 4, 20))
    votes = scene.panel("votes", y=Axis("share", 0, 1), place=(1, 1, 1, 1), height=200)
    votes.counts((position[:, 0] > 0).astype(int), 2, ["left", "right"])
    return scene


def main():
    name = st.query_params.get("scene", "plain")
    if name == "grow":
        grow()
        return
    scenes = {
        "plain": lambda: plain(int(st.query_params.get("draws", "1000"))),
        "inside": lambda: inside(st.session_state.get("first", 0)),
        "deaf": lambda: inside(0),  # does not answer requests for a window
        "gallery": gallery,
        "edit": edit,
        "anew": other_draws,
        "hostile": hostile,
        "linked": linked,
    }
    show(scenes[name]())


def deep():
    main()


st.set_page_config(page_title="player", layout="wide")
st.navigation([st.Page(main, title="player", default=True), st.Page(deep, title="deep", url_path="deep")]).run()
