// A canvas that writes SVG: what the stage draws on it becomes paths and text. Pictures (maps, stamps of points) stay
// pictures, each once. It knows what the player's views use of a canvas, and no more.

const version = new URL(import.meta.url).search;
const { element } = await import(`./dom.js${version}`);

const FULL = 2 * Math.PI - 1e-6;
const round = (value) => String(Math.round(value * 100) / 100);
const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const STATE = {
  fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1, font: "10px sans-serif", textAlign: "start",
  textBaseline: "alphabetic", lineCap: "butt", lineJoin: "miter", dash: [], clipPath: null,
};

export class VectorCanvas {
  constructor() {
    this.width = this.height = 300;
    this.context = new VectorContext(this);
  }

  getContext() {
    return this.context;
  }

  // title, description : for those who do not see it; ratio : of its pixels to those of the drawing
  toSvg(title, description, ratio) {
    const { width, height, context } = this;
    const images = new Map();
    const clips = [];
    const body = context.written(images, clips);
    const defs = [...images].map(([image, id]) => (
      `<image id="${id}" width="${image.width}" height="${image.height}" preserveAspectRatio="none" href="${image.toDataURL()}"/>`
    ));
    return [
      '<?xml version="1.0" encoding="UTF-8"?>',
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width / ratio}" height="${height / ratio}" viewBox="0 0 ${width} ${height}" role="img">`,
      `<title>${escaped(title)}</title>`,
      `<desc>${escaped(description)}</desc>`,
      `<defs>${clips.join("")}${defs.join("")}</defs>`,
      body,
      "</svg>",
      "",
    ].join("\n");
  }
}

class VectorContext {
  constructor(canvas) {
    this.canvas = canvas;
    this.measuring = element("canvas").getContext("2d");
    Object.assign(this, STATE);
    this.matrix = new DOMMatrix();
    this.stack = [];
    this.marks = []; // functions (images, clips) → SVG
    this.path = [];
  }

  save() {
    const kept = Object.fromEntries(Object.keys(STATE).map((name) => [name, this[name]]));
    this.stack.push({ ...kept, matrix: this.matrix });
  }

  restore() {
    Object.assign(this, this.stack.pop());
  }

  translate(x, y) {
    this.matrix = this.matrix.translate(x, y);
  }

  scale(x, y) {
    this.matrix = this.matrix.scale(x, y);
  }

  rotate(angle) {
    this.matrix = this.matrix.rotate((180 * angle) / Math.PI);
  }

  setTransform(...numbers) {
    this.matrix = new DOMMatrix(numbers);
  }

  setLineDash(dash) {
    this.dash = dash;
  }

  measureText(text) {
    this.measuring.font = this.font;
    return this.measuring.measureText(text);
  }

  // -- paths, in the pixels of the canvas as they are built ----------------------------------------------------------

  at(x, y) {
    const point = this.matrix.transformPoint({ x, y });
    return `${round(point.x)} ${round(point.y)}`;
  }

  // How much longer a length gets.
  get zoom() {
    return Math.sqrt(Math.abs(this.matrix.a * this.matrix.d - this.matrix.b * this.matrix.c));
  }

  beginPath() {
    this.path = [];
  }

  closePath() {
    this.path.push("Z");
  }

  moveTo(x, y) {
    this.path.push(`M${this.at(x, y)}`);
  }

  lineTo(x, y) {
    this.path.push(`${this.path.length ? "L" : "M"}${this.at(x, y)}`);
  }

  rect(x, y, width, height) {
    this.moveTo(x, y);
    for (const corner of [[x + width, y], [x + width, y + height], [x, y + height]]) this.lineTo(...corner);
    this.closePath();
  }

  arc(x, y, radius, start, end, back = false) {
    this.ellipse(x, y, radius, radius, 0, start, end, back);
  }

  ellipse(x, y, a, b, turn, start, end, back = false) {
    const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
    const place = (angle) => {
      const [u, v] = [a * Math.cos(angle), b * Math.sin(angle)];
      return [x + u * cos - v * sin, y + u * sin + v * cos];
    };
    this.lineTo(...place(start));
    const span = Math.abs(end - start) >= FULL ? 2 * Math.PI : (((back ? start - end : end - start) % FULL) + FULL) % FULL;
    const [halfway, half] = [start + (back ? -1 : 1) * span / 2, back ? 0 : 1]; // by halves: SVG has no whole circle
    const radii = `${round(a * this.zoom)} ${round(b * this.zoom)} ${round((180 * turn) / Math.PI)} 0 ${half}`;
    for (const angle of [halfway, start + (back ? -1 : 1) * span]) this.path.push(`A${radii} ${this.at(...place(angle))}`);
  }

  clip() {
    this.clipPath = { path: this.path.join(""), within: this.clipPath };
  }

  fill() {
    this.mark("path", { d: this.path.join(""), ...this.paint("fill", this.fillStyle) });
  }

  stroke() {
    this.mark("path", { d: this.path.join(""), fill: "none", ...this.pen() });
  }

  alone(draw, x, y, width, height) {
    const { path } = this;
    this.path = [];
    this.rect(x, y, width, height);
    draw.call(this);
    this.path = path;
  }

  fillRect(...box) {
    this.alone(this.fill, ...box);
  }

  strokeRect(...box) {
    this.alone(this.stroke, ...box);
  }

  // The views clear the whole of a canvas, or nothing.
  clearRect() {
    this.marks = [];
  }

  // -- text and pictures ---------------------------------------------------------------------------------------------

  fillText(text, x, y) {
    this.write(text, x, y, this.paint("fill", this.fillStyle));
  }

  strokeText(text, x, y) {
    this.write(text, x, y, { fill: "none", ...this.pen() });
  }

  write(text, x, y, look) {
    const { fontBoundingBoxAscent: above, fontBoundingBoxDescent: below, width } = this.measureText(text);
    const drop = { top: above, middle: (above - below) / 2, bottom: -below }[this.textBaseline] ?? 0;
    const [, weight = "400", size, family] = /(?:(\d+) )?([\d.]+)px (.*)$/.exec(this.font);
    const anchor = { center: "middle", right: "end", end: "end" }[this.textAlign] ?? "start";
    const { a, b, c, d, e, f } = this.matrix.translate(x, y + drop);
    const transform = `matrix(${[a, b, c, d, e, f].map(round).join(" ")})`;
    const length = { textLength: round(width), lengthAdjust: "spacingAndGlyphs" }; // the same room in another font
    const type = { ...length, "font-size": size, "font-weight": weight, "font-family": family, "text-anchor": anchor };
    const scaled = "stroke-width" in look ? { ...look, "stroke-width": round(this.lineWidth) } : look;
    this.mark("text", { transform, ...type, ...scaled }, escaped(text));
  }

  drawImage(image, x, y, width = image.width, height = image.height) {
    const { a, b, c, d, e, f } = this.matrix.translate(x, y).scale(width / image.width, height / image.height);
    const look = { transform: `matrix(${[a, b, c, d, e, f].map((v) => Math.round(v * 1e4) / 1e4).join(" ")})` };
    if (this.globalAlpha < 1) look.opacity = round(this.globalAlpha);
    const { clipPath } = this;
    this.marks.push((images, clips) => {
      const clipped = clipOf(clipPath, clips);
      if (image instanceof VectorCanvas) {
        return group(clipped, tag("g", look, image.context.written(images, clips)));
      }
      if (!images.has(image)) images.set(image, `picture-${images.size}`);
      return group(clipped, tag("use", { href: `#${images.get(image)}`, ...look }));
    });
  }

  // -- writing -------------------------------------------------------------------------------------------------------

  paint(kind, color) {
    this.measuring.fillStyle = color;
    const parts = /^rgba\((\d+), (\d+), (\d+), ([\d.]+)\)$/.exec(this.measuring.fillStyle);
    const alpha = this.globalAlpha * (parts ? Number(parts[4]) : 1);
    const look = { [kind]: parts ? `rgb(${parts.slice(1, 4).join(",")})` : this.measuring.fillStyle };
    return alpha < 1 ? { ...look, [`${kind}-opacity`]: round(alpha) } : look;
  }

  pen() {
    const { zoom, lineCap, lineJoin, dash } = this;
    const look = { ...this.paint("stroke", this.strokeStyle), "stroke-width": round(zoom * this.lineWidth) };
    if (lineCap !== "butt") look["stroke-linecap"] = lineCap;
    if (lineJoin !== "miter") look["stroke-linejoin"] = lineJoin;
    if (dash.length) look["stroke-dasharray"] = dash.map((length) => round(zoom * length)).join(" ");
    return look;
  }

  mark(name, look, content = "") {
    if (look.d === "" || look.d?.includes("NaN")) return;
    const { clipPath } = this;
    this.marks.push((_, clips) => group(clipOf(clipPath, clips), tag(name, look, content)));
  }

  written(images, clips) {
    return this.marks.map((mark) => mark(images, clips)).join("\n");
  }
}

function tag(name, attributes, content = "") {
  const words = Object.entries(attributes).map(([key, value]) => ` ${key}="${key === "d" ? value : escaped(value)}"`).join("");
  return content ? `<${name}${words}>${content}</${name}>` : `<${name}${words}/>`;
}

function group(clip, content) {
  return clip ? `<g clip-path="url(#${clip})">${content}</g>` : content;
}

// The id of a clip, written once; a clip within another is clipped by it.
function clipOf(clip, clips) {
  if (!clip) return null;
  const outer = clipOf(clip.within, clips);
  const inside = `>${tag("path", { d: clip.path, ...(outer ? { "clip-path": `url(#${outer})` } : {}) })}</clipPath>`;
  const known = clips.findIndex((text) => text.endsWith(inside));
  if (known < 0) clips.push(`<clipPath id="clip-${clips.length}"${inside}`);
  return `clip-${known < 0 ? clips.length - 1 : known}`;
}
