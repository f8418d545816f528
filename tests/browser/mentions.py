"""What the words of a step name, as the eye finds it: in the window, uncovered, and lit when the words are pointed at.

A mark is found by its ink: lit, it stands out from a stage on which all of its panel has stepped back.
"""

from __future__ import annotations

from playwright.sync_api import Page

from tests.browser.conftest import player

DARK = "nothing lights up as"

# For each mention of the step its address, where in the window it is lit, [left, top, right, bottom], null: nowhere, and
# whether its whole panel is lit, in place of marks that are not there.
FIND = """
async (root) => {
  const canvas = root.querySelector(".stage canvas"), { width } = canvas;
  const point = async (node) => {
    node.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    await new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  };
  const link = document.body.appendChild(document.createElement("a"));
  const seen = new Map();
  const pixels = async (address) => {
    if (seen.has(address)) return seen.get(address);
    link.href = `#at=${address}`;
    await point(link);
    const found = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, width, canvas.height).data.buffer);
    seen.set(address, found);
    return found;
  };
  const differ = (now, before) => {
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
  for (const { hash } of document.querySelectorAll(".st-key-told a[href^='#at=']")) {
    const address = decodeURIComponent(hash.slice(4)), [panel, role] = address.split(".");
    const now = await pixels(address);
    if (panel === "card") {
      const line = root.querySelector(".readouts li.lit")?.getBoundingClientRect();
      found.push([address, line ? [line.left, line.top, line.right, line.bottom] : null, false]);
      seen.delete(address);
    } else {
      const whole = role !== undefined && differ(now, await pixels(panel)) === null;
      found.push([address, differ(now, await pixels(role ? `${panel}.none` : "none")), whole]);
    }
  }
  await point(document.body);
  link.remove();
  return found;
}
"""

# Where the stage can be seen, between the page's header and the player's controls, and where all else: [top, bottom].
SEEN = """
root => {
  const header = document.querySelector("[data-testid=stHeader]").getBoundingClientRect().bottom;
  const bar = root.querySelector(".toolbar").getBoundingClientRect();
  return [[header, bar.height ? Math.min(bar.top, innerHeight) : innerHeight], [header, innerHeight]];
}
"""

# What the words say is pressed or set, in italics by its name, and what is covered of it or out of the window.
CONTROLS = """
() => {
  const said = [...document.querySelectorAll(".st-key-told em")].map(node => node.textContent.trim());
  const all = [...document.querySelectorAll(":is(button, summary, label, [role=tab]) p")].filter(node => node.offsetParent);
  return said.filter(words => {
    const node = all.find(each => each.textContent.trim() === words);
    if (!node) return false;
    const { left, top, width, height } = node.getBoundingClientRect();
    const there = document.elementFromPoint(left + width / 2, top + height / 2);
    return !there || !(node.contains(there) || there.contains(node));
  });
}
"""


def missed(page: Page, held: bool) -> list[str]:
    """What the present step names and does not show: a sentence each.

    held : before the lock; marks that are still to come light their panel
    """
    stage, found = player(page), []
    on_stage, elsewhere = stage.evaluate(SEEN)
    for address, box, whole in stage.evaluate(FIND):
        top, bottom = elsewhere if address.startswith("card.") else on_stage
        if box is None or (whole and not held):
            found.append(f"{DARK} {address}")
        elif not (top <= box[1] and box[3] <= bottom + 1):
            found.append(f"{address} is lit from {box[1]:.0f} to {box[3]:.0f} px; seen is {top:.0f} to {bottom:.0f} px")
    return [*found, *(f"“{words}” is named, and is out of view" for words in page.evaluate(CONTROLS))]
