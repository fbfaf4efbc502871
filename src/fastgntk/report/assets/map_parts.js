// Parts of the map: markers, tooltip, tabs, the go-to form and the legend.

/** Markers: coloured by class, or by measured value in 24 steps; with a ring for wrong predictions. */
function kindsOfPoints(report, wrong, values) {
  const shades = 24;
  const classes = Math.max(1, (report.classes || []).length);
  const level = (i) => Math.round(((report.graphs[i].truth - values[0]) / (values[1] - values[0] || 1)) * (shades - 1));
  const kind = (i) => (values ? level(i) : report.graphs[i].truth);
  const number = values ? shades : classes;
  return {
    group: (i) => (values ? "" : report.graphs[i].truth),
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

/** Lines of the tooltip: truth, prediction, and the number of other graphs at the same position. */
function tipLines(report, index, others) {
  const graph = report.graphs[index];
  const line = (name, value, text) =>
    make("span", { class: "tip-line" }, make("span", { class: "muted" }, name), ...classLine(report, value, text));
  return [
    line(truthName(report).toLowerCase(), graph.truth, truthText(report, graph.truth)),
    line("predicted", graph.predicted, predictionText(report, graph)),
    others > 0 ? make("span", { class: "tip-line muted" }, `${count(others)} more here; click again for the next`) : "",
  ];
}

function mapTabs(report, choose) {
  if (report.maps.length < 2) return null;
  const tabs = report.maps.map((map, i) =>
    make(
      "button",
      {
        type: "button",
        role: "tab",
        "aria-selected": String(i === 0),
        tabindex: i === 0 ? "0" : "-1",
        onclick: () => take(i),
      },
      map.name,
    ),
  );
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
  const input = make("input", {
    type: "number",
    id: "go-to",
    min: "0",
    max: String(points - 1),
    step: "1",
    inputmode: "numeric",
    required: true,
  });
  return make(
    "form",
    {
      class: "go-to",
      onsubmit: (event) => {
        event.preventDefault();
        go(Number(input.value)); // the browser validates the range
      },
    },
    make("label", { for: "go-to" }, "Go to graph"),
    input,
    make("button", { type: "submit" }, "Go"),
  );
}

/** Legend; each entry is a button that hides or shows its graphs. */
function mapLegend(report, state, wrong, kinds, values, refilter) {
  const wrongCount = wrong.filter(Boolean).length;
  const which = report.kind === "classification" ? "wrong predictions" : "outside the interval";
  const ring = shape(
    "svg",
    { width: 16, height: 16, viewBox: "-8 -8 16 16", "aria-hidden": "true" },
    shape("circle", { r: 6.5, fill: "none", stroke: "currentColor", "stroke-width": 1.4 }),
    shape("circle", { r: 3.4, class: "ring-core" }),
  );
  const only = make(
    "button",
    {
      type: "button",
      "aria-pressed": "false",
      onclick: () => {
        state.onlyWrong = !state.onlyWrong;
        only.setAttribute("aria-pressed", String(state.onlyWrong));
        refilter();
      },
    },
    ring,
    make("span", {}, `Only ${which} (${count(wrongCount)})`),
  );
  const parts = [];
  if (values) {
    const canvas = make("canvas", { width: 256, height: 1, "aria-hidden": "true" });
    redraws.push(() => canvas.getContext("2d").putImageData(new ImageData(valueRamp(isDark()), 256, 1), 0, 0));
    redraws[redraws.length - 1]();
    parts.push(
      make(
        "div",
        { class: "ramp" },
        make("span", {}, number(values[0])),
        canvas,
        make("span", {}, number(values[1])),
        make("span", { class: "muted" }, cut(report.target || "", 180)),
      ),
    );
  } else {
    const sizes = (report.classes || []).map(() => 0);
    for (const graph of report.graphs) sizes[graph.truth]++;
    parts.push(
      ...(report.classes || []).map((name, i) => {
        const button = make(
          "button",
          {
            type: "button",
            "aria-pressed": "true",
            title: name,
            onclick: () => {
              if (!state.hidden.delete(i)) state.hidden.add(i);
              button.setAttribute("aria-pressed", String(!state.hidden.has(i)));
              refilter();
            },
          },
          classMark(i),
          make("span", { class: "cut" }, name),
          make("span", { class: "fine" }, count(sizes[i])),
        );
        return button;
      }),
    );
  }
  return make(
    "div",
    { class: "map-legend", role: "group", "aria-label": "Which graphs are shown" },
    ...parts,
    wrongCount ? only : null,
  );
}
