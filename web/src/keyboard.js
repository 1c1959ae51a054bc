// Keys that work anywhere on the page, and the list of all of them.

import { h } from "./dom.js";

const KEYS = [
  ["↑ ↓  or  j k", "line by line in a pane"],
  ["← →  or  h l", "to the linked line in the next pane"],
  ["n  N", "to the next or previous linked line"],
  ["1 2 3 4", "to a pane: source, program, derivative, kernels and code"],
  ["[  ]", "the stage before or after in this pane"],
  ["/", "search; Enter goes on"],
  [",  .", "the tab before or after"],
  ["0", "close the tabs, or open the last one"],
  ["z", "the tab large or small"],
  ["t", "light or dark"],
  ["Esc", "nothing selected"],
  ["graph: arrows, +, −, f", "from node to node, open, fold, fit"],
  ["memory: ← →, p", "from op to op, to the peak"],
];

export class Keyboard {
  constructor(app) {
    this.app = app;
    addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const { app } = this;
    if (!app.model || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable], dialog")) return;
    const slots = [...app.panes.keys()];
    const actions = {
      "/": () => app.search.input.focus(),
      "?": () => this.help(),
      t: () => app.changeTheme(),
      z: () => app.dock.maximise(),
      0: () => this.dock(),
      ".": () => app.dock.step(1),
      ",": () => app.dock.step(-1),
      "[": () => app.stepStage(-1),
      "]": () => app.stepStage(1),
      Escape: () => app.clear(),
      n: () => app.active?.nextLinked(1),
      N: () => app.active?.nextLinked(-1),
    };
    for (const [i, slot] of slots.entries()) actions[i + 1] = () => app.focusPane(slot);
    if (!(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  }

  dock() {
    const { state } = this.app;
    if (state.get("tab")) {
      this.last = state.get("tab");
      state.set({ tab: "" });
    } else state.set({ tab: this.last ?? "memory" });
  }

  help() {
    const dialog = h("dialog", { class: "help", "aria-label": "keys", onclick: (event) => event.target === dialog && dialog.close(), onclose: () => dialog.remove() },
      h("h2", {}, "Keys"), h("dl", {}, KEYS.flatMap(([keys, what]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, what)])),
      h("form", { method: "dialog" }, h("button", { autofocus: true }, "close")));
    document.body.append(dialog);
    dialog.showModal();
  }
}
