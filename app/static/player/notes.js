// The presenter's second window: the words of the step, what to keep of it, the next step, the stage in small, and the
// time. The projected page draws it and obeys its keys and buttons, so there is one run, and each press moves both.

const version = new URL(import.meta.url).search;
const [{ element }, { CLICKER, obeyClicker, press }, { pageBackground }] = await Promise.all(
  ["dom", "clicker", "palette"].map((name) => import(`./${name}.js${version}`)),
);

const NAME = "posterior-lab-notes";
const LINK = 'a[href="#notes"]';
const PARTS = ['.st-key-told', '[class*="st-key-"][class*="-predict-"]', ".st-key-notes"];
const OWN = ".st-key-steps"; // buttons of the page, which the window has itself
const GATHER = 150; // ms in which changes of the page are taken together

const STYLE = `
body { margin: 0; padding: 1rem 1.5rem; font: 20px/1.45 "Source Sans", sans-serif; color: #e6e9ee; background: #14171c; }
header, nav { display: flex; gap: 1rem; align-items: baseline; }
header h1 { flex: 1; margin: 0; font-size: 1.1rem; }
main { display: grid; grid-template-columns: 1fr 1fr; gap: 1.5rem; margin: 1rem 0; }
canvas { width: 100%; border-radius: 6px; }
h2 { font-size: 1.2rem; margin: 0 0 0.5rem; }
button { font: inherit; color: inherit; padding: 0.4rem 1rem; border: 1px solid #6d7788; border-radius: 8px; background: none; cursor: pointer; }
.next { background: #4aa8e6; color: #0b1116; }
.time { font-variant-numeric: tabular-nums; }
[class*="st-key-notes"] { margin-top: 1.5rem; padding-top: 1rem; border-top: 1px solid #6d7788; color: #b9c1cc; }
a { color: inherit; }
`;

let player = null; // the one on the page; some pages have none
let notes = null;

// Called by each player: the link to the window leads to it, and it is what the window's keys move.
export function offerNotes(own, signal) {
  player = own;
  signal.addEventListener("abort", () => (player = player === own ? null : player));
  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element && event.target.closest(LINK))) return;
    event.preventDefault(); // the address is the run's
    if (!notes?.open) notes = new Notes();
    notes.place?.focus();
  }, { signal });
}

// The stage has been drawn.
export function mirror(canvas) {
  if (notes?.open) notes.paint(canvas);
}

class Notes {
  constructor() {
    this.place = window.open("", NAME, "popup,width=1100,height=760");
    if (!this.place) return; // the browser bars it, and says so
    this.begun = Date.now();
    this.build(this.place.document);
    this.leaving = new AbortController();
    const { signal } = this.leaving;
    const present = { busy: () => player?.busy(), hasten: () => player?.hasten(), toggle: () => player?.toggle() };
    obeyClicker(present, signal, this.place.document);
    this.watch = new MutationObserver(() => (this.gathering ??= setTimeout(() => this.copy(), GATHER)));
    this.watch.observe(document.body, { childList: true, subtree: true, characterData: true });
    this.ticking = setInterval(() => this.tick(), 500);
    addEventListener("pagehide", () => this.place.close(), { signal }); // nothing would move it any more
    this.copy();
    this.paint(player.canvas);
  }

  get open() {
    return Boolean(this.place && !this.place.closed);
  }

  build(page) {
    const button = (text, act, className) => element("button", { type: "button", text, className, on: {
      click: ({ currentTarget }) => {
        act();
        currentTarget.blur(); // the keys are the clicker's
      },
    } });
    this.title = element("h1");
    this.time = button("", () => (this.begun = Date.now()), "time");
    this.time.title = "Time so far; a press begins anew";
    this.picture = element("canvas", { role: "img", "aria-label": "The stage" });
    this.words = element("div", { inert: true });
    page.title = `Notes · ${document.title}`;
    page.documentElement.lang = document.documentElement.lang || "en";
    page.head.replaceChildren(element("style", { text: STYLE }), ...this.sheets());
    page.body.replaceChildren(
      element("header", { children: [this.title, this.time] }),
      element("main", { children: [this.picture, this.words] }),
      element("nav", { children: [
        button("◀ Back", () => press(CLICKER.steps, CLICKER.back)),
        button("Next ▶", () => (player?.busy() ? player.hasten() : press(CLICKER.steps, CLICKER.next)), "next"),
        button("Play or pause", () => player?.toggle()),
      ] }),
    );
  }

  // Those of formulas, which are Streamlit's.
  sheets() {
    return [...document.querySelectorAll('link[rel="stylesheet"]')].map(({ href }) => element("link", { rel: "stylesheet", href }));
  }

  copy() {
    this.gathering = undefined;
    if (!this.open) return this.end();
    const found = PARTS.flatMap((part) => [...document.querySelectorAll(part)]);
    const copies = found.filter((node) => !found.some((other) => other !== node && other.contains(node))).map((node) => {
      const copied = node.cloneNode(true);
      copied.querySelectorAll(`${OWN}, button, style`).forEach((own) => own.remove());
      return copied;
    });
    const step = document.querySelector(OWN)?.textContent.match(/(Part \d+ · )?Step \d+ of \d+/)?.[0] ?? "";
    this.title.textContent = [document.querySelector("h1")?.textContent, step].filter(Boolean).join(": ");
    this.words.replaceChildren(...copies);
    return undefined;
  }

  paint(canvas) {
    Object.assign(this.picture, { width: canvas.width, height: canvas.height }); // which also empties it
    this.picture.style.background = pageBackground(canvas);
    this.picture.getContext("2d").drawImage(canvas, 0, 0);
  }

  tick() {
    if (!this.open) return this.end();
    const seconds = Math.floor((Date.now() - this.begun) / 1000);
    this.time.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    return undefined;
  }

  end() {
    clearInterval(this.ticking);
    this.watch.disconnect();
    this.leaving.abort();
  }
}
