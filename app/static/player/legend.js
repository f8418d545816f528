// The legend: one chip a labelled layer, with the shape and the colour it has in the picture.

const version = new URL(import.meta.url).search;
const [{ element, picture }, { drawMarker, layerDash, layerShapes }, { drawArrow }] = await Promise.all([
  import(`./dom.js${version}`), import(`./palette.js${version}`), import(`./layers.js${version}`),
]);

// [{label, kind, role, shape, dash}], each appearance once.
export function legendEntries(scene) {
  const entries = new Map();
  const add = (entry) => entries.set(JSON.stringify(entry), entry);
  for (const layer of scene.panels.flatMap((panel) => panel.layers)) {
    const { kind, role, label } = layer;
    if (kind === "points" || kind === "tree") {
      const shapes = layerShapes(layer);
      layer.labels.forEach((name, k) => {
        const [marked, shape] = [layer.roles[k] ?? layer.roles[0], shapes[k] ?? shapes[0]];
        if (name) add({ label: name, kind: "points", role: marked, shape, dash: [] });
      });
    } else if (kind === "columns") {
      layer.labels.forEach((name, k) => {
        const [marked, hollow] = [layer.roles[k] ?? layer.roles[0], layer.hollow[k] ?? layer.hollow[0]];
        if (name) add({ label: name, kind: hollow ? "hollow" : "bars", role: marked, dash: [3, 2] });
      });
    } else if (kind === "network") {
      add({ label: "positive weight", kind: "line", role: "positive", dash: [] });
      add({ label: "negative weight", kind: "line", role: "negative", dash: [6, 4] });
      if (layer.before) {
        add({ label: "is to come", kind: "halo", role: "accept", dash: [] });
        add({ label: "is to go", kind: "halo", role: "reject", dash: [4, 3] });
      }
    } else if (label && kind !== "heatmap") {
      const lined = layer.ghost || kind === "line" || kind === "path" || kind === "rule";
      add({ label, kind: lined ? (layer.band ? "band" : "line") : kind, role, dash: lined ? layerDash(layer) : [] });
    }
    if (layer.truth) add({ label: layer.marks ?? "truth", kind: "points", role: "truth", shape: "diamond", dash: [] });
  }
  return [...entries.values()];
}

// Draws the swatch of an entry into the box (x, y, 26, 16).
export function drawSwatch(context, entry, palette, x, y) {
  const color = palette.color(entry.role);
  const middle = y + 8;
  context.save();
  context.lineWidth = 2;
  context.strokeStyle = context.fillStyle = color;
  switch (entry.kind) {
    case "points":
      drawMarker(context, entry.shape, x + 13, middle, 5, color);
      break;
    case "halo":
      context.setLineDash(entry.dash);
      context.beginPath();
      context.arc(x + 13, middle, 6.5, 0, 2 * Math.PI);
      context.stroke();
      break;
    case "arrows":
      drawArrow(context, x + 2, middle, x + 24, middle, 2);
      break;
    case "line":
    case "band":
      if (entry.kind === "band") {
        context.globalAlpha = 0.25;
        context.fillRect(x + 1, y + 2, 24, 12);
        context.globalAlpha = 1;
      }
      context.setLineDash(entry.dash);
      context.beginPath();
      context.moveTo(x + 1, middle);
      context.lineTo(x + 25, middle);
      context.stroke();
      break;
    case "contour":
      for (const [rx, ry, alpha] of [[11, 7, 0.35], [6.5, 4, 0.9]]) {
        context.globalAlpha = alpha;
        context.beginPath();
        context.ellipse(x + 13, middle, rx, ry, 0, 0, 2 * Math.PI);
        context.lineWidth = 1.3;
        context.stroke();
      }
      break;
    case "hollow":
      context.setLineDash(entry.dash);
      context.lineWidth = 1.5;
      context.strokeRect(x + 5, y + 2, 16, 12);
      break;
    default: // bars, counts, histogram
      context.globalAlpha = 0.45;
      context.fillRect(x + 5, y + 2, 16, 12);
      context.globalAlpha = 1;
      context.lineWidth = 1.5;
      context.strokeRect(x + 5, y + 2, 16, 12);
  }
  context.restore();
}

export class Legend {
  constructor() {
    this.node = element("ul", { className: "legend", "aria-label": "Legend" });
    this.shown = null; // of another run of the same lesson it mostly stays, with its drawings
  }

  show(scene, palette, ratio) {
    const entries = legendEntries(scene);
    const shown = JSON.stringify([entries, palette.colors, ratio]);
    if (shown === this.shown) return;
    this.shown = shown;
    const chips = entries.map((entry) => {
      const swatch = picture(26, 16, ratio, (context) => drawSwatch(context, entry, palette, 0, 0));
      return element("li", { children: [swatch, element("span", { text: entry.label })] });
    });
    this.node.replaceChildren(...chips);
  }
}
