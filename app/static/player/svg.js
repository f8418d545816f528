// What was drawn on a VectorCanvas, as SVG: text stays text, each picture is written once.

const SPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'; // Inkscape 1.2 wants xlink for pictures
const round = (value, digits = 100) => String(Math.round(value * digits) / digits);
const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

// title, description : for those who do not see it; ratio : of the canvas' pixels to those of the drawing
export function toSvg({ width, height, marks }, title, description, ratio) {
  const images = new Map();
  const clips = [];
  const body = written(marks, images, clips);
  const defs = [...images].map(([image, id]) => (
    `<image id="${id}" width="${image.width}" height="${image.height}" preserveAspectRatio="none" xlink:href="${image.toDataURL()}"/>`
  ));
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<svg ${SPACES} width="${width / ratio}" height="${height / ratio}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<desc>${escaped(description)}</desc>`,
    `<defs>${clips.join("")}${defs.join("")}</defs>`,
    body,
    "</svg>",
    "",
  ].join("\n");
}

function written(marks, images, clips) {
  return marks.map((mark) => {
    const content = { path: pathOf, text: textOf, image: imageOf }[mark.kind](mark, images, clips);
    const clip = clipOf(mark.clip, clips);
    return clip ? `<g clip-path="url(#${clip})">${content}</g>` : content;
  }).join("\n");
}

function pathOf({ path, fill, stroke }) {
  return tag("path", { d: dataOf(path), ...(fill ? paint("fill", fill) : { fill: "none", ...pen(stroke) }) });
}

function textOf({ text, matrix, size, weight, family, anchor, width, fill, stroke }) {
  const room = { textLength: round(width), lengthAdjust: "spacingAndGlyphs" }; // the same room in another font
  const type = { ...room, "font-size": size, "font-weight": weight, "font-family": family, "text-anchor": anchor };
  const look = fill ? paint("fill", fill) : { fill: "none", ...pen(stroke) };
  return tag("text", { transform: transform(matrix, 100), ...type, ...look }, escaped(text));
}

function imageOf({ image, matrix, alpha }, images, clips) {
  const look = { transform: transform(matrix, 1e4), ...(alpha < 1 ? { opacity: round(alpha) } : {}) };
  if (image.marks) return tag("g", look, written(image.marks, images, clips));
  if (!images.has(image)) images.set(image, `picture-${images.size}`);
  return tag("use", { "xlink:href": `#${images.get(image)}`, ...look });
}

function dataOf(path) {
  return path.map(([op, ...numbers]) => op + numbers.map((value) => round(value)).join(" ")).join("");
}

function transform({ a, b, c, d, e, f }, digits) {
  return `matrix(${[a, b, c, d, e, f].map((value) => round(value, digits)).join(" ")})`;
}

function paint(kind, { rgb, alpha }) {
  const color = { [kind]: `#${rgb.map((part) => part.toString(16).padStart(2, "0")).join("")}` };
  return alpha < 1 ? { ...color, [`${kind}-opacity`]: round(alpha) } : color;
}

function pen(stroke) {
  const look = { ...paint("stroke", stroke), "stroke-width": round(stroke.width) };
  if (stroke.cap !== "butt") look["stroke-linecap"] = stroke.cap;
  if (stroke.join !== "miter") look["stroke-linejoin"] = stroke.join;
  if (stroke.dash.length) look["stroke-dasharray"] = stroke.dash.map((length) => round(length)).join(" ");
  return look;
}

function tag(name, attributes, content = "") {
  const words = Object.entries(attributes).map(([key, value]) => ` ${key}="${key === "d" ? value : escaped(value)}"`).join("");
  return content ? `<${name}${words}>${content}</${name}>` : `<${name}${words}/>`;
}

// The id of a clip, written once; a clip within another is clipped by it.
function clipOf(clip, clips) {
  if (!clip) return null;
  const outer = clipOf(clip.within, clips);
  const inside = `>${tag("path", { d: dataOf(clip.path), ...(outer ? { "clip-path": `url(#${outer})` } : {}) })}</clipPath>`;
  const known = clips.findIndex((text) => text.endsWith(inside));
  if (known < 0) clips.push(`<clipPath id="clip-${clips.length}"${inside}`);
  return `clip-${known < 0 ? clips.length - 1 : known}`;
}
