// Layers of quantities: bars, running counts, histogram.

const version = new URL(import.meta.url).search;
const [{ View, visibleItems }, { drawMarker, layerDash }, { formatNumber }] = await Promise.all([
  import(`./layers.js${version}`), import(`./palette.js${version}`), import(`./format.js${version}`),
]);

const OUTSIDE = 40; // pixels outside the plot at which a bar is cut: some end at infinity

// Several bar layers in one panel stand side by side; `group` is set by the stage: [this one, how many].
class BarsView extends View {
  group = [0, 1];

  count() {
    return this.layer.values.shape.length === 2 ? this.layer.values.shape[0] : 1;
  }

  heights(range) {
    const size = this.layer.labels.length;
    const { values } = this.layer;
    return values.shape.length === 1 ? values.data : values.data.subarray((range[1] - 1) * size, range[1] * size);
  }

  // [left, width] of bar k.
  slot(k) {
    const slot = this.panel.plot.width / this.layer.labels.length;
    const [place, number] = this.group;
    const room = Math.min(0.76 * slot, 90 * number);
    return [(k + 0.5) * slot - room / 2 + (place * room) / number, room / number];
  }

  paint(context, range) {
    const { y, plot, palette } = this.panel;
    const { truth } = this.layer;
    const heights = this.heights(range);
    const zero = Math.min(plot.height, Math.max(0, y.to(y.log ? y.low : 0)));
    for (let k = 0; k < this.layer.labels.length; k++) {
      const [left, width] = this.slot(k);
      const top = Math.min(plot.height + OUTSIDE, Math.max(-OUTSIDE, y.to(heights[k])));
      if (Number.isFinite(top)) {
        context.fillStyle = this.color(this.layer.ghost ? 0 : 0.55);
        context.fillRect(left, Math.min(top, zero), width, Math.abs(zero - top));
        context.setLineDash(layerDash(this.layer));
        context.strokeStyle = this.color();
        context.lineWidth = 1.5;
        context.strokeRect(left, Math.min(top, zero), width, Math.abs(zero - top));
        if (top < -1 && zero > 0) this.goesOn(context, left + width / 2, 0, 1);
        if (top > plot.height + 1 && zero < plot.height) this.goesOn(context, left + width / 2, plot.height, -1);
      }
      if (truth && Number.isFinite(truth.data[k])) {
        const at = y.to(truth.data[k]);
        context.strokeStyle = palette.color("truth");
        context.lineWidth = 2;
        context.beginPath();
        context.moveTo(left - 3, at);
        context.lineTo(left + width + 3, at);
        context.stroke();
        drawMarker(context, "diamond", left + width / 2, at, 4.5, palette.color("truth"), palette.color("surface"));
      }
    }
  }

  // The head of an arrow at an edge of the plot: the bar ends somewhere beyond.
  goesOn(context, x, edge, inwards) {
    const { palette } = this.panel;
    context.beginPath();
    context.moveTo(x, edge + 3 * inwards);
    context.lineTo(x - 6, edge + 11 * inwards);
    context.lineTo(x + 6, edge + 11 * inwards);
    context.closePath();
    context.strokeStyle = palette.color("surface");
    context.lineWidth = 3;
    context.stroke();
    context.fillStyle = palette.color("ink");
    context.fill();
  }

  hover(px, py, cursor) {
    const range = visibleItems(this.layer.show, cursor, this.count());
    if (!range) return null;
    const k = Math.floor(px / (this.panel.plot.width / this.layer.labels.length));
    const [left, width] = this.slot(k);
    if (k < 0 || k >= this.layer.labels.length || px < left || px > left + width) return null;
    const { truth, marks = "truth", labels, label } = this.layer;
    const exact = truth ? ` (${marks} ${formatNumber(truth.data[k], ".3g")})` : "";
    const name = label ? `${labels[k]}, ${label}` : labels[k];
    return { distance: 0, text: `${name}: ${formatNumber(this.heights(range)[k], ".3g")}${exact}` };
  }
}

// Integer tallies of draws burn..upto, moved forwards and backwards draw by draw, so they are right after any scrub.
class Tally {
  constructor(size, binOf) {
    this.counts = new Int32Array(size);
    this.binOf = binOf; // draw index → bin, or −1
    this.done = 0;
    this.total = 0;
  }

  bring(to) {
    const sign = to > this.done ? 1 : -1;
    const [low, high] = sign > 0 ? [this.done, to] : [to, this.done];
    for (let i = low; i < high; i++) {
      const bin = this.binOf(i);
      if (bin < 0) continue;
      this.counts[bin] += sign;
      this.total += sign;
    }
    this.done = to;
  }
}

class CountsView extends BarsView {
  prepare() {
    this.tally = new Tally(this.layer.labels.length, (i) => (i < this.layer.burn ? -1 : this.layer.values.data[i]));
  }

  count() {
    return this.layer.values.data.length;
  }

  heights(range) {
    this.tally.bring(range[1]);
    return Float64Array.from(this.tally.counts, (count) => count / Math.max(1, this.tally.total));
  }
}

class HistogramView extends View {
  prepare() {
    const [low, high, number] = this.layer.bins;
    const width = (high - low) / number;
    this.tally = new Tally(number, (i) => {
      const value = this.layer.values.data[i];
      if (i < this.layer.burn || !(value >= low && value <= high)) return -1;
      return Math.min(number - 1, Math.floor((value - low) / width));
    });
  }

  count() {
    return this.layer.values.data.length;
  }

  height(bin) {
    const [low, high, number] = this.layer.bins;
    const unit = this.layer.density ? Math.max(1, this.tally.total) * ((high - low) / number) : 1;
    return this.tally.counts[bin] / unit;
  }

  paint(context, range) {
    this.tally.bring(range[1]);
    const { x, y } = this.panel;
    const [low, high, number] = this.layer.bins;
    const edge = (k) => x.to(low + ((high - low) * k) / number);
    const zero = y.to(y.log ? y.low : 0);
    context.beginPath();
    context.moveTo(edge(0), zero);
    for (let k = 0; k < number; k++) {
      const top = Math.max(-4, y.to(this.height(k))); // early on a bar may be taller than the panel
      context.lineTo(edge(k), top);
      context.lineTo(edge(k + 1), top);
    }
    context.lineTo(edge(number), zero);
    context.closePath();
    context.fillStyle = this.color(this.layer.ghost ? 0 : 0.32);
    context.fill();
    context.strokeStyle = this.color(0.9);
    context.lineWidth = 1.4;
    context.setLineDash(layerDash(this.layer));
    context.stroke();
  }

  draw(context, cursor) {
    if (!this.items(cursor)) this.tally.bring(0);
    super.draw(context, cursor);
  }

  hover(px) {
    const [low, high, number] = this.layer.bins;
    const width = (high - low) / number;
    const k = Math.floor((this.panel.x.from(px) - low) / width);
    if (k < 0 || k >= number) return null;
    const from = formatNumber(low + k * width, ".3g");
    const to = formatNumber(low + (k + 1) * width, ".3g");
    return { distance: 20, text: `${from} to ${to}: ${this.tally.counts[k]} of ${this.tally.total} draws` };
  }
}

export const QUANTITY_VIEWS = { bars: BarsView, counts: CountsView, histogram: HistogramView };
