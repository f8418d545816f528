// Reads the blob written by app/kit/player/scene.py: header length, JSON header, aligned arrays.

const TYPES = { float32: Float32Array, int32: Int32Array, uint8: Uint8Array };
// The keys of a layer that hold the index of an array.
const ARRAY_KEYS = [
  "values", "frames", "at", "points", "classes", "mask", "start", "end", "xs", "ys", "truth", "weights", "active",
  "before", "proposed", "parents", "widths",
];

// The header of a blob, and what gives the array of a number in it.
export function unpacked(bytes) {
  const buffer = bytes.slice().buffer; // the message may start anywhere in its buffer; typed arrays must not
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  if (header.v !== 1) throw new Error(`this player reads scenes of version 1, not ${header.v}`);
  const arrays = header.arrays.map(({ dtype, shape, offset }) => ({
    shape,
    data: new TYPES[dtype](buffer, 4 + length + offset, shape.reduce((a, b) => a * b, 1)),
  }));
  delete header.arrays;
  return { header, bind: (index) => (typeof index === "number" ? arrays[index] : null) };
}

export function bindLayer(layer, bind) {
  for (const key of ARRAY_KEYS) if (key in layer) layer[key] = bind(layer[key]);
  if (layer.band) layer.band = layer.band.map(bind);
}

export function readScene(bytes) {
  const { header: scene, bind } = unpacked(bytes);
  for (const panel of scene.panels) {
    if (panel.editable) panel.editable.points = bind(panel.editable.points);
    for (const layer of panel.layers) bindLayer(layer, bind);
  }
  const parts = Object.values(scene.parts);
  for (const set of parts) {
    for (const key of ["offsets", "at", "low", "high"]) set[key] = bind(set[key]).data;
    for (const line of set.lines) line.when = line.when === null ? null : bind(line.when).data;
  }
  for (const line of [...scene.readouts, ...scene.say, ...parts.flatMap((set) => set.lines)]) {
    for (const value of Object.values(line.values)) value.data = bind(value.array).data;
  }
  for (const column of scene.table) column.data = bind(column.values).data;
  if (scene.inside) scene.inside.which = bind(scene.inside.which).data;
  if (scene.window) scene.window.offsets = bind(scene.window.offsets).data;
  return scene;
}

// What a panel looks like apart from its numbers: equal for two blobs of a growing run.
export function panelSignature(panel) {
  const isArray = (value) => value?.data instanceof Object && value.shape;
  return JSON.stringify(panel, (key, value) => (isArray(value) ? value.shape.length : value));
}

export function sameArray(a, b) {
  if (!a || !b || a === b) return a === b;
  if (a.data.length !== b.data.length) return false;
  const [x, y] = [a, b].map(({ data }) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  for (let i = 0; i < x.length; i++) if (x[i] !== y[i]) return false;
  return true;
}

export function sameArrays(layer, other) {
  const band = (l) => l.band ?? [];
  return ARRAY_KEYS.every((key) => sameArray(layer[key] ?? null, other[key] ?? null))
    && band(layer).every((array, i) => sameArray(array, band(other)[i]));
}

// Whether two layers, of `count` and of `others` items, have the same first `number` of them; what is not by item is
// compared whole.
export function beginAlike(layer, count, other, others, number) {
  const begun = (array, items) => {
    if (!array || array.shape[0] !== items) return array ?? null;
    return { data: array.data.subarray(0, (number * array.data.length) / items) };
  };
  return ARRAY_KEYS.every((key) => sameArray(begun(layer[key], count), begun(other[key], others)));
}
