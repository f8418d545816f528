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
export function press(selector, place = 0) {
  const button = [...document.querySelectorAll(selector)].at(place);
  if (button && !button.disabled) button.click();
}

export const CLICKER = { steps: ".st-key-steps button", back: 0, next: -1 };

// player: {busy(), hasten(), toggle()}; a step that still plays goes on or ends before the next one begins. `page`: where the
// keys are pressed, the page itself or the presenter's window.
export function obeyClicker(player, signal, page = document) {
  const act = (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const typed = target !== page.body && target.closest?.(TYPED); // an element of whichever window
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
    else if (FORWARD.includes(key) && player.busy()) player.hasten();
    else if (FORWARD.includes(key)) press(CLICKER.steps, CLICKER.next);
    else if (BACK.includes(key)) press(CLICKER.steps, CLICKER.back);
    else return;
    event.preventDefault();
  };
  page.addEventListener("keydown", act, { signal });
  if (page === document) signal.addEventListener("abort", () => document.documentElement.removeAttribute("data-blank"));
}
