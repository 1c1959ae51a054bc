// The words of a line by their kind. MLIR and LLVM text are told apart line by line, so only lines that show are read; words of Python come with the document.

const MLIR = new RegExp(
  [
    "(?<comment>//.*)",
    '(?<string>"(?:\\\\.|[^"\\\\])*")',
    "(?<value>%[\\w$.#-]+)",
    "(?<symbol>@[\\w$.-]+|\\^[\\w$.-]+)",
    "(?<type>\\b(?:tensor|memref|vector|complex|tuple)<(?:[^<>]|<[^<>]*>)*>|\\b(?:[fi]\\d+|bf16|tf32|ui\\d+|index)\\b|![\\w.$]+)",
    "(?<attribute>#[\\w.$]+)",
    "(?<operation>\\b[a-z][\\w$]*\\.[\\w$.]+|\\b(?:module|return|func|cond|do|init)\\b)",
    "(?<number>\\b0x[0-9A-Fa-f]+\\b|\\b\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?\\b)",
  ].join("|"),
  "g",
);

const LLVM = new RegExp(
  [
    "(?<comment>;.*)",
    '(?<string>c?"(?:\\\\.|[^"\\\\])*")',
    "(?<value>%[\\w$.-]+)",
    "(?<symbol>@[\\w$.-]+|^[\\w$.-]+:)",
    "(?<attribute>![\\w.]+|#\\d+)",
    "(?<type>\\b(?:void|half|float|double|ptr|label|i\\d+)\\b|<\\d+ x \\w+>)",
    "(?<operation>\\b(?:define|declare|ret|br|switch|call|tail|load|store|getelementptr|phi|select|icmp|fcmp|f?(?:add|sub|mul|div|neg|rem)|[su]div|[su]rem|shl|[al]shr|and|or|xor|alloca|bitcast|trunc|[sz]ext|fpext|fptrunc|[su]itofp|fpto[su]i|shufflevector|insertelement|extractelement|unreachable|fmuladd)\\b)",
    "(?<number>\\b0x[0-9A-Fa-f]+\\b|-?\\b\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?\\b)",
  ].join("|"),
  "g",
);

// Pygments' short names to the kinds above.
const PYTHON = { k: "operation", c: "comment", s: "string", m: "number", nf: "symbol", nc: "symbol", nd: "attribute", nb: "type", o: "", ow: "operation" };

/** Pairs of a kind (or "") and the text, in order. */
export function words(view, line) {
  const text = view.lines[line];
  if (view.words) return pythonWords(text, view.words[line] ?? []);
  const pattern = view.form === "mlir" ? MLIR : LLVM;
  const found = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > end) found.push(["", text.slice(end, match.index)]);
    found.push([Object.keys(match.groups).find((kind) => match.groups[kind] !== undefined), match[0]]);
    end = match.index + match[0].length;
  }
  if (end < text.length) found.push(["", text.slice(end)]);
  return found;
}

function pythonWords(text, lengths) {
  const found = [];
  let at = 0;
  for (const [length, kind] of lengths) {
    found.push([PYTHON[kind] ?? PYTHON[kind[0]] ?? "", text.slice(at, at + length)]);
    at += length;
  }
  if (at < text.length) found.push(["", text.slice(at)]);
  return found;
}
