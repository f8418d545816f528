// The table twin of the picture, and the exports.

const version = new URL(import.meta.url).search;
const [{ download, element }, { formatNumber, shortestFloat32 }, { Film, MovingPicture }] = await Promise.all(
  ["dom", "format", "film"].map((name) => import(`./${name}.js${version}`)),
);

const CUT = "Stop the film and download it";
const ROWS = 50; // around the cursor
const EVERY = 500; // ms between two updates while playing

export class DataTable {
  // exports : picture(ratio), drawing(), page(), film(kind) → whether one is being made
  constructor(exports) {
    this.rows = element("div", {
      className: "rows", tabindex: 0, role: "region", "aria-label": "Draws around the present step",
    });
    const button = (text, click) => element("button", { type: "button", className: "worded", text, on: { click } });
    this.csv = button("Download data (CSV)", () => this.exportData());
    const picture = button("Download picture (PNG)", () => exports.picture(2));
    const large = button("Twice as large (PNG)", () => exports.picture(4));
    const drawing = button("Drawing (SVG)", exports.drawing);
    const page = button("Drawing (PDF)", exports.page);
    const film = (Kind, words) => {
      const made = button(words, () => {
        const going = exports.film(Kind);
        made.textContent = going ? CUT : words;
        this.films.filter((other) => other !== made).forEach((other) => (other.disabled = going));
        this.cutFilm = going ? () => made.click() : () => {};
      });
      made.title = "Plays from the present step, and takes a film until you stop it";
      return made;
    };
    this.films = [film(MovingPicture, "Take a moving picture (PNG)")];
    if (Film.possible) this.films.unshift(film(Film, "Take a film (WebM)"));
    this.node = element("details", {
      className: "data",
      children: [
        element("summary", { text: "Table and downloads" }),
        element("div", { className: "actions", children: [this.csv, picture, large, drawing, page, ...this.films] }),
        this.rows,
      ],
      on: { toggle: () => this.build() },
    });
    this.built = 0;
  }

  setScene(scene) {
    this.scene = scene;
    this.csv.style.display = scene.table.length ? "" : "none";
    this.built = 0;
  }

  show(cursor, playing) {
    this.t = cursor.t;
    if (this.node.open && (!playing || performance.now() - this.built > EVERY)) this.build();
  }

  build() {
    if (!this.node.open) return;
    this.built = performance.now();
    const { table, steps } = this.scene;
    if (!table.length) {
      this.rows.replaceChildren();
      return;
    }
    const first = Math.max(0, Math.min(this.t - ROWS / 2, steps - ROWS));
    const last = Math.min(steps, first + ROWS);
    const head = ["step", ...table.map(({ name }) => name)].map((text) => element("th", { scope: "col", text }));
    const body = [];
    for (let i = first; i < last; i++) {
      const cells = table.map(({ data }) => element("td", { text: formatNumber(data[i]) }));
      body.push(element("tr", {
        "aria-current": i === this.t ? "step" : null,
        children: [element("th", { scope: "row", text: String(i + 1) }), ...cells],
      }));
    }
    this.rows.replaceChildren(element("table", {
      children: [
        element("caption", { text: `Steps ${first + 1} to ${last} of ${steps}` }),
        element("thead", { children: [element("tr", { children: head })] }),
        element("tbody", { children: body }),
      ],
    }));
  }

  exportData() {
    download(`${fileName(this.scene)}.csv`, new Blob([toCsv(this.scene)], { type: "text/csv" }));
  }
}

export function fileName(scene) {
  return `posterior-lab-${scene.run.replace(/[^\w.-]+/g, "-").slice(0, 60)}`;
}

function quote(text) {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text; // a spreadsheet must not run a column name
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

export function toCsv({ label, run, steps, table }) {
  const remark = `# ${label} (run ${run}; reals are rounded to 32-bit floats)`.replace(/[\r\n]+/g, " ");
  const lines = [remark, ["step", ...table.map(({ name }) => quote(name))].join(",")];
  for (let i = 0; i < steps; i++) {
    const cells = table.map(({ data }) => (data instanceof Float32Array ? shortestFloat32(data[i]) : data[i]));
    lines.push([i + 1, ...cells].join(","));
  }
  return `${lines.join("\n")}\n`;
}
