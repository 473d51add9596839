// A kernel's page, made of the record that stands in it: a template would be filled two thousand times.
"use strict";
{
  const given = JSON.parse(document.getElementById("kernel").textContent);
  const el = (tag, attributes, ...inside) => {
    const one = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) one.setAttribute(name, value);
    one.append(...inside.flat(2).filter((part) => part !== null && part !== undefined));
    return one;
  };
  const quiet = (text) => el("span", { class: "quiet" }, text);
  const section = (title, aside, ...inside) => el("section", {}, el("h2", {}, title, aside ? [" ", aside] : []), ...inside);
  const commit = ([name, about]) => el("code", about ? { class: "commit", title: about } : { class: "commit" }, name);
  const subject = ([name, about, said, author]) => [commit([name, about]), ...(said ? [" ", el("span", { class: "subject" }, said), " ", quiet(author)] : [])];
  const command = (text) => el("span", { class: "command" }, el("code", {}, text), el("button", { type: "button", class: "copy", title: "Copy", "aria-label": "Copy the command" }, "copy"));
  const table = (style, heads, rows) => el("table", { class: style }, heads.length ? el("thead", {}, el("tr", {}, heads.map(([text, kind]) => el("th", { class: kind }, text)))) : null, el("tbody", {}, rows));
  const number = (text, style) => el("td", { class: style ? `n ${style}` : "n" }, text ?? "–");
  const bar = (share, text) => el("td", { class: "bar" }, el("i", { style: `width:${share.toFixed(1)}%` }), text || "");
  const html = (text) => document.createRange().createContextualFragment(text);

  const tile = ([value, unit, small, bad]) => el("li", {}, el("b", bad ? { class: "bad" } : {}, value), ` ${value === "×1" ? "launch" : unit}`, small ? el("small", {}, small) : null);
  function history({ chart, one, missing }) {
    if (chart) {
      const data = el("script", { type: "application/json" });
      data.textContent = JSON.stringify(chart);
      return el("figure", { class: "chart", "aria-label": "time of a launch by commit" }, el("div", { class: "plot" }), data);
    }
    return el("p", { class: "quiet" }, one ? [`One point so far: ${one[0]} µs at `, subject(one[1]), "."] : `Nothing to draw: ${missing}.`);
  }
  function figures() {
    const rows = given.figures.map(([title, now, then]) => el("tr", {}, el("td", {}, title), number(now), number(then, then ? "moved" : "")));
    const { settings, since } = given;
    return section("Configuration and static metrics", null,
      settings.length ? el("p", { class: "settings" }, settings.map(([name, value]) => el("span", {}, el("i", {}, name), ` ${value}`))) : null,
      since?.[1] ? el("p", {}, "Since ", commit(since[0]), `: ${since[1]}`) : null,
      table("small", [["metric", ""], ["now", "n"], [given.earlier ? `at ${given.earlier}` : "", "n"]], rows));
  }
  function instructions() {
    const most = Math.max(1, ...given.mix.map(([, n]) => n));
    const rows = given.mix.map(([group, n]) => el("tr", {}, el("td", {}, group.replaceAll("_", " ")), number(n), bar(100 * n / most)));
    return section("Instructions", null, rows.length ? table("small bars", [], rows) : el("p", { class: "quiet" }, "Not recorded."));
  }
  const fused = () => section("What is fused", null,
    el("p", { class: "nodes" }, given.nodes.length ? given.nodes.map((node) => el("code", {}, node)) : quiet("not recorded")),
    given.about.length ? el("ul", { class: "plain quiet mono" }, given.about.map((line) => el("li", {}, line))) : null,
    given.others.length ? el("p", {}, "In the same region, in kernels of their own: ", given.others.map(([page, name], n) => [n ? ", " : "", el("a", { href: page }, name)])) : null,
    el("p", { class: "do" }, "Why these and no others: ", command(`harness explain ${given.graph}`)));
  function tuning() {
    const { names, rows } = given.trials, timed = rows.map((row) => row[1][0]).filter((ms) => ms !== null), best = Math.min(...timed), span = Math.max(...timed) - best || 1;
    const trial = ([values, [ms, us, reason], [registers, spills, shared, origin, chosen]]) => el("tr", chosen ? { class: "chosen" } : {},
      values.map((value) => number(value)), number(us), ms === null ? el("td", {}, reason) : bar(4 + 96 * (ms - best) / span, ` ${ms > best ? "+" : ""}${(100 * (ms / best - 1)).toFixed(1)} %`),
      number(registers), number(spills, spills ? "bad" : ""), number(shared), el("td", {}, origin, chosen ? [" ", el("span", { class: "tag" }, "chosen")] : []));
    const heads = [...names.map((name) => [name, "n"]), ["µs", "n"], ["over the best", "bar"], ["regs", "n"], ["spill", "n"], ["smem", "n"], ["from", ""]];
    return section("Tuning", quiet(`${rows.length} configuration${rows.length === 1 ? "" : "s"} tried`), el("div", { class: "scroll" }, table("small bars sortable", heads, rows.map(trial))));
  }
  function difference() {
    const { since, lines } = given.diff, style = { "+": "add", "-": "del" };
    const made = section("Diff", el("span", { class: "quiet" }, "since ", subject(since)), lines.length
      ? el("pre", { class: "code diff" }, lines.map((line) => [el("span", { class: style[line[0]] || (line.startsWith("@@") ? "at" : "") }, line), "\n"]))
      : el("p", { class: "quiet" }, "The same text up to names."));
    made.id = "diff";
    return made;
  }
  function module() {
    const [own, rest] = given.module;
    const made = own || rest ? section("Module", null,
      el("p", { class: "do" }, command(given.show)), el("pre", { class: "code python" }, own),
      rest ? el("details", { class: "fold" }, el("summary", {}, "The part that all modules share"), el("pre", { class: "code python" }, rest)) : null)
      : section("Module", null, el("p", { class: "quiet" }, "Not recorded."));
    made.id = "module";
    return made;
  }

  const [model, ...place] = given.place;
  document.getElementById("main").append(...[
    el("p", { class: "crumbs" }, el("a", { href: model[1] }, model[0]), place.map((name) => ` › ${name || "–"}`)),
    el("h1", { class: "mono" }, given.name),
    el("ul", { class: "tiles" }, given.tiles.map(tile)),
    given.broken ? el("p", { class: "answer red slim" }, `Does not run: ${given.broken}`) : null,
    section("History", quiet("µs of a launch"), history(given.history), given.changes ? html(given.changes) : null),
    el("div", { class: "columns even" }, figures(), instructions()),
    fused(),
    given.trials ? tuning() : null,
    given.diff ? difference() : null,
    module(),
  ].filter(Boolean));
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}
