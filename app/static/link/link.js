// The link of the fold *Share*, and what embeds it: completed with where the player stands, each with a button that
// copies it. Entry of app/kit/loader.js.

const version = new URL(import.meta.url).search;
const [{ element }, { completed }] = await Promise.all(
  ["dom", "address"].map((name) => import(`../player/${name}.js${version}`)),
);

const links = new WeakMap();
const COPIED = 1500; // ms in which the button says so

export function render({ parentElement, data }) {
  if (!links.has(parentElement)) links.set(parentElement, new Link(parentElement));
  links.get(parentElement).receive(data);
}

export function remove(parentElement) {
  links.get(parentElement)?.destroy();
  links.delete(parentElement);
}

const STYLE = `
:host { display: block; }
div { font: 0.875rem/1.5 var(--st-font, "Source Sans", sans-serif); color: var(--st-text-color); }
p { margin: 0 0 0.25rem; }
.row { display: flex; gap: 0.5rem; align-items: flex-start; margin-bottom: 0.75rem; }
code {
  flex: 1; padding: 0.5rem 0.75rem; max-height: 8.5rem; overflow-y: auto; overflow-wrap: anywhere; border-radius: 0.5rem;
  font: 0.8125rem/1.5 var(--st-code-font, monospace); background: var(--st-secondary-background-color);
}
button {
  font: inherit; color: inherit; background: transparent; cursor: pointer;
  border: 1px solid var(--st-border-color); border-radius: 0.5rem; padding: 0.25rem 0.75rem;
}
button:focus-visible, code:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
`;

function row(label) {
  const code = element("code", { role: "textbox", tabindex: 0, "aria-readonly": "true", "aria-label": label });
  const button = element("button", { type: "button", text: "Copy", "aria-label": `Copy the ${label.toLowerCase()}` });
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch { // a page without https may not: the text is selected, and the reader copies it
      getSelection().selectAllChildren(code);
    }
    setTimeout(() => (button.textContent = "Copy"), COPIED);
  });
  return { code, node: element("div", { className: "row", children: [code, button] }) };
}

class Link {
  constructor(parentElement) {
    this.link = row("Link");
    this.embed = row("Embedding");
    this.root = element("div", {
      children: [
        element("p", { text: "Link with every value, the seed, the step, and where the player stands" }), this.link.node,
        element("p", { text: "Embed in a web page" }), this.embed.node,
      ],
    });
    this.style = element("style", { text: STYLE });
    parentElement.append(this.style, this.root);
    this.watch = new MutationObserver(() => this.show());
    this.watch.observe(document.documentElement, { attributes: true, attributeFilter: ["data-frame"] });
  }

  receive(data) {
    this.data = data;
    this.show();
  }

  show() {
    const { address, title } = this.data;
    const [page, query] = address.split("?");
    const link = `${page}?${completed(query, document.documentElement.dataset.frame)}`;
    const frame = element("iframe", { src: `${link}&embed=true`, title, width: "100%", height: "760" });
    if (this.link.code.textContent === link) return;
    this.link.code.textContent = link;
    this.embed.code.textContent = frame.outerHTML;
  }

  destroy() {
    this.watch.disconnect();
    this.root.remove();
    this.style.remove();
  }
}
