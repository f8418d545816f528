// The controls under the stage.

const version = new URL(import.meta.url).search;
const [{ element, icon, setAttribute, update }, { SPEEDS }] = await Promise.all([
  import(`./dom.js${version}`), import(`./clock.js${version}`),
]);

const ICONS = {
  home: "M5 5h2v14H5zM13.5 5v14L7.5 12zM20.5 5v14L14.5 12z",
  end: "M17 5h2v14h-2zM10.5 5v14L16.5 12zM3.5 5v14L9.5 12z",
  back: "M15 5v14L5 12zM17 5h2.2v14H17z",
  forward: "M9 5v14l10-7zM4.8 5H7v14H4.8z",
  substepBack: "M15.4 6.6 10 12l5.4 5.4L14 18.8 7.2 12 14 5.2zM17 10.6h2.8v2.8H17z",
  substepForward: "M8.6 6.6 14 12l-5.4 5.4L10 18.8 16.8 12 10 5.2zM4.2 10.6H7v2.8H4.2z",
  all: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  play: "M8 5v14l11-7z",
  pause: "M6.5 5h4v14h-4zM13.5 5h4v14h-4z",
};

const HOLD = "Your prediction first: the stage plays the answer once it is locked.";
const LOCKED = "Your prediction is locked: the answer is being worked out.";

export class Toolbar {
  // actions: home, back, toggle, forward, end, substepBack, substepForward, slow, scrub(t), scrubEnd, speed(value), all
  constructor(actions) {
    const button = (name, label) =>
      element("button", {
        type: "button", className: `icon ${name}`, title: label, "aria-label": label.replace(/ \(.*/, ""),
        children: [icon(ICONS[name])], on: { click: actions[name] },
      });
    this.play = element("button", { type: "button", className: "icon play", on: { click: actions.toggle } });
    this.home = button("home", "First step (Home)");
    this.back = button("back", "Step back (←)");
    this.forward = button("forward", "Step forward (→)");
    this.end = button("end", "Last step (End)");
    this.substepBack = button("substepBack", "Sub-step back (Shift + ←)");
    this.substepForward = button("substepForward", "Sub-step forward (Shift + →)");
    this.slow = element("button", {
      type: "button", className: "worded", text: "slow motion", "aria-pressed": "false",
      title: "Play through the sub-steps of every transition", on: { click: actions.slow },
    });
    this.range = element("input", {
      type: "range", min: 0, step: 1, "aria-label": "Step",
      on: { input: () => actions.scrub(Number(this.range.value)), change: actions.scrubEnd },
    });
    this.status = element("output", { className: "status" });
    this.hold = element("p", { className: "hold", text: HOLD });
    this.speed = element("select", {
      className: "speed",
      "aria-label": "Speed", title: "Speed (+ and −)",
      children: SPEEDS.map((speed) => element("option", { value: speed, text: `${speed}×` })),
      on: { change: () => actions.speed(Number(this.speed.value)) },
    });
    // It stands in a corner of the stage.
    this.all = button("all", "All panels (the story shows some of them)");
    this.all.hidden = true;
    this.all.classList.add("corner");
    this.inside = element("div", {
      className: "buttons inside", children: [this.substepBack, this.substepForward, this.slow],
    });
    this.node = element("div", {
      className: "toolbar", role: "group", "aria-label": "Playback",
      children: [
        element("div", { className: "buttons", children: [this.home, this.back, this.play, this.forward, this.end] }),
        this.inside,
        this.hold,
        element("div", { className: "scrub", children: [this.range] }),
        this.status,
        this.speed,
      ],
    });
    this.playing = null;
  }

  // What it says while the stage waits for a prediction. `locked`: for its answer.
  holdFor(locked) {
    update(this.hold, "textContent", locked ? LOCKED : HOLD);
  }

  setScene(scene, { hasPhases }) {
    const end = (scene.total ?? scene.steps) - 1;
    this.length = end + 1;
    this.range.max = end;
    this.range.style.setProperty("--loaded", `${(100 * (scene.steps - 1)) / Math.max(1, end)}%`);
    this.inside.style.display = hasPhases ? "" : "none";
    this.node.classList.toggle("still", end === 0 && !hasPhases);
    const digits = String(this.length).length;
    this.status.style.setProperty("--status-width", `${2 * digits + 5}ch`);
  }

  // Whether the story leaves panels out, and whether the reader sees them all the same.
  offerAll(offered, pressed) {
    this.all.hidden = !offered;
    this.all.setAttribute("aria-pressed", String(pressed));
  }

  show(clock, cursor) {
    const { t, settled, upto } = cursor;
    update(this.range, "value", String(t));
    this.range.style.setProperty("--done", `${(100 * t) / Math.max(1, this.length - 1)}%`);
    setAttribute(this.range, "aria-valuetext", `step ${t + 1} of ${this.length}`);
    const waiting = clock.pending !== null; // for the inside of a transition
    update(this.status, "textContent", `${t + 1} / ${this.length}${waiting ? " …" : ""}`);
    setAttribute(this.node, "aria-busy", String(waiting));
    const { phase, within, phaseLength } = cursor;
    setAttribute(this.status, "title", phase >= 0 && !settled ? `${within + 1} of ${phaseLength} in this part` : "");
    update(this.speed, "value", String(clock.speed));
    setAttribute(this.slow, "aria-pressed", String(clock.slow));
    const atStart = t === 0 && settled;
    update(this.home, "disabled", atStart);
    update(this.back, "disabled", atStart || (t === 0 && upto < 0));
    update(this.forward, "disabled", clock.atEnd);
    update(this.end, "disabled", clock.atEnd);
    update(this.substepForward, "disabled", clock.atEnd);
    update(this.play, "disabled", clock.limit !== null && clock.atEnd);
    this.node.classList.toggle("held", clock.limit !== null);
    update(this.substepBack, "disabled", t === 0 && cursor.s === 0 && !clock.hasPhases);
    if (this.playing !== clock.playing) {
      this.playing = clock.playing;
      const label = clock.playing ? "Pause" : "Play";
      this.play.replaceChildren(icon(ICONS[clock.playing ? "pause" : "play"]));
      this.play.title = `${label} (Space)`;
      this.play.setAttribute("aria-label", label);
    }
  }
}
