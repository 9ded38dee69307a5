"use strict";
// The page works without this script, but for charts, copying and the choice of a theme.
(async () => {
  const root = document.documentElement;
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const coarse = matchMedia("(pointer: coarse)").matches;
  const PRINT_WIDTH = 680;
  // As in the style sheet.
  const PRINT_HEIGHT = 195;
  let chosen = null;
  let printing = false;

  // ---- theme
  const isDark = () => !printing && (chosen === null ? systemDark.matches : chosen === "dark");
  const themeButton = document.getElementById("theme");
  function applyTheme() {
    root.dataset.theme = isDark() ? "dark" : "light";
    themeButton.textContent = isDark() ? "Light" : "Dark";
  }
  try { chosen = localStorage.getItem("slob-theme"); } catch { /* a file may have no storage */ }
  if (chosen !== "dark" && chosen !== "light") chosen = null;
  applyTheme();
  themeButton.addEventListener("click", () => {
    chosen = isDark() ? "light" : "dark";
    try { localStorage.setItem("slob-theme", chosen); } catch { /* then for this view only */ }
    applyTheme();
    drawAll();
  });
  systemDark.addEventListener("change", () => { applyTheme(); drawAll(); });

  // ---- copying tables, as tab-separated values
  function tsv(table) {
    const cell = (td) => td.innerText.replace(/\s+/g, " ").trim();
    return [...table.rows].map((row) => [...row.cells].map(cell).join("\t")).join("\n") + "\n";
  }
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      area.style.position = "fixed";
      area.style.opacity = "0";
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }
  for (const button of document.querySelectorAll("button.copy")) {
    button.addEventListener("click", async () => {
      const done = await copy(tsv(button.parentElement.querySelector("table")));
      button.textContent = done ? "Copied" : "Not allowed here";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }

  // ---- charts
  const charts = JSON.parse(document.getElementById("chart-data").textContent);
  const places = [...document.querySelectorAll("[data-chart]")];

  async function loadLibrary() {
    const packed = atob(document.getElementById("chart-library").textContent);
    const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    return globalThis.Plotly;
  }

  // How numbers of a unit are written: on an axis, after it, and under the pointer. In d3's language.
  const UNITS = {
    seconds: { ticks: "~s", suffix: "s", hover: "%{y:.3s}s", bar: "%{value:.3s}s" },
    count: { ticks: ",~r", suffix: "", hover: "%{y:,.0f}", bar: "%{value:.3~s}" },
    percent: { ticks: "~g", suffix: " %", hover: "%{y:.1f} %", bar: "%{value:.1f} %" },
    plain: { ticks: "", suffix: "", hover: "%{y:.4~g}", bar: "%{value:.4~g}" },
  };
  // Colours of variants repeat, so that something else must tell those apart.
  const VARIANTS = 8;
  const isRepeated = (name) => name.variant >= VARIANTS;

  // The colour of that name in the present theme, or a part of it. A name may have a place: { variant: 2 }.
  function colour(name, alpha) {
    const [kind, place] = typeof name === "string" ? [name, ""] : Object.entries(name)[0];
    const own = kind + (kind === "variant" ? place % VARIANTS : place);
    const hex = getComputedStyle(root).getPropertyValue("--c-" + own).trim();
    if (alpha === undefined) return hex;
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    return `rgba(${r},${g},${b},${alpha})`;
  }

  function line(from, unit) {
    const isPoint = from.y.filter((y) => y !== null).length === 1;
    const fills = {
      nothing: {},
      to_previous: { fill: "tonexty", fillcolor: colour(from.colour, 0.16) },
      stacked: { stackgroup: "all", fillcolor: colour(from.colour, 0.55) },
    };
    return {
      type: "scatter", mode: from.has_markers || isPoint ? "lines+markers" : "lines", name: from.name,
      x: from.x, y: from.y, hovertemplate: UNITS[unit].hover,
      line: { color: colour(from.colour), width: from.fill === "stacked" ? 0.8 : 1.8, dash: from.stroke },
      ...fills[from.fill],
      ...(from.has_markers && isRepeated(from.colour) && { marker: { symbol: "diamond-open", size: 9 } }),
      ...(from.on_right && { yaxis: "y2" }),
      ...(from.is_hidden && { visible: "legendonly" }),
    };
  }
  // More bars, as those of a histogram, have no room for their numbers.
  const MOST_NUMBERED = 48;
  function bars(from, unit) {
    const each = (of) => from.bars.map(of);
    const [places, lengths] = [each((bar) => bar.at), each((bar) => bar.length)];
    const error = (end) => each((bar) => bar.error && bar.error[end]);
    const marker = { color: colour(from.colour, from.opacity), line: { width: 0 } };
    if (isRepeated(from.colour)) marker.pattern = { shape: "/", size: 7, solidity: 0.5 };
    const hasIntervals = from.bars.some((bar) => bar.error);
    return {
      type: "bar", orientation: from.is_horizontal ? "h" : "v", name: from.name,
      x: from.is_horizontal ? lengths : places, y: from.is_horizontal ? places : lengths, width: each((bar) => bar.width),
      hovertext: each((bar) => bar.hover), hovertemplate: "%{hovertext}<extra></extra>", marker,
      ...(from.bars.length <= MOST_NUMBERED && {
        texttemplate: UNITS[unit].bar.replace("value", from.is_horizontal ? "x" : "y"), cliponaxis: false,
        textposition: hasIntervals ? "inside" : "auto", insidetextanchor: hasIntervals ? "start" : "end",
      }),
      ...(hasIntervals && {
        error_y: {
          type: "data", symmetric: false, arrayminus: error(0), array: error(1), color: colour("text"), thickness: 1.4, width: 4,
        },
      }),
    };
  }
  // Counts in a grid, as colours on a logarithmic scale.
  function heat(from) {
    let most = 1;
    for (const row of from.counts) for (const n of row) if (n > most) most = n;
    const decades = Math.max(1, Math.ceil(Math.log10(most)));
    const ticks = Array.from({ length: decades + 1 }, (_, power) => power);
    return {
      type: "heatmap", x: from.x_edges, y: from.y_edges,
      z: from.counts.map((row) => row.map((n) => (n > 0 ? Math.log10(n) : null))),
      customdata: from.counts,
      zmin: 0, zmax: Math.max(1, Math.log10(most)),
      colorscale: [0, 1, 2, 3, 4].map((step) => [step / 4, colour("heat" + step)]),
      colorbar: {
        title: { text: from.of, side: "right" }, thickness: 10, outlinewidth: 0, tickvals: ticks,
        ticktext: ticks.map((power) => (10 ** power).toLocaleString("en")),
      },
      hovertemplate: "%{y:.3s}s at %{x:.4~g}: %{customdata:,} " + from.of + "<extra></extra>",
      hoverongaps: false,
    };
  }
  function trace(from, chart) {
    if (from.type === "heat") return heat(from);
    return from.type === "bars" ? bars(from, (from.is_horizontal ? chart.x : chart.y).unit) : line(from, (from.on_right && chart.right ? chart.right : chart.y).unit);
  }

  // 0.0002 is 200 µs.
  function seconds(value) {
    const [factor, unit] = [[1e-9, "ns"], [1e-6, "µs"], [1e-3, "ms"]].find(([factor]) => value < factor * 999.5) || [1, "s"];
    return +(value / factor).toPrecision(3) + " " + unit;
  }
  // Ticks of a logarithmic axis of times: as many as there is room for. They stay when a part is zoomed into.
  function timeTicks(values) {
    const low = Math.min(...values), high = Math.max(...values);
    const decades = Math.log10(high / low);
    const digits = decades > 3.5 ? [1] : decades > 1.2 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 7];
    const tickvals = [];
    for (let power = -9; power <= 4; power++) {
      for (const digit of digits) tickvals.push(digit * 10 ** power);
    }
    return { tickvals, ticktext: tickvals.map(seconds), ticksuffix: "", tickformat: "" };
  }
  function extent(traces, name) {
    let [low, high] = [Infinity, -Infinity];
    for (const trace of traces) {
      for (const value of trace[name]) {
        if (value > 0 && value < low) low = value;
        if (value > high) high = value;
      }
    }
    return low <= high ? [low, high] : [1e-6, 1];
  }

  // A title that is longer than its axis goes on below: the library would cut it.
  function wrapped(text, length) {
    const most = Math.max(12, Math.floor(length / 6.4));
    const lines = [""];
    for (const word of text.split(" ")) {
      const line = lines.pop();
      if (line && line.length + word.length >= most) lines.push(line, word); else lines.push(line ? line + " " + word : word);
    }
    return lines.join("<br>");
  }
  function axis(from, length, extra) {
    if (!from) return undefined;
    const it = colour("text-2");
    const end = (value) => (from.is_log ? Math.log10(value) : value);
    const names = { tickvals: from.names.map(([at]) => at), ticktext: from.names.map(([, name]) => name.replaceAll("\n", "<br>")) };
    return {
      type: from.is_log ? "log" : "linear", tickformat: UNITS[from.unit].ticks, ticksuffix: UNITS[from.unit].suffix,
      ...(from.names.length > 0 && names),
      ...(from.range ? { range: from.range.map(end) } : !from.is_log && { rangemode: "tozero" }),
      ...extra,
      title: { text: wrapped(from.title, length), font: { size: 12, color: it }, standoff: 10 },
      color: it, gridcolor: colour("grid"), linecolor: colour("line"), zeroline: false,
      automargin: true, tickfont: { size: 11 },
    };
  }

  // Lines of the legend, whose names stand in columns as wide as the longest.
  const LEGEND_LINE = 19;
  function legendLines(chart, place) {
    if (chart.traces.length < 2 || chart.traces.some((trace) => trace.type === "heat")) return 0;
    const longest = Math.max(...chart.traces.map((trace) => trace.name.length));
    const room = (printing ? PRINT_WIDTH : place.clientWidth) - 90;
    return Math.ceil(chart.traces.length / Math.max(1, Math.floor(room / (7 * longest + 60))));
  }
  function figure(chart, place, lines) {
    const isClosest = chart.traces.some((from) => from.type === "heat") || chart.traces.every((from) => from.type === "bars");
    const traces = chart.traces.map((from) => trace(from, chart));
    const log = (name) => (chart[name].is_log && chart[name].names.length === 0 ? timeTicks(extent(traces, name)) : {});
    const across = (printing ? PRINT_WIDTH : place.clientWidth) - (chart.right ? 112 : 70);
    const height = printing ? PRINT_HEIGHT + LEGEND_LINE * Math.max(0, lines - 1) : place.clientHeight;
    const up = height - 70 - LEGEND_LINE * lines;
    const layout = {
      autosize: true,
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("text") },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 56, r: chart.right ? 56 : 14, t: 8, b: 44 },
      showlegend: lines > 0,
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12 }, maxheight: 0.7 },
      hovermode: isClosest ? "closest" : "x unified",
      hoverdistance: -1,
      hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("text"), size: 12 } },
      dragmode: coarse ? false : "zoom",
      bargap: 0, barmode: "overlay", uniformtext: { minsize: 9, mode: "hide" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("text-2"), activecolor: colour("text") },
      xaxis: axis(chart.x, across, { showgrid: false, showline: true, ticks: "outside", tickcolor: colour("line"), tickangle: 0, ...log("x") }),
      yaxis: axis(chart.y, up, log("y")),
      shapes: [
        ...chart.shades.map(([x0, x1]) => ({
          type: "rect", xref: "x", yref: "paper", x0, x1, y0: 0, y1: 1,
          fillcolor: colour("shade"), line: { width: 0 }, layer: "below",
        })),
        ...chart.marks.map(([x]) => ({
          type: "line", xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: 1,
          line: { width: 1, dash: "dash", color: colour("text-2") },
        })),
      ],
      annotations: [
        ...chart.marks.map(([x, text]) => ({
          x, xref: "x", y: 1, yref: "paper", text, textangle: -90, showarrow: false, xanchor: "right", yanchor: "top",
          font: { size: 11, color: colour("text-2") },
        })),
        ...chart.traces.flatMap((from) => (from.bars || []).filter((bar) => bar.cut)).map((bar) => ({
          x: bar.at, xref: "x", y: bar.length + bar.error[1], yref: "y", text: bar.cut, showarrow: false, yanchor: "bottom",
          font: { size: 10, color: colour("text-2") },
        })),
      ],
    };
    if (chart.right) layout.yaxis2 = axis(chart.right, up, { overlaying: "y", side: "right", showgrid: false });
    if (printing) Object.assign(layout, { autosize: false, width: PRINT_WIDTH, height });
    return { traces, layout };
  }

  const config = {
    responsive: true, displaylogo: false, displayModeBar: !coarse,
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
  };
  let plotly = null;
  const ranges = new Map();

  // A long legend is given room of its own, so that none is taken from the drawing.
  function makeRoom(place, lines) {
    place.dataset.height ||= parseInt(place.style.height);
    place.style.height = Number(place.dataset.height) + LEGEND_LINE * Math.max(0, lines - 3) + "px";
  }
  function draw(place) {
    const chart = charts[place.dataset.chart];
    const lines = legendLines(chart, place);
    if (!printing) makeRoom(place, lines);
    const { traces, layout } = figure(chart, place, lines);
    if (printing) place.style.height = layout.height + "px";
    const zoomed = ranges.get(place.dataset.chart);
    if (zoomed && !printing) layout.xaxis.range = zoomed;
    return plotly.react(place, traces, layout, config);
  }
  function drawAll() {
    return plotly ? Promise.all(places.map(draw)) : Promise.resolve();
  }

  // Charts over time are zoomed together.
  let following = false;
  function follow(source, change) {
    if (following || printing || !charts[source.dataset.chart].is_timeline) return;
    const reset = change["xaxis.autorange"] === true;
    const given = change["xaxis.range"] || [change["xaxis.range[0]"], change["xaxis.range[1]"]];
    if (!reset && given[0] === undefined) return;
    following = true;
    const others = places.filter((place) => charts[place.dataset.chart].is_timeline);
    const moved = others.map((place) => {
      const name = place.dataset.chart;
      const range = reset ? charts[name].x.range : given;
      if (reset) ranges.delete(name); else ranges.set(name, range);
      return plotly.relayout(place, { "xaxis.range": [...range] });
    });
    Promise.all(moved).finally(() => { following = false; });
  }

  const idle = () => new Promise((resume) => setTimeout(resume));
  try {
    if (places.length > 0) {
      plotly = await loadLibrary();
      for (const place of places) {
        await draw(place);
        place.on("plotly_relayout", (change) => follow(place, change));
        await idle();
      }
    }
  } catch (error) {
    const told = document.getElementById("no-charts");
    told.hidden = false;
    told.textContent = "The charts can't be drawn by this browser (" + error.message + "): use one of 2023 or later. " +
      "Verdicts, figures and tables are all here.";
  }

  // ---- paper: light, and of its width
  addEventListener("beforeprint", () => {
    printing = true;
    for (const details of document.querySelectorAll("details:not([open])")) {
      details.open = true;
      details.dataset.closed = "";
    }
    applyTheme();
    drawAll();
  });
  addEventListener("afterprint", () => {
    printing = false;
    for (const details of document.querySelectorAll("details[data-closed]")) {
      details.open = false;
      delete details.dataset.closed;
    }
    applyTheme();
    drawAll();
  });
  root.dataset.ready = plotly || places.length === 0 ? "yes" : "no";
})();
