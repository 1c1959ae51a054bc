// The tab of kept values: what the forward part makes and the reverse part reads.

import { count, h, plural, size, time } from "./dom.js";

const REVERSE = new Set(["cotangent", "accumulation"]);

function inReverse(view, op) {
  for (let at = op; at >= 0; at = view.ops.parent[at]) if (REVERSE.has(view.roleOf(at))) return true;
  return false;
}

/** The ops of the reverse part that read what an op defines. */
export function keptReaders(view, op) {
  return view.users[op].filter((user) => inReverse(view, user));
}

/** Whether the reverse part reads what an op of the forward part defines. */
export function isKept(view, op) {
  if (!view.ops || view.isArgument(op) || inReverse(view, op) || view.nameOf(op) === "stablehlo.constant") return false;
  return view.ops.bytes[op] > 0 && keptReaders(view, op).length > 0;
}

/** What `wengert kept` says of a value of the derivative, or undefined. */
export function residualOf(model, view, op) {
  const found = model.analyses.kept;
  if (!found?.residuals || view !== model.lastOf("derivative")) return undefined;
  const name = view.ops.results[op];
  return name ? found.residuals.find((one) => one.name === name) : undefined;
}

export const kept = {
  id: "kept",
  title: "Kept",
  draw(app) {
    const { model } = app;
    const found = model.analyses.kept;
    const view = model.lastOf("derivative");
    if (!view?.ops) return h("p", { class: "plain" }, "There is no derivative here, so nothing is kept for one.");
    return found?.residuals ? report(app, view, found) : [found?.left_out ? h("p", { class: "plain" }, found.left_out) : null, plainly(app, view)];
  },
};

const VERDICTS = { kept: "●", "cheaper again": "◐", "not stored": "○", result: "→", input: "←", recomputed: "↻" };

/** The report of the command. */
function report(app, view, found) {
  const ops = new Map();
  view.ops.results.forEach((name, op) => name && !ops.has(name) && ops.set(name, op));
  const rows = [...found.residuals, ...found.recomputed.map((one) => ({ ...one, verdict: "recomputed" }))];
  if (!rows.length) return h("p", { class: "plain" }, "Nothing is kept: the reverse part uses no value of the forward part.");
  const most = Math.max(1, ...rows.map((one) => (typeof one.bytes === "number" ? one.bytes : 0)));
  return h(
    "div",
    {},
    h("p", { class: "lead" }, h("strong", {}, size(found.bytes)), ` are kept, in ${plural(found.residuals.filter((one) => one.where === "memory").length, "value")}.`),
    h("p", { class: "shares" }, Object.entries(found.bytes_by_verdict).map(([verdict, bytes]) => h("span", { class: "share" }, `${VERDICTS[verdict] ?? ""} ${verdict} ${size(bytes)}`))),
    h(
      "table",
      { class: "data" },
      h("thead", {}, h("tr", {}, ["value", "as written", "op", "bytes", "", "needed by", "ops", "flop", "time again", "verdict"].map((title, i) => h("th", { class: [3, 6, 7, 8].includes(i) ? "n" : "" }, title)))),
      h("tbody", {}, rows.map((one) => {
        const op = ops.get(one.name);
        return h(
          "tr",
          op === undefined ? {} : { class: "clickable", tabindex: 0, ...app.opens(view, op) },
          h("td", {}, h("code", {}, one.name)),
          h("td", { class: "dim" }, one.source_name ? [h("code", {}, one.source_name), " "] : null, short(one.place)),
          h("td", {}, h("code", { class: one.op === "argument" ? "dim" : "w-operation" }, one.op)),
          h("td", { class: "n" }, size(one.bytes), one.times === 1 ? "" : ` = ${count(one.times)} × ${size(one.bytes_each)}`),
          h("td", { class: "bar-cell" }, typeof one.bytes === "number" ? h("span", { class: `bar ${one.where === "memory" ? "kept" : "unkept"}`, style: { width: `${(100 * one.bytes) / most}%` } }) : null),
          h("td", {}, h("span", { class: "clip needed", title: one.consumers.map((c) => `${c.what} ${c.place}`).join("\n") }, consumers(one.consumers))),
          h("td", { class: "n" }, one.again ? count(one.again.ops) : "–"),
          h("td", { class: "n" }, one.again ? count(one.again.flops) : "–"),
          h("td", { class: "n" }, one.again ? time(Number(one.again.predicted_seconds)) : "–"),
          h("td", {}, `${VERDICTS[one.verdict] ?? ""} ${one.verdict}${one.why ? `: ${one.why}` : ""}`),
        );
      })),
    ),
    found.unknown.map((text) => h("p", { class: "dim" }, `where ${text}`)),
  );
}

function consumers(list) {
  const kinds = [...new Set(list.map((one) => one.what))];
  return kinds.slice(0, 2).join(", ") + (kinds.length > 2 ? ` and ${kinds.length - 2} more` : "");
}

function short(place) {
  return place.replace(/^.*[/\\](?=[^/\\]*$)/, "");
}

/** What can be read off the stage itself, where the report is left out. */
function plainly(app, view) {
  const ops = view.outermost.filter((op) => isKept(view, op)).sort((a, b) => view.ops.bytes[b] - view.ops.bytes[a]);
  if (!ops.length) return h("p", { class: "plain" }, "The reverse part reads nothing that the forward part computes, beside the arguments.");
  const total = ops.reduce((sum, op) => sum + view.ops.bytes[op], 0);
  return h(
    "div",
    {},
    h("p", { class: "lead" }, `${plural(ops.length, "value")} of the forward part, ${size(total)} in all, are read by the reverse part of `, h("code", {}, view.name), "."),
    h(
      "table",
      { class: "data" },
      h("thead", {}, h("tr", {}, h("th", {}, "value"), h("th", {}, "op"), h("th", { class: "n" }, "bytes"), h("th", {}, "written"), h("th", { class: "n" }, "read by"))),
      h("tbody", {}, ops.slice(0, 500).map((op) => h(
        "tr",
        { class: "clickable", tabindex: 0, ...app.opens(view, op) },
        h("td", {}, h("code", {}, view.ops.results[op])),
        h("td", {}, h("code", { class: "w-operation" }, view.nameOf(op))),
        h("td", { class: "n" }, size(view.ops.bytes[op])),
        h("td", { class: "dim" }, view.ops.places[op].length ? app.model.placeShort(view.ops.places[op][0]) : "unknown"),
        h("td", { class: "n" }, keptReaders(view, op).length),
      ))),
    ),
    ops.length > 500 ? h("p", { class: "dim" }, `and ${ops.length - 500} more`) : null,
  );
}
