// Map of all graphs as points. Each kind of marker is rendered once and copied: thousands of points are drawn in a few
// milliseconds. Highlights are on a second canvas above.

const NEAR_ENOUGH = 16; // pixels from pointer to point
const CLOSEST = 40; // largest zoom

function mapChart(report, host) {
  const points = report.graphs.length;
  const wrong = report.graphs.map((graph) => isWrong(report, graph));
  const state = {
    map: 0,
    zoom: 1,
    x: 0,
    y: 0,
    hover: -1,
    pinned: -1,
    width: 0,
    height: 0,
    hidden: new Set(),
    onlyWrong: false,
  };
  const [screenX, screenY] = [new Float32Array(points), new Float32Array(points)];
  const [below, above] = [
    make("canvas", { class: "points", "aria-hidden": "true" }),
    make("canvas", { class: "pointed", "aria-hidden": "true" }),
  ];
  const box = make(
    "div",
    {
      class: "map-box",
      tabindex: "0",
      role: "application",
      "aria-label": `Map of ${count(points)} graphs. Arrows go from graph to graph, Enter pins one, Escape unpins it.`,
    },
    below,
    above,
  );
  const spoken = make("p", { class: "unseen", "aria-live": "polite" });
  const aside = make("aside", { class: "panel", "aria-label": "The pinned graph" });
  const panel = makePanel(
    report,
    aside,
    (index, focus) => pin(index, focus),
    () => unpin(true),
  );
  const tip = document.getElementById("tip");
  const values =
    report.kind === "regression"
      ? extent(
          report.graphs.map((graph) => graph.truth),
          0,
        )
      : null;
  const kinds = kindsOfPoints(report, wrong, values);

  const isShown = (i) =>
    Number.isFinite(screenX[i]) && !(state.onlyWrong && !wrong[i]) && !state.hidden.has(kinds.group(i));

  function project() {
    const { x, y } = report.maps[state.map];
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
    // Wrong predictions last, so that their rings stay visible.
    for (const late of [false, true]) {
      for (let i = 0; i < points; i++) {
        if (wrong[i] !== late || !isShown(i)) continue;
        const mark = pictures[kinds.of(i)];
        context.drawImage(
          mark,
          Math.round(screenX[i] * ratio - mark.width / 2),
          Math.round(screenY[i] * ratio - mark.height / 2),
        );
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
    // With a background-coloured rim, to stand out among points of the same colour.
    const stroke = (path, width) => {
      for (const [colour, wide] of [
        [surface, width + 3],
        [accent, width],
      ]) {
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
      for (const [other] of report.graphs[state.pinned].neighbours || []) {
        lines.moveTo(screenX[state.pinned], screenY[state.pinned]);
        lines.lineTo(screenX[other], screenY[other]);
      }
      stroke(lines, 1.2);
      stroke(circle(state.pinned), 3.2);
    }
    if (state.hover >= 0) stroke(circle(state.hover), 2);
  }

  function show(index, announce) {
    state.hover = index;
    drawAbove();
    if (index < 0) {
      tip.hidden = true;
      return;
    }
    tip.replaceChildren(
      drawGraph(report, index, 266, 150, "label"),
      make("strong", { class: "cut" }, titleOf(report, index)),
      ...tipLines(report, index, together(index).length - 1),
    );
    tip.hidden = false;
    const frame = box.getBoundingClientRect();
    const [x, y] = [frame.left + screenX[index], frame.top + screenY[index]];
    const left = x + 22 + tip.offsetWidth > document.documentElement.clientWidth ? x - 22 - tip.offsetWidth : x + 22;
    tip.style.left = `${Math.max(4, Math.min(document.documentElement.clientWidth - tip.offsetWidth - 4, left))}px`;
    tip.style.top = `${Math.max(4, Math.min(window.innerHeight - tip.offsetHeight - 4, y - tip.offsetHeight / 2))}px`;
    if (announce) spoken.textContent = sentence(report, index);
  }

  /** Graphs whose points overlap: equal or nearly equal under the kernel. */
  const together = (index) =>
    [...report.graphs.keys()].filter(
      (i) => isShown(i) && Math.hypot(screenX[i] - screenX[index], screenY[i] - screenY[index]) < 1.5,
    );

  /** Pin a graph, or the next one at the same position if one of them is already pinned. */
  function pinHere(index) {
    const here = together(index);
    const to = here.includes(state.pinned) ? here[(here.indexOf(state.pinned) + 1) % here.length] : index;
    if (state.hover >= 0) show(to, false); // no tip on touch screens
    pin(to, false);
  }

  function pin(index, focus) {
    state.pinned = index;
    bringIntoView(index);
    panel.show(index);
    drawAbove();
    spoken.textContent = `Pinned. ${sentence(report, index)}`;
    if (focus) {
      show(-1);
      panel.focus();
    }
    // The panel may be out of view: below the map on phones, above after a click in the table.
    const { top } = aside.getBoundingClientRect();
    if (top < 0 || top > window.innerHeight - 100) aside.scrollIntoView({ block: "start" });
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
    const inside =
      screenX[index] > 8 && screenX[index] < state.width - 8 && screenY[index] > 8 && screenY[index] < state.height - 8;
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

  /** Nearest point within 45 degrees of a direction. */
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
      if (state.hover >= 0) pinHere(state.hover);
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
  box.addEventListener(
    "pointerdown",
    (event) => (drag = { x: event.clientX, y: event.clientY, moved: false, pointer: event.pointerId }),
  );
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
    if (found >= 0 && state.hover >= 0 && together(found).includes(state.hover)) return;
    box.classList.toggle("pointing", found >= 0);
    if (found !== state.hover) show(found, false);
  });
  box.addEventListener("pointerleave", () => show(-1));
  box.addEventListener("click", (event) => {
    const moved = drag && drag.moved;
    drag = null;
    const found = moved ? -1 : nearest(...inBox(event), 1.5 * NEAR_ENOUGH);
    if (found >= 0) pinHere(found);
  });
  box.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) return; // the wheel alone scrolls the page
      event.preventDefault();
      zoomBy(Math.exp(-event.deltaY / 200), ...inBox(event));
    },
    { passive: false },
  );
  window.addEventListener("scroll", () => tip.hidden || document.activeElement === box || show(-1), { passive: true });
  box.placeOf = (index) => [screenX[index], screenY[index]]; // used by the tests

  const refilter = () => {
    show(-1);
    drawPoints();
  };
  const note = make("p", { class: "fine" });
  const chooseMap = (index) => {
    Object.assign(state, { map: index, zoom: 1, x: 0, y: 0 });
    note.textContent = report.maps[index].note;
    show(-1);
    project();
    drawPoints();
  };
  const goTo = goToForm(points, (index) => pin(index, true));
  const zooms = make(
    "div",
    { class: "zooms", role: "group", "aria-label": "Zoom" },
    make("button", { type: "button", "aria-label": "Zoom in", onclick: () => zoomBy(1.5) }, "+"),
    make("button", { type: "button", "aria-label": "Zoom out", onclick: () => zoomBy(1 / 1.5) }, "−"),
    make("button", { type: "button", "aria-label": "Show all points", onclick: () => zoomBy(0) }, "All"),
  );
  const main = make(
    "div",
    { class: "map-main" },
    mapTabs(report, chooseMap),
    note,
    make("div", { class: "line tools" }, goTo, zooms),
    box,
    mapLegend(report, state, wrong, kinds, values, refilter),
    spoken,
  );
  host.replaceChildren(make("div", { class: "map-layout" }, main, aside), graphTable(report, pin));
  panel.clear();
  note.textContent = report.maps[0].note;
  whenever(box, (width) => {
    state.width = width;
    state.height = Math.round(Math.min(560, Math.max(320, width * 0.78)));
    box.style.height = `${state.height}px`;
    project();
    drawPoints();
  });
}
