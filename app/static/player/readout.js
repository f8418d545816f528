// The arithmetic card, the list of phases, and the spoken sentence.

const version = new URL(import.meta.url).search;
const [{ element, update }, { fillTemplate }, { visibleItems }] = await Promise.all([
  import(`./dom.js${version}`), import(`./format.js${version}`), import(`./layers.js${version}`),
]);

// Looks up the names of a template at a cursor.
function lookupAt(scene, values, cursor) {
  return (name) => {
    if (name in values) {
      const { data, inner } = values[name];
      if (!inner) return data[cursor.t];
      return cursor.inner < 0 || cursor.innerLength === 0 ? undefined : data[cursor.base + cursor.inner];
    }
    if (name === "t") return cursor.t + 1;
    if (name === "steps") return scene.steps;
    return scene.phases[cursor.phase]?.label ?? "";
  };
}

function isActive(line, cursor) {
  return visibleItems(line.show, cursor, 1) !== null;
}

function hidden(line, waits) {
  return waits && Boolean(line.held);
}

export class Readouts {
  constructor() {
    this.node = element("ol", { className: "readouts", "aria-label": "Arithmetic of this step" });
  }

  setScene(scene) {
    this.scene = scene;
    while (this.node.children.length > scene.readouts.length) this.node.lastChild.remove();
    while (this.node.children.length < scene.readouts.length) this.node.append(element("li"));
  }

  // Every line keeps its place; one whose time has not come shows its formula without numbers. `waits`: for a prediction,
  // and with the stage all lines that tell what is asked.
  show(cursor, waits) {
    this.scene.readouts.forEach((line, i) => {
      const node = this.node.children[i];
      node.hidden = hidden(line, waits);
      const active = isActive(line, cursor);
      const lookup = active ? lookupAt(this.scene, line.values, cursor) : () => undefined;
      update(node, "textContent", fillTemplate(line.tokens, lookup));
      update(node, "className", line.id === this.lit ? "lit" : active ? "" : "idle");
    });
  }

  // The lines that come with the phase at a cursor, without those that have no numbers where the inner phase begins.
  of(cursor, waits) {
    const readouts = this.scene.readouts.filter((line) => !hidden(line, waits));
    const begins = ({ show }) => (show.phase === null ? 0 : show.phase[0]) === cursor.phase;
    const absent = ({ data, inner }) => inner && Number.isNaN(data[cursor.base + cursor.inner]);
    return readouts
      .filter((line) => begins(line) && isActive(line, cursor) && !Object.values(line.values).some(absent))
      .map((line) => fillTemplate(line.tokens, lookupAt(this.scene, line.values, cursor)));
  }

  // The lines of these ids come first, where the window has no room for all of them.
  nameFirst(ids) {
    [...this.node.children].forEach((line, i) => line.style.setProperty("order", ids.includes(this.scene.readouts[i].id) ? -1 : 0));
    this.node.classList.toggle("reordered", ids.length > 0);
  }

  // How far down the lines of these ids reach, px.
  reach(ids) {
    const lines = [...this.node.children].filter((_, i) => ids.includes(this.scene.readouts[i].id));
    return Math.max(0, ...lines.map((line) => line.getBoundingClientRect().bottom - this.node.getBoundingClientRect().top));
  }

  // The line that the story speaks of, by its id.
  light(id) {
    this.lit = id;
  }
}

export class Phases {
  constructor() {
    this.node = element("ol", { className: "phases", "aria-label": "Parts of a step" });
  }

  setScene(scene) {
    const names = scene.phases.length > 1 ? scene.phases.map((phase) => phase.label) : [];
    this.node.replaceChildren(...names.map((text) => element("li", { text })));
  }

  // A phase is marked while the reader is inside a transition; plain playing would only flicker.
  show(cursor, inside) {
    [...this.node.children].forEach((item, p) => {
      if (inside && p === cursor.phase) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    });
  }
}

const QUIET = 400; // ms without a move before the state is spoken

export class Voice {
  constructor() {
    this.node = element("div", { className: "hidden-text", "aria-live": "polite" });
    this.timer = 0;
  }

  hush() {
    clearTimeout(this.timer);
  }

  speakSoon(scene, cursor, waits) {
    this.hush();
    this.timer = setTimeout(() => {
      const sentences = scene.say
        .filter((line) => !hidden(line, waits) && isActive(line, cursor))
        .map((line) => fillTemplate(line.tokens, lookupAt(scene, line.values, cursor)));
      update(this.node, "textContent", sentences.join(" ") || `Step ${cursor.t + 1} of ${scene.steps}.`);
    }, QUIET);
  }
}
