// Numbers as text: one typographic minus, digits that do not jump, powers of ten in superscript.

const SUPERSCRIPT = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

export function superscript(integer) {
  return String(integer).replace(/[-0-9]/g, (digit) => SUPERSCRIPT[digit]);
}

function groupThousands(text) {
  const [whole, fraction] = text.split(".");
  if (whole.replace("-", "").length < 5) return text;
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "\u202f");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

function scientific(value, digits) {
  if (value === 0) return "0";
  const [mantissa, exponent] = value.toExponential(digits).split("e");
  return `${mantissa}×10${superscript(Number(exponent))}`;
}

// Four significant digits, without trailing zeros; very large and very small numbers as powers of ten.
function general(value, digits) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return scientific(value, Math.max(0, digits - 1)).replace(/\.?0+×/, "×");
  return groupThousands(String(Number(value.toPrecision(digits))));
}

// format: "", ".3f", "+.2f", ".2e", "d", ".1%", ".3g"
export function formatNumber(value, format = "") {
  if (value === undefined || value === null || Number.isNaN(value)) return "–";
  const sign = format.startsWith("+") && value > 0 ? "+" : "";
  if (!Number.isFinite(value)) return value > 0 ? `${sign}∞` : "−∞";
  const match = /^\+?(?:\.(\d+))?([fegd%]?)$/.exec(format);
  const digits = match?.[1] === undefined ? null : Number(match[1]);
  let text;
  switch (match?.[2]) {
    case "f": text = groupThousands(value.toFixed(digits ?? 6)); break;
    case "e": text = scientific(value, digits ?? 3); break;
    case "d": text = groupThousands(String(Math.round(value))); break;
    case "%": text = `${(100 * value).toFixed(digits ?? 1)} %`; break;
    default: text = general(value, digits ?? 4);
  }
  if (/^-[0.]*$/.test(text)) text = text.slice(1); // no "−0.00"
  return sign + text.replace("-", "−");
}

// The shortest decimal that reads back as the same float32, for exports.
export function shortestFloat32(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(Number(value.toPrecision(9)));
}

// The text of a template compiled by scene.py; lookup(name) gives a number, a string, or undefined when not known yet.
export function fillTemplate(tokens, lookup) {
  let text = "";
  for (const token of tokens) {
    if (typeof token === "string") {
      text += token;
      continue;
    }
    const value = lookup(token.name);
    if (value === undefined) text += "…";
    else if (token.words) text += token.words[Math.min(token.words.length - 1, Math.max(0, Math.round(value)))] ?? "–";
    else text += typeof value === "string" ? value : formatNumber(value, token.format);
  }
  return text;
}
