// One graph beside the map: drawing, truth, prediction, probabilities, nearest training graphs, contributions of nodes.

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/** Whether a prediction is there and missed: another class, or outside the interval. */
function isWrong(facts, graph) {
  if (graph.said === undefined || graph.said === null) return false;
  if (facts.kind === "classification") return graph.said !== graph.truth;
  return graph.truth < graph.said.low || graph.truth > graph.said.high;
}

/** The name of a class or the number of a target, as text. */
const truthText = (facts, value) =>
  facts.kind === "classification" ? String((facts.classes || [])[value] ?? value) : number(value, 4);

function saidText(facts, graph) {
  if (graph.said === undefined || graph.said === null) return "not predicted";
  if (facts.kind !== "classification")
    return `${number(graph.said.mean, 4)} (${number(graph.said.low, 3)} to ${number(graph.said.high, 3)})`;
  const probability = graph.probability && graph.probability[graph.said];
  return truthText(facts, graph.said) + (isNumber(probability) ? `, ${percent(probability)}` : "");
}

/** Whether a graph has a name that says more than its number. */
const hasName = (facts, index) =>
  !["", String(index), `graph ${index}`].includes(facts.graphs[index].name.toLowerCase());

/** Its name, or "Graph 12". */
const titleOf = (facts, index) => (hasName(facts, index) ? facts.graphs[index].name : `Graph ${index}`);

/** One line about a graph, for the tip and for screen readers. */
function sentence(facts, index) {
  const graph = facts.graphs[index];
  const verdict = graph.said === undefined ? "" : isWrong(facts, graph) ? " Missed." : "";
  const name = hasName(facts, index) ? `, ${graph.name}` : "";
  const words = `truth ${truthText(facts, graph.truth)}, predicted ${saidText(facts, graph)}.`;
  return `Graph ${index}${name}: ${words}${verdict}`;
}

const classLine = (facts, value, text) =>
  facts.kind === "classification" && isNumber(value)
    ? [classMark(value), make("span", {}, text)]
    : [make("span", {}, text)];

function makePanel(facts, aside, pick, drop) {
  const small = (index, ...below) =>
    make(
      "button",
      {
        type: "button",
        class: "small",
        title: titleOf(facts, index),
        "aria-label": sentence(facts, index),
        onclick: () => pick(index, true),
      },
      drawGraph(facts, index, 116, 84, "label"),
      make("span", { class: "cut" }, titleOf(facts, index)),
      make(
        "span",
        { class: "under" },
        ...classLine(facts, facts.graphs[index].truth, truthText(facts, facts.graphs[index].truth)),
      ),
      make("span", { class: "fine" }, ...below),
    );

  function show(index) {
    const graph = facts.graphs[index];
    const parts = [
      make(
        "div",
        { class: "line" },
        make("h3", { tabindex: "-1" }, titleOf(facts, index), badge(facts, graph)),
        make("button", { type: "button", class: "plain", onclick: drop, "aria-label": "Unpin this graph" }, "Unpin"),
      ),
      make(
        "p",
        { class: "fine" },
        hasName(facts, index) ? `Number ${index} · ` : "",
        `${count(graph.nodes)} nodes · ${count(graph.edges)} edges`,
      ),
      verdict(facts, graph),
      drawingOf(facts, index),
      probabilities(facts, graph),
      graph.near && graph.near.length
        ? make(
            "div",
            { class: "near" },
            make("h4", {}, "Nearest graphs that the model had seen"),
            make(
              "div",
              { class: "smalls" },
              ...graph.near.map(([other, cosine]) => small(other, `likeness ${cosine.toFixed(4)}`)),
            ),
          )
        : null,
    ];
    aside.replaceChildren(...parts.filter(Boolean));
    aside.dataset.graph = index;
  }

  function clear() {
    delete aside.dataset.graph;
    const worst = worstMisses(facts, 6);
    aside.replaceChildren(
      make("h3", { tabindex: "-1" }, "No graph is pinned"),
      make(
        "p",
        {},
        "Click a point of the map to pin its graph here, with its prediction and the graphs that are most like it.",
      ),
      worst.length
        ? make(
            "div",
            { class: "near" },
            make("h4", {}, facts.kind === "classification" ? "The surest wrong predictions" : "The largest errors"),
            make(
              "div",
              { class: "smalls" },
              ...worst.map((index) => small(index, ...missed(facts, facts.graphs[index]))),
            ),
          )
        : "",
    );
  }
  return { show, clear, focus: () => aside.querySelector("h3").focus({ preventScroll: true }) };
}

const missed = (facts, graph) =>
  facts.kind === "classification"
    ? ["said", classMark(graph.said, 12), graph.probability ? percent(graph.probability[graph.said]) : ""]
    : [`said ${number(graph.said.mean)}`];

/** Graphs that were missed by most: those a reader wants to see first. */
function worstMisses(facts, most) {
  const size = (graph) =>
    facts.kind === "classification"
      ? ((graph.probability || [])[graph.said] ?? 0)
      : Math.abs(graph.said.mean - graph.truth);
  return [...facts.graphs.keys()]
    .filter((index) => facts.graphs[index].drawing && isWrong(facts, facts.graphs[index]))
    .sort((a, b) => size(facts.graphs[b]) - size(facts.graphs[a]) || a - b)
    .slice(0, most);
}

function verdict(facts, graph) {
  const said = graph.said;
  return make(
    "dl",
    { class: "verdict" },
    make("dt", {}, facts.kind === "classification" ? "Truth" : "Measured"),
    make("dd", { "data-role": "truth" }, ...classLine(facts, graph.truth, truthText(facts, graph.truth))),
    make("dt", {}, "Prediction"),
    make("dd", { "data-role": "said" }, ...classLine(facts, said, saidText(facts, graph))),
  );
}

/** Whether the prediction was right, in a word. */
function badge(facts, graph) {
  if (graph.said === undefined || graph.said === null) return null;
  const wrong = isWrong(facts, graph);
  const words = facts.kind === "classification" ? ["right", "wrong"] : ["inside the interval", "outside the interval"];
  return make("span", { class: wrong ? "badge wrong" : "badge" }, words[Number(wrong)]);
}

function drawingOf(facts, index) {
  const graph = facts.graphs[index];
  const drawing = graph.drawing;
  if (!drawing) return make("p", { class: "fine" }, "This graph is not drawn.");
  const holder = make("div", { class: "drawing" });
  const below = make("div", {});
  const paintBy = (by) => {
    holder.replaceChildren(drawGraph(facts, index, 360, 270, by));
    below.replaceChildren(by === "share" ? shareKey(facts, graph) : labelKey(facts, drawing));
  };
  const choices = [drawing.shares && ["share", "Contributions"], drawing.labels && ["label", "Labels"]].filter(Boolean);
  const buttons = choices.map(([by, text]) =>
    make("button", { type: "button", "aria-pressed": "false", onclick: () => choose(by) }, text),
  );
  const choose = (by) => {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(choices[i][0] === by)));
    paintBy(by);
  };
  choose(drawing.shares ? "share" : "label");
  const part =
    drawing.nodes < graph.nodes
      ? make(
          "p",
          { class: "fine" },
          `Drawn are the ${count(drawing.nodes)} nodes with the most neighbours, of ${count(graph.nodes)}.`,
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

/** The bar of colours: from against to for. */
function shareKey(facts, graph) {
  const limit = largestShare(graph.drawing);
  const bar = make("div", {
    class: "diverging",
    role: "img",
    "aria-label": `Colours from ${number(-limit)} over 0 to ${number(limit)}`,
  });
  const words =
    facts.kind === "classification"
      ? isNumber(graph.said)
        ? ["against", `for ${truthText(facts, graph.said)}`]
        : ["against", "for"]
      : ["lowers", "raises"];
  return make(
    "div",
    { class: "share-key" },
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

function labelKey(facts, drawing) {
  if (!drawing.labels) return "";
  const present = [...new Set(drawing.labels)].sort((a, b) => a - b);
  const shown = present.slice(0, 24);
  return make(
    "ul",
    { class: "labels", "aria-label": "Labels of nodes" },
    ...shown.map((label) => {
      const swatch = make("span", { class: "swatch" });
      swatch.style.backgroundColor = labelColour(label);
      const name = String(facts.node_labels[label] ?? label);
      return make("li", { title: name }, swatch, make("span", {}, cut(name, 150, 12)));
    }),
    present.length > shown.length ? make("li", {}, `and ${present.length - shown.length} more`) : null,
  );
}

function probabilities(facts, graph) {
  if (!graph.probability || !graph.probability.length) return null;
  let order = [...graph.probability.keys()];
  if (order.length > 6) order = order.sort((a, b) => graph.probability[b] - graph.probability[a]).slice(0, 6);
  const rows = order.map((i) => {
    const bar = make("span", {});
    bar.style.setProperty("--part", `${100 * graph.probability[i]}%`);
    const name = truthText(facts, i);
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
