// The inline part of a component: it travels in every mount message, so it only fetches the component proper, which the
// browser caches under the hash of its files.
const latest = new WeakMap();
let loading = null;
let failures = 0;

function load() {
  // Browsers may remember a failed import under its URL, so a new try gets a new one.
  const query = "?v=__VERSION__" + (failures ? "&again=" + failures : "");
  loading ??= import(new URL("app/static/__NAME__/__NAME__.js" + query, document.baseURI).href);
  return loading;
}

function complain(parentElement) {
  loading = null;
  failures += 1;
  const note = document.createElement("p");
  note.setAttribute("role", "alert");
  note.dataset.loader = "";
  note.textContent = "The __NAME__ could not be loaded. Reload the page; if this stays, static serving is switched off.";
  parentElement.querySelector("[data-loader]")?.remove();
  parentElement.append(note);
}

export default function (component) {
  const { parentElement } = component;
  latest.set(parentElement, component); // only the newest data matter once the module is there
  load().then(
    (module) => {
      if (!latest.has(parentElement)) return; // gone in the meantime
      parentElement.querySelector("[data-loader]")?.remove();
      module.render(latest.get(parentElement));
    },
    () => complain(parentElement),
  );
  return () => {
    if (parentElement.isConnected) return; // only this call has ended: a newer one came before Streamlit had made it
    latest.delete(parentElement);
    loading?.then((module) => module.remove(parentElement), () => {});
  };
}
