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
const AROUND = 76; // px of the height of a panel that are not its plot
const [LEAST, MOST] = [0.45, 1.75]; // times as tall as they are made, plots are that shall fit the window, …
const LOW = 60; // … but not lower than this, if they are made so, px,
const READABLE = 120; // or than this where they stand below each other, on a phone;
const SIDE = 88; // and a plot with equal units stands beside another one there if it stays as wide as this

// A panel on the stage: its frame, its plot inside the frame (both in stage pixels), its scales and views.
class PanelView {
  constructor(spec, frame, measures, stage) {
    this.spec = spec;
    this.frame = frame;
    Object.assign(this, measures); // margins, yTicks, categories
    this.extent(stage.scene);
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

  // steps : that are there; share : of all that the run is to have
  extent({ steps, total }) {
    this.steps = steps;
    this.share = steps / (total ?? steps);
  }

  // Takes over the arrays of a newer blob of the same run; what is drawn already stays, as far as they begin alike.
  bind(spec, scene) {
    let stillChanged = false;
    this.views.forEach((view, i) => {
      if (view.still && !sameArrays(view.layer, spec.layers[i])) stillChanged = true;
      view.bind(spec.layers[i]);
    });
    this.spec = spec;
    this.extent(scene);
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

  // All but what is lit steps back. Marks that have not come yet light their panel.
  light(context, cursor, { panel, role, kind }) {
    const own = panel === this.spec.id;
    // layers of several classes have roles; bars may have the truth beside them
    const roles = (layer) => [layer.role, ...(layer.roles ?? []), layer.truth && "truth"];
    const named = !own ? [] : this.views.filter(({ layer }) => roles(layer).includes(role) && (!kind || layer.kind === kind));
    const there = named.filter((view) => view.shows(cursor));
    if (own && (!role || (named.length && !there.length))) return;
    context.save();
    context.globalAlpha = DIMMED;
    context.fillStyle = this.palette.color("surface");
    const { x, y, width, height } = own ? this.plot : this.frame;
    context.fillRect(x, y, width, height);
    context.restore();
    this.inPlot(context, () => there.forEach((view) => view.draw(context, cursor)));
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
    const measured = (panels) => panels.map((panel) => measureMargins(this.context, panel, family));
    const placed = gridded && !room ? grid : gridded ? snug : stacked;
    const laidOut = (panels, measures) => placed(panels, width, measures);
    const heightOf = (panels) => laidOut(panels, measured(panels)).height;
    const specs = room ? fitted(scene.panels, room, heightOf, ...(gridded ? [MOST, LOW] : [1, READABLE])) : scene.panels;
    const measures = measured(specs);
    const { frames, height } = laidOut(specs, measures);
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
        old.bind(spec, scene);
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

// Below each other, or two side by side where their units are equal and half the width is enough.
function stacked(panels, width, measures) {
  const half = Math.floor((width - GAP) / 2);
  const square = (i) => panels[i]?.equal && panels[i].x && panels[i].y
    && half - measures[i].margins.left - measures[i].margins.right >= SIDE;
  const frames = [];
  let y = 0;
  for (let i = 0; i < panels.length;) {
    const row = square(i) && square(i + 1) ? [i, i + 1] : [i];
    const wide = row.length > 1 ? half : width;
    const heights = row.map((k) => neededHeight(panels[k], measures[k].margins, wide));
    const height = Math.max(...heights);
    row.forEach((k, place) => (frames[k] = { x: place * (half + GAP), y, width: wide, height }));
    y += height + GAP;
    i += row.length;
  }
  return { frames, height: Math.max(1, y - GAP) };
}

// A panel with equal units needs no more height than its width can use.
function neededHeight({ equal, x, y, height }, { left, right, top, bottom }, width) {
  if (!equal || !x || !y) return height;
  const needed = ((width - left - right) * (y.high - y.low)) / (x.high - x.low) + top + bottom;
  return Math.round(Math.min(needed, height));
}

// The panels of a scene that the story shows.
export function chosen(panels, ids) {
  const few = panels.filter(({ id }) => ids.includes(id));
  return few.length && few.length < panels.length ? tightened(few) : panels;
}

// Panels as tall as there is room for, within reason: their plots grow and shrink, what stands around them does not.
// heightOf : of panels that have been laid out
function fitted(panels, room, heightOf, most, low) {
  const times = (share) => panels.map((panel) => {
    const plot = panel.height - AROUND;
    return { ...panel, height: AROUND + Math.round(Math.max(Math.min(plot, low), share * plot)) };
  });
  let [fits, over] = [LEAST, most];
  if (heightOf(times(over)) <= room) return times(over);
  while (over - fits > 0.01) {
    const share = (fits + over) / 2;
    if (heightOf(times(share)) <= room) fits = share;
    else over = share;
  }
  return times(fits);
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
  const small = placed.filter(piled);
  const touched = placed.length === 2 && small.some(({ editable }) => editable); // a finger needs room
  if (placed.length === panels.length && (small.length === placed.length || touched)) placed = beside(placed);
  const found = new Map(placed.map((panel) => [panel.id, panel]));
  return panels.map((panel) => found.get(panel.id) ?? panel);
}

// Whether a panel that is as wide as tall has others only below and above it: there it is small.
function piled({ equal, place: [column, row, columns] }, _, panels) {
  return equal && panels.every(({ place }) => place[0] === column && place[2] === columns)
    && panels.filter(({ place }) => place[1] === row).length === 1;
}

// Side by side, in their order.
function beside(panels) {
  const order = [...panels].sort((a, b) => a.place[1] - b.place[1]);
  return panels.map((panel) => ({ ...panel, place: [order.indexOf(panel), 0, 1, 1] }));
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

// On their grid, no row taller than its panels can use.
function snug(panels, width, measures) {
  const { frames } = grid(panels, width);
  const needed = panels.map((panel, i) => ({ ...panel, height: neededHeight(panel, measures[i].margins, frames[i].width) }));
  return grid(needed, width);
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
