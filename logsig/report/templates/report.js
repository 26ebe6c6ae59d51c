"use strict";
// Adds what a page without scripts does well without: copy buttons, and open details for print.
(() => {
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };
  const button = (label, text, place) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    made.addEventListener("click", async () => {
      await copy(text());
      made.textContent = "Copied";
      setTimeout(() => { made.textContent = label; }, 1500);
    });
    place.append(made);
  };
  for (const block of document.querySelectorAll(".code")) {
    button("Copy", () => block.querySelector("pre").textContent, block);
  }
  const data = (id) => JSON.parse(document.getElementById(id).textContent);
  const bar = document.getElementById("actions");
  button("Copy for an issue", () => data("markdown"), bar);
  button("Copy JSON", () => JSON.stringify(data("diagnosis"), null, 2), bar);
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const each of opened) each.open = true;
  });
  addEventListener("afterprint", () => {
    for (const each of opened) each.open = false;
  });
})();
