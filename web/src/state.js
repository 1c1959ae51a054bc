// The state of the page: which stage each pane shows, what is selected, which tab is open. It is kept in the address, so that a link leads back to it.

const FIELDS = ["source", "primal", "derivative", "lowered", "sel", "tab", "a", "b"];

export class State extends EventTarget {
  constructor() {
    super();
    this.values = {};
  }

  get(name) {
    return this.values[name];
  }

  /** Changes fields, tells who listens which ones, and writes the address. */
  set(changes, { silent = false } = {}) {
    const changed = Object.keys(changes).filter((name) => this.values[name] !== changes[name]);
    if (!changed.length) return;
    Object.assign(this.values, changes);
    if (!silent) this.write();
    this.dispatchEvent(new CustomEvent("change", { detail: new Set(changed) }));
  }

  read() {
    const given = new URLSearchParams(location.hash.slice(1));
    return Object.fromEntries(FIELDS.filter((name) => given.has(name)).map((name) => [name, given.get(name)]));
  }

  write() {
    const address = new URLSearchParams();
    for (const name of FIELDS) if (this.values[name]) address.set(name, this.values[name]);
    history.replaceState(null, "", `#${address}`);
  }
}

/** A selection as text: the view and the line from 1, as in 9:120. */
export function selectionText(view, line) {
  return `${view.key}:${line + 1}`;
}

/** The view and line of a selection, or undefined. */
export function selectionOf(model, text) {
  const match = /^(s?\d+):(\d+)$/.exec(text ?? "");
  const view = match && model.view(match[1]);
  const line = match ? Number(match[2]) - 1 : 0;
  return view && line >= 0 && line < view.lines.length ? { view, line } : undefined;
}
