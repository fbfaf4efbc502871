"use strict";

// Create elements and format numbers. Text is inserted as text nodes only, so names cannot become markup.

// Read from an SVG in the page, so that the page contains no URL.
const SVG = document.querySelector("#theme svg").namespaceURI;

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) element.append(child);
  return element;
}

/** Create an HTML element; children are elements or text. */
const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

/** Create an SVG element. */
const shape = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** Create an SVG of a size in pixels, with a text for screen readers. */
const picture = (width, height, label) =>
  shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });

const grouped = new Intl.NumberFormat("en");

/** Format an integer with thousands separators. */
const count = (value) => grouped.format(value);

/** Format a number with that many significant digits and a typographic minus sign. */
function number(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  const text =
    size < -4 || size >= 9
      ? value.toExponential(digits - 1)
      : grouped.format(Math.trunc(value)) === "0" || size < 3
        ? value.toFixed(Math.min(20, Math.max(0, digits - 1 - size)))
        : grouped.format(Math.round(value));
  return text.replace("-", "−");
}

/** Format a score as in the text of the page. */
const scoreText = (value, unit) => (unit === "%" ? value.toFixed(1).replace("-", "−") : number(value));

/** Format a standard deviation with as many decimals as its mean. */
function spreadText(spread, mean, unit) {
  const text = scoreText(mean, unit);
  return /^−?[\d,]+(\.\d+)?$/.test(text) ? spread.toFixed((text.split(".")[1] || "").length) : number(spread, 2);
}

/** Format a fraction in per cent. */
const percent = (value, digits = 0) => `${(100 * value).toFixed(digits)} %`;

const ruler = document.createElement("canvas").getContext("2d");

/** Truncate text with an ellipsis to a width in pixels. */
function cut(text, pixels, size = 13) {
  ruler.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  const fits = (some) => ruler.measureText(some).width <= pixels;
  if (fits(text.slice(0, 500)) && text.length <= 500) return text;
  const signs = [...text.slice(0, 500)]; // split by characters, so that no surrogate pair is cut
  let [low, high] = [1, signs.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(signs.slice(0, middle).join("") + "…")) low = middle;
    else high = middle - 1;
  }
  return signs.slice(0, low).join("") + "…";
}

/** Axis ticks: about this number of round values from low to high. */
function steps(low, high, about) {
  const rough = (high - low) / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(i === 0 ? 0 : i * step);
  return { values: found, text: (value) => stepText(value, step) };
}

function stepText(value, step) {
  let decimals = 0;
  while (decimals < 8 && Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6) decimals++;
  return (Math.abs(value) >= 1e6 ? value.toExponential(1) : grouped.format(Number(value.toFixed(decimals)))).replace(
    "-",
    "−",
  );
}

/** Range of finite numbers, padded on both sides. */
function extent(values, room = 0.05) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  const space = high > low ? (high - low) * room : Math.abs(low) * 0.1 || 1;
  return [low - space, high + space];
}
