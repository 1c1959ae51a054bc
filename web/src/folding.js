// A stage as a graph of at most some hundred nodes: ops, or folded by the line they came from, or by stretches of lines.

import { size } from "./dom.js";

export const MOST = 500;
const REVERSE = new Set(["cotangent", "accumulation"]);
const STRETCHES = 12;

/** "forward", "tangent", "reverse", or "" where nothing was derived. */
function phaseOf(view, op) {
  let phase = "";
  for (let at = op; at >= 0; at = view.ops.parent[at]) {
    const role = view.roleOf(at);
    if (REVERSE.has(role)) return "reverse";
    if (role === "tangent") phase = "tangent";
    else if (role && !phase) phase = "forward";
  }
  return phase;
}

function constant(view, op) {
  return view.nameOf(op) === "stablehlo.constant" || view.nameOf(op) === "kernel.constant";
}

/** Ops that are drawn: those in functions, without constants and what ends a block. */
function drawn(view) {
  return view.once("drawn", () => {
    const list = [];
    for (let op = 0; op < view.count; op++) {
      const name = view.nameOf(op);
      if (view.ops.parent[op] >= 0 && !constant(view, op) && name !== "func.func") list.push(op);
    }
    return list;
  });
}

/** The level at which a stage is drawn at first: the finest that can be read. */
export function startingLevel(view) {
  const outer = view.outermost.filter((op) => !constant(view, op)).length;
  if (outer <= 40) return "ops";
  const lines = new Set(view.outermost.map((op) => `${phaseOf(view, op)}:${lineOf(view, op)}`)).size;
  return lines <= 50 ? "lines" : "stretches";
}

function lineOf(view, op) {
  const place = view.ops.places[op][0];
  return place === undefined ? -1 : view.model.places[place][1];
}

/** Nodes and edges of a stage at a level; groups whose keys are in `open` show what they hold. */
export function foldedGraph(view, level, open) {
  const phases = drawn(view).some((op) => view.ops.role[op]);
  const phase = (op) => (phases ? phaseOf(view, op) || "forward" : "");
  const lines = [...new Set(view.outermost.map((op) => lineOf(view, op)).filter((line) => line >= 0))].sort((a, b) => a - b);
  const width = Math.max(1, Math.ceil(lines.length / STRETCHES));
  const stretch = new Map(lines.map((line, at) => [line, Math.floor(at / width)]));

  /** The keys of the groups around an op of the outermost block, from the coarsest. */
  const groups = (op) => {
    const line = lineOf(view, op);
    if (view.isArgument(op) || line < 0 || view.nameOf(op).endsWith("return")) return [];
    const keys = [];
    if (level === "stretches") keys.push(`${phase(op)}:s${stretch.get(line)}`);
    if (level !== "ops") keys.push(`${phase(op)}:l${line}`);
    return keys;
  };

  const nodes = new Map();
  const keyOf = new Map();
  for (const op of drawn(view)) {
    let outer = op;
    const chain = [op];
    while (view.ops.parent[outer] >= 0 && view.nameOf(view.ops.parent[outer]) !== "func.func") chain.push((outer = view.ops.parent[outer]));
    let key = groups(outer).find((group) => !open.has(group));
    // Inside of ops with regions: the outermost that is not opened.
    if (key === undefined) key = `o${chain.reverse().find((at, i) => i === chain.length - 1 || !open.has(`o${at}`))}`;
    keyOf.set(op, key);
    if (!nodes.has(key)) nodes.set(key, { key, ops: [], phase: phase(outer) });
    nodes.get(key).ops.push(op);
  }

  const edges = new Map();
  for (const op of drawn(view)) {
    for (const operand of view.ops.operands[op]) {
      const from = keyOf.get(operand);
      const to = keyOf.get(op);
      if (from === undefined || from === to) continue;
      const id = `${from}>${to}`;
      const edge = edges.get(id) ?? { from, to, values: new Set(), bytes: 0, kept: false };
      if (!edge.values.has(operand)) edge.bytes += view.ops.bytes[operand];
      edge.values.add(operand);
      edge.kept ||= nodes.get(from).phase === "forward" && nodes.get(to).phase === "reverse";
      edges.set(id, edge);
    }
  }
  for (const node of nodes.values()) describe(view, node, lines, width);
  const listed = [...nodes.values()];
  return { nodes: listed, edges: [...edges.values()], phases, reverses: listed.some((node) => node.phase === "reverse") };
}

function describe(view, node, lines, width) {
  const [, place] = /:s(\d+)$/.exec(node.key) ?? [];
  const first = node.ops.find((op) => !view.isArgument(op)) ?? node.ops[0];
  const own = node.key.startsWith("o") ? Number(node.key.slice(1)) : undefined;
  if (own !== undefined) {
    const inner = node.ops.length - 1;
    node.kind = view.isArgument(own) ? "argument" : view.nameOf(own).endsWith("return") ? "return" : "op";
    node.title = node.kind === "argument" ? view.ops.results[own] : short(view.nameOf(own));
    node.detail = node.kind === "return" ? "" : shortType(view.typeOf(own));
    if (inner > 0) node.detail = `${inner} ops inside`;
    node.opens = inner > 0;
    node.first = own;
  } else {
    const tally = new Map();
    for (const op of node.ops) if (!view.isArgument(op)) tally.set(short(view.nameOf(op)), (tally.get(short(view.nameOf(op))) ?? 0) + 1);
    const names = [...tally].sort((a, b) => b[1] - a[1]);
    node.kind = "group";
    const line = lineOf(view, first);
    const from = Number(place) * width;
    node.title = place === undefined ? `line ${line}` : `lines ${lines[from]}–${lines[Math.min(lines.length, from + width) - 1]}`;
    node.detail = names.slice(0, 2).map(([name, n]) => (n > 1 ? `${name} ×${n}` : name)).join(", ") + (names.length > 2 ? ", …" : "");
    node.opens = node.ops.length > 1 || place !== undefined;
    node.first = first;
    if (node.ops.length === 1) Object.assign(node, { kind: "op", title: short(view.nameOf(first)), detail: shortType(view.typeOf(first)), opens: false });
  }
  node.role = node.ops.length === 1 || own !== undefined ? view.roleOf(node.first) : node.phase === "reverse" ? "cotangent" : node.phase === "tangent" ? "tangent" : node.phase === "forward" ? "primal" : "";
}

function short(name) {
  return name.replace(/^(stablehlo|chlo|core|func|kernel)\./, "");
}

function shortType(type) {
  return type.replace(/tensor<([^<>]*)>/g, (_, inner) => inner.replace(/x(?=[a-z])/, " ").replace(/x/g, "×")).slice(0, 26);
}

/**
 * The graph in Graphviz's language. Nodes have the names n0, n1, ...: no text of a program is in it.
 *
 * The reverse part is laid out beside the forward part, upside down: what came from the same lines is on the same height, and what is kept goes straight
 * across. So its edges are turned around for the layout, and those that cross do not decide heights, but for the one that ties both sides of a group together.
 */
export function dotOf(graph, sizes, wide) {
  const names = new Map(graph.nodes.map((node, i) => [node.key, `n${i}`]));
  const node = (n) => `${names.get(n.key)} [width=${(sizes(n)[0] / 72).toFixed(3)}, height=${(sizes(n)[1] / 72).toFixed(3)}];`;
  const parts = [`digraph g { rankdir=${wide ? "LR" : "TB"}; nodesep=0.2; ranksep=0.3; node [shape=box, fixedsize=true, label=""]; edge [arrowsize=0.6];`];
  const clusters = new Map();
  for (const n of graph.nodes) {
    const cluster = graph.phases && n.kind !== "argument" && n.kind !== "return" ? n.phase : "";
    clusters.has(cluster) ? clusters.get(cluster).push(n) : clusters.set(cluster, [n]);
  }
  for (const [cluster, members] of clusters) {
    if (cluster) parts.push(`subgraph cluster_${cluster} { margin=14;`, ...members.map(node), "}");
    else parts.push(...members.map(node));
  }
  const byKey = new Map(graph.nodes.map((n) => [n.key, n]));
  const reverse = (n) => n.phase === "reverse" && n.kind !== "argument" && n.kind !== "return";
  for (const edge of graph.edges) {
    const [from, to] = [byKey.get(edge.from), byKey.get(edge.to)];
    const [a, b] = [names.get(edge.from), names.get(edge.to)];
    if (reverse(from) && reverse(to)) parts.push(`${b} -> ${a} [dir=back, weight=3];`);
    else if (reverse(from) || reverse(to) || (graph.reverses && to.kind === "return")) parts.push(`${a} -> ${b} [constraint=false];`);
    else parts.push(`${a} -> ${b} [weight=3];`);
  }
  for (const n of graph.nodes) {
    const twin = reverse(n) && names.get(n.key.replace(/^reverse:/, "forward:"));
    if (twin && twin !== names.get(n.key)) parts.push(`${twin} -> ${names.get(n.key)} [style=invis, minlen=0, weight=8];`);
  }
  return [...parts, "}"].join("\n");
}

export function edgeTitle(view, edge) {
  const values = [...edge.values].slice(0, 6).map((op) => view.ops.results[op]);
  return `${values.join(", ")}${edge.values.size > 6 ? ", …" : ""}: ${size(edge.bytes)}${edge.kept ? ", kept for the reverse part" : ""}`;
}
