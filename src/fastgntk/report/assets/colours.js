// Colours and marks. Classes differ by colour and by form, so that nobody has to tell colours apart.

const COLOURS = 7;
const FORMS = ["circle", "square", "triangle", "diamond", "wedge"];
// 7 and 5 have no common factor: the first 35 classes differ from each other in colour or form.

const classColour = (index) => `var(--class-${index % COLOURS})`;

/** The outline of a mark around 0, of about the same area for every form. */
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

/** The mark of a class as a small picture beside its name. */
const classMark = (index, size = 14) =>
  shape(
    "svg",
    { width: size, height: size, viewBox: "-7 -7 14 14", "aria-hidden": "true", class: "class-mark" },
    shape("path", { d: markPath(index, 4.6), fill: classColour(index) }),
  );

const root = document.documentElement;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const printing = matchMedia("print");

/** Whether the page is dark now. Paper is white. */
const isDark = () => !printing.matches && (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);

const probe = make("span", { hidden: true });

/** A colour of the style sheet as numbers that a canvas takes. */
function resolved(colour) {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = colour;
  return getComputedStyle(probe).color;
}

/** 256 colours as bytes: red, green, blue, alpha. The browser makes them from even steps of lightness. */
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

/** From the background to deep blue: how alike. */
const heatRamp = (dark) =>
  ramp(
    dark
      ? (t) => [0.22 + 0.7 * t, 0.03 + 0.11 * Math.sin(Math.PI * t), 262 - 50 * t]
      : (t) => [0.985 - 0.63 * t, 0.01 + 0.15 * Math.sin(Math.PI * Math.min(1, 0.2 + 0.6 * t) * t), 215 + 50 * t],
  );

/** From violet over green to yellow, ever lighter: a measured value. */
const valueRamp = (dark) => ramp((t) => [(dark ? 0.5 : 0.4) + 0.42 * t, 0.14, 300 - 215 * t]);

const rampColour = (colours, t) => {
  const i = 4 * Math.round(255 * Math.min(1, Math.max(0, t)));
  return `rgb(${colours[i]} ${colours[i + 1]} ${colours[i + 2]})`;
};

const BELOW = [62, 134, 202];
const ABOVE = [226, 93, 67];

/** The colour of a contribution: blue below 0, white at 0, red above; the ends of the pictures that the package draws. */
function shareColour(value, limit) {
  const part = limit > 0 ? Math.max(-1, Math.min(1, value / limit)) : 0;
  const end = part < 0 ? BELOW : ABOVE;
  return `rgb(${end.map((each) => Math.round(255 + Math.abs(part) * (each - 255))).join(" ")})`;
}

/** The colour of a node's label: the first is nearly white, the others have far hues; black text can be read on all. */
const labelColour = (label) =>
  label === 0 ? "oklch(0.95 0.008 250)" : `oklch(0.85 0.11 ${(20 + label * 137.5) % 360})`;

/** Redraw what cannot follow the style sheet by itself. */
const redraws = [];
const redrawAll = () => redraws.forEach((redraw) => redraw());

/** Call `draw(width)` now, and whenever the width of the box or the colours change. */
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
