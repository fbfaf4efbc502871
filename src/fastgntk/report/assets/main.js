// Read the report data and draw all charts.

async function readReport() {
  const encoded = document.getElementById("report-data").textContent;
  const packed = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** Highlight the current section in the table of contents. */
function followReading() {
  const bar = document.querySelector("nav ul");
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        const link = links.get(entry.target.id);
        link.toggleAttribute("data-here", entry.isIntersecting);
        if (entry.isIntersecting) bar.scrollLeft = link.offsetLeft - 60; // the list scrolls on narrow screens
      }
    },
    { rootMargin: "-45% 0px -54% 0px" },
  );
  for (const key of links.keys()) seen.observe(document.getElementById(key));
}

async function start() {
  performance.mark("fastgntk-start");
  setUpTheme();
  followReading();
  const report = await readReport();
  for (const place of document.querySelectorAll("[data-class]"))
    place.append(classMark(Number(place.dataset.class), 12));
  const charts = {
    score: scoreChart,
    calibration: calibrationChart,
    scatter: scatterChart,
    heat: heatChart,
    map: mapChart,
  };
  for (const host of document.querySelectorAll("[data-chart]")) charts[host.dataset.chart](report, host);
  root.dataset.ready = "";
  performance.mark("fastgntk-ready");
}

start().catch((error) => {
  const words =
    "The charts could not be drawn: the browser is too old, or the file is damaged. The tables hold all numbers.";
  document.getElementById("content").prepend(make("p", { class: "failed", role: "alert" }, words));
  throw error;
});
