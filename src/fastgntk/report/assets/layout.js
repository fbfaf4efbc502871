// Graph layout: each component by stochastic stress minimisation, so that distances match path lengths; then all
// components side by side. Deterministic.

const GAP = 1; // between components, in edge lengths
const WIDE = 1.5; // target aspect ratio
const ALL_PAIRS = 320; // component size up to which all pairs are used; beyond, edges and sampled pairs

/** Seeded random numbers in [0, 1): a linear congruential generator. */
function generator(seed) {
  let state = seed >>> 0;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 4294967296;
}

function neighboursOf(nodes, edges) {
  const near = Array.from({ length: nodes }, () => []);
  for (let i = 0; i + 1 < edges.length; i += 2) {
    const [u, v] = [edges[i], edges[i + 1]];
    if (u === v) continue;
    near[u].push(v);
    near[v].push(u);
  }
  return near;
}

function componentsOf(near) {
  const seen = new Uint8Array(near.length);
  const parts = [];
  for (let start = 0; start < near.length; start++) {
    if (seen[start]) continue;
    const part = [start];
    seen[start] = 1;
    for (let i = 0; i < part.length; i++) {
      for (const v of near[part[i]]) {
        if (seen[v]) continue;
        seen[v] = 1;
        part.push(v);
      }
    }
    parts.push(part);
  }
  return parts;
}

/** Path lengths from one node to all others. */
function distancesFrom(start, near) {
  const distance = new Int32Array(near.length).fill(-1);
  const queue = [start];
  distance[start] = 0;
  for (let i = 0; i < queue.length; i++) {
    for (const v of near[queue[i]]) {
      if (distance[v] >= 0) continue;
      distance[v] = distance[queue[i]] + 1;
      queue.push(v);
    }
  }
  return distance;
}

/** Pairs of nodes with their target distances. */
function pairsOf(near, random) {
  const n = near.length;
  const [from, to, far] = [[], [], []];
  const add = (u, v, distance) => (from.push(u), to.push(v), far.push(distance));
  if (n <= ALL_PAIRS) {
    for (let u = 0; u < n; u++) {
      const distance = distancesFrom(u, near);
      for (let v = u + 1; v < n; v++) add(u, v, distance[v]);
    }
    return { from, to, far };
  }
  for (let u = 0; u < n; u++) for (const v of near[u]) if (u < v) add(u, v, 1);
  for (let i = 0; i < 60; i++) {
    const u = Math.floor(random() * n);
    const distance = distancesFrom(u, near);
    for (let v = 0; v < n; v++) if (distance[v] > 1) add(u, v, distance[v]);
  }
  return { from, to, far };
}

/** One layout of a component: move pairs in random order towards their target distance, with decreasing steps. */
function relax(n, pairs, random) {
  const { from, to, far } = pairs;
  const points = new Float64Array(2 * n);
  for (let i = 0; i < points.length; i++) points[i] = random() * Math.sqrt(n);
  const order = Array.from(far.keys());
  const longest = far.reduce((a, b) => Math.max(a, b), 1);
  const rounds = n > 150 ? 20 : 32;
  const first = longest * longest;
  const decay = Math.log(first / 0.08) / (rounds - 1);
  for (let round = 0; round < rounds; round++) {
    const step = first * Math.exp(-decay * round);
    for (let i = order.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      const kept = order[i];
      order[i] = order[j];
      order[j] = kept;
    }
    for (const k of order) {
      const [a, b, goal] = [2 * from[k], 2 * to[k], far[k]];
      const dx = points[a] - points[b];
      const dy = points[a + 1] - points[b + 1];
      const length = Math.sqrt(dx * dx + dy * dy) || 1e-6;
      const move = (Math.min(1, step / (goal * goal)) * (length - goal)) / (2 * length);
      points[a] -= move * dx;
      points[a + 1] -= move * dy;
      points[b] += move * dx;
      points[b + 1] += move * dy;
    }
  }
  let stress = 0;
  for (let k = 0; k < far.length; k++) {
    const [a, b] = [2 * from[k], 2 * to[k]];
    stress += (Math.hypot(points[a] - points[b], points[a + 1] - points[b + 1]) / far[k] - 1) ** 2;
  }
  return { points, stress };
}

/** Rotate a component so that its principal axis is horizontal. */
function lay(points) {
  const n = points.length / 2;
  let [mx, my, xx, xy, yy] = [0, 0, 0, 0, 0];
  for (let i = 0; i < n; i++) {
    mx += points[2 * i] / n;
    my += points[2 * i + 1] / n;
  }
  for (let i = 0; i < n; i++) {
    const [x, y] = [points[2 * i] - mx, points[2 * i + 1] - my];
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  const angle = 0.5 * Math.atan2(2 * xy, xx - yy);
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  let [left, top] = [Infinity, Infinity];
  for (let i = 0; i < n; i++) {
    const [x, y] = [points[2 * i] - mx, points[2 * i + 1] - my];
    points[2 * i] = c * x + s * y;
    points[2 * i + 1] = c * y - s * x;
    left = Math.min(left, points[2 * i]);
    top = Math.min(top, points[2 * i + 1]);
  }
  let [width, height] = [0, 0];
  for (let i = 0; i < n; i++) {
    width = Math.max(width, (points[2 * i] -= left));
    height = Math.max(height, (points[2 * i + 1] -= top));
  }
  return { points, width, height };
}

function placeComponent(part, near) {
  if (part.length === 1) return { points: new Float64Array(2), width: 0, height: 0 };
  const place = new Map(part.map((node, i) => [node, i]));
  const inside = part.map((node) => near[node].map((v) => place.get(v)));
  const random = generator(17 + part.length);
  const pairs = pairsOf(inside, random);
  // Small graphs: keep the best of several random starts.
  const tries = part.length <= 40 ? 4 : part.length <= 90 ? 2 : 1;
  let best = relax(part.length, pairs, random);
  for (let i = 1; i < tries; i++) {
    const other = relax(part.length, pairs, random);
    if (other.stress < best.stress) best = other;
  }
  return lay(best.points);
}

/** Pack components into rows, tallest first. */
function pack(placed) {
  const size = (part) => [part.width + GAP, part.height + GAP];
  const area = placed.reduce((sum, part) => sum + size(part)[0] * size(part)[1], 0);
  const widest = placed.reduce((most, part) => Math.max(most, size(part)[0]), 0);
  const target = Math.max(widest, Math.sqrt(WIDE * area));
  const order = [...placed.keys()].sort(
    (a, b) => placed[b].height - placed[a].height || placed[b].width - placed[a].width || a - b,
  );
  const rows = [];
  let used = Infinity;
  for (const i of order) {
    if (used + size(placed[i])[0] > target + 1e-9) {
      rows.push([]);
      used = 0;
    }
    rows[rows.length - 1].push(i);
    used += size(placed[i])[0];
  }
  const corners = [];
  let top = 0;
  for (const row of rows) {
    const height = Math.max(...row.map((i) => size(placed[i])[1]));
    let left = -row.reduce((sum, i) => sum + size(placed[i])[0], 0) / 2;
    for (const i of row) {
      corners[i] = [left, top + (height - size(placed[i])[1]) / 2];
      left += size(placed[i])[0];
    }
    top += height;
  }
  return corners;
}

/** Node positions x0, y0, x1, y1, ... with y pointing down; an edge has length about 1. */
function placeNodes(drawing) {
  const points = new Float64Array(2 * drawing.nodes);
  if (drawing.positions) {
    drawing.positions.forEach((value, i) => (points[i] = i % 2 ? -value : value));
    return points;
  }
  const near = neighboursOf(drawing.nodes, drawing.edges);
  const parts = componentsOf(near);
  const placed = parts.map((part) => placeComponent(part, near));
  const corners = pack(placed);
  parts.forEach((part, k) =>
    part.forEach((node, i) => {
      points[2 * node] = placed[k].points[2 * i] + corners[k][0];
      points[2 * node + 1] = placed[k].points[2 * i + 1] + corners[k][1];
    }),
  );
  return points;
}
