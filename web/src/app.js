// The page: puts its parts together, and keeps what is selected, lit and shown the same in all of them.

import { Dock } from "./dock.js";
import { h, replace } from "./dom.js";
import { Explanation } from "./explanation.js";
import { Keyboard } from "./keyboard.js";
import { Model } from "./model.js";
import { Pane } from "./pane.js";
import { Search } from "./search.js";
import { selectionOf, selectionText, State } from "./state.js";
import { Strip } from "./strip.js";

const SLOTS = { source: "Source", primal: "Program", derivative: "Derivative", lowered: "Kernels and code" };
const SECTIONS = { source: ["source"], primal: ["primal"], derivative: ["derivative"], lowered: ["kernels", "code"] };

export class App {
  constructor(root, others = () => ({})) {
    this.state = new State();
    this.matches = new Map();
    const given = others(this);
    this.panes = new Map(Object.entries(SLOTS).map(([slot, title]) => [slot, given[slot] ?? new Pane(this, slot, title)]));
    this.visible = new Set(["source", "primal", "derivative"]);
    this.strip = new Strip(this);
    this.explanation = new Explanation(this);
    this.dock = new Dock(this);
    this.search = new Search(this);
    this.keyboard = new Keyboard(this);
    this.toggles = h("div", { class: "toggles", role: "group", "aria-label": "panes" });
    this.title = h("h1", {});
    this.request = h("span", { class: "request" });
    this.bar = h("div", { class: "bar-extra" });
    this.workbench = h("div", { class: "workbench" }, [...this.panes.values()].map((pane) => pane.element));
    this.theme = h("button", { class: "quiet icon", title: "light or dark (t)", "aria-label": "light or dark", onclick: () => this.changeTheme() }, "◐");
    replace(
      root,
      h("header", { class: "top" }, h("span", { class: "logo", "aria-hidden": "true" }, "∂"), this.title, this.request, h("span", { class: "spring" }), this.toggles, this.search.element, this.theme,
        h("button", { class: "quiet icon", title: "keys (?)", "aria-label": "keys", onclick: () => this.keyboard.help() }, "?")),
      this.bar,
      h("main", {}, this.strip.element, h("div", { class: "middle" }, this.workbench, this.dock.element), this.explanation.element),
    );
    this.state.addEventListener("change", ({ detail }) => this.changed(detail));
    addEventListener("hashchange", () => this.state.set(this.state.read()));
    matchMedia("(max-width: 900px)").addEventListener("change", () => this.arrange());
  }

  get narrow() {
    return matchMedia("(max-width: 900px)").matches;
  }

  get active() {
    return this.panes.get(this.focus);
  }

  // -- documents

  /** Shows a document: the first, or the next one of an edited program, of which it shows the stages of the same names. */
  load(document) {
    const before = this.model && Object.fromEntries([...this.panes].map(([slot, pane]) => [slot, pane.view?.name]));
    const chosen = this.selection && { name: this.selection.view.name, line: this.selection.line, text: this.selection.view.lines[this.selection.line] };
    this.model = new Model(document);
    this.selection = undefined;
    this.matches.clear();
    this.title.textContent = this.model.title;
    this.request.textContent = this.model.request;
    const shown = {};
    for (const slot of this.panes.keys()) {
      const choices = this.choices(slot);
      shown[slot] = (before && choices.findLast((view) => view.name === before[slot])?.key) ?? this.preferred(slot, choices)?.key ?? "";
    }
    const given = before ? this.kept(chosen) : this.state.read();
    if (!before) for (const slot of this.panes.keys()) if (!this.choices(slot).length) this.visible.delete(slot);
    if (!before && !this.visible.has("primal") && !this.visible.has("derivative")) this.visible.add("lowered");
    this.strip.draw();
    for (const slot of this.panes.keys()) this.state.values[slot] = undefined;
    this.state.set({ tab: this.state.get("tab") ?? "", ...shown, ...given, sel: given.sel ?? "" });
    if (given.lowered || (given.sel && this.slotOf(selectionOf(this.model, given.sel)?.view) === "lowered")) this.visible.add("lowered");
    this.drawToggles();
    this.arrange();
    this.changed(new Set([...this.panes.keys(), "sel", "tab"]));
  }

  /** What was selected before, if the stage of that name still has that line. */
  kept(chosen) {
    const view = chosen && [...this.model.sourceViews, ...this.model.views].findLast((candidate) => candidate.name === chosen.name && candidate.lines[chosen.line] === chosen.text && candidate.lines.length > 1);
    return view ? { sel: selectionText(view, chosen.line) } : {};
  }

  choices(slot) {
    if (slot === "source") return this.model.sourceViews.length ? this.model.sourceViews : this.model.views.slice(0, 1);
    return this.model.views.filter((view) => view.stage.same_as < 0 && SECTIONS[slot].includes(view.section));
  }

  preferred(slot, choices) {
    if (slot === "lowered") return choices.findLast((view) => view.name === "schedule") ?? choices.find((view) => view.section === "kernels") ?? choices[0];
    return slot === "source" ? choices[0] : choices[choices.length - 1];
  }

  slotOf(view) {
    if (!view) return undefined;
    for (const [slot, pane] of this.panes) if (pane.view === view) return slot;
    return view.kind === "source" ? "source" : Object.keys(SECTIONS).find((slot) => SECTIONS[slot].includes(view.section));
  }

  // -- what is shown

  show(slot, key) {
    this.state.set({ [slot]: key });
  }

  openStage(index) {
    const view = this.model.shown(index);
    const slot = this.slotOf(view);
    this.reveal(slot);
    this.show(slot, view.key);
    this.focused(slot);
  }

  /** Makes a pane visible. */
  reveal(slot) {
    if (this.narrow) this.visible = new Set([slot]);
    else this.visible.add(slot);
    this.arrange();
  }

  toggle(slot) {
    if (this.narrow) this.visible = new Set([slot]);
    else if (this.visible.has(slot) && this.visible.size > 1) this.visible.delete(slot);
    else this.visible.add(slot);
    this.arrange();
  }

  drawToggles() {
    replace(this.toggles, [...this.panes.keys()].map((slot, i) => h("button", { "data-slot": slot, title: `pane ${i + 1} (${i + 1})`, disabled: !this.choices(slot).length, onclick: () => this.toggle(slot) }, SLOTS[slot])));
  }

  arrange() {
    if (!this.model) return;
    let chosen = this.visible;
    if (this.narrow && chosen.size > 1) chosen = new Set([["derivative", "primal", "source", "lowered"].find((slot) => chosen.has(slot))]);
    for (const [slot, pane] of this.panes) pane.element.hidden = !chosen.has(slot);
    for (const button of this.toggles.children) button.setAttribute("aria-pressed", String(chosen.has(button.dataset.slot)));
    for (const pane of this.panes.values()) pane.later();
    this.strip.light();
  }

  shownKeys() {
    return new Map([...this.panes].filter(([, pane]) => pane.view && !pane.element.hidden).map(([slot, pane]) => [pane.view.key, slot]));
  }

  changed(fields) {
    let repainted = false;
    for (const [slot, pane] of this.panes) {
      if (!fields.has(slot)) continue;
      pane.show(this.model.view(this.state.get(slot)), this.choices(slot));
      repainted = true;
    }
    if (fields.has("sel")) {
      const read = selectionOf(this.model, this.state.get("sel"));
      if (!read) this.selection = undefined;
      else if (this.selection?.view !== read.view || this.selection.line !== read.line) {
        this.selection = read;
        const slot = this.slotOf(read.view);
        if (this.panes.get(slot).view !== read.view) this.panes.get(slot).show(read.view, this.choices(slot));
        requestAnimationFrame(() => this.panes.get(slot).reveal(read.line));
      }
    }
    if (repainted || fields.has("sel")) {
      this.strip.light();
      this.relight();
      this.explanation.draw();
      this.dock.selected();
    }
    if (repainted) this.search.run();
    if (repainted || fields.has("tab") || fields.has("a") || fields.has("b")) this.dock.draw();
  }

  redraw() {
    this.dock.draw();
  }

  // -- what is lit

  placesOf(selection) {
    if (!selection) return [];
    const { view, line, op } = selection;
    return op >= 0 && view.ops ? view.ops.places[op] : view.placesAt(line);
  }

  relight() {
    const places = this.placesOf(this.selection);
    const guessed = this.selection?.view.ops && this.selection.op >= 0 ? this.selection.view.ops.inferred[this.selection.op] : [];
    const hovered = this.hovering ?? [];
    for (const pane of this.panes.values()) if (pane.view) pane.light(pane.view.linked(places, guessed), pane.view.linked(hovered));
  }

  hover(view, line) {
    this.hovering = view && line >= 0 ? view.placesAt(line) : [];
    this.later();
  }

  hoverOps(view, ops) {
    this.hovering = [...new Set(ops.flatMap((op) => view.ops.places[op]))];
    this.later();
  }

  later() {
    if (this.lighting) return;
    this.lighting = true;
    requestAnimationFrame(() => {
      this.lighting = false;
      this.relight();
    });
  }

  /** Selects a line (or an op of it), and scrolls the other panes to what it is linked to. */
  select(view, line, from, op) {
    this.selection = { view, line, op };
    const slot = from ?? this.slotOf(view);
    const pane = this.panes.get(slot);
    if (pane.view !== view) this.state.set({ [slot]: view.key });
    this.selection = { view, line, op };
    if (!from && pane.element.hidden) this.reveal(slot);
    if (!from) pane.reveal(line);
    const places = this.placesOf(this.selection);
    for (const other of this.panes.values()) {
      if (other === pane || !other.view || !places.length) continue;
      const lines = [...other.view.linked(places)].sort((a, b) => a - b);
      other.last = lines[0];
      if (lines.length) other.reveal(lines[0]);
    }
    this.state.set({ sel: selectionText(view, line) });
    this.relight();
    this.explanation.draw();
    this.dock.selected();
  }

  clear() {
    this.selection = undefined;
    this.state.set({ sel: "" });
  }

  /** Handlers of an element that opens an op when it is chosen. */
  opens(view, op) {
    return this.opening(() => this.select(view, view.ops.line[op], undefined, op), () => this.hoverOps(view, [op]));
  }

  opensLine(view, line) {
    return this.opening(() => this.select(view, line), () => this.hover(view, line));
  }

  opening(open, point) {
    return {
      onclick: open,
      onkeydown: (event) => {
        const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
        if (event.key === "Enter" || event.key === " ") open();
        else if (step) event.currentTarget[step]?.focus();
        else return;
        event.preventDefault();
        event.stopPropagation();
      },
      onmouseenter: point,
      onmouseleave: () => this.hover(undefined, -1),
    };
  }

  // -- moving

  focused(slot) {
    this.focus = slot;
    for (const [name, pane] of this.panes) pane.element.classList.toggle("active", name === slot);
  }

  focusPane(slot) {
    if (!this.choices(slot).length) return;
    this.reveal(slot);
    this.panes.get(slot).scroller.focus({ preventScroll: true });
  }

  /** From a pane to the next one that is visible, at what is linked there. */
  across(slot, direction) {
    const slots = [...this.panes.keys()].filter((name) => (this.narrow ? this.choices(name).length : !this.panes.get(name).element.hidden));
    const next = slots[slots.indexOf(slot) + direction];
    if (!next) return;
    const pane = this.panes.get(next);
    const lines = [...pane.linked].sort((a, b) => a - b);
    this.focusPane(next);
    if (lines.length) this.select(pane.view, lines[0], next);
    pane.reveal(lines[0]);
  }

  stepStage(direction) {
    const slot = this.focus && !this.panes.get(this.focus).element.hidden ? this.focus : "derivative";
    const choices = this.choices(slot);
    const at = choices.indexOf(this.panes.get(slot).view);
    const next = choices[at + direction];
    if (next) this.show(slot, next.key);
  }

  changeTheme() {
    const dark = getComputedStyle(document.documentElement).colorScheme.includes("dark") && !getComputedStyle(document.documentElement).colorScheme.includes("light");
    const now = document.documentElement.dataset.theme ?? (dark || matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("wengert-theme", document.documentElement.dataset.theme);
    } catch {
      // a page from a file may have no storage: then the choice lasts as long as the page
    }
    for (const pane of this.panes.values()) pane.later();
    this.dock.draw();
  }
}

/** The theme that was chosen last, if there is a memory of it. */
export function restoreTheme() {
  try {
    const chosen = localStorage.getItem("wengert-theme");
    if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
  } catch {
    // no storage: the system's choice
  }
}
