"""What the words of a step name, as the eye finds it: in the window, not held back, and lit when the words are pointed at.

A mark is found by its ink: lit, it stands out from a stage on which all of its panel has stepped back.
"""

from __future__ import annotations

from playwright.sync_api import Page

from tests.browser.conftest import player

BEFORE = "Your prediction first"

# For each mention of the step its address, where on the window it is lit, [left, top, right, bottom], null: nowhere, and
# whether its whole panel is lit in the place of marks that have not come yet.
FIND = """
async (root) => {
  const drawn = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  const point = async (link) => {
    link.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    await drawn();
  };
  const canvas = root.querySelector(".stage canvas");
  const other = document.body.appendChild(document.createElement("a"));
  const pixels = async (address) => {
    other.href = `#at=${address}`;
    await point(document.body);
    await point(other);
    return new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  };
  const differ = (now, before) => {
    const { width } = canvas;
    let [left, top, right, bottom] = [Infinity, Infinity, -1, -1];
    for (let i = 0; i < now.length; i++) {
      if (now[i] === before[i]) continue;
      const x = i % width, y = (i - x) / width;
      [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x + 1), Math.max(bottom, y + 1)];
    }
    if (right < 0) return null;
    const box = canvas.getBoundingClientRect(), scale = box.width / width;
    return [box.x + scale * left, box.y + scale * top, box.x + scale * right, box.y + scale * bottom];
  };
  const found = [];
  for (const link of document.querySelectorAll(".st-key-told a[href^='#at=']")) {
    const address = decodeURIComponent(link.hash.slice(4)), [panel, role] = address.split(".");
    if (panel === "card") {
      await point(link);
      const line = root.querySelector(".readouts li.lit")?.getBoundingClientRect();
      found.push([address, line ? [line.left, line.top, line.right, line.bottom] : null, false]);
      continue;
    }
    const now = await pixels(address);
    const whole = role !== undefined && differ(now, await pixels(panel)) === null;
    found.push([address, differ(now, await pixels(role ? `${panel}.none` : "none")), whole]);
  }
  await point(document.body);
  other.remove();
  return found;
}
"""

# The part of the window in which the stage is seen, and that in which all else is: [top, bottom].
SEEN = """
root => {
  const header = document.querySelector("[data-testid=stHeader]").getBoundingClientRect().bottom;
  const bar = root.querySelector(".toolbar").getBoundingClientRect();
  return [[header, bar.height ? Math.min(bar.top, innerHeight) : innerHeight], [header, innerHeight]];
}
"""

# What the step says is pressed: words in bold or italics that are the name of something to press, and where that is.
PRESSED = """
() => {
  const said = [...document.querySelectorAll(".st-key-told :is(strong, em)")].map(node => node.textContent.trim());
  const named = [...document.querySelectorAll("button, summary, label, [role=tab], [role=radio]")];
  return said.flatMap(words => named.filter(node => node.textContent.trim() === words && node.offsetParent).slice(0, 1).map(node => {
    const { left, top, right, bottom } = node.getBoundingClientRect();
    return [words, [left, top, right, bottom]];
  }));
}
"""


def missed(page: Page, held: bool) -> tuple[list[str], list[str]]:
    """What the present step names and does not show, a sentence each, and the marks that are not there at this place.
    held : before the lock a mark that is still to come lights its panel
    """
    stage = player(page)
    on_stage, elsewhere = stage.evaluate(SEEN)
    faults, absent = [], []
    for address, box, whole in stage.evaluate(FIND):
        top, bottom = elsewhere if address.startswith("card.") else on_stage
        if box is None:
            faults.append(f"nothing lights up as {address}")
        elif not (top <= box[1] and box[3] <= bottom + 1):
            faults.append(f"{address} is lit from {box[1]:.0f} to {box[3]:.0f} px; seen is {top:.0f} to {bottom:.0f} px")
        elif whole and not held:
            absent.append(address)
    for words, box in page.evaluate(PRESSED):
        top, bottom = elsewhere
        if not (top <= box[1] and box[3] <= bottom):
            faults.append(f"“{words}” is at {box[1]:.0f} px; seen is {top:.0f} to {bottom:.0f} px")
    return faults, absent
