// Search in the texts of all panes: lines that match are marked, and Enter goes from one to the next.

import { h, plural } from "./dom.js";

export class Search {
  constructor(app) {
    this.app = app;
    this.input = h("input", { type: "search", placeholder: "search   /", "aria-label": "search in all panes", spellcheck: "false", oninput: () => this.run(), onkeydown: (event) => this.key(event) });
    this.tally = h("output", { class: "dim" });
    this.element = h("div", { class: "search", role: "search" }, this.input, this.tally);
  }

  run() {
    const wanted = this.input.value.toLowerCase();
    const { matches, panes } = this.app;
    matches.clear();
    let total = 0;
    for (const pane of panes.values()) {
      if (!pane.view || wanted.length < 2) continue;
      const lines = new Set();
      pane.view.lines.forEach((line, at) => line.toLowerCase().includes(wanted) && lines.add(at));
      matches.set(pane.view, lines);
      if (!pane.element.hidden) total += lines.size;
    }
    this.tally.textContent = wanted.length < 2 ? "" : plural(total, "line");
    for (const pane of panes.values()) pane.later();
  }

  key(event) {
    if (event.key === "Enter") this.next(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      this.input.value = "";
      this.run();
      this.input.blur();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  next(direction) {
    const places = [...this.app.panes.values()].filter((pane) => pane.view && !pane.element.hidden).flatMap((pane) => [...(this.app.matches.get(pane.view) ?? [])].map((line) => [pane, line]));
    if (!places.length) return;
    const { selection } = this.app;
    const here = places.findIndex(([pane, line]) => pane.view === selection?.view && line === selection.line);
    const [pane, line] = places[(here + direction + places.length) % places.length] ?? places[0];
    this.app.select(pane.view, line, pane.slot);
    pane.reveal(line);
  }
}
