// Films of the stage: what is drawn from the moment they begin until they are stopped.

const version = new URL(import.meta.url).search;
const { animated } = await import(`./png.js${version}`);

const FRAMES = 30; // a second
const KINDS = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm"];
const PAUSE = 80; // ms between the pictures of a moving PNG
const MOST = 250; // of them: twenty seconds

class Reel {
  // stage : its canvas; color : behind it, for the canvas is see-through
  constructor(stage, color) {
    Object.assign(this, { stage, color, canvas: document.createElement("canvas") });
    [this.canvas.width, this.canvas.height] = [stage.width, stage.height];
  }

  // What the stage shows now is the next frame. A stage of another size is fitted in.
  frame() {
    const { canvas, stage, color } = this;
    const context = canvas.getContext("2d");
    const scale = Math.min(canvas.width / stage.width, canvas.height / stage.height);
    context.fillStyle = color;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(stage, 0, 0, scale * stage.width, scale * stage.height);
  }
}

// As WebM, by the browser's own recorder.
export class Film extends Reel {
  static ending = "webm";
  full = false;

  constructor(...scene) {
    super(...scene);
    this.parts = [];
    this.frame();
    this.recorder = new MediaRecorder(this.canvas.captureStream(FRAMES), { mimeType: KINDS.find(Film.can) });
    this.recorder.addEventListener("dataavailable", ({ data }) => this.parts.push(data));
    this.recorder.start();
  }

  static can(kind) {
    return typeof MediaRecorder === "function" && MediaRecorder.isTypeSupported(kind);
  }

  static get possible() {
    return KINDS.some(Film.can);
  }

  stop() {
    return new Promise((resolve) => {
      this.recorder.addEventListener("stop", () => resolve(new Blob(this.parts, { type: "video/webm" })), { once: true });
      this.frame();
      this.recorder.stop();
    });
  }
}

// As a PNG that moves: every dot of every frame as it was, and any page or slide plays it.
export class MovingPicture extends Reel {
  static ending = "animated.png";

  constructor(...scene) {
    super(...scene);
    this.frames = []; // {at, bytes}: ms, and a promise
    this.frame();
  }

  get full() {
    return this.frames.length >= MOST;
  }

  frame() {
    const now = performance.now();
    if (!this.full && now - (this.frames.at(-1)?.at ?? -PAUSE) >= PAUSE) this.take(now);
  }

  take(at) {
    super.frame();
    const bytes = new Promise((resolve) => this.canvas.toBlob(resolve, "image/png")).then((blob) => blob.arrayBuffer());
    this.frames.push({ at, bytes });
  }

  // words : {keyword: text} to go with it
  async stop(words) {
    this.take(performance.now());
    const frames = await Promise.all(this.frames.map(async ({ at, bytes }) => ({ at, bytes: new Uint8Array(await bytes) })));
    const lasts = frames.map(({ at }, i) => (frames[i + 1]?.at ?? at + 1000) - at); // the last one a second
    return new Blob([animated(frames.map(({ bytes }) => bytes), lasts, words)], { type: "image/png" });
  }
}
