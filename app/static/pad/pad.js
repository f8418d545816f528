// The drawing pad: strokes as lines in an SVG, drawn by pointer or by keys. Entry of app/kit/loader.js.

const SVG = "http://www.w3.org/2000/svg";
const EMIT = 110; // ms between two looks of the server at a stroke that is being drawn
const APART = 0.012; // of the edge: points closer than this are one
const STRAIGHT = 0.006; // of the edge: a point so close to the line between its neighbours is left out
const STEP = 0.05; // of the edge, a press of an arrow key
const pads = new WeakMap();

export function render(component) {
  const { parentElement } = component;
  if (!pads.has(parentElement)) pads.set(parentElement, new Pad(parentElement));
  pads.get(parentElement).receive(component);
}

export function remove(parentElement) {
  pads.get(parentElement)?.destroy();
  pads.delete(parentElement);
}

const STYLE = `
:host { display: block; }
.pad {
  display: flex; gap: 14px; align-items: flex-end;
  font: 14px/1.4 var(--st-font, "Source Sans", sans-serif); color: var(--st-text-color);
}
.pad svg {
  display: block; flex: none; width: clamp(112px, min(40vw, 15vh), 212px); aspect-ratio: 1; touch-action: none; cursor: crosshair; border-radius: 8px;
  background: var(--st-secondary-background-color); border: 1px solid var(--st-border-color);
}
.pad svg:focus { outline: none; }
.pad svg:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
.pad polyline { fill: none; stroke: currentColor; stroke-width: 0.07; stroke-linecap: round; stroke-linejoin: round; }
.pad .guide { stroke: currentColor; stroke-width: 0.003; stroke-dasharray: 0.02 0.02; opacity: 0.3; }
.pad .pen { fill: none; stroke: var(--st-primary-color); stroke-width: 0.012; visibility: hidden; }
.pad svg:focus-visible .pen { visibility: visible; }
.pad .pen.down { fill: var(--st-primary-color); }
.beside { display: flex; flex-wrap: wrap; gap: 8px; }
.pad button {
  font: inherit; color: inherit; background: transparent; border: 1px solid var(--st-border-color);
  border-radius: 6px; height: 36px; padding: 0 12px; cursor: pointer;
}
.pad button:disabled { opacity: 0.4; cursor: default; }
.pad button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
.pad p { margin: 0; flex-basis: 100%; opacity: 0.85; }
@media (max-width: 640px) { .pad svg { width: 40vw; } }
`;

const HINT = "Draw here. By keys: arrows move the pen, space lowers or lifts it.";

class Pad {
  constructor(parentElement) {
    this.points = []; // [x, y, stroke]
    this.asked = null; // number of the last message to the server
    this.drawing = null; // number of the stroke under the pen
    this.pen = { x: 0.5, y: 0.5, down: false };
    this.timer = 0;
    this.svg = shape("svg", {
      viewBox: "0 0 1 1", tabindex: 0, role: "application", "aria-label": `Drawing pad. ${HINT}`,
      "data-testid": "pad",
    });
    this.svg.append(
      shape("line", { class: "guide", x1: 0.5, x2: 0.5, y1: 0.04, y2: 0.96 }),
      shape("line", { class: "guide", y1: 0.5, y2: 0.5, x1: 0.04, x2: 0.96 }),
    );
    this.ink = shape("g", {});
    this.cross = shape("circle", { class: "pen", r: 0.03 });
    this.svg.append(this.ink, this.cross);
    this.undo = button("Undo", "Take the last stroke away", () => this.takeBack());
    this.clear = button("Clear", "Clear the pad", () => this.empty());
    this.note = document.createElement("p");
    this.note.setAttribute("aria-live", "polite");
    const beside = document.createElement("div");
    beside.className = "beside";
    beside.append(this.note, this.undo, this.clear);
    this.root = document.createElement("div");
    this.root.className = "pad";
    this.root.append(this.svg, beside);
    this.style = document.createElement("style");
    this.style.textContent = STYLE;
    parentElement.append(this.style, this.root);
    this.listen();
    this.tell("");
  }

  listen() {
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || this.drawing !== null) return;
      event.preventDefault();
      this.svg.setPointerCapture(event.pointerId);
      this.box = this.svg.getBoundingClientRect(); // of the whole stroke, should the page move under the pen
      this.begin(...this.place(event));
    });
    this.svg.addEventListener("pointermove", (event) => {
      if (this.drawing === null || this.pen.down) return;
      const passed = event.getCoalescedEvents?.() ?? [];
      for (const part of passed.length ? passed : [event]) this.extend(...this.place(part));
    });
    for (const kind of ["pointerup", "pointercancel"]) {
      this.svg.addEventListener(kind, () => {
        if (!this.pen.down) this.finish();
      });
    }
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.svg.addEventListener("blur", () => this.lift());
  }

  destroy() {
    clearTimeout(this.timer);
    this.root.remove();
    this.style.remove();
  }

  // Strokes from the server, unless it has not seen yet what is on the pad.
  receive({ data, setTriggerValue }) {
    this.setTriggerValue = setTriggerValue;
    if (!data) return;
    this.limit = data.limit;
    this.asked ??= data.seen;
    if (data.seen >= this.asked && this.drawing === null && !this.timer) {
      this.points = data.points.map((point) => [...point]);
      this.draw();
    }
    this.buttons();
  }

  // -- drawing ------------------------------------------------------------------------------------------------------

  place(event) {
    const { left, top, width, height } = this.box;
    return [(event.clientX - left) / width, (event.clientY - top) / height];
  }

  begin(x, y) {
    this.drawing = this.points.length ? this.points.at(-1)[2] + 1 : 0;
    this.extend(x, y);
  }

  extend(x, y) {
    const at = [x, y].map((value) => Math.round(1000 * Math.min(0.985, Math.max(0.015, value))) / 1000);
    const last = this.points.at(-1);
    const same = last?.[2] === this.drawing;
    if (same && Math.hypot(at[0] - last[0], at[1] - last[1]) < APART) return;
    if (this.points.length >= this.limit) {
      this.thin();
      if (this.points.length >= this.limit) {
        this.tell("The pad is full.");
        return;
      }
    }
    this.points.push([...at, this.drawing]);
    this.draw();
    this.timer ||= setTimeout(() => this.emit(false), EMIT);
  }

  finish() {
    if (this.drawing === null) return;
    this.drawing = null;
    this.thin();
    this.draw();
    this.emit(true);
  }

  // Leaves out the points of the last stroke that lie on a line between others (Douglas and Peucker 1973).
  thin() {
    const stroke = this.points.at(-1)?.[2];
    const first = this.points.findIndex((point) => point[2] === stroke);
    if (first >= 0) this.points = [...this.points.slice(0, first), ...simplified(this.points.slice(first))];
  }

  takeBack() {
    const stroke = this.points.at(-1)?.[2];
    this.change(this.points.filter((point) => point[2] !== stroke));
  }

  empty() {
    this.change([]);
  }

  change(points) {
    this.lift();
    this.drawing = null;
    this.points = points;
    this.draw();
    this.emit(true);
    this.svg.focus({ preventScroll: true, focusVisible: false });
  }

  emit(final) {
    clearTimeout(this.timer);
    this.timer = 0;
    this.asked += 1;
    this.root.dataset.sent = String(performance.timeOrigin + performance.now());
    this.setTriggerValue?.("event", { kind: "drawing", points: this.points, final, number: this.asked });
    this.buttons();
  }

  draw() {
    const strokes = new Map();
    for (const [x, y, stroke] of this.points) strokes.set(stroke, [...(strokes.get(stroke) ?? []), `${x},${y}`]);
    this.ink.replaceChildren(
      // the last point twice: a stroke of one point is drawn as a dot by its round caps
      ...[...strokes.values()].map((row) => shape("polyline", { points: [...row, row.at(-1)].join(" ") })),
    );
    this.root.dataset.points = String(this.points.length);
  }

  buttons() {
    this.undo.disabled = this.clear.disabled = this.points.length === 0;
  }

  tell(text) {
    this.note.textContent = text || HINT;
  }

  // -- keys ---------------------------------------------------------------------------------------------------------

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (move) this.movePen(...move.map((way) => way * STEP * (event.shiftKey ? 0.25 : 1)));
    else if (event.key === " " || event.key === "Enter") this.pen.down ? this.lift() : this.lower();
    else if (event.key === "Backspace") this.takeBack();
    else if (event.key === "Delete" || event.key === "Escape") this.empty();
    else return;
    event.preventDefault();
    event.stopPropagation(); // Streamlit has shortcuts of its own
  }

  movePen(dx, dy) {
    this.pen.x = Math.min(0.985, Math.max(0.015, this.pen.x + dx));
    this.pen.y = Math.min(0.985, Math.max(0.015, this.pen.y + dy));
    if (this.pen.down) this.extend(this.pen.x, this.pen.y);
    this.showPen();
  }

  lower() {
    if (this.drawing !== null) return;
    this.pen.down = true;
    this.begin(this.pen.x, this.pen.y);
    this.tell("The pen is down: arrows draw.");
    this.showPen();
  }

  lift() {
    if (!this.pen.down) return;
    this.pen.down = false;
    this.finish();
    this.tell("");
    this.showPen();
  }

  showPen() {
    this.cross.setAttribute("cx", this.pen.x);
    this.cross.setAttribute("cy", this.pen.y);
    this.cross.classList.toggle("down", this.pen.down);
  }
}

function simplified(points) {
  if (points.length < 3) return points;
  const [a, b] = [points[0], points.at(-1)];
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
  const length = Math.hypot(dx, dy);
  let [most, at] = [-1, 0];
  points.slice(1, -1).forEach(([x, y], i) => {
    const along = length > 0 ? ((x - a[0]) * dx + (y - a[1]) * dy) / length ** 2 : 0;
    const t = Math.min(1, Math.max(0, along));
    const off = Math.hypot(x - a[0] - t * dx, y - a[1] - t * dy);
    if (off > most) [most, at] = [off, i + 1];
  });
  if (most <= STRAIGHT) return [a, b];
  return [...simplified(points.slice(0, at + 1)).slice(0, -1), ...simplified(points.slice(at))];
}

function shape(tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

function button(text, title, act) {
  const node = document.createElement("button");
  node.type = "button";
  node.textContent = text;
  node.title = title;
  node.addEventListener("click", act);
  return node;
}
