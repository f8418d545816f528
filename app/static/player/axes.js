// Scales, ticks, and the drawing of axes, grid and titles.

const version = new URL(import.meta.url).search;
const { formatNumber, superscript } = await import(`./format.js${version}`);

export const TEXT = { tick: 13, label: 14, title: 15 };
const TITLE_LINE = 14; // from one line of a title to the next: its margin holds two

// Maps data to pixels of the plot: pixel = a · value + b (value in log10 on a logarithmic axis).
export class Scale {
  constructor(axis, size, upwards) {
    this.log = axis.log;
    const [low, high] = axis.log ? [Math.log10(axis.low), Math.log10(axis.high)] : [axis.low, axis.high];
    this.a = (upwards ? -size : size) / (high - low);
    this.b = upwards ? size - this.a * low : -this.a * low;
    this.low = axis.low;
    this.high = axis.high;
  }

  to(value) {
    return this.a * (this.log ? Math.log10(value) : value) + this.b;
  }

  from(pixel) {
    const value = (pixel - this.b) / this.a;
    return this.log ? 10 ** value : value;
  }
}

// -- ticks ------------------------------------------------------------------------------------------------------------

// The round step (1, 2, 5 × 10ⁿ) whose number of ticks comes nearest to the wanted one.
function niceStep(low, high, number) {
  const power = Math.floor(Math.log10((high - low) / number));
  let best = null;
  for (const step of [0.5, 1, 2, 5, 10].map((unit) => unit * 10 ** power)) {
    const ticks = Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) + 1;
    const miss = Math.abs(ticks - number) + (ticks < 3 ? 2 : 0);
    if (best === null || miss < best.miss) best = { step, miss };
  }
  return best.step;
}

// [{value, text}] for about `number` ticks.
export function ticksOf(axis, number) {
  if (axis.ticks) {
    return axis.ticks
      .filter(([value]) => value >= axis.low && value <= axis.high)
      .map(([value, text]) => ({ value, text }));
  }
  const ticks = [];
  if (axis.log) {
    const [low, high] = [Math.log10(axis.low), Math.log10(axis.high)];
    const every = Math.max(1, Math.ceil((high - low) / Math.max(1, number)));
    const plain = low > -2.5 && high < 4.5; // 0.01 … 10 000 read best as they are
    for (let power = Math.ceil(low - 1e-9); power <= high + 1e-9; power += every) {
      ticks.push({ value: 10 ** power, text: plain ? formatNumber(10 ** power) : `10${superscript(power)}` });
    }
    if (ticks.length > 1) return ticks;
    ticks.length = 0; // less than a decade: round numbers serve better
  }
  const step = niceStep(axis.low, axis.high, Math.max(2, number));
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const scientific = Math.max(Math.abs(axis.low), Math.abs(axis.high)) >= 1e6 || decimals > 5;
  for (let k = Math.ceil(axis.low / step - 1e-9); k * step <= axis.high + 1e-9 * step; k++) {
    const value = k * step;
    ticks.push({ value, text: scientific ? formatNumber(value, ".3g") : formatNumber(value, `.${decimals}f`) });
  }
  return ticks;
}

// -- drawing ----------------------------------------------------------------------------------------------------------

export function font(family, size, weight = 400) {
  return `${weight} ${size}px ${family}`;
}

// The space a panel needs around its plot: {margins: {left, right, top, bottom}, yTicks, categories}.
export function measureMargins(context, panel, family) {
  const margins = { left: 8, right: 12, top: panel.title ? 30 : 10, bottom: 8 };
  context.font = font(family, TEXT.tick);
  const widest = (ticks) => Math.ceil(Math.max(0, ...ticks.map(({ text }) => context.measureText(text).width)));
  const bars = panel.layers.find(({ kind }) => kind === "bars" || kind === "counts");
  const yTicks = panel.y ? ticksOf(panel.y, (panel.height - 60) / 45) : [];
  if (panel.y) margins.left = widest(yTicks) + 14 + (panel.y.label ? 22 : 0);
  if (panel.x || bars) margins.bottom = 26 + (panel.x?.label ? 20 : 0);
  const heat = colorbarOf(panel);
  if (heat) margins.right = 32 + widest(colorbarTicks(heat)) + (heat.label ? 26 : 6);
  return { margins, yTicks, categories: bars?.labels ?? null };
}

export function drawAxes(context, view, palette, family) {
  const { spec, plot, frame, x, y, yTicks, categories } = view;
  const right = plot.x + plot.width;
  const bottom = plot.y + plot.height;
  context.lineWidth = 1;
  context.font = font(family, TEXT.tick);
  if (spec.y) {
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const { value, text } of yTicks) {
      const at = Math.round(plot.y + y.to(value)) + 0.5;
      context.strokeStyle = palette.color("grid");
      line(context, plot.x, at, right, at);
      context.fillStyle = palette.color("muted");
      context.fillText(text, plot.x - 8, at);
    }
  }
  context.textAlign = "center";
  context.textBaseline = "top";
  if (spec.x && !categories) {
    let free = -Infinity; // labels must not run into each other
    for (const { value, text } of ticksOf(spec.x, plot.width / 76)) {
      const at = Math.round(plot.x + x.to(value)) + 0.5;
      context.strokeStyle = palette.color("grid");
      line(context, at, plot.y, at, bottom);
      const half = context.measureText(text).width / 2;
      const centre = Math.min(Math.max(at, frame.x + half), frame.x + frame.width - half); // whole at either end
      if (centre - half < free) continue;
      free = centre + half + 6;
      context.fillStyle = palette.color("muted");
      context.fillText(text, centre, bottom + 7);
    }
  }
  if (categories) drawCategories(context, view, categories, palette);
  if (spec.x || spec.y || categories) {
    context.strokeStyle = palette.color("muted", 0.7);
    line(context, plot.x, bottom + 0.5, right, bottom + 0.5);
    if (spec.y) line(context, plot.x - 0.5, plot.y, plot.x - 0.5, bottom);
  }
  context.fillStyle = palette.color("ink");
  context.font = font(family, TEXT.label);
  if (spec.x?.label) {
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    context.fillText(spec.x.label, plot.x + plot.width / 2, bottom + 40, plot.width + 40); // room for a subscript below
  }
  if (spec.y?.label) {
    context.save();
    context.translate(plot.x - view.margins.left + 6, plot.y + plot.height / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.textBaseline = "top";
    context.fillText(spec.y.label, 0, 0, plot.height + 20);
    context.restore();
  }
  if (spec.title) drawTitle(context, view, family);
}

// Above the plot where it fits; else smaller and from the edge of the panel, on two lines where it needs them.
function drawTitle(context, { spec: { title, y }, plot, frame }, family) {
  const end = frame.x + frame.width;
  const fits = (text, from) => from + context.measureText(text).width <= end;
  context.textAlign = "left";
  context.textBaseline = "top";
  context.font = font(family, TEXT.title, 600);
  const from = y ? plot.x : frame.x + 2;
  if (fits(title, from)) {
    context.fillText(title, from, plot.y - 26);
    return;
  }
  context.font = font(family, TEXT.tick, 600);
  const lines = fits(title, frame.x) ? [title] : halves(title);
  const top = lines.length > 1 ? frame.y : plot.y - 26;
  lines.forEach((text, i) => context.fillText(text, frame.x, top + TITLE_LINE * i, frame.width));
}

// A text broken at the space nearest to its middle.
function halves(text) {
  const spaces = [...text.matchAll(/ /g)].map(({ index }) => index);
  const far = (index) => Math.abs(index - text.length / 2);
  const at = spaces.reduce((best, index) => (far(index) < far(best) ? index : best), spaces[0]);
  return at === undefined ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

// The names under bars; every second, third … when they would touch.
function drawCategories(context, { plot }, names, palette) {
  const slot = plot.width / names.length;
  const widest = Math.max(...names.map((name) => context.measureText(name).width));
  const every = Math.max(1, Math.ceil((Math.min(widest, 90) + 8) / slot));
  context.fillStyle = palette.color("muted");
  names.forEach((name, k) => {
    if (k % every === 0) context.fillText(name, plot.x + (k + 0.5) * slot, plot.y + plot.height + 7, every * slot - 4);
  });
}

// -- colour bar -------------------------------------------------------------------------------------------------------

export function colorbarOf(panel) {
  return panel.layers.find((layer) => layer.kind === "heatmap" && layer.colorbar) ?? null;
}

function colorbarTicks(layer) {
  return ticksOf({ low: layer.low, high: layer.high, log: false, ticks: null }, 3);
}

export function drawColorbar(context, view, layer, table, palette, family) {
  const { plot } = view;
  const x = plot.x + plot.width + 12;
  for (let row = 0; row < plot.height; row++) {
    const i = Math.round(255 * (1 - row / Math.max(1, plot.height - 1)));
    context.fillStyle = `rgb(${table[3 * i]},${table[3 * i + 1]},${table[3 * i + 2]})`;
    context.fillRect(x, plot.y + row, 14, 1.5);
  }
  context.font = font(family, TEXT.tick);
  context.fillStyle = palette.color("muted");
  context.textAlign = "left";
  context.textBaseline = "middle";
  let widest = 0;
  for (const { value, text } of colorbarTicks(layer)) {
    const at = plot.y + plot.height * (1 - (value - layer.low) / (layer.high - layer.low));
    context.fillText(text, x + 20, Math.min(plot.y + plot.height - 6, Math.max(plot.y + 6, at)));
    widest = Math.max(widest, context.measureText(text).width);
  }
  if (layer.label) {
    context.save();
    context.translate(x + 20 + widest + 7, plot.y + plot.height / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.textBaseline = "top";
    context.fillStyle = palette.color("ink");
    context.font = font(family, TEXT.label);
    context.fillText(layer.label, 0, 0, plot.height);
    context.restore();
  }
}

function line(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}
