// All graphs as a table, for those who do not use the map. Rows are made when asked for: there may be thousands.

const ROWS_AT_ONCE = 100;

function graphTable(facts, pick) {
  const body = make("tbody");
  const more = make("button", { type: "button", onclick: () => add() });
  let done = 0;
  const add = () => {
    const stop = Math.min(facts.graphs.length, done + ROWS_AT_ONCE);
    for (; done < stop; done++) body.append(row(done));
    more.hidden = done >= facts.graphs.length;
    const left = facts.graphs.length - done;
    more.textContent = `Show ${count(Math.min(ROWS_AT_ONCE, left))} more of ${count(facts.graphs.length)}`;
  };
  const row = (index) => {
    const graph = facts.graphs[index];
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
      make("td", {}, truthText(facts, graph.truth)),
      make("td", {}, saidText(facts, graph)),
      make("td", {}, isWrong(facts, graph) ? "missed" : ""),
    );
  };
  const head = ["Number", "Name", "Nodes", "Edges", "Truth", "Predicted", "Verdict"];
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
