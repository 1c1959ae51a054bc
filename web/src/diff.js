// The tab of differences: any two stages, whose ops are matched by what they compute, not by the names of their values.

import { count, h, plural, size } from "./dom.js";
import { LINE } from "./pane.js";
import { words } from "./tokens.js";

/** For every line a text that does not depend on how values are numbered: that of the op, and of what it is computed from. */
function fingerprints(view) {
  return view.once("fingerprints", () => {
    const nameless = view.lines.map((line) => line.replace(/%[\w$.#-]+(:\d+)?/g, "%").trim());
    const ofLine = [...nameless];
    if (!view.ops) return ofLine;
    const ofOp = [];
    for (let op = 0; op < view.count; op++) {
      const own = view.isArgument(op) ? `argument ${view.typeOf(op)} ${op}` : nameless[view.ops.line[op]];
      ofOp.push(hash(own + "|" + view.ops.operands[op].map((operand) => ofOp[operand]).join(",")));
      if (!view.isArgument(op)) ofLine[view.ops.line[op]] = ofOp[op];
    }
    return ofLine;
  });
}

function hash(text) {
  let a = 0x811c9dc5;
  let b = 0x1000193;
  for (let i = 0; i < text.length; i++) {
    a = Math.imul(a ^ text.charCodeAt(i), 0x01000193);
    b = Math.imul(b + text.charCodeAt(i), 0x85ebca6b) ^ (b >>> 13);
  }
  return `${(a >>> 0).toString(36)}.${(b >>> 0).toString(36)}`;
}

/** Pairs of equal lines in order (Myers' algorithm between lines that occur once in both). */
export function align(a, b) {
  const pairs = [];
  solve(0, a.length, 0, b.length);
  return pairs;

  function solve(i, iEnd, j, jEnd) {
    while (i < iEnd && j < jEnd && a[i] === b[j]) pairs.push([i++, j++]);
    const tail = [];
    while (i < iEnd && j < jEnd && a[iEnd - 1] === b[jEnd - 1]) tail.push([--iEnd, --jEnd]);
    if (i < iEnd && j < jEnd) between(i, iEnd, j, jEnd);
    pairs.push(...tail.reverse());
  }

  function between(i, iEnd, j, jEnd) {
    const anchors = unique(i, iEnd, j, jEnd);
    if (!anchors.length) {
      if ((iEnd - i) * (jEnd - j) <= 4e6) longest(i, iEnd, j, jEnd);
      return;
    }
    for (const [x, y] of anchors) {
      solve(i, x, j, y);
      pairs.push([x, y]);
      [i, j] = [x + 1, y + 1];
    }
    solve(i, iEnd, j, jEnd);
  }

  /** Lines that occur once on both sides, of these the longest chain that rises on both. */
  function unique(i, iEnd, j, jEnd) {
    const seen = new Map();
    for (let x = i; x < iEnd; x++) seen.set(a[x], seen.has(a[x]) ? -1 : x);
    const other = new Map();
    for (let y = j; y < jEnd; y++) other.set(b[y], other.has(b[y]) ? -1 : y);
    const candidates = [];
    for (const [text, x] of seen) if (x >= 0 && (other.get(text) ?? -1) >= 0) candidates.push([x, other.get(text)]);
    candidates.sort((p, q) => p[0] - q[0]);
    const tails = [];
    const before = new Map();
    for (const pair of candidates) {
      let low = 0;
      let high = tails.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (tails[middle][1] < pair[1]) low = middle + 1;
        else high = middle;
      }
      before.set(pair, low ? tails[low - 1] : undefined);
      tails[low] = pair;
    }
    const chain = [];
    for (let pair = tails[tails.length - 1]; pair; pair = before.get(pair)) chain.push(pair);
    return chain.reverse();
  }

  function longest(i, iEnd, j, jEnd) {
    const n = iEnd - i;
    const m = jEnd - j;
    const table = new Uint32Array((n + 1) * (m + 1));
    for (let x = n - 1; x >= 0; x--)
      for (let y = m - 1; y >= 0; y--)
        table[x * (m + 1) + y] = a[i + x] === b[j + y] ? table[(x + 1) * (m + 1) + y + 1] + 1 : Math.max(table[(x + 1) * (m + 1) + y], table[x * (m + 1) + y + 1]);
    for (let x = 0, y = 0; x < n && y < m; ) {
      if (a[i + x] === b[j + y]) pairs.push([i + x++, j + y++]);
      else if (table[(x + 1) * (m + 1) + y] >= table[x * (m + 1) + y + 1]) x += 1;
      else y += 1;
    }
  }
}

/** Rows of a difference: [line of a or -1, line of b or -1, kind], where removed and added lines of equal ops or places are pairs that changed. */
export function difference(a, b) {
  const rows = [];
  let i = 0;
  let j = 0;
  const similar = (x, y) => {
    const name = (view, line) => (view.ops ? view.opsAt(line).filter((op) => !view.isArgument(op)).map((op) => view.nameOf(op)).join() : "");
    const wanted = name(a, x);
    if (!wanted || wanted !== name(b, y)) return false;
    if (/^(func\.func|builtin\.module|func\.return)/.test(wanted)) return true;
    const places = new Set(b.placesAt(y));
    return a.placesAt(x).some((place) => places.has(place)) && a.roleAt(x) === b.roleAt(y);
  };
  const gap = (iEnd, jEnd) => {
    const waiting = [];
    for (let y = j; y < jEnd; y++) waiting.push(y);
    for (; i < iEnd; i++) {
      const at = waiting.slice(0, 400).findIndex((y) => similar(i, y));
      if (at < 0) rows.push([i, -1, "-"]);
      else {
        for (const y of waiting.splice(0, at)) rows.push([-1, y, "+"]);
        rows.push([i, waiting.shift(), "~"]);
      }
    }
    for (const y of waiting) rows.push([-1, y, "+"]);
    j = jEnd;
  };
  for (const [x, y] of align(fingerprints(a), fingerprints(b))) {
    gap(x, y);
    rows.push([x, y, "="]);
    i = x + 1;
    j = y + 1;
  }
  gap(a.lines.length, b.lines.length);
  return rows;
}

const CONTEXT = 3;

/** Runs of equal rows that are far from a change, folded into one. */
function folded(rows) {
  const near = new Uint8Array(rows.length);
  rows.forEach(([, , kind], at) => {
    if (kind !== "=") near.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  });
  const shown = [];
  for (let at = 0; at < rows.length; at++) {
    if (near[at]) shown.push(rows[at]);
    else {
      let end = at;
      while (end + 1 < rows.length && !near[end + 1]) end += 1;
      shown.push(end - at > 1 ? ["fold", end - at + 1, ""] : rows[at]);
      if (end - at <= 1 && end > at) shown.push(rows[end]);
      at = end;
    }
  }
  return shown;
}

export const diff = {
  id: "diff",
  title: "Diff",
  draw(app) {
    const { model, state } = app;
    const changed = model.views.filter((view) => view.stage.same_as < 0);
    if (changed.length < 2) return h("p", { class: "plain" }, "There is one stage only.");
    const first = model.view(state.get("a")) ?? model.lastOf("primal") ?? changed[0];
    const second = model.view(state.get("b")) ?? model.lastOf("derivative") ?? changed[changed.length - 1];
    const picker = (name, view) => {
      const select = h("select", { "aria-label": name === "a" ? "from stage" : "to stage", onchange: (event) => { state.set({ [name]: event.target.value }); app.redraw(); } },
        changed.map((choice) => h("option", { value: choice.key }, `${choice.index} · ${choice.name}`)));
      select.value = view.key;
      return select;
    };
    const found = model.analyses.diff?.pairs?.[`${first.index}:${second.index}`];
    const choose = [picker("a", first), " → ", picker("b", second), " ",
      h("button", { class: "quiet", onclick: () => { state.set({ a: second.key, b: first.key }); app.redraw(); } }, "swap"), " "];
    if (found) return matched(app, first, second, found, choose);
    const rows = difference(first, second);
    const tally = { "+": 0, "-": 0, "~": 0, "=": 0 };
    rows.forEach(([, , kind]) => (tally[kind] += 1));
    const shown = folded(rows);
    return h(
      "div",
      { class: "difference" },
      h("p", { class: "lead" }, choose, h("span", { class: "dim", title: "wengert diff matches ops, and has flops, kept bytes and peak; here are its results for neighbouring stages, the program and its derivative, and others as far as there is room" }, "matched by lines, without figures: "),
        h("span", { class: "tallies" }, h("span", { class: "added" }, `+${tally["+"]}`), " ", h("span", { class: "removed" }, `−${tally["-"]}`), " ", h("span", { class: "changed" }, `~${tally["~"]}`), h("span", { class: "dim" }, `, ${plural(tally["="], "line")} alike`))),
      tally["+"] + tally["-"] + tally["~"] ? virtual(shown, (row) => entry(app, first, second, row)) : h("p", { class: "plain" }, "They are the same, but for the names of values."),
    );
  },
};

const SIGNS = { added: "+", removed: "−", changed: "~", alike: "=" };

/** What `wengert diff` says of two stages: its figures, and the changes under the lines of the source that they come from. */
function matched(app, a, b, found, choose) {
  const figures = Object.entries(found.totals).map(([name, each]) => figure(name, each.a, each.b));
  const rows = found.sources.flatMap((source) => [{ source }, ...source.changes.flatMap((change) => [{ change }, ...change.notes.map((note) => ({ note }))])]);
  const rewired = found.rewired ? ` (${plural(found.rewired, "op")} of them read something new)` : "";
  return h("div", { class: "difference" },
    h("p", { class: "lead" }, choose,
      h("span", { class: "tallies" }, h("span", { class: "added" }, `+${found.added}`), " ", h("span", { class: "removed" }, `−${found.removed}`), " ", h("span", { class: "changed" }, `~${found.changed}`), h("span", { class: "dim" }, `, ${plural(found.alike, "op")} alike${rewired}`)),
      h("span", { class: "weights" }, figures)),
    found.signature.length ? h("p", { class: "lead dim cut", title: found.signature.join("\n") }, found.signature.join("; ")) : null,
    rows.length ? virtual(rows, (row) => matchedRow(app, a, b, row)) : h("p", { class: "plain" }, "They are the same, but for the names of values."));
}

function figure(name, before, after) {
  const words = typeof before === "number" && typeof after === "number" ? (name === "kept" || name === "peak" ? size : count) : String;
  return h("span", { class: "weighed" }, h("span", { class: "dim" }, `${name} `), words(before), before === after ? null : [" → ", h("b", {}, words(after))]);
}

/** Flops, kept bytes and peak that come or go, as text; nothing where none does. */
function weight({ flops, kept, peak }) {
  const signed = (n, words) => (typeof n !== "number" ? String(n) : `${n > 0 ? "+" : "−"}${words(Math.abs(n))}`);
  return [flops && `flops ${signed(flops, count)}`, kept && `kept ${signed(kept, size)}`, peak && `peak ${signed(peak, size)}`].filter(Boolean).join(", ");
}

function matchedRow(app, a, b, { source, change, note }) {
  if (source) return h("div", { class: "line from" }, source.file ? `${source.file.replace(/^.*[/\\]/, "")}:${source.line}  ${source.text.trim().slice(0, 200)}` : "of no known place", h("span", { class: "dim" }, `  ${weight(source)}`));
  if (note) return h("div", { class: "line note" }, note.slice(0, 300));
  const view = change.kind === "removed" ? a : b;
  const text = change.after || change.before;
  const line = lineOf(view, text);
  const title = change.kind === "changed" ? `was: ${change.before.slice(0, 600)}` : change.derivation;
  return h("div", { class: `line k${change.kind === "alike" ? "same" : change.kind}`, title, onclick: () => line >= 0 && app.select(view, line), onmouseenter: () => line >= 0 && app.hover(view, line) },
    h("span", { class: "sign" }, SIGNS[change.kind]), h("span", { class: "number" }, line >= 0 ? line + 1 : ""), h("code", {}, text.slice(0, 600)), h("span", { class: "dim" }, `  ${weight(change)}`));
}

/** The line of a stage that an op's text is on; what it defines is told apart by its name. */
function lineOf(view, text) {
  const lines = view.once("lineOfName", () => new Map(view.lines.map((line, at) => [/^\s*(%[\w$.-]+)/.exec(line)?.[1], at])));
  return lines.get(/^(%[\w$.-]+)/.exec(text)?.[1]) ?? -1;
}

function entry(app, a, b, [x, y, kind]) {
  if (x === "fold") return h("div", { class: "line fold" }, h("span", { class: "sign" }, "⋯"), `${y} lines alike`);
  const view = kind === "-" ? a : b;
  const line = kind === "-" ? x : y;
  const text = (from, at) => h("code", {}, words(from, at).slice(0, 120).map(([name, part]) => (name ? h("span", { class: `w-${name}` }, part.slice(0, 600)) : part.slice(0, 600))));
  const sign = { "+": "+", "-": "−", "~": "~", "=": " " }[kind];
  const title = kind === "~" ? `was: ${a.lines[x].trim().slice(0, 600)}` : "";
  return h("div", { class: `line k${{ "+": "added", "-": "removed", "~": "changed", "=": "same" }[kind]}`, title, onclick: () => app.select(view, line), onmouseenter: () => app.hover(view, line) },
    h("span", { class: "sign" }, sign), h("span", { class: "number" }, x >= 0 ? x + 1 : ""), h("span", { class: "number" }, y >= 0 ? y + 1 : ""), text(view, line));
}

/** A list of rows of equal height, of which only those that show exist. */
export function virtual(rows, make) {
  const sizer = h("div", { class: "sizer", style: { height: `${rows.length * LINE + 12}px` } });
  const scroller = h("div", { class: "scroller", tabindex: 0 }, sizer);
  const made = new Map();
  const render = () => {
    const first = Math.max(0, Math.floor(scroller.scrollTop / LINE) - 10);
    const last = Math.min(rows.length, Math.ceil((scroller.scrollTop + scroller.clientHeight) / LINE) + 10);
    for (const [at, element] of made) if (at < first || at >= last) (element.remove(), made.delete(at));
    for (let at = first; at < last; at++) {
      if (made.has(at)) continue;
      const element = make(rows[at]);
      element.style.top = `${at * LINE}px`;
      made.set(at, element);
      sizer.append(element);
    }
  };
  scroller.addEventListener("scroll", () => requestAnimationFrame(render));
  new ResizeObserver(render).observe(scroller);
  return scroller;
}
