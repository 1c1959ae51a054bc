// What is selected: the op, where it was written, how it was derived, what it uses and feeds, and what it costs.

import { count, h, plural, replace, size } from "./dom.js";
import { ROLES } from "./pane.js";
import { isKept, keptReaders, residualOf } from "./kept.js";

const MOST = 24;

export class Explanation {
  constructor(app) {
    this.app = app;
    this.body = h("div", { class: "content" });
    this.element = h("aside", { class: "explanation", "aria-label": "explanation", "aria-live": "polite" }, h("header", {}, h("h2", {}, "Selection")), this.body);
  }

  draw() {
    const { selection } = this.app;
    if (!selection) return replace(this.body, this.nothing());
    const { view, line } = selection;
    const op = selection.op ?? view.opAbove(line);
    if (op >= 0) return replace(this.body, this.operation(view, op, line));
    return replace(this.body, this.source(view, line));
  }

  nothing() {
    const { model } = this.app;
    return [
      h("p", { class: "lead" }, model.request[0].toUpperCase() + model.request.slice(1)),
      h("p", { class: "dim signature" }, h("code", {}, model.signature)),
      h("p", { class: "dim" }, "Point at a line: all that it came from and became lights up in the other panes. Click it to keep it, and it is explained here."),
      h(
        "dl",
        { class: "legend" },
        Object.entries(ROLES).flatMap(([role, [letter, title]]) => [h("dt", {}, h("span", { class: `role ${role}` }, letter)), h("dd", {}, title)]),
        h("dt", {}, "●"), h("dd", {}, "linked to what is selected"),
        h("dt", {}, "◌"), h("dd", {}, "so inferred: a rewrite looked through it"),
        h("dt", {}, "○"), h("dd", {}, "linked to where the pointer is"),
      ),
      h("p", { class: "dim" }, h("kbd", {}, "?"), " lists the keys."),
    ];
  }

  source(view, line) {
    const places = view.placesAt(line);
    return [
      h("h3", {}, view.kind === "source" ? `${view.name}:${line + 1}` : `${view.name}, line ${line + 1}`),
      h("pre", { class: "snippet" }, view.lines[line].trim().slice(0, 400) || " "),
      places.length ? [this.everywhere(places, view), this.became(places)] : h("p", { class: "dim" }, view.form === "mlir" || view.kind === "source" ? "No op was made of this line." : "It is not known which op this line came from."),
    ];
  }

  operation(view, op, line) {
    const role = view.roleOf(op);
    const places = view.ops.places[op];
    const name = view.isArgument(op) ? "argument" : view.nameOf(op);
    return [
      h("h3", {}, view.ops.results[op] ? [h("code", {}, view.ops.results[op]), " "] : null, h("code", { class: "w-operation" }, name)),
      view.typeOf(op) ? h("p", { class: "type" }, h("code", { class: "w-type" }, view.typeOf(op))) : null,
      role ? h("p", {}, h("span", { class: `role ${role}` }, ROLES[role][0]), " ", ROLES[role][1]) : null,
      this.written(places, view, op),
      this.derived(view, op),
      this.rule(view, op),
      this.facts(view, op),
      this.values("Uses", view, [...new Set(view.ops.operands[op])]),
      this.values("Used by", view, view.users[op]),
      this.everywhere(places, view),
      line === view.ops.line[op] ? null : h("p", { class: "dim" }, `Line ${line + 1} belongs to the op that begins on line ${view.ops.line[op] + 1}.`),
    ];
  }

  /** What passes did to the ops of a line that are gone. */
  became(places) {
    const told = this.app.model.changesAt(places);
    if (!told.length) return null;
    return h("section", {}, h("h4", {}, "What passes did here"), h("ul", { class: "told" }, told.slice(0, MOST).map((text) => h("li", {}, text))), told.length > MOST ? h("p", { class: "dim" }, `and ${told.length - MOST} more`) : null);
  }

  written(places, view, op) {
    const { model } = this.app;
    if (!places.length) {
      return h("section", {}, h("h4", {}, "Written"), h("p", { class: "dim" }, view.isArgument(op) ? "An argument of a block." : "Its source is unknown: the pass that made it says none."));
    }
    return h(
      "section",
      {},
      h("h4", {}, places.length > 1 ? `Written in ${places.length} places` : "Written"),
      places.slice(0, 6).map((place) => {
        const [source, line] = model.places[place];
        const shown = source >= 0 ? model.sourceViews[source] : undefined;
        const where = model.placeText(place);
        return h(
          "div",
          {},
          shown ? h("button", { class: "link", onclick: () => this.app.select(shown, line - 1) }, where) : h("code", { class: "dim" }, where),
          view.ops.inferred[op].includes(place) ? h("span", { class: "dim" }, " ◌ inferred") : null,
          shown ? h("pre", { class: "snippet" }, shown.lines[line - 1]?.trim().slice(0, 300) ?? "") : null,
        );
      }),
    );
  }

  derived(view, op) {
    const chain = view.derivationOf(op);
    if (!chain.length) return null;
    return h(
      "section",
      {},
      h("h4", {}, "Derived"),
      h("ol", { class: "chain" }, chain.map((text) => {
        const [pass, role, name] = text.split("/");
        if (name === undefined) return h("li", {}, "rewritten by ", h("code", {}, text));
        return h("li", {}, "by ", h("code", {}, pass), ", as a ", h("strong", {}, role), " of ", h("code", { class: "w-operation" }, name));
      })),
    );
  }

  rule(view, op) {
    const found = this.app.model.analyses.rules?.[view.derivationOf(op)[0]];
    if (!found) return null;
    return h("section", {}, h("h4", {}, "Rule"), h("p", {}, found.formula ? h("code", {}, found.formula) : null, h("span", { class: "dim" }, ` ${found.place}`)));
  }

  facts(view, op) {
    const { ops } = view;
    const list = [];
    if (ops.bytes[op]) list.push(["result", size(ops.bytes[op])]);
    if (ops.flops[op] > 0) list.push(["work", `${count(ops.flops[op])} flop`]);
    if (ops.flops[op] === 0 && !view.isArgument(op)) list.push(["work", "no floating-point operation"]);
    const kept = residualOf(this.app.model, view, op);
    if (kept) list.push(["in reverse", `${kept.verdict}: ${kept.why}`]);
    else if (isKept(view, op)) list.push(["in reverse", `kept for ${plural(keptReaders(view, op).length, "op")}`]);
    if (kept?.again) list.push(["again", `${plural(kept.again.ops ?? 0, "op")}, ${count(kept.again.flops)} flop`]);
    if (!list.length) return null;
    return h("section", {}, h("h4", {}, "Costs"), h("dl", { class: "facts" }, list.flatMap(([term, value]) => [h("dt", {}, term), h("dd", {}, value)])));
  }

  values(title, view, ops) {
    if (!ops.length) return null;
    return h(
      "section",
      {},
      h("h4", {}, title, h("span", { class: "dim" }, ` ${ops.length}`)),
      h("ul", { class: "values" }, ops.slice(0, MOST).map((op) => h("li", {}, this.reference(view, op)))),
      ops.length > MOST ? h("p", { class: "dim" }, `and ${ops.length - MOST} more`) : null,
    );
  }

  reference(view, op) {
    const [letter] = ROLES[view.roleOf(op)] ?? [""];
    return h(
      "button",
      { class: "link value", onclick: () => this.app.select(view, view.ops.line[op], undefined, op), onmouseenter: () => this.app.hover(view, view.ops.line[op]), onmouseleave: () => this.app.hover(undefined, -1) },
      h("span", { class: `role ${view.roleOf(op)}` }, letter),
      h("code", {}, view.ops.results[op] || "–"),
      " ",
      h("span", { class: "dim" }, view.isArgument(op) ? "argument" : view.nameOf(op)),
    );
  }

  everywhere(places, view) {
    if (!places.length) return null;
    const rows = [...this.app.panes.values()]
      .filter((pane) => pane.view && pane.view !== view)
      .map((pane) => [pane, [...pane.view.linked(places)].sort((a, b) => a - b)])
      .filter(([, lines]) => lines.length);
    if (!rows.length) return null;
    return h(
      "section",
      {},
      h("h4", {}, "Elsewhere"),
      h("ul", { class: "values" }, rows.map(([pane, lines]) => h("li", {}, h("button", { class: "link", onclick: () => { pane.reveal(lines[0]); pane.flash(lines[0]); } }, `${plural(lines.length, "line")} in ${pane.title.toLowerCase()}${pane.view.kind === "source" ? "" : ` (${pane.view.name})`}`)))),
    );
  }
}
