// The options of a question where they are places: on the picture, as A, B, C. By pointer, finger and key (1 to 4). What
// was chosen stays marked while the stage plays the answer; the right one is marked when it has been seen.

const version = new URL(import.meta.url).search;
const { element, setAttribute, update } = await import(`./dom.js${version}`);

const LETTERS = "ABCD";
const TYPED = "input, textarea, select, [contenteditable]";

export class Choices {
  // choose(k): the reader wants option k
  constructor(holder, choose) {
    this.holder = holder;
    this.choose = choose;
    this.groups = new Map(); // panel id → {node, buttons}
    this.offered = null;
  }

  // offered: {panels, places, options, chosen, locked, right} of app/kit/direction.py, or null
  offer(offered) {
    const before = JSON.stringify(this.offered?.options ?? null);
    this.offered = offered ?? null;
    if (JSON.stringify(this.offered?.options ?? null) === before) return;
    for (const { node } of this.groups.values()) node.remove();
    this.groups.clear();
  }

  get open() {
    return this.offered !== null && !this.offered.locked;
  }

  pick(k) {
    if (!this.open || k >= this.offered.options.length) return;
    this.offered.chosen = k; // at once; the page follows
    this.mark(false);
    this.choose(k);
  }

  obeyKeys(signal) {
    document.addEventListener("keydown", (event) => {
      const { key, target } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || !/^[1-4]$/.test(key)) return;
      if (target instanceof Element && target.closest(TYPED) && target.type !== "radio") return;
      this.pick(Number(key) - 1);
    }, { signal });
  }

  group(id) {
    if (!this.groups.has(id)) {
      const buttons = this.offered.options.map((option, k) => element("button", {
        type: "button", className: "choice", role: "radio", title: option,
        on: { click: () => this.pick(k) },
      }));
      const node = element("div", { role: "radiogroup", "aria-label": "The options on the picture", children: buttons });
      this.holder.append(node);
      this.groups.set(id, { node, buttons });
    }
    return this.groups.get(id);
  }

  // Puts each option at its place in the panels that are on stage.
  show(stage, playing) {
    const wanted = this.offered?.panels ?? [];
    for (const [id, { node }] of this.groups) node.hidden = !stage.panels.some(({ spec }) => spec.id === id);
    for (const panel of stage.panels) {
      if (!wanted.includes(panel.spec.id) || !panel.x || !panel.y) continue;
      const zoom = this.holder.clientWidth / stage.width; // stage pixels are larger where letters are
      this.group(panel.spec.id).buttons.forEach((button, k) => {
        const [x, y] = this.offered.places[k];
        const within = (at, size) => Math.min(size - 18, Math.max(18, at));
        button.style.left = `${zoom * (panel.plot.x + within(panel.x.to(x), panel.plot.width))}px`;
        button.style.top = `${zoom * (panel.plot.y + within(panel.y.to(y), panel.plot.height))}px`;
      });
    }
    this.mark(playing);
  }

  mark(playing) {
    if (!this.offered) return;
    const { chosen, locked, right } = this.offered;
    for (const { buttons } of this.groups.values()) {
      buttons.forEach((button, k) => {
        const told = locked && !playing && k === right;
        const words = `${locked && k === chosen ? " · you" : ""}${told ? " ✓" : ""}`;
        update(button, "textContent", LETTERS[k] + words);
        setAttribute(button, "aria-label", `${LETTERS[k]}${words}: ${this.offered.options[k]}`);
        setAttribute(button, "aria-checked", String(k === chosen));
        setAttribute(button, "aria-disabled", String(locked));
        button.classList.toggle("right", told);
      });
    }
  }
}
