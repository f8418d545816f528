// The layers of a plane: contour, heat map, path, points, arrows, line, rule, text.
// A view draws one layer in plot coordinates (0, 0 = upper left corner of the plot). `still` views never change with
// the cursor; the stage paints them once. `bind` takes the arrays of a newer blob of the same run.

const version = new URL(import.meta.url).search;
const [
  { bands, isoline }, { colorTable }, { drawMarker, layerDash, layerShapes, markerStamp }, { font, TEXT },
  { formatNumber }, { beginAlike },
] = await Promise.all(
  ["isolines", "colormap", "palette", "axes", "format", "blob"].map((name) => import(`./${name}.js${version}`)),
);

const MANY = 200; // more points than this are drawn the more see-through the more there are

// The items [from, to) a Show makes visible at a cursor, or null.
export function visibleItems({ what, last, phase, parts }, cursor, count) {
  if (phase && cursor.phase >= 0 && (cursor.phase < phase[0] || cursor.phase > phase[1])) return null;
  const { t, upto, pick } = cursor;
  const { base, inner, innerLength } = parts ? cursor.parts[parts] : cursor;
  let range;
  switch (what) {
    case "all": range = [0, count]; break;
    case "upto": range = [last === null ? 0 : Math.max(0, upto + 1 - last), upto + 1]; break;
    case "at": range = [t, t + 1]; break;
    case "inner": range = [base, base + inner + 1]; break;
    case "inner_at": range = inner < 0 ? [0, 0] : [base + inner, base + inner + 1]; break;
    case "picked": range = pick?.parts === parts ? [pick.item, pick.item + 1] : [0, 0]; break;
    default: range = [base, base + innerLength]; // inner_all
  }
  return range[1] > range[0] ? range : null;
}

export class View {
  constructor(panel, layer) {
    this.panel = panel;
    this.layer = layer;
    this.prepare();
  }

  prepare() {}

  bind(layer) {
    const [before, count] = [this.layer, this.count()];
    this.layer = layer;
    const { kept } = this;
    const stays = !kept || beginAlike(before, count, layer, this.count(), kept.done);
    if (layer.live || !stays) this.prepare(); // another picture, no longer one
  }

  // What the items up to `done` have come to, for those that follow to be added: a drawing, or a tally; if anything.
  get kept() {
    return this.trail ?? this.tally;
  }

  // Whether the drawing itself never changes; it may still come and go with a phase.
  get still() {
    return this.layer.show.what === "all" && !this.layer.live;
  }

  // A trail only grows: what is drawn stays, so each frame adds the new items to a canvas of its own.
  get trails() {
    return this.layer.show.what === "upto" && this.layer.show.last === null;
  }

  count() {
    return this.layer.points.shape[0];
  }

  items(cursor) {
    return visibleItems(this.layer.show, cursor, this.count());
  }

  // Whether there is anything to be seen of it.
  shows(cursor) {
    return this.items(cursor) !== null;
  }

  color(alpha) {
    return this.panel.palette.color(this.layer.role, alpha);
  }

  // Opacity of item i among the visible ones: older is paler where the layer fades.
  fading(i, [from, to]) {
    return this.layer.show.fade ? 0.12 + (0.88 * (i - from + 1)) / (to - from) : 1;
  }

  draw(context, cursor) {
    const range = this.items(cursor);
    if (range) {
      context.save();
      this.paint(context, range, cursor);
      context.restore();
    }
  }

  // Opacity of the items of a set of parts while one of them is pointed at: what it does not span steps back.
  lit({ pick }) {
    return pick?.chosen && pick.parts === this.layer.show.parts ? (i) => (pick.spans(i) ? 1 : 0.18) : () => 1;
  }

  // {distance, text} of what lies under a pixel, or null. `part`, an item of a set of parts, speaks for itself.
  hover() {
    return null;
  }
}

// A growing drawing on its own canvas.
class Trail {
  constructor(panel) {
    const { width, height } = panel.plot;
    this.width = width;
    this.height = height;
    this.sheet = panel.blank();
    this.sheet.width = Math.max(1, Math.round(width * panel.ratio));
    this.sheet.height = Math.max(1, Math.round(height * panel.ratio));
    this.context = this.sheet.getContext("2d");
    this.context.scale(this.sheet.width / width, this.sheet.height / height);
    this.done = 0;
  }

  // Brings the sheet to `count` items, then stamps it: paint(context, from, to) adds items.
  draw(target, count, paint) {
    if (count < this.done) {
      this.context.clearRect(0, 0, this.width, this.height);
      this.done = 0;
    }
    if (count > this.done) {
      this.context.save();
      paint(this.context, this.done, count);
      this.context.restore();
      this.done = count;
    }
    target.drawImage(this.sheet, 0, 0, this.width, this.height);
  }
}

// -- contour ----------------------------------------------------------------------------------------------------------

class ContourView extends View {
  count() {
    return 1;
  }

  paint(context) {
    const { x, y, plot, palette } = this.panel;
    const { values, levels, fill, role } = this.layer;
    const [height, width] = values.shape;
    const [x0, x1] = this.layer.x;
    const [y0, y1] = this.layer.y;
    if (fill) {
      const columns = Math.max(1, Math.round(plot.width));
      const rows = Math.max(1, Math.round(plot.height));
      const reached = bands(
        values.data, width, height, levels, columns, rows,
        (c) => ((x.from(((c + 0.5) * plot.width) / columns) - x0) / (x1 - x0)) * (width - 1),
        (r) => ((y.from(((r + 0.5) * plot.height) / rows) - y0) / (y1 - y0)) * (height - 1),
      );
      const tint = palette.rgb(role);
      const strongest = palette.dark ? 90 : 70;
      const picture = new ImageData(columns, rows);
      for (let i = 0; i < reached.length; i++) {
        if (reached[i] === 0) continue;
        picture.data.set(tint, 4 * i);
        picture.data[4 * i + 3] = (strongest * reached[i]) / levels.length;
      }
      context.drawImage(asCanvas(picture), 0, 0, plot.width, plot.height);
    }
    context.strokeStyle = this.color(fill ? 0.5 : 0.8);
    context.lineWidth = 1.1;
    context.lineCap = "round";
    const toX = (column) => x.to(x0 + ((x1 - x0) * column) / (width - 1));
    const toY = (row) => y.to(y0 + ((y1 - y0) * row) / (height - 1));
    for (const level of levels) {
      const segments = isoline(values.data, width, height, level);
      context.beginPath();
      for (let i = 0; i < segments.length; i += 4) {
        context.moveTo(toX(segments[i]), toY(segments[i + 1]));
        context.lineTo(toX(segments[i + 2]), toY(segments[i + 3]));
      }
      context.stroke();
    }
  }
}

function asCanvas(picture) {
  const canvas = document.createElement("canvas");
  canvas.width = picture.width;
  canvas.height = picture.height;
  canvas.getContext("2d").putImageData(picture, 0, 0);
  return canvas;
}

// The polyline or frame of the last step that is settled; `at` may begin with one for before the first.
function placed(at, cursor, steps) {
  return at.data[Math.max(0, cursor.upto + at.data.length - steps)];
}

// -- heat map ---------------------------------------------------------------------------------------------------------

const framePictures = new WeakMap(); // the cells of all frames → canvases by colour map and frame: layers share them

class HeatmapView extends View {
  get still() {
    return this.layer.frames.shape[0] === 1;
  }

  count() {
    return 1;
  }

  frame(cursor) {
    const { frames, at } = this.layer;
    if (at) return placed(at, cursor, this.panel.steps);
    const settled = Math.max(0, cursor.upto);
    return Math.min(frames.shape[0] - 1, Math.floor((settled * frames.shape[0]) / this.panel.steps));
  }

  picture(frame) {
    const { frames: { data, shape: [, height, width] }, colormap } = this.layer;
    const key = `${colormap} ${frame}`;
    if (!framePictures.has(data)) framePictures.set(data, new Map());
    const pictures = framePictures.get(data);
    if (!pictures.has(key)) {
      const table = colorTable(colormap);
      const cells = data.subarray(frame * height * width, (frame + 1) * height * width);
      const picture = new ImageData(width, height);
      for (let row = 0; row < height; row++) {
        for (let column = 0; column < width; column++) {
          const value = 3 * cells[row * width + column];
          const at = 4 * ((height - 1 - row) * width + column); // pictures count rows from the top
          picture.data[at] = table[value];
          picture.data[at + 1] = table[value + 1];
          picture.data[at + 2] = table[value + 2];
          picture.data[at + 3] = 255;
        }
      }
      pictures.set(key, asCanvas(picture));
    }
    return pictures.get(key);
  }

  paint(context, range, cursor) {
    const { x, y } = this.panel;
    const [x0, x1] = this.layer.x.map((v) => x.to(v));
    const [y0, y1] = this.layer.y.map((v) => y.to(v));
    context.globalAlpha = this.layer.alpha;
    context.imageSmoothingQuality = "high";
    context.drawImage(this.picture(this.still ? 0 : this.frame(cursor)), x0, y1, x1 - x0, y0 - y1);
  }

  hover(px, py, cursor) {
    const { frames, x, y, low, high, label } = this.layer;
    const [, height, width] = frames.shape;
    const column = Math.floor(((this.panel.x.from(px) - x[0]) / (x[1] - x[0])) * width);
    const row = Math.floor(((this.panel.y.from(py) - y[0]) / (y[1] - y[0])) * height);
    if (column < 0 || row < 0 || column >= width || row >= height) return null;
    const frame = this.still ? 0 : this.frame(cursor);
    const value = low + ((high - low) * frames.data[(frame * height + row) * width + column]) / 255;
    return { distance: 25, text: `${label ?? "value"} ${formatNumber(value, ".3g")}` };
  }
}

// -- path -------------------------------------------------------------------------------------------------------------

class PathView extends View {
  prepare() {
    if (this.trails) this.trail = new Trail(this.panel);
  }

  get still() {
    return super.still && !this.layer.at;
  }

  // With `at` the layer holds several polylines, of which each step shows one.
  items(cursor) {
    const { at, points } = this.layer;
    const range = super.items(cursor);
    if (!at || !range) return range;
    const first = placed(at, cursor, this.panel.steps) * points.shape[1];
    return [first, first + points.shape[1]];
  }

  style(context) {
    context.strokeStyle = this.color();
    context.globalAlpha = this.layer.alpha;
    context.lineWidth = this.layer.width;
    context.lineJoin = context.lineCap = "round";
    context.setLineDash(layerDash(this.layer));
  }

  stroke(context, from, to) {
    const { x, y } = this.panel;
    const { data } = this.layer.points;
    let pen = false;
    context.beginPath();
    for (let i = from; i < to; i++) {
      const [px, py] = [x.to(data[2 * i]), y.to(data[2 * i + 1])];
      if (!Number.isFinite(px + py)) pen = false;
      else if (pen) context.lineTo(px, py);
      else {
        context.moveTo(px, py);
        pen = true;
      }
    }
    context.stroke();
  }

  paint(context, range) {
    if (this.trail) {
      this.trail.draw(context, range[1], (sheet, from, to) => {
        this.style(sheet);
        this.stroke(sheet, Math.max(0, from - 1), to);
      });
      return;
    }
    this.style(context);
    if (!this.layer.show.fade) {
      this.stroke(context, ...range);
      return;
    }
    for (let i = range[0]; i + 1 < range[1]; i++) {
      context.globalAlpha = this.layer.alpha * this.fading(i + 1, range);
      this.stroke(context, i, i + 2);
    }
  }
}

// -- points -----------------------------------------------------------------------------------------------------------

class PointsView extends View {
  prepare() {
    const { layer, panel } = this;
    const shapes = layerShapes(layer);
    const classes = Math.max(layer.roles.length, shapes.length);
    this.shapes = Array.from({ length: classes }, (_, k) => shapes[k] ?? shapes[0]);
    this.colors = this.shapes.map((_, k) => panel.palette.color(layer.roles[k] ?? layer.roles[0]));
    // Large markers get a rim, so that they stand out from each other and from a heat map of their own colour.
    const rim = layer.size >= 3.5 ? panel.palette.color("surface") : null;
    this.stamps = this.shapes.map((shape, k) => markerStamp(shape, layer.size, this.colors[k], panel.ratio, rim));
    this.drawn = 0;
    if (this.trails) this.trail = new Trail(panel);
  }

  get single() {
    const { was, what, last } = this.layer.show; // one that follows a slider is its visible items alone
    return ["at", "inner_at"].includes(was ?? what) || last === 1;
  }

  alpha(number) {
    return this.layer.alpha ?? Math.max(0.15, 0.9 * Math.min(1, MANY / number) ** 0.35);
  }

  stampItems(context, from, to, alpha) {
    const { x, y } = this.panel;
    const { points: { data }, classes, mask } = this.layer;
    for (let i = from; i < to; i++) {
      if (mask && !mask.data[i]) continue;
      const [px, py] = [x.to(data[2 * i]), y.to(data[2 * i + 1])];
      if (!Number.isFinite(px + py)) continue;
      const { image, half } = this.stamps[classes ? classes.data[i] : 0];
      context.globalAlpha = typeof alpha === "number" ? alpha : alpha(i);
      context.drawImage(image, px - half, py - half, 2 * half, 2 * half);
    }
  }

  paint(context, range, cursor) {
    this.drawn = range[1] - range[0];
    if (this.trail) {
      const alpha = this.alpha(this.count() / this.panel.share); // the same for the first draws and for those that are to come
      this.trail.draw(context, range[1], (sheet, from, to) => this.stampItems(sheet, from, to, alpha));
    } else if (this.single) {
      this.markItem(context, range[0]);
    } else {
      const alpha = this.alpha(range[1] - range[0]);
      const lit = this.lit(cursor);
      this.stampItems(context, ...range, (i) => alpha * this.fading(i, range) * lit(i));
    }
  }

  // A single point stands out of the crowd by a halo.
  markItem(context, i) {
    const { x, y, palette } = this.panel;
    const { points: { data }, classes, mask, size } = this.layer;
    if (mask && !mask.data[i]) return;
    const [px, py] = [x.to(data[2 * i]), y.to(data[2 * i + 1])];
    if (!Number.isFinite(px + py)) return;
    const k = classes ? classes.data[i] : 0;
    context.globalAlpha = this.layer.alpha ?? 1;
    drawMarker(context, this.shapes[k], px, py, size, this.colors[k], palette.color("surface"));
  }

  draw(context, cursor) {
    this.drawn = 0;
    super.draw(context, cursor);
  }

  hover(px, py, cursor) {
    const range = this.items(cursor);
    if (!range) return null;
    const { x, y } = this.panel;
    const { points: { data }, mask, show } = this.layer;
    let best = -1;
    let least = Infinity;
    for (let i = range[0]; i < range[1]; i++) {
      if (mask && !mask.data[i]) continue;
      const square = (x.to(data[2 * i]) - px) ** 2 + (y.to(data[2 * i + 1]) - py) ** 2;
      if (square < least) [least, best] = [square, i];
    }
    if (best < 0) return null;
    const [dataX, dataY] = [data[2 * best], data[2 * best + 1]];
    if (show.parts) return { distance: Math.sqrt(least), part: best, parts: show.parts, x: x.to(dataX), y: y.to(dataY) };
    let name = `point ${best + 1}`;
    if (show.what === "upto" || show.what === "at") name = `draw ${best + 1}`;
    if (show.what.startsWith("inner")) name = `sub-step ${best - cursor.base + 1}`;
    const text = `${name}: (${formatNumber(dataX)}, ${formatNumber(dataY)})`;
    return { distance: Math.sqrt(least), text, x: x.to(dataX), y: y.to(dataY) };
  }
}

// -- tree -------------------------------------------------------------------------------------------------------------

// Points joined to their parents. A line is drawn once both its ends are there, in the look of the lower one.
class TreeView extends PointsView {
  paint(context, range, cursor) {
    this.drawn = range[1] - range[0];
    const lit = this.lit(cursor);
    this.joints(context, range, lit);
    this.stampItems(context, ...range, lit);
    const { pick } = cursor;
    if (pick && pick.parts === this.layer.show.parts) this.ring(context, pick.item);
  }

  joints(context, [from, to], lit) {
    const { x, y } = this.panel;
    const { points: { data }, parents, classes, dashes, width } = this.layer;
    context.lineWidth = width;
    context.lineCap = "round";
    for (let i = from; i < to; i++) {
      const parent = parents.data[i];
      if (parent < from || parent >= to) continue;
      const [px, py, qx, qy] = [data[2 * i], data[2 * i + 1], data[2 * parent], data[2 * parent + 1]];
      if (!Number.isFinite(px + py + qx + qy)) continue;
      const k = classes ? classes.data[i] : 0;
      context.globalAlpha = Math.min(lit(i), lit(parent));
      context.strokeStyle = this.colors[k];
      context.setLineDash(dashes[k] ?? dashes[0] ? [4, 3] : []);
      context.beginPath();
      context.moveTo(x.to(px), y.to(py));
      context.lineTo(x.to(qx), y.to(qy));
      context.stroke();
    }
    context.setLineDash([]);
  }

  ring(context, i) {
    const { x, y, palette } = this.panel;
    const { points: { data }, size } = this.layer;
    const [px, py] = [x.to(data[2 * i]), y.to(data[2 * i + 1])];
    if (!Number.isFinite(px + py)) return;
    context.globalAlpha = 1;
    drawMarker(context, "ring", px, py, size + 4, palette.color("ink"), palette.color("surface"));
  }
}

// -- columns ----------------------------------------------------------------------------------------------------------

// Bars from 0 to y at any x. A hollow class is drawn as an outline.
class ColumnsView extends View {
  box(i) {
    const { x, y, plot } = this.panel;
    const { points: { data }, widths } = this.layer;
    const half = 0.5 * widths.data[i];
    const [left, right] = [x.to(data[2 * i] - half), x.to(data[2 * i] + half)];
    const zero = Math.min(plot.height, Math.max(0, y.to(y.log ? y.low : 0)));
    const top = y.to(data[2 * i + 1]);
    return { left, width: Math.max(1, right - left), top: Math.min(top, zero), height: Math.abs(zero - top) };
  }

  paint(context, range, cursor) {
    const { classes, roles, hollow } = this.layer;
    const lit = this.lit(cursor);
    context.lineWidth = 1.4;
    for (let i = range[0]; i < range[1]; i++) {
      const { left, width, top, height } = this.box(i);
      if (!Number.isFinite(left + top)) continue;
      const k = classes ? classes.data[i] : 0;
      context.globalAlpha = lit(i);
      context.strokeStyle = this.panel.palette.color(roles[k] ?? roles[0]);
      context.fillStyle = this.panel.palette.color(roles[k] ?? roles[0], 0.5);
      context.setLineDash(hollow[k] ?? hollow[0] ? [3, 2] : []);
      if (!(hollow[k] ?? hollow[0])) context.fillRect(left, top, width, height);
      context.strokeRect(left, top, width, height);
    }
  }

  hover(px, py, cursor) {
    const range = this.items(cursor);
    for (let i = range?.[0]; i < range?.[1]; i++) {
      const { left, width, top } = this.box(i);
      if (px >= left && px <= left + width && py >= top - 6) {
        const { show, points: { data } } = this.layer;
        return show.parts
          ? { distance: 0, part: i, parts: show.parts }
          : { distance: 0, text: `${formatNumber(data[2 * i])}: ${formatNumber(data[2 * i + 1])}` };
      }
    }
    return null;
  }
}

// -- arrows -----------------------------------------------------------------------------------------------------------

class ArrowsView extends View {
  prepare() {
    if (this.trails) this.trail = new Trail(this.panel);
  }

  count() {
    return this.layer.start.shape[0];
  }

  paint(context, range) {
    if (this.trail) this.trail.draw(context, range[1], (sheet, from, to) => this.arrows(sheet, from, to, () => 1));
    else this.arrows(context, ...range, (i) => this.fading(i, range));
  }

  arrows(context, from, to, alpha) {
    const { x, y } = this.panel;
    const { start, end, width } = this.layer;
    context.strokeStyle = context.fillStyle = this.color();
    context.lineWidth = width;
    context.lineCap = "round";
    for (let i = from; i < to; i++) {
      const [x0, y0] = [x.to(start.data[2 * i]), y.to(start.data[2 * i + 1])];
      const [x1, y1] = [x.to(end.data[2 * i]), y.to(end.data[2 * i + 1])];
      if (!Number.isFinite(x0 + y0 + x1 + y1)) continue;
      context.globalAlpha = alpha(i);
      drawArrow(context, x0, y0, x1, y1, width);
    }
  }
}

export function drawArrow(context, x0, y0, x1, y1, width) {
  const length = Math.hypot(x1 - x0, y1 - y0);
  if (length < 1) return;
  const [dx, dy] = [(x1 - x0) / length, (y1 - y0) / length];
  const head = Math.min(length, 5 + 2.6 * width);
  const [bx, by] = [x1 - dx * head, y1 - dy * head]; // where the head begins
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(bx, by);
  context.stroke();
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(bx - dy * head * 0.45, by + dx * head * 0.45);
  context.lineTo(bx + dy * head * 0.45, by - dx * head * 0.45);
  context.closePath();
  context.fill();
}

// -- line -------------------------------------------------------------------------------------------------------------

class LineView extends View {
  get curves() {
    return this.layer.ys.shape.length === 2; // one curve an item
  }

  prepare() {
    if (this.curves && this.trails) this.trail = new Trail(this.panel);
  }

  count() {
    return this.layer.ys.shape[0];
  }

  // A curve that begins with a draw that has no value yet is not there before it has one.
  shows(cursor) {
    const range = this.items(cursor);
    return range !== null && (this.curves || this.layer.ys.data.subarray(...range).some(Number.isFinite));
  }

  style(context) {
    context.strokeStyle = this.color();
    context.globalAlpha = this.layer.alpha;
    context.lineWidth = this.layer.width;
    context.lineJoin = context.lineCap = "round";
    context.setLineDash(layerDash(this.layer));
  }

  paint(context, range) {
    const { xs, ys, band, alpha } = this.layer;
    const length = xs.data.length;
    const row = (data, i) => data.subarray(i * length, (i + 1) * length);
    if (band) {
      const edges = band.map(({ data }) => (this.curves ? row(data, range[1] - 1) : data));
      this.fillBand(context, edges, ...(this.curves ? [0, length] : range));
    }
    this.style(context);
    if (!this.curves) {
      this.trace(context, ys.data, ...range);
      return;
    }
    const curve = (target, i) => this.trace(target, row(ys.data, i), 0, length);
    if (this.trail) {
      this.trail.draw(context, range[1], (sheet, from, to) => {
        this.style(sheet);
        for (let i = from; i < to; i++) curve(sheet, i);
      });
      return;
    }
    for (let i = range[0]; i < range[1]; i++) {
      context.globalAlpha = alpha * this.fading(i, range);
      curve(context, i);
    }
  }

  // A long trace is drawn as one stroke from the least to the greatest value in each column of pixels.
  trace(context, ys, from, to) {
    const { x, y, plot } = this.panel;
    const xs = this.layer.xs.data;
    context.beginPath();
    if (to - from <= 3 * plot.width) {
      let pen = false;
      for (let i = from; i < to; i++) {
        const [px, py] = [x.to(xs[i]), y.to(ys[i])];
        if (!Number.isFinite(px + py)) pen = false;
        else if (pen) context.lineTo(px, py);
        else {
          context.moveTo(px, py);
          pen = true;
        }
      }
      if (to - from === 1 && pen) context.lineTo(x.to(xs[from]) + 0.01, y.to(ys[from]));
    } else {
      let column = null;
      let least = 0;
      let greatest = 0;
      let last = 0;
      let pen = false;
      const flush = () => {
        if (pen) context.lineTo(column, greatest);
        else context.moveTo(column, greatest);
        context.lineTo(column, least);
        context.lineTo(column, last);
        pen = true;
      };
      for (let i = from; i < to; i++) {
        const px = Math.round(x.to(xs[i]));
        const py = y.to(ys[i]);
        if (!Number.isFinite(px + py)) continue;
        if (px !== column) {
          if (column !== null) flush();
          column = px;
          least = greatest = py;
        }
        least = Math.min(least, py);
        greatest = Math.max(greatest, py);
        last = py;
      }
      if (column !== null) flush();
    }
    context.stroke();
  }

  fillBand(context, [low, high], from, to) {
    const { x, y } = this.panel;
    const { xs } = this.layer;
    context.beginPath();
    for (let i = from; i < to; i++) context.lineTo(x.to(xs.data[i]), y.to(high[i]));
    for (let i = to - 1; i >= from; i--) context.lineTo(x.to(xs.data[i]), y.to(low[i]));
    context.closePath();
    context.fillStyle = this.color(0.18);
    context.fill();
  }

  hover(px, py, cursor) {
    const range = this.items(cursor);
    if (!range || this.curves) return null;
    const { x, y } = this.panel;
    const { xs, ys, show } = this.layer;
    let [low, high] = range;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (x.to(xs.data[middle]) <= px) low = middle;
      else high = middle;
    }
    const [lineX, lineY] = [x.to(xs.data[low]), y.to(ys.data[low])];
    const name = show.what === "upto" ? `draw ${low + 1}` : formatNumber(xs.data[low]);
    const distance = Math.hypot(lineX - px, lineY - py);
    return { distance, text: `${name}: ${formatNumber(ys.data[low])}`, x: lineX, y: lineY };
  }
}

// -- rule and text ----------------------------------------------------------------------------------------------------

class RuleView extends View {
  count() {
    return this.layer.values.data.length;
  }

  paint(context, range) {
    const { x, y, plot } = this.panel;
    const value = this.layer.values.data[range[1] - 1];
    if (!Number.isFinite(value)) return;
    context.strokeStyle = this.color();
    context.lineWidth = 1.75;
    context.setLineDash(layerDash(this.layer));
    context.beginPath();
    if (this.layer.axis === "x") {
      context.moveTo(x.to(value), 0);
      context.lineTo(x.to(value), plot.height);
    } else {
      context.moveTo(0, y.to(value));
      context.lineTo(plot.width, y.to(value));
    }
    context.stroke();
  }
}

class TextView extends View {
  count() {
    return 1;
  }

  paint(context) {
    const { x, y, palette, family } = this.panel;
    context.font = font(family, TEXT.label);
    context.textAlign = this.layer.align;
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.strokeStyle = palette.color("surface");
    context.lineWidth = 4;
    context.strokeText(this.layer.text, x.to(this.layer.x), y.to(this.layer.y));
    context.fillStyle = this.color();
    context.fillText(this.layer.text, x.to(this.layer.x), y.to(this.layer.y));
  }
}

export const PLANE_VIEWS = {
  contour: ContourView, heatmap: HeatmapView, path: PathView, points: PointsView, tree: TreeView, columns: ColumnsView,
  arrows: ArrowsView, line: LineView, rule: RuleView, text: TextView,
};
