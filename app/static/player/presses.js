// A press on one of several buttons of a group stays where it is. Streamlit's groups (React Aria's toolbars) give the
// focus first to the button that had it last; out of view, that one scrolls the page under the finger, and the press
// ends on a neighbour, which is to say nowhere.

const GROUPS = "[role='radiogroup'], [role='toolbar']";

const AFTERWARDS = 500; // ms

// Until the press ends, the focus moves within the group without scrolling.
function hold(event) {
  const group = event.target instanceof Element && event.target.closest(GROUPS);
  if (!group) return;
  const buttons = [...group.querySelectorAll("button")];
  for (const button of buttons) {
    button.focus = (options) => HTMLElement.prototype.focus.call(button, { ...options, preventScroll: true });
  }
  const press = new AbortController();
  const free = () => {
    buttons.forEach((button) => delete button.focus);
    press.abort();
  };
  // the focus and the click of a finger follow when it is lifted
  const end = () => setTimeout(free, AFTERWARDS);
  for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, end, { signal: press.signal });
}

export function keepPressesStill() {
  addEventListener("pointerdown", hold, { capture: true });
}
