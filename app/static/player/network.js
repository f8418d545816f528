// The network layer: units in columns, weights as lines, the wider the larger; a negative weight is dashed as well as
// coloured.

const version = new URL(import.meta.url).search;
const [{ View }, { font, TEXT }, { formatNumber }] = await Promise.all([
  import(`./layers.js${version}`), import(`./axes.js${version}`), import(`./format.js${version}`),
]);

const FAINT = 0.35;

class NetworkView extends View {
  prepare() {
    const { sizes, labels } = this.layer;
    const side = (names) => (names ? 14 + 7.5 * Math.max(...names.map((name) => name.length)) : 0);
    this.left = 22 + side(labels?.[0]);
    this.right = 22 + side(labels?.[sizes.length - 1]);
    this.starts = sizes.map((_, l) => sizes.slice(0, l).reduce((a, b) => a + b, 0));
    this.arrange(() => 1);
  }

  // Whether units come and go between two states.
  get flows() {
    return this.layer.before !== null;
  }

  // Places of the units. Each takes room as far as it is there, and so does a layer.
  arrange(presence) {
    const { sizes } = this.layer;
    const { width, height } = this.panel.plot;
    const there = sizes.map((size, l) => Array.from({ length: size }, (_, k) => presence(l, k)));
    const sum = (values) => values.reduce((a, b) => a + b, 0);
    this.there = there.map((column) => Math.max(...column));
    const gaps = there.map((units) => height / (sum(units) + 0.4));
    const column = (width - this.left - this.right) / Math.max(1, sum(this.there.slice(1)));
    this.radius = Math.max(4, Math.min(16, 0.3 * Math.min(...gaps), 0.25 * column));
    this.units = there.map((units, l) => {
      const spread = Math.min(gaps[l], 78);
      const x = this.left + sum(this.there.slice(1, l + 1)) * column;
      let above = -sum(units) / 2;
      return units.map((share) => {
        above += share;
        return { x, y: height / 2 + (above - share / 2) * spread };
      });
    });
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

  // Reads one entry a unit of an array like `active`.
  flag(array, item) {
    if (!array) return () => 1;
    const length = array.shape.at(-1);
    return (l, k) => array.data[item * length + this.starts[l] + k];
  }

  // How far each unit is there, 0 to 1: as before the step, as proposed, as it was decided, and on the way between.
  presence(item, cursor) {
    if (!this.flows) return () => 1;
    const [before, proposed, settled] = ["before", "proposed", "active"].map((key) => this.flag(this.layer[key], item));
    const { phase } = this.layer;
    // What is only proposed to go stays faintly in sight until that is decided.
    const asked = (l, k) => Math.max(proposed(l, k), FAINT * before(l, k));
    const blend = (from, to, share) => (l, k) => (1 - share) * from(l, k) + share * to(l, k);
    if (!cursor.slow && cursor.settled) {
      const { flow } = cursor;
      return flow < 0.5 ? blend(before, asked, 2 * flow) : blend(asked, settled, 2 * flow - 1);
    }
    if (cursor.settled) return blend(phase === null ? before : asked, settled, cursor.flow);
    if (phase === null || cursor.phase < phase) return before;
    return cursor.phase === phase ? blend(before, asked, cursor.flow) : asked;
  }

  // Where the weights that leave layer l come from, with the share of each: a layer that is not there is passed by.
  sources(l) {
    const found = [];
    let share = 1;
    for (let from = l; from >= 0 && share > 0.01; from--) {
      if (from < l && (from === 0 || this.layer.sizes[from] !== this.layer.sizes[l])) break;
      found.push([from, share * this.there[from]]);
      share *= 1 - this.there[from];
    }
    return found;
  }

  paint(context, range, cursor) {
    const { palette } = this.panel;
    const { scale, active } = this.layer;
    const item = range[1] - 1;
    const presence = this.presence(item, cursor);
    if (this.flows) this.arrange(presence);
    const inModel = this.flows ? () => true : this.flag(active, item);
    const strength = (weight) => Math.min(1, Math.abs(weight) / (scale || 1));
    const role = (weight) => (weight < 0 ? "negative" : "positive");
    const biases = [];
    const sources = this.layer.sizes.map((_, l) => this.sources(l));
    this.each(item, (l, from, to, weight) => {
      if (!Number.isFinite(weight) || !inModel(l, from) || !inModel(l + 1, to)) return;
      for (const [origin, share] of sources[l]) {
        const shown = share * presence(l + 1, to) * (origin === l ? presence(l, from) / (this.there[l] || 1) : 1);
        if (shown < 0.01) continue;
        const [a, b] = [this.units[origin][from], this.units[l + 1][to]];
        context.strokeStyle = palette.color(role(weight), shown * (0.25 + 0.7 * strength(weight)));
        context.lineWidth = 0.6 + 5 * strength(weight);
        context.setLineDash(weight < 0 ? [6, 4] : []);
        context.beginPath();
        context.moveTo(a.x, a.y);
        context.lineTo(b.x, b.y);
        context.stroke();
      }
    }, (l, k, value) => biases.push([l, k, value]));
    context.setLineDash([]);
    this.units.forEach((column, l) => column.forEach((unit, k) => {
      context.globalAlpha = presence(l, k);
      if (context.globalAlpha < 0.01) return;
      context.beginPath();
      context.arc(unit.x, unit.y, this.radius, 0, 2 * Math.PI);
      context.fillStyle = palette.color("surface");
      context.fill();
      context.setLineDash(inModel(l, k) ? [] : [3, 3]);
      context.strokeStyle = inModel(l, k) ? palette.color("ink") : palette.color("muted", 0.5);
      context.lineWidth = inModel(l, k) ? 1.5 : 1;
      context.stroke();
    }));
    context.setLineDash([]);
    // A unit's bias is the disc inside it: filled when positive, a ring when negative.
    for (const [l, k, value] of biases) {
      context.globalAlpha = presence(l, k);
      if (!Number.isFinite(value) || !inModel(l, k) || context.globalAlpha < 0.01) continue;
      const unit = this.units[l][k];
      context.beginPath();
      context.arc(unit.x, unit.y, Math.max(1, 0.72 * this.radius * strength(value)), 0, 2 * Math.PI);
      context.fillStyle = context.strokeStyle = palette.color(role(value));
      context.lineWidth = 1.5;
      if (value < 0) context.stroke();
      else context.fill();
    }
    if (this.flows) this.markChanges(context, item, cursor, presence);
    context.globalAlpha = 1;
    this.names(context);
  }

  // A halo around what the step proposes: solid for a unit that is to come, dashed for one that is to go.
  markChanges(context, item, cursor, presence) {
    if (!cursor.settled && cursor.phase < this.layer.phase) return;
    const [before, proposed] = ["before", "proposed"].map((key) => this.flag(this.layer[key], item));
    this.units.forEach((column, l) => column.forEach((unit, k) => {
      const birth = proposed(l, k) > before(l, k);
      context.globalAlpha = presence(l, k);
      if (proposed(l, k) === before(l, k) || context.globalAlpha < 0.01) return;
      context.beginPath();
      context.arc(unit.x, unit.y, this.radius + 3.5, 0, 2 * Math.PI);
      context.setLineDash(birth ? [] : [4, 3]);
      context.strokeStyle = this.panel.palette.color(birth ? "accept" : "reject");
      context.lineWidth = 2.5;
      context.stroke();
    }));
    context.setLineDash([]);
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
    const presence = this.presence(item, cursor);
    const inModel = this.flag(this.layer.active, item);
    const active = (l, k) => (this.flows ? presence(l, k) > 0.5 : inModel(l, k));
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
