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

// Charts of histories: drawn at the size they have, and again when that changes.
function svg(tag, given, text) {
  const one = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(given)) one.setAttribute(name, typeof value === "number" ? value.toFixed(1) : value);
  if (text !== undefined) one.textContent = text;
  return one;
}
function ticks(low, high) {
  const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  const found = [];
  for (let n = Math.ceil(low / step); n * step <= high; n++) found.push(+(n * step).toPrecision(6));
  return found;
}
function drawHistory(chart) {
  const { segments, marks } = JSON.parse(chart.querySelector("script").textContent), names = window.COMMITS, plot = chart.querySelector(".plot");
  const points = segments.flatMap(({ x, y }) => x.map((place, n) => [place, y[n]])), wide = plot.clientWidth, high = wide > 600 ? 230 : 150;
  const places = points.map(([place]) => place), first = Math.min(...places), newest = Math.max(...places), last = Math.max(newest, first + 1);
  const shown = [...points.map(([, y]) => y), ...marks.flatMap((mark) => [mark.old, mark.new]).filter((y) => y !== null)];
  const middle = (Math.max(...shown) + Math.min(...shown)) / 2, half = Math.max((Math.max(...shown) - Math.min(...shown)) * .56, .01 * middle);
  const box = { left: 52, right: wide - 10, top: 22, bottom: high - 22 };
  const X = (place) => box.left + (place - first) / (last - first) * (box.right - box.left), Y = (value) => box.bottom - (value - middle + half) / (2 * half) * (box.bottom - box.top);
  const path = (list) => "M" + list.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
  const root = svg("svg", { class: "history", width: wide, height: high, role: "img", "aria-label": `${chart.getAttribute("aria-label")}: ${points.length} points, newest ${points.at(-1)[1]} µs` });
  for (const value of ticks(middle - half, middle + half)) root.append(svg("line", { class: "grid", x1: box.left, x2: box.right, y1: Y(value), y2: Y(value) }), svg("text", { x: box.left - 6, y: Y(value) + 4, "text-anchor": "end" }, value));
  for (const mark of marks) {
    const at = X(mark.x), style = mark.style, anchor = at > wide / 2 ? "end" : "start";
    root.append(svg("rect", { class: `band ${style}`, x: X(mark.low), y: box.top, width: Math.max(X(mark.high) - X(mark.low), 2), height: box.bottom - box.top }));
    if (mark.old !== null) root.append(svg("path", { class: `level ${style}`, d: path([[Math.max(at - 90, box.left), Y(mark.old)], [at, Y(mark.old)], [at, Y(mark.new)], [Math.min(at + 90, box.right), Y(mark.new)]]) }));
    root.append(svg("text", { class: `mark ${style}`, x: at, y: box.top - 7, "text-anchor": anchor }, mark.text));
  }
  segments.forEach(({ x, y }, n) => {
    const line = x.map((place, i) => [X(place), Y(y[i])]);
    if (n) root.append(svg("line", { class: "break", x1: line[0][0], x2: line[0][0], y1: box.top, y2: box.bottom }));
    root.append(svg("path", { class: n === segments.length - 1 ? "line" : "line earlier", d: path(line) }));
    if (line.length < 60) root.append(...line.map(([cx, cy]) => svg("circle", { class: "dot", cx, cy, r: 2.2 })));
  });
  root.append(svg("text", { x: box.left, y: high - 6 }, names[first]), svg("text", { x: box.right, y: high - 6, "text-anchor": "end" }, names[newest]));
  const tip = made("div", "", "tip");
  tip.hidden = true;
  plot.replaceChildren(root, tip);
  const texts = [];  // of several at one place the first is read, and how many there are more
  for (const text of root.querySelectorAll("text.mark")) {
    const { x, width: its } = text.getBBox(), under = texts.find((one) => x < one.end && x + its > one.start);
    if (under) under.hidden.push(text); else texts.push({ text, start: x, end: x + its + 50, hidden: [] });
  }
  for (const { text, hidden } of texts) if (hidden.length) {
    text.append(svg("title", {}, [text, ...hidden].map((one) => one.textContent).join("\n")), ` and ${hidden.length} more`);
    for (const one of hidden) one.remove();
  }
  plot.onpointermove = (event) => {
    const x = event.clientX - plot.getBoundingClientRect().left, [place, value] = points.reduce((best, one) => Math.abs(X(one[0]) - x) < Math.abs(X(best[0]) - x) ? one : best);
    tip.textContent = `${value} µs at ${names[place]}`;
    tip.hidden = false;
    tip.style.left = `${Math.min(Math.max(X(place), 80), wide - 80)}px`;
  };
  plot.onpointerleave = () => { tip.hidden = true; };
}
// Sparklines: logarithmic, with a dot at the newest; 2 % at least are shown, so that noise is no cliff.
for (const box of $$(".spark[data-y]")) {
  const given = box.dataset.y.split(" ").map(Number).filter((y) => y > 0), logs = given.map(Math.log);
  if (logs.length < 2) { box.remove(); continue; }
  const low = Math.min(...logs), high = Math.max(...logs), span = Math.max(high - low, .02);
  const points = logs.map((y, n) => [3 + n * 96 / (logs.length - 1), 12 - 18 * (y - (low + high) / 2) / span]), [cx, cy] = points.at(-1);
  const root = svg("svg", { class: box.className, viewBox: "0 0 104 24", role: "img", "aria-label": `from ${given[0]} to ${given.at(-1)} µs over ${given.length} commits` });
  root.append(svg("path", { d: "M" + points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L") }), svg("circle", { cx, cy, r: 2.6 }));
  box.replaceWith(root);
}
const sized = new ResizeObserver((seen) => seen.forEach(({ target }) => drawHistory(target)));
$$(".chart").forEach((chart) => sized.observe(chart));

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
        type: "scatter", mode: "markers", name: roof, marker: { size: 8, opacity: .75, color: palette[n % palette.length] }, customdata: mine.map((p) => p[1]),
        x: mine.map((p) => share ? p[4] : p[3] / p[2]), y: mine.map((p) => share ? 100 * p[5] : p[3] / p[4] / 1e6),
        text: mine.map((p) => p[0]), hovertemplate: share ? "%{text}<br>%{x} µs, %{y:.0f} % of peak<extra></extra>" : "%{text}<br>%{x:.3g} FLOP/byte, %{y:.3g} TFLOP/s<extra></extra>",
      };
    }).filter((trace) => trace.x.length);
    if (!share && bandwidth) {
      const xs = [0.01, ...(fp32 ? [1000 * fp32 / bandwidth] : []), 1000];
      traces.push({ type: "scatter", mode: "lines", name: "peak", hoverinfo: "skip", line: { color: colour("--quiet"), dash: "dash" }, x: xs, y: xs.map((x) => Math.min(x * bandwidth / 1000, fp32 || Infinity)) });
    }
    const axis = { gridcolor: colour("--rule"), zeroline: false, linecolor: colour("--rule") };
    const ticks = [-4, -3, -2, -1, 0, 1, 2, 3, 4, 5].flatMap((power) => [1, 2, 5].map((n) => +(n + "e" + power)));
    const log = { ...axis, type: "log", tickvals: ticks, ticktext: ticks.map(String) };
    Plotly.react(box, traces, {
      paper_bgcolor: "transparent", plot_bgcolor: "transparent", font: { color: colour("--ink"), family: "system-ui, sans-serif" }, margin: { t: 20, r: 20, b: 50, l: 60 }, hovermode: "closest", legend: { orientation: "h", y: 1.06 },
      xaxis: { ...log, title: { text: share ? "µs of a launch" : "FLOP per byte" } }, yaxis: { ...(share ? axis : log), title: { text: share ? "% of what the device allows" : "TFLOP/s" }, rangemode: "tozero" },
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
