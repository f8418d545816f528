// PNG files in parts: words that go with a picture, and several pictures as one that moves.
// Source: PNG specification, third edition (W3C 2025): 5 (chunks), 11.3.3 (iTXt), 4.9 and 11.3.5 (animation).

const SIGNATURE = 8; // bytes
const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  return c;
});

// The picture with texts {keyword: text} that programs show beside it.
export function withWords(bytes, words) {
  const [head, ...rest] = chunks(bytes);
  return joined([bytes.subarray(0, SIGNATURE), whole(head), ...texts(words), ...rest.map(whole)]);
}

// Pictures of one size as one that plays once; lasts : ms of each. What looks like the one before makes that last longer.
export function animated(pictures, lasts, words) {
  const frames = [];
  pictures.forEach((bytes, i) => {
    const data = joined(chunks(bytes).filter(({ type }) => type === "IDAT").map((chunk) => chunk.data));
    const before = frames.at(-1);
    if (before && same(before.data, data)) before.lasts += lasts[i];
    else frames.push({ data, lasts: lasts[i] });
  });
  const [head, ...rest] = chunks(pictures[0]);
  const [width, height] = [0, 4].map((at) => view(head.data).getUint32(at));
  const common = rest.filter(({ type }) => type !== "IDAT" && type !== "IEND");
  const first = [pictures[0].subarray(0, SIGNATURE), whole(head), ...common.map(whole)];
  const parts = [...first, chunk("acTL", numbers(frames.length, 1)), ...texts(words)];
  let order = 0;
  frames.forEach((frame, i) => {
    const lasting = new Uint8Array(6); // as a fraction; neither cleared nor blended
    view(lasting).setUint16(0, Math.min(65535, Math.round(frame.lasts)));
    view(lasting).setUint16(2, 1000);
    parts.push(chunk("fcTL", joined([numbers(order++, width, height, 0, 0), lasting])));
    parts.push(i ? chunk("fdAT", joined([numbers(order++), frame.data])) : chunk("IDAT", frame.data));
  });
  return joined([...parts, chunk("IEND", new Uint8Array())]);
}

function texts(words) {
  const utf8 = new TextEncoder();
  return Object.entries(words).map(([key, text]) => chunk("iTXt", joined([utf8.encode(`${key}\0\0\0\0\0`), utf8.encode(text)])));
}

function chunks(bytes) {
  const found = [];
  for (let at = SIGNATURE; at < bytes.length;) {
    const length = view(bytes).getUint32(at);
    const type = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    found.push({ type, data: bytes.subarray(at + 8, at + 8 + length) });
    at += length + 12;
  }
  return found;
}

function whole({ type, data }) {
  return chunk(type, data);
}

function chunk(type, data) {
  const named = joined([Uint8Array.from(type, (letter) => letter.charCodeAt(0)), data]);
  let crc = 0xffffffff;
  for (const byte of named) crc = TABLE[(crc ^ byte) & 255] ^ (crc >>> 8);
  return joined([numbers(data.length), named, numbers((crc ^ 0xffffffff) >>> 0)]);
}

function numbers(...values) {
  const bytes = new Uint8Array(4 * values.length);
  values.forEach((value, i) => view(bytes).setUint32(4 * i, value));
  return bytes;
}

function view(bytes) {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function joined(parts) {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function same(a, b) {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
