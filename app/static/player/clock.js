// The cursor (t, s) and how it moves. t is a transition, s a sub-step inside it; the draw t counts only once the
// transition is settled, at s = S(t) − 1. No DOM, no drawing.

export const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const NORMAL = 2; // index of 1×

const PATIENCE = 4; // seconds to wait for the inside of a transition before stepping over it
const CALM_RATE = 2; // states a second under prefers-reduced-motion
const PHASE_RATE = 1.2; // phases a second in slow motion at 1×
const INNER_RATE = 8; // inner items a second in slow motion at 1× …
const INNER_SECONDS = 4; // … or faster, so that an inner phase lasts no longer than this
const FLUENT_RATE = 8; // states a second up to which what fades is seen to fade …
const FLUENT_SHARE = 0.8; // … in this share of a state's time

export class Clock {
  constructor(requestWindow) {
    this.requestWindow = requestWindow; // called with t when the inside of transition t is needed
    this.scene = null;
    this.t = 0;
    this.s = 0;
    this.playing = false;
    this.slow = false;
    this.calm = false; // prefers-reduced-motion
    this.speedIndex = { normal: NORMAL, slow: NORMAL };
    this.ranOut = false; // played to the end of what was loaded
    this.pending = null; // a sub-step that waits for its window
    this.unanswered = false;
    this.credit = 0; // fraction of a state already played
  }

  // -- the scene ------------------------------------------------------------------------------------------------------

  setScene(scene) {
    const sameRun = this.scene !== null && this.scene.run === scene.run;
    const wasSettled = this.scene === null || this.settled;
    const grew = sameRun && scene.steps > this.scene.steps;
    this.scene = scene;
    this.unanswered = false;
    if (!sameRun) {
      this.jump(scene.start ?? (this.calm ? scene.steps - 1 : 0));
      this.playing = scene.autoplay && !this.calm;
      return;
    }
    this.t = Math.min(this.t, scene.steps - 1);
    const last = this.length(this.t) - 1;
    this.s = wasSettled ? last : Math.min(this.s, last);
    if (grew && this.ranOut) {
      this.ranOut = false;
      this.playing = true;
    }
    if (this.pending && this.hasInside(this.pending.t)) {
      const { direction } = this.pending;
      this.pending = null;
      this.substep(direction);
    }
  }

  get hasInnerPhase() {
    return this.scene.phases.some((phase) => phase.count === "inner");
  }

  get hasPhases() {
    return this.scene.phases.length > 0;
  }

  inWindow(t) {
    const { window } = this.scene;
    return window !== null && t >= window.first && t < window.first + window.offsets.length - 1;
  }

  hasInside(t) {
    return !(this.hasInnerPhase || this.scene.window !== null) || this.inWindow(t); // a window may have no phase
  }

  innerRange(t) {
    if (!this.inWindow(t)) return [0, 0];
    const { first, offsets } = this.scene.window;
    return [offsets[t - first], offsets[t - first + 1]];
  }

  // Sub-steps of each phase of transition t. Where the inside is not loaded only the last phase is left.
  phaseLengths(t) {
    const { phases } = this.scene;
    const [from, to] = this.innerRange(t);
    const inside = this.hasInside(t);
    return phases.map((phase, p) =>
      inside || p === phases.length - 1 ? (phase.count === "inner" ? to - from : phase.count) : 0);
  }

  length(t) {
    return this.hasPhases ? this.phaseLengths(t).reduce((a, b) => a + b, 0) : 1;
  }

  get settled() {
    return this.s >= this.length(this.t) - 1;
  }

  // -- the cursor as the layers see it --------------------------------------------------------------------------------

  cursor() {
    return { ...this.place(), slow: this.slow && this.hasPhases, flow: this.flow };
  }

  // How far the present state has faded in, 0 to 1; 1 whenever nothing plays.
  get flow() {
    if (!this.playing || this.calm || this.atEnd || this.pending || this.rate() > FLUENT_RATE) return 1;
    return Math.min(1, this.credit / FLUENT_SHARE);
  }

  place() {
    const { t, s, scene } = this;
    const settled = this.settled;
    const [base, end] = this.innerRange(t);
    let phase = -1; // index of the current phase
    let within = 0; // sub-step inside it
    let inner = this.hasInnerPhase ? -1 : end - base - 1; // inner items reached: −1 before the inner phase
    let before = 0;
    const lengths = this.hasPhases ? this.phaseLengths(t) : [];
    for (let p = 0; p < lengths.length; p++) {
      const reached = s - before;
      if (scene.phases[p].count === "inner" && reached >= 0) inner = Math.min(reached, lengths[p] - 1);
      if (reached >= 0 && reached < lengths[p]) {
        phase = p;
        within = reached;
      }
      before += lengths[p];
    }
    return {
      t, s, settled, phase, within,
      phaseLength: phase < 0 ? 0 : lengths[phase],
      upto: settled ? t : t - 1, // the newest draw that counts
      base, inner, innerLength: end - base,
      parts: this.partsAt(t, inner),
    };
  }

  // For each set of parts its rows of transition t: the first one, how many, and the last one that has appeared.
  partsAt(t, inner) {
    const found = {};
    for (const [name, { offsets, at }] of Object.entries(this.scene.parts)) {
      const w = this.inWindow(t) ? t - this.scene.window.first : -1;
      const [base, end] = w < 0 ? [0, 0] : [offsets[w], offsets[w + 1]];
      let seen = 0;
      while (base + seen < end && at[base + seen] <= inner) seen += 1;
      found[name] = { base, inner: seen - 1, innerLength: end - base };
    }
    return found;
  }

  // -- moves ----------------------------------------------------------------------------------------------------------

  jump(t) {
    this.t = Math.min(this.scene.steps - 1, Math.max(0, t));
    this.s = this.length(this.t) - 1;
    this.credit = 0;
    this.ranOut = false;
    this.pending = null;
  }

  step(direction) {
    // From inside a transition a step forward settles it, a step back takes it back.
    this.jump(direction > 0 && !this.settled ? this.t : this.t + direction);
  }

  substep(direction) {
    this.ranOut = false;
    if (direction > 0) {
      if (!this.settled) this.s += 1;
      else if (this.t + 1 < this.scene.steps) this.enter(this.t + 1, direction);
    } else if (this.s > 0) {
      this.s -= 1;
    } else if (this.hasPhases && !this.hasInside(this.t) && !this.unanswered) {
      this.enter(this.t, direction);
    } else if (this.t > 0) {
      this.jump(this.t - 1);
    }
  }

  // Goes inside transition t, asking for its inside when it is not loaded.
  enter(t, direction) {
    if (this.hasInside(t)) {
      this.t = t;
      this.s = direction > 0 ? 0 : Math.max(0, this.length(t) - 2);
      this.pending = null;
    } else if (this.unanswered) {
      this.jump(t);
    } else if (!this.pending) {
      this.pending = { t, direction, waited: 0 };
      this.requestWindow(t);
    }
  }

  giveUp() {
    const { t, direction } = this.pending;
    this.unanswered = true;
    this.jump(direction > 0 ? t : t - 1);
  }

  // -- playing --------------------------------------------------------------------------------------------------------

  get speed() {
    return SPEEDS[this.speedIndex[this.slow ? "slow" : "normal"]];
  }

  set speed(value) {
    const index = SPEEDS.indexOf(value);
    if (index >= 0) this.speedIndex[this.slow ? "slow" : "normal"] = index;
  }

  changeSpeed(direction) {
    const mode = this.slow ? "slow" : "normal";
    this.speedIndex[mode] = Math.min(SPEEDS.length - 1, Math.max(0, this.speedIndex[mode] + direction));
  }

  get atEnd() {
    return this.t === this.scene.steps - 1 && this.settled;
  }

  get growing() {
    return this.scene.total !== null && this.scene.total > this.scene.steps;
  }

  play() {
    if (this.atEnd && !this.growing) this.jump(0);
    this.playing = true;
    this.ranOut = false;
    this.credit = 0;
  }

  pause() {
    this.playing = false;
    this.ranOut = false;
    this.pending = null;
  }

  // States a second at the cursor.
  rate() {
    let rate = this.scene.rate * this.speed;
    if (this.slow && this.hasPhases) {
      const { phase, innerLength } = this.place();
      const isInner = this.scene.phases[phase]?.count === "inner" && !this.settled;
      rate = this.speed * (isInner ? Math.max(INNER_RATE, innerLength / INNER_SECONDS) : PHASE_RATE);
    }
    return this.calm ? Math.min(CALM_RATE, rate) : rate;
  }

  // Moves on by `seconds`; true if the cursor moved or playing stopped.
  advance(seconds) {
    if (this.pending) {
      this.pending.waited += seconds;
      if (this.pending.waited < PATIENCE) return false;
      this.giveUp();
      return true;
    }
    if (!this.playing) return false;
    if (this.atEnd) {
      if (this.growing) return false; // more is on its way
      this.playing = false;
      this.ranOut = true;
      return true;
    }
    this.credit += seconds * this.rate();
    const states = Math.floor(this.credit);
    if (states < 1) return false;
    this.credit -= states;
    if (this.slow && this.hasPhases) {
      for (let i = 0; i < states && !this.atEnd && !this.pending; i++) this.substep(1);
    } else {
      this.t = Math.min(this.scene.steps - 1, this.t + states);
      this.s = this.length(this.t) - 1;
    }
    return true;
  }
}
