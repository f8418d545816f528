// The player: mounts in a Streamlit component, reads scenes, and plays them. Entry of app/kit/loader.js.
// All modules are imported under the version of this one, so that one hash over the folder refreshes them all.

const version = new URL(import.meta.url).search;
const [
  { readScene }, { Clock }, { Palette, drawMarker, pageBackground }, { EDIT_SHAPES, Stage, chosen }, { Toolbar },
  { Phases, Readouts, Voice }, { Legend, drawSwatch, legendEntries }, { DataTable, fileName }, { Pointer },
  { Links }, { download, element, picture }, { STYLE }, { TEXT, font }, { Channel, readCue },
  { keepPressesStill }, { obeyClicker, presenting }, { explainTerms }, { frameOf, writeAddress },
  { mirror, offerNotes }, { noteStep, tellProgress }, { Choices }, { Guess }, { Preview }, { VectorCanvas }, { toSvg },
  { toPdf }, { withWords },
] = await Promise.all(
  [
    "blob", "clock", "palette", "stage", "toolbar", "readout", "legend", "table", "pointer", "links", "dom", "style",
    "axes", "channel", "presses", "clicker", "glossary", "address",
    "notes", "progress", "choices", "guess", "preview", "vector", "svg", "pdf", "png",
  ]
    .map((name) => import(`./${name}.js${version}`)),
);

const players = new WeakMap();
keepPressesStill();
explainTerms();
tellProgress();

// Called at mount and at every change of the data or of the page's theme.
export function render(component) {
  const { parentElement } = component;
  if (!players.has(parentElement)) players.set(parentElement, new Player(parentElement));
  players.get(parentElement).receive(component);
}

export function remove(parentElement) {
  players.get(parentElement)?.destroy();
  players.delete(parentElement);
}

const LONGEST_FRAME = 0.25; // seconds; a page that slept does not leap ahead
const LARGEST_DRAWING = 2e6; // bytes of a drawing
const DRAWN = 2; // px of a drawing for one on screen: stamps of points are pictures in it
const REST = 250; // ms on a transition before its inside is asked for
const OVERDUE = 10_000; // ms until an inside that was asked for is not waited for any more
const MARGINS = 56; // px between the parts of the player and the end of the window
const GRAIN = 16; // px
const HEADER = 60; // px of the page's own at the top of the window, which covers what is under it
const LINE = 26; // px of a line of the card, which may need another one when its numbers come
const PHONE = 640; // px of a window in which all stands below each other …
const ON_A_PHONE = 320; // … and px of a stage there, under the words
const LOWEST = 368; // px of a stage, also where the card does not fit into the window below it, …
const SMALLEST = 256; // … unless the words name lines of it, or the window has no room for the stage itself
const SLIDER = ".st-key-settings input[type='range']"; // Streamlit's writes its value while it is dragged
const CONTROL = "input, button, label, [role='option']"; // of the page, not of the player
const ASIDE = 150; // ms that a picture stands still at most while another may be made
const [OLD, PREVIEW] = ["Before your change", "Preview of your change"];
const WATCHABLE = 10; // settled states a second up to which the inside can be followed while playing

class Player {
  constructor(parentElement) {
    this.channel = new Channel(
      (data) => this.show(data), () => this.emit({ kind: "picture" }), (table) => this.take(table),
    );
    this.clock = new Clock((t) => this.emit({ kind: "window", t }));
    this.canvas = element("canvas", { role: "img" });
    this.stage = new Stage(this.canvas);
    this.toolbar = new Toolbar(this.actions());
    this.readouts = new Readouts();
    this.phases = new Phases();
    this.voice = new Voice();
    this.legend = new Legend();
    this.links = new Links();
    this.table = new DataTable({
      picture: (ratio) => this.exportPicture(ratio), drawing: () => this.exportDrawing(), page: () => this.exportPage(),
      film: (kind) => this.takeFilm(kind),
    });
    this.holder = element("div", { className: "stage", children: [this.canvas, this.toolbar.all] });
    this.guess = new Guess(this.holder, this.canvas, { // before the pointer, which gets what is not drawn
      send: (values) => this.emit({ kind: "draw", values }),
      place: (event) => this.pointer.place(event),
      changed: () => this.repaint(),
    });
    this.pointer = new Pointer(this, this.holder);
    this.choices = new Choices(this.holder, (option) => this.emit({ kind: "choice", option }));
    this.preview = new Preview((field, { t, upto }, id) => this.emit({ kind: "preview", field, id, t, upto }));
    this.followed = null; // the panels under a slider
    this.old = element("p", { className: "old", role: "status", text: OLD, hidden: true });
    this.holder.append(this.old);
    this.classes = element("div", { className: "classes", role: "radiogroup", "aria-label": "Class of a new point" });
    this.alert = element("p", { role: "alert", hidden: true });
    this.root = element("div", {
      className: "player", role: "group", tabindex: 0, "data-testid": "player",
      "aria-keyshortcuts": "Space ArrowLeft ArrowRight Shift+ArrowLeft Shift+ArrowRight Home End + - N P Escape",
      children: [
        this.alert, this.holder, this.links.node, this.legend.node, this.classes, this.toolbar.node, this.phases.node,
        this.readouts.node, this.voice.node, this.table.node,
      ],
      on: { keydown: (event) => this.key(event) },
    });
    this.style = element("style", { text: STYLE });
    parentElement.append(this.style, this.root);
    this.fps = new FrameCounter();
    this.frameRequest = 0;
    this.lastFrame = 0;
    this.aside = 0; // until when it stands still though it plays
    this.fittedAt = null; // where the stage began when its height was chosen, if that mattered
    this.observe();
  }

  // -- the world outside --------------------------------------------------------------------------------------------

  observe() {
    this.leaving = new AbortController();
    const { signal } = this.leaving;
    this.resizes = new ResizeObserver(() => this.arrange());
    this.resizes.observe(this.holder);
    // What stands above comes and goes while the page arrives, and how high the stage is depends on where it begins.
    this.moves = new ResizeObserver(() => this.fittedAt !== null && this.fittedAt !== this.top() && this.arrange());
    const page = hostOf(this.root).closest("[data-testid='stMainBlockContainer']");
    if (page) this.moves.observe(page);
    this.mutations = new MutationObserver(() => this.checkTheme());
    for (const node of [document.documentElement, document.body]) {
      this.mutations.observe(node, { attributes: true, attributeFilter: ["class", "style"] });
    }
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.checkTheme(), { signal });
    const calm = matchMedia("(prefers-reduced-motion: reduce)");
    this.clock.calm = calm.matches;
    calm.addEventListener("change", () => this.calm(calm.matches), { signal });
    this.watchWords(signal);
    this.choices.obeyKeys(signal);
    document.addEventListener("stage-asked", () => this.scene && this.tell(this.cursor()), { signal });
    document.addEventListener("stage-step", () => this.scene && this.controls.substepForward(), { signal });
    this.watchSettings(signal);
    this.watchControls(signal);
    obeyClicker(this, signal);
    offerNotes(this, signal);
    // The page's font may come later than the first picture.
    document.fonts.ready.then(() => this.arrange(true));
    document.fonts.addEventListener("loadingdone", () => this.arrange(true), { signal });
  }

  destroy() {
    cancelAnimationFrame(this.frameRequest);
    this.channel.close();
    this.resizes.disconnect();
    this.moves.disconnect();
    this.mutations.disconnect();
    this.leaving.abort();
    this.voice.hush();
    clearTimeout(this.wish);
    clearTimeout(this.overdue);
    clearTimeout(this.writing);
    this.film?.stop({});
    for (const name of ["data-revealing", "data-playing", "data-frame"]) document.documentElement.removeAttribute(name);
    this.root.remove();
    this.style.remove();
  }

  emit(event) {
    this.setTriggerValue?.("event", event);
  }

  receive({ data, setTriggerValue }) {
    this.setTriggerValue = setTriggerValue; // a new one at every call; an old one would address an old run
    if (!data || data === this.data) {
      this.checkTheme(); // Streamlit also calls when only its theme has changed
      return;
    }
    if (this.channel.isNew(data)) {
      this.data = data;
      this.show(data);
    } else {
      this.checkTheme();
      if (this.channel.has(data)) this.direct(readCue(data));
    }
  }

  show(data) {
    try {
      this.setScene(readScene(data), readCue(data));
    } catch (error) {
      console.error(error);
      this.alert.textContent = `This picture cannot be shown: ${error.message}`;
      this.alert.hidden = false;
    }
  }

  setScene(whole, cue) {
    this.alert.hidden = true;
    const fresh = whole.run !== this.whole?.run;
    const place = this.followed && this.clock.place();
    this.age(false);
    this.forget();
    this.whole = whole;
    this.waiting = false;
    clearTimeout(this.overdue);
    this.clock.setScene(whole);
    this.aside = 0;
    if (fresh) this.moved = false;
    if (fresh && place) this.clock.stay(place); // at what was previewed
    this.obey(cue, fresh);
    this.offer(cue);
    this.fill();
    const { scene } = this;
    this.pointer.hide();
    this.root.setAttribute("aria-label", `Player: ${scene.label}`);
    this.canvas.setAttribute("aria-label", scene.label);
    this.toolbar.setScene(scene, this.clock);
    this.readouts.setScene(scene);
    this.phases.setScene(scene);
    this.table.setScene(scene);
    Object.assign(this.root.dataset, { run: scene.run, steps: scene.steps });
    if (!this.checkTheme()) this.arrange();
    this.comeNear(Preview.near(), { later: true });
  }

  // The panels that the story shows, also of the reader's own settings at this step: a picture that grew under the finger
  // that changes it would be in its way. All of them, if the reader wants to or nothing was told.
  fill() {
    const panels = this.cue && !this.all ? chosen(this.whole.panels, this.cue.panels) : this.whole.panels;
    this.scene = { ...this.whole, panels };
    const fewer = panels.length < this.whole.panels.length;
    this.toolbar.offerAll(this.all || fewer, this.all);
    this.pointer.setScene(this.scene);
    this.links.setScene(this.scene, fewer);
    this.root.dataset.panels = panels.map(({ id }) => id).join(" ");
  }

  // Whether the stage waits for a prediction.
  waits() {
    return this.clock.limit !== null;
  }

  // Whether a play of the story is under way; on with it; playing and resting: for `obeyClicker`.
  busy() {
    return this.clock.plan !== null;
  }

  hasten() {
    this.clock.hasten();
    this.draw();
    this.run(); // a sub-step may wait for its window
  }

  toggle() {
    this.controls.toggle();
  }

  // Whoever asks for less motion sees at once where the present play rests.
  calm(calm) {
    this.clock.calm = calm;
    if (!calm || !this.busy()) return;
    this.clock.rest();
    this.draw();
  }

  // What the story wants, once.
  direct(cue) {
    if (!this.scene) return;
    this.aside = 0;
    this.offer(cue);
    if (!this.obey(cue)) {
      this.repaint();
      return;
    }
    this.fill();
    this.pointer.hide();
    this.arrange();
  }

  // What the reader may choose or draw on the picture.
  offer(cue) {
    this.choices.offer(cue?.choices);
    this.guess.offer(cue?.drawing);
    this.toolbar.holdFor(Boolean(cue?.locked));
  }

  // The lock of a long question stands far below the top of the stage that plays the answer.
  comeIntoView() {
    const { top, height } = this.holder.getBoundingClientRect();
    if (top < HEADER || top + height > innerHeight) this.holder.scrollIntoView({ block: "start" });
  }

  // Whether the cue was news. `fresh`: it came with another run, of which it is always news.
  obey(cue, fresh = false) {
    const known = cue?.id === this.cue?.id;
    if (!cue || (known && !fresh)) return false;
    this.cue = cue;
    this.forget();
    this.all &&= known;
    this.root.classList.toggle("plain", Boolean(cue.plain));
    this.clock.direct(cue);
    this.moved = Boolean(cue.frame);
    if (cue.reveal && this.clock.plan) requestAnimationFrame(() => this.comeIntoView());
    noteStep(cue.id);
    return true;
  }

  // Lights what the words under the pointer or the focus name: `[words](#at=panel.role.kind)`, or a line of the card.
  watchWords(signal) {
    const named = ({ target }) => target instanceof Element ? target.closest('a[href^="#at="]') : null;
    const light = (event) => this.light(named(event));
    for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, light, { signal });
    document.addEventListener("click", (event) => {
      const words = named(event);
      if (!words) return;
      event.preventDefault(); // the address is the run's
      this.light(words);
      if (matchMedia("(max-width: 640px)").matches) this.root.scrollIntoView({ block: "nearest" });
    }, { signal });
  }

  // A slider on its way has left the picture behind: the stage follows it where it has the table, else the picture is
  // marked, until the new one comes or the slider is back.
  watchSettings(signal) {
    const observer = new MutationObserver((changes) => {
      const change = changes.find(({ target }) => target === document.activeElement && target.matches(SLIDER));
      if (!change) return;
      const { target, oldValue } = change;
      if (this.left?.target !== target) this.left = { target, value: oldValue };
      this.age(target.getAttribute("value") !== this.left.value);
      this.comeNear(target, { now: true });
      this.follow();
    });
    observer.observe(document.body, { subtree: true, attributeFilter: ["value"], attributeOldValue: true });
    signal.addEventListener("abort", () => observer.disconnect());
    const near = (how) => ({ target }) => this.comeNear(target, how);
    for (const [kind, how] of [["pointerover", {}], ["focusin", {}], ["pointerdown", { now: true }]]) {
      document.addEventListener(kind, near(how), { signal, capture: true });
    }
  }

  // Whoever presses a control, or Enter in a box, may ask for a new run: the old one leaves the machine to it.
  watchControls(signal) {
    const press = ({ target, key = "Enter" }) => {
      if (key === "Enter" && target instanceof Element && target.closest(CONTROL)) this.aside = performance.now() + ASIDE;
    };
    for (const kind of ["keydown", "pointerup"]) document.addEventListener(kind, press, { signal, capture: true });
  }

  // A hand comes near a slider: its table is asked for, unless the stage waits for an answer.
  comeNear(node, how) {
    if (!this.scene || this.clock.limit) return;
    if (!Preview.field(node)) {
      this.preview.passBy();
      return;
    }
    if (how.now && this.clock.playing) this.controls.toggle(); // it would play on beside the slider
    this.preview.prepare(node, this.clock.place(), how);
  }

  // Another picture, or another question: the table is not of it.
  forget() {
    this.preview.forget();
    delete this.root.dataset.table;
  }

  take(table) {
    if (!this.preview.take(table)) return;
    this.root.dataset.table = this.preview.wanted;
    this.follow();
  }

  // Brings the panels that the slider leaves behind to where it is, if the table has them.
  follow() {
    if (!this.left) return;
    const followed = this.preview.at(this.left.target, this.clock.place(), this.scene.panels);
    if (!followed && !this.followed) return;
    this.followed = followed;
    this.mark();
    this.followRequest ??= requestAnimationFrame(() => {
      this.followRequest = undefined;
      const begun = performance.now();
      this.arrangeStage();
      this.paint(this.cursor());
      this.root.dataset.followed = (performance.now() - begun).toFixed(2); // ms
    });
  }

  age(old) {
    if (!old) this.left = null;
    if (!old && this.followed) {
      this.followed = null;
      this.arrangeStage();
      this.repaint();
    }
    this.root.toggleAttribute("data-old", old);
    this.old.hidden = !old;
    this.mark();
  }

  // Says which picture this is.
  mark() {
    this.root.toggleAttribute("data-preview", this.followed !== null);
    const words = this.followed ? PREVIEW : OLD;
    if (this.old.textContent !== words) this.old.textContent = words;
    this.table.node.toggleAttribute("inert", this.followed !== null);
    if (this.scene) this.canvas.setAttribute("aria-label", this.followed ? `${PREVIEW}; its run comes when you let go` : this.scene.label);
  }

  light(words) {
    const [panel, role, kind] = words ? decodeURIComponent(words.hash.slice(4)).split(".") : [];
    const lit = panel ? { panel, role, kind } : null;
    if (JSON.stringify(lit) === JSON.stringify(this.lit ?? null)) return;
    this.lit = lit;
    this.root.dataset.lit = words ? words.hash.slice(4) : "";
    this.readouts.light(panel === "card" ? role : null);
    this.repaint();
  }

  // True if the colours or the font changed, and with them the picture.
  checkTheme() {
    if (!this.scene) return false;
    const background = pageBackground(this.root);
    const family = getComputedStyle(this.root).fontFamily;
    const look = JSON.stringify([background, family, this.scene.theme]);
    if (look === this.look) return false;
    this.look = look;
    this.family = family;
    this.palette = new Palette(this.scene.theme, background);
    for (const [role, color] of Object.entries(this.palette.colors)) {
      this.root.style.setProperty(`--role-${role}`, color);
    }
    this.root.dataset.dark = String(this.palette.dark);
    this.arrange();
    return true;
  }

  // -- drawing ------------------------------------------------------------------------------------------------------

  arrange(afresh = false) {
    const zoom = letters();
    const width = Math.round(this.holder.clientWidth / zoom);
    if (!this.palette || width === 0) return;
    const ratio = zoom * Math.min(3, Math.max(1, devicePixelRatio || 1));
    this.root.classList.toggle("projected", presenting());
    if (afresh) this.stage.scene = null;
    this.legend.show(this.scene, this.palette, ratio);
    this.readouts.show(this.cursor(), this.waits());
    this.size = [width, ratio, this.room() / zoom];
    this.arrangeStage();
    this.canvas.style.height = `${zoom * this.stage.height}px`;
    this.holder.classList.toggle("editable", this.scene.panels.some((panel) => panel.editable));
    this.offerClasses(ratio);
    this.draw();
    this.run();
  }

  // The picture, or what a slider makes of it.
  arrangeStage() {
    const { scene, followed } = this;
    const shown = followed ? { ...scene, run: `${scene.run}/preview`, panels: followed } : scene;
    this.stage.arrange(shown, this.palette, this.family, ...this.size);
    this.arrangeCard();
  }

  // Lines that the words name come before the list of phases, where the stage cannot become as low as they need.
  arrangeCard() {
    const room = this.size[2], named = this.cue?.card ?? [];
    const tight = room > 0 && named.length > 0 && this.stage.height > room;
    if (tight) this.readouts.nameFirst(named);
    const above = this.phases.node.previousSibling === this.readouts.node;
    if (tight !== above) this.phases.node[tight ? "before" : "after"](this.readouts.node);
  }

  // Where it begins in the page.
  top() {
    return Math.round(this.root.getBoundingClientRect().top + scrollOffset(this.root));
  }

  // The height that the window leaves to a stage of which the story names panels, that is one panel, or that is projected:
  // with controls and card, or its lines that the words name, all is in view. 0: as tall as it is made.
  room() {
    this.fittedAt = null;
    const { panels } = this.scene;
    const whole = panels.length === this.whole.panels.length && (this.all || !this.cue?.panels.length);
    if (panels.length > 1 && whole && !presenting()) return 0;
    if (innerWidth <= PHONE) return ON_A_PHONE;
    this.fittedAt = this.top();
    const below = [this.links, this.legend, this.toolbar, this.phases].map(({ node }) => node.offsetHeight);
    const room = innerHeight - this.fittedAt - below.reduce((a, b) => a + b, MARGINS);
    const fits = (card) => GRAIN * Math.floor((room - card) / GRAIN); // so that a pixel more or less changes nothing
    const [low, small] = [letters() * LOWEST, letters() * SMALLEST];
    this.readouts.nameFirst([]);
    const card = fits(this.readouts.node.offsetHeight);
    if (card >= low) return card;
    const named = this.cue?.card ?? [];
    const line = named.length ? LINE : 0;
    if (fits(this.readouts.reach(named) + line) < small) this.readouts.nameFirst(named);
    return Math.max(small, Math.min(low, fits(this.readouts.reach(named) + line)));
  }

  offerClasses(ratio) {
    const names = this.scene.panels.find((panel) => panel.editable?.classes.length > 1)?.editable.classes ?? [];
    const buttons = names.map((text, k) => {
      const color = this.palette.color(`class-${k}`);
      const swatch = picture(16, 16, ratio, (context) => drawMarker(context, EDIT_SHAPES[k], 8, 8, 5.5, color));
      return element("button", {
        type: "button", className: "worded", role: "radio", title: `Clicks add ${text}`,
        "aria-checked": String(k === this.pointer.editClass),
        children: [swatch, element("span", { text })],
        on: { click: () => this.chooseClass(k) },
      });
    });
    this.classes.replaceChildren(...buttons);
    this.classes.style.display = names.length ? "" : "none";
  }

  chooseClass(k) {
    this.pointer.editClass = k;
    [...this.classes.children].forEach((button, i) => button.setAttribute("aria-checked", String(i === k)));
  }

  // Where the clock stands, and what is pointed at there.
  cursor() {
    const cursor = this.clock.cursor();
    return { ...cursor, pick: this.links.pick(cursor) };
  }

  point(found) {
    if (this.scene && this.links.point(this.clock.cursor(), found)) this.repaint();
  }

  pin(found) {
    if (this.links.pin(this.clock.cursor(), found)) this.repaint();
  }

  paint(cursor) {
    this.stage.draw(cursor, this.lit?.panel === "card" ? null : this.lit);
    this.guess.paint(this.stage, this.busy());
    mirror(this.canvas);
    this.film?.frame();
    if (this.film?.full) this.table.cutFilm();
  }

  draw() {
    if (!this.palette || !this.stage.panels.length) return;
    const { clock } = this;
    const cursor = this.cursor();
    this.paint(cursor);
    this.toolbar.show(clock, cursor);
    this.readouts.show(cursor, this.waits());
    this.links.show(cursor);
    this.choices.show(this.stage, clock.plan !== null);
    this.guess.show(this.stage);
    this.phases.show(cursor, !cursor.settled || (clock.slow && clock.hasPhases));
    this.tell(cursor);
    this.table.show(cursor, clock.playing);
    if (clock.playing) this.voice.hush();
    else this.voice.speakSoon(this.scene, cursor, this.waits());
    this.askForInside(cursor);
    this.table.node.hidden = this.waits(); // it tells of the whole run
    const { dataset } = this.root;
    dataset.t = cursor.t;
    dataset.s = cursor.s;
    dataset.playing = clock.playing;
    if (this.cue) dataset.cue = this.cue.id;
    // words that tell what comes wait for the play that shows it: shell.css
    const { documentElement } = document;
    documentElement.toggleAttribute("data-revealing", Boolean(this.cue?.reveal && clock.plan));
    documentElement.toggleAttribute("data-playing", Boolean(clock.plan));
    dataset.speed = clock.speed;
    this.tellFrame(cursor);
    dataset.pointsDrawn = this.stage.pointsDrawn;
    if (!clock.playing) {
      const counts = this.stage.histogramCounts;
      if (counts) dataset.counts = Array.from(counts).join(" ");
    }
  }

  // For links: where the reader has gone, or been led by one. Not in a picture beside others, as on the start page.
  tellFrame(cursor) {
    if (this.cue?.plain) return;
    const frame = frameOf(this.clock, cursor);
    document.documentElement.dataset.frame = frame;
    clearTimeout(this.writing);
    if (!this.clock.playing) this.writing = setTimeout(() => writeAddress(this.moved ? frame : ""), REST);
  }

  // Says on the document which phase is on stage, and its lines of the card: for the code of app/static/code. A transition
  // that plays by is in none.
  tell(cursor) {
    const { clock } = this;
    const phase = clock.playing && cursor.settled && !clock.slow ? undefined : this.scene.phases[cursor.phase];
    const detail = {
      phases: this.scene.phases.map(({ id }) => id),
      phase: phase?.id ?? null,
      part: phase?.count === "inner" ? this.part(cursor) : null,
      label: phase?.label ?? "",
      values: phase ? this.readouts.of(cursor, this.waits()) : [],
    };
    document.dispatchEvent(new CustomEvent("stage", { detail }));
  }

  // What happens at the cursor inside the inner phase, where the scene says it.
  part({ base, inner }) {
    const { inside } = this.scene;
    return inside && inner >= 0 ? inside.names[inside.which[base + inner]] ?? null : null;
  }

  // The inside of a transition that is not loaded is asked for when the reader rests on it, or plays slowly enough to see it.
  askForInside({ t }) {
    clearTimeout(this.wish);
    const { clock } = this;
    const place = `${this.scene.run}/${t}`;
    const watched = !clock.playing || clock.rate() <= WATCHABLE;
    const wished = watched && !(clock.pending || clock.hasInside(t) || this.askedFor === place);
    // this picture will change by itself
    this.root.toggleAttribute("data-waiting", Boolean(this.waiting || clock.pending || clock.awaiting || wished));
    if (this.waiting || !wished) return;
    this.wish = setTimeout(() => {
      this.waiting = true;
      this.askedFor = place;
      this.emit({ kind: "window", t });
      this.overdue = setTimeout(() => {
        this.waiting = false;
        this.draw();
      }, OVERDUE);
    }, clock.playing ? 0 : REST);
  }

  // The loop runs only while something can move by itself.
  run() {
    if (this.frameRequest || !(this.clock.playing || this.clock.pending)) return;
    this.lastFrame = 0;
    this.fps.reset();
    this.frameRequest = requestAnimationFrame((now) => this.frame(now));
  }

  frame(now) {
    this.frameRequest = 0;
    const seconds = this.lastFrame ? Math.min(LONGEST_FRAME, (now - this.lastFrame) / 1000) : 0;
    this.lastFrame = now;
    if (now < this.aside) {
      this.frameRequest = requestAnimationFrame((next) => this.frame(next));
      return;
    }
    if (this.clock.advance(seconds)) this.draw();
    else if (this.stage.flows && this.clock.flow !== this.flow) this.paint(this.cursor());
    this.flow = this.clock.flow;
    if (this.fps.tick(now)) this.root.dataset.fps = this.fps.value;
    if (this.clock.playing || this.clock.pending) {
      this.frameRequest = requestAnimationFrame((next) => this.frame(next));
    }
  }

  repaint() {
    this.repaintRequest ??= requestAnimationFrame(() => {
      this.repaintRequest = undefined;
      this.draw();
    });
  }

  focus() {
    this.root.focus({ preventScroll: true, focusVisible: false });
  }

  // -- controls -----------------------------------------------------------------------------------------------------

  actions() {
    const { clock } = this;
    const move = (change) => () => {
      this.moved = true;
      clock.pause();
      clock.leave();
      change();
      this.pointer.hide();
      this.draw();
      this.run(); // a sub-step may wait for its window
    };
    const set = (change) => (value) => {
      this.moved = true;
      change(value);
      this.draw();
      this.run();
    };
    const pace = (change) => set((value) => {
      clock.leave();
      change(value);
    });
    return (this.controls = {
      home: move(() => clock.jump(0)),
      end: move(() => clock.jump(this.scene.steps - 1)),
      back: move(() => clock.step(-1)),
      forward: move(() => clock.step(1)),
      substepBack: move(() => clock.substep(-1)),
      substepForward: move(() => clock.substep(1)),
      toggle: set(() => {
        this.pointer.hide();
        if (clock.playing) clock.pause();
        else clock.play();
      }),
      slow: pace(() => (clock.slow = !clock.slow)),
      speed: pace((speed) => (clock.speed = speed)),
      faster: pace(() => clock.changeSpeed(1)),
      slower: pace(() => clock.changeSpeed(-1)),
      scrub: (t) => {
        this.moved = true;
        clock.pause();
        clock.leave();
        clock.jump(t);
        this.repaint();
      },
      scrubEnd: () => this.draw(),
      all: () => {
        this.all = !this.all;
        this.fill();
        this.arrange();
      },
      remove: () => this.pointer.removeSelected(),
      nextPart: () => this.movePick(1),
      previousPart: () => this.movePick(-1),
      unpick: () => this.pin(null),
    });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.scene) return;
    const { target } = event;
    if (target.closest("select, details")) return;
    const isButton = target.closest("button") !== null;
    const action = {
      " ": isButton ? null : "toggle",
      ArrowRight: event.shiftKey ? "substepForward" : "forward",
      ArrowLeft: event.shiftKey ? "substepBack" : "back",
      ".": "substepForward",
      ",": "substepBack",
      Home: "home",
      End: "end",
      "+": "faster",
      "=": "faster",
      "-": "slower",
      "−": "slower",
      Delete: "remove",
      Backspace: "remove",
      n: "nextPart",
      p: "previousPart",
      Escape: "unpick",
    }[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation(); // Streamlit has shortcuts of its own
    this.controls[action]();
  }

  movePick(direction) {
    this.clock.pause();
    this.clock.leave();
    this.links.move(this.clock.cursor(), direction);
    this.draw();
  }

  // -- export -------------------------------------------------------------------------------------------------------

  // The stage at `ratio` times its size with its legend below, whatever the screen, on a canvas that `blank` makes.
  composed(ratio, blank) {
    const sheet = blank();
    const copy = new Stage(sheet, blank);
    copy.edits = this.stage.edits;
    copy.arrange(this.scene, this.palette, this.family, this.stage.width, ratio);
    copy.draw(this.cursor());
    this.guess.paint(copy, this.busy());
    const entries = legendEntries(this.scene);
    const canvas = blank();
    const context = canvas.getContext("2d");
    const places = legendPlaces(context, entries, copy.width, font(this.family, TEXT.label));
    const margin = 12;
    const height = copy.height + (places.length ? 16 + 24 * (places.at(-1).row + 1) : 0);
    canvas.width = ratio * (copy.width + 2 * margin);
    canvas.height = ratio * (height + 2 * margin);
    context.scale(ratio, ratio);
    context.fillStyle = this.palette.color("surface");
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.translate(margin, margin);
    context.drawImage(sheet, 0, 0, copy.width, copy.height);
    context.font = font(this.family, TEXT.label);
    context.textBaseline = "middle";
    entries.forEach((entry, i) => {
      const [x, y] = [places[i].x, copy.height + 16 + 24 * places[i].row];
      drawSwatch(context, entry, this.palette, x, y);
      context.fillStyle = this.palette.color("ink");
      context.fillText(entry.label, x + 33, y + 8);
    });
    return canvas;
  }

  exportName(ending) {
    return `${fileName(this.scene)}-${this.cursor().t + 1}.${ending}`;
  }

  exportPicture(ratio) {
    const name = this.exportName(ratio === 2 ? "png" : `${ratio}x.png`);
    const canvas = this.composed(ratio, () => document.createElement("canvas"));
    const words = this.exportWords();
    canvas.toBlob(async (blob) => {
      if (blob) download(name, new Blob([withWords(new Uint8Array(await blob.arrayBuffer()), words)], { type: "image/png" }));
    }, "image/png");
  }

  // What goes with a picture: what it shows, for those who do not see it, and where it is from.
  exportWords() {
    const step = `Step ${this.cursor().t + 1} of ${this.scene.steps}.`;
    return { Title: this.scene.label, Description: `${step} ${location.href}`, Software: "Posterior Lab" };
  }

  exportDrawing() {
    const { Title, Description } = this.exportWords();
    const text = toSvg(this.composed(DRAWN, () => new VectorCanvas()), Title, Description, DRAWN);
    this.handOut("svg", new Blob([text], { type: "image/svg+xml" }));
  }

  async exportPage() {
    const [{ Title, Description }, canvas] = [this.exportWords(), this.composed(DRAWN, () => new VectorCanvas())];
    this.handOut("pdf", await toPdf(canvas, Title, Description, DRAWN));
  }

  handOut(ending, blob) {
    const fits = blob.size <= LARGEST_DRAWING;
    const kind = ending.toUpperCase();
    this.alert.textContent = `This picture has too many marks for a file of 2 MB as ${kind}: take the PNG, or fewer draws.`;
    this.alert.hidden = fits;
    if (fits) download(this.exportName(ending), blob);
  }

  // Begins a film of a kind at the present step, or ends it and hands it out; whether one is being made.
  takeFilm(Kind) {
    if (this.film) {
      const [film, name] = [this.film, this.exportName(this.film.constructor.ending)];
      this.film = null;
      this.clock.pause();
      this.draw();
      film.stop(this.exportWords()).then((blob) => download(name, blob));
      return false;
    }
    this.film = new Kind(this.canvas, this.palette.color("surface"));
    this.clock.play();
    this.draw();
    this.run();
    return true;
  }
}

// The size of the page's letters, 1 where nobody asks for larger ones: the stage grows with them.
function letters() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) / 16 || 1;
}

// What stands for a node in the page.
function hostOf(node) {
  return node.getRootNode().host ?? node;
}

// How far the page around a node has been scrolled, px.
function scrollOffset(node) {
  let offset = 0;
  for (let at = hostOf(node); at; at = at.parentElement) offset += at.scrollTop;
  return offset;
}

// Where the chips of an exported legend go: [{x, row}].
function legendPlaces(context, entries, width, textFont) {
  context.font = textFont;
  let x = 0;
  let row = 0;
  return entries.map(({ label }) => {
    const chip = 33 + context.measureText(label).width + 20;
    if (x > 0 && x + chip > width) [x, row] = [0, row + 1];
    const place = { x, row };
    x += chip;
    return place;
  });
}

// Frames a second over the last second.
class FrameCounter {
  reset() {
    this.times = [];
    this.value = 0;
    this.shown = 0;
  }

  // True when there is a new value to show.
  tick(now) {
    this.times.push(now);
    while (this.times[0] < now - 1000) this.times.shift();
    if (now - this.shown < 250 || this.times.length < 2) return false;
    this.shown = now;
    this.value = Math.round((1000 * (this.times.length - 1)) / (now - this.times[0]));
    return true;
  }
}
