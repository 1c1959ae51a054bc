// The strip of passes: for each its time, the change in ops and the peak after it. A stage that changed nothing is small.

import { count, h, plural, replace, size, time } from "./dom.js";

const TITLES = { primal: "Program", derivative: "Derivative", kernels: "Kernels", code: "LLVM" };

export class Strip {
  constructor(app) {
    this.app = app;
    this.list = h("ol", { class: "stages" });
    this.folded = true;
    this.fold = h("button", { class: "fold", onclick: () => this.toggle() });
    this.element = h("nav", { class: "strip", "aria-label": "passes" }, h("header", {}, h("h2", {}, "Passes"), this.fold), h("p", { class: "columns", "aria-hidden": "true" }, h("span", {}, "time"), h("span", {}, "ops"), h("span", {}, "peak")), this.list);
  }

  toggle() {
    this.folded = !this.folded;
    this.draw();
  }

  draw() {
    const { model } = this.app;
    const slowest = Math.max(1e-9, ...model.stages.map((stage) => stage.seconds ?? 0));
    const highest = Math.max(1, ...model.stages.map((stage) => stage.peak ?? 0));
    const idle = model.stages.filter((stage) => stage.same_as >= 0).length;
    this.fold.textContent = this.folded ? `${idle} without change` : "only changes";
    this.fold.hidden = !idle;
    const entries = [];
    let section = "";
    let before;
    for (const [index, stage] of model.stages.entries()) {
      const unchanged = stage.same_as >= 0;
      if (!unchanged || !this.folded) {
        if (stage.section !== section) {
          section = stage.section;
          entries.push(h("li", { class: "section" }, TITLES[section]));
        }
        entries.push(this.entry(stage, index, before, slowest, highest));
      }
      if (stage.ops !== null) before = stage.ops;
    }
    for (const found of model.diagnostics) entries.push(h("li", { class: "stopped" }, h("strong", {}, "stopped here"), h("p", {}, found.message)));
    replace(this.list, entries);
    this.light();
  }

  entry(stage, index, before, slowest, highest) {
    const unchanged = stage.same_as >= 0;
    const change = stage.ops !== null && before !== undefined ? stage.ops - before : 0;
    const title = `${stage.label || "the program as it was written"}${stage.foreign ? "\na pass of a plug-in" : ""}`;
    const sign = before === undefined || !change ? "" : change > 0 ? ` +${count(change)}` : ` ${count(change)}`;
    const facts = [
      h("span", { title: "time of the pass" }, stage.seconds === null ? "" : time(stage.seconds)),
      h("span", { title: "ops, and the change" }, stage.ops === null || unchanged ? "" : [count(stage.ops), h("span", { class: change > 0 ? "more" : "less" }, sign)]),
      h("span", { title: stage.kept ? `peak: bytes that are live at most; ${size(stage.kept)} are kept for the reverse part` : "peak: bytes that are live at most" }, stage.peak === null || unchanged ? "" : size(stage.peak)),
    ];
    const bars = unchanged
      ? null
      : h(
          "span",
          { class: "bars", "aria-hidden": "true" },
          h("span", { class: "bar time", style: { width: `${(100 * (stage.seconds ?? 0)) / slowest}%` } }),
          h("span", { class: "bar peak", style: { width: `${(100 * (stage.peak ?? 0)) / highest}%` } }),
        );
    const button = h(
      "button",
      { class: "stage", title, "data-stage": index, onclick: () => this.app.openStage(index), onkeydown: (event) => this.key(event) },
      h("span", { class: "name" }, h("span", { class: "index" }, index), stage.name, stage.foreign ? h("span", { class: "badge" }, "plug-in") : null),
      h("span", { class: "facts" }, facts),
      bars,
    );
    return h("li", { class: unchanged ? "unchanged" : "" }, button);
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const buttons = [...this.list.querySelectorAll("button.stage")];
    buttons[buttons.indexOf(event.currentTarget) + step]?.focus();
  }

  /** Marks the stages that panes show. */
  light() {
    const shown = this.app.shownKeys();
    for (const button of this.list.querySelectorAll("button.stage")) {
      const at = shown.get(button.dataset.stage);
      button.classList.toggle("shown", Boolean(at));
      button.setAttribute("aria-current", at ? "true" : "false");
    }
  }

  label() {
    return plural(this.app.model.stages.length, "stage");
  }
}
