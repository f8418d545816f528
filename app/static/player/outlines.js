// Outlines of letters as the browser draws them, whatever the font: drawn large, and traced.

const version = new URL(import.meta.url).search;
const [{ element }, { isoline }] = await Promise.all(["dom", "isolines"].map((name) => import(`./${name}.js${version}`)));

export const EM = 160; // px of the letters that are traced
const [LEFT, ABOVE, BELOW] = [80, 200, 80]; // px around the point where a letter begins
const HALF = 127.5; // of the coverage of a pixel: where the edge is
const OFF = 0.12; // px that a line may leave the traced edge

// {advance, loops} of one letter: advance in px, loops [[[x, y], …], …], y down from the base line, filled even-odd.
export function outline(letter, weight, family) {
  const canvas = element("canvas");
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const type = `${weight} ${EM}px ${family}`;
  context.font = type;
  const advance = context.measureText(letter).width;
  canvas.width = Math.ceil(advance) + 2 * LEFT;
  canvas.height = ABOVE + BELOW;
  context.font = type; // a canvas of another size has forgotten it
  context.fillText(letter, LEFT, ABOVE);
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  const coverage = Float32Array.from({ length: data.length / 4 }, (_, i) => data[4 * i + 3]);
  const loops = joined(isoline(coverage, canvas.width, canvas.height, HALF)).map(simpler);
  return { advance, loops: loops.map((loop) => loop.map(([x, y]) => [x + 0.5 - LEFT, y + 0.5 - ABOVE])) };
}

// Segments x0, y0, x1, y1, … end to end, as closed loops.
function joined(segments) {
  const key = (x, y) => `${Math.round(1000 * x)},${Math.round(1000 * y)}`;
  const next = new Map();
  for (let i = 0; i < segments.length; i += 4) {
    const [x0, y0, x1, y1] = segments.slice(i, i + 4);
    if (key(x0, y0) !== key(x1, y1)) next.set(key(x0, y0), [x1, y1]);
  }
  const loops = [];
  while (next.size) {
    const [first] = next.keys();
    const loop = [];
    for (let at = first; next.has(at);) {
      const point = next.get(at);
      next.delete(at);
      loop.push(point);
      at = key(...point);
    }
    loops.push(loop);
  }
  return loops;
}

// With fewer points (Douglas and Peucker 1973): halved at the point farthest from the first, so that both ends differ.
function simpler(loop) {
  const far = loop.reduce((best, [x, y], i) => {
    const off = Math.hypot(x - loop[0][0], y - loop[0][1]);
    return off > best[0] ? [off, i] : best;
  }, [0, 0])[1];
  return [...kept(loop.slice(0, far + 1)), ...kept([...loop.slice(far), loop[0]])];
}

// The points that matter, but for the last.
function kept(points) {
  const [[x0, y0], [x1, y1]] = [points[0], points.at(-1)];
  const length = Math.hypot(x1 - x0, y1 - y0) || 1;
  let [worst, at] = [OFF, 0];
  points.forEach(([x, y], i) => {
    const off = Math.abs((x - x0) * (y1 - y0) - (y - y0) * (x1 - x0)) / length;
    if (off > worst) [worst, at] = [off, i];
  });
  return at ? [...kept(points.slice(0, at + 1)), ...kept(points.slice(at))] : [points[0]];
}
