// Where the player stands, as a link says it: the names `share.PLAYER` of app/kit/share.py. The server does not know it,
// so the player writes it itself: into the address bar once its reader has gone somewhere and rests, and for the fold
// *Share*, which completes its link with `data-frame` of the page (app/static/link/link.js).

const NAMES = ["frame", "speed", "slow"];
const NORMAL = 1;

// The parameters of a clock that stands at a cursor, all counted from 1.
export function frameOf(clock, { t, s, settled }) {
  const query = new URLSearchParams();
  if (clock.scene.steps > 1 || clock.hasPhases) query.set("frame", settled ? `${t + 1}` : `${t + 1}.${s + 1}`);
  if (clock.speed !== NORMAL) query.set("speed", String(clock.speed));
  if (clock.slow) query.set("slow", "1");
  return query.toString();
}

// A query with these parameters in place of the player's own.
export function completed(query, frame) {
  const kept = query.replace(/^\?/, "").split("&").filter((part) => part && !NAMES.includes(part.split("=")[0]));
  return [...kept, ...(frame ? [frame] : [])].join("&");
}

// Streamlit writes the address anew, without these, whenever anything else of it changes. "": they are taken away.
export function writeAddress(frame) {
  const query = completed(location.search, frame);
  const search = query ? `?${query}` : "";
  if (search !== location.search) history.replaceState(history.state, "", location.pathname + search + location.hash);
}
