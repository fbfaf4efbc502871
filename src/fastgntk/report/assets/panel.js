// Panel with one graph: drawing, truth, prediction, probabilities, nearest training graphs, node contributions.

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/** Whether a prediction is wrong: another class, or the truth is outside the interval. */
function isWrong(report, graph) {
  if (graph.predicted === undefined || graph.predicted === null) return false;
  if (report.kind === "classification") return graph.predicted !== graph.truth;
  return graph.truth < graph.predicted.low || graph.truth > graph.predicted.high;
}

/** What the true value is called. */
const truthName = (report) => (report.kind === "classification" ? "True class" : "Measured");

/** Name of a class, or value of a target, as text. */
const truthText = (report, value) =>
  report.kind === "classification" ? String((report.classes || [])[value] ?? value) : number(value, 4);

function predictionText(report, graph) {
  const { predicted } = graph;
  if (predicted === undefined || predicted === null) return "not predicted";
  if (report.kind !== "classification")
    return `${number(predicted.mean, 4)} (${number(predicted.low, 3)} to ${number(predicted.high, 3)})`;
  const probability = graph.probability && graph.probability[predicted];
  return truthText(report, predicted) + (isNumber(probability) ? `, ${percent(probability)}` : "");
}

/** Whether a graph has a name other than its number. */
const hasName = (report, index) =>
  !["", String(index), `graph ${index}`].includes(report.graphs[index].name.toLowerCase());

/** Name of a graph, or "Graph 12". */
const titleOf = (report, index) => (hasName(report, index) ? report.graphs[index].name : `Graph ${index}`);

/** Describe a graph in one line, for screen readers. */
function sentence(report, index) {
  const graph = report.graphs[index];
  const verdict = isWrong(report, graph) ? `, ${verdictText(report, graph)}` : "";
  const name = hasName(report, index) ? `, ${graph.name}` : "";
  const truth = `${truthName(report).toLowerCase()} ${truthText(report, graph.truth)}`;
  return `Graph ${index}${name}: ${truth}, predicted ${predictionText(report, graph)}${verdict}.`;
}

const classLine = (report, value, text) =>
  report.kind === "classification" && isNumber(value)
    ? [classMark(value), make("span", {}, text)]
    : [make("span", {}, text)];

function makePanel(report, aside, pick, drop) {
  const small = (index, ...below) =>
    make(
      "button",
      {
        type: "button",
        class: "small",
        title: titleOf(report, index),
        "aria-label": sentence(report, index),
        onclick: () => pick(index, true),
      },
      drawGraph(report, index, 116, 84, "label"),
      make("span", { class: "cut" }, titleOf(report, index)),
      make(
        "span",
        { class: "under" },
        ...classLine(report, report.graphs[index].truth, truthText(report, report.graphs[index].truth)),
      ),
      make("span", { class: "fine" }, ...below),
    );

  function show(index) {
    const graph = report.graphs[index];
    const parts = [
      make(
        "div",
        { class: "line" },
        make("h3", { tabindex: "-1" }, titleOf(report, index), badge(report, graph)),
        make("button", { type: "button", class: "plain", onclick: drop, "aria-label": "Unpin this graph" }, "Unpin"),
      ),
      make(
        "p",
        { class: "fine" },
        hasName(report, index) ? `Number ${index} · ` : "",
        `${count(graph.nodes)} nodes · ${count(graph.edges)} edges`,
      ),
      verdict(report, graph),
      drawingOf(report, index),
      descriptorParts(graph),
      probabilities(report, graph),
      graph.neighbours && graph.neighbours.length
        ? make(
            "div",
            { class: "near" },
            make("h4", {}, "Most similar training graphs"),
            make(
              "div",
              { class: "smalls" },
              ...graph.neighbours.map(([other, cosine]) => small(other, `similarity ${cosine.toFixed(4)}`)),
            ),
          )
        : null,
    ];
    aside.replaceChildren(...parts.filter(Boolean));
    aside.dataset.graph = index;
  }

  function clear() {
    delete aside.dataset.graph;
    const worst = worstPredictions(report, 6);
    aside.replaceChildren(
      make("h3", { tabindex: "-1" }, "No graph is pinned"),
      make(
        "p",
        {},
        "Click a point of the map to pin its graph here, with its prediction and the most similar training graphs.",
      ),
      worst.length
        ? make(
            "div",
            { class: "near" },
            make("h4", {}, report.kind === "classification" ? "Most confident wrong predictions" : "Largest errors"),
            make(
              "div",
              { class: "smalls" },
              ...worst.map((index) => small(index, ...wrongPrediction(report, report.graphs[index]))),
            ),
          )
        : "",
    );
  }
  return { show, clear, focus: () => aside.querySelector("h3").focus({ preventScroll: true }) };
}

function wrongPrediction(report, { predicted, probability }) {
  if (report.kind !== "classification") return [`predicted ${number(predicted.mean)}`];
  return ["predicted", classMark(predicted, 12), probability ? percent(probability[predicted]) : ""];
}

/** The most confident wrong predictions, or the largest errors. */
function worstPredictions(report, most) {
  const size = (graph) =>
    report.kind === "classification"
      ? ((graph.probability || [])[graph.predicted] ?? 0)
      : Math.abs(graph.predicted.mean - graph.truth);
  return [...report.graphs.keys()]
    .filter((index) => report.graphs[index].drawing && isWrong(report, report.graphs[index]))
    .sort((a, b) => size(report.graphs[b]) - size(report.graphs[a]) || a - b)
    .slice(0, most);
}

function verdict(report, graph) {
  return make(
    "dl",
    { class: "verdict" },
    make("dt", {}, truthName(report)),
    make("dd", { "data-role": "truth" }, ...classLine(report, graph.truth, truthText(report, graph.truth))),
    make("dt", {}, "Prediction"),
    make("dd", { "data-role": "predicted" }, ...classLine(report, graph.predicted, predictionText(report, graph))),
  );
}

/** Whether the prediction is right, in words. */
function verdictText(report, graph) {
  const wrong = isWrong(report, graph);
  if (report.kind === "classification") return wrong ? "wrong" : "right";
  return wrong ? "outside the interval" : "inside the interval";
}

function badge(report, graph) {
  if (graph.predicted === undefined || graph.predicted === null) return null;
  return make("span", { class: isWrong(report, graph) ? "badge wrong" : "badge" }, verdictText(report, graph));
}

function drawingOf(report, index) {
  const graph = report.graphs[index];
  const drawing = graph.drawing;
  if (!drawing) return make("p", { class: "fine" }, "This graph is not drawn.");
  const holder = make("div", { class: "drawing" });
  const below = make("div", {});
  const paintBy = (by) => {
    holder.replaceChildren(drawGraph(report, index, 360, 270, by));
    below.replaceChildren(by === "contribution" ? contributionKey(report, graph) : labelKey(report, drawing));
  };
  const choices = [];
  if (drawing.contributions) choices.push(["contribution", "Contributions"]);
  if (drawing.labels) choices.push(["label", "Labels"]);
  const buttons = choices.map(([by, text]) =>
    make("button", { type: "button", "aria-pressed": "false", onclick: () => choose(by) }, text),
  );
  const choose = (by) => {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(choices[i][0] === by)));
    paintBy(by);
  };
  choose(drawing.contributions ? "contribution" : "label");
  const part =
    drawing.nodes < graph.nodes
      ? make(
          "p",
          { class: "fine" },
          `The ${count(drawing.nodes)} most connected of ${count(graph.nodes)} nodes are shown.`,
        )
      : null;
  return make(
    "div",
    {},
    choices.length > 1
      ? make("div", { class: "segments", role: "group", "aria-label": "Colour nodes by" }, ...buttons)
      : null,
    holder,
    below,
    part,
  );
}

/** Contributions of descriptors, which belong to the graph as a whole. */
function descriptorParts(graph) {
  if (!graph.descriptors) return null;
  const parts = Object.entries(graph.descriptors).map(([name, value]) => `${name} ${number(value)}`);
  return make("p", { class: "fine", "data-role": "descriptors" }, `Contributions of descriptors: ${parts.join(", ")}`);
}

/** Colour bar of contributions. */
function contributionKey(report, graph) {
  const limit = largestContribution(graph.drawing);
  const bar = make("div", {
    class: "diverging",
    role: "img",
    "aria-label": `Colours from ${number(-limit)} over 0 to ${number(limit)}`,
  });
  const words =
    report.kind === "classification"
      ? isNumber(graph.predicted)
        ? ["against", `for ${truthText(report, graph.predicted)}`]
        : ["against", "for"]
      : ["lowers", "raises"];
  return make(
    "div",
    { class: "contribution-key" },
    bar,
    make(
      "div",
      { class: "line fine" },
      make("span", {}, number(-limit)),
      make("span", {}, "0"),
      make("span", {}, limit ? `+${number(limit)}` : "0"),
    ),
    make(
      "div",
      { class: "line fine" },
      make("span", {}, words[0]),
      make("span", { title: words[1] }, cut(words[1], 210, 12)),
    ),
  );
}

function labelKey(report, drawing) {
  if (!drawing.labels) return "";
  const present = [...new Set(drawing.labels)].sort((a, b) => a - b);
  const shown = present.slice(0, 24);
  return make(
    "ul",
    { class: "labels", "aria-label": "Node labels" },
    ...shown.map((label) => {
      const swatch = make("span", { class: "swatch" });
      swatch.style.backgroundColor = labelColour(label);
      const name = String(report.node_labels[label] ?? label);
      return make("li", { title: name }, swatch, make("span", {}, cut(name, 150, 12)));
    }),
    present.length > shown.length ? make("li", {}, `and ${present.length - shown.length} more`) : null,
  );
}

function probabilities(report, graph) {
  if (!graph.probability || !graph.probability.length) return null;
  let order = [...graph.probability.keys()];
  if (order.length > 6) order = order.sort((a, b) => graph.probability[b] - graph.probability[a]).slice(0, 6);
  const rows = order.map((i) => {
    const bar = make("span", {});
    bar.style.setProperty("--part", `${100 * graph.probability[i]}%`);
    const name = truthText(report, i);
    return make(
      "tr",
      {},
      make("th", { scope: "row", title: name }, classMark(i), make("span", { class: "cut" }, name)),
      make("td", { class: "bar" }, bar),
      make("td", { class: "number" }, percent(graph.probability[i], 1)),
    );
  });
  const caption =
    graph.probability.length > order.length ? `Probabilities, the largest ${order.length}` : "Probabilities";
  return make("table", { class: "bars probabilities" }, make("caption", {}, caption), make("tbody", {}, ...rows));
}
