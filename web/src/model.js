// The document as the page reads it: stages with lines, ops and places, indexed when they are first asked for.

import { gunzipSync } from "fflate";

export const VERSION = 1;
const ARGUMENT = "argument";

/** What is in an element: base64 of compressed bytes. */
export async function unpack(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text.trim());
  const packed = atob(text.trim());
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  return bytes;
}

/** A text with lines, each of which came from places in the sources. */
class View {
  constructor(model, form) {
    this.model = model;
    this.form = form;
    this.cache = {};
  }

  once(name, compute) {
    if (!(name in this.cache)) this.cache[name] = compute();
    return this.cache[name];
  }

  get lines() {
    return this.once("lines", () => this.text.replace(/\n$/, "").split("\n"));
  }

  get longest() {
    return this.once("longest", () => this.lines.reduce((most, line) => Math.max(most, line.length), 0));
  }

  /** The lines that came from a place, by its number. */
  get linesOfPlaces() {
    return this.once("linesOfPlaces", () => this.indexPlaces());
  }

  /** The lines that came from any of these places; `inferred` holds those of them that did so through a rewrite that looked through the op there. */
  linked(places, guessed = []) {
    const lines = new Set();
    const exact = new Set();
    for (const place of places) {
      for (const line of this.linesOfPlaces.get(place) ?? []) {
        lines.add(line);
        if (!guessed.includes(place) && !this.inferredAt.has(`${place}:${line}`)) exact.add(line);
      }
    }
    lines.inferred = new Set([...lines].filter((line) => !exact.has(line)));
    return lines;
  }

  /** Pairs of a place and a line, as text, of which no op is known exactly. */
  get inferredAt() {
    return this.once("inferredAt", () => {
      const found = new Set();
      this.ops?.inferred.forEach((places, op) => places.forEach((place) => found.add(`${place}:${this.ops.line[op]}`)));
      if (found.size) this.ops.places.forEach((places, op) => places.forEach((place) => !this.ops.inferred[op].includes(place) && found.delete(`${place}:${this.ops.line[op]}`)));
      return found;
    });
  }
}

/** A stage of the pipeline. */
export class StageView extends View {
  constructor(model, index, stage) {
    super(model, stage.form);
    Object.assign(this, { index, stage, key: String(index), name: stage.name, section: stage.section });
    this.kind = "stage";
  }

  /** The text and the ops: of a page in a file each stage has an element of its own, which is read when the stage is first looked at. */
  get contents() {
    return this.once("contents", () => {
      const element = this.stage.text === null ? document.getElementById(`stage-${this.index}`) : null;
      return element ? JSON.parse(new TextDecoder().decode(gunzipSync(bytesOf(element.textContent)))) : this.stage;
    });
  }

  get text() {
    return this.contents.text;
  }

  get ops() {
    return this.contents.operations;
  }

  get count() {
    return this.ops ? this.ops.line.length : 0;
  }

  nameOf(op) {
    return this.model.strings[this.ops.name[op]];
  }

  typeOf(op) {
    return this.model.strings[this.ops.type[op]];
  }

  roleOf(op) {
    return this.model.roles[this.ops.role[op]];
  }

  derivationOf(op) {
    const text = this.model.strings[this.ops.derivation[op]];
    return text ? text.split(" < ") : [];
  }

  isArgument(op) {
    return this.nameOf(op) === ARGUMENT;
  }

  /** The ops that begin on a line. */
  opsAt(line) {
    const at = this.once("opsAt", () => {
      const index = new Map();
      this.ops?.line.forEach((l, op) => (index.has(l) ? index.get(l).push(op) : index.set(l, [op])));
      return index;
    });
    return at.get(line) ?? [];
  }

  /** The op that a line is about: the one that it begins, else the one whose text goes on there. */
  opAbove(line) {
    for (let l = line; l >= 0 && l > line - 400; l--) {
      const ops = this.opsAt(l);
      if (ops.length) return ops.find((op) => !this.isArgument(op)) ?? ops[0];
    }
    return -1;
  }

  /** For each op those that use what it defines. */
  get users() {
    return this.once("users", () => {
      const users = Array.from({ length: this.count }, () => []);
      this.ops?.operands.forEach((operands, op) => new Set(operands).forEach((operand) => users[operand].push(op)));
      return users;
    });
  }

  placesAt(line) {
    if (!this.ops) return this.codePlaces.get(line) ?? [];
    let ops = this.opsAt(line);
    if (!ops.length) ops = [this.opAbove(line)].filter((op) => op >= 0);
    const named = ops.filter((op) => this.nameOf(op) !== "func.func" && this.nameOf(op) !== "builtin.module");
    const chosen = named.filter((op) => !this.isArgument(op));
    return [...new Set((chosen.length ? chosen : named).flatMap((op) => this.ops.places[op]))];
  }

  indexPlaces() {
    const index = new Map();
    const add = (place, line) => (index.has(place) ? index.get(place).push(line) : index.set(place, [line]));
    if (!this.ops) {
      for (const [line, places] of this.codePlaces) places.forEach((place) => add(place, line));
      return index;
    }
    this.ops.places.forEach((places, op) => {
      if (this.nameOf(op) !== "func.func") for (const place of places) add(place, this.ops.line[op]);
    });
    return index;
  }

  /** The places of lines of text that is no MLIR: LLVM's debug locations, where it has them. */
  get codePlaces() {
    return this.once("codePlaces", () => placesOfLlvm(this.text, this.lines, this.model));
  }

  /** Entries of ops of the functions' outermost blocks, arguments included, in order. */
  get outermost() {
    return this.once("outermost", () => {
      const list = [];
      for (let op = 0; op < this.count; op++) {
        const parent = this.ops.parent[op];
        if (parent >= 0 && this.nameOf(parent) === "func.func") list.push(op);
      }
      return list;
    });
  }

  roleAt(line) {
    if (!this.ops) return "";
    const ops = this.opsAt(line);
    return ops.length ? this.roleOf(ops.find((op) => !this.isArgument(op)) ?? ops[0]) : "";
  }
}

/** A text that ops come from. */
export class SourceView extends View {
  constructor(model, index, source) {
    super(model, source.language);
    Object.assign(this, { text: source.text, index, source, key: `s${index}`, name: source.name, section: "source", kind: "source", ops: null });
    this.words = source.words;
  }

  indexPlaces() {
    const index = new Map();
    this.model.places.forEach(([source, line], place) => {
      if (source === this.index) index.set(place, [line - 1]);
    });
    return index;
  }

  placesAt(line) {
    const at = this.once("placesAt", () => {
      const index = new Map();
      for (const [place, [l]] of this.linesOfPlaces) index.has(l) ? index.get(l).push(place) : index.set(l, [place]);
      return index;
    });
    return at.get(line) ?? [];
  }

  opsAt() {
    return [];
  }

  opAbove() {
    return -1;
  }

  roleAt() {
    return "";
  }
}

/** For each line of LLVM text the places that its debug location names; empty where the text has no debug locations. */
function placesOfLlvm(text, lines, model) {
  const places = new Map();
  if (!text.includes("!DILocation")) return places;
  const nodes = new Map([...text.matchAll(/^!(\d+) = (.*)$/gm)].map((match) => [match[1], match[2]]));
  const field = (node, name) => new RegExp(`\\b${name}: (?:!(\\d+)|(\\d+)|"([^"]*)")`).exec(node ?? "")?.slice(1).find((found) => found !== undefined);
  const fileOf = (scope) => {
    const file = nodes.get(field(nodes.get(scope), "file"));
    return file && `${field(file, "directory")}/${field(file, "filename")}`;
  };
  const byPosition = new Map();
  model.places.forEach(([, line, column], place) => {
    const key = `${line}:${column}`;
    byPosition.has(key) ? byPosition.get(key).push(place) : byPosition.set(key, [place]);
  });
  const known = new Map();
  const find = (number) => {
    const node = nodes.get(number);
    const file = fileOf(field(node, "scope"));
    const there = byPosition.get(`${field(node, "line")}:${field(node, "column")}`) ?? [];
    return there.filter((place) => file === model.files[place] || file?.endsWith(`/${model.files[place]}`));
  };
  lines.forEach((line, at) => {
    const match = /!dbg !(\d+)/.exec(line);
    if (!match || /^define /.test(line)) return;
    if (!known.has(match[1])) known.set(match[1], find(match[1]));
    if (known.get(match[1]).length) places.set(at, known.get(match[1]));
  });
  return places;
}

/** A document. */
export class Model {
  constructor(document) {
    if (document.version !== VERSION) throw new Error(`this page reads version ${VERSION} of the document, not ${document.version}`);
    Object.assign(this, document);
    this.views = document.stages.map((stage, index) => new StageView(this, index, stage));
    this.sourceViews = document.sources.map((source, index) => new SourceView(this, index, source));
  }

  /** The stage whose text a stage shows: itself, or the last one that changed something. */
  shown(index) {
    const same = this.stages[index].same_as;
    return this.views[same >= 0 ? same : index];
  }

  view(key) {
    if (key?.startsWith("s")) return this.sourceViews[Number(key.slice(1))];
    return key !== undefined && key !== null && key !== "" && this.stages[Number(key)] ? this.shown(Number(key)) : undefined;
  }

  lastOf(section) {
    for (let i = this.views.length - 1; i >= 0; i--) if (this.stages[i].section === section && this.stages[i].same_as < 0) return this.views[i];
    return undefined;
  }

  /** What passes did to the ops of a place that are gone, each sentence once. */
  changesAt(places) {
    this.changesOf ??= this.changes.reduce((index, [at, text]) => {
      for (const place of at) index.has(place) ? index.get(place).push(text) : index.set(place, [text]);
      return index;
    }, new Map());
    return [...new Set(places.flatMap((place) => this.changesOf.get(place) ?? []))];
  }

  /** The file's name without its folders, and the line. */
  placeShort(place) {
    return `${this.files[place].replace(/^.*[/\\]/, "")}:${this.places[place][1]}`;
  }

  placeText(place) {
    const [, line, column] = this.places[place];
    return `${this.files[place]}:${line}:${column}`;
  }
}
