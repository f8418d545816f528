// The short way of pictures: a socket of the player's own, past Streamlit's messages. See app/kit/push.py.

const STAMP = 24; // bytes at the end of the data: the channel's token; the number of the picture and the length of the
// cue before the stamp, each as uint32
const PATIENCE = 1000; // ms that a picture may be on its way when its stamp is there already
const PAUSE = 500; // ms before a server that has gone is called again; then twice as long each time, up to
const LONGEST_PAUSE = 30_000;
const GOODBYE = 1000; // closing codes: the server means it,
const UNKNOWN = 1008; // or it does not know this page

export class Channel {
  constructor(show, ask, take) {
    this.show = show;
    this.ask = ask; // for a picture that did not come
    this.take = take; // a table of app/kit/preview.py, which has no number
    this.token = null;
    this.shown = 0;
    this.expected = 0;
  }

  // Whether data that came the long way are a picture and news. They also say where to listen.
  isNew(data) {
    const stamp = readStamp(data);
    if (!stamp) return true;
    if (stamp.token !== this.token) this.shown = 0; // another session: it counts from the beginning
    this.listen(stamp.token);
    if (data.length > STAMP + stamp.cue) return this.counts(stamp);
    if (stamp.number > this.shown) this.expect(stamp.number);
    return false;
  }

  // Whether the picture that the data are or name is there.
  has(data) {
    const stamp = readStamp(data);
    return stamp !== null && stamp.number === this.shown;
  }

  // A picture went the short way. If it does not come, ask for it. A page that polls names it again and again.
  expect(number) {
    if (number === this.expected) return;
    this.expected = number;
    const coming = this.socket?.readyState === WebSocket.OPEN;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => number > this.shown && this.ask(), coming ? PATIENCE : 0);
  }

  counts({ number }) {
    if (number <= this.shown) return false;
    this.shown = number;
    return true;
  }

  // A socket that was lost is opened again; one that was refused is not tried twice.
  listen(token) {
    if (token === this.token && (this.socket || this.refused)) return;
    this.close();
    this.token = token;
    this.refused = true; // until it opens
    this.broken = false;
    this.call(PAUSE);
  }

  call(pause) {
    const url = new URL(`picture/${this.token}`, document.baseURI);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = (this.socket = new WebSocket(url));
    socket.binaryType = "arraybuffer";
    socket.onopen = () => (this.refused = false);
    socket.onmessage = (event) => {
      const data = new Uint8Array(event.data);
      if (socket !== this.socket) return;
      const stamp = readStamp(data);
      if (!stamp) this.take(data.subarray(0, -STAMP));
      else if (this.counts(stamp)) this.show(data);
    };
    socket.onclose = ({ code }) => {
      if (socket !== this.socket) return;
      this.socket = null;
      if (code === UNKNOWN) this.unknown();
      if (this.refused || code === GOODBYE) return;
      this.broken = true;
      this.calling = setTimeout(() => this.call(Math.min(2 * pause, LONGEST_PAUSE)), pause);
    };
  }

  // A server that knew this page and has been started anew since: Streamlit connects to it again and asks for nothing.
  unknown() {
    this.refused = true;
    if (this.broken) location.reload();
  }

  close() {
    const { socket } = this;
    clearTimeout(this.waiting);
    clearTimeout(this.calling);
    this.expected = 0;
    this.socket = null;
    socket?.close();
  }
}

// {token, number, cue: the number of its bytes}, or null without a stamp.
function readStamp(data) {
  const bytes = data.subarray(-STAMP);
  const view = new DataView(bytes.buffer, bytes.byteOffset + 16, 8);
  const [number, cue] = [view.getUint32(0, true), view.getUint32(4, true)];
  if (number === 0) return null;
  const token = Array.from(bytes.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return { number, cue, token };
}

// What the story wants of the picture that the data are or name: {id, hold, …}, or null. See app/kit/direction.py.
export function readCue(data) {
  const stamp = readStamp(data);
  if (!stamp?.cue) return null;
  return JSON.parse(new TextDecoder().decode(data.subarray(-STAMP - stamp.cue, data.length - STAMP)));
}
