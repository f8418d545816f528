// Small helpers to build elements. Text is only ever set as textContent: data never become markup.

export function element(tag, { className, text, children, on, style, dataset, ...attributes } = {}) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  for (const [name, value] of Object.entries(style ?? {})) node.style.setProperty(name, value);
  Object.assign(node.dataset, dataset ?? {});
  for (const [event, listener] of Object.entries(on ?? {})) node.addEventListener(event, listener);
  node.append(...(children ?? []));
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

// A 24 × 24 icon from the data of one path.
export function icon(path) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const shape = document.createElementNS(SVG, "path");
  shape.setAttribute("d", path);
  svg.append(shape);
  return svg;
}

// A small decorative canvas of width × height CSS pixels.
export function picture(width, height, ratio, paint) {
  const canvas = element("canvas", {
    width: Math.round(width * ratio), height: Math.round(height * ratio), "aria-hidden": "true",
  });
  const context = canvas.getContext("2d");
  context.scale(canvas.width / width, canvas.height / height);
  paint(context);
  return canvas;
}

// Sets a property only when it changes, so that nothing is laid out again for nothing.
export function update(node, property, value) {
  if (node[property] !== value) node[property] = value;
}

export function setAttribute(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

export function download(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = element("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
