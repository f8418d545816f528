"""The scene: what travels to the browser, and which mistakes of a lesson are refused."""

import gc
import threading
import weakref

import numpy as np
import pytest

from app.kit.player.scene import (
    ALIGNMENT,
    ROLES,
    Axis,
    Editable,
    Phase,
    Scene,
    SceneError,
    Show,
    compile_template,
    decode,
    read_layout,
    stairs,
)
from engine import ticket, turns
from engine.turns import Turns

N = 10
PLANE = {"x": Axis("x", -1, 1), "y": Axis("y", -1, 1)}


def scene(**kwargs):
    return Scene(**{"run": "r", "steps": N, "label": "A picture.", **kwargs})


def panel(**kwargs):
    """The only panel of a scene, which is its `of`."""
    owner = scene()
    made = owner.panel("p", **{**PLANE, **kwargs})
    made.of = owner
    return made


def layer(scene_or_panel, number=0):
    """A layer's header and the arrays of its blob."""
    owner = getattr(scene_or_panel, "of", scene_or_panel)
    header, arrays = decode(owner.encode())
    return header["panels"][0]["layers"][number], arrays


def test_a_scene_does_not_wait_for_the_collector():
    """Its arrays may be large: they go with the last who holds it."""
    gc.disable()
    try:
        made = scene()
        made.panel("p", **PLANE).points(np.zeros((N, 2)), show="upto")
        gone = [weakref.ref(made), weakref.ref(made.panels[0])]
        made.encode()
        del made
        assert [ref() for ref in gone] == [None, None]
    finally:
        gc.enable()


# -- the blob ----------------------------------------------------------------------------------------------------------


def test_arrays_are_aligned_and_come_back():
    s = scene()
    p = s.panel("p", **PLANE)
    points = np.random.default_rng(1).normal(size=(N, 2))
    mask = np.arange(N) % 2
    p.points(points, show="upto", mask=mask, label="μ – „draws“")  # text of more bytes than letters shifts the start
    s.table({"n": np.arange(N), "ok": np.arange(N) > 3, "x": points[:, 0]})
    blob = s.encode()
    header, arrays = decode(blob)
    start = 4 + int.from_bytes(blob[:4], "little")
    assert start % ALIGNMENT == 0
    assert all(entry["offset"] % ALIGNMENT == 0 for entry in header["arrays"])
    drawn = header["panels"][0]["layers"][0]
    assert drawn["labels"] == ["μ – „draws“"]
    np.testing.assert_array_equal(arrays[drawn["points"]], points.astype(np.float32))
    np.testing.assert_array_equal(arrays[drawn["mask"]], mask)
    assert [arrays[column["values"]].dtype for column in header["table"]] == [np.int32, np.uint8, np.float32]


def test_equal_arrays_are_sent_once():
    s = scene()
    p = s.panel("p", **PLANE)
    points = np.random.default_rng(2).normal(size=(N, 2))
    p.points(points, show="upto").path(points.copy(), show="upto")
    _, arrays = decode(s.encode())
    assert len(arrays) == 1
    p.path(points + 1e-3)
    assert len(decode(s.encode())[1]) == 2
    # The same bytes with another type or shape are another array.
    s.table({"int": np.zeros(N, int), "real": np.zeros(N)})
    assert len(decode(s.encode())[1]) == 4


def test_a_long_run_is_small():
    number = 20_000
    s = scene(steps=number)
    draws = np.random.default_rng(3).normal(size=(number, 2))
    p = s.panel("p", x=Axis(), y=Axis())
    p.points(draws, show="upto")
    s.panel("h", x=Axis("x", -4, 4)).histogram(draws[:, 0], bins=(-4, 4, 40))
    assert len(s.encode()) < 250_000


def test_encoding_is_repeatable():
    p = panel().points(np.zeros((N, 2)), show="upto")
    assert p.of.encode() == p.of.encode()


def test_nan_and_overflow_travel():
    p = panel().points(np.array([[np.nan, 0.0], [1e300, 0.0]]))
    drawn, arrays = layer(p)
    values = arrays[drawn["points"]]
    assert np.isnan(values[0, 0]) and np.isinf(values[1, 0])


# -- axes --------------------------------------------------------------------------------------------------------------


def test_axes_without_a_range_take_it_from_the_data():
    p = panel(x=Axis("x"), y=Axis("y", low=-5)).points([[0.0, 1.0], [10.0, np.nan], [5.0, 2.0]])
    header, _ = decode(p.of.encode())
    x, y = header["panels"][0]["x"], header["panels"][0]["y"]
    assert x["low"] == pytest.approx(-0.4) and x["high"] == pytest.approx(10.4)
    assert y["low"] == -5 and 2 < y["high"] < 2.5


def test_quantities_have_a_scale_of_their_own():
    s = scene()
    s.panel("h", x=Axis("x", -4, 4)).histogram(np.zeros(N), bins=(-4, 4, 8))
    s.panel("c").counts(np.zeros(N, int), 3, truth=[0.5, 0.3, 0.2])
    s.panel("b").bars([[0.1, 0.7]] * N, labels=["a", "b"])
    histogram, counts, bars = decode(s.encode())[0]["panels"]
    assert histogram["y"]["label"] == "density" and histogram["y"]["low"] == 0 and 1 < histogram["y"]["high"] < 1.1
    assert counts["y"]["label"] == "frequency" and counts["y"]["high"] > 1
    assert bars["y"]["low"] == 0 and bars["x"] is None


def test_faulty_axes():
    with pytest.raises(SceneError, match="no finite data"):
        panel(x=Axis()).points(np.full((3, 2), np.nan)).of.encode()
    for axis in (Axis("x", 1, 1), Axis("x", 2, 1), Axis("x", np.nan, 1), Axis("x", 0, np.inf), Axis("x", 0, 1, log=True)):
        with pytest.raises(SceneError, match="x axis"):
            panel(x=axis).of.encode()
    with pytest.raises(SceneError, match="need an x and a y axis"):
        panel(x=Axis("x", 0, 1), y=None).points(np.zeros((2, 2))).of.encode()


# -- lengths and shows -------------------------------------------------------------------------------------------------


def test_items_match_the_steps():
    for add in (
        lambda p, n: p.points(np.zeros((n, 2)), show="upto"),
        lambda p, n: p.points(np.zeros((n, 2)), show="at"),
        lambda p, n: p.path(np.zeros((n, 2)), show="upto"),
        lambda p, n: p.arrows(np.zeros((n, 2)), np.zeros((n, 2))),
        lambda p, n: p.line(np.arange(n), np.zeros(n), show="upto"),
        lambda p, n: p.line(np.arange(3), np.zeros((n, 3)), show="at"),
        lambda p, n: p.bars(np.zeros((n, 2)), labels=["a", "b"]),
        lambda p, n: p.histogram(np.zeros(n), bins=(0, 1, 2)),
        lambda p, n: p.counts(np.zeros(n, int), 2),
        lambda p, n: p.network([1, 1], np.zeros((n, 2))),
        lambda p, n: p.rule(x=np.zeros(n)),
    ):
        add(panel(), N).of.encode()
        with pytest.raises(SceneError, match=f"{N - 1} items for {N} steps"):
            add(panel(), N - 1)


def test_inner_layers_need_a_window_and_its_length():
    with pytest.raises(SceneError, match="window"):
        panel().path(np.zeros((4, 2)), show="inner")
    s = scene().window(2, [0, 3, 3, 5])
    p = s.panel("p", **PLANE)
    p.path(np.zeros((5, 2)), show="inner").line([0, 1, 2, 0, 1], np.zeros(5), show="inner")
    with pytest.raises(SceneError, match="4 items for 5 inner items"):
        p.points(np.zeros((4, 2)), show="inner_at")
    header, arrays = decode(s.encode())
    assert header["window"]["first"] == 2 and arrays[header["window"]["offsets"]].tolist() == [0, 3, 3, 5]


@pytest.mark.parametrize("first, offsets", [(0, [1, 2]), (0, [0, 2, 1]), (0, [0]), (N - 1, [0, 1, 2]), (-1, [0, 1]), (0, [0.0, 1.0])])
def test_faulty_windows(first, offsets):
    with pytest.raises(SceneError, match="window"):
        scene().window(first, offsets)


def test_a_window_is_short():
    with pytest.raises(SceneError, match="200"):
        scene(steps=1000).window(0, np.arange(300))


def test_shows():
    phases = [Phase("propose"), Phase("trajectory", count="inner"), Phase("decide", "decide: accept?")]
    s = scene(phases=phases).window(0, [0, 2])
    p = s.panel("p", **PLANE)
    p.points(np.zeros((N, 2)), show=Show("upto", last=3, fade=True))
    p.points(np.zeros((N, 2)), show=Show("at", phase=("trajectory", None)))
    p.points(np.zeros((N, 2)), show=Show("at", phase=(None, "trajectory")))
    header, _ = decode(s.encode())
    shows = [entry["show"] for entry in header["panels"][0]["layers"]]
    assert shows[0] == {"what": "upto", "last": 3, "fade": True, "phase": None}
    assert [show["phase"] for show in shows[1:]] == [[1, 2], [0, 1]]
    assert [phase["label"] for phase in header["phases"]] == ["propose", "trajectory", "decide: accept?"]
    for faulty, message in (
        (Show("sometimes"), "cannot show"),
        (Show("at", phase=("nowhere", None)), "unknown phase"),
        (Show("at", phase=("decide", "propose")), "backwards"),
        (Show("at", last=3), "last"),
        (Show("upto", last=0), "last"),
    ):
        with pytest.raises(SceneError, match=message):
            p.points(np.zeros((N, 2)), show=faulty)


def test_during_and_since_say_what_a_show_says():
    s = scene(phases=[Phase("a"), Phase("b"), Phase("c")])
    p = s.panel("p", **PLANE)
    points = np.zeros((N, 2))
    p.points(points, show="at", during="b").points(points, show="at", during=("a", "b"))
    p.arrows(points, points, since="b").rule(y=np.zeros(N), since="c").path(points, show="upto", last=3, fade=True)
    shows = [entry["show"] for entry in decode(s.encode())[0]["panels"][0]["layers"]]
    assert [show["phase"] for show in shows] == [[1, 1], [0, 1], [1, 2], [2, 2], None]
    assert [show["what"] for show in shows] == ["at", "at", "at", "at", "upto"]
    assert shows[-1]["last"] == 3 and shows[-1]["fade"]
    for faulty, message in (
        ({"show": Show("at"), "since": "b"}, "not both"),
        ({"during": "a", "since": "b"}, "not both"),
        ({"since": "nowhere"}, "unknown phase"),
    ):
        with pytest.raises(SceneError, match=message):
            p.points(points, **faulty)
    with pytest.raises(TypeError, match="sinse"):
        p.points(points, sinse="b")


def test_faulty_phases():
    for phases in (
        [Phase("a"), Phase("a")],
        [Phase("a", count="inner"), Phase("b", count="inner"), Phase("c")],
        [Phase("a", count="inner")],
        [Phase("a", count=0)],
        [Phase("a", count="some")],
    ):
        with pytest.raises(SceneError, match="phase"):
            scene(phases=phases)


# -- layers ------------------------------------------------------------------------------------------------------------


def test_chains_get_their_role():
    p = panel()
    for chain in range(8):
        p.points(np.zeros((N, 2)), show="upto", chain=chain)
    header, _ = decode(p.of.encode())
    assert [entry["roles"] for entry in header["panels"][0]["layers"]] == [[f"chain-{c}"] for c in range(8)]
    with pytest.raises(SceneError, match=r"0\.\.7"):
        p.path(np.zeros((2, 2)), chain=8)


def test_classes_of_points():
    p = panel().points(np.zeros((3, 2)), classes=[0, 1, 1], role=["reject", "accept"], shape=["cross", "circle"], label=["no", "yes"])
    drawn, arrays = layer(p)
    assert arrays[drawn["classes"]].tolist() == [0, 1, 1] and arrays[drawn["classes"]].dtype == np.uint8
    with pytest.raises(SceneError, match=r"0\.\.1"):
        panel().points(np.zeros((3, 2)), classes=[0, 1, 2], role=["reject", "accept"])
    with pytest.raises(SceneError, match="entries of shape"):
        panel().points(np.zeros((3, 2)), classes=[0, 1, 1], role=["accept"] * 3, shape=["cross", "circle"])
    with pytest.raises(SceneError, match="unknown shape"):
        panel().points(np.zeros((3, 2)), shape="star")


def test_contours():
    values = np.arange(12.0).reshape(3, 4)
    values[0, 0] = np.nan
    drawn, arrays = layer(panel().contour(values, levels=3, x=(-1, 1), y=(0, 1)))
    assert len(drawn["levels"]) == 3 and drawn["levels"] == sorted(drawn["levels"])
    assert np.isfinite(arrays[drawn["values"]]).all()
    for change, message in (
        ({"values": np.full((3, 3), np.nan)}, "no finite value"),
        ({"values": np.zeros(3)}, "2 dimensions"),
        ({"values": np.zeros((1, 5))}, "2 × 2"),
        ({"levels": [np.nan]}, "levels"),
        ({"levels": []}, "levels"),
        ({"x": (1, -1)}, "low < high"),
    ):
        with pytest.raises(SceneError, match=message):
            panel().contour(**{"values": values, "levels": [1, 2], "x": (-1, 1), "y": (0, 1), **change})


def test_heatmaps():
    frames = np.zeros((5, 3, 4), np.uint8)
    place = {"x": (-1, 1), "y": (-1, 1), "low": 0, "high": 1}
    drawn, arrays = layer(panel().heatmap(frames, at=np.arange(N) // 2, **place))
    assert arrays[drawn["frames"]].shape == (5, 3, 4) and arrays[drawn["at"]].dtype == np.int32
    assert layer(panel().heatmap(frames[0], **place))[1][0].shape == (1, 3, 4)
    for change, message in (
        ({"frames": np.zeros((101, 2, 2), np.uint8)}, "100"),
        ({"frames": np.zeros((3, 3))}, "uint8"),
        ({"at": np.arange(N)}, "0..4"),
        ({"at": np.zeros(3, int)}, "10 integers"),
        ({"colormap": "jet"}, "colormap"),
        ({"low": 1}, "low < high"),
    ):
        with pytest.raises(SceneError, match=message):
            panel().heatmap(**{"frames": frames, **place, **change})


def test_a_path_for_each_step():
    frames = np.zeros((3, 7, 2))
    drawn, arrays = layer(panel().path(frames, at=np.arange(N) // 4))
    assert arrays[drawn["points"]].shape == (3, 7, 2) and arrays[drawn["at"]].dtype == np.int32
    drawn, arrays = layer(panel().path(frames, at=np.arange(N + 1) // 4))  # with one for before the first step
    assert len(arrays[drawn["at"]]) == N + 1
    for change, message in (
        ({"points": frames[0]}, "3 dimensions"),
        ({"points": np.zeros((3, 7, 3))}, "F, N, 2"),
        ({"at": np.arange(N)}, "0..2"),
        ({"at": np.zeros(3, int)}, "10 integers"),
        ({"at": np.zeros(N + 2, int)}, "10 integers"),
        ({"show": "upto"}, "cannot show"),
    ):
        with pytest.raises(SceneError, match=message):
            panel().path(**{"points": frames, "at": np.arange(N) // 4, **change})


def test_networks():
    drawn, _ = layer(panel().network([2, 3, 1], np.ones((N, 13)), labels=[["a", "b"], None, ["y"]]))
    assert drawn["scale"] == 1
    with pytest.raises(SceneError, match="13 weights, got 12"):
        panel().network([2, 3, 1], np.ones((N, 12)))
    with pytest.raises(SceneError, match="labels"):
        panel().network([2, 3, 1], np.ones((N, 13)), labels=[["a"], None, ["y"]])
    with pytest.raises(SceneError, match="active"):
        panel().network([2, 3, 1], np.ones((N, 13)), active=np.ones((N, 5)))
    flags = {name: np.ones((N, 6)) for name in ("active", "before", "proposed")}
    drawn, arrays = layer(panel().network([2, 3, 1], np.ones((N, 13)), **flags))
    assert arrays[drawn["before"]].shape == (N, 6) and drawn["phase"] is None
    with pytest.raises(SceneError, match="go together"):
        panel().network([2, 3, 1], np.ones((N, 13)), before=flags["before"])
    with pytest.raises(SceneError, match="unknown phase"):
        panel().network([2, 3, 1], np.ones((N, 13)), **flags, phase="never")


def test_lines():
    p = panel().line([0, 1, 2], [0, 1, 0], band=([-1, 0, -1], [1, 2, 1]))
    assert len(layer(p)[0]["band"]) == 2
    with pytest.raises(SceneError, match="3 xs and 2 ys"):
        panel().line([0, 1, 2], [0, 1])
    with pytest.raises(SceneError, match="increase"):
        panel().line([0, 2, 1], [0, 1, 2])
    with pytest.raises(SceneError, match="band"):
        panel().line([0, 1, 2], [0, 1, 0], band=([0, 0], [1, 1]))
    curves = np.zeros((N, 3))
    drawn, arrays = layer(panel().line([0, 1, 2], curves, show="at", band=(curves - 1, curves + 1)))
    assert [arrays[edge].shape for edge in drawn["band"]] == [(N, 3), (N, 3)]
    with pytest.raises(SceneError, match="band"):
        panel().line([0, 1, 2], curves, show="at", band=([0, 0, 0], [1, 1, 1]))


def linked():
    """Transitions 2 and 3 with 2 sub-steps each and 3 parts each: two leaves, which the third one joins."""
    s = scene().window(2, [0, 2, 4])
    return s.parts("tree", [0, 3, 6], [0, 1, 1] * 2, low=[0, 1, 0] * 2, high=[0, 1, 1] * 2, hint="Point at a node.")


def test_parts_are_items_of_their_own():
    s = linked()
    show = Show("inner", parts="tree")
    p = s.panel("p", **PLANE)
    p.tree(np.zeros((6, 2)), [2, 2, -1, 5, 5, -1], show=show, classes=[0, 0, 1] * 2, shape=["circle", "ring"])
    p.columns(np.arange(6), np.ones(6), widths=0.8, show=show)
    p.arrows(np.zeros((6, 2)), np.ones((6, 2)), show=Show("picked", parts="tree"))
    s.part_line("tree", "weight {w:.2f}", w=np.arange(6.0))
    s.part_line("tree", "a subtree", when=[0, 0, 1] * 2)
    header, arrays = decode(s.encode())
    parts = header["parts"]["tree"]
    assert arrays[parts["high"]].tolist() == [0, 1, 1] * 2 and parts["tallest"] == 2 and len(parts["lines"]) == 2
    tree, columns, arrows = header["panels"][0]["layers"]
    assert tree["show"]["parts"] == "tree" and arrays[tree["parents"]].tolist() == [2, 2, -1, 5, 5, -1]
    assert arrays[columns["points"]].shape == (6, 2) and np.allclose(arrays[columns["widths"]], 0.8)
    assert arrows["show"]["what"] == "picked"


def test_faulty_parts():
    inner = Show("inner", parts="tree")
    for fault, message in (
        (lambda: scene().parts("tree", [0, 1], [0], low=[0], high=[0]), "window"),
        (lambda: linked().parts("tree", [0, 3, 6], [0] * 6, low=[0] * 6, high=[0] * 6), "two sets"),
        (lambda: linked().parts("b", [0, 6], [0] * 6, low=[0] * 6, high=[0] * 6), "offsets must be 3"),
        (lambda: linked().parts("b", [0, 3, 6], [0] * 5, low=[0] * 6, high=[0] * 6), "at needs 6"),
        (lambda: linked().parts("b", [0, 3, 6], [0, 2, 1] * 2, low=[0] * 6, high=[0] * 6), "falls"),
        (lambda: linked().part_line("b", "x"), "no such set"),
        (lambda: linked().part_line("tree", "{w}", w=[1.0]), "w needs shape"),
        (lambda: linked().panel("p", **PLANE).tree(np.zeros((4, 2)), [-1] * 4, show=inner), "4 items for 6 parts"),
        (lambda: linked().panel("p", **PLANE).tree(np.zeros((6, 2)), [6] * 6, show=inner), "rows below 6"),
        (lambda: linked().panel("p", **PLANE).columns([0.0], [1.0, 2.0], widths=1.0), "1 xs and 2 heights"),
        (lambda: panel().points(np.zeros((2, 2)), show=Show("picked", parts="tree")), "needs scene.parts"),
        (lambda: linked().panel("p", **PLANE).points(np.zeros((6, 2)), show=Show("at", parts="tree")), "needs scene"),
    ):
        with pytest.raises(SceneError, match=message):
            fault()


def test_other_faulty_layers():
    for add, message in (
        (lambda p: p.points(np.zeros((3, 3))), r"\(N, 2\)"),
        (lambda p: p.points("abc"), "array of numbers"),
        (lambda p: p.path(np.zeros((3, 2)), role="pink"), "unknown role"),
        (lambda p: p.points(np.zeros((3, 2)), mask=[1, 0]), "mask"),
        (lambda p: p.arrows(np.zeros((N, 2)), np.zeros((3, 2))), "10 starts and 3 ends"),
        (lambda p: p.bars([1, 2], labels=["a"]), "1 labels for 2 bars"),
        (lambda p: p.bars([1, 2], labels=["a", "b"], truth=[1]), "1 truths"),
        (lambda p: p.counts(np.full(N, 3), 3), "0..2"),
        (lambda p: p.counts(np.zeros(N), 3), "integers"),
        (lambda p: p.histogram(np.zeros(N), bins=(0, 1, 0)), "bins"),
        (lambda p: p.histogram(np.zeros(N), bins=(1, 0, 5)), "low < high"),
        (lambda p: p.rule(), "x or y"),
        (lambda p: p.rule(x=1, y=1), "x or y"),
        (lambda p: p.rule(x=np.nan), "finite"),
        (lambda p: p.text(np.inf, 0, "here"), "finite"),
    ):
        with pytest.raises(SceneError, match=message):
            add(panel())


def test_editable_points():
    p = panel(editable=Editable([[0.0, 0.5], [1.0, 0.5]], classes=("no", "yes")))
    header, arrays = decode(p.of.encode())
    editable = header["panels"][0]["editable"]
    assert arrays[editable["points"]].tolist() == [[0, 0.5, 0], [1, 0.5, 0]]
    panel(editable=Editable()).of.encode()
    for faulty in (Editable([[0, 0, 1]]), Editable([[0, np.nan]]), Editable(np.zeros((5, 2)), limit=4), Editable(classes=())):
        with pytest.raises(SceneError, match="editable"):
            panel(editable=faulty)


# -- words -------------------------------------------------------------------------------------------------------------


def test_templates():
    template = "Step {t} of {steps}: r = {r:.3f}, {ok?yes:no}, {move|birth|death}"
    assert compile_template(template, ["r", "ok", "move"], "") == [
        "Step ",
        {"name": "t", "format": ""},
        " of ",
        {"name": "steps", "format": ""},
        ": r = ",
        {"name": "r", "format": ".3f"},
        ", ",
        {"name": "ok", "words": ["no", "yes"]},
        ", ",
        {"name": "move", "words": ["birth", "death"]},
    ]
    for template in ("{x", "x}", "{unknown}", "{r:>10}", "{r?yes}", "{r!r}", "{}"):
        with pytest.raises(SceneError):
            compile_template(template, ["r"], "here")


def test_readouts_and_sentences():
    s = scene(phases=[Phase("go", count="inner"), Phase("decide")]).window(0, [0, 3])
    s.panel("p", **PLANE)
    s.readout("r", "{i:d}: {h} of {n}", inner=True, i=np.arange(3), h=np.zeros(3), n=np.zeros(N))
    s.say("{ok?yes:no}", ok=np.ones(N, bool), show=Show("at", phase=("decide", None)))
    s.readout("whole", "3 in all", withheld=True)
    s.say("3 in all", withheld=True)
    header, _ = decode(s.encode())
    assert {name: value["inner"] for name, value in header["readouts"][0]["values"].items()} == {"i": True, "h": True, "n": False}
    assert [line.get("held", False) for line in header["readouts"]] == [line.get("held", False) for line in header["say"]] == [False, True]
    for fault in (
        lambda: s.readout("r", "again"),
        lambda: s.readout("a", "{x}"),
        lambda: s.readout("b", "{x}", x=np.zeros(3)),
        lambda: s.table({"x": np.zeros(3)}),
        lambda: s.table({"x": ["a"] * N}),
    ):
        with pytest.raises(SceneError):
            fault()


def test_lines_of_the_card_take_values_by_their_names():
    s = scene(phases=[Phase("go", count="inner"), Phase("decide")]).window(0, [0, N])  # as many items as transitions
    s.panel("p", **PLANE)
    s.values(x=np.zeros(N), ok=np.ones(N, bool)).inner_values(i=np.arange(N))
    s.line("a", "{i:d} of {steps}: {x:.2f}", since="go").line("b", "{ok?yes:no}", show="at", during="decide")
    lines = decode(s.encode())[0]["readouts"]
    assert {name: value["inner"] for name, value in lines[0]["values"].items()} == {"x": False, "i": True}
    assert list(lines[1]["values"]) == ["ok"] and lines[1]["show"]["phase"] == [1, 1]
    for fault in (
        lambda: s.line("a", "again"),
        lambda: s.line("c", "{unknown}"),
        lambda: s.values(x=np.zeros(N)),
        lambda: s.inner_values(x=np.zeros(N)),
        lambda: s.values(steps=np.zeros(N)),
        lambda: s.values(y=np.zeros(3)),
        lambda: scene().inner_values(y=np.zeros(N)),
    ):
        with pytest.raises(SceneError):
            fault()


# -- the scene ---------------------------------------------------------------------------------------------------------


def test_a_layout_gives_each_panel_its_place():
    assert read_layout("a*3 b*2 / a*3 c*2") == {"a": (0, 0, 3, 2), "b": (3, 0, 2, 1), "c": (3, 1, 2, 1)}
    assert read_layout("a b") == {"a": (0, 0, 1, 1), "b": (1, 0, 1, 1)}
    s = scene().layout("p*2 q / p*2 r", heights=[150, 100])
    for name in "pqr":
        s.panel(name, x=("x", -1, 1), y="y").points(np.array([[0.0, 0.0], [1.0, 1.0]]))
    s.panel("below", **PLANE)
    panels = decode(s.encode())[0]["panels"]
    assert [panel["place"] for panel in panels] == [[0, 0, 2, 2], [2, 0, 1, 1], [2, 1, 1, 1], None]
    assert [panel["height"] for panel in panels] == [250, 150, 100, 320]
    assert (panels[0]["x"]["low"], panels[0]["x"]["high"]) == (-1, 1) and panels[0]["y"]["label"] == "y"


@pytest.mark.parametrize("plan", ["", "a*2 b / a b", "a b / b a", "a / b / a", "a*0", "a*x", "*2", "a b / c"])
def test_faulty_layouts(plan):
    with pytest.raises(SceneError, match="layout"):
        read_layout(plan)


def test_a_layout_and_its_panels_must_fit():
    s = scene().layout("p q")
    s.panel("p", **PLANE)
    with pytest.raises(SceneError, match="no panel is called q"):
        s.encode()
    with pytest.raises(SceneError, match="heights"):
        scene().layout("p / q", heights=[100])


@pytest.mark.parametrize("fault", [{"steps": 0}, {"label": " "}, {"rate": 0}, {"rate": np.nan}, {"start": N}, {"total": N - 1}])
def test_faulty_scenes(fault):
    with pytest.raises(SceneError):
        scene(**fault)


def test_faulty_panels():
    with pytest.raises(SceneError, match="at least one panel"):
        scene().encode()
    s = scene()
    s.panel("p", **PLANE)
    with pytest.raises(SceneError, match="two panels"):
        s.panel("p", **PLANE)
    for fault in ({"place": (0, 0, 0, 1)}, {"place": (-1, 0, 1, 1)}, {"place": (0, 0)}, {"height": 5}):
        with pytest.raises(SceneError):
            s.panel("q", **PLANE, **fault)


def test_themes():
    theme = {mode: {role: "#0072B2" for role in ROLES} for mode in ("light", "dark")}
    s = scene(theme=theme)
    s.panel("p", **PLANE)
    assert decode(s.encode())[0]["theme"] == theme
    for faulty in ({"light": {"ink": "red"}}, {"light": {"ink": "#12345; x: url(y)"}}, {"sepia": {}}, {"light": {"pink": "#fff"}}):
        with pytest.raises(SceneError, match="theme"):
            scene(theme=faulty)


def test_too_large_a_scene_is_refused():
    s = scene()
    s.panel("p", **PLANE).points(np.random.default_rng(5).normal(size=(5_100_000, 2)))
    with pytest.raises(SceneError, match="MB"):
        s.encode()


# -- the component -----------------------------------------------------------------------------------------------------


def page():
    import streamlit as st

    from app.kit.canvas import player
    from app.kit.player.scene import Axis, Scene

    s = Scene(run="r", steps=1, label="A picture.")
    s.panel("p", x=Axis("x", 0, 1), y=Axis("y", 0, 1)).points([[0.5, 0.5]])
    st.session_state.event = player(s.encode(), key="player")


def test_the_component_sends_the_blob_and_a_small_loader():
    from streamlit.testing.v1 import AppTest

    at = AppTest.from_function(page).run()
    assert not at.exception
    (component,) = at.get("bidi_component")
    assert decode(component.proto.bytes)[0]["label"] == "A picture."
    assert len(component.proto.js_content.encode()) < 4000  # it travels in every message
    assert "__VERSION__" not in component.proto.js_content
    assert at.session_state.event is None


def test_the_version_follows_every_file(tmp_path):
    from app.kit.assets import version

    (tmp_path / "a.js").write_text("1")
    first = version(tmp_path)
    (tmp_path / "b.js").write_text("1")
    second = version(tmp_path)
    (tmp_path / "b.js").write_text("2")
    assert len({first, second, version(tmp_path)}) == 3


def test_stairs_are_the_outline_of_bars():
    found = stairs(np.array([0.0, 1.0, 3.0]), np.array([[2.0, 5.0], [4.0, 0.0]]))
    assert found.tolist() == [[[0, 2], [1, 2], [1, 5], [3, 5]], [[0, 4], [1, 4], [1, 0], [3, 0]]]


def test_a_picture_that_nobody_waits_for_any_more_is_not_made_to_its_end():
    made, wanted_no_more = panel(), threading.Event()
    with ticket.holding(wanted_no_more):  # type: ignore[arg-type]
        made.line(np.arange(N), np.zeros(N))
        wanted_no_more.set()
        with turns.turn(turns.Claim(Turns(1), turns.FIRST)):
            made.line(np.arange(N), np.full(N, 2.0))  # a first picture is made in one go: thirty readers wait for one each
        with pytest.raises(InterruptedError):
            made.line(np.arange(N), np.ones(N))
