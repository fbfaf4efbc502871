// All graphs as a table, an alternative to the map. Rows are created on demand, 100 at a time.

const ROWS_AT_ONCE = 100;

function graphTable(report, pick) {
  const body = make("tbody");
  const more = make("button", { type: "button", onclick: () => add() });
  let done = 0;
  const add = () => {
    const stop = Math.min(report.graphs.length, done + ROWS_AT_ONCE);
    for (; done < stop; done++) body.append(row(done));
    more.hidden = done >= report.graphs.length;
    const left = report.graphs.length - done;
    more.textContent = `Show ${count(Math.min(ROWS_AT_ONCE, left))} more of ${count(report.graphs.length)}`;
  };
  const row = (index) => {
    const graph = report.graphs[index];
    return make(
      "tr",
      {},
      make(
        "th",
        { scope: "row" },
        make(
          "button",
          { type: "button", class: "plain", "aria-label": `Show graph ${index}`, onclick: () => pick(index, true) },
          String(index),
        ),
      ),
      make("td", {}, graph.name),
      make("td", { class: "number" }, count(graph.nodes)),
      make("td", { class: "number" }, count(graph.edges)),
      make("td", {}, truthText(report, graph.truth)),
      make("td", {}, predictionText(report, graph)),
      make("td", {}, isWrong(report, graph) ? verdictText(report, graph) : ""),
    );
  };
  const head = ["Number", "Name", "Nodes", "Edges", truthName(report), "Predicted", "Result"];
  const table = make(
    "table",
    {},
    make("caption", {}, "All graphs"),
    make(
      "thead",
      {},
      make(
        "tr",
        {},
        ...head.map((title, i) => make("th", { scope: "col", class: i === 2 || i === 3 ? "number" : null }, title)),
      ),
    ),
    body,
  );
  const details = make(
    "details",
    { ontoggle: () => done || add() },
    make("summary", {}, "All graphs as a table"),
    make("div", { class: "scrolling", role: "group", "aria-label": "All graphs as a table", tabindex: "0" }, table),
    more,
  );
  more.hidden = true;
  return details;
}
