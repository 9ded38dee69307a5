"use strict";
// The list is there without this script: it sorts, filters and compares.
(() => {
  const root = document.documentElement;
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const table = document.getElementById("runs");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const count = document.getElementById("count");
  const search = document.getElementById("search");
  const command = document.getElementById("command");
  const compare = document.getElementById("compare");

  // ---- theme
  const themeButton = document.getElementById("theme");
  let chosen = null;
  try { chosen = localStorage.getItem("slob-theme"); } catch { /* a file may have no storage */ }
  function applyTheme() {
    const dark = chosen === "dark" || (chosen !== "light" && systemDark.matches);
    root.dataset.theme = dark ? "dark" : "light";
    themeButton.textContent = dark ? "Light" : "Dark";
  }
  applyTheme();
  systemDark.addEventListener("change", applyTheme);
  themeButton.addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("slob-theme", chosen); } catch { /* then for this view only */ }
    applyTheme();
  });

  // ---- filters: words in any column, and one value for each column that is worth it
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const choices = [...document.querySelectorAll("select[data-of]")];
  for (const choice of choices) {
    const values = [...new Set(rows.flatMap((row) => row.dataset[choice.dataset.of].split("|")))].filter(Boolean);
    for (const value of values.sort((a, b) => a.localeCompare(b, undefined, { numeric: true }))) {
      choice.add(new Option(value, value));
    }
  }
  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, index) => {
      const fits = words.every((word) => texts[index].includes(word)) &&
        choices.every((choice) => !choice.value || row.dataset[choice.dataset.of].split("|").includes(choice.value));
      row.hidden = !fits;
      shown += fits;
    });
    const said = (number) => number.toLocaleString("en");
    count.textContent = (shown === rows.length ? "" : said(shown) + " of ") + said(rows.length) + " runs";
  }
  search.addEventListener("input", filter);
  choices.forEach((choice) => choice.addEventListener("change", filter));

  // ---- order: a click on a head; again turns it round. What is not known comes last.
  for (const button of table.querySelectorAll("th button")) {
    button.addEventListener("click", () => {
      const head = button.parentElement;
      const column = head.cellIndex;
      const up = head.getAttribute("aria-sort") === "descending";
      for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = (row) => row.cells[column].dataset.value ?? "";
      const numeric = head.classList.contains("n");
      rows.sort((a, b) => {
        const [left, right] = [value(a), value(b)];
        if (left === "" || right === "") return (left === "") - (right === "");
        const order = numeric ? left - right : left.localeCompare(right, undefined, { numeric: true });
        return up ? order : -order;
      });
      body.append(...rows);
      rows.forEach((row, index) => { texts[index] = row.textContent.toLowerCase(); });
    });
  }

  // ---- ticked runs: the command that compares them
  let ticked = [];
  body.addEventListener("change", (event) => {
    const box = event.target;
    ticked = ticked.filter((other) => other !== box);
    if (box.checked) ticked.push(box);
    compare.hidden = ticked.length < 2;
    // The oldest run first.
    const ids = ticked.map((other) => other.value).sort();
    command.textContent = "slob diff " + ids.join(" ") + compare.dataset.where;
  });
  document.getElementById("copy").addEventListener("click", async (event) => {
    const button = event.target;
    try {
      await navigator.clipboard.writeText(command.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(command);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  filter();
  root.dataset.ready = "yes";
})();
