// The stage: lays the panels out on one canvas and draws them at a cursor. What does not move is painted once a size.

const version = new URL(import.meta.url).search;
const [
  { Scale, colorbarOf, drawAxes, drawColorbar, measureMargins }, { PLANE_VIEWS }, { QUANTITY_VIEWS }, { NETWORK_VIEWS },
  { colorTable }, { panelSignature, sameArrays }, { drawMarker },
] = await Promise.all(
  ["axes", "layers", "quantities", "network", "colormap", "blob", "palette"]
    .map((name) => import(`./${name}.js${version}`)),
);

const VIEWS = { ...PLANE_VIEWS, ...QUANTITY_VIEWS, ...NETWORK_VIEWS };
const WIDE = 620; // from this width on the panels stand on their grid,
const WIDE_ENOUGH = 480; // or from this one, where they are few or projected
const GAP = 20;
const DIMMED = 0.7; // of what a light takes away from the rest
const FADED = 0.55; // … and a slider from what does not follow it
const [LEAST, MOST] = [0.6, 1.6]; // times as tall as they are made, panels are that shall fit the window

// A panel on the stage: its frame, its plot inside the frame (both in stage pixels), its scales and views.
class PanelView {
  constructor(spec, frame, measures, stage) {
    this.spec = spec;
    this.frame = frame;
    Object.assign(this, measures); // margins, yTicks, categories
    this.steps = stage.scene.steps;
    this.palette = stage.palette;
    this.family = stage.family;
    this.ratio = stage.ratio;
    this.blank = stage.blank;
    this.signature = panelSignature(spec);
    const { left, right, top, bottom } = this.margins;
    this.plot = {
      x: frame.x + left,
      y: frame.y + top,
      width: Math.max(20, frame.width - left - right),
      height: Math.max(20, frame.height - top - bottom),
    };
    if (spec.equal && spec.x && spec.y) this.equalize();
    this.plot.x = Math.round(this.plot.x);
    this.plot.y = Math.round(this.plot.y);
    this.x = spec.x && new Scale(spec.x, this.plot.width, false);
    this.y = spec.y && new Scale(spec.y, this.plot.height, true);
    this.views = spec.layers.map((layer) => new VIEWS[layer.kind](this, layer));
    const bars = this.views.filter((view) => view.slot && !view.layer.ghost);
    bars.forEach((view, place) => (view.group = [place, bars.length]));
    this.sort();
  }

  // One unit of x is as long as one unit of y: the plot shrinks, the ranges stay.
  equalize() {
    const { x, y } = this.spec;
    const unit = Math.min(this.plot.width / (x.high - x.low), this.plot.height / (y.high - y.low));
    const [width, height] = [unit * (x.high - x.low), unit * (y.high - y.low)];
    this.plot.x += Math.round((this.plot.width - width) / 2);
    this.plot.width = width;
    this.plot.height = height;
  }

  // Runs of still views become one sheet each; the first such run goes with the axes. A still view that comes and goes
  // with a phase gets a sheet of its own.
  sort() {
    const paintedOnce = (view) => view.still && view.layer.show.phase === null;
    const moving = this.views.findIndex((view) => !paintedOnce(view));
    const first = moving < 0 ? this.views.length : moving;
    this.behind = this.views.slice(0, first);
    this.above = []; // moving views, and sheets {views, image}
    let run = null;
    for (const view of this.views.slice(first)) {
      if (paintedOnce(view) && run) {
        run.views.push(view);
        continue;
      }
      run = null;
      if (!view.still) {
        this.above.push(view);
        continue;
      }
      const sheet = { views: [view], image: null };
      this.above.push(sheet);
      if (paintedOnce(view)) run = sheet;
    }
    this.back = null;
  }

  // Takes over the arrays of a newer blob of the same run; what is drawn already stays.
  bind(spec, steps) {
    let stillChanged = false;
    this.views.forEach((view, i) => {
      if (view.still && !sameArrays(view.layer, spec.layers[i])) stillChanged = true;
      view.bind(spec.layers[i]);
    });
    this.spec = spec;
    this.steps = steps;
    if (stillChanged) this.sort();
  }

  // Takes over what stands still from the panel that stood here before, where nothing of it has changed.
  takeOver(old) {
    if (!this.views.every((view, i) => view.still === old.views[i].still)) return;
    const unchanged = (views, before) => views.every((view, i) => sameArrays(view.layer, before[i].layer));
    const pass = (views, before) => views.forEach((view, i) => (view.drawn = before[i].drawn));
    if (unchanged(this.behind, old.behind)) {
      [this.back, this.backArea] = [old.back, old.backArea];
      pass(this.behind, old.behind);
    }
    this.above.forEach((item, i) => {
      const before = old.above[i];
      if (!item.views || !unchanged(item.views, before.views)) return;
      item.image = before.image;
      pass(item.views, before.views);
    });
  }

  sheet(area, paint) {
    const canvas = this.blank();
    canvas.width = Math.max(1, Math.round(area.width * this.ratio));
    canvas.height = Math.max(1, Math.round(area.height * this.ratio));
    const context = canvas.getContext("2d");
    context.scale(canvas.width / area.width, canvas.height / area.height);
    context.translate(-area.x, -area.y);
    paint(context);
    return canvas;
  }

  inPlot(context, paint) {
    const { x, y, width, height } = this.plot;
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    context.translate(x, y);
    paint();
    context.restore();
  }

  paintBack(cursor) {
    const { frame, palette, family } = this;
    const area = { x: frame.x - 6, y: frame.y, width: frame.width + 12, height: frame.height };
    this.backArea = area; // labels may reach out of the frame a little
    this.back = this.sheet(area, (context) => {
      const heat = colorbarOf(this.spec);
      drawAxes(context, this, palette, family);
      if (heat) drawColorbar(context, this, heat, colorTable(heat.colormap), palette, family);
      this.inPlot(context, () => this.behind.forEach((view) => view.draw(context, cursor)));
    });
  }

  // lit : what the story lights in it; null where it speaks of nothing
  draw(context, cursor, lit) {
    if (!this.back) this.paintBack(cursor);
    const { backArea, plot } = this;
    context.drawImage(this.back, backArea.x, backArea.y, backArea.width, backArea.height);
    this.inPlot(context, () => {
      for (const item of this.above) {
        if (!item.views) {
          item.draw(context, cursor);
        } else if (item.views[0].items(cursor)) {
          const area = { x: 0, y: 0, width: plot.width, height: plot.height };
          item.image ??= this.sheet(area, (sheet) => item.views.forEach((view) => view.draw(sheet, cursor)));
          context.drawImage(item.image, 0, 0, plot.width, plot.height);
        }
      }
      this.drawEditable?.(context);
    });
    if (lit) this.light(context, cursor, lit);
  }

  fade(context) {
    const { x, y, width, height } = this.frame;
    context.save();
    context.globalAlpha = FADED;
    context.fillStyle = this.palette.color("surface");
    context.fillRect(x, y, width, height);
    context.restore();
  }

  // All but what is lit steps back.
  light(context, cursor, { panel, role, kind }) {
    if (panel === this.spec.id && !role) return;
    context.save();
    context.globalAlpha = DIMMED;
    context.fillStyle = this.palette.color("surface");
    const { x, y, width, height } = panel === this.spec.id ? this.plot : this.frame;
    context.fillRect(x, y, width, height);
    context.restore();
    if (panel !== this.spec.id) return;
    // layers of several classes have roles; bars may have the truth beside them
    const roles = (layer) => [layer.role, ...(layer.roles ?? []), layer.truth && "truth"];
    const named = ({ layer }) => roles(layer).includes(role) && (!kind || layer.kind === kind);
    this.inPlot(context, () => this.views.filter(named).forEach((view) => view.draw(context, cursor)));
  }
}

export class Stage {
  // blank : makes the canvases of what stands still
  constructor(canvas, blank = () => document.createElement("canvas")) {
    this.canvas = canvas;
    this.blank = blank;
    this.context = canvas.getContext("2d");
    this.panels = [];
    this.edits = new Map(); // panel id → edited points, kept by the pointer
  }

  // Lays out anew. Panels that only got newer arrays keep what they have drawn; those of another run what stands still.
  // room : the height to fill; 0: as tall as it is made
  arrange(scene, palette, family, width, ratio, room = 0) {
    const same = this.scene && this.palette === palette && this.family === family && this.width === width
      && this.ratio === ratio;
    const grows = same && this.scene.run === scene.run;
    Object.assign(this, { scene, palette, family, width, ratio });
    const gridded = width >= (room ? WIDE_ENOUGH : WIDE);
    const specs = room ? fitted(scene.panels, room, gridded ? width : 0) : scene.panels;
    const measures = specs.map((spec) => measureMargins(this.context, spec, family));
    const { frames, height } = gridded ? grid(specs, width) : stacked(specs, measures, width);
    align(frames, measures);
    this.height = height;
    if (!same || this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.max(1, Math.round(width * ratio));
      this.canvas.height = Math.max(1, Math.round(height * ratio));
    }
    this.panels = specs.map((spec, i) => {
      const old = same && this.panels[i];
      const alike = old && old.signature === panelSignature(spec)
        && sameBox(old.frame, frames[i]) && sameBox(old.margins, measures[i].margins);
      if (alike && grows) {
        old.bind(spec, scene.steps);
        return old;
      }
      const panel = new PanelView(spec, frames[i], measures[i], this);
      if (alike) panel.takeOver(old);
      return panel;
    });
    for (const panel of this.panels) {
      if (panel.spec.editable) panel.drawEditable = (context) => this.drawEdits(panel, context);
    }
  }

  draw(cursor, lit = null) {
    const { context, canvas, width, height } = this;
    context.setTransform(canvas.width / width, 0, 0, canvas.height / height, 0, 0);
    context.clearRect(0, 0, width, height); // see-through: the page's own background shows
    const followed = this.panels.some(({ spec }) => spec.followed);
    for (const panel of this.panels) {
      panel.draw(context, cursor, lit);
      if (followed && !panel.spec.followed) panel.fade(context);
    }
  }

  drawEdits(panel, context) {
    const edit = this.edits.get(panel.spec.id);
    if (!edit) return;
    const { palette, x, y, spec } = panel;
    const points = spec.edits ? rows(spec.edits) : edit.points;
    points.forEach(([px, py, k], i) => {
      if (i === edit.selected) drawMarker(context, "ring", x.to(px), y.to(py), 11, palette.color("ink"));
      drawMarker(context, EDIT_SHAPES[k], x.to(px), y.to(py), 6, palette.color(`class-${k}`), palette.color("surface"));
    });
  }

  panelAt(x, y) {
    const within = (value, start, size) => value >= start && value <= start + size;
    return this.panels.find(({ plot }) => within(x, plot.x, plot.width) && within(y, plot.y, plot.height));
  }

  // Items of the fullest points layer.
  get pointsDrawn() {
    return Math.max(0, ...this.panels.flatMap((panel) => panel.views.map((view) => view.drawn ?? 0)));
  }

  // Whether something fades from one state to the next, so that frames between them are worth drawing.
  get flows() {
    return this.panels.some((panel) => panel.views.some((view) => view.flows));
  }

  get histogramCounts() {
    for (const panel of this.panels) for (const view of panel.views) if (view.tally) return view.tally.counts;
    return null;
  }
}

export const EDIT_SHAPES = ["circle", "square", "triangle"];

function rows({ data, shape: [count, width] }) {
  return Array.from({ length: count }, (_, i) => data.subarray(i * width, (i + 1) * width));
}

// -- layout -----------------------------------------------------------------------------------------------------------

function sameBox(a, b) {
  return Object.keys(a).every((key) => a[key] === b[key]);
}

// Panels that stand above each other begin their plots on the same vertical line.
function align(frames, measures) {
  frames.forEach((frame, i) => {
    frames.forEach((other, k) => {
      if (frame.x !== other.x || frame.width !== other.width) return;
      const [a, b] = [measures[i].margins, measures[k].margins];
      a.left = b.left = Math.max(a.left, b.left);
    });
  });
}

function stacked(panels, measures, width) {
  const frames = [];
  let y = 0;
  panels.forEach((panel, i) => {
    const height = panel.equal && panel.x && panel.y ? equalHeight(panel, measures[i].margins, width) : panel.height;
    frames.push({ x: 0, y, width, height });
    y += height + GAP;
  });
  return { frames, height: Math.max(1, y - GAP) };
}

// A panel with equal units needs no more height than its width can use.
function equalHeight({ x, y, height }, { left, right, top, bottom }, width) {
  const needed = ((width - left - right) * (y.high - y.low)) / (x.high - x.low) + top + bottom;
  return Math.round(Math.min(needed, height));
}

// The panels of a scene that the story shows.
export function chosen(panels, ids) {
  const few = panels.filter(({ id }) => ids.includes(id));
  return few.length && few.length < panels.length ? tightened(few) : panels;
}

// Panels as tall as there is room for, within reason; width: of their grid, 0 where they stand below each other.
function fitted(panels, room, width) {
  const tall = width ? grid(panels, width).height : panels.reduce((sum, { height }) => sum + height + GAP, 0);
  const times = Math.max(LEAST, Math.min(width ? MOST : 1, room / tall));
  return panels.map((panel) => ({ ...panel, height: Math.round(times * panel.height) }));
}

const COLUMNS = [0, 2]; // where a place has its first cell, and how many
const ROWS = [1, 3];

// Without the rows and columns in which nothing stands; the panels grow into the free cells beside them.
function tightened(panels) {
  let placed = panels.filter(({ place }) => place);
  for (const [first, span] of [COLUMNS, ROWS]) {
    const used = new Set(placed.flatMap(({ place }) => Array.from({ length: place[span] }, (_, i) => place[first] + i)));
    placed = placed.map((panel) => moved(panel, first, [...used].filter((cell) => cell < panel.place[first]).length));
  }
  for (const [along, across] of [[COLUMNS, ROWS], [ROWS, COLUMNS]]) placed = grown(placed, along, across);
  const found = new Map(placed.map((panel) => [panel.id, panel]));
  return panels.map((panel) => found.get(panel.id) ?? panel);
}

function moved(panel, index, cell) {
  return { ...panel, place: panel.place.with(index, cell) };
}

function grown(panels, [first, span], [row, rows]) {
  const end = Math.max(0, ...panels.map(({ place }) => place[first] + place[span]));
  return panels.map((panel) => {
    const { place } = panel;
    const beside = panels.map((other) => other.place)
      .filter((other) => other[row] < place[row] + place[rows] && place[row] < other[row] + other[rows]);
    const from = beside.some((other) => other[first] < place[first]) ? place[first] : 0;
    const next = Math.min(end, ...beside.map((other) => other[first]).filter((start) => start > place[first]));
    return moved(moved(panel, first, from), span, next - from);
  });
}

function grid(panels, width) {
  const placed = panels.filter((panel) => panel.place);
  const columns = Math.max(1, ...placed.map(({ place: [column, , span] }) => column + span));
  let rows = Math.max(0, ...placed.map(({ place: [, row, , span] }) => row + span));
  const places = panels.map((panel) => panel.place ?? [0, rows++, columns, 1]);
  const heights = new Array(rows).fill(0);
  places.forEach(([, row, , span], i) => {
    const each = (panels[i].height - GAP * (span - 1)) / span;
    for (let r = row; r < row + span; r++) heights[r] = Math.max(heights[r], Math.round(each));
  });
  const tops = heights.map((_, r) => heights.slice(0, r).reduce((sum, h) => sum + h + (h ? GAP : 0), 0));
  const column = (width - GAP * (columns - 1)) / columns;
  const frames = places.map(([c, r, wide, tall]) => ({
    x: Math.round(c * (column + GAP)),
    y: tops[r],
    width: Math.round(wide * column + GAP * (wide - 1)),
    height: heights.slice(r, r + tall).reduce((a, b) => a + b, 0) + GAP * (tall - 1),
  }));
  return { frames, height: Math.max(1, ...frames.map(({ y, height }) => y + height)) };
}
