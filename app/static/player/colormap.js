// Colour maps as 256-entry tables, interpolated from a few anchors.

const ANCHORS = {
  viridis: ["440154", "482878", "3e4a89", "31688e", "26828e", "1f9e89", "35b779", "6dcd59", "b4de2c", "fde725"],
  cividis: ["00224e", "123570", "3b496c", "575d6d", "707173", "8a8678", "a59c74", "c3b369", "e1cc55", "fee838"],
  // blue – neutral – orange: low, undecided, high
  diverging: ["0b4f82", "3b86b8", "85bbdb", "c9e0ee", "f4f4f2", "f9dcc0", "f2ad75", "d97a34", "9c4a10"],
};

const tables = new Map();

// Uint8Array of 256 × (r, g, b).
export function colorTable(name) {
  if (!tables.has(name)) {
    const anchors = ANCHORS[name].map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
    const table = new Uint8Array(256 * 3);
    for (let i = 0; i < 256; i++) {
      const place = (i / 255) * (anchors.length - 1);
      const k = Math.min(anchors.length - 2, Math.floor(place));
      for (let c = 0; c < 3; c++) {
        table[3 * i + c] = Math.round(anchors[k][c] + (place - k) * (anchors[k + 1][c] - anchors[k][c]));
      }
    }
    tables.set(name, table);
  }
  return tables.get(name);
}
