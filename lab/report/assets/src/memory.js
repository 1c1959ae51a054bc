// The tab of memory: one box for every value that is live, over the ops of the function; the set at any op, by role and by line.

import { h, plural, replace, size, themeColour as colour } from "./dom.js";
import { ROLES } from "./pane.js";

/** The values of a function's outermost block: when they begin and end (positions of ops), and how large they are. */
export function lifetimes(view) {
  const order = view.outermost;
  const position = new Map(order.map((op, at) => [op, at]));
  const outer = (op) => {
    while (op >= 0 && !position.has(op)) op = view.ops.parent[op];
    return op;
  };
  const values = [];
  for (const op of order) {
    const bytes = view.ops.bytes[op];
    if (!bytes || view.nameOf(op) === "stablehlo.constant") continue;
    const begin = position.get(op);
    let end = begin;
    for (const user of view.users[op]) {
      const at = outer(user);
      if (at >= 0) end = Math.max(end, position.get(at));
    }
    if (view.isArgument(op)) values.push({ op, begin: 0, end: order.length - 1, bytes, argument: true });
    else values.push({ op, begin, end, bytes, argument: false });
  }
  return { order, values };
}

/** Places boxes so that none overlap: each at the lowest free offset when it begins. */
function stack(values) {
  const live = [];
  let top = 0;
  for (const value of [...values].sort((a, b) => a.begin - b.begin || b.bytes - a.bytes)) {
    for (let i = live.length - 1; i >= 0; i--) if (live[i].end < value.begin) live.splice(i, 1);
    let offset = 0;
    let at = 0;
    while (at < live.length && live[at].offset < offset + value.bytes) {
      offset = Math.max(offset, live[at].offset + live[at].bytes);
      at += 1;
    }
    value.offset = offset;
    live.splice(live.findIndex((other) => other.offset > offset) < 0 ? live.length : live.findIndex((other) => other.offset > offset), 0, value);
    top = Math.max(top, offset + value.bytes);
  }
  return top;
}

function profile(order, values) {
  const change = new Float64Array(order.length + 1);
  for (const value of values) {
    change[value.begin] += value.bytes;
    change[value.end + 1] -= value.bytes;
  }
  let live = 0;
  return Array.from(order, (_, at) => (live += change[at]));
}

/** What a value is for: its role, and in a derivative the program itself is the primal. */
function partOf(view, value) {
  if (value.argument) return "argument";
  return view.roleOf(value.op) || (view.section === "derivative" ? "primal" : "plain");
}

const letterOf = (part) => ROLES[part]?.[0] ?? (part === "argument" ? "a" : "·");

const MARGIN = { left: 64, right: 12, top: 10, bottom: 22 };

class Timeline {
  constructor(app, view) {
    Object.assign(this, { app, view });
    const { order, values } = lifetimes(view);
    this.order = order;
    this.values = values;
    this.live = profile(order, values);
    this.peak = this.live.reduce((best, bytes, at) => (bytes > this.live[best] ? at : best), 0);
    this.at = this.peak;
    this.top = Math.max(1, stack(values));
    this.picture = h("canvas", { class: "timeline", tabindex: 0, role: "img", onclick: (e) => this.clicked(e), onmousemove: (e) => this.moved(e), onmouseleave: () => app.hover(undefined, -1), onkeydown: (e) => this.key(e) });
    this.table = h("div", { class: "live" });
    this.caption = h("p", { class: "lead" });
    this.element = h("div", { class: "memory" }, h("div", { class: "plot" }, this.caption, this.picture), this.table);
    new ResizeObserver(() => this.draw()).observe(this.picture);
    this.tell();
  }

  x(at) {
    return MARGIN.left + (at / this.order.length) * (this.width - MARGIN.left - MARGIN.right);
  }

  y(bytes) {
    return this.height - MARGIN.bottom - (bytes / this.top) * (this.height - MARGIN.top - MARGIN.bottom);
  }

  draw() {
    const canvas = this.picture;
    this.width = canvas.clientWidth;
    this.height = canvas.clientHeight;
    if (!this.width || !this.height) return;
    const ratio = devicePixelRatio || 1;
    canvas.width = this.width * ratio;
    canvas.height = this.height * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    pen.fillStyle = colour("--dim");
    pen.strokeStyle = colour("--rule");
    for (let i = 0; i <= 4; i++) {
      const bytes = (this.top * i) / 4;
      pen.beginPath();
      pen.moveTo(MARGIN.left, Math.round(this.y(bytes)) + 0.5);
      pen.lineTo(this.width - MARGIN.right, Math.round(this.y(bytes)) + 0.5);
      pen.stroke();
      pen.textAlign = "right";
      pen.fillText(size(Math.round(bytes)), MARGIN.left - 8, this.y(bytes) + 4);
    }
    pen.textAlign = "left";
    pen.fillText(`${plural(this.order.length, "op")} in order →`, MARGIN.left, this.height - 6);
    const chosen = this.app.selection?.view === this.view ? this.app.selection.op ?? this.view.opAbove(this.app.selection.line) : -1;
    for (const value of this.values) {
      const left = this.x(value.begin);
      const width = Math.max(1, this.x(value.end + 1) - left);
      const top = this.y(value.offset + value.bytes);
      const height = Math.max(1, this.y(value.offset) - top);
      pen.fillStyle = colour(`--box-${partOf(this.view, value)}`);
      pen.fillRect(left, top, width, height);
      pen.strokeStyle = colour(value.op === chosen ? "--text" : "--panel");
      pen.lineWidth = value.op === chosen ? 2 : 1;
      pen.strokeRect(left, top, width, height);
      const label = `${letterOf(partOf(this.view, value))} ${this.view.ops.results[value.op]}`;
      if (height > 11 && width > 12 + label.length * 6.5) {
        pen.fillStyle = colour("--on-box");
        pen.fillText(label, left + 4, top + height / 2 + 4, width - 6);
      }
    }
    pen.lineWidth = 1.5;
    pen.strokeStyle = colour("--text");
    pen.setLineDash([4, 3]);
    pen.beginPath();
    pen.moveTo(this.x(this.at + 0.5), MARGIN.top);
    pen.lineTo(this.x(this.at + 0.5), this.height - MARGIN.bottom);
    pen.stroke();
    pen.setLineDash([]);
  }

  under(event) {
    const at = Math.floor(((event.offsetX - MARGIN.left) / (this.width - MARGIN.left - MARGIN.right)) * this.order.length);
    const bytes = ((this.height - MARGIN.bottom - event.offsetY) / (this.height - MARGIN.top - MARGIN.bottom)) * this.top;
    const box = this.values.find((v) => v.begin <= at && at <= v.end && v.offset <= bytes && bytes < v.offset + v.bytes);
    return { at: Math.min(this.order.length - 1, Math.max(0, at)), box };
  }

  clicked(event) {
    const { at, box } = this.under(event);
    this.at = at;
    if (box) this.app.select(this.view, this.view.ops.line[box.op], undefined, box.op);
    this.tell();
    this.draw();
  }

  moved(event) {
    const { box } = this.under(event);
    this.picture.title = box ? `${this.view.ops.results[box.op]} ${this.view.nameOf(box.op)}, ${size(box.bytes)}` : "";
    this.app.hover(box ? this.view : undefined, box ? this.view.ops.line[box.op] : -1);
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "p") this.at = this.peak;
    else if (step) this.at = Math.min(this.order.length - 1, Math.max(0, this.at + step));
    else if (event.key === "Enter") this.app.select(this.view, this.view.ops.line[this.order[this.at]], undefined, this.order[this.at]);
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.tell();
    this.draw();
  }

  /** The table of what is live at the cursor. */
  tell() {
    const { view, at } = this;
    const here = this.values.filter((v) => v.begin <= at && at <= v.end).sort((a, b) => b.bytes - a.bytes);
    const op = this.order[at];
    const roles = new Map();
    for (const v of here) {
      const role = partOf(view, v);
      roles.set(role, (roles.get(role) ?? 0) + v.bytes);
    }
    const where = at === this.peak ? "the peak" : `op ${at + 1} of ${this.order.length}`;
    replace(this.caption, h("strong", {}, size(this.live[at])), ` live at ${where}: `, h("code", {}, view.ops.results[op] || view.nameOf(op)), at === this.peak ? null : [" ", h("button", { class: "link", onclick: () => { this.at = this.peak; this.tell(); this.draw(); } }, `to the peak of ${size(this.live[this.peak])}`)]);
    this.picture.setAttribute("aria-label", `memory over ${this.order.length} ops; at ${where} ${size(this.live[at])} are live`);
    replace(
      this.table,
      h("p", { class: "shares" }, [...roles].sort((a, b) => b[1] - a[1]).map(([role, bytes]) => h("span", { class: "share" }, h("span", { class: `swatch box-${role}` }, letterOf(role)), ` ${role === "argument" ? "arguments" : role === "plain" ? "values" : role} ${size(bytes)}`))),
      h(
        "table",
        { class: "data" },
        h("thead", {}, h("tr", {}, h("th", {}, "live value"), h("th", { class: "n" }, "bytes"), h("th", {}, "op"), h("th", {}, "written"))),
        h("tbody", {}, here.slice(0, 200).map((v) => {
          const place = view.ops.places[v.op][0];
          return h(
            "tr",
            { class: "clickable", tabindex: 0, ...this.app.opens(view, v.op) },
            h("td", {}, h("code", {}, view.ops.results[v.op])),
            h("td", { class: "n" }, size(v.bytes)),
            h("td", {}, h("code", { class: v.argument ? "dim" : "w-operation" }, v.argument ? "argument" : view.nameOf(v.op))),
            h("td", { class: "dim" }, place === undefined ? "" : this.app.model.placeShort(place)),
          );
        })),
      ),
    );
  }
}

export const memory = {
  id: "memory",
  title: "Memory",
  draw(app) {
    const view = [app.panes.get("derivative").view, app.panes.get("primal").view].find((candidate) => candidate?.ops);
    if (!view) return h("p", { class: "plain" }, "There is no stage with ops to draw.");
    const timeline = new Timeline(app, view);
    this.redraw = () => timeline.draw();
    return timeline.element;
  },
  selected() {
    this.redraw?.();
  },
};
