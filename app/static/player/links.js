// Parts: items inside a transition that several panels show, each in its own way. Pointing at one picks it; what it spans
// stands out everywhere, and its numbers fill a card.

const version = new URL(import.meta.url).search;
const [{ element, setAttribute, update }, { fillTemplate }] = await Promise.all(
  ["dom", "format"].map((name) => import(`./${name}.js${version}`)),
);

export class Links {
  constructor() {
    this.node = element("ol", { className: "readouts card", "aria-label": "What is pointed at" });
    this.chosen = null; // {t, parts, k, pinned}: item k of a set in transition t
  }

  // `told`: the story has chosen the panels; the card then stands only where two of them show the same items, else it
  // would take room from what the words name.
  setScene(scene, told) {
    if (this.run !== scene.run) this.chosen = null;
    this.run = scene.run;
    this.sets = scene.parts;
    const shown = (name) => scene.panels.filter(({ layers }) => layers.some(({ show }) => show.parts === name)).length;
    const sets = Object.entries(scene.parts).filter(([name]) => !told || shown(name) > 1);
    const lines = Math.max(0, ...sets.map(([, set]) => set.lines.length && set.tallest));
    this.node.style.display = lines ? "" : "none";
    this.node.style.minHeight = `calc(${1.45 * lines}em + ${2 * lines + 8}px)`;
  }

  // -- choosing -----------------------------------------------------------------------------------------------------

  // What is picked at a cursor: the item pointed at, else, inside a transition, the one that came last.
  pick(cursor) {
    const { chosen } = this;
    if (chosen && chosen.t === cursor.t && chosen.k <= cursor.parts[chosen.parts]?.inner) {
      return this.item(chosen.parts, cursor.parts[chosen.parts].base + chosen.k, true);
    }
    if (cursor.settled) return null;
    const [name, range] = Object.entries(cursor.parts).find(([, { inner }]) => inner >= 0) ?? [];
    return name ? this.item(name, range.base + range.inner, false) : null;
  }

  item(parts, item, chosen) {
    const { low, high } = this.sets[parts];
    const spans = (i) => low[i] >= low[item] && high[i] <= high[item];
    return { parts, item, chosen, spans };
  }

  // Follows the pointer, unless something is pinned; true if the choice changed. `found`: {parts, part} or null.
  point(cursor, found) {
    if (this.chosen?.pinned && this.chosen.t === cursor.t) return false;
    return this.choose(cursor, found, false);
  }

  // Holds on to what was clicked; a second click, or one beside it, lets go.
  pin(cursor, found) {
    const same = found && this.chosen?.pinned && this.isChosen(cursor, found);
    return this.choose(cursor, same ? null : found, true);
  }

  isChosen(cursor, { parts, part }) {
    const { chosen } = this;
    return chosen !== null && chosen.t === cursor.t && chosen.parts === parts
      && cursor.parts[parts].base + chosen.k === part;
  }

  choose(cursor, found, pinned) {
    if (!found?.parts) {
      const had = this.chosen !== null;
      this.chosen = null;
      return had;
    }
    if (this.isChosen(cursor, found) && this.chosen.pinned === pinned) return false;
    this.chosen = { t: cursor.t, parts: found.parts, k: found.part - cursor.parts[found.parts].base, pinned };
    return true;
  }

  // To the next or previous item that can be seen, by keyboard.
  move(cursor, direction) {
    const seen = Object.entries(cursor.parts).flatMap(([parts, { base, inner }]) =>
      Array.from({ length: inner + 1 }, (_, k) => ({ parts, part: base + k })));
    if (!seen.length) return;
    const at = seen.findIndex((found) => this.isChosen(cursor, found));
    const next = at < 0 ? (direction > 0 ? 0 : seen.length - 1) : (at + direction + seen.length) % seen.length;
    this.choose(cursor, seen[next], true);
  }

  // -- telling ------------------------------------------------------------------------------------------------------

  lines(parts, item) {
    return this.sets[parts].lines
      .filter(({ when }) => when === null || when[item])
      .map(({ tokens, values }) => fillTemplate(tokens, (name) => values[name].data[item]));
  }

  title({ parts, part }) {
    return this.lines(parts, part)[0] ?? "";
  }

  // With nothing pointed at: the hint, and in what room is left the item that came last.
  idle(name, cursor) {
    const { hint, tallest } = this.sets[name];
    const { base, inner } = cursor.parts[name];
    const last = inner < 0 ? [] : this.lines(name, base + inner);
    return [hint, ...last.slice(0, Math.max(0, tallest - 1))];
  }

  show(cursor) {
    const names = Object.keys(this.sets);
    if (!names.length) return;
    const pick = this.pick(cursor);
    const lines = pick ? this.lines(pick.parts, pick.item) : this.idle(names[0], cursor);
    setAttribute(this.node, "aria-live", pick?.chosen ? "polite" : "off");
    while (this.node.children.length > lines.length) this.node.lastChild.remove();
    while (this.node.children.length < lines.length) this.node.append(element("li"));
    lines.forEach((line, i) => {
      update(this.node.children[i], "textContent", line);
      update(this.node.children[i], "className", pick ? "" : "idle");
    });
  }
}
