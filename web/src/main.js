// Opens the document that the page holds, or asks the server of a live page for one.

import { App, restoreTheme } from "./app.js";
import { h, replace } from "./dom.js";
import { live } from "./live.js";
import { unpack } from "./model.js";

async function open() {
  restoreTheme();
  const root = document.getElementById("page");
  try {
    if (document.documentElement.dataset.live === "yes") return await live(root);
    const text = await unpack(document.getElementById("document").textContent);
    const app = new App(root);
    app.load(JSON.parse(text));
    window.wengert = app; // for those who look at it from the browser's console, and for tests
  } catch (error) {
    replace(root, h("p", { class: "plain" }, `The document cannot be opened: ${error.message}`));
    throw error;
  }
  document.documentElement.dataset.ready = "yes";
}

open();
