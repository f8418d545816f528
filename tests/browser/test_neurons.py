"""The lesson on neurons in a browser: one journey of a first-time reader."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, player


def test_a_first_visit(lab: Lab):
    # three sizes and ten points a corner: the journey is the same, and short
    page = lab.open("/neurons?scenario=xor&v=1&corner=5&widest=3&sweeps=150&burn=20&shown=2&jumps=10")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    # nothing was pressed and it moves
    expect(stage).not_to_have_attribute("data-t", "0", timeout=PATIENT)
    stage.press("Space")
    expect(stage).to_have_attribute("data-playing", "false")

    # sub-steps: the proposal, the ledger that adds up, the decision
    card = stage.get_by_role("list", name="Arithmetic of this step")
    stage.get_by_role("button", name="First step").click()
    stage.press("Shift+ArrowRight")
    stage.press("Shift+ArrowRight")
    expect(card.get_by_text(re.compile(r"^(birth|death) of a unit at slot \d: k = \d → \d"))).to_be_visible()
    expect(card.get_by_text(re.compile(r"^log r = likelihood …"))).to_be_visible()
    stage.press("Shift+ArrowRight")
    line = card.get_by_text(re.compile(r"^log r = likelihood [+−]")).inner_text().replace("−", "-")
    *factors, total = (float(number) for number in re.findall(r"[+-]?\d+\.\d\d", line))
    assert len(factors) == 8 and abs(sum(factors) - total) < 0.05
    stage.press("Shift+ArrowRight")
    expect(card.get_by_text(re.compile(r"(accepted, u < α|rejected, u ≥ α)$"))).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("kernel ✓"))).to_be_visible(timeout=PATIENT)

    # the chains run on by themselves, and end beside the exact answer
    expect(stage).to_have_attribute("data-steps", "150", timeout=2 * PATIENT)
    expect(card.get_by_text(re.compile(r"exact mean \d"))).to_be_visible(timeout=2 * PATIENT)


FADE = """async () => {
  const [{ NETWORK_VIEWS }, { Clock }] = await Promise.all(
    ["network", "clock"].map((name) => import(`/app/static/player/${name}.js?v=test`)));
  const flags = (...values) => ({ data: Uint8Array.from(values), shape: [1, values.length] });
  const layer = {
    sizes: [1, 2, 2, 1], labels: null, phase: 1, scale: 1,
    before: flags(1, 1, 1, 0, 0, 1), proposed: flags(1, 1, 1, 1, 1, 1), active: flags(1, 1, 1, 0, 0, 1),
  };
  const view = new NETWORK_VIEWS.network({ plot: { width: 400, height: 200 } }, layer);
  const at = (cursor) => view.presence(0, { slow: false, settled: true, flow: 1, phase: 3, ...cursor })(2, 0);
  const places = [0, 0.5, 1].map((share) => {
    view.arrange((l) => (l === 2 ? share : 1));
    return view.units.map((column) => Math.round(column[0].x)).concat(view.sources(2).map(([from]) => from));
  });
  const clock = new Clock(() => {});
  const phases = [{ id: "a", count: 1 }, { id: "b", count: 1 }];
  clock.setScene({
    run: "a", steps: 9, phases, parts: {}, window: null, start: 0, autoplay: true, total: null, rate: 4,
  });
  clock.advance(0.1);
  const flowing = clock.cursor().flow;
  clock.pause();
  return {
    playing: [0, 0.25, 0.5, 0.75, 1].map((flow) => at({ flow })),
    slow: [0, 1, 2, 3].map((phase) => at({ slow: true, settled: phase === 3, phase })),
    places, flowing, paused: clock.cursor().flow,
  };
}"""


def test_what_comes_and_goes_fades(lab: Lab):
    found = lab.open("/").evaluate(FADE)
    assert found["playing"] == [0, 0.5, 1, 0.5, 0], "a layer proposed and rejected fades in and out again"
    assert found["slow"] == [0, 1, 1, 0], "by phases: not there, proposed, weighed, rejected"
    gone, half, there = found["places"]
    assert gone[2] == gone[1] and gone[4:] == [2, 1] and half[2] > half[1], "a layer that is not there takes no room"
    assert there[4:] == [2], "and only then its weights begin at the layer before it"
    assert 0 < found["flowing"] < 1 == found["paused"]
