// The editor of the live page: CodeMirror, with the words of MLIR, diagnostics on their lines, and the same lights as the panes.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState, RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const mlir = StreamLanguage.define({
  name: "mlir",
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/\/\/.*/)) return "comment";
    if (stream.match(/"(?:\\.|[^"\\])*"?/)) return "string";
    if (stream.match(/%[\w$.#-]+/)) return "variableName";
    if (stream.match(/[@^][\w$.-]+/)) return "labelName";
    if (stream.match(/(?:tensor|memref|vector|complex|tuple)<(?:[^<>]|<[^<>]*>)*>|(?:[fi]\d+|bf16|tf32|ui\d+|index)\b|![\w.$]+/)) return "typeName";
    if (stream.match(/#[\w.$]+/)) return "meta";
    if (stream.match(/[a-z][\w$]*\.[\w$.]+|(?:module|return|func|cond|do|init)\b/)) return "keyword";
    if (stream.match(/0x[0-9A-Fa-f]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return "number";
    if (stream.match(/[A-Za-z_][\w$]*/)) return null;
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "//" } },
});

const style = HighlightStyle.define([
  { tag: tags.comment, class: "w-comment" },
  { tag: tags.string, class: "w-string" },
  { tag: tags.variableName, class: "w-value" },
  { tag: tags.labelName, class: "w-symbol" },
  { tag: tags.typeName, class: "w-type" },
  { tag: tags.meta, class: "w-attribute" },
  { tag: tags.keyword, class: "w-operation" },
  { tag: tags.number, class: "w-number" },
]);

const lights = StateEffect.define();
const lit = StateField.define({
  create: () => Decoration.none,
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(lights)) continue;
      const builder = new RangeSetBuilder();
      for (const [line, kind] of effect.value) {
        if (line >= transaction.state.doc.lines) continue;
        const from = transaction.state.doc.line(line + 1).from;
        builder.add(from, from, Decoration.line({ class: kind }));
      }
      return builder.finish();
    }
    return transaction.docChanged ? value.map(transaction.changes) : value;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** An editor in an element. `changed(text)` is called as it is edited, `pointed(line)` as the pointer moves, `chosen(line)` where it is clicked or the cursor goes. */
export function create({ parent, text, nonce, changed, pointed, chosen }) {
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        EditorView.cspNonce.of(nonce),
        lineNumbers(),
        highlightActiveLineGutter(),
        lintGutter(),
        history(),
        drawSelection(),
        bracketMatching(),
        mlir,
        syntaxHighlighting(style),
        lit,
        keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
        EditorView.contentAttributes.of({ "aria-label": "the program", spellcheck: "false" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed(update.state.doc.toString());
          else if (update.selectionSet) chosen(update.state.doc.lineAt(update.state.selection.main.head).number - 1);
        }),
        EditorView.domEventHandlers({
          mousemove(event, editor) {
            const at = editor.posAtCoords({ x: event.clientX, y: event.clientY }, false);
            pointed(at === null ? -1 : editor.state.doc.lineAt(at).number - 1);
          },
          mouseleave: () => pointed(-1),
        }),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    replace: (next) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }),
    focus: () => view.focus(),
    light(linked, hovered, selected) {
      const lines = new Map();
      for (const line of hovered) lines.set(line, "hovered");
      for (const line of linked) lines.set(line, "linked");
      if (selected >= 0) lines.set(selected, "selected");
      view.dispatch({ effects: lights.of([...lines].sort((a, b) => a[0] - b[0])) });
    },
    reveal(line) {
      if (line < view.state.doc.lines) view.dispatch({ effects: EditorView.scrollIntoView(view.state.doc.line(line + 1).from, { y: "nearest", yMargin: 60 }) });
    },
    diagnose(found) {
      const doc = view.state.doc;
      const marks = found.map(({ line, column, message, severity }) => {
        const at = doc.line(Math.min(Math.max(1, line), doc.lines));
        const from = Math.min(at.to, at.from + Math.max(0, column - 1));
        const word = /^[%@^#!]?[\w$.-]+/.exec(doc.sliceString(from, at.to));
        return { from, to: Math.min(at.to, from + (word ? word[0].length : 1)), severity: severity === "warning" ? "warning" : "error", message };
      });
      view.dispatch(setDiagnostics(view.state, marks.sort((a, b) => a.from - b.from)));
    },
  };
}
