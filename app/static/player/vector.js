// A canvas that keeps what the stage draws on it as paths and text, for files that are drawn anew at any size: svg.js and
// pdf.js write them. Pictures (maps, stamps of points) stay pictures. It knows what the player's views use of a canvas,
// and no more.

const version = new URL(import.meta.url).search;
const { element } = await import(`./dom.js${version}`);

const TURN = 2 * Math.PI;
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

  // What was drawn, in order:
  // {kind: "path", path, fill or stroke} with path [[op, x, y, …]] of M, L, C, Z in pixels of the canvas
  // {kind: "text", text, matrix, size, weight, family, anchor, width, fill or stroke}; width is that of the text on screen
  // {kind: "image", image, matrix, alpha}; the image may be a VectorCanvas
  // fill: {rgb, alpha}; stroke: {rgb, alpha, width, cap, join, dash}; each with clip: {path, within} or null
  get marks() {
    return this.context.marks;
  }
}

class VectorContext {
  constructor(canvas) {
    this.canvas = canvas;
    this.measuring = element("canvas").getContext("2d");
    Object.assign(this, STATE);
    this.matrix = new DOMMatrix();
    this.stack = [];
    this.marks = [];
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
    return [point.x, point.y];
  }

  // How much longer a length gets.
  get zoom() {
    return Math.sqrt(Math.abs(this.matrix.a * this.matrix.d - this.matrix.b * this.matrix.c));
  }

  beginPath() {
    this.path = [];
  }

  closePath() {
    this.path.push(["Z"]);
  }

  moveTo(x, y) {
    this.path.push(["M", ...this.at(x, y)]);
  }

  lineTo(x, y) {
    this.path.push([this.path.length ? "L" : "M", ...this.at(x, y)]);
  }

  rect(x, y, width, height) {
    this.moveTo(x, y);
    for (const corner of [[x + width, y], [x + width, y + height], [x, y + height]]) this.lineTo(...corner);
    this.closePath();
  }

  arc(x, y, radius, start, end, back = false) {
    this.ellipse(x, y, radius, radius, 0, start, end, back);
  }

  // As Bézier curves of at most a quarter each, off by 0.03 % of the radius.
  ellipse(x, y, a, b, turn, start, end, back = false) {
    const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
    const place = (u, v) => [x + a * u * cos - b * v * sin, y + a * u * sin + b * v * cos];
    const way = back ? start - end : end - start;
    const span = (Math.abs(end - start) >= TURN - 1e-6 ? TURN : ((way % TURN) + TURN) % TURN) * (back ? -1 : 1);
    this.lineTo(...place(Math.cos(start), Math.sin(start)));
    const pieces = Math.ceil(Math.abs(span) / (Math.PI / 2) - 1e-9);
    const arm = (4 / 3) * Math.tan(span / pieces / 4);
    for (let i = 0; i < pieces; i++) {
      const angles = [start + (span * i) / pieces, start + (span * (i + 1)) / pieces];
      const [[u, v], [p, q]] = angles.map((angle) => [Math.cos(angle), Math.sin(angle)]);
      const curve = [place(u - arm * v, v + arm * u), place(p + arm * q, q - arm * p), place(p, q)];
      this.path.push(["C", ...curve.flatMap((point) => this.at(...point))]);
    }
  }

  clip() {
    this.clipPath = { path: this.path, within: this.clipPath };
  }

  fill() {
    this.mark({ kind: "path", path: this.path, fill: this.ink(this.fillStyle) });
  }

  stroke() {
    this.mark({ kind: "path", path: this.path, stroke: this.pen(this.zoom) });
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

  fillText(text, x, y, room = Infinity) {
    this.write(text, x, y, { fill: this.ink(this.fillStyle) }, room);
  }

  strokeText(text, x, y) {
    this.write(text, x, y, { stroke: this.pen(1) }); // its matrix makes the line wider
  }

  // room : the width into which it is squeezed where it is wider
  write(text, x, y, look, room = Infinity) {
    const { fontBoundingBoxAscent: above, fontBoundingBoxDescent: below, width: natural } = this.measureText(text);
    const drop = { top: above, middle: (above - below) / 2, bottom: -below }[this.textBaseline] ?? 0;
    const [, weight = "400", size, family] = /(?:(\d+) )?([\d.]+)px (.*)$/.exec(this.font);
    const anchor = { center: "middle", right: "end", end: "end" }[this.textAlign] ?? "start";
    const matrix = this.matrix.translate(x, y + drop);
    const width = Math.min(natural, room);
    this.mark({ kind: "text", text: String(text), matrix, size: Number(size), weight, family, anchor, width, ...look });
  }

  drawImage(image, x, y, width = image.width, height = image.height) {
    const matrix = this.matrix.translate(x, y).scale(width / image.width, height / image.height);
    this.mark({ kind: "image", image, matrix, alpha: this.globalAlpha });
  }

  // -- looks ---------------------------------------------------------------------------------------------------------

  ink(color) {
    this.measuring.fillStyle = color;
    const named = this.measuring.fillStyle; // #rrggbb, or rgba(…) of what is see-through
    const parts = /^rgba\((\d+), (\d+), (\d+), ([\d.]+)\)$/.exec(named)?.slice(1).map(Number);
    const rgb = parts?.slice(0, 3) ?? [1, 3, 5].map((at) => parseInt(named.slice(at, at + 2), 16));
    return { rgb, alpha: this.globalAlpha * (parts?.[3] ?? 1) };
  }

  pen(zoom) {
    const { lineCap: cap, lineJoin: join, dash, lineWidth } = this;
    return { ...this.ink(this.strokeStyle), width: zoom * lineWidth, cap, join, dash: dash.map((length) => zoom * length) };
  }

  mark(made) {
    const drawn = made.kind !== "path" || (made.path.length && made.path.every(([, ...numbers]) => numbers.every(Number.isFinite)));
    if (drawn) this.marks.push({ ...made, clip: this.clipPath });
  }
}
