// Keys of the projector view, which are those of a clicker: the next step and the one before, a black screen, the way
// out. p opens the view.

const FORWARD = ["PageDown", "ArrowRight", "Enter"];
const BACK = ["PageUp", "ArrowLeft"];
const BLANK = ["b", "B", "."];
const TYPED = "input, textarea, select, button, a, summary, [contenteditable], [role='radio'], [role='slider'], [role='tab']";

export function presenting() {
  return getComputedStyle(document.documentElement).getPropertyValue("--present").trim() === "1";
}

// Press one of the page's own buttons, the first or the last of these.
function press(selector, place = 0) {
  const button = [...document.querySelectorAll(selector)].at(place);
  if (button && !button.disabled) button.click();
}

const STEPS = ".st-key-steps button"; // back and next

// player: {root, busy(), finish(), toggle()}; a step that still plays is finished before the next one begins
export function obeyClicker(player, signal) {
  const act = (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const typed = target instanceof Element && target !== document.body && target.closest(TYPED);
    if (!presenting()) {
      if (key === "p" && !typed) press(".st-key-present button");
      return;
    }
    const { documentElement } = document;
    if (key === "Escape") {
      if (documentElement.hasAttribute("data-blank")) documentElement.removeAttribute("data-blank");
      else press(".st-key-present button");
    } else if (typed && !key.startsWith("Page")) return;
    else if (BLANK.includes(key)) documentElement.toggleAttribute("data-blank");
    else if (key === " ") player.toggle();
    else if (FORWARD.includes(key) && player.busy()) player.finish();
    else if (FORWARD.includes(key)) press(STEPS, -1);
    else if (BACK.includes(key)) press(STEPS);
    else return;
    event.preventDefault();
  };
  document.addEventListener("keydown", act, { signal });
  signal.addEventListener("abort", () => document.documentElement.removeAttribute("data-blank"));
}
