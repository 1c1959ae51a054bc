// The tabs that show what commands report: costs, strategies, checks, and how to make all of it again.

import { axisBottom, axisLeft } from "d3-axis";
import { scaleLog } from "d3-scale";
import { select } from "d3-selection";
import { count, h, plural, s, size, time } from "./dom.js";
import { ROLES } from "./pane.js";

const NAMES = { primal: "program", forward: "JVP, one", reverse: "VJP, one" };

function leftOut(found, what) {
  if (!found) return h("p", { class: "plain" }, `There are no ${what} in this document.`);
  if (found.left_out === undefined) return null;
  return h("div", { class: "plain" }, h("p", {}, found.left_out), found.command ? h("p", {}, "It is made by ", command(found.command)) : null);
}

function command(text) {
  const button = h("button", { class: "quiet", "aria-label": `copy ${text}`, onclick: () => copy(button, text) }, "copy");
  return h("span", { class: "command" }, h("code", {}, text), button);
}

function copy(button, text) {
  const done = () => {
    button.textContent = "copied";
    setTimeout(() => (button.textContent = "copy"), 1200);
  };
  const by_hand = () => {
    const area = h("textarea", {}, "");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    done();
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, by_hand);
  else by_hand();
}

function seconds(prediction) {
  const value = prediction?.seconds;
  return typeof value === "string" && value !== "" && !Number.isNaN(Number(value)) ? Number(value) : value;
}

/** Bars on a logarithmic scale, with their figures. */
function bars(title, rows, words) {
  const known = rows.filter(([, value]) => typeof value === "number" && value > 0);
  if (!known.length) return null;
  const most = Math.max(...known.map(([, value]) => value));
  const least = Math.min(...known.map(([, value]) => value));
  const scale = scaleLog([Math.min(least / 2, most / 10), most], [2, 100]);
  return h("figure", { class: "bars-figure" }, h("figcaption", {}, title),
    rows.map(([name, value]) => h("div", { class: "bar-row" }, h("span", { class: "bar-name" }, name), h("span", { class: "bar-track" }, typeof value === "number" && value > 0 ? h("span", { class: "bar", style: { width: `${scale(value)}%` } }) : null), h("span", { class: "bar-value" }, words(value)))));
}

export const costs = {
  id: "costs",
  title: "Costs",
  draw(app) {
    const found = app.model.analyses.costs;
    const missing = leftOut(found, "costs");
    const lines = heaviest(app);
    if (missing) return h("div", {}, missing, lines);
    const names = Object.keys(found.rows);
    const rows = names.map((name) => [NAMES[name] ?? `VJP, ${name}`, found.rows[name]]);
    const peak = (row) => row.compiled?.memory?.peak;
    return h(
      "div",
      { class: "costs" },
      h("p", { class: "lead" }, found.decision),
      h("div", { class: "figures" },
        bars("flops", rows.map(([n, r]) => [n, r.flops]), count),
        bars("bytes, before fusion", rows.map(([n, r]) => [n, r.bytes]), size),
        bars("peak, compiled", rows.map(([n, r]) => [n, peak(r)]), size),
        bars("time, predicted", rows.map(([n, r]) => [n, seconds(r.predicted)]), time)),
      h("table", { class: "data" },
        h("thead", {}, h("tr", {}, ["", "ops", "flops", "transc.", "bytes", "launches", "moved", "peak", "predicted", "runs for all"].map((t, i) => h("th", { class: i ? "n" : "" }, t)))),
        h("tbody", {}, rows.map(([name, r]) => h("tr", {}, h("td", {}, name), [count(r.op_count), count(r.flops), count(r.transcendentals), size(r.bytes), count(r.compiled?.launches), size(r.compiled?.bytes), size(peak(r)), time(seconds(r.predicted)), count(r.runs)].map((t) => h("td", { class: "n" }, t)))))),
      h("p", { class: "dim" }, "Counted before fusion, after ", h("code", {}, found.stage), "; bars are logarithmic."),
      lines,
    );
  },
};

/** The lines of the source at which most is computed. */
function heaviest(app) {
  const view = app.panes.get("derivative").view ?? app.panes.get("primal").view;
  if (!view?.ops) return null;
  const totals = new Map();
  view.ops.flops.forEach((flops, op) => {
    const place = view.ops.places[op][0];
    if (flops > 0 && place !== undefined) {
      const entry = totals.get(place) ?? { flops: 0, roles: new Map() };
      entry.flops += flops;
      entry.roles.set(view.roleOf(op), (entry.roles.get(view.roleOf(op)) ?? 0) + flops);
      totals.set(place, entry);
    }
  });
  const all = [...totals.values()].reduce((sum, entry) => sum + entry.flops, 0);
  const top = [...totals].sort((a, b) => b[1].flops - a[1].flops).slice(0, 12);
  if (!top.length) return null;
  return h("section", {}, h("h3", {}, "Where the work is"), h("p", { class: "dim" }, "Floating-point operations of ", h("code", {}, view.name), " by the line they came from; loop bodies are counted once."),
    h("table", { class: "data" }, h("thead", {}, h("tr", {}, h("th", {}, "written"), h("th", { class: "n" }, "flops"), h("th", { class: "n" }, "share"), h("th", {}, ""), h("th", {}, "line"))),
      h("tbody", {}, top.map(([place, entry]) => {
        const [source, line] = app.model.places[place];
        const shown = app.model.sourceViews[source];
        return h("tr", { class: shown ? "clickable" : "", tabindex: shown ? 0 : null, ...(shown ? app.opensLine(shown, line - 1) : {}) },
          h("td", { class: "dim" }, app.model.placeShort(place)), h("td", { class: "n" }, count(entry.flops)), h("td", { class: "n" }, `${((100 * entry.flops) / all).toFixed(0)} %`),
          h("td", { class: "bar-cell" }, h("span", { class: "stack" }, [...entry.roles].map(([role, flops]) => h("span", { class: `bar box-${role || "plain"}`, title: `${role || "value"}: ${count(flops)}`, style: { width: `${(100 * flops) / top[0][1].flops}%` } }, ROLES[role]?.[0] ?? "")))),
          h("td", {}, h("code", { class: "clip" }, shown?.lines[line - 1]?.trim().slice(0, 160) ?? "")));
      }))));
}

export const strategies = {
  id: "strategies",
  title: "Strategies",
  draw(app) {
    const found = app.model.analyses.strategies;
    const missing = leftOut(found, "strategies");
    if (missing) return missing;
    const chosen = found.decision?.row;
    const usable = found.rows.filter((row) => !row.refused);
    const refused = found.rows.filter((row) => row.refused);
    const value = (row) => row.measured?.times?.minimum ?? seconds(row.predicted);
    usable.sort((a, b) => (Number(value(a)) || Infinity) - (Number(value(b)) || Infinity));
    const isChosen = (row) => row.name === chosen;
    return h(
      "div",
      { class: "strategies" },
      h("p", { class: "lead" }, found.decision?.line ?? ""),
      scatter(usable, value, isChosen),
      h("table", { class: "data" },
        h("thead", {}, h("tr", {}, ["", "strategy", "how", "passes", "ops", "flops", "arena", "predicted"].map((t, i) => h("th", { class: i > 2 ? "n" : "" }, t)))),
        h("tbody", {}, usable.map((row) => h("tr", { class: isChosen(row) ? "chosen" : "" }, h("td", {}, isChosen(row) ? "✓" : ""), h("td", {}, row.name), h("td", { class: "dim" }, row.how), h("td", { class: "n" }, count(row.calls)), h("td", { class: "n" }, count(row.ops)), h("td", { class: "n" }, count(row.flops)), h("td", { class: "n" }, size(row.arena_bytes)), h("td", { class: "n" }, time(value(row))))))),
      refused.map((row) => h("p", { class: "dim" }, `${row.name} is refused: ${row.refused}`)),
      Object.values(found.symbols ?? {}).map((text) => h("p", { class: "dim" }, text)),
    );
  },
};

/** Time against memory, both logarithmic, each point with its name. */
function scatter(rows, value, isChosen) {
  const points = rows.map((row) => [row, Number(value(row)), row.arena_bytes]).filter(([, t, bytes]) => t > 0 && bytes > 0);
  if (points.length < 2) return null;
  const [width, height, left, bottom] = [720, 300, 62, 36];
  const x = scaleLog([0.7 * Math.min(...points.map((p) => p[1])), 2.2 * Math.max(...points.map((p) => p[1]))], [left, width - 10]);
  const y = scaleLog([0.6 * Math.min(...points.map((p) => p[2])), 1.6 * Math.max(...points.map((p) => p[2]))], [height - bottom, 10]);
  const taken = points.map(([, t, bytes]) => [x(t) - 6, y(bytes) - 6, x(t) + 6, y(bytes) + 6]);
  /** Where a name is written: beside its point, or above or below it, where nothing else is. */
  const place = (name, px, py) => {
    const long = 6.4 * name.length;
    for (const [dx, dy, anchor] of [[10, 4, "start"], [-10, 4, "end"], [0, -11, "middle"], [0, 19, "middle"], [8, -10, "start"], [8, 18, "start"], [-8, -10, "end"], [-8, 18, "end"]]) {
      const left = px + dx - (anchor === "end" ? long : anchor === "middle" ? long / 2 : 0);
      const box = [left, py + dy - 9, left + long, py + dy + 3];
      if (box[0] < left0 || box[2] > width || taken.some((t) => t[0] < box[2] && box[0] < t[2] && t[1] < box[3] && box[1] < t[3])) continue;
      taken.push(box);
      return { x: dx, y: dy, "text-anchor": anchor };
    }
    return undefined;
  };
  const left0 = left + 2;
  const marks = [...points]
    .sort((a, b) => isChosen(b[0]) - isChosen(a[0]))
    .map(([row, t, bytes]) => {
      const at = place(row.name, x(t), y(bytes));
      return s("g", { class: isChosen(row) ? "point chosen" : "point", transform: `translate(${x(t)},${y(bytes)})` }, s("title", {}, `${row.name}: ${time(t)}, ${size(bytes)}`), isChosen(row) ? s("path", { d: "M0,-7 L7,0 L0,7 L-7,0 Z" }) : s("circle", { r: 4.5 }), at ? s("text", at, row.name) : null);
    });
  const axes = [s("g", { transform: `translate(0,${height - bottom})` }), s("g", { transform: `translate(${left},0)` })];
  select(axes[0]).call(axisBottom(x).ticks(4, (t) => time(t)));
  select(axes[1]).call(axisLeft(y).tickValues(Array.from({ length: 14 }, (_, i) => 8 ** i).filter((b) => b >= y.domain()[0] && b <= y.domain()[1])).tickFormat((b) => size(b)));
  return h("figure", { class: "scatter" }, s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "predicted time against arena" }, axes, marks, s("text", { x: width - 10, y: height - 6, "text-anchor": "end", class: "axis-name" }, "time of the whole derivative"), s("text", { x: 8, y: 12, class: "axis-name" }, "arena")));
}

export const checks = {
  id: "checks",
  title: "Checks",
  draw(app) {
    const found = app.model.analyses.check;
    const missing = leftOut(found, "checks");
    if (missing) return missing;
    const sign = { ok: "✓", MISMATCH: "✗", "at a kink": "∧", unsettled: "?", skipped: "–" };
    const all = found.arguments.flatMap((argument) => (argument.findings.length ? argument.findings.map((f, i) => [argument, f, i]) : [[argument, null, 0]]));
    return h(
      "div",
      {},
      h("p", { class: `lead outcome ${found.outcome === "ok" ? "good" : "bad"}` }, found.outcome === "ok" ? "✓ " : "✗ ", `${found.outcome}: derivatives against differences and against each other, on backend ${found.backend}, seed ${found.seed}, rounding of ${found.precision}.`),
      h("table", { class: "data" },
        h("thead", {}, h("tr", {}, h("th", {}, "argument"), h("th", {}, "type"), h("th", {}, "test"), h("th", {}, "verdict"), h("th", { class: "n" }, "error"), h("th", { class: "n" }, "bound"), h("th", {}, "where"))),
        h("tbody", {}, all.map(([argument, f, i]) => h("tr", { class: (f?.verdict ?? argument.verdict) === "MISMATCH" ? "bad" : "" }, h("td", {}, i ? "" : argument.argument), h("td", { class: "w-type" }, i ? "" : h("code", {}, argument.type)), h("td", {}, f?.test ?? ""), h("td", {}, `${sign[f?.verdict ?? argument.verdict] ?? ""} ${f?.verdict ?? argument.verdict}`, argument.reason ? `: ${argument.reason}` : ""), h("td", { class: "n" }, f ? number(f.error) : ""), h("td", { class: "n" }, f ? number(f.bound) : ""), h("td", { class: "dim" }, f && f.verdict !== "ok" ? `${f.where} ${f.left}, ${f.right}` : ""))))),
      found.culprit ? h("p", {}, h("strong", {}, "First that disagrees by itself: "), JSON.stringify(found.culprit)) : null,
    );
  },
};

function number(value) {
  return typeof value === "number" ? value.toExponential(1) : String(value);
}

export const reproduce = {
  id: "reproduce",
  title: "Reproduce",
  draw(app) {
    const { model } = app;
    return h(
      "div",
      { class: "reproduce" },
      model.diagnostics.map((found) => h("div", { class: "diagnostic" }, h("p", {}, h("strong", {}, "✗ "), found.file ? `${found.file}:${found.line}:${found.column}: ` : "", found.message), found.hint ? h("p", { class: "dim" }, found.hint) : null)),
      model.commands.map(([title, text]) => h("div", { class: "recipe" }, h("h3", {}, title), command(text))),
      h("div", { class: "recipe" }, h("h3", {}, "The pipeline"), command(model.pipeline || "(none)")),
      h("p", { class: "dim" }, `Made by wengert ${model.made.version}, ${model.made.at}, in ${time(model.made.seconds)}: ${plural(model.stages.length, "stage")}.`),
    );
  },
};
