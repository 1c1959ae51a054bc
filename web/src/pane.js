// A text of any length: only the lines that show exist as elements. It lights lines, marks where they are beside the scroll bar, and moves with the keyboard.

import { h, plural, replace, themeColour } from "./dom.js";
import { words } from "./tokens.js";

export const LINE = 19;
const OVERSCAN = 12;
const LONGEST = 1600; // characters of a line that are shown
export const ROLES = {
  primal: ["p", "primal: the program itself"],
  coefficient: ["c", "coefficient: a local derivative"],
  tangent: ["ẏ", "tangent: propagated forward"],
  cotangent: ["ȳ", "cotangent: propagated backward"],
  accumulation: ["Σ", "accumulation: the sum where a value was used more than once"],
};

export class Pane {
  constructor(app, slot, title) {
    Object.assign(this, { app, slot, title });
    this.view = undefined;
    this.linked = new Set();
    this.hovered = new Set();
    this.rows = new Map();
    this.picker = h("select", { class: "picker", "aria-label": `stage in the pane ${title}`, onchange: () => app.show(slot, this.picker.value) });
    this.tally = h("button", { class: "tally", title: "to the next linked line (n)", onclick: () => this.nextLinked(1) });
    this.sizer = h("div", { class: "sizer" });
    this.scroller = h(
      "div",
      {
        class: "scroller",
        tabindex: 0,
        role: "listbox",
        "aria-label": title,
        onscroll: () => this.later(),
        onmousemove: (event) => app.hover(this.view, this.lineAt(event)),
        onmouseleave: () => app.hover(undefined, -1),
        onclick: (event) => this.clicked(event),
        onkeydown: (event) => this.key(event),
        onfocus: () => app.focused(slot),
      },
      this.sizer,
    );
    this.ruler = h("canvas", { class: "ruler", "aria-hidden": "true", onclick: (event) => this.rulerClicked(event) });
    this.element = h(
      "section",
      { class: "pane", "data-slot": slot, "aria-label": title },
      h("header", {}, h("h2", {}, title), this.picker, this.tally),
      h("div", { class: "body" }, this.scroller, this.ruler),
    );
    new ResizeObserver(() => this.later()).observe(this.scroller);
  }

  /** Shows a view among those that may be chosen in this pane. */
  show(view, choices) {
    const options = choices.map((choice) => h("option", { value: choice.key }, choice.kind === "source" ? choice.name : `${choice.index} · ${choice.name}`));
    replace(this.picker, options);
    this.picker.hidden = choices.length < 1;
    if (view) this.picker.value = view.key;
    if (view === this.view) return this.later();
    const before = this.view;
    this.view = view;
    this.linked = new Set();
    this.hovered = new Set();
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
    const top = before && view && before.name === view.name ? this.scroller.scrollTop : 0; // the same stage of an edited program
    this.sizer.style.height = `${(view ? view.lines.length : 0) * LINE + 24}px`;
    this.sizer.style.width = view ? `calc(${Math.min(view.longest, LONGEST) + 2}ch + 84px)` : "auto";
    this.scroller.scrollTop = top;
    this.element.classList.toggle("empty", !view);
    this.element.classList.toggle("roles", Boolean(view?.ops?.role.some((role) => role)));
    this.later();
  }

  // -- what is lit

  light(linked, hovered) {
    this.linked = linked;
    this.hovered = hovered;
    const n = linked.size;
    this.tally.textContent = n ? plural(n, "linked line") : "";
    this.later();
  }

  later() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.render();
    });
  }

  render() {
    const view = this.view;
    if (!view) return;
    const height = this.scroller.clientHeight;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / LINE) - OVERSCAN);
    const last = Math.min(view.lines.length, Math.ceil((this.scroller.scrollTop + height) / LINE) + OVERSCAN);
    for (const [line, row] of this.rows) {
      if (line >= first && line < last) continue;
      row.remove();
      this.rows.delete(line);
    }
    const selected = this.app.selection?.view === view ? this.app.selection.line : -1;
    for (let line = first; line < last; line++) {
      let row = this.rows.get(line);
      if (!row) {
        row = this.row(line);
        this.rows.set(line, row);
        this.sizer.append(row);
      }
      row.classList.toggle("linked", this.linked.has(line));
      row.classList.toggle("inferred", this.linked.inferred?.has(line) ?? false);
      row.classList.toggle("hovered", this.hovered.has(line));
      row.classList.toggle("matched", this.app.matches.get(view)?.has(line) ?? false);
      row.classList.toggle("selected", line === selected);
      row.setAttribute("aria-selected", String(line === selected));
      row.children[0].textContent = line === selected ? "▸" : this.linked.inferred?.has(line) ? "◌" : this.linked.has(line) ? "●" : this.hovered.has(line) ? "○" : "";
    }
    if (selected >= 0 && this.rows.has(selected)) this.scroller.setAttribute("aria-activedescendant", this.rows.get(selected).id);
    else this.scroller.removeAttribute("aria-activedescendant");
    this.drawRuler(selected);
  }

  row(line) {
    const view = this.view;
    const role = view.roleAt(line);
    const [letter, title] = ROLES[role] ?? ["", ""];
    const text = words(view, line);
    const shown = [];
    let length = 0;
    for (const [kind, part] of text) {
      if (length > LONGEST) break;
      shown.push(kind ? h("span", { class: `w-${kind}` }, part.slice(0, LONGEST)) : document.createTextNode(h("i", {}, part.slice(0, LONGEST)).textContent));
      length += part.length;
    }
    if (length > LONGEST) shown.push(h("span", { class: "cut" }, " …"));
    return h(
      "div",
      { class: "row", role: "option", id: `${this.slot}-${line}`, style: { top: `${line * LINE}px` } },
      h("span", { class: "mark", "aria-hidden": "true" }),
      h("span", { class: "number" }, line + 1),
      h("span", { class: `role ${role}`, title }, letter),
      h("code", {}, shown),
    );
  }

  drawRuler(selected) {
    const { ruler, view } = this;
    const height = ruler.clientHeight;
    const ratio = devicePixelRatio || 1;
    if (!height) return;
    if (ruler.height !== Math.round(height * ratio)) {
      ruler.height = Math.round(height * ratio);
      ruler.width = Math.round(10 * ratio);
    }
    const pen = ruler.getContext("2d");
    pen.clearRect(0, 0, ruler.width, ruler.height);
    const span = Math.max(view.lines.length * LINE, height);
    const mark = (line, colour, width) => {
      pen.fillStyle = colour;
      pen.fillRect((10 - width) * ratio, ((line * LINE) / span) * ruler.height, width * ratio, Math.max(2 * ratio, (LINE / span) * ruler.height));
    };
    for (const line of this.app.matches.get(view) ?? []) mark(line, themeColour("--match-strong"), 4);
    for (const line of this.hovered) mark(line, themeColour("--dim"), 6);
    for (const line of this.linked) mark(line, themeColour("--accent"), 8);
    if (selected >= 0) mark(selected, themeColour("--text"), 10);
  }

  rulerClicked(event) {
    const span = Math.max(this.view.lines.length * LINE, this.ruler.clientHeight);
    this.scroller.scrollTop = (event.offsetY / this.ruler.clientHeight) * span - this.scroller.clientHeight / 2;
  }

  // -- moving

  lineAt(event) {
    const line = Math.floor((event.clientY - this.sizer.getBoundingClientRect().top) / LINE);
    return this.view && line >= 0 && line < this.view.lines.length ? line : -1;
  }

  clicked(event) {
    const line = this.lineAt(event);
    if (line < 0 || String(getSelection())) return; // text is being marked
    this.app.select(this.view, line, this.slot);
  }

  /** Scrolls so that a line shows; to the middle if it is far. */
  reveal(line) {
    if (line === undefined || line < 0) return;
    const top = this.scroller.scrollTop;
    const height = this.scroller.clientHeight;
    const y = line * LINE;
    if (y < top + LINE || y > top + height - 2 * LINE) this.scroller.scrollTop = Math.max(0, y - height / 2.6);
    this.later();
  }

  nextLinked(direction) {
    const lines = [...this.linked].sort((a, b) => a - b);
    if (!lines.length) return;
    const from = this.last ?? -1;
    const after = direction > 0 ? lines.find((line) => line > from) : [...lines].reverse().find((line) => line < from);
    this.last = after ?? (direction > 0 ? lines[0] : lines[lines.length - 1]);
    this.reveal(this.last);
    this.flash(this.last);
  }

  flash(line) {
    requestAnimationFrame(() =>
      requestAnimationFrame(() => this.rows.get(line)?.animate?.([{ outlineColor: "var(--accent)" }, { outlineColor: "transparent" }], { duration: 900 })),
    );
  }

  key(event) {
    if (!this.view || event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / LINE) - 2);
    const moves = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in moves) {
      const here = this.app.selection?.view === this.view ? this.app.selection.line : Math.floor(this.scroller.scrollTop / LINE) - Math.sign(moves[event.key]);
      const line = Math.min(this.view.lines.length - 1, Math.max(0, here + moves[event.key]));
      this.app.select(this.view, line, this.slot);
      this.reveal(line);
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight" || event.key === "h" || event.key === "l") {
      this.app.across(this.slot, event.key === "ArrowRight" || event.key === "l" ? 1 : -1);
    } else if (event.key === "n" || event.key === "N") {
      this.nextLinked(event.key === "n" ? 1 : -1);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
