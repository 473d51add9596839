// Search, theme, charts' tips, sorting, filtering, colours of code. Pages are whole without it.
"use strict";
const root = document.body.dataset.root;
const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
const made = (tag, text, style) => Object.assign(document.createElement(tag), { textContent: text, className: style || "" });

const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
document.getElementById("theme").addEventListener("click", () => {
  const chosen = dark() ? "light" : "dark";
  document.documentElement.dataset.theme = chosen;
  try { localStorage.setItem("theme", chosen); } catch (e) { /* it holds for this page */ }
  dispatchEvent(new Event("themed"));
});

// Search: names are loaded when they are first asked for.
const dialog = document.getElementById("search"), input = dialog.querySelector("input"), list = dialog.querySelector("ol");
let at = 0;
function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = (window.SEARCH || []).filter(([name, more]) => words.every((w) => (name + " " + more).toLowerCase().includes(w))).slice(0, 40);
  list.replaceChildren(...hits.map(([name, more, page]) => {
    const link = made("a", name), item = made("li");
    link.href = root + page;
    link.append(made("span", more, "quiet"));
    item.append(link);
    return item;
  }));
  point(0);
}
function point(n) {
  at = Math.max(0, Math.min(n, list.children.length - 1));
  $$("li", list).forEach((item, i) => item.classList.toggle("on", i === at));
  list.children[at]?.scrollIntoView({ block: "nearest" });
}
function find() {
  dialog.showModal();
  input.select();
  if (window.SEARCH) return search();
  const script = document.createElement("script");
  script.src = root + "assets/search.js";
  script.addEventListener("load", search);
  document.head.append(script);
}
document.getElementById("find").addEventListener("click", find);
input.addEventListener("input", search);
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
dialog.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") point(at + 1);
  else if (event.key === "ArrowUp") point(at - 1);
  else if (event.key === "Enter") list.children[at]?.querySelector("a").click();
  else return;
  event.preventDefault();
});
addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(event.target.tagName)) { event.preventDefault(); find(); }
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest(".copy");
  if (!button) return;
  const text = button.previousElementSibling.textContent;
  try { await navigator.clipboard.writeText(text); } catch (e) {
    const field = made("textarea", text);
    document.body.append(field); field.select(); document.execCommand("copy"); field.remove();
  }
  button.textContent = "copied";
  setTimeout(() => { button.textContent = "copy"; }, 1200);
});

// Charts: the point nearest to the pointer.
for (const chart of $$(".chart")) {
  const data = JSON.parse(chart.querySelector("script").textContent), tip = chart.querySelector(".tip"), plot = chart.querySelector(".plot");
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * data.width;
    const place = data.first + (x - data.left) / (data.right - data.left) * (data.last - data.first);
    const n = data.x.reduce((best, v, i) => Math.abs(v - place) < Math.abs(data.x[best] - place) ? i : best, 0);
    const left = (data.left + (data.x[n] - data.first) / (data.last - data.first) * (data.right - data.left)) / data.width * box.width;
    tip.textContent = `${data.y[n]} µs at ${data.names[n]}`;
    tip.hidden = false;
    tip.style.left = `${Math.min(Math.max(left, 70), box.width - 70)}px`;
  });
  plot.addEventListener("pointerleave", () => { tip.hidden = true; });
}

for (const table of $$("table.sortable")) {
  $$("th", table).forEach((head, column) => {
    head.tabIndex = 0;
    const sort = () => {
      const up = head.getAttribute("aria-sort") === "descending" ? 1 : -1, body = table.tBodies[0];
      const value = (row) => { const cell = row.cells[column], text = cell.dataset.v ?? cell.textContent.trim(); return text === "" || isNaN(text) ? text : +text; };
      const rows = [...body.rows].map((row) => [value(row), row]);
      rows.sort(([a], [b]) => up * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b))));
      $$("th", table).forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up > 0 ? "ascending" : "descending");
      body.append(...rows.map(([, row]) => row));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  });
}
for (const field of $$(".filter")) {
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of document.querySelector("table").tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
}

// Colours of emitted modules: a subset of Python without nested strings.
const TOKENS = /(#.*)|("""[^]*?"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|\b(def|return|for|in|if|else|elif|import|from|as|while|with|try|except|raise|lambda|and|or|not|is|None|True|False|class|pass|assert)\b|(@[\w.]+|\btl\.\w+|\btorch(?:\.\w+)+)|\b(0x[0-9a-fA-F]+|\d+\.?\d*(?:e[+-]?\d+)?)\b/g;
function paint(block) {
  const text = block.textContent, parts = [];
  let last = 0;
  for (const hit of text.matchAll(TOKENS)) {
    parts.push(text.slice(last, hit.index), made("span", hit[0], "cskbd"[hit.slice(1).findIndex((g) => g !== undefined)]));
    last = hit.index + hit[0].length;
  }
  block.replaceChildren(...parts, text.slice(last));
}
for (const block of $$("pre.python")) {
  const fold = block.closest("details");
  if (fold) fold.addEventListener("toggle", () => paint(block), { once: true }); else paint(block);
}

// The roofline, if this page has one.
const points = document.getElementById("points");
if (points) addEventListener("load", () => {
  const { points: all, bandwidth, fp32 } = JSON.parse(points.textContent), box = document.getElementById("roofline");
  const roofs = [...new Set(all.map((p) => p[6]))].sort(), palette = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"];
  let view = "share";
  function draw() {
    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const share = view === "share", shown = share ? all.filter((p) => p[5]) : all.filter((p) => p[3]);
    const traces = roofs.map((roof, n) => {
      const mine = shown.filter((p) => p[6] === roof);
      return {
        type: "scattergl", mode: "markers", name: roof, marker: { size: 8, opacity: .75, color: palette[n % palette.length] }, customdata: mine.map((p) => p[1]),
        x: mine.map((p) => share ? p[4] : p[3] / p[2]), y: mine.map((p) => share ? 100 * p[5] : p[3] / p[4] / 1e6),
        text: mine.map((p) => p[0]), hovertemplate: share ? "%{text}<br>%{x} µs, %{y:.0f} % of peak<extra></extra>" : "%{text}<br>%{x:.3g} FLOP/byte, %{y:.3g} TFLOP/s<extra></extra>",
      };
    }).filter((trace) => trace.x.length);
    if (!share && bandwidth) {
      const xs = [0.01, ...(fp32 ? [1000 * fp32 / bandwidth] : []), 1000];
      traces.push({ type: "scatter", mode: "lines", name: "peak", hoverinfo: "skip", line: { color: colour("--quiet"), dash: "dash" }, x: xs, y: xs.map((x) => Math.min(x * bandwidth / 1000, fp32 || Infinity)) });
    }
    const axis = { gridcolor: colour("--rule"), zeroline: false, linecolor: colour("--rule") };
    Plotly.react(box, traces, {
      paper_bgcolor: "transparent", plot_bgcolor: "transparent", font: { color: colour("--ink"), family: "system-ui, sans-serif" }, margin: { t: 20, r: 20, b: 50, l: 60 }, hovermode: "closest", legend: { orientation: "h", y: 1.06 },
      xaxis: { ...axis, type: "log", title: { text: share ? "µs of a launch" : "FLOP per byte" } }, yaxis: { ...axis, type: share ? "linear" : "log", title: { text: share ? "% of what the device allows" : "TFLOP/s" }, rangemode: "tozero" },
    }, { responsive: true, displaylogo: false });
  }
  draw();
  box.on("plotly_click", (event) => { const page = event.points[0].customdata; if (page) location.href = page; });
  addEventListener("themed", draw);
  for (const button of $$(".views button")) button.addEventListener("click", () => {
    view = button.dataset.view;
    $$(".views button").forEach((other) => other.setAttribute("aria-pressed", other === button));
    draw();
  });
});
