// Draw a graph as SVG: circles with short labels, lines for edges, double lines for double bonds.

const DOTS_FROM = 150; // nodes; larger graphs are drawn as dots without labels
const positionCache = new Map();

function positionsOf(report, index) {
  if (!positionCache.has(index)) {
    if (positionCache.size > 600) positionCache.clear();
    positionCache.set(index, placeNodes(report.graphs[index].drawing));
  }
  return positionCache.get(index);
}

/** Scale node positions to pixels, and choose the radius of the nodes. */
function fitted(points, width, height, dots) {
  const n = points.length / 2;
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < n; i++) {
    left = Math.min(left, points[2 * i]);
    right = Math.max(right, points[2 * i]);
    top = Math.min(top, points[2 * i + 1]);
    bottom = Math.max(bottom, points[2 * i + 1]);
  }
  const largest = dots ? 2.6 : Math.min(11, Math.max(5, height / 22));
  const margin = largest + 3;
  // Upper limit, so that two nodes do not fill the drawing.
  const unit = Math.min(
    (3.6 * largest) / Math.min(1e9, crowding(points)),
    (width - 2 * margin) / Math.max(right - left, 1e-9),
    (height - 2 * margin) / Math.max(bottom - top, 1e-9),
  );
  const placed = new Float64Array(2 * n);
  for (let i = 0; i < n; i++) {
    placed[2 * i] = width / 2 + (points[2 * i] - (left + right) / 2) * unit;
    placed[2 * i + 1] = height / 2 + (points[2 * i + 1] - (top + bottom) / 2) * unit;
  }
  return { placed, radius: Math.max(1.2, Math.min(largest, 0.4 * crowding(placed))) };
}

/** The 10 % quantile of nearest-neighbour distances. */
function crowding(placed) {
  const n = placed.length / 2;
  if (n < 2) return Infinity;
  const nearest = new Float64Array(n).fill(Infinity);
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) {
      const distance = Math.hypot(placed[2 * i] - placed[2 * j], placed[2 * i + 1] - placed[2 * j + 1]);
      nearest[i] = Math.min(nearest[i], distance);
      nearest[j] = Math.min(nearest[j], distance);
    }
  }
  return nearest.sort()[Math.floor(0.1 * n)];
}

/** Edges as two paths: solid and dashed. */
function edgePaths(drawing, placed, radius) {
  let [whole, dashed] = ["", ""];
  const line = (x1, y1, x2, y2, dx, dy) =>
    `M${(x1 + dx).toFixed(1)} ${(y1 + dy).toFixed(1)}L${(x2 + dx).toFixed(1)} ${(y2 + dy).toFixed(1)}`;
  for (let e = 0; 2 * e + 1 < drawing.edges.length; e++) {
    const [a, b] = [2 * drawing.edges[2 * e], 2 * drawing.edges[2 * e + 1]];
    const [x1, y1, x2, y2] = [placed[a], placed[a + 1], placed[b], placed[b + 1]];
    const order = drawing.orders ? drawing.orders[e] : 1;
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const apart = Math.max(1.3, 0.22 * radius);
    const [dx, dy] = [(-(y2 - y1) / length) * apart, ((x2 - x1) / length) * apart];
    if (order === 2 || order === 3) whole += line(x1, y1, x2, y2, dx, dy) + line(x1, y1, x2, y2, -dx, -dy);
    if (order === 3) whole += line(x1, y1, x2, y2, 0, 0);
    if (order === 1.5) {
      whole += line(x1, y1, x2, y2, dx, dy);
      dashed += line(x1, y1, x2, y2, -dx, -dy);
    }
    if (order !== 1.5 && order !== 2 && order !== 3) whole += line(x1, y1, x2, y2, 0, 0);
  }
  return { whole, dashed };
}

const largestContribution = (drawing) =>
  (drawing.contributions || []).reduce((most, each) => Math.max(most, Math.abs(each)), 0);

/** SVG of a graph; `by` is "contribution" or "label" and selects the node colours. */
function drawGraph(report, index, width, height, by) {
  const graph = report.graphs[index];
  const svg = picture(
    width,
    height,
    `Drawing of graph ${index}: ${count(graph.nodes)} nodes, ${count(graph.edges)} edges`,
  );
  svg.classList.add("graph");
  const drawing = graph.drawing;
  if (!drawing || !drawing.nodes) {
    svg.append(shape("text", { x: width / 2, y: height / 2, "text-anchor": "middle", class: "muted" }, "No drawing"));
    return svg;
  }
  const dots = drawing.nodes > DOTS_FROM;
  const { placed, radius } = fitted(positionsOf(report, index), width, height, dots);
  const { whole, dashed } = edgePaths(drawing, placed, radius);
  const crowd = Math.min(1, 160 / Math.max(1, drawing.edges.length / 2));
  const lines = {
    class: "edge",
    "stroke-width": Math.max(0.5, Math.min(1.4, 0.16 * radius)),
    "stroke-opacity": 0.18 + 0.82 * crowd,
  };
  if (whole) svg.append(shape("path", { d: whole, ...lines }));
  if (dashed) svg.append(shape("path", { d: dashed, "stroke-dasharray": "2 2", ...lines }));
  const limit = largestContribution(drawing);
  const byContribution = by === "contribution" && drawing.contributions;
  for (let i = 0; i < drawing.nodes; i++) {
    const label = drawing.labels ? drawing.labels[i] : undefined;
    const name = label === undefined ? "" : String(report.node_labels[label] ?? label);
    const colour = byContribution
      ? contributionColour(drawing.contributions[i], limit)
      : label === undefined
        ? "var(--node)"
        : labelColour(label);
    const [x, y] = [placed[2 * i].toFixed(1), placed[2 * i + 1].toFixed(1)];
    const circle = shape("circle", { cx: x, cy: y, r: radius.toFixed(1), fill: colour, class: dots ? "dot" : "node" });
    const contribution = drawing.contributions ? `contribution ${number(drawing.contributions[i])}` : "";
    const title = [name, contribution].filter(Boolean).join(", ");
    if (title) circle.append(shape("title", {}, title));
    svg.append(circle);
    const size = Math.min(11, 1.25 * radius, (1.75 * radius) / (0.62 * Math.max(1, name.length)));
    if (!dots && name && name.length <= 3 && size >= 4.5)
      svg.append(
        shape(
          "text",
          { x, y: (placed[2 * i + 1] + 0.36 * size).toFixed(1), "font-size": size.toFixed(1), class: "label" },
          name,
        ),
      );
  }
  return svg;
}
