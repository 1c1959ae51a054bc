// Bundles src/ and the libraries that it uses into lab/report/assets/, and writes their licences beside them: npm ci && npm run build

import { build } from "esbuild";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const src = join(here, "src");
const dist = join(here, "../lab/report/assets");

const common = { bundle: true, minify: true, target: "es2022", legalComments: "none", charset: "utf8", metafile: true, nodePaths: [join(here, "node_modules")] };
const results = await Promise.all([
  build({ ...common, entryPoints: [join(src, "main.js")], outfile: join(dist, "report.js"), format: "esm" }),
  build({ ...common, entryPoints: [join(src, "editor.js")], outfile: join(dist, "editor.js"), format: "iife", globalName: "wengertEditor" }),
  build({ ...common, entryPoints: [join(src, "graph_worker.js")], outfile: join(dist, "graph_worker.js"), format: "iife" }),
  build({ ...common, entryPoints: [join(src, "report.css")], outfile: join(dist, "report.css") }),
]);

// A script inside of a page must not hold what ends it.
for (const name of ["report.js", "editor.js"]) {
  const path = join(dist, name);
  writeFileSync(path, readFileSync(path, "utf8").replace(/<\/(script)/gi, "<\\/$1").replace(/<!--/g, "<\\!--"));
}

const packages = new Set();
for (const { metafile } of results) {
  for (const input of Object.keys(metafile.inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) packages.add(match[1]);
  }
}
const notices = ["The scripts in this folder hold the following libraries.\n"];
for (const name of [...packages].sort()) {
  const folder = join(here, "node_modules", name);
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = existsSync(folder) && readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file ? readFileSync(join(folder, file), "utf8").trim() : `${about.license}; the package has no file with the text of its licence.`;
  notices.push(`${"=".repeat(100)}\n${name} ${about.version} (${about.license})\n\n${text}\n`);
}
notices.push(
  `${"=".repeat(100)}\nGraphviz, which @hpcc-js/wasm-graphviz holds as WebAssembly (EPL-1.0)\n\n` +
    "Graphviz is distributed under the Eclipse Public License, version 1.0: https://www.eclipse.org/legal/epl-v10.html\n" +
    "Its source is at https://gitlab.com/graphviz/graphviz; that of the package, which builds it unchanged, at https://github.com/hpcc-systems/hpcc-js-wasm\n",
);
writeFileSync(join(dist, "LICENSES.txt"), notices.join("\n"));

// What it was made of, which a test compares with what there is.
const hash = createHash("sha256");
for (const file of [...readdirSync(src).sort().map((name) => join("src", name)), "build.mjs", "package-lock.json"]) hash.update(readFileSync(join(here, file)));
writeFileSync(join(dist, "sources.sha256"), `${hash.digest("hex")}\n`);
