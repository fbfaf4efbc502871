// Score with baselines, calibration, predicted against measured. The page already holds the numbers as tables.

/** Horizontal axis with grid lines and tick labels. */
function bottomAxis(svg, at, ticks, top, bottom) {
  for (const value of ticks.values) {
    svg.append(shape("line", { x1: at(value), x2: at(value), y1: top, y2: bottom, class: "grid" }));
    svg.append(
      shape("text", { x: at(value), y: bottom + 18, "text-anchor": "middle", class: "tick" }, ticks.text(value)),
    );
  }
}

/** Folds as dots, mean and standard deviation, and baselines on the same axis. */
function scoreChart(report, host) {
  const { score } = report;
  whenever(host, (width) => {
    const unit = score.unit ? ` ${score.unit}` : "";
    const rows = [
      { name: "This run", mean: score.mean, std: score.std, folds: score.folds, own: true },
      ...score.baselines,
    ];
    const values = rows.flatMap((row) => [row.mean - (row.std || 0), row.mean + (row.std || 0), ...(row.folds || [])]);
    const [low, high] = extent(values, 0.06);
    const [left, right] = [10, width - 10];
    const at = (value) => left + ((value - low) / (high - low)) * (right - left);
    const heights = rows.map((row) => (row.own && row.folds.length ? 88 : 48));
    const total = heights.reduce((sum, each) => sum + each, 0) + 30;
    const figures = rows.map((row) => `${row.name} ${scoreText(row.mean, score.unit)}${unit}`);
    const label = `${score.name}: ${figures.join("; ")}`;
    const svg = picture(width, total, label);
    bottomAxis(svg, at, steps(low, high, width / 90), 0, total - 26);
    let top = 0;
    rows.forEach((row, i) => {
      scoreRow(svg, row, { at, top, height: heights[i], width, left, right, unit, score });
      top += heights[i];
    });
    host.replaceChildren(svg);
  });
}

function scoreRow(svg, row, { at, top, height, width, left, right, unit, score }) {
  const value =
    scoreText(row.mean, score.unit) +
    (row.std === undefined ? "" : ` ± ${spreadText(row.std, row.mean, score.unit)}`) +
    unit;
  const middle = row.own && row.folds.length ? top + 58 : top + 33;
  const name = shape(
    "text",
    { x: left, y: top + 16, class: row.own ? "name own" : "name" },
    cut(row.name, width - 170, 14),
  );
  name.append(shape("title", {}, row.note ? `${row.name}: ${row.note}` : row.name));
  svg.append(
    name,
    shape("text", { x: right, y: top + 16, "text-anchor": "end", class: row.own ? "value own" : "value" }, value),
  );
  svg.append(shape("line", { x1: left, x2: right, y1: middle, y2: middle, class: "track" }));
  const kind = row.own ? "own" : "other";
  if (row.std)
    svg.append(
      shape("line", {
        x1: at(row.mean - row.std),
        x2: at(row.mean + row.std),
        y1: middle,
        y2: middle,
        class: `spread ${kind}`,
      }),
    );
  if (row.own) foldDots(svg, row.folds, at, middle);
  svg.append(
    row.own
      ? shape("line", { x1: at(row.mean), x2: at(row.mean), y1: middle - 11, y2: middle + 11, class: "mean" })
      : shape("circle", { cx: at(row.mean), cy: middle, r: 5, class: "figure" }),
  );
}

/** Dots of the folds; overlapping ones are moved above and below the line. */
function foldDots(svg, folds, at, middle) {
  const placed = [];
  for (const [i, value] of [...folds.entries()].sort((a, b) => a[1] - b[1])) {
    const x = at(value);
    const offsets = [0, -9, 9, -18, 18, -4.5, 4.5, -13.5, 13.5];
    const free = offsets.find((dy) => placed.every((other) => Math.hypot(other.x - x, other.dy - dy) >= 8.5));
    const dy = free === undefined ? 0 : free;
    placed.push({ x, dy });
    svg.append(
      shape(
        "circle",
        { cx: x, cy: middle + dy, r: 4, class: "fold" },
        shape("title", {}, `Fold ${i + 1}: ${number(value, 4)}`),
      ),
    );
  }
}

/** Frame of a square chart: axes with titles, and the diagonal. */
function squareFrame(width, [lowX, highX], [lowY, highY], names, label, tick) {
  const size = Math.min(width, 520);
  const [left, right, top, bottom] = [58, size - 14, 12, size - 50];
  const x = (value) => left + ((value - lowX) / (highX - lowX)) * (right - left);
  const y = (value) => bottom - ((value - lowY) / (highY - lowY)) * (bottom - top);
  const svg = picture(size, size, label);
  const ticksX = steps(lowX, highX, size / 95);
  bottomAxis(svg, x, { values: ticksX.values, text: tick || ticksX.text }, top, bottom);
  const ticksY = steps(lowY, highY, size / 95);
  for (const value of ticksY.values) {
    svg.append(shape("line", { x1: left, x2: right, y1: y(value), y2: y(value), class: "grid" }));
    svg.append(
      shape(
        "text",
        { x: left - 8, y: y(value) + 4, "text-anchor": "end", class: "tick" },
        (tick || ticksY.text)(value),
      ),
    );
  }
  const [from, to] = [Math.max(lowX, lowY), Math.min(highX, highY)];
  if (to > from) svg.append(shape("line", { x1: x(from), y1: y(from), x2: x(to), y2: y(to), class: "diagonal" }));
  const middle = (top + bottom) / 2;
  svg.append(
    shape(
      "text",
      { x: (left + right) / 2, y: size - 8, "text-anchor": "middle", class: "axis" },
      cut(names[0], right - left),
    ),
    shape(
      "text",
      { x: 13, y: middle, "text-anchor": "middle", class: "axis", transform: `rotate(-90 13 ${middle})` },
      cut(names[1], bottom - top),
    ),
  );
  return { svg, x, y };
}

/** Calibration plot: observed against predicted frequency. */
function calibrationChart(report, host) {
  const bins = report.calibration;
  const most = bins.reduce((largest, bin) => Math.max(largest, bin.count), 1);
  const names =
    report.kind === "classification"
      ? ["Predicted probability", "Observed frequency"]
      : ["Nominal coverage", "Observed coverage"];
  whenever(host, (width) => {
    const low = Math.min(1, ...bins.flatMap((bin) => [bin.predicted, bin.low])) > 0.45 ? 0.4 : 0;
    const pairs = bins.map((bin) => `predicted ${percent(bin.predicted)}, observed ${percent(bin.observed)}`);
    const label = `${names[1]} against ${names[0].toLowerCase()}: ${pairs.join("; ")}`;
    const { svg, x, y } = squareFrame(width, [low, 1.02], [low, 1.02], names, label, (value) => percent(value));
    const points = bins.map((bin) => `${x(bin.predicted)} ${y(bin.observed)}`);
    if (bins.length > 1) svg.append(shape("path", { d: `M${points.join("L")}`, class: "link" }));
    for (const bin of bins) {
      const [cx, cy] = [x(bin.predicted), y(bin.observed)];
      svg.append(shape("line", { x1: cx, x2: cx, y1: y(bin.low), y2: y(bin.high), class: "whisker" }));
      const radius = 3.5 + 4.5 * Math.sqrt(bin.count / most);
      const figures = `Predicted ${percent(bin.predicted, 1)}, observed ${percent(bin.observed, 1)}`;
      const title = shape("title", {}, `${figures}, ${count(bin.count)} graphs`);
      svg.append(shape("circle", { cx, cy, r: radius, class: "point" }, title));
    }
    host.replaceChildren(svg);
  });
}

/** Predicted against measured, with intervals. All points and bars share a few paths: fast for thousands of graphs. */
function scatterChart(report, host) {
  const shown = report.graphs.filter(
    (graph) => graph.predicted && Number.isFinite(graph.predicted.mean) && Number.isFinite(graph.truth),
  );
  const name = report.target || "target";
  const unit = report.score.unit ? ` (${report.score.unit})` : "";
  const range = extent(
    shown.flatMap((graph) => [graph.truth, graph.predicted.mean]),
    0.06,
  ); // the same range for both axes
  whenever(host, (width) => {
    const label = `${name}: predicted against measured, ${count(shown.length)} graphs`;
    const { svg, x, y } = squareFrame(
      width,
      range,
      range,
      [`Measured ${name}${unit}`, `Predicted ${name}${unit}`],
      label,
    );
    const clamp = (value) => Math.max(range[0], Math.min(range[1], value));
    const [bars, inside, outside] = [[], [], []];
    for (const { truth, predicted: each } of shown) {
      const place = x(truth).toFixed(1);
      if (Number.isFinite(each.low) && Number.isFinite(each.high))
        bars.push(`M${place} ${y(clamp(each.low)).toFixed(1)}V${y(clamp(each.high)).toFixed(1)}`);
      (truth < each.low || truth > each.high ? outside : inside).push(`M${place} ${y(each.mean).toFixed(1)}h0`);
    }
    const crowd = Math.min(1, 150 / shown.length);
    svg.append(
      shape("path", { d: bars.join(""), class: "bars", "stroke-opacity": 0.12 + 0.4 * crowd }),
      shape("path", {
        d: inside.join(""),
        class: "inside",
        "stroke-width": 3.5 + 3 * crowd,
        "stroke-opacity": 0.6 + 0.3 * crowd,
      }),
      shape("path", { d: outside.join(""), class: "outside", "stroke-width": 3.5 + 3 * crowd }),
    );
    host.replaceChildren(
      svg,
      make(
        "p",
        { class: "key" },
        make("span", { class: "swatch inside" }),
        "inside the interval",
        make("span", { class: "swatch outside" }),
        "outside",
      ),
    );
  });
}
