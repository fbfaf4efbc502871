// All graphs as points. Points are copied from one small picture for each kind, so that thousands are drawn in a few
// milliseconds; what moves with the pointer is on a second canvas above them.

const NEAR_ENOUGH = 16; // pixels from pointer to point
const CLOSEST = 40; // largest zoom

function mapChart(facts, host) {
  const points = facts.graphs.length;
  const wrong = facts.graphs.map((graph) => isWrong(facts, graph));
  const state = { map: 0, zoom: 1, x: 0, y: 0, hover: -1, pinned: -1, width: 0, height: 0, hidden: new Set(), onlyWrong: false };
  const [screenX, screenY] = [new Float32Array(points), new Float32Array(points)];
  const [below, above] = [make("canvas", { class: "points", "aria-hidden": "true" }), make("canvas", { class: "pointed", "aria-hidden": "true" })];
  const box = make("div", {
    class: "map-box", tabindex: "0", role: "application",
    "aria-label": `Map of ${count(points)} graphs. Arrow keys go from graph to graph, Enter pins one, Escape unpins it.` }, below, above);
  const spoken = make("p", { class: "unseen", "aria-live": "polite" });
  const aside = make("aside", { class: "panel", "aria-label": "The pinned graph" });
  const panel = makePanel(facts, aside, (index, focus) => pin(index, focus), () => unpin(true));
  const tip = document.getElementById("tip");
  const values = facts.kind === "regression" ? extent(facts.graphs.map((graph) => graph.truth), 0) : null;
  const kinds = kindsOfPoints(facts, wrong, values);

  const isShown = (i) => Number.isFinite(screenX[i]) && !(state.onlyWrong && !wrong[i]) && !state.hidden.has(kinds.group(i));

  function project() {
    const { x, y } = facts.maps[state.map];
    const [[left, right], [low, high]] = [extent(x, 0.04), extent(y, 0.04)];
    const unit = Math.min((state.width - 24) / (right - left), (state.height - 24) / (high - low)) * state.zoom;
    for (let i = 0; i < points; i++) {
      const there = x[i] !== null && y[i] !== null && x[i] !== undefined && y[i] !== undefined;
      screenX[i] = there ? state.width / 2 + state.x + (x[i] - (left + right) / 2) * unit : NaN;
      screenY[i] = there ? state.height / 2 + state.y - (y[i] - (low + high) / 2) * unit : NaN;
    }
  }

  function drawPoints() {
    const ratio = window.devicePixelRatio || 1;
    for (const canvas of [below, above]) {
      canvas.width = Math.round(state.width * ratio);
      canvas.height = Math.round(state.height * ratio);
    }
    const context = below.getContext("2d");
    const radius = (points > 2000 ? 3.2 : points > 600 ? 4 : 5) * Math.min(1.6, state.zoom ** 0.25);
    const pictures = kinds.pictures(radius, ratio);
    // Missed ones last, so that their rings are not covered.
    for (const late of [false, true]) {
      for (let i = 0; i < points; i++) {
        if (wrong[i] !== late || !isShown(i)) continue;
        const mark = pictures[kinds.of(i)];
        context.drawImage(mark, Math.round(screenX[i] * ratio - mark.width / 2), Math.round(screenY[i] * ratio - mark.height / 2));
      }
    }
    drawAbove();
  }

  function drawAbove() {
    const ratio = window.devicePixelRatio || 1;
    const context = above.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, state.width, state.height);
    const accent = resolved("var(--accent)");
    const surface = resolved("var(--surface)");
    // With a rim of the background, so that it is seen among points of the same colour.
    const stroke = (path, width) => {
      for (const [colour, wide] of [[surface, width + 3], [accent, width]]) {
        context.strokeStyle = colour;
        context.lineWidth = wide;
        context.stroke(path);
      }
    };
    const circle = (index) => {
      const path = new Path2D();
      path.arc(screenX[index], screenY[index], 10, 0, 2 * Math.PI);
      return path;
    };
    if (state.pinned >= 0) {
      const lines = new Path2D();
      for (const [other] of facts.graphs[state.pinned].near || []) {
        lines.moveTo(screenX[state.pinned], screenY[state.pinned]);
        lines.lineTo(screenX[other], screenY[other]);
      }
      stroke(lines, 1.2);
      stroke(circle(state.pinned), 3.2);
    }
    if (state.hover >= 0) stroke(circle(state.hover), 2);
  }

  function show(index, speak) {
    state.hover = index;
    drawAbove();
    if (index < 0) {
      tip.hidden = true;
      return;
    }
    tip.replaceChildren(drawGraph(facts, index, 246, 150, "label"), make("strong", { class: "cut" }, titleOf(facts, index)), ...tipLines(facts, index));
    tip.hidden = false;
    const frame = box.getBoundingClientRect();
    const [x, y] = [frame.left + screenX[index], frame.top + screenY[index]];
    const left = x + 22 + tip.offsetWidth > document.documentElement.clientWidth ? x - 22 - tip.offsetWidth : x + 22;
    tip.style.left = `${Math.max(4, Math.min(document.documentElement.clientWidth - tip.offsetWidth - 4, left))}px`;
    tip.style.top = `${Math.max(4, Math.min(window.innerHeight - tip.offsetHeight - 4, y - tip.offsetHeight / 2))}px`;
    if (speak) spoken.textContent = sentence(facts, index);
  }

  function pin(index, focus) {
    state.pinned = index;
    bringIntoView(index);
    panel.show(index);
    drawAbove();
    spoken.textContent = `Pinned. ${sentence(facts, index)}`;
    if (!focus) return;
    show(-1);
    panel.focus();
    aside.scrollIntoView({ block: "nearest" });
  }

  function unpin(focus) {
    if (state.pinned < 0) return;
    state.pinned = -1;
    panel.clear();
    drawAbove();
    spoken.textContent = "Unpinned.";
    if (focus) box.focus();
  }

  function bringIntoView(index) {
    const inside = screenX[index] > 8 && screenX[index] < state.width - 8 && screenY[index] > 8 && screenY[index] < state.height - 8;
    if (inside || !Number.isFinite(screenX[index])) return;
    state.x += state.width / 2 - screenX[index];
    state.y += state.height / 2 - screenY[index];
    project();
    drawPoints();
  }

  function nearest(x, y, most) {
    let [best, found] = [most * most, -1];
    for (let i = 0; i < points; i++) {
      const distance = (screenX[i] - x) ** 2 + (screenY[i] - y) ** 2;
      if (distance < best && isShown(i)) [best, found] = [distance, i];
    }
    return found;
  }

  /** The nearest point in a direction, within 45 degrees of it. */
  function next(from, dx, dy) {
    let [best, found] = [Infinity, -1];
    for (let i = 0; i < points; i++) {
      if (i === from || !isShown(i)) continue;
      const [x, y] = [screenX[i] - screenX[from], screenY[i] - screenY[from]];
      const [along, across] = [x * dx + y * dy, Math.abs(x * dy - y * dx)];
      if (along > 1e-3 && across <= along && along + across < best) [best, found] = [along + across, i];
    }
    return found;
  }

  function zoomBy(factor, x = state.width / 2, y = state.height / 2) {
    const zoom = Math.max(1, Math.min(CLOSEST, state.zoom * factor));
    const change = zoom / state.zoom;
    state.x = zoom === 1 ? 0 : (state.x - (x - state.width / 2)) * change + (x - state.width / 2);
    state.y = zoom === 1 ? 0 : (state.y - (y - state.height / 2)) * change + (y - state.height / 2);
    state.zoom = zoom;
    show(-1);
    project();
    drawPoints();
  }

  const middle = () => nearest(state.width / 2, state.height / 2, Infinity);
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in arrows) {
      const from = state.hover >= 0 ? state.hover : state.pinned;
      const to = from < 0 ? middle() : next(from, ...arrows[event.key]);
      if (to >= 0) {
        bringIntoView(to);
        show(to, true);
      } else if (from >= 0) show(from, false);
    } else if (event.key === "Enter" || event.key === " ") {
      if (state.hover >= 0) pin(state.hover, false);
    } else if (event.key === "Escape") {
      show(-1);
      unpin(false);
    } else if (event.key === "+" || event.key === "=") zoomBy(1.5);
    else if (event.key === "-") zoomBy(1 / 1.5);
    else if (event.key === "0") zoomBy(0);
    else return;
    event.preventDefault();
  });
  box.addEventListener("blur", () => show(-1));
  aside.addEventListener("keydown", (event) => event.key === "Escape" && unpin(true));

  let drag = null;
  const inBox = (event) => {
    const frame = box.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  };
  box.addEventListener("pointerdown", (event) => (drag = { x: event.clientX, y: event.clientY, moved: false, pointer: event.pointerId }));
  box.addEventListener("pointermove", (event) => {
    if (drag && event.buttons && state.zoom > 1) {
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.moved && Math.hypot(dx, dy) < 5) return;
      if (!drag.moved) box.setPointerCapture(drag.pointer);
      drag = { ...drag, x: event.clientX, y: event.clientY, moved: true };
      state.x += dx;
      state.y += dy;
      show(-1);
      project();
      drawPoints();
      return;
    }
    const found = nearest(...inBox(event), NEAR_ENOUGH);
    box.classList.toggle("pointing", found >= 0);
    if (found !== state.hover) show(found, false);
  });
  box.addEventListener("pointerleave", () => show(-1));
  box.addEventListener("click", (event) => {
    const moved = drag && drag.moved;
    drag = null;
    const found = moved ? -1 : nearest(...inBox(event), 1.5 * NEAR_ENOUGH);
    if (found >= 0) pin(found, false);
  });
  box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return; // the wheel alone scrolls the page
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY / 200), ...inBox(event));
  }, { passive: false });
  window.addEventListener("scroll", () => tip.hidden || document.activeElement === box || show(-1), { passive: true });
  box.placeOf = (index) => [screenX[index], screenY[index]]; // where to point, for tests

  const refilter = () => {
    show(-1);
    drawPoints();
  };
  const note = make("p", { class: "fine" });
  const chooseMap = (index) => {
    Object.assign(state, { map: index, zoom: 1, x: 0, y: 0 });
    note.textContent = facts.maps[index].note;
    show(-1);
    project();
    drawPoints();
  };
  const goTo = goToForm(points, (index) => pin(index, true));
  const zooms = make("div", { class: "zooms", role: "group", "aria-label": "Zoom" },
    make("button", { type: "button", "aria-label": "Zoom in", onclick: () => zoomBy(1.5) }, "+"),
    make("button", { type: "button", "aria-label": "Zoom out", onclick: () => zoomBy(1 / 1.5) }, "−"),
    make("button", { type: "button", "aria-label": "Show all points", onclick: () => zoomBy(0) }, "All"));
  const main = make("div", { class: "map-main" }, mapTabs(facts, chooseMap), note,
    make("div", { class: "line tools" }, goTo, zooms), box, mapLegend(facts, state, wrong, kinds, values, refilter), spoken);
  host.replaceChildren(make("div", { class: "map-layout" }, main, aside), graphTable(facts, pin));
  panel.clear();
  note.textContent = facts.maps[0].note;
  whenever(box, (width) => {
    state.width = width;
    state.height = Math.round(Math.min(560, Math.max(320, width * 0.78)));
    box.style.height = `${state.height}px`;
    project();
    drawPoints();
  });
}

/** Which picture stands for which graph: by class, or by measured value in 24 steps; with a ring where it was missed. */
function kindsOfPoints(facts, wrong, values) {
  const shades = 24;
  const classes = Math.max(1, (facts.classes || []).length);
  const level = (i) => Math.round(((facts.graphs[i].truth - values[0]) / (values[1] - values[0] || 1)) * (shades - 1));
  const kind = (i) => (values ? level(i) : facts.graphs[i].truth);
  const number = values ? shades : classes;
  return {
    group: (i) => (values ? "" : facts.graphs[i].truth),
    of: (i) => 2 * Math.max(0, Math.min(number - 1, kind(i))) + (wrong[i] ? 1 : 0),
    pictures: (radius, ratio) => {
      const colours = values ? valueRamp(isDark()) : null;
      const ring = resolved("var(--text)");
      const edge = resolved("var(--surface)");
      return Array.from({ length: 2 * number }, (_, k) => {
        const at = k >> 1;
        const colour = values ? rampColour(colours, at / (shades - 1)) : resolved(classColour(at));
        return markPicture(values ? 0 : at, radius, ratio, colour, edge, k % 2 ? ring : null);
      });
    },
  };
}

function markPicture(form, radius, ratio, colour, edge, ring) {
  const side = Math.ceil((2 * radius + 12) * ratio);
  const canvas = make("canvas", { width: side, height: side });
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, side / 2, side / 2);
  const path = new Path2D(markPath(form, radius));
  context.fillStyle = colour;
  context.strokeStyle = edge;
  context.lineWidth = 1;
  context.fill(path);
  context.stroke(path);
  if (ring) {
    context.strokeStyle = ring;
    context.lineWidth = 1.4;
    context.beginPath();
    context.arc(0, 0, radius + 3, 0, 2 * Math.PI);
    context.stroke();
  }
  return canvas;
}

function tipLines(facts, index) {
  const graph = facts.graphs[index];
  const line = (name, value, text) => make("span", { class: "tip-line" }, make("span", { class: "muted" }, name), ...classLine(facts, value, text));
  return [
    line(facts.kind === "classification" ? "truth" : "measured", graph.truth, truthText(facts, graph.truth)),
    line("predicted", graph.said, saidText(facts, graph)),
  ];
}

function mapTabs(facts, choose) {
  if (facts.maps.length < 2) return null;
  const tabs = facts.maps.map((map, i) =>
    make("button", { type: "button", role: "tab", "aria-selected": String(i === 0), tabindex: i === 0 ? "0" : "-1", onclick: () => take(i) }, map.name));
  const take = (index) => {
    tabs.forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === index));
      tab.tabIndex = i === index ? 0 : -1;
    });
    choose(index);
  };
  const list = make("div", { class: "segments", role: "tablist", "aria-label": "Kind of map" }, ...tabs);
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const to = (tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length;
    tabs[to].focus();
    take(to);
  });
  return list;
}

function goToForm(points, go) {
  const input = make("input", { type: "number", id: "go-to", min: "0", max: String(points - 1), step: "1", inputmode: "numeric", required: true });
  return make("form", { class: "go-to", onsubmit: (event) => {
    event.preventDefault();
    go(Number(input.value)); // a browser submits only what the field allows
  } }, make("label", { for: "go-to" }, "Go to graph"), input, make("button", { type: "submit" }, "Go"));
}

/** Marks and their meaning; each is a button that hides or shows its graphs. */
function mapLegend(facts, state, wrong, kinds, values, refilter) {
  const missed = wrong.filter(Boolean).length;
  const ring = shape("svg", { width: 16, height: 16, viewBox: "-8 -8 16 16", "aria-hidden": "true" },
    shape("circle", { r: 6.5, fill: "none", stroke: "currentColor", "stroke-width": 1.4 }), shape("circle", { r: 3.4, class: "ring-core" }));
  const only = make("button", { type: "button", "aria-pressed": "false", onclick: () => {
    state.onlyWrong = !state.onlyWrong;
    only.setAttribute("aria-pressed", String(state.onlyWrong));
    refilter();
  } }, ring, make("span", {}, `Only the missed (${count(missed)})`));
  const parts = [];
  if (values) {
    const canvas = make("canvas", { width: 256, height: 1, "aria-hidden": "true" });
    redraws.push(() => canvas.getContext("2d").putImageData(new ImageData(valueRamp(isDark()), 256, 1), 0, 0));
    redraws[redraws.length - 1]();
    parts.push(make("div", { class: "ramp" }, make("span", {}, number(values[0])), canvas, make("span", {}, number(values[1])), make("span", { class: "muted" }, cut(facts.target || "", 180))));
  } else {
    const sizes = (facts.classes || []).map(() => 0);
    for (const graph of facts.graphs) sizes[graph.truth]++;
    parts.push(...(facts.classes || []).map((name, i) => {
      const button = make("button", { type: "button", "aria-pressed": "true", title: name, onclick: () => {
        if (!state.hidden.delete(i)) state.hidden.add(i);
        button.setAttribute("aria-pressed", String(!state.hidden.has(i)));
        refilter();
      } }, classMark(i), make("span", { class: "cut" }, name), make("span", { class: "fine" }, count(sizes[i])));
      return button;
    }));
  }
  return make("div", { class: "map-legend", role: "group", "aria-label": "Which graphs are shown" }, ...parts, missed ? only : null);
}
