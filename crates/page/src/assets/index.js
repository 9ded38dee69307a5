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

  // ---- ticked runs beside each other, the oldest first, and the command that compares them
  const saved = new Map(JSON.parse(document.getElementById("rows").textContent).map((run) => [run.id, run]));
  const sideBySide = document.getElementById("side-by-side");
  const most = 8;
  let ticked = [];
  function add(name, cells) {
    const line = sideBySide.insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = name;
    line.append(head, ...cells);
  }
  function cellOf(...parts) {
    const cell = document.createElement("td");
    cell.append(...parts);
    return cell;
  }
  function compareTicked(chosen) {
    sideBySide.replaceChildren();
    const runs = chosen.map((row) => saved.get(row.querySelector("input").value));
    add("Run", chosen.map((row) => cellOf(...[...row.cells[2].childNodes].map((node) => node.cloneNode(true)))));
    add("Started (UTC)", runs.map((run) => cellOf(run.started)));
    for (const first of chosen[0].querySelectorAll("td[data-name]")) {
      add(first.dataset.name, chosen.map((row) => {
        const number = [...row.querySelectorAll("td[data-name]")].find((other) => other.dataset.name === first.dataset.name);
        const shown = cellOf(...[...number.childNodes].map((node) => node.cloneNode(true)));
        const [base, value] = [first.dataset.value, number.dataset.value].map(Number);
        if (row !== chosen[0] && !("isSet" in number.dataset) && base > 0 && number.dataset.value !== "") {
          const change = 100 * value / base - 100;
          const hint = document.createElement("span");
          hint.className = "hint";
          hint.textContent = " " + (change < 0 ? "" : "+") + change.toFixed(1) + " %";
          shown.append(hint);
        }
        return shown;
      }));
    }
    add("Verdicts", runs.map((run) => {
      const less = run.verdicts.filter((verdict) => verdict.answer !== "GOOD");
      const words = less.map((verdict) => verdict.answer + ": " + verdict.sentence);
      return cellOf(words.length > 0 ? words.join(" ") : "all good");
    }));
    const places = [["Target", (run) => run.target], ["Host", (run) => run.host], ["Device", (run) => run.device]];
    const names = [...new Set(runs.flatMap((run) => Object.keys(run.settings)))].sort();
    for (const [name, of] of [...places, ...names.map((name) => [name, (run) => run.settings[name]])]) {
      const values = runs.map((run) => of(run) ?? "-");
      if (new Set(values).size > 1) add(name, values.map((value) => cellOf(value)));
    }
  }
  body.addEventListener("change", (event) => {
    const box = event.target;
    ticked = ticked.filter((other) => other !== box);
    if (box.checked) ticked.push(box);
    // The first one leaves where more are ticked than a screen holds beside each other.
    if (ticked.length > most) ticked.shift().checked = false;
    compare.hidden = ticked.length < 2;
    const inOrder = [...ticked].sort((a, b) => a.value < b.value ? -1 : 1);
    command.textContent = "slob diff " + inOrder.map((other) => other.value).join(" ") + compare.dataset.where;
    if (!compare.hidden) compareTicked(inOrder.map((other) => other.closest("tr")));
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
  // ---- runs under way, from the server that made the page
  const live = document.getElementById("live");
  function element(name, words, kind) {
    const made = document.createElement(name);
    made.textContent = words;
    if (kind) made.className = kind;
    return made;
  }
  function curveOf(rates) {
    const [space, width, height] = ["http://www.w3.org/2000/svg", 480, 60];
    const picture = document.createElementNS(space, "svg");
    picture.setAttribute("class", "under-way");
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const line = document.createElementNS(space, "polyline");
    const top = Math.max(...rates, 1);
    const step = width / Math.max(rates.length - 1, 1);
    line.setAttribute("points", rates.map((rate, at) => `${at * step},${height - 1 - (height - 2) * rate / top}`).join(" "));
    picture.append(line);
    return picture;
  }
  function cardOf(run) {
    const card = element("div", "", "part");
    const seconds = (value) => Math.round(value).toLocaleString("en") + " s";
    const left = run.left_s === null ? "" : ", " + seconds(run.left_s) + " left";
    card.append(element("h3", run.name + ": " + run.stage + left));
    card.append(element("p", run.target + ", " + run.sessions + " sessions, " + seconds(run.elapsed_s), "hint"));
    const facts = element("dl", "", "facts");
    for (const [name, value] of run.figures) facts.append(element("dt", name), element("dd", value));
    card.append(facts, curveOf(run.rates));
    const verdicts = element("ul", "");
    for (const verdict of run.verdicts.filter((one) => one.answer !== "GOOD")) {
      verdicts.append(element("li", verdict.answer + ": " + verdict.sentence));
    }
    card.append(verdicts);
    return card;
  }
  if (live) {
    const source = new EventSource("events");
    source.addEventListener("message", (event) => {
      const now = JSON.parse(event.data);
      live.replaceChildren(...now.under_way.map(cardOf));
      const isNew = now.runs.length !== saved.size || now.runs.some((id) => !saved.has(id));
      // A reader who compares keeps the page.
      if (isNew && ticked.length === 0) location.reload();
      if (isNew && ticked.length > 0) live.append(element("p", "There are other runs now: load the page again.", "hint"));
    });
    source.addEventListener("error", () => {
      live.replaceChildren(element("p", "The server does not answer: this list is as it was.", "hint"));
    });
  }
  filter();
  root.dataset.ready = "yes";
})();
