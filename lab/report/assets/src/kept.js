// The tab of kept values: what the forward part makes and the reverse part reads.

import { h, plural, size } from "./dom.js";

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

export const kept = {
  id: "kept",
  title: "Kept",
  draw(app) {
    const given = app.model.analyses.kept;
    const view = app.panes.get("derivative").view;
    if (!view?.ops) return h("p", { class: "plain" }, "There is no derivative here, so nothing is kept for one.");
    const ops = view.outermost.filter((op) => isKept(view, op)).sort((a, b) => view.ops.bytes[b] - view.ops.bytes[a]);
    const total = ops.reduce((sum, op) => sum + view.ops.bytes[op], 0);
    if (!ops.length) return h("p", { class: "plain" }, "The reverse part reads nothing that the forward part computes, beside the arguments.");
    const most = view.ops.bytes[ops[0]];
    return h(
      "div",
      {},
      h("p", { class: "lead" }, `${plural(ops.length, "value")} of the forward part, ${size(total)} in all, are read by the reverse part of `, h("code", {}, view.name), "."),
      given?.total !== undefined ? h("p", { class: "dim" }, String(given.total)) : null,
      h(
        "table",
        { class: "data" },
        h("thead", {}, h("tr", {}, h("th", {}, "value"), h("th", {}, "op"), h("th", { class: "n" }, "bytes"), h("th", {}, ""), h("th", {}, "written"), h("th", { class: "n" }, "read by"))),
        h("tbody", {}, ops.map((op) => {
          const place = view.ops.places[op][0];
          return h(
            "tr",
            { class: "clickable", tabindex: 0, ...app.opens(view, op) },
            h("td", {}, h("code", {}, view.ops.results[op])),
            h("td", {}, h("code", { class: "w-operation" }, view.nameOf(op))),
            h("td", { class: "n" }, size(view.ops.bytes[op])),
            h("td", { class: "bar-cell" }, h("span", { class: "bar kept", style: { width: `${(100 * view.ops.bytes[op]) / most}%` } })),
            h("td", { class: "dim" }, place === undefined ? "unknown" : app.model.placeText(place)),
            h("td", { class: "n" }, keptReaders(view, op).length),
          );
        })),
      ),
    );
  },
};
