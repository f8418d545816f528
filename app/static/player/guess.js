// A guess that the reader draws in a panel: a level, an interval, a point or a curve (app/kit/guess.py). By pointer and
// finger anywhere in the panel, by key on the handles. It stays marked while the stage plays the answer; the right one is
// marked when that has been seen.

const version = new URL(import.meta.url).search;
const [{ element, setAttribute }, { TEXT, font }, { formatNumber }] = await Promise.all(
  ["dom", "axes", "format"].map((name) => import(`./${name}.js${version}`)),
);

const SETTLE = 250; // ms without a move by key before the drawing is sent
const [STEP, LEAP] = [0.01, 0.05]; // of the axis, that an arrow key moves; with Shift
const KEYS = { ArrowLeft: ["x", -1], ArrowRight: ["x", 1], ArrowDown: ["y", -1], ArrowUp: ["y", 1] };
const WING = 9; // px to either side of the middle of an interval that stands at a place
const PIECES = 8; // of a curve between two handles
const WASH = 0.12; // of an interval across the panel

export class Guess {
  // send(values): the reader has drawn; place(event): where on the stage; changed(): it is to be painted anew
  constructor(holder, canvas, { send, place, changed }) {
    Object.assign(this, { holder, canvas, send, place, changed });
    this.offered = this.asked = null; // now, and last
    this.values = null;
    this.handles = [];
    this.hint = element("p", { className: "draw-here", text: "Draw your guess here", hidden: true });
    this.group = element("div", { role: "group", "aria-label": "Your guess", children: [] });
    holder.append(this.hint, this.group);
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (event) => this.up(event));
    canvas.addEventListener("touchstart", (event) => {
      if (this.takes(this.place(event.touches[0]))) event.preventDefault(); // it draws, and does not scroll
    }, { passive: false });
  }

  // offered: {question, kind, panel, along, at, over, drawn, locked, right} of app/kit/direction.py, or null
  offer(offered) {
    const before = this.asked;
    this.offered = offered ?? null; // nothing is offered while a picture is being made, too
    if (!offered) return;
    this.asked = offered;
    const same = before?.question === offered.question && before.locked === offered.locked;
    if (same && this.values && this.open) return; // what was just drawn is newer than what comes back
    this.drag = null;
    this.values = offered.drawn;
    clearTimeout(this.timer);
    if (!same) this.handles.splice(0).forEach((handle) => handle.remove());
  }

  get open() {
    return this.offered !== null && !this.offered.locked;
  }

  takes({ panel }) {
    return this.open && panel?.spec.id === this.offered.panel;
  }

  // Where a drawing begins that is moved by key: in the middle of the panel.
  neutral({ x, y }) {
    const { kind, along, over } = this.offered;
    const at = (scale, share) => {
      const [low, high] = [scale.to(scale.low), scale.to(scale.high)];
      return scale.from(low + share * (high - low));
    };
    const scale = along === "x" ? x : y;
    if (kind === "point") return [at(x, 0.5), at(y, 0.5)];
    if (kind === "curve") return over.map(() => at(y, 0.1));
    return kind === "level" ? [at(scale, 0.5)] : [at(scale, 0.4), at(scale, 0.6)];
  }

  // -- by pointer ---------------------------------------------------------------------------------------------------

  down(event) {
    if (event.button !== 0) return;
    const place = this.place(event);
    if (!this.takes(place)) return;
    event.stopImmediatePropagation();
    this.canvas.setPointerCapture(event.pointerId);
    const { panel, x, y } = place;
    this.drag = { panel, last: null, end: null, fresh: this.values === null };
    this.values = [...(this.values ?? this.neutral(panel))];
    this.draw(x, y);
  }

  move(event) {
    const place = this.place(event);
    if (this.takes(place)) event.stopImmediatePropagation(); // what is drawn is not to be covered by a tooltip
    if (this.drag) this.draw(place.x, place.y);
  }

  up(event) {
    if (!this.drag) return;
    event.stopImmediatePropagation();
    this.drag = null;
    this.deliver();
  }

  // The pointer is at (x, y) of the stage.
  draw(x, y) {
    const { drag, values } = this;
    const { kind, along, over } = this.offered;
    const { panel } = drag;
    const px = Math.min(panel.plot.width, Math.max(0, x - panel.plot.x));
    const py = Math.min(panel.plot.height, Math.max(0, y - panel.plot.y));
    const [vx, vy] = [panel.x.from(px), panel.y.from(py)];
    const value = along === "x" ? vx : vy;
    if (kind === "point") this.values = [vx, vy];
    if (kind === "level") this.values = [value];
    if (kind === "interval") {
      // the first stroke goes from end to end; later ones take hold of the end that is nearer
      if (drag.fresh && drag.end === null) this.values = [value, value];
      drag.end ??= drag.fresh || Math.abs(value - values[1]) < Math.abs(value - values[0]) ? 1 : 0;
      this.values[drag.end] = value;
    }
    if (kind === "curve") {
      const from = drag.last ?? { vx, vy };
      const [low, high] = [Math.min(from.vx, vx), Math.max(from.vx, vx)];
      const nearest = over.reduce((best, at, k) => (Math.abs(at - vx) < Math.abs(over[best] - vx) ? k : best), 0);
      over.forEach((at, k) => {
        if (at < low || at > high || high === low) return;
        values[k] = from.vy + ((at - from.vx) / (vx - from.vx)) * (vy - from.vy);
      });
      values[nearest] = vy;
      drag.last = { vx, vy };
    }
    this.changed();
  }

  deliver() {
    if (this.offered.kind === "interval") this.values.sort((a, b) => a - b);
    this.changed();
    this.send([...this.values]);
  }

  // -- by key -------------------------------------------------------------------------------------------------------

  // The numbers that handle k moves: {x: index, y: index}, each or null.
  axes(k) {
    const { kind, along } = this.offered;
    if (kind === "point") return { x: 0, y: 1 };
    if (kind === "curve") return { x: null, y: k };
    return { x: along === "x" ? k : null, y: along === "y" ? k : null };
  }

  key(event, k) {
    const found = KEYS[event.key];
    if (!found || !this.open || !this.panel) return;
    const [axis, sign] = found;
    event.preventDefault();
    event.stopPropagation(); // they also move the clock
    this.values = [...(this.values ?? this.neutral(this.panel))];
    const index = this.axes(k)[axis];
    if (index !== null) {
      const scale = this.panel[axis];
      const size = axis === "x" ? this.panel.plot.width : this.panel.plot.height;
      const pixel = scale.to(this.values[index]) + sign * Math.sign(scale.a) * (event.shiftKey ? LEAP : STEP) * size;
      this.values[index] = scale.from(Math.min(size, Math.max(0, pixel)));
    }
    this.changed();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.deliver(), SETTLE);
  }

  name(k) {
    const { kind, over } = this.offered;
    if (kind === "curve") return `Your curve at ${formatNumber(over[k], ".2g")}`;
    return kind === "interval" ? ["Lower end", "Upper end"][k] : "Your guess";
  }

  // Where handle k stands in the plot, px.
  spot(k, values) {
    const { kind, along, at, over } = this.offered;
    const { x, y, plot } = this.panel;
    if (kind === "point") return [x.to(values[0]), y.to(values[1])];
    if (kind === "curve") return [x.to(over[k]), y.to(values[k])];
    const across = along === "x" ? y : x;
    const beside = at === null ? (along === "x" ? plot.height : plot.width) / 2 : across.to(at);
    return along === "x" ? [x.to(values[k]), beside] : [beside, y.to(values[k])];
  }

  // Puts hint and handles where they belong.
  show(stage) {
    this.panel = this.offered && stage.panels.find(({ spec }) => spec.id === this.offered.panel);
    const shown = Boolean(this.panel?.x && this.panel.y && this.open);
    this.hint.hidden = !shown || this.values !== null;
    this.group.hidden = !shown;
    if (!shown) return;
    const { plot, x, y } = this.panel;
    const zoom = this.holder.clientWidth / stage.width; // stage pixels are larger where letters are
    const values = this.values ?? this.neutral(this.panel);
    const number = this.offered.kind === "point" ? 1 : values.length;
    while (this.handles.length < number) this.handles.push(this.handle(this.handles.length));
    this.hint.style.left = `${zoom * (plot.x + plot.width / 2)}px`;
    this.hint.style.top = `${zoom * (plot.y + 10)}px`;
    this.handles.forEach((handle, k) => {
      const [left, top] = this.spot(k, values);
      const { x: across, y: up } = this.axes(k);
      const [scale, index] = across === null ? [y, up] : [x, across];
      const words = this.offered.kind === "point" ? values : [values[index]];
      handle.style.left = `${zoom * (plot.x + left)}px`;
      handle.style.top = `${zoom * (plot.y + top)}px`;
      for (const [name, value] of [["min", scale.low], ["max", scale.high], ["now", values[index]]]) {
        setAttribute(handle, `aria-value${name}`, value.toPrecision(4));
      }
      setAttribute(handle, "aria-valuetext", this.values ? words.map((value) => formatNumber(value, ".3g")).join(", ") : "not drawn yet");
      setAttribute(handle, "aria-orientation", across === null ? "vertical" : "horizontal");
      handle.classList.toggle("drawn", this.values !== null);
    });
  }

  handle(k) {
    const node = element("div", {
      className: this.offered.kind === "curve" ? "handle many" : "handle", role: "slider", tabindex: 0, "aria-label": this.name(k),
      on: { keydown: (event) => this.key(event, k) },
    });
    this.group.append(node);
    return node;
  }

  // -- on the picture -----------------------------------------------------------------------------------------------

  paint(stage, playing) {
    const panel = this.offered && stage.panels.find(({ spec }) => spec.id === this.offered.panel);
    if (!panel?.x || !panel.y) return;
    const { locked, right } = this.offered;
    if (this.values) this.mark(stage.context, panel, this.values, "ink", "you", 0);
    if (locked && right && !playing) this.mark(stage.context, panel, right, "accept", "the run", 1);
  }

  mark(context, panel, values, role, words, row) {
    const { x, y, plot, palette } = panel;
    const { kind, along, at, over } = this.offered;
    const color = palette.color(role);
    const stroke = (trace) => {
      for (const [style, width] of [[palette.color("surface"), 5], [color, 2.5]]) {
        [context.strokeStyle, context.lineWidth] = [style, width];
        context.setLineDash(row && style === color ? [7, 4] : []);
        context.beginPath();
        trace();
        context.stroke();
      }
      context.setLineDash([]);
    };
    const line = (x0, y0, x1, y1) => stroke(() => {
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
    });
    let label = [0, 0];
    panel.inPlot(context, () => {
      if (kind === "point") {
        const [px, py] = [x.to(values[0]), y.to(values[1])];
        line(px - 8, py, px + 8, py);
        line(px, py - 8, px, py + 8);
        label = [px + 12, py];
      } else if (kind === "curve") {
        const spots = over.map((place, k) => [x.to(place), y.to(values[k])]);
        stroke(() => smooth(spots).forEach(([px, py], k) => (k ? context.lineTo(px, py) : context.moveTo(px, py))));
        const [px, py] = spots[row ? over.length - 2 : 1];
        label = [px + 8, py - 12];
      } else {
        const ends = values.map((value) => (along === "x" ? x.to(value) : y.to(value)));
        const size = along === "x" ? plot.height : plot.width;
        const across = at === null ? null : (along === "x" ? y : x).to(at);
        const [from, to] = across === null ? [0, size] : [across - WING, across + WING];
        const [low, high] = [Math.min(...ends), Math.max(...ends)];
        if (kind === "interval" && across === null) {
          context.fillStyle = palette.color(role, WASH);
          if (along === "x") context.fillRect(low, 0, high - low, size);
          else context.fillRect(0, low, size, high - low);
        }
        for (const end of ends) (along === "x" ? line(end, from, end, to) : line(from, end, to, end));
        if (across !== null) (along === "x" ? line(low, across, high, across) : line(across, low, across, high));
        label = along === "x" ? [high + 6, across ?? 14 + 18 * row] : [across === null ? 8 + 60 * row : to + 6, low + (across === null ? -10 : (high - low) * (row ? 0.25 : 0.75))];
      }
      context.font = font(panel.family, TEXT.label, 600);
      [context.textAlign, context.textBaseline, context.lineJoin, context.lineWidth] = ["left", "middle", "round", 4];
      context.strokeStyle = palette.color("surface");
      const left = Math.min(label[0], plot.width - context.measureText(words).width - 4);
      const top = Math.min(plot.height - 8, Math.max(8, label[1]));
      context.strokeText(words, left, top);
      context.fillStyle = color;
      context.fillText(words, left, top);
    });
  }
}

// A smooth line through these spots, as many short ones: a Catmull–Rom spline.
function smooth(spots) {
  const at = (k) => spots[Math.min(spots.length - 1, Math.max(0, k))];
  const between = (k, t) => [0, 1].map((axis) => {
    const [a, b, c, d] = [k - 1, k, k + 1, k + 2].map((i) => at(i)[axis]);
    return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
  });
  const shares = Array.from({ length: PIECES }, (_, i) => i / PIECES);
  return [...spots.slice(1).flatMap((_, k) => shares.map((t) => between(k, t))), at(spots.length - 1)];
}
