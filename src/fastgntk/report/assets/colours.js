// Colours and markers. Classes differ by colour and shape, so they can be distinguished without colour vision.

const COLOURS = 7;
const FORMS = ["circle", "square", "triangle", "diamond", "wedge"];
// 7 and 5 are coprime: the first 35 classes differ in colour or shape.

const classColour = (index) => `var(--class-${index % COLOURS})`;

/** Outline of a marker centred at 0; all shapes have about the same area. */
function markPath(index, radius) {
  const r = radius;
  switch (FORMS[index % FORMS.length]) {
    case "circle":
      return `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
    case "square": {
      const s = 0.88 * r;
      return `M${-s} ${-s}h${2 * s}v${2 * s}h${-2 * s}z`;
    }
    case "triangle":
      return `M0 ${-1.25 * r}L${1.15 * r} ${0.8 * r}H${-1.15 * r}z`;
    case "diamond":
      return `M0 ${-1.3 * r}L${1.3 * r} 0L0 ${1.3 * r}L${-1.3 * r} 0z`;
    default:
      return `M0 ${1.25 * r}L${1.15 * r} ${-0.8 * r}H${-1.15 * r}z`;
  }
}

/** Marker of a class as a small SVG. */
const classMark = (index, size = 14) =>
  shape(
    "svg",
    { width: size, height: size, viewBox: "-7 -7 14 14", "aria-hidden": "true", class: "class-mark" },
    shape("path", { d: markPath(index, 4.6), fill: classColour(index) }),
  );

const root = document.documentElement;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const printing = matchMedia("print");

/** Whether the page is shown dark; printed pages are light. */
const isDark = () => !printing.matches && (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);

const probe = make("span", { hidden: true });

/** Resolve a colour of the style sheet for use on a canvas. */
function resolved(colour) {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = colour;
  return getComputedStyle(probe).color;
}

/** Colour map of 256 RGBA entries; `at(t)` returns lightness, chroma and hue. */
function ramp(at) {
  const canvas = make("canvas", { width: 256, height: 1 });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  for (let i = 0; i < 256; i++) {
    const [lightness, chroma, hue] = at(i / 255);
    context.fillStyle = `oklch(${lightness} ${chroma} ${hue})`;
    context.fillRect(i, 0, 1, 1);
  }
  return context.getImageData(0, 0, 256, 1).data;
}

/** Colour map of similarities: background to deep blue. */
const heatRamp = (dark) =>
  ramp(
    dark
      ? (t) => [0.22 + 0.7 * t, 0.03 + 0.11 * Math.sin(Math.PI * t), 262 - 50 * t]
      : (t) => [0.985 - 0.63 * t, 0.01 + 0.15 * Math.sin(Math.PI * Math.min(1, 0.2 + 0.6 * t) * t), 215 + 50 * t],
  );

/** Colour map of measured values: violet, green, yellow. */
const valueRamp = (dark) => ramp((t) => [(dark ? 0.5 : 0.4) + 0.42 * t, 0.14, 300 - 215 * t]);

const rampColour = (colours, t) => {
  const i = 4 * Math.round(255 * Math.min(1, Math.max(0, t)));
  return `rgb(${colours[i]} ${colours[i + 1]} ${colours[i + 2]})`;
};

const BELOW = [62, 134, 202];
const ABOVE = [226, 93, 67];

/** Colour of a contribution: blue below 0, white at 0, red above, as in `fastgntk.plotting`. */
function contributionColour(value, limit) {
  const part = limit > 0 ? Math.max(-1, Math.min(1, value / limit)) : 0;
  const end = part < 0 ? BELOW : ABOVE;
  return `rgb(${end.map((each) => Math.round(255 + Math.abs(part) * (each - 255))).join(" ")})`;
}

/** Colour of a node label: nearly white for the first, distant hues for the others; all light enough for black text. */
const labelColour = (label) =>
  label === 0 ? "oklch(0.95 0.008 250)" : `oklch(0.85 0.11 ${(20 + label * 137.5) % 360})`;

/** Callbacks that redraw canvases after a change of colour scheme. */
const redraws = [];
const redrawAll = () => redraws.forEach((redraw) => redraw());

/** Call `draw(width)` now and after each change of the width or the colour scheme. */
function whenever(host, draw) {
  let width = 0;
  const redraw = () => {
    width = Math.floor(host.clientWidth);
    if (width > 0) draw(width);
  };
  redraws.push(redraw);
  redraw();
  new ResizeObserver(() => {
    if (Math.floor(host.clientWidth) !== width) redraw();
  }).observe(host);
}

function setUpTheme() {
  const button = document.getElementById("theme");
  const name = () => {
    button.lastElementChild.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Show the page light" : "Show the page dark");
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    name();
    redrawAll();
  });
  name();
  for (const query of [prefersDark, printing]) query.addEventListener("change", () => (name(), redrawAll()));
}
