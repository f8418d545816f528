// The line of the glossary of a term that the reader points at, touches or comes to by the keyboard: `[R-hat](#term=r-hat)`
// in a text. See app/kit/glossary.py.

const version = new URL(import.meta.url).search;
const { element } = await import(`./dom.js${version}`);

const LINGER = 250; // ms in which the pointer may go from the word to its line
let terms = null; // loaded when the first is asked for

const more = element("a", { text: "Its lesson" });
const words = element("span");
const bubble = element("div", { id: "glossary-line", className: "glossary-line", role: "tooltip", hidden: true, children: [words, more] });
let leaving = 0;
let asked = null;
let under = null; // the term that the pointer, or the focus, has come to: put away by Escape, its line comes back with the next visit

function stay() {
  clearTimeout(leaving);
  leaving = 0;
}

async function show(link) {
  asked = link;
  stay();
  terms ??= fetch(new URL("app/static/glossary.json" + version, document.baseURI)).then((answer) => answer.json());
  const term = (await terms)[link.hash.slice("#term=".length)];
  if (!term || asked !== link) return;
  words.textContent = `${term.means} `;
  more.href = new URL(term.lesson, document.baseURI).href;
  link.setAttribute("aria-describedby", bubble.id);
  if (!bubble.isConnected) document.body.append(bubble);
  bubble.hidden = false;
  const at = link.getBoundingClientRect();
  const box = bubble.getBoundingClientRect();
  bubble.style.left = `${Math.max(8, Math.min(innerWidth - box.width - 8, at.left))}px`;
  bubble.style.top = `${at.bottom + box.height + 8 < innerHeight ? at.bottom + 4 : at.top - box.height - 4}px`;
}

function hide() {
  stay();
  asked?.removeAttribute("aria-describedby");
  asked = null;
  bubble.hidden = true;
}

// Called once for the page.
export function explainTerms() {
  const term = ({ target }) => (target instanceof Element ? target.closest('a[href^="#term="]') : null);
  const point = (event) => {
    const link = term(event);
    const came = link !== under;
    under = link;
    if (link && came && link !== asked) show(link);
    else if (link || bubble.contains(event.target)) stay();
    else if (asked) leaving ||= setTimeout(hide, LINGER);
  };
  // Not "pointerover": that comes, too, when the page moves a term under a pointer that rests.
  for (const kind of ["pointermove", "focusin"]) document.addEventListener(kind, point);
  document.addEventListener("click", (event) => {
    const link = term(event);
    if (link) {
      event.preventDefault(); // the address is the run's
      show(link);
    } else if (!bubble.contains(event.target)) hide();
  });
  document.addEventListener("keydown", ({ key }) => key === "Escape" && hide());
  document.addEventListener("scroll", hide, { capture: true, passive: true });
}
