// What the stage shows while a slider is dragged: pictures of the settings around the present one, from a table that the
// server makes when a hand comes near the slider. See app/kit/preview.py.

const version = new URL(import.meta.url).search;
const { bindLayer, unpacked } = await import(`./blob.js${version}`);

const HOLDER = ".st-key-settings [class*='st-key-preview-']"; // of a slider that the stage follows
const BOX = "[data-testid='stNumberInput']";
const FIELD = /st-key-preview-(\w+)/;
const NEAR = 80; // ms of a hand over a slider before its table is asked for
const SETTLES = 250; // … and after a new picture, while its page is still made
const [AGAIN, SELDOM] = [400, 3200]; // ms without an answer before it is asked for again, at first and in the end

// The panels of a picture as they are under a slider.
export class Preview {
  constructor(ask) {
    this.ask = ask; // (field, place, id) for a table
    this.id = 0;
    this.forget();
  }

  // Another picture, or another question: what was asked for belongs to the one before.
  forget() {
    this.passBy();
    this.table = this.wanted = null;
  }

  // The hand has gone on.
  passBy() {
    clearTimeout(this.waiting);
  }

  // Asks for the table of the slider that `node` is of, with the stage at `place`; not of a hand that only passes by, and
  // not at once again.
  prepare(node, place, { now = false, later = false } = {}) {
    const field = Preview.field(node);
    const wanted = named(field, place);
    const same = wanted === this.wanted;
    if (same && (this.table || performance.now() < this.next)) return;
    clearTimeout(this.waiting);
    const ask = () => {
      if (!same) Object.assign(this, { wanted, table: null, id: this.id + 1, pause: AGAIN });
      this.insist(field, place);
    };
    if (now) ask();
    else this.waiting = setTimeout(ask, later ? SETTLES : NEAR);
  }

  // Asks until the table is there, ever more seldom, while the hand stays: the server makes none as long as its picture
  // is made or a question is open. What it is making already it does not begin anew.
  insist(field, place) {
    const { pause } = this;
    this.next = performance.now() + pause;
    this.waiting = setTimeout(() => Preview.near(field) && this.insist(field, place), pause);
    this.pause = Math.min(2 * pause, SELDOM);
    this.ask(field, place, this.id);
  }

  // The field whose slider a node is of; undefined of any other, also the box beside it.
  static field(node) {
    if (!(node instanceof Element) || node.closest(BOX)) return undefined;
    return node.closest(HOLDER)?.className.match(FIELD)[1];
  }

  // The slider at which the reader's hand or focus is, if it is that of the field.
  static near(field) {
    const near = [...document.querySelectorAll(`${HOLDER}:focus-within, ${HOLDER}:hover`)];
    return near.find((node) => !field || Preview.field(node) === field) ?? null;
  }

  // Takes a table over; whether it is the one that was asked for last.
  take(bytes) {
    const table = readTable(bytes);
    if (table.id !== this.id || !this.wanted) return false;
    clearTimeout(this.waiting);
    this.table = table;
    return true;
  }

  // Panels as they are where a slider is, with the stage at `place`; null where the table does not have it.
  at(slider, place, panels) {
    if (!this.table || this.wanted !== named(Preview.field(slider), place) || Number(slider.max) !== this.table.max) return null;
    const shot = this.table.at(Number(slider.getAttribute("value")));
    return shot && panels.map((panel) => (shot[panel.id] ? followed(panel, shot[panel.id]) : panel));
  }
}

// What a table is of.
const named = (field, { t, upto }) => `${field} ${t} ${upto}`;

function readTable(bytes) {
  const { header: { frames, ...head }, bind } = unpacked(bytes);
  for (const { panels } of frames) {
    for (const panel of Object.values(panels)) {
      if (panel.edits !== undefined) panel.edits = bind(panel.edits);
      for (const layer of Object.values(panel.layers)) if (layer) bindLayer(layer, bind);
    }
  }
  return { ...head, at: (place) => between(frames, place, head.smooth) };
}

// The picture at a place: that of a stop of the table, or what lies between two.
function between(frames, place, smooth) {
  const above = frames.findIndex(({ at }) => at >= place - 1e-9);
  if (above < 0 || (above === 0 && frames[0].at > place + 1e-9)) return null;
  const [a, b] = [frames[Math.max(0, above - 1)], frames[above]];
  const share = a === b ? 1 : Math.min(1, (place - a.at) / (b.at - a.at));
  return share > 1 - 1e-6 ? b.panels : mixed(a.panels, b.panels, share, smooth);
}

// smooth: also of what a run has drawn, of which there may be none between
function mixed(a, b, share, smooth) {
  if (a === b) return a;
  if (typeof a === "number" && typeof b === "number") return a + (b - a) * share;
  if (a?.shape && b?.shape) return mixedArrays(a, b, share);
  if (Array.isArray(a) && Array.isArray(b) && a.length === b.length) return a.map((item, i) => mixed(item, b[i], share, smooth));
  if (!isPlain(a) || !isPlain(b) || (!smooth && a.show && a.show.was !== "all")) return share < 0.5 ? a : b;
  return Object.fromEntries(Object.keys(b).map((key) => [key, mixed(a[key], b[key], share, smooth)]));
}

const isPlain = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

// Whole numbers are classes and counts: of these there is none between.
function mixedArrays(a, b, share) {
  if (!(a.data instanceof Float32Array) || a.data.length !== b.data?.length) return share < 0.5 ? a : b;
  return { shape: a.shape, data: a.data.map((value, i) => value + (b.data[i] - value) * share) };
}

// A panel with the marks that follow the slider; they are drawn anew in each frame, the others stay as they are.
function followed(panel, { x, y, edits, layers }) {
  const [met, rest] = [{}, { ...layers }];
  const live = (layer) => (layer ? [{ ...layer, live: true }] : []);
  const own = panel.layers.flatMap((layer) => {
    const same = `${layer.kind} ${layer.role}`;
    if (layer.ghost) return [layer];
    met[same] = (met[same] ?? 0) + 1;
    const name = `${same} ${met[same]}`;
    if (!(name in layers)) return [layer];
    delete rest[name];
    return live(layers[name]);
  });
  return {
    ...panel, x: x ?? panel.x, y: y ?? panel.y, edits, followed: true, layers: [...own, ...Object.values(rest).flatMap(live)],
  };
}
