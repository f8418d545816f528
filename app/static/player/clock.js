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
const FIRST = 0.4; // seconds of the first transition of a play of the story, the rest ever faster

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
    this.beyond = null; // a place where it is to stand once the run has grown there
    this.unanswered = false;
    this.credit = 0; // fraction of a state already played
    this.plan = null; // a play of the story that is under way
    this.awaiting = null; // a cue that waits for the inside of a transition
    this.limit = null; // the place beyond which nothing is shown: what lies there is asked
  }

  // -- the scene ------------------------------------------------------------------------------------------------------

  setScene(scene) {
    const sameRun = this.scene !== null && this.scene.run === scene.run;
    const wasSettled = this.scene === null || this.settled;
    const grew = sameRun && scene.steps > this.scene.steps;
    const beyond = sameRun && !this.playing && this.t === this.scene.steps - 1 ? this.beyond : null;
    this.beyond = null;
    this.scene = scene;
    this.unanswered = false;
    if (!sameRun) {
      this.plan = this.limit = this.awaiting = null;
      if (this.calm && scene.start === null) this.standAtTheEnd();
      else this.stay({ t: scene.start ?? 0, settled: true, s: 0 });
      this.playing = scene.autoplay && !this.calm;
      return;
    }
    this.t = Math.min(this.t, scene.steps - 1);
    for (const place of [this.limit, this.plan?.goal]) {
      if (place?.over) place.s = this.length(place.t) - 1; // its inside has come, or gone
    }
    const last = this.length(this.t) - 1;
    this.s = wasSettled ? last : Math.min(this.s, last);
    if (this.t === this.limit?.t) this.s = Math.min(this.s, this.limit.s);
    if (grew && this.ranOut) {
      this.ranOut = false;
      this.playing = true;
    }
    if (beyond) this.stay(beyond);
    if (this.awaiting) this.direct(this.awaiting);
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
    if (!this.playing || this.plan || this.calm || this.atEnd || this.pending || this.rate() > FLUENT_RATE) return 1;
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

  // Before anything is decided: the first sub-step of the first transition, where the scene has its inside.
  begin() {
    this.jump(0);
    if (this.hasPhases && this.hasInside(0)) this.s = 0;
  }

  jump(t) {
    this.settle(t);
    this.credit = 0;
    this.ranOut = false;
    this.pending = null;
  }

  // Stands in another run where it stood in the one before, as far as that has it; farther once it has grown.
  stay(place) {
    const { t, settled, s } = place;
    this.playing = false;
    this.jump(t);
    if (!settled) this.s = Math.min(s, this.s);
    this.beyond = t >= this.scene.steps ? place : null;
  }

  // At the end of the run, also of one that still grows.
  standAtTheEnd() {
    this.stay({ t: (this.scene.total ?? this.scene.steps) - 1, settled: true, s: 0 });
  }

  // Transition t, over and done with; or the limit, if that lies before it.
  settle(t) {
    this.t = Math.min(this.limit?.t ?? this.scene.steps - 1, Math.max(0, t));
    this.s = this.length(this.t) - 1;
    if (this.t === this.limit?.t) this.s = Math.min(this.s, this.limit.s);
  }

  step(direction) {
    // From inside a transition a step forward settles it, a step back takes it back.
    this.jump(direction > 0 && !this.settled ? this.t : this.t + direction);
  }

  substep(direction) {
    this.ranOut = false;
    if (direction > 0 && this.limit && this.atEnd) return;
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

  // -- the story ------------------------------------------------------------------------------------------------------

  // Plays what the cue says, from one place to another, and rests there; or waits at `until`, if what comes is asked. The
  // frame of a link stands still.
  direct(cue) {
    const { hold, begins, ends, until, seconds, pace, frame, speed, slow } = cue;
    this.limit = this.plan = null;
    this.pause();
    this.slow ||= slow;
    if (speed) this.speed = speed;
    this.awaiting = this.fetched(...(hold || !frame ? [begins, until] : [frame])) ? null : cue;
    if (this.awaiting) {
      if (hold) this.limit = { t: this.t, s: this.s };
      return;
    }
    this.arrive(begins);
    if (hold) {
      const start = { t: this.t, s: this.s };
      if (until) this.arrive(until);
      this.limit = { t: this.t, s: this.s, over: until?.[1] === null && until[0] >= 0 };
      [this.t, this.s] = [start.t, start.s];
      if (!until && !frame) return;
    }
    if (frame) {
      this.arrive(frame);
      if (this.limit && this.passed(this.limit)) [this.t, this.s] = [this.limit.t, this.limit.s];
      return;
    }
    const goal = this.limit ?? (ends && this.placed(ends));
    if (this.calm) {
      if (goal) [this.t, this.s] = [goal.t, goal.s];
      else this.standAtTheEnd(); // wherever the run starts when nothing is told
      return;
    }
    this.plan = pace === "phases" && goal ? this.stroll(goal, seconds) : this.swell(goal, seconds);
    this.playing = this.plan !== null;
  }

  // Whether the inside of these places is loaded, where they need it; else it is asked for, and they wait for it.
  fetched(...places) {
    const inside = places.find((place) => place && place[1] !== null && place[0] < this.scene.steps && !this.hasInside(place[0]));
    if (!inside || this.unanswered) return true;
    this.jump(inside[0] - 1);
    this.requestWindow(inside[0]);
    return false;
  }

  // Stands at a place [transition, phase or sub-step]: at the beginning of the phase, or where the transition is over.
  arrive(place) {
    if (!place || place[0] < 0) this.begin();
    else ({ t: this.t, s: this.s } = this.placed(place));
  }

  // `over`: where the transition is over, however many sub-steps of it are loaded.
  placed([t, phase]) {
    const over = phase === null;
    const at = Math.min(t, this.scene.steps - 1);
    const lengths = this.phaseLengths(at);
    const index = this.scene.phases.findIndex(({ id }) => id === phase);
    const last = this.length(at) - 1;
    if (!this.hasInside(at)) return { t: at, s: last, over };
    if (index < 0) return { t: at, s: Math.min(phase ?? last, last), over };
    return { t: at, s: lengths.slice(0, index).reduce((a, b) => a + b, 0) };
  }

  // A play of one transition at first, and then ever more at once.
  swell(goal, longest) {
    const { steps, total } = this.scene;
    const over = ({ t, s }) => (s >= this.length(t) - 1 ? t + 1 : t); // transitions behind a place
    const done = over(this);
    const count = (goal ? over(goal) : total ?? steps) - done;
    if (count <= 0) return goal ? this.stroll(goal, longest) : null;
    const seconds = Math.min(longest, count / Math.max(this.scene.rate, 1 / FIRST));
    const power = seconds < longest ? 1 : Math.max(1, Math.log(count) / Math.log(seconds / FIRST));
    return { goal, done, count, seconds, power, elapsed: 0 };
  }

  // A play from sub-step to sub-step.
  stroll(goal, seconds) {
    if (this.passed(goal)) return null;
    return { goal, seconds, strolls: true, elapsed: 0 };
  }

  passed({ t, s }) {
    return this.t > t || (this.t === t && this.s >= s);
  }

  // The reader takes over.
  leave() {
    this.plan = null;
  }

  // A press of *Next* while it plays: on by a sub-step where it plays them, else to the end.
  hasten() {
    if (!this.plan.strolls) {
      this.rest();
      return;
    }
    this.playing = false;
    this.substep(1);
    if (this.passed(this.plan.goal)) this.rest();
  }

  // Moves along the plan by `seconds`; true if something is to be drawn.
  follow(seconds) {
    const { plan } = this;
    const before = [this.t, this.s];
    if (plan.strolls) this.walk(seconds);
    else if (!this.run(seconds)) return false;
    if (plan.elapsed >= plan.seconds || (plan.strolls && this.passed(plan.goal))) this.rest();
    return !this.plan || this.t !== before[0] || this.s !== before[1];
  }

  // False while the rest is still on its way.
  run(seconds) {
    const { plan } = this;
    const share = Math.min(1, (plan.elapsed + seconds) / plan.seconds);
    const done = plan.done + (share === 1 ? plan.count : Math.floor(plan.count * share ** plan.power));
    if (done > this.scene.steps && this.growing) return false;
    plan.elapsed += seconds;
    if (done > 0) this.settle(done - 1);
    return true;
  }

  walk(seconds) {
    this.plan.elapsed += seconds;
    this.credit += seconds * this.innerRate();
    if (this.credit < 1) return;
    this.credit -= 1;
    this.substep(1);
  }

  // The play has come to its end.
  rest() {
    const { goal, done, count } = this.plan;
    this.plan = null;
    this.playing = false;
    if (!goal) this.settle(done + count - 1);
    else [this.t, this.s, this.pending] = [goal.t, goal.s, null];
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
    if (this.limit) return this.t === this.limit.t && this.s >= this.limit.s;
    return this.t === this.scene.steps - 1 && this.settled;
  }

  get growing() {
    return !this.limit && this.scene.total !== null && this.scene.total > this.scene.steps;
  }

  play() {
    if (this.limit && this.atEnd) return;
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
    if (this.plan?.strolls) return this.innerRate();
    if (this.plan) {
      const { count, seconds, power, elapsed } = this.plan;
      return ((count * power) / seconds) * (elapsed / seconds) ** (power - 1);
    }
    const rate = this.speed * (this.slow && this.hasPhases ? this.innerRate() : this.scene.rate);
    return this.calm ? Math.min(CALM_RATE, rate) : rate;
  }

  // Sub-steps a second at the cursor in slow motion.
  innerRate() {
    const { phase, innerLength } = this.place();
    const isInner = this.scene.phases[phase]?.count === "inner" && !this.settled;
    return isInner ? Math.max(INNER_RATE, innerLength / INNER_SECONDS) : PHASE_RATE;
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
    if (this.plan) return this.follow(seconds);
    if (this.atEnd) {
      if (this.growing) return false; // more is on its way
      this.playing = false;
      this.ranOut = this.limit === null;
      return true;
    }
    this.credit += seconds * this.rate();
    const states = Math.floor(this.credit);
    if (states < 1) return false;
    this.credit -= states;
    if (this.slow && this.hasPhases) {
      for (let i = 0; i < states && !this.atEnd && !this.pending; i++) this.substep(1);
    } else {
      this.settle(this.settled ? this.t + states : this.t + states - 1);
    }
    return true;
  }
}
