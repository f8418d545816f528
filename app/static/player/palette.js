// Colours by role, from the scene's theme; the fallback is Okabe–Ito with readable greys. Also the second cues:
// marker shapes and dashes, so that colour is never the only one.

const FALLBACK = {
  light: {
    ink: "#1f2937", muted: "#5b6472", grid: "#e6e8ec", surface: "#ffffff", truth: "#475569",
    accept: "#007a5a", reject: "#c24a00", proposal: "#b87700", momentum: "#b0508a", energy: "#6d4fc4",
    divergent: "#b3001b", highlight: "#c24a00", prior: "#64748b", likelihood: "#b87700", posterior: "#0072b2",
    "class-0": "#0072b2", "class-1": "#c24a00", "class-2": "#007a5a",
    "chain-0": "#0072b2", "chain-1": "#c98600", "chain-2": "#009e73", "chain-3": "#b0508a",
    "chain-4": "#3a9bd9", "chain-5": "#d55e00", "chain-6": "#8a7d00", "chain-7": "#1f2937",
    positive: "#0072b2", negative: "#c24a00",
  },
  dark: {
    ink: "#f1f4f9", muted: "#a9b2c0", grid: "#2a303b", surface: "#0e1117", truth: "#c3ccd9",
    accept: "#2fc999", reject: "#ff8a4c", proposal: "#f2b134", momentum: "#e39ac6", energy: "#b09cff",
    divergent: "#ff6b7a", highlight: "#ff8a4c", prior: "#94a3b8", likelihood: "#f2b134", posterior: "#56b4e9",
    "class-0": "#56b4e9", "class-1": "#ff8a4c", "class-2": "#2fc999",
    "chain-0": "#56b4e9", "chain-1": "#f2b134", "chain-2": "#2fc999", "chain-3": "#e39ac6",
    "chain-4": "#8ecbff", "chain-5": "#ff8a4c", "chain-6": "#e8dc50", "chain-7": "#f1f4f9",
    positive: "#56b4e9", negative: "#ff8a4c",
  },
};

const HEX = /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i;

function parse(hex) {
  const full = hex.length === 4 ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
  return [1, 3, 5].map((i) => parseInt(full.slice(i, i + 2), 16));
}

export class Palette {
  // background: the page's own, as "#rrggbb"; pictures are see-through, so it is their surface.
  constructor(theme, background) {
    this.dark = isDark(background);
    const mode = this.dark ? "dark" : "light";
    this.colors = { ...FALLBACK[mode] };
    for (const [role, color] of Object.entries(theme?.[mode] ?? {})) {
      if (HEX.test(color)) this.colors[role] = color;
    }
    this.colors.surface = background;
  }

  color(role, alpha = 1) {
    const hex = this.colors[role] ?? this.colors.ink;
    return alpha >= 1 ? hex : `rgba(${parse(hex).join(",")},${alpha})`;
  }

  rgb(role) {
    return parse(this.colors[role] ?? this.colors.ink);
  }
}

function isDark(hex) {
  const [r, g, b] = parse(hex);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b < 128;
}

// The page's background as "#rrggbb": Streamlit's, else what the system prefers.
export function pageBackground(element) {
  const context = document.createElement("canvas").getContext("2d");
  const preferred = matchMedia("(prefers-color-scheme: dark)").matches ? FALLBACK.dark.surface : FALLBACK.light.surface;
  context.fillStyle = preferred;
  // What is no colour is ignored; see-through colours read back as rgba(…).
  context.fillStyle = getComputedStyle(element).getPropertyValue("--st-background-color").trim();
  return HEX.test(context.fillStyle) ? context.fillStyle : preferred;
}

// -- second cues ------------------------------------------------------------------------------------------------------

const CHAIN_SHAPES = ["circle", "triangle", "square", "diamond", "cross", "ring", "circle", "square"];
const GHOST_DASH = [2, 3]; // of old marks that stay for comparison
const CHAIN_DASHES = [[], [7, 3], [2, 2.5], [9, 3, 2, 3], [4, 4], [12, 4], [2, 5], [6, 2, 2, 2, 2, 2]];

export function layerShapes(layer) {
  return layer.chain === null ? layer.shapes : [CHAIN_SHAPES[layer.chain]];
}

export function layerDash(layer) {
  if (layer.ghost) return GHOST_DASH;
  const { chain = null } = layer;  // bars have none
  return chain === null ? (layer.dash ? [6, 4] : []) : CHAIN_DASHES[chain];
}

// -- markers ----------------------------------------------------------------------------------------------------------

// Traces a marker of radius r; `open` markers are stroked, the others filled.
function traceMarker(context, shape, x, y, r) {
  context.beginPath();
  switch (shape) {
    case "cross":
      context.moveTo(x - r, y - r); context.lineTo(x + r, y + r);
      context.moveTo(x - r, y + r); context.lineTo(x + r, y - r);
      break;
    case "square":
      context.rect(x - 0.88 * r, y - 0.88 * r, 1.76 * r, 1.76 * r);
      break;
    case "triangle":
      context.moveTo(x, y - 1.15 * r); context.lineTo(x + 1.05 * r, y + 0.75 * r);
      context.lineTo(x - 1.05 * r, y + 0.75 * r);
      context.closePath();
      break;
    case "diamond":
      context.moveTo(x, y - 1.25 * r); context.lineTo(x + 1.05 * r, y);
      context.lineTo(x, y + 1.25 * r); context.lineTo(x - 1.05 * r, y);
      context.closePath();
      break;
    default:
      context.arc(x, y, r, 0, 2 * Math.PI);
  }
}

export function drawMarker(context, shape, x, y, r, color, halo = null) {
  traceMarker(context, shape, x, y, r);
  if (shape === "cross" || shape === "ring") {
    const width = Math.min(3, Math.max(1.5, 0.42 * r));
    if (halo) {
      context.strokeStyle = halo;
      context.lineWidth = width + 2;
      context.stroke();
    }
    context.strokeStyle = color;
    context.lineWidth = width;
    context.stroke();
    return;
  }
  if (halo) {
    context.strokeStyle = halo;
    context.lineWidth = 2.5;
    context.stroke();
  }
  context.fillStyle = color;
  context.fill();
}

const stamps = new Map(); // by what was asked for: the next picture asks for the same
const MOST_STAMPS = 300;

// A marker drawn once and stamped many times; returns {image, half} in CSS pixels.
export function markerStamp(shape, radius, color, ratio, halo = null) {
  const key = JSON.stringify([shape, radius, color, ratio, halo]);
  if (!stamps.has(key)) {
    if (stamps.size >= MOST_STAMPS) stamps.clear();
    stamps.set(key, drawStamp(shape, radius, color, ratio, halo));
  }
  return stamps.get(key);
}

function drawStamp(shape, radius, color, ratio, halo) {
  const half = Math.ceil(1.3 * radius + 2);
  const image = document.createElement("canvas");
  image.width = image.height = Math.ceil(2 * half * ratio);
  const context = image.getContext("2d");
  context.scale(image.width / (2 * half), image.height / (2 * half));
  drawMarker(context, shape, half, half, radius, color, halo);
  return { image, half };
}
