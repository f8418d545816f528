// The network layer: units in columns, weights as lines, the wider the larger; a negative weight is dashed as well as
// coloured.

const version = new URL(import.meta.url).search;
const [{ View }, { font, TEXT }, { formatNumber }] = await Promise.all([
  import(`./layers.js${version}`), import(`./axes.js${version}`), import(`./format.js${version}`),
]);

class NetworkView extends View {
  prepare() {
    const { sizes, labels } = this.layer;
    const { width, height } = this.panel.plot;
    const side = (names) => (names ? 14 + 7.5 * Math.max(...names.map((name) => name.length)) : 0);
    const left = 22 + side(labels?.[0]);
    const right = 22 + side(labels?.[sizes.length - 1]);
    const gap = height / (Math.max(...sizes) + 0.4);
    const column = (width - left - right) / (sizes.length - 1);
    this.radius = Math.max(4, Math.min(16, 0.3 * gap, 0.25 * column));
    this.units = sizes.map((size, l) =>
      Array.from({ length: size }, (_, k) => ({
        x: left + l * column,
        y: height / 2 + (k - (size - 1) / 2) * Math.min(gap, 78),
      })));
  }

  count() {
    return this.layer.weights.shape.length === 2 ? this.layer.weights.shape[0] : 1;
  }

  // Calls edge(l, from, to, weight) and bias(l, k, value) for the item.
  each(item, edge, bias) {
    const { sizes, weights } = this.layer;
    const length = weights.shape.at(-1);
    let at = item * length;
    for (let l = 0; l + 1 < sizes.length; l++) {
      for (let to = 0; to < sizes[l + 1]; to++) {
        for (let from = 0; from < sizes[l]; from++) edge(l, from, to, weights.data[at++]);
      }
      for (let k = 0; k < sizes[l + 1]; k++) bias(l + 1, k, weights.data[at++]);
    }
  }

  isActive(item) {
    const { sizes, active } = this.layer;
    if (!active) return () => true;
    const starts = sizes.map((_, l) => sizes.slice(0, l).reduce((a, b) => a + b, 0));
    const length = active.shape.at(-1);
    return (l, k) => active.data[item * length + starts[l] + k] !== 0;
  }

  paint(context, range) {
    const { palette } = this.panel;
    const { scale } = this.layer;
    const item = range[1] - 1;
    const active = this.isActive(item);
    const strength = (weight) => Math.min(1, Math.abs(weight) / (scale || 1));
    const role = (weight) => (weight < 0 ? "negative" : "positive");
    const biases = [];
    this.each(item, (l, from, to, weight) => {
      if (!Number.isFinite(weight) || !active(l, from) || !active(l + 1, to)) return;
      const [a, b] = [this.units[l][from], this.units[l + 1][to]];
      context.strokeStyle = palette.color(role(weight), 0.25 + 0.7 * strength(weight));
      context.lineWidth = 0.6 + 5 * strength(weight);
      context.setLineDash(weight < 0 ? [6, 4] : []);
      context.beginPath();
      context.moveTo(a.x, a.y);
      context.lineTo(b.x, b.y);
      context.stroke();
    }, (l, k, value) => biases.push([l, k, value]));
    context.setLineDash([]);
    this.units.forEach((column, l) => column.forEach((unit, k) => {
      context.beginPath();
      context.arc(unit.x, unit.y, this.radius, 0, 2 * Math.PI);
      context.fillStyle = palette.color("surface");
      context.fill();
      context.setLineDash(active(l, k) ? [] : [3, 3]);
      context.strokeStyle = active(l, k) ? palette.color("ink") : palette.color("muted", 0.5);
      context.lineWidth = active(l, k) ? 1.5 : 1;
      context.stroke();
    }));
    context.setLineDash([]);
    // A unit's bias is the disc inside it: filled when positive, a ring when negative.
    for (const [l, k, value] of biases) {
      if (!Number.isFinite(value) || !active(l, k)) continue;
      const unit = this.units[l][k];
      context.beginPath();
      context.arc(unit.x, unit.y, Math.max(1, 0.72 * this.radius * strength(value)), 0, 2 * Math.PI);
      context.fillStyle = context.strokeStyle = palette.color(role(value));
      context.lineWidth = 1.5;
      if (value < 0) context.stroke();
      else context.fill();
    }
    this.names(context);
  }

  names(context) {
    const { sizes, labels } = this.layer;
    if (!labels) return;
    context.font = font(this.panel.family, TEXT.tick);
    context.fillStyle = this.panel.palette.color("ink");
    context.textBaseline = "middle";
    labels.forEach((names, l) => names?.forEach((name, k) => {
      const unit = this.units[l][k];
      const offset = this.radius + 7;
      if (l === 0 || l === sizes.length - 1) {
        context.textAlign = l === 0 ? "right" : "left";
        context.fillText(name, unit.x + (l === 0 ? -offset : offset), unit.y);
      } else {
        context.textAlign = "center";
        context.fillText(name, unit.x, unit.y - offset - 3);
      }
    }));
  }

  hover(px, py, cursor) {
    const range = this.items(cursor);
    if (!range) return null;
    let best = null;
    const item = range[1] - 1;
    const active = this.isActive(item);
    const consider = (distance, text) => {
      if (best === null || distance < best.distance) best = { distance, text };
    };
    this.each(item, (l, from, to, weight) => {
      if (!active(l, from) || !active(l + 1, to)) return;
      const [a, b] = [this.units[l][from], this.units[l + 1][to]];
      const [dx, dy] = [b.x - a.x, b.y - a.y];
      const share = Math.min(1, Math.max(0, ((px - a.x) * dx + (py - a.y) * dy) / (dx * dx + dy * dy)));
      const distance = Math.hypot(a.x + share * dx - px, a.y + share * dy - py) + this.radius; // units come first
      consider(distance, `weight ${formatNumber(weight, ".3f")}`);
    }, (l, k, value) => {
      const unit = this.units[l][k];
      if (active(l, k)) consider(Math.hypot(unit.x - px, unit.y - py), `bias ${formatNumber(value, ".3f")}`);
    });
    return best;
  }
}

export const NETWORK_VIEWS = { network: NetworkView };
