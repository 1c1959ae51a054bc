// The tab of the graph: laid out by Graphviz, which is loaded when the tab is first opened. Groups open and fold on demand.

import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import { h, plural, replace, s } from "./dom.js";
import { dotOf, edgeTitle, foldedGraph, MOST, startingLevel } from "./folding.js";
import { unpack } from "./model.js";
import { ROLES } from "./pane.js";

let worker;
let number = 0;

async function layOut(dot) {
  worker ??= unpack(document.getElementById("graphviz").textContent).then((code) => new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" }))));
  const engine = await worker;
  const id = (number += 1);
  return new Promise((resolve, reject) => {
    const answer = ({ data }) => {
      if (data.id !== id) return;
      engine.removeEventListener("message", answer);
      data.error ? reject(new Error(data.error)) : resolve(JSON.parse(data.layout));
    };
    engine.addEventListener("message", answer);
    engine.addEventListener("error", () => reject(new Error("the layout engine could not be started")), { once: true });
    engine.postMessage({ id, dot });
  });
}

const sizes = (node) => [Math.max(46, 7 * Math.max(node.title.length + (node.opens ? 2 : 0), 0.86 * node.detail.length) + 18), node.detail ? 38 : 24];

class Picture {
  constructor(app, view) {
    Object.assign(this, { app, view, level: startingLevel(view), open: new Set() });
    this.svg = s("svg", { class: "graph", role: "group", "aria-label": `graph of ${view.name}`, tabindex: 0 });
    this.note = h("span", { class: "dim" });
    this.levels = h("select", { "aria-label": "fold by", onchange: () => { this.level = this.levels.value; this.open.clear(); this.draw(); } },
      h("option", { value: "ops" }, "every op"), h("option", { value: "lines" }, "folded by line"), h("option", { value: "stretches" }, "folded by stretches of lines"));
    this.levels.value = this.level;
    this.element = h(
      "div",
      { class: "graph-tab" },
      h("p", { class: "tools" }, h("strong", {}, view.name), " ", this.levels,
        h("button", { class: "quiet", onclick: () => { this.open.clear(); this.draw(); } }, "fold all"),
        h("button", { class: "quiet", onclick: () => this.fit() }, "fit (f)"),
        h("button", { class: "quiet", onclick: () => this.save() }, "save SVG"), this.note),
      h("div", { class: "canvas" }, this.svg),
    );
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.zoom = zoom().scaleExtent([0.05, 4]).on("zoom", ({ transform }) => this.drawing?.setAttribute("transform", transform.toString()));
    requestAnimationFrame(() => this.draw()); // when it has a size, which decides the direction
  }

  async draw() {
    const graph = foldedGraph(this.view, this.level, this.open);
    if (graph.nodes.length > MOST) {
      replace(this.svg);
      this.note.textContent = ` ${graph.nodes.length} nodes; at most ${MOST} are drawn: fold more.`;
      if (this.level !== "stretches") {
        this.level = this.levels.value = this.level === "ops" ? "lines" : "stretches";
        this.open.clear();
        return this.draw();
      }
      return;
    }
    this.note.textContent = " laying out …";
    try {
      const layout = await layOut(dotOf(graph, sizes, this.svg.clientWidth > 1.5 * this.svg.clientHeight));
      this.paint(graph, layout);
      const ops = graph.nodes.reduce((sum, node) => sum + node.ops.length, 0);
      this.note.textContent = ` ${plural(ops, "op")} in ${plural(graph.nodes.length, "node")}; double-click or + opens a group`;
    } catch (error) {
      this.note.textContent = ` no picture: ${error.message}`;
    }
  }

  paint(graph, layout) {
    const [, , width, height] = layout.bb.split(",").map(Number);
    this.size = [width, height];
    this.nodes = new Map();
    const place = ([x, y]) => [x, height - y];
    const drawing = s("g", { class: "drawing" });
    const objects = layout.objects ?? [];
    for (const object of objects) {
      if (!object.name.startsWith("cluster_") || !object.bb) continue;
      const [x0, y0, x1, y1] = object.bb.split(",").map(Number);
      const name = object.name.slice(8);
      drawing.append(s("rect", { class: `cluster ${name}`, x: x0, y: height - y1, width: x1 - x0, height: y1 - y0, rx: 8 }), s("text", { class: "cluster-name", x: x0 + 8, y: height - y1 + 15 }, name));
    }
    const byName = new Map(graph.nodes.map((node, i) => [`n${i}`, node]));
    const nodeOf = new Map(objects.filter((object) => byName.has(object.name)).map((object) => [object._gvid, [byName.get(object.name), object]]));
    const edgeOf = new Map(graph.edges.map((edge) => [`${edge.from}>${edge.to}`, edge]));
    this.edges = [];
    for (const edge of layout.edges ?? []) {
      if (edge.style === "invis") continue;
      const [tail] = nodeOf.get(edge.tail);
      const [head] = nodeOf.get(edge.head);
      const [from, to] = edge.dir === "back" ? [head, tail] : [tail, head];
      const what = edgeOf.get(`${from.key}>${to.key}`);
      const path = s("path", { class: `edge${what?.kept ? " kept" : ""}`, d: curve(edge.pos, place), "stroke-width": what ? Math.min(5, 0.8 + 0.7 * Math.log2(what.values.size)) : 1 }, what ? s("title", {}, edgeTitle(this.view, what)) : null);
      drawing.append(path);
      this.edges.push({ from, to, path });
    }
    for (const [node, object] of nodeOf.values()) drawing.append(this.node(node, place(object.pos.split(",").map(Number))));
    replace(this.svg, s("defs", {}, s("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto", markerUnits: "userSpaceOnUse" }, s("path", { d: "M0,0.5 L8,4 L0,7.5 z" }))), drawing);
    this.drawing = drawing;
    select(this.svg).call(this.zoom).on("dblclick.zoom", null);
    this.fit();
    this.light();
  }

  node(node, [x, y]) {
    const [width, height] = sizes(node);
    const letter = ROLES[node.role]?.[0];
    const element = s(
      "g",
      { class: `node ${node.kind} ${node.role}`, transform: `translate(${x},${y})`, tabindex: -1, role: "button", "aria-label": `${node.title} ${node.detail}${node.opens ? ", a group" : ""}` },
      s("title", {}, `${node.title}\n${node.detail}${node.ops.length > 1 ? `\n${node.ops.length} ops` : ""}`),
      node.opens ? s("rect", { class: "behind", x: -width / 2 + 3, y: -height / 2 + 3, width, height, rx: 5 }) : null,
      s("rect", { x: -width / 2, y: -height / 2, width, height, rx: node.kind === "argument" || node.kind === "return" ? height / 2 : 4 }),
      s("text", { class: "title", y: node.detail ? -3 : 4 }, (letter ? `${letter} ` : "") + node.title + (node.opens ? " ⊞" : "")),
      node.detail ? s("text", { class: "detail", y: 12 }, node.detail) : null,
    );
    element.addEventListener("click", () => this.choose(node));
    element.addEventListener("dblclick", () => this.toggle(node));
    element.addEventListener("mouseenter", () => this.app.hoverOps(this.view, node.ops));
    element.addEventListener("mouseleave", () => this.app.hover(undefined, -1));
    this.nodes.set(node.key, { node, element, x, y });
    return element;
  }

  choose(node) {
    this.at = node.key;
    this.nodes.get(node.key)?.element.focus({ preventScroll: true });
    this.app.select(this.view, this.view.ops.line[node.first], undefined, node.first);
  }

  toggle(node) {
    if (!node.opens) return;
    this.open.add(node.key);
    this.draw();
  }

  /** Thick borders and the edges of what is selected. */
  light() {
    const { selection } = this.app;
    const chosen = selection?.view === this.view ? selection.op ?? this.view.opAbove(selection.line) : -1;
    const lit = new Set();
    for (const { node, element } of this.nodes?.values() ?? []) {
      const on = chosen >= 0 && node.ops.includes(chosen);
      element.classList.toggle("chosen", on);
      if (on) lit.add(node);
    }
    for (const { from, to, path } of this.edges ?? []) path.classList.toggle("lit", lit.has(from) || lit.has(to));
  }

  fit() {
    if (!this.size) return;
    const { clientWidth, clientHeight } = this.svg;
    const scale = Math.min(1.1, (clientWidth - 24) / this.size[0], (clientHeight - 24) / this.size[1]);
    const transform = zoomIdentity.translate((clientWidth - this.size[0] * scale) / 2, (clientHeight - this.size[1] * scale) / 2).scale(scale);
    select(this.svg).call(this.zoom.transform, transform);
  }

  key(event) {
    if (event.key === "f") this.fit();
    else if (event.key === "+" || event.key === "=") this.nodes?.has(this.at) && this.toggle(this.nodes.get(this.at).node);
    else if (event.key === "-") { this.open.clear(); this.draw(); }
    else if (event.key === "Enter" && this.nodes?.has(this.at)) this.choose(this.nodes.get(this.at).node);
    else if (event.key.startsWith("Arrow")) this.move(event.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** To the nearest node in a direction. */
  move(key) {
    const all = [...(this.nodes?.values() ?? [])];
    const here = this.nodes?.get(this.at);
    if (!here) return all.length && this.step(all.sort((a, b) => a.y - b.y)[0]);
    const [dx, dy] = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[key];
    const ahead = all
      .map((other) => ({ other, along: (other.x - here.x) * dx + (other.y - here.y) * dy, across: Math.abs((other.x - here.x) * dy) + Math.abs((other.y - here.y) * dx) }))
      .filter(({ along }) => along > 4)
      .sort((a, b) => a.along + 2 * a.across - b.along - 2 * b.across);
    if (ahead.length) this.step(ahead[0].other);
  }

  step(to) {
    this.at = to.node.key;
    to.element.focus({ preventScroll: true });
    this.choose(to.node);
  }

  save() {
    const copy = this.svg.cloneNode(true);
    const [width, height] = this.size;
    copy.setAttribute("viewBox", `-10 -10 ${width + 20} ${height + 20}`);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.querySelector(".drawing").removeAttribute("transform");
    inline(this.svg, copy);
    const link = h("a", { href: URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" })), download: "graph.svg" });
    link.click();
    URL.revokeObjectURL(link.href);
  }
}

const SAVED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "font-weight", "text-anchor", "opacity"];

function inline(from, to) {
  const style = getComputedStyle(from);
  for (const name of SAVED) to.setAttribute(name, style.getPropertyValue(name));
  for (let i = 0; i < from.children.length; i++) inline(from.children[i], to.children[i]);
}

/** Graphviz's splines as a path: "e,x,y x,y x,y ..." with the arrow's end first. */
function curve(pos, place) {
  let end;
  let start; // of an edge that is drawn backward, where its arrow is
  let points = [];
  for (const part of pos.split(" ")) {
    const numbers = part.split(",");
    if (numbers[0] === "e") end = place([Number(numbers[1]), Number(numbers[2])]);
    else if (numbers[0] === "s") start = place([Number(numbers[1]), Number(numbers[2])]);
    else points.push(place([Number(numbers[0]), Number(numbers[1])]));
  }
  const text = ([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`;
  if (start) [points, end] = [points.reverse(), start];
  let path = `M${text(points[0])}`;
  for (let i = 1; i + 2 < points.length; i += 3) path += ` C${text(points[i])} ${text(points[i + 1])} ${text(points[i + 2])}`;
  return end ? `${path} L${text(end)}` : path;
}

export const graph = {
  id: "graph",
  title: "Graph",
  draw(app) {
    const view = [app.active?.view, app.panes.get("derivative").view, app.panes.get("primal").view].find((candidate) => candidate?.ops);
    if (!view) return h("p", { class: "plain" }, "There is no stage with ops to draw.");
    if (this.picture?.view !== view) this.picture = new Picture(app, view);
    else requestAnimationFrame(() => this.picture.light());
    return this.picture.element;
  },
  selected() {
    this.picture?.light();
  },
};
