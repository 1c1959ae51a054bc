// The dock below the panes: tabs, one of which is open, or none.

import { h, replace } from "./dom.js";
import { diff } from "./diff.js";
import { graph } from "./graph.js";
import { kept } from "./kept.js";
import { memory } from "./memory.js";
import { checks, costs, reproduce, strategies } from "./tables.js";

const TABS = [memory, kept, diff, costs, strategies, graph, checks, reproduce];

export class Dock {
  constructor(app) {
    this.app = app;
    this.tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "analyses", onkeydown: (event) => this.key(event) },
      TABS.map((tab) => h("button", { role: "tab", id: `tab-${tab.id}`, "data-tab": tab.id, "aria-controls": "dock-panel", onclick: () => this.toggle(tab.id) }, tab.title)));
    this.grow = h("button", { class: "quiet grow", title: "larger or smaller (z)", "aria-label": "larger or smaller", onclick: () => this.maximise() }, "⤢");
    this.close = h("button", { class: "quiet", title: "close (0)", "aria-label": "close", onclick: () => app.state.set({ tab: "" }) }, "✕");
    this.panel = h("div", { class: "panel", id: "dock-panel", role: "tabpanel", tabindex: -1 });
    this.handle = h("div", { class: "handle", role: "separator", "aria-orientation": "horizontal", "aria-label": "height of the dock", tabindex: 0, onpointerdown: (event) => this.drag(event), onkeydown: (event) => this.resize(event) });
    this.element = h("section", { class: "dock", "aria-label": "analyses" }, this.handle, h("header", {}, this.tabs, h("span", { class: "spring" }), this.grow, this.close), this.panel);
  }

  get tab() {
    return TABS.find((tab) => tab.id === this.app.state.get("tab"));
  }

  toggle(id) {
    this.app.state.set({ tab: this.app.state.get("tab") === id ? "" : id });
  }

  step(by) {
    const at = TABS.indexOf(this.tab);
    this.app.state.set({ tab: TABS[(at + by + TABS.length) % TABS.length].id });
  }

  key(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    this.step(by);
    this.tabs.querySelector('[aria-selected="true"]')?.focus();
  }

  draw() {
    const { tab } = this;
    for (const button of this.tabs.children) {
      const on = button.dataset.tab === tab?.id;
      button.setAttribute("aria-selected", String(on));
      button.tabIndex = on || (!tab && button === this.tabs.children[0]) ? 0 : -1;
    }
    this.element.classList.toggle("closed", !tab);
    this.panel.className = `panel ${tab?.id ?? ""}`;
    if (tab) {
      this.panel.setAttribute("aria-labelledby", `tab-${tab.id}`);
      const scroll = this.drawn === tab.id ? this.panel.scrollTop : 0;
      replace(this.panel, tab.draw(this.app));
      this.panel.scrollTop = scroll;
    } else {
      replace(this.panel);
    }
    this.drawn = tab?.id;
  }

  selected() {
    this.tab?.selected?.(this.app);
  }

  maximise() {
    this.element.classList.toggle("maximal");
    document.body.classList.toggle("dock-maximal", this.element.classList.contains("maximal"));
  }

  setHeight(height) {
    const most = innerHeight - 140;
    document.documentElement.style.setProperty("--dock", `${Math.min(most, Math.max(120, height))}px`);
  }

  drag(event) {
    event.preventDefault();
    this.handle.setPointerCapture(event.pointerId);
    const move = (e) => this.setHeight(this.element.getBoundingClientRect().bottom - e.clientY);
    this.handle.addEventListener("pointermove", move);
    this.handle.addEventListener("pointerup", () => this.handle.removeEventListener("pointermove", move), { once: true });
  }

  resize(event) {
    const by = { ArrowUp: 40, ArrowDown: -40 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    this.setHeight(this.element.offsetHeight + by);
  }
}
