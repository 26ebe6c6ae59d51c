"use strict";
(() => {
  const search = document.getElementById("search");
  const box = document.getElementById("words");
  const said = document.getElementById("found");
  const rows = [...document.querySelectorAll("[data-words]")].map((row) => ({
    row, words: row.dataset.words, literals: row.dataset.literals.split("\n").filter((literal) => literal.length > 3),
  }));
  const sections = [...document.querySelectorAll("section[data-family]")];
  const plain = (text) => text.toLowerCase().split(/\s+/).filter(Boolean).join(" ");

  function isMeant(entry, asked, words) {
    return words.every((word) => entry.words.includes(word)) || entry.literals.some((literal) => asked.includes(literal));
  }

  function apply() {
    const asked = plain(box.value);
    const words = asked.split(" ");
    let count = 0;
    for (const entry of rows) {
      const shown = !asked || isMeant(entry, asked, words);
      entry.row.hidden = !shown;
      count += shown ? 1 : 0;
    }
    for (const section of sections) section.hidden = !section.querySelector("tr:not([hidden])");
    said.textContent = asked ? `${count} of ${rows.length}` : "";
  }

  function links() {
    return [...document.querySelectorAll("tr:not([hidden]) a")];
  }

  search.hidden = false;
  box.addEventListener("input", apply);
  document.addEventListener("keydown", (event) => {
    const typing = document.activeElement === box;
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      box.focus();
    } else if (event.key === "Escape" && typing) {
      box.value = "";
      apply();
    } else if (event.key === "Enter" && typing && box.value.trim()) {
      links()[0]?.click();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const all = links();
      const at = all.indexOf(document.activeElement);
      if (!typing && at < 0) return;
      event.preventDefault();
      const next = typing ? 0 : at + (event.key === "ArrowDown" ? 1 : -1);
      (next < 0 ? box : all[Math.min(next, all.length - 1)])?.focus();
    }
  });
  apply();
})();
