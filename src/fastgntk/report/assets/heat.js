// The kernel matrix as a heat map: one pixel for each pair of graphs, or the mean of several pairs.

function heatChart(report, host) {
  const heat = report.heat_map;
  const values = Uint8Array.from(atob(heat.values), (sign) => sign.charCodeAt(0));
  const shown = (byte) => heat.low + ((heat.high - heat.low) * byte) / 255;
  const note = make("p", { class: "reading", "aria-live": "off" }, "Point at the heat map to read a value.");
  const groupAt = (row) => heat.groups.find((group) => row >= group.start && row < group.stop);
  const classOf = (group) => (report.classes || []).indexOf(group.name);

  whenever(host, (width) => {
    const size = Math.min(width, 560);
    const gutter = heat.groups.length ? Math.min(150, Math.round(size * 0.27)) : 0;
    const band = heat.groups.length ? 8 : 0;
    const inner = size - gutter - band - 1;
    const [left, top] = [gutter + band, band];
    const canvas = paint(values, heat.size, inner);
    canvas.setAttribute("aria-hidden", "true");
    const label =
      `Similarity of all pairs of graphs, from ${number(heat.low)} to ${number(heat.high)}` +
      (heat.groups.length ? `, in groups ${heat.groups.map((group) => group.name).join(", ")}` : "");
    const svg = picture(size, inner + band + 1, label);
    const at = (row) => (row / heat.size) * inner;
    heat.groups.forEach((group, i) => drawGroup(svg, group, i, classOf(group), { at, left, top, band, gutter, inner }));
    const box = make("div", { class: "heat" }, canvas, svg);
    canvas.style.left = `${(100 * left) / size}%`;
    canvas.style.top = `${(100 * top) / (inner + band + 1)}%`;
    canvas.style.width = `${(100 * inner) / size}%`;
    box.style.maxWidth = `${size}px`;
    box.addEventListener("pointermove", (event) => {
      const frame = canvas.getBoundingClientRect();
      const column = Math.floor(((event.clientX - frame.left) / frame.width) * heat.size);
      const row = Math.floor(((event.clientY - frame.top) / frame.height) * heat.size);
      if (row < 0 || column < 0 || row >= heat.size || column >= heat.size) return;
      const names = [groupAt(row), groupAt(column)].map((group) => (group ? group.name : ""));
      const of = names[0] && names[1] ? `${names[0]} and ${names[1]}: ` : "";
      note.textContent = `${of}${number(shown(values[row * heat.size + column]))} (row ${row}, column ${column})`;
    });
    host.replaceChildren(box, legend(heat, size - left, left), note);
  });
}

/** Paint the values onto a square canvas of that many pixels a side. */
function paint(values, size, pixels) {
  const colours = heatRamp(isDark());
  const image = new ImageData(size, size);
  for (let i = 0; i < values.length; i++) image.data.set(colours.subarray(4 * values[i], 4 * values[i] + 4), 4 * i);
  const exact = make("canvas", { width: size, height: size });
  exact.getContext("2d").putImageData(image, 0, 0);
  const ratio = window.devicePixelRatio || 1;
  const side = Math.max(1, Math.round(pixels * ratio));
  const canvas = make("canvas", { width: side, height: side });
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = size > side; // smooth only when shrinking
  context.imageSmoothingQuality = "high";
  context.drawImage(exact, 0, 0, side, side);
  return canvas;
}

/** Colour bands, separators, and the name of a group if it fits. */
function drawGroup(svg, group, i, place, { at, left, top, band, gutter, inner }) {
  const [from, to] = [at(group.start), at(group.stop)];
  const colour = place >= 0 ? classColour(place) : i % 2 ? "var(--muted)" : "var(--line-strong)";
  const title = () => shape("title", {}, group.name);
  svg.append(
    shape(
      "rect",
      { x: left - band, y: top + from + 0.5, width: band - 3, height: Math.max(1, to - from - 1), fill: colour },
      title(),
    ),
    shape(
      "rect",
      { x: left + from + 0.5, y: 0, width: Math.max(1, to - from - 1), height: band - 3, fill: colour },
      title(),
    ),
  );
  if (i > 0)
    svg.append(shape("path", { d: `M${left} ${top + from}h${inner}M${left + from} ${top}v${inner}`, class: "divide" }));
  if (to - from >= 13)
    svg.append(
      shape(
        "text",
        { x: gutter - 8, y: top + (from + to) / 2 + 4, "text-anchor": "end", class: "tick" },
        cut(group.name, gutter - 8, 12.5),
        title(),
      ),
    );
}

function legend(heat, width, left) {
  const colours = heatRamp(isDark());
  const canvas = make("canvas", { width: 256, height: 1, "aria-hidden": "true" });
  canvas.getContext("2d").putImageData(new ImageData(colours, 256, 1), 0, 0);
  const line = make(
    "div",
    { class: "ramp" },
    make("span", {}, number(heat.low, 2)),
    canvas,
    make("span", {}, number(heat.high, 2)),
  );
  line.style.marginLeft = `${left}px`;
  line.style.maxWidth = `${width}px`;
  return line;
}
