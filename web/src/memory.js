// The tab of memory: a box for everything that is live, over the ops that run; what is live at any of them, by what it is for. Either every value of a stage,
// as if nothing were fused, or the buffers of the compiled program, at their places in the arena.

import { h, plural, replace, size, themeColour as colour } from "./dom.js";
import { ROLES } from "./pane.js";

/** For each part a letter, the colour, and what it is. */
const PARTS = {
  argument: ["a", "--box-argument", "arguments"],
  plain: ["·", "--box-plain", "values"],
  ...Object.fromEntries(Object.entries(ROLES).map(([role, [letter]]) => [role, [letter, `--box-${role}`, role]])),
  input: ["i", "--box-argument", "inputs"],
  constant: ["c", "--box-argument", "constants"],
  result: ["r", "--box-tangent", "results"],
  kept: ["k", "--box-cotangent", "kept for the reverse part"],
  temporary: ["t", "--box-plain", "temporaries"],
  inside: ["n", "--box-accumulation", "inside of ops"],
};

// -- what is drawn: steps, and values with the first and last step at which they are live, bytes and an offset

/** Every value of the outermost block of a stage. */
function valuesOf(app, view) {
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
    const argument = view.isArgument(op);
    let end = position.get(op);
    for (const user of view.users[op]) end = Math.max(end, position.get(outer(user)) ?? 0);
    const place = view.ops.places[op][0];
    values.push({
      op,
      bytes,
      begin: argument ? 0 : position.get(op),
      end: argument ? order.length - 1 : end,
      part: argument ? "argument" : view.roleOf(op) || (view.section === "derivative" ? "primal" : "plain"),
      name: view.ops.results[op],
      what: argument ? "argument" : view.nameOf(op).replace(/^(stablehlo|chlo|core|kernel)\./, ""),
      written: place === undefined ? "" : app.model.placeShort(place),
      open: () => app.select(view, view.ops.line[op], undefined, op),
      point: () => app.hoverOps(view, [op]),
    });
  }
  const top = stack(values);
  return {
    top,
    values,
    steps: order.length,
    noun: "op",
    step: (at) => view.ops.results[order[at]] || view.nameOf(order[at]),
    openStep: (at) => app.select(view, view.ops.line[order[at]], undefined, order[at]),
    chosen: (value) => app.selection?.view === view && (app.selection.op ?? view.opAbove(app.selection.line)) === value.op,
    notes: [],
  };
}

/** What `wengert memory` says of the compiled program: inputs, constants and results below, the arena above them. */
function buffersOf(app, found) {
  const beside = found.pieces.filter((piece) => piece.offset === null);
  let base = 0;
  const offsets = new Map(beside.map((piece) => [piece, (base += piece.bytes) - piece.bytes]));
  const lineOf = ({ file, line }) => {
    const view = app.model.sourceViews.find((candidate) => candidate.name === file);
    return view && line > 0 ? { view, line: line - 1 } : undefined;
  };
  const values = found.pieces.map((piece) => {
    const at = lineOf(piece);
    return {
      bytes: piece.bytes,
      begin: piece.first,
      end: piece.last,
      offset: piece.offset === null ? offsets.get(piece) : base + piece.offset,
      part: piece.role,
      name: piece.name,
      what: [piece.op, piece.type].filter(Boolean).join(" "),
      written: at ? `${piece.file.replace(/^.*[/\\]/, "")}:${piece.line}` : "",
      at,
      open: () => at && app.select(at.view, at.line),
      point: () => at && app.hover(at.view, at.line),
    };
  });
  const notes = Object.entries(found.reconciled).map(([what, { predicted, allocated }]) => `${what} ${size(allocated)} allocated${predicted === allocated ? ", as predicted" : `, ${size(predicted)} predicted`}`);
  if (found.arena) {
    const free = found.arena.holes.reduce((sum, [, bytes]) => sum + bytes, 0);
    notes.unshift(`arena of ${size(found.arena.bytes)}: at its fullest ${size(free)} are free in ${plural(found.arena.holes.length, "hole")}`);
  }
  return {
    values,
    notes,
    top: base + (found.arena?.bytes ?? 0),
    steps: found.steps.length,
    split: found.split,
    noun: "kernel",
    step: (at) => `${found.steps[at].op}${found.steps[at].line > 0 ? ` :${found.steps[at].line}` : ""}`,
    openStep: (at) => {
      const place = lineOf(found.steps[at]);
      if (place) app.select(place.view, place.line);
    },
    chosen: (value) => value.at !== undefined && app.selection?.view === value.at.view && app.selection.line === value.at.line,
  };
}

/** Places boxes so that none overlap: each at the lowest free offset when it begins. */
function stack(values) {
  const live = [];
  let top = 0;
  for (const value of [...values].sort((a, b) => a.begin - b.begin || b.bytes - a.bytes)) {
    for (let i = live.length - 1; i >= 0; i--) if (live[i].end < value.begin) live.splice(i, 1);
    let offset = 0;
    for (const other of live) {
      if (other.offset >= offset + value.bytes) break;
      offset = Math.max(offset, other.offset + other.bytes);
    }
    value.offset = offset;
    const at = live.findIndex((other) => other.offset > offset);
    live.splice(at < 0 ? live.length : at, 0, value);
    top = Math.max(top, offset + value.bytes);
  }
  return top;
}

function profile(steps, values) {
  const change = new Float64Array(steps + 1);
  for (const value of values) {
    change[value.begin] += value.bytes;
    change[value.end + 1] -= value.bytes;
  }
  let live = 0;
  return Array.from({ length: steps }, (_, at) => (live += change[at]));
}

// -- the picture

const MARGIN = { left: 64, right: 12, top: 10, bottom: 22 };

class Timeline {
  constructor(app, data, tools) {
    Object.assign(this, { app, data });
    this.live = profile(data.steps, data.values);
    this.peak = this.live.reduce((best, bytes, at) => (bytes > this.live[best] ? at : best), 0);
    this.at = this.peak;
    this.top = Math.max(1, data.top);
    this.picture = h("canvas", {
      class: "timeline",
      tabindex: 0,
      role: "img",
      onclick: (event) => this.clicked(event),
      onmousemove: (event) => this.moved(event),
      onmouseleave: () => app.hover(undefined, -1),
      onkeydown: (event) => this.key(event),
    });
    this.table = h("div", { class: "live" });
    this.caption = h("p", { class: "lead" });
    this.element = h("div", { class: "memory" }, h("div", { class: "plot" }, h("div", { class: "head" }, this.caption, tools), this.picture, data.notes.length ? h("p", { class: "dim" }, data.notes.join("; ")) : null), this.table);
    new ResizeObserver(() => this.draw()).observe(this.picture);
    this.tell();
  }

  x(at) {
    return MARGIN.left + (at / this.data.steps) * (this.width - MARGIN.left - MARGIN.right);
  }

  y(bytes) {
    return this.height - MARGIN.bottom - (bytes / this.top) * (this.height - MARGIN.top - MARGIN.bottom);
  }

  draw() {
    const { picture, data } = this;
    this.width = picture.clientWidth;
    this.height = picture.clientHeight;
    if (!this.width || !this.height) return;
    const ratio = devicePixelRatio || 1;
    picture.width = this.width * ratio;
    picture.height = this.height * ratio;
    const pen = picture.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    this.frame(pen);
    const edge = colour("--panel");
    const text = colour("--on-box");
    const fills = new Map(Object.entries(PARTS).map(([part, [, name]]) => [part, colour(name)]));
    for (const value of data.values) {
      const left = this.x(value.begin);
      const width = Math.max(1, this.x(value.end + 1) - left);
      const top = this.y(value.offset + value.bytes);
      const height = Math.max(1, this.y(value.offset) - top);
      pen.fillStyle = fills.get(value.part);
      pen.fillRect(left, top, width, height);
      if (height > 2 && width > 2) {
        pen.strokeStyle = edge;
        pen.lineWidth = 1;
        pen.strokeRect(left, top, width, height);
      }
      const label = `${PARTS[value.part][0]} ${value.name || value.what}`;
      if (height > 11 && width > 12 + label.length * 6.5) {
        pen.fillStyle = text;
        pen.fillText(label, left + 4, top + height / 2 + 4, width - 6);
      }
    }
    pen.strokeStyle = colour("--text");
    pen.lineWidth = 2;
    for (const value of data.values.filter(data.chosen)) pen.strokeRect(this.x(value.begin), this.y(value.offset + value.bytes), this.x(value.end + 1) - this.x(value.begin), this.y(value.offset) - this.y(value.offset + value.bytes));
    this.upright(pen, this.at + 0.5, [4, 3]);
  }

  frame(pen) {
    pen.fillStyle = colour("--dim");
    pen.strokeStyle = colour("--rule");
    pen.textAlign = "right";
    for (let i = 0; i <= 4; i++) {
      const bytes = (this.top * i) / 4;
      const y = Math.round(this.y(bytes)) + 0.5;
      pen.beginPath();
      pen.moveTo(MARGIN.left, y);
      pen.lineTo(this.width - MARGIN.right, y);
      pen.stroke();
      pen.fillText(size(Math.round(bytes)), MARGIN.left - 8, y + 4);
    }
    pen.textAlign = "left";
    const { split, steps, noun } = this.data;
    if (split === undefined || split === null) return pen.fillText(`${plural(steps, noun)} in order →`, MARGIN.left, this.height - 6);
    pen.fillText(`forward, ${plural(steps, noun)} in all`, MARGIN.left, this.height - 6);
    pen.fillText("reverse →", this.x(split) + 4, this.height - 6);
    this.upright(pen, split, [1, 3]);
  }

  upright(pen, at, dashes) {
    pen.lineWidth = 1.5;
    pen.setLineDash(dashes);
    pen.beginPath();
    pen.moveTo(this.x(at), MARGIN.top);
    pen.lineTo(this.x(at), this.height - MARGIN.bottom);
    pen.stroke();
    pen.setLineDash([]);
  }

  under(event) {
    const at = Math.floor(((event.offsetX - MARGIN.left) / (this.width - MARGIN.left - MARGIN.right)) * this.data.steps);
    const bytes = ((this.height - MARGIN.bottom - event.offsetY) / (this.height - MARGIN.top - MARGIN.bottom)) * this.top;
    const box = this.data.values.find((v) => v.begin <= at && at <= v.end && v.offset <= bytes && bytes < v.offset + v.bytes);
    return { at: Math.min(this.data.steps - 1, Math.max(0, at)), box };
  }

  clicked(event) {
    const { at, box } = this.under(event);
    this.at = at;
    box?.open();
    this.tell();
    this.draw();
  }

  moved(event) {
    const { box } = this.under(event);
    this.picture.title = box ? `${box.name} ${box.what}, ${size(box.bytes)}` : "";
    if (box) box.point();
    else this.app.hover(undefined, -1);
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === "p") this.at = this.peak;
    else if (step) this.at = Math.min(this.data.steps - 1, Math.max(0, this.at + step));
    else if (event.key === "Enter") this.data.openStep(this.at);
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.tell();
    this.draw();
  }

  /** The table of what is live at the cursor. */
  tell() {
    const { data, at } = this;
    const here = data.values.filter((v) => v.begin <= at && at <= v.end).sort((a, b) => b.bytes - a.bytes);
    const parts = new Map();
    for (const v of here) parts.set(v.part, (parts.get(v.part) ?? 0) + v.bytes);
    const where = at === this.peak ? "the peak" : `${data.noun} ${at + 1} of ${data.steps}`;
    const back = h("button", { class: "link", onclick: () => { this.at = this.peak; this.tell(); this.draw(); } }, `to the peak of ${size(this.live[this.peak])}`);
    replace(this.caption, h("strong", {}, size(this.live[at])), ` live at ${where}: `, h("code", {}, data.step(at)), at === this.peak ? null : [" ", back]);
    this.picture.setAttribute("aria-label", `memory over ${plural(data.steps, data.noun)}; at ${where} ${size(this.live[at])} are live`);
    replace(
      this.table,
      h("p", { class: "shares" }, [...parts].sort((a, b) => b[1] - a[1]).map(([part, bytes]) => this.share(part, bytes))),
      h(
        "table",
        { class: "data" },
        h("thead", {}, h("tr", {}, h("th", {}, ""), h("th", {}, "live value"), h("th", { class: "n" }, "bytes"), h("th", {}, "what"), h("th", {}, "written"))),
        h("tbody", {}, here.slice(0, 200).map((v) => h(
          "tr",
          { class: "clickable", tabindex: 0, ...this.app.opening(v.open, v.point) },
          h("td", {}, this.swatch(v.part)),
          h("td", {}, h("code", {}, v.name)),
          h("td", { class: "n" }, size(v.bytes)),
          h("td", {}, h("code", { class: v.part === "argument" ? "dim" : "w-operation" }, v.what)),
          h("td", { class: "dim" }, v.written),
        ))),
      ),
    );
  }

  share(part, bytes) {
    return h("span", { class: "share" }, this.swatch(part), ` ${PARTS[part][2]} ${size(bytes)}`);
  }

  swatch(part) {
    return h("span", { class: "swatch", style: { background: `var(${PARTS[part][1]})` } }, PARTS[part][0]);
  }
}

export const memory = {
  id: "memory",
  title: "Memory",
  level: "values",
  draw(app) {
    const view = [app.panes.get("derivative").view, app.panes.get("primal").view].find((candidate) => candidate?.ops);
    const found = app.model.analyses.memory;
    const compiled = found?.pieces !== undefined;
    if (!view && !compiled) return h("p", { class: "plain" }, "There is no stage with ops to draw.");
    const level = compiled && (this.level === "compiled" || !view) ? "compiled" : "values";
    const choice = h("select", { "aria-label": "what is drawn", onchange: () => { this.level = choice.value; app.redraw(); } },
      view ? h("option", { value: "values" }, `every value of ${view.name}`) : null, h("option", { value: "compiled", disabled: !compiled }, "buffers, as compiled"));
    choice.value = level;
    const timeline = new Timeline(app, level === "compiled" ? buffersOf(app, found) : valuesOf(app, view), choice);
    this.redraw = () => timeline.draw();
    return timeline.element;
  },
  selected() {
    this.redraw?.();
  },
};
