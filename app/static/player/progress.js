// What the reader has seen of each lesson, kept in this browser and nowhere else: {slug: {seen: [steps], at}}, steps from
// 0. The start page has a place for it at each lesson, `a.progress` that leads to it: app/start.py.

const KEY = "posterior-lab/seen";
const STEP = /^([a-z-]+)\/(\d+)\//; // of a cue's id

function read() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return kept && typeof kept === "object" ? kept : {};
  } catch { // no storage, or not ours
    return {};
  }
}

// The reader has come to the step of a cue.
export function noteStep(id) {
  const [, slug, step] = STEP.exec(id) ?? [];
  if (!slug) return;
  const kept = read();
  const seen = Array.isArray(kept[slug]?.seen) ? kept[slug].seen : [];
  kept[slug] = { seen: [...new Set([...seen, Number(step)])], at: Number(step) };
  try {
    localStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // full, or forbidden: then the start page tells nothing
  }
}

// `link`: its class tells the lesson and the number of its steps, and its address leads to the first.
function tell(link, kept) {
  const [, slug, steps] = /\bof-([a-z-]+)-(\d+)\b/.exec(link.className) ?? [];
  const { seen, at } = kept[slug] ?? {};
  if (!Array.isArray(seen) || !Number.isInteger(at)) return;
  const all = seen.length >= Number(steps);
  link.textContent = all ? `✓ seen to the end: all ${steps} steps` : `Go on at step ${at + 1} of ${steps}`;
  link.href = new URL(`${slug}?story=${at + 1}`, document.baseURI).href;
  link.classList.add("told");
}

// Called once for the page.
export function tellProgress() {
  let asked = 0;
  const look = () => {
    asked = 0;
    const links = document.querySelectorAll("a.progress:not(.told)");
    if (links.length) {
      const kept = read();
      links.forEach((link) => tell(link, kept));
    }
  };
  new MutationObserver(() => (asked ||= requestAnimationFrame(look))).observe(document.body, { childList: true, subtree: true });
  look();
}
