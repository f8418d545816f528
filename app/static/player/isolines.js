// Contours of a grid of values: isolines by marching squares, and bands filled pixel by pixel.
// values[row * width + column] sits on grid node (column, row); row 0 is the lowest y.

// Which edges an isoline crosses, by the corners above the level: bit 0 = (0,0), 1 = (1,0), 2 = (1,1), 3 = (0,1).
// Edges: 0 bottom, 1 right, 2 top, 3 left. The two saddles (5, 10) are decided by the mean of the corners.
const CROSSINGS = [
  [], [3, 0], [0, 1], [3, 1], [1, 2], null, [0, 2], [3, 2],
  [2, 3], [2, 0], null, [2, 1], [1, 3], [1, 0], [0, 3], [],
];
const SADDLES = { 5: [[3, 2, 1, 0], [3, 0, 1, 2]], 10: [[0, 3, 2, 1], [0, 1, 2, 3]] }; // [mean above, mean below]

// Segments of the isoline as a flat list x0, y0, x1, y1, … in grid coordinates.
export function isoline(values, width, height, level) {
  const segments = [];
  const corner = [0, 0, 0, 0];
  const point = (edge, column, row) => {
    const [a, b] = [corner[edge], corner[(edge + 1) % 4]];
    const share = (level - a) / (b - a);
    switch (edge) {
      case 0: segments.push(column + share, row); break;
      case 1: segments.push(column + 1, row + share); break;
      case 2: segments.push(column + 1 - share, row + 1); break;
      default: segments.push(column, row + 1 - share);
    }
  };
  for (let row = 0; row + 1 < height; row++) {
    for (let column = 0; column + 1 < width; column++) {
      const at = row * width + column;
      corner[0] = values[at];
      corner[1] = values[at + 1];
      corner[2] = values[at + width + 1];
      corner[3] = values[at + width];
      let above = 0;
      for (let c = 0; c < 4; c++) if (corner[c] >= level) above |= 1 << c;
      let edges = CROSSINGS[above];
      if (edges === null) {
        const mean = (corner[0] + corner[1] + corner[2] + corner[3]) / 4;
        edges = SADDLES[above][mean >= level ? 0 : 1];
      }
      for (const edge of edges) point(edge, column, row);
    }
  }
  return segments;
}

// The bilinear surface under a picture of columns × rows pixels, as the number of levels each pixel reaches.
// gridX(column), gridY(row): grid coordinates of a pixel; outside the grid a pixel reaches no level.
export function bands(values, width, height, levels, columns, rows, gridX, gridY) {
  const reached = new Uint8Array(columns * rows);
  const left = new Int32Array(columns);
  const share = new Float32Array(columns);
  for (let c = 0; c < columns; c++) {
    const x = gridX(c);
    left[c] = x < 0 || x > width - 1 ? -1 : Math.min(width - 2, Math.floor(x));
    share[c] = x - left[c];
  }
  for (let r = 0; r < rows; r++) {
    const y = gridY(r);
    if (y < 0 || y > height - 1) continue;
    const low = Math.min(height - 2, Math.floor(y));
    const up = y - low;
    for (let c = 0; c < columns; c++) {
      if (left[c] < 0) continue;
      const at = low * width + left[c];
      const bottom = values[at] + share[c] * (values[at + 1] - values[at]);
      const top = values[at + width] + share[c] * (values[at + width + 1] - values[at + width]);
      const value = bottom + up * (top - bottom);
      let k = 0;
      while (k < levels.length && value >= levels[k]) k++;
      reached[r * columns + c] = k;
    }
  }
  return reached;
}
