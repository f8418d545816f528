// What was drawn on a VectorCanvas, as PDF of one page. Text stays text: its letters are those of the screen, traced, as a
// font of the file itself (Type 3), so that any sign of any font may stand there.
// Source: ISO 32000-1: 7.5 (file), 8.4 to 8.9 (graphics), 9.6.5 (Type 3), 9.10.3 (what letters mean), 11.6.5 (masks).

const version = new URL(import.meta.url).search;
const { EM, outline } = await import(`./outlines.js${version}`);

const POINTS = 0.75; // of a CSS pixel
const LETTERS = 255; // of one font
const CAPS = { butt: 0, round: 1, square: 2 };
const JOINS = { miter: 0, round: 1, bevel: 2 };

const round = (value) => String(Math.round(value * 1000) / 1000);
const numbers = (...values) => values.map(round).join(" ");
const hex = (code, digits) => code.toString(16).toUpperCase().padStart(digits, "0");
const utf16 = (text) => [...Array(text.length).keys()].map((i) => hex(text.charCodeAt(i), 4)).join("");
const told = (text) => `<FEFF${utf16(text)}>`;

// title, description : for those who do not see it; ratio : of the canvas' pixels to those of the drawing
export async function toPdf({ width, height, marks }, title, description, ratio) {
  const file = new PdfFile();
  const page = new Page(file);
  const scale = POINTS / ratio;
  page.put(`${numbers(scale, 0, 0, -scale, 0, scale * height)} cm`);
  page.draw(marks);
  const [catalog, pages, sheet, info] = [1, 2, 3, 4].map(() => file.reserve());
  const resources = await page.resources();
  const content = await file.stream("", page.written());
  file.set(sheet, `<< /Type /Page /Parent ${pages} 0 R /MediaBox [0 0 ${numbers(scale * width, scale * height)}] /Contents ${content} 0 R `
    + `/Resources ${resources} /Group << /S /Transparency /CS /DeviceRGB >> >>`);
  file.set(pages, `<< /Type /Pages /Kids [${sheet} 0 R] /Count 1 >>`);
  file.set(catalog, `<< /Type /Catalog /Pages ${pages} 0 R /Lang (en) /ViewerPreferences << /DisplayDocTitle true >> >>`);
  file.set(info, `<< /Title ${told(title)} /Subject ${told(description)} /Creator (Posterior Lab) >>`);
  return file.blob(catalog, info);
}

class PdfFile {
  constructor() {
    this.objects = []; // of each number, from 1: the parts that it is written with
  }

  reserve() {
    return this.objects.push(null);
  }

  set(number, ...parts) {
    this.objects[number - 1] = parts;
  }

  // A new object of bytes or text, packed.
  async stream(dictionary, content) {
    const number = this.reserve();
    const packing = new Blob([content]).stream().pipeThrough(new CompressionStream("deflate"));
    const packed = new Uint8Array(await new Response(packing).arrayBuffer());
    this.set(number, `<< ${dictionary} /Filter /FlateDecode /Length ${packed.length} >>\nstream\n`, packed, "\nendstream");
    return number;
  }

  blob(catalog, info) {
    const parts = [];
    let length = 0;
    const put = (part) => {
      const bytes = typeof part === "string" ? new TextEncoder().encode(part) : part;
      parts.push(bytes);
      length += bytes.length;
    };
    put("%PDF-1.7\n");
    put(new Uint8Array([37, 226, 227, 207, 211, 10])); // a comment that says: not only text
    const places = this.objects.map((written, i) => {
      const place = length;
      for (const part of [`${i + 1} 0 obj\n`, ...written, "\nendobj\n"]) put(part);
      return `${String(place).padStart(10, "0")} 00000 n \n`;
    });
    const [size, table] = [this.objects.length + 1, length];
    put(`xref\n0 ${size}\n0000000000 65535 f \n${places.join("")}`);
    put(`trailer\n<< /Size ${size} /Root ${catalog} 0 R /Info ${info} 0 R >>\nstartxref\n${table}\n%%EOF\n`);
    return new Blob(parts, { type: "application/pdf" });
  }
}

class Page {
  constructor(file) {
    Object.assign(this, { file, lines: [], alphas: new Map(), images: new Map(), fonts: new Fonts() });
  }

  put(...lines) {
    this.lines.push(...lines);
  }

  written() {
    return this.lines.join("\n");
  }

  draw(marks, alpha = 1) {
    for (const mark of marks) {
      this.put("q");
      for (let clip = mark.clip; clip; clip = clip.within) this.put(dataOf(clip.path), "W n");
      this[mark.kind](mark, alpha);
      this.put("Q");
    }
  }

  path({ path, fill, stroke }, alpha) {
    if (fill) this.ink("rg", fill, alpha);
    else this.pen(stroke, alpha);
    this.put(dataOf(path), fill ? "f" : "S");
  }

  ink(operator, { rgb, alpha }, also) {
    this.put(`${numbers(...rgb.map((part) => part / 255))} ${operator}`);
    this.through(alpha * also);
  }

  pen(stroke, alpha) {
    this.ink("RG", stroke, alpha);
    this.put(`${round(stroke.width)} w ${CAPS[stroke.cap]} J ${JOINS[stroke.join]} j [${numbers(...stroke.dash)}] 0 d`);
  }

  // How much covers what is behind.
  through(alpha) {
    const share = round(alpha);
    if (share === "1") return;
    if (!this.alphas.has(share)) this.alphas.set(share, `A${this.alphas.size}`);
    this.put(`/${this.alphas.get(share)} gs`);
  }

  text({ text, matrix, size, weight, family, anchor, width, fill, stroke }, alpha) {
    const letters = [...new Intl.Segmenter("en").segment(text)].map(({ segment }) => this.fonts.letter(segment, weight, family));
    const [{ a, b, c, d, e, f }, grown] = [matrix, size / EM];
    const natural = grown * letters.reduce((sum, { advance }) => sum + advance, 0);
    const shift = -{ start: 0, middle: width / 2, end: width }[anchor];
    this.put(`${numbers(a, b, c, d, e, f)} cm`, `1 0 0 -1 ${numbers(shift, 0)} cm`);
    if (stroke) this.edges(letters, grown * (natural ? width / natural : 1), grown, stroke, alpha);
    else {
      this.ink("rg", fill, alpha);
      this.put("BT", `${natural ? round((100 * width) / natural) : 100} Tz`);
      let font = null;
      for (const letter of letters) {
        if (letter.font !== font) this.put(`/${(font = letter.font)} ${round(size)} Tf`);
        this.put(`<${hex(letter.code, 2)}> Tj`);
      }
      this.put("ET");
    }
  }

  // Lines around letters, which a Type 3 font does not draw.
  edges(letters, wide, high, stroke, alpha) {
    this.pen(stroke, alpha);
    let at = 0;
    for (const { advance, loops } of letters) {
      const path = loops.flatMap((loop) => [...loop.map(([x, y], i) => [i ? "L" : "M", at + wide * x, -high * y]), ["Z"]]);
      if (path.length) this.put(dataOf(path), "S");
      at += wide * advance;
    }
  }

  image({ image, matrix, alpha }, also) {
    const { a, b, c, d, e, f } = matrix;
    this.put(`${numbers(a, b, c, d, e, f)} cm`);
    if (image.marks) {
      this.draw(image.marks, alpha * also);
      return;
    }
    if (!image.width || !image.height) return;
    if (!this.images.has(image)) this.images.set(image, `P${this.images.size}`);
    this.through(alpha * also);
    this.put(`${numbers(image.width, 0, 0, -image.height, 0, image.height)} cm /${this.images.get(image)} Do`);
  }

  async resources() {
    const states = [...this.alphas].map(([share, name]) => `/${name} << /ca ${share} /CA ${share} >>`);
    const pictures = [];
    for (const [image, name] of this.images) pictures.push(`/${name} ${await this.picture(image)} 0 R`);
    const fonts = await this.fonts.written(this.file);
    return `<< /ExtGState << ${states.join(" ")} >> /XObject << ${pictures.join(" ")} >> /Font << ${fonts.join(" ")} >> >>`;
  }

  // The pixels of a picture, and how much each covers.
  async picture(image) {
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    const [colors, covers] = [new Uint8Array((data.length / 4) * 3), new Uint8Array(data.length / 4)];
    for (let i = 0; i < covers.length; i++) {
      colors.set(data.subarray(4 * i, 4 * i + 3), 3 * i);
      covers[i] = data[4 * i + 3];
    }
    const size = `/Type /XObject /Subtype /Image /Width ${image.width} /Height ${image.height} /BitsPerComponent 8 /Interpolate true`;
    const mask = await this.file.stream(`${size} /ColorSpace /DeviceGray`, covers);
    return this.file.stream(`${size} /ColorSpace /DeviceRGB /SMask ${mask} 0 R`, colors);
  }
}

// The letters that are used, by font.
class Fonts {
  constructor() {
    this.letters = new Map();
    this.fonts = []; // {name, type, letters}
  }

  letter(sign, weight, family) {
    const type = `${weight} ${family}`;
    const key = `${type}|${sign}`;
    if (!this.letters.has(key)) {
      let font = this.fonts.find((one) => one.type === type && one.letters.length < LETTERS);
      if (!font) this.fonts.push(font = { name: `F${this.fonts.length}`, type, letters: [] });
      const letter = { ...outline(sign, weight, family), sign, font: font.name, code: font.letters.length + 1 };
      font.letters.push(letter);
      this.letters.set(key, letter);
    }
    return this.letters.get(key);
  }

  async written(file) {
    const names = [];
    for (const { name, letters } of this.fonts) names.push(`/${name} ${await fontOf(file, letters)} 0 R`);
    return names;
  }
}

async function fontOf(file, letters) {
  const shapes = [];
  for (const { advance, loops, code } of letters) {
    const path = loops.flatMap((loop) => [...loop.map(([x, y], i) => [i ? "L" : "M", x, -y]), ["Z"]]);
    const every = loops.flat();
    const [xs, ys] = [every.map(([x]) => x), every.map(([, y]) => -y)];
    const box = every.length ? [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)] : [0, 0, 0, 0];
    const shape = await file.stream("", `${numbers(advance, 0, ...box)} d1\n${dataOf(path)}\nf*`);
    shapes.push(`/g${code} ${shape} 0 R`);
  }
  const meant = letters.map(({ code, sign }) => `<${hex(code, 2)}> <${utf16(sign)}>`);
  const maps = [];
  for (let i = 0; i < meant.length; i += 100) {
    const some = meant.slice(i, i + 100); // so many are allowed in one
    maps.push(`${some.length} beginbfchar\n${some.join("\n")}\nendbfchar`);
  }
  const meaning = await file.stream("", [
    "/CIDInit /ProcSet findresource begin 12 dict begin begincmap",
    "/CMapName /Letters def /CMapType 2 def 1 begincodespacerange <00> <FF> endcodespacerange",
    ...maps,
    "endcmap CMapName currentdict /CMap defineresource pop end end",
  ].join("\n"));
  const font = file.reserve();
  const [names, widths] = [letters.map(({ code }) => `/g${code}`), letters.map(({ advance }) => advance)];
  file.set(font, `<< /Type /Font /Subtype /Type3 /FontBBox [0 0 0 0] /FontMatrix [${1 / EM} 0 0 ${1 / EM} 0 0] /FirstChar 1 `
    + `/LastChar ${letters.length} /Widths [${numbers(...widths)}] /Resources << >> /CharProcs << ${shapes.join(" ")} >> `
    + `/Encoding << /Type /Encoding /Differences [1 ${names.join(" ")}] >> /ToUnicode ${meaning} 0 R >>`);
  return font;
}

function dataOf(path) {
  const operators = { M: "m", L: "l", C: "c", Z: "h" };
  return path.map(([op, ...values]) => `${numbers(...values)} ${operators[op]}`.trim()).join("\n");
}
