// Adds to the table what a style sheet can't: a click on a title sorts, a second one reverses, and rows are filtered.
(function () {
  "use strict";
  var table = document.querySelector("table.jobs");
  if (!table) return;
  var body = table.tBodies[0];
  var rows = Array.prototype.slice.call(body.rows);
  var texts = null;
  var reversed = "";
  var find = document.querySelector(".find");
  var input = find.querySelector("input");
  var shown = find.querySelector("output");
  find.hidden = false;

  function place(row, name) { return +row.style.getPropertyValue("--" + name); }

  function sort(name, back) {
    var sorted = rows.slice().sort(function (a, b) { return (place(a, name) - place(b, name)) * (back ? -1 : 1); });
    var part = document.createDocumentFragment();
    sorted.forEach(function (row) { part.appendChild(row); });
    body.appendChild(part);
    document.getElementById("by-job").checked = true; // the rows stand in order now
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (cell) {
      cell.setAttribute("aria-sort", cell.dataset.order === name ? (back ? "descending" : "ascending") : "none");
    });
    reversed = back ? "" : name;
  }

  Array.prototype.forEach.call(table.tHead.rows[0].cells, function (cell) {
    var button = document.createElement("button");
    button.type = "button";
    button.textContent = cell.textContent;
    cell.textContent = "";
    cell.appendChild(button);
    button.addEventListener("click", function () { sort(cell.dataset.order, reversed === cell.dataset.order); });
  });
  document.querySelectorAll("input[name=by]").forEach(function (radio) {
    radio.addEventListener("change", function () { if (radio.checked) { sort(radio.value, false); radio.checked = true; } });
  });

  function filter() {
    var words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    texts = texts || rows.map(function (row) { return (row.textContent + " " + row.dataset.group).toLowerCase(); });
    var count = 0;
    rows.forEach(function (row, at) {
      var fits = words.every(function (word) { return texts[at].indexOf(word) >= 0; });
      row.hidden = !fits;
      if (fits) count += 1;
    });
    shown.textContent = words.length ? count + " of " + rows.length : "";
  }
  input.addEventListener("input", filter);
  document.querySelectorAll("a.only").forEach(function (link) {
    link.addEventListener("click", function () { input.value = link.dataset.group; filter(); });
  });
})();
