// The live page: the pane of the source is an editor, and every change of the program or of what is asked for brings a new document.

import { App } from "./app.js";
import { h, plural, replace, time } from "./dom.js";
import { unpack } from "./model.js";

const ON_DEMAND = ["memory", "kept", "diff", "costs", "strategies"]; // tabs that ask for an analysis
const WAIT = 180; // milliseconds after the last key

/** The editor in the place of the pane of the source: it answers what panes are asked. */
class EditorPane {
  constructor(app, start, changed) {
    Object.assign(this, { app, slot: "source", title: "Source", linked: new Set(), last: undefined });
    this.tally = h("span", { class: "tally" });
    this.choice = h("select", { class: "picker", "aria-label": "start from an example", onchange: () => this.example(start.examples) },
      h("option", { value: "" }, "examples"), start.examples.map(({ title }, at) => h("option", { value: String(at) }, title)));
    this.holder = h("div", { class: "editor" });
    this.problem = h("div", { class: "problems", role: "status", "aria-live": "polite", hidden: true });
    this.element = h("section", { class: "pane", "data-slot": "source", "aria-label": "Source" }, h("header", {}, h("h2", {}, "Source"), this.choice, this.tally), this.holder, this.problem);
    const nonce = document.getElementById("editor-script").nonce;
    this.editor = globalThis.wengertEditor.create({
      parent: this.holder,
      text: start.text,
      nonce,
      changed,
      pointed: (line) => app.hover(line >= 0 && this.fresh ? this.view : undefined, line),
      chosen: (line) => this.fresh && line < (this.view?.lines.length ?? 0) && app.select(this.view, line, "source"),
    });
    this.scroller = { focus: () => this.editor.focus() };
  }

  /** Whether the text is that of the document that is shown. */
  get fresh() {
    return this.view && this.view.text === this.editor.text();
  }

  example(list) {
    if (this.choice.value !== "") this.editor.replace(list[Number(this.choice.value)].text);
    this.choice.value = "";
  }

  show(view) {
    this.view = view;
    this.later();
  }

  light(linked, hovered) {
    this.linked = linked;
    this.hovered = hovered;
    this.tally.textContent = linked.size ? `${linked.size} linked` : "";
    this.later();
  }

  later() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      if (!this.fresh) return this.editor.light([], [], -1);
      const { selection } = this.app;
      this.editor.light(this.linked, this.hovered ?? [], selection?.view === this.view ? selection.line : -1);
    });
  }

  reveal(line) {
    if (line >= 0) this.editor.reveal(line);
  }

  flash() {}

  nextLinked(direction) {
    const lines = [...this.linked].sort((a, b) => a - b);
    this.last = (direction > 0 ? lines.find((line) => line > (this.last ?? -1)) : lines.findLast((line) => line < (this.last ?? 0))) ?? lines[0];
    this.reveal(this.last);
  }

  /** Diagnostics on their lines and, with their hints, below. */
  diagnose(found, name) {
    const here = found.filter((one) => one.file === name && one.line > 0);
    this.editor.diagnose(here);
    this.problem.hidden = !found.length;
    replace(this.problem, found.slice(0, 20).map((one) => h("p", {}, h("strong", {}, one.severity === "warning" ? "△ " : "✗ "), one.line > 0 ? h("span", { class: "dim" }, `${one.file === name ? "" : `${one.file}:`}${one.line}:${one.column} `) : null, one.message, one.hint ? h("span", { class: "dim" }, ` ${one.hint}`) : null)));
  }
}

class Live {
  constructor(root, start) {
    this.start = start;
    this.app = new App(root, (app) => {
      this.pane = new EditorPane(app, start, () => this.changed());
      return { source: this.pane };
    });
    const choose = (label, options, value) => {
      const select = h("select", { "aria-label": label, title: label, onchange: () => this.changed() }, options.map(([v, text]) => h("option", { value: v }, text)));
      select.value = value;
      return select;
    };
    this.mode = choose("derivative", [["vjp", "VJP"], ["jvp", "JVP"], ["hvp", "HVP"], ["primal", "no derivative"]], "vjp");
    this.strategy = choose("strategy", start.choices.strategies.map((name) => [name, name]), "transpose");
    this.residuals = choose("residuals: what is kept", start.choices.residuals.map((name) => [name, `keep: ${name}`]), "auto");
    this.wrt = h("input", { class: "positions", placeholder: "wrt: all", "aria-label": "arguments to differentiate by, as in 0,2", oninput: () => this.changed() });
    this.of = h("input", { class: "positions", placeholder: "of: all", "aria-label": "results to differentiate, as in 0", oninput: () => this.changed() });
    this.pipeline = h("input", { class: "pipeline", placeholder: "passes behind it; empty: all the way down", "aria-label": "passes, as in simplify,cse", spellcheck: "false", oninput: () => this.changed() });
    this.pipeline.value = start.pipeline;
    this.status = h("output", { class: "status dim" });
    replace(this.app.bar, this.mode, this.wrt, this.of, this.strategy, this.residuals, this.pipeline, start.plugins?.length ? h("span", { class: "badge", title: start.plugins.join(", ") }, plural(start.plugins.length, "plug-in")) : null, this.status);
    this.app.state.addEventListener("change", ({ detail }) => {
      const tab = this.app.state.get("tab");
      if (!this.app.model || !ON_DEMAND.includes(tab)) return;
      const missing = tab === "diff" && detail.size && !this.app.model.analyses.diff?.pairs?.[this.pair(":")];
      if ((detail.has("tab") && !this.app.model.analyses[tab]) || (missing && (detail.has("a") || detail.has("b")))) this.changed();
    });
  }

  /** The stages that the tab of differences shows, the earlier one first. */
  pair(between) {
    const numbers = [this.app.state.get("a"), this.app.state.get("b")].map(Number).sort((a, b) => a - b);
    return between ? numbers.join(between) : numbers;
  }

  changed() {
    clearTimeout(this.timer);
    document.documentElement.dataset.fresh = "no";
    this.timer = setTimeout(() => this.run(), WAIT);
  }

  request(code) {
    const positions = (input) => {
      const text = input.value.trim();
      input.setAttribute("aria-invalid", String(!/^(\d+(\s*,\s*\d+)*)?$/.test(text)));
      return /^\d+(\s*,\s*\d+)*$/.test(text) ? text.split(",").map(Number) : null;
    };
    const tab = this.app.state.get("tab");
    return {
      text: this.pane.editor.text(),
      name: this.start.name,
      mode: this.mode.value,
      positions: { wrt: positions(this.wrt), of: positions(this.of) },
      strategy: this.strategy.value,
      residuals: this.residuals.value,
      pipeline: this.pipeline.value.trim(),
      code,
      analyses: code && ON_DEMAND.includes(tab) ? [tab] : [],
      pair: tab === "diff" && this.app.state.get("a") && this.app.state.get("b") ? this.pair() : null,
    };
  }

  /** Asks twice: down to the derivative, which is there at once, and then all the way to code with the analysis of the open tab. */
  async run() {
    if (this.running) {
      this.again = true;
      return;
    }
    this.running = true;
    this.again = false;
    this.status.textContent = "…";
    const begin = performance.now();
    try {
      for (const code of [false, true]) {
        const answer = await this.ask(code);
        if (this.again) break;
        this.take(answer, begin);
        if (!answer.document || answer.diagnostics.length) break;
      }
    } catch (error) {
      this.status.textContent = "no answer";
      this.pane.diagnose([{ severity: "error", file: "", line: 0, column: 0, message: `The server does not answer: ${error.message}` }], this.start.name);
      document.documentElement.dataset.fresh = "failed";
    }
    this.running = false;
    document.documentElement.dataset.ready = "yes";
    if (this.again) this.run();
    else if (document.documentElement.dataset.fresh === "yes") document.documentElement.dataset.fresh = "whole";
  }

  async ask(code) {
    const response = await fetch("run", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(this.request(code)) });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  }

  take({ document: made, diagnostics }, begin) {
    if (made) this.app.load(made);
    this.pane.diagnose(diagnostics, this.start.name);
    this.status.textContent = diagnostics.length ? plural(diagnostics.length, "error") : time((performance.now() - begin) / 1000);
    document.documentElement.dataset.fresh = made && !diagnostics.length ? "yes" : "failed";
  }
}

export async function live(root) {
  const start = JSON.parse(await unpack(document.getElementById("document").textContent));
  const page = new Live(root, start);
  window.wengert = page.app;
  await page.run();
}
