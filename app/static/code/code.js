// A readable twin, its running lines lit with the stage. The player says on the document what it shows ("stage"), says
// it again when asked ("stage-asked"), and goes a part of a transition further ("stage-step"). Entry of
// app/kit/loader.js.

const version = new URL(import.meta.url).search;
const { element } = await import(`../player/dom.js${version}`);

const listings = new WeakMap();

export function render(component) {
  const { parentElement } = component;
  if (!listings.has(parentElement)) listings.set(parentElement, new Listing(parentElement));
  listings.get(parentElement).receive(component);
}

export function remove(parentElement) {
  listings.get(parentElement)?.destroy();
  listings.delete(parentElement);
}

const STYLE = `
:host { display: block; }
.listing {
  border: 1px solid var(--st-border-color); border-radius: 8px; overflow: hidden; color: var(--st-text-color);
  font: 13px/1.5 var(--st-code-font, monospace);
}
.head { display: flex; gap: 8px; align-items: center; padding: 4px 6px 4px 12px; }
.head span { flex: 1; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
button {
  flex: none; min-height: 32px; padding: 0 12px; font: 14px var(--st-font, sans-serif); color: inherit; cursor: pointer;
  background: transparent; border: 1px solid var(--st-border-color); border-radius: 6px;
}
:is(button, .lines):focus { outline: none; }
:is(button, .lines):focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: -2px; }
.now {
  min-height: 4.5em; margin: 0; padding: 6px 12px; overflow-wrap: anywhere; white-space: pre-line;
  border-block: 1px solid var(--st-border-color); background: color-mix(in srgb, var(--st-primary-color) 9%, transparent);
}
.still :is(.now, .step) { display: none; }
.now b { font-weight: 600; }
.lines {
  display: block; box-sizing: border-box; max-height: min(34rem, 62vh); margin: 0; padding: 8px 0; overflow: auto; tab-size: 4;
  position: relative; background: var(--st-secondary-background-color); overscroll-behavior: contain;
}
.lines > code { display: block; font: inherit; }
.line { /* what is too long goes on below, further right */
  display: block; min-height: 1.5em; padding: 0 12px 0 calc(9px + var(--hang)); text-indent: calc(-1 * var(--hang));
  border-left: 3px solid transparent; white-space: pre-wrap; overflow-wrap: anywhere;
}
.line.lit { background: color-mix(in srgb, var(--st-primary-color) 20%, transparent); border-color: var(--st-primary-color); }
.line.wrong { background: color-mix(in srgb, #d33c3c 22%, transparent); border-color: #d33c3c; }
.line.wrong.lit { border-color: var(--st-primary-color); }
.said { color: color-mix(in srgb, var(--st-text-color) 72%, transparent); }
.key { font-weight: 600; }
`;

const TOKENS = /(#.*$)|("[^"]*")|\b(def|return|for|in|if|elif|else|while|not|and|or|import|from|class|lambda|break|continue|None|True|False|is)\b/g;

class Listing {
  constructor(parentElement) {
    this.name = element("span");
    this.copy = element("button", { type: "button", text: "Copy", on: { click: () => this.copied() } });
    const step = element("button", {
      type: "button", className: "step", text: "Step",
      title: "One part of a transition further on the stage, as its key “.”",
      on: { click: () => document.dispatchEvent(new CustomEvent("stage-step")) },
    });
    const head = element("div", { className: "head", children: [this.name, step, this.copy] });
    this.now = element("p", { className: "now" });
    this.lines = element("pre", { className: "lines", tabindex: 0, role: "region" });
    this.root = element("div", {
      className: "listing", dataset: { testid: "listing" }, children: [head, this.now, this.lines],
    });
    this.style = element("style", { text: STYLE });
    parentElement.append(this.style, this.root);
    this.follow = (event) => this.show(event.detail);
    document.addEventListener("stage", this.follow);
  }

  destroy() {
    document.removeEventListener("stage", this.follow);
    this.root.remove();
    this.style.remove();
  }

  receive({ data }) {
    if (!data || JSON.stringify(data) === this.data) return;
    this.data = JSON.stringify(data);
    this.name.textContent = data.name;
    this.lines.setAttribute("aria-label", `Code of ${data.name}`);
    let told = false; // inside a docstring
    this.rows = data.lines.map(([text, phase, wrong]) => {
      const quotes = text.split('"""').length - 1;
      const node = element("span", { className: wrong ? "line wrong" : "line" });
      node.style.setProperty("--hang", `${text.search(/\S|$/) + 4}ch`);
      if (wrong) node.title = "Wrong on purpose: this run goes by this line";
      node.append(...(told || quotes ? [element("span", { text, className: "said" })] : coloured(text)), "\n");
      if (quotes === 1) told = !told;
      return { node, phase };
    });
    this.lines.replaceChildren(element("code", { children: this.rows.map(({ node }) => node) }));
    document.dispatchEvent(new CustomEvent("stage-asked"));
  }

  // Lights the lines of a phase. detail: {phases, phase, part, label, values}, as the player says it. A scene with other phases
  // shows something else: its lines are not lit.
  show({ phases, phase, part, label, values }) {
    const rows = this.rows ?? [];
    const follows = phases.filter((id) => rows.some(({ phase: own }) => belongs(id, own))).length > 1;
    this.root.classList.toggle("still", !follows);
    let first = null;
    for (const { node, phase: own } of rows) {
      const lit = follows && belongs(phase, own, part);
      node.classList.toggle("lit", lit);
      if (lit) first ??= node;
    }
    this.root.dataset.phase = first ? phase : "";
    this.now.replaceChildren();
    // a phase without lines here, as a move that another file makes, has its numbers all the same
    if (follows && phase !== null) this.now.append(element("b", { text: label }), ...values.map((value) => `\n${value}`));
    else this.now.append("Step through a transition: the lines that are running light up, with their numbers.");
    if (first) this.reveal(first);
  }

  // The list scrolls, never the page.
  reveal(node) {
    const { lines } = this;
    const top = node.offsetTop;
    if (top < lines.scrollTop || top > lines.scrollTop + 0.8 * lines.clientHeight) lines.scrollTop = top - 0.3 * lines.clientHeight;
  }

  async copied() {
    const text = this.rows.map(({ node }) => node.textContent).join("");
    try {
      await navigator.clipboard.writeText(text);
      this.copy.textContent = "Copied";
    } catch { // a page without https has no clipboard: the lines are marked, Ctrl C takes them
      getSelection().selectAllChildren(this.lines);
      this.copy.textContent = "Press Ctrl C";
    }
    setTimeout(() => (this.copy.textContent = "Copy"), 2000);
  }
}

// Whether a phase, or the part of it that is named, is one of the lines headed by `own`, as in "back", of which "back-2"
// is one, too, or "grow/coin, join".
function belongs(phase, own, part = null) {
  if (phase === null || own === null) return false;
  const [id, parts] = own.split("/");
  return (phase === id || phase.startsWith(`${id}-`)) && (part === null || !parts || parts.split(", ").includes(part));
}

// Comments and strings stand back, words of the language stand out.
function coloured(text) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(TOKENS)) {
    parts.push(text.slice(at, match.index), element("span", { text: match[0], className: match[3] ? "key" : "said" }));
    at = match.index + match[0].length;
  }
  return [...parts, text.slice(at)];
}
