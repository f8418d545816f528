// What the pointer does on the stage: read values, click, and edit points.

const version = new URL(import.meta.url).search;
const { element } = await import(`./dom.js${version}`);

const REACH = { mouse: 24, pen: 28, touch: 34 }; // how near, in pixels, counts as "on" a draw …
const GRIP = { mouse: 12, pen: 16, touch: 22 }; // … or on an editable point
const DOUBLE = 350; // ms between the two clicks that remove a point
const SETTLE = 250; // ms without an edit before the points are sent

export class Pointer {
  // player: {canvas, stage, cursor(), emit(event), repaint()}
  constructor(player, holder) {
    this.player = player;
    this.tooltip = element("div", { className: "tooltip", role: "presentation" });
    this.ring = element("div", { className: "ring" });
    holder.append(this.ring, this.tooltip);
    this.holder = holder;
    this.drag = null;
    this.lastTap = { time: 0, edit: null, index: -1 };
    this.editClass = 0;
    const { canvas } = player;
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", () => (this.drag = null));
    canvas.addEventListener("pointerleave", () => this.hide());
    // A finger on an editable point drags it; anywhere else it scrolls the page.
    canvas.addEventListener("touchstart", (event) => {
      const place = this.place(event.touches[0]);
      if (place.panel?.spec.editable && this.grip(place, "touch") >= 0) event.preventDefault();
    }, { passive: false });
  }

  place({ clientX, clientY }) {
    const { canvas, stage } = this.player;
    const box = canvas.getBoundingClientRect();
    const x = ((clientX - box.left) * stage.width) / box.width;
    const y = ((clientY - box.top) * stage.height) / box.height;
    const panel = stage.panelAt(x, y);
    return { x, y, panel, px: panel ? x - panel.plot.x : 0, py: panel ? y - panel.plot.y : 0 };
  }

  // -- reading ------------------------------------------------------------------------------------------------------

  hide() {
    this.tooltip.style.visibility = this.ring.style.visibility = "hidden";
    this.player.point(null);
  }

  inspect(place, reach) {
    let best = null;
    for (const view of place.panel?.views ?? []) {
      const found = view.hover(place.px, place.py, this.player.cursor());
      if (found && found.distance <= reach && (best === null || found.distance <= best.distance)) best = found;
    }
    if (!best) {
      this.hide();
      return null;
    }
    this.player.point(best);
    this.tooltip.textContent = best.text ?? this.player.links.title(best);
    const { plot } = place.panel;
    const x = best.x === undefined ? place.x : plot.x + best.x;
    const y = best.x === undefined ? place.y : plot.y + best.y;
    const zoom = this.holder.clientWidth / this.player.stage.width; // stage pixels are larger where letters are
    const width = this.tooltip.offsetWidth;
    const left = Math.min(this.holder.clientWidth - width, Math.max(0, zoom * x - width / 2));
    this.tooltip.style.left = `${left}px`;
    this.tooltip.style.top = `${zoom * (y > 44 ? y - 38 : y + 16)}px`;
    this.tooltip.style.visibility = "visible";
    this.ring.style.left = `${zoom * x}px`;
    this.ring.style.top = `${zoom * y}px`;
    this.ring.style.visibility = best.x === undefined ? "hidden" : "visible";
    return best;
  }

  // -- editing ------------------------------------------------------------------------------------------------------

  // Takes the editable points of a scene, unless edits that are newer wait to be sent.
  setScene(scene) {
    const { edits } = this.player.stage;
    for (const { id, editable } of scene.panels) {
      if (!editable) continue;
      const { data } = editable.points;
      const received = JSON.stringify(Array.from(data));
      const edit = edits.get(id) ?? { points: [], selected: -1, received: null, timer: 0 };
      edits.set(id, edit);
      if (received !== edit.received && !edit.timer && !this.drag) {
        const points = Array.from({ length: data.length / 3 }, (_, i) => Array.from(data.subarray(3 * i, 3 * i + 3)));
        if (points.length !== edit.points.length) edit.selected = -1;
        edit.points = points;
      }
      edit.received = received;
    }
  }

  grip(place, pointerType) {
    const { panel, px, py } = place;
    const edit = this.player.stage.edits.get(panel.spec.id);
    let best = -1;
    let least = GRIP[pointerType] ?? GRIP.mouse;
    edit.points.forEach(([x, y], i) => {
      const distance = Math.hypot(panel.x.to(x) - px, panel.y.to(y) - py);
      if (distance <= least) [least, best] = [distance, i];
    });
    return best;
  }

  down(event) {
    this.player.focus();
    if (event.button !== 0) return;
    const place = this.place(event);
    this.drag = { place, moved: false, index: -1 };
    if (!place.panel?.spec.editable) return;
    this.drag.index = this.grip(place, event.pointerType);
    this.drag.edit = this.player.stage.edits.get(place.panel.spec.id);
    this.drag.edit.selected = this.drag.index;
    this.player.canvas.setPointerCapture(event.pointerId);
    this.player.repaint();
  }

  move(event) {
    const place = this.place(event);
    const { drag } = this;
    if (drag && Math.hypot(place.x - drag.place.x, place.y - drag.place.y) > 4) drag.moved = true;
    if (drag?.edit && drag.index >= 0 && drag.moved) {
      const { panel } = drag.place;
      const { plot, x, y } = panel;
      const point = drag.edit.points[drag.index];
      point[0] = x.from(Math.min(plot.width, Math.max(0, place.x - plot.x)));
      point[1] = y.from(Math.min(plot.height, Math.max(0, place.y - plot.y)));
      this.player.repaint();
    } else if (event.pointerType === "mouse") {
      this.inspect(place, REACH.mouse);
    }
  }

  up(event) {
    const { drag } = this;
    this.drag = null;
    if (!drag?.place.panel) return;
    const { place, edit, index, moved } = drag;
    const { panel } = place;
    if (edit) {
      if (index >= 0 && moved) this.changed(panel);
      else if (index >= 0) this.tapPoint(panel, edit, index, event.timeStamp);
      else if (!moved) this.add(panel, edit, place, event.timeStamp);
      return;
    }
    if (moved) return;
    this.player.pin(this.inspect(place, REACH[event.pointerType] ?? REACH.touch));
    if (panel.spec.clickable && panel.x && panel.y) {
      this.player.emit({ kind: "click", panel: panel.spec.id, x: panel.x.from(place.px), y: panel.y.from(place.py) });
    }
  }

  add(panel, edit, { px, py }, time) {
    if (edit.points.length >= panel.spec.editable.limit) return;
    const label = Math.min(this.editClass, panel.spec.editable.classes.length - 1);
    edit.points.push([panel.x.from(px), panel.y.from(py), label]);
    edit.selected = edit.points.length - 1;
    this.lastTap = { time, edit, index: edit.selected };
    this.changed(panel);
  }

  tapPoint(panel, edit, index, time) {
    const last = this.lastTap;
    this.lastTap = { time, edit, index };
    if (last.edit === edit && last.index === index && time - last.time < DOUBLE) this.remove(panel, edit, index);
  }

  remove(panel, edit, index) {
    edit.points.splice(index, 1);
    edit.selected = -1;
    this.lastTap = { time: 0, edit: null, index: -1 };
    this.changed(panel);
  }

  // Removes the selected point, if there is one; true if it did.
  removeSelected() {
    for (const panel of this.player.stage.panels) {
      const edit = this.player.stage.edits.get(panel.spec.id);
      if (panel.spec.editable && edit?.selected >= 0) {
        this.remove(panel, edit, edit.selected);
        return true;
      }
    }
    return false;
  }

  changed(panel) {
    const { id } = panel.spec;
    const edit = this.player.stage.edits.get(id);
    this.player.repaint();
    clearTimeout(edit.timer);
    edit.timer = setTimeout(() => {
      edit.timer = 0;
      this.player.emit({ kind: "points", panel: id, points: edit.points.map((point) => [...point]) });
    }, SETTLE);
  }
}
