// A film of the stage: what is drawn from the moment it begins until it is stopped, as WebM.

const FRAMES = 30; // a second
const KINDS = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm"];

export class Film {
  // stage : its canvas; color : behind it, for the canvas is see-through
  constructor(stage, color) {
    Object.assign(this, { stage, color, canvas: document.createElement("canvas"), parts: [] });
    [this.canvas.width, this.canvas.height] = [stage.width, stage.height];
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

  // What the stage shows now is the next frame. A stage of another size is fitted in.
  frame() {
    const { canvas, stage, color } = this;
    const context = canvas.getContext("2d");
    const scale = Math.min(canvas.width / stage.width, canvas.height / stage.height);
    context.fillStyle = color;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(stage, 0, 0, scale * stage.width, scale * stage.height);
  }

  stop() {
    return new Promise((resolve) => {
      this.recorder.addEventListener("stop", () => resolve(new Blob(this.parts, { type: "video/webm" })), { once: true });
      this.frame();
      this.recorder.stop();
    });
  }
}
