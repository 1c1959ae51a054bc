// Graphviz, in a thread of its own: lays out what it is sent, and answers with positions.

import { Graphviz } from "@hpcc-js/wasm-graphviz";

const loading = Graphviz.load();

self.onmessage = async ({ data }) => {
  try {
    const graphviz = await loading;
    self.postMessage({ id: data.id, layout: graphviz.layout(data.dot, "json", "dot") });
  } catch (error) {
    self.postMessage({ id: data.id, error: String(error) });
  }
};
