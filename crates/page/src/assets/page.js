"use strict";
// The page works without this script, but for charts, copying and the choice of a theme.
(async () => {
  const root = document.documentElement;
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  const coarse = matchMedia("(pointer: coarse)").matches;
  const printWidth = (place) => parseInt(getComputedStyle(place).getPropertyValue("--print-width"));
  // As in the style sheet.
  const PRINT_HEIGHT = 148;
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
  const { charts, intervals } = JSON.parse(document.getElementById("chart-data").textContent);
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
      ...(from.labels.length > 0 && {
        mode: "lines+markers+text", text: from.labels, textposition: "top center", cliponaxis: false,
        hovertemplate: "%{text}: " + UNITS[unit].hover,
      }),
      line: { color: colour(from.colour), width: from.fill === "stacked" ? 0.8 : 1.8, dash: from.stroke },
      ...fills[from.fill],
      ...(from.has_markers && isRepeated(from.colour) && { marker: { symbol: "diamond-open", size: 9 } }),
      ...(from.on_right && { yaxis: "y2" }),
      ...(from.is_hidden && { visible: "legendonly" }),
    };
  }
  // More bars, as those of a histogram, have no room for their numbers, nor have those that others overlap.
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
      ...(from.bars.length <= MOST_NUMBERED && from.opacity > 0.6 && {
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
  // The share of each duration in its interval, as colours on one linear scale. Cells without any stay empty.
  function heat(from, at) {
    const rows = from.percents.map((row) => row.map((percent) => (percent > 0 ? percent : null)));
    return {
      type: "heatmap", x: from.x_edges, y: from.y_edges, z: rows,
      zmin: 0, zmax: rows.flat().reduce((most, percent) => Math.max(most, percent), 0),
      colorscale: [0, 1, 2, 3, 4].map((step) => [step / 4, colour("heat" + step)]),
      colorbar: { title: { text: "% of " + from.of, side: "right" }, thickness: 10, outlinewidth: 0 },
      hovertemplate: `%{y:.3s}s at ${at}: %{z:.3~r} % of the ` + from.of + " of this interval<extra></extra>",
      hoverongaps: false, showlegend: false,
    };
  }

  // ---- charts over intervals: their marks are made anew for the part of the time that is looked at
  const ALONE_PX = 6;
  const MERGED_PX = 2;
  // A shorter gap, as a share of the interval before it, comes from the clock.
  const CLOCK = 0.05;

  const isDated = (series) => series.names.length === 0;
  // A place on the axis, whose dates are milliseconds.
  const shown = (series, at) => (isDated(series) ? at * 1000 : at);
  function shownAt(series, value) {
    if (!isDated(series)) return Number(value);
    if (typeof value === "number") return value / 1000;
    const text = String(value).replace(" ", "T");
    return Date.parse(text.includes("T") ? text + "Z" : text) / 1000;
  }
  function rangeOf(series) {
    const [begin, end] = [series.spans[0][0], series.spans.at(-1)[1]];
    const edge = (end - begin) / 200;
    return [begin - edge, end + edge];
  }
  // The intervals of a range. Those that would share a pixel are one mark; one that stands alone is wide enough to be seen.
  function marksOf(series, [from, to], width) {
    const pixel = (to - from) / width;
    const marks = [];
    series.spans.forEach(([begin, end], at) => {
      if (end < from || begin > to) return;
      const last = marks.at(-1);
      if (last && end - last.begin < MERGED_PX * pixel) Object.assign(last, { end, after: at + 1 });
      else marks.push({ begin, end, at, after: at + 1 });
    });
    for (const [nth, mark] of marks.entries()) {
      const gap = nth + 1 < marks.length ? marks[nth + 1].begin - mark.end : Infinity;
      mark.gap = gap <= Math.max(pixel, CLOCK * (mark.end - mark.begin)) ? 0 : gap;
      const room = Math.min(mark.gap, nth > 0 ? marks[nth - 1].gap : Infinity) / 4;
      const margin = Math.min(room, Math.max(0, (ALONE_PX * pixel - (mark.end - mark.begin)) / 2));
      mark.left = mark.begin - margin;
      // A gap that is not drawn leaves no stripe either.
      mark.right = mark.gap === 0 ? marks[nth + 1].begin : mark.end + margin;
    }
    return marks;
  }
  // The least and the largest value of a mark in order of time, each in the middle of its interval.
  function extremes(series, values, mark) {
    let low = -1, high = -1;
    for (let at = mark.at; at < mark.after; at++) {
      if (values[at] === null) continue;
      if (low < 0 || values[at] < values[low]) low = at;
      if (high < 0 || values[at] > values[high]) high = at;
    }
    if (low < 0) return [];
    const ends = values[low] === values[high] ? [low] : [Math.min(low, high), Math.max(low, high)];
    return ends.map((at) => [(series.spans[at][0] + series.spans[at][1]) / 2, values[at]]);
  }
  // A line through contiguous intervals. It breaks at gaps; an interval alone is level over its width.
  function levelLine(from, series, marks) {
    const x = [], y = [];
    const add = (at, value) => { x.push(shown(series, at)); y.push(value); };
    let run = [], alone = null;
    const finish = () => {
      if (run.length === 1) {
        add(alone.left, run[0][1]);
        add(alone.right, run[0][1]);
      } else {
        for (const [at, value] of run) add(at, value);
      }
      if (run.length > 0) add(alone.right, null);
      run = [];
    };
    for (const mark of marks) {
      const points = extremes(series, from.y, mark);
      if (points.length === 0) finish();
      run.push(...points);
      alone = mark;
      if (mark.gap > 0) finish();
    }
    finish();
    return {
      type: "scatter", mode: "lines", x, y, line: { color: colour(from.colour), width: 1.8, dash: from.stroke },
    };
  }
  // Bars over the widths of their marks, with the means of those that share one.
  function levelBars(from, series, marks) {
    const mean = (mark) => {
      let [sum, time] = [0, 0];
      for (let at = mark.at; at < mark.after; at++) {
        const [begin, end] = series.spans[at];
        if (from.y[at] === null) continue;
        sum += from.y[at] * (end - begin);
        time += end - begin;
      }
      return time > 0 ? sum / time : null;
    };
    return {
      type: "bar", x: marks.map((mark) => shown(series, (mark.left + mark.right) / 2)), y: marks.map(mean),
      width: marks.map((mark) => shown(series, mark.right - mark.left)),
      marker: { color: colour(from.colour, 0.75), line: { width: 0 } },
    };
  }
  function levels(from, unit, series, marks) {
    return {
      ...(from.is_stacked ? levelBars : levelLine)(from, series, marks),
      name: from.name, hovertemplate: UNITS[unit].hover, ...(from.is_hidden && { visible: "legendonly" }),
    };
  }
  // A column for each mark, with the mean shares of its intervals that have any, and an empty one for each gap.
  function heatOf(from, series, marks) {
    const edges = [];
    const percents = from.percents.map(() => []);
    for (const mark of marks) {
      if (edges.length === 0 || mark.left > edges.at(-1)) {
        if (edges.length > 0) percents.forEach((row) => row.push(0));
        edges.push(mark.left);
      }
      edges.push(mark.right);
      const own = Array.from({ length: mark.after - mark.at }, (_, nth) => mark.at + nth);
      const known = own.filter((at) => from.percents.some((row) => row[at] > 0));
      from.percents.forEach((row, nth) => {
        const sum = known.reduce((total, at) => total + row[at], 0);
        percents[nth].push(known.length > 0 ? sum / known.length : 0);
      });
    }
    const at = isDated(series) ? "%{x|%Y-%m-%d %H:%M}" : "%{x}";
    return heat({ ...from, x_edges: edges.map((edge) => shown(series, edge)), percents }, at);
  }
  // Axis of time for a range: dates, or the names of some reports.
  function intervalAxis(series, range, marks) {
    const own = { range: range.map((end) => shown(series, end)), rangemode: "normal" };
    if (isDated(series)) return { ...own, type: "date", hoverformat: "%Y-%m-%d %H:%M" };
    const named = marks.filter((_, nth) => nth % Math.ceil(marks.length / 5) === 0);
    const names = named.map((mark) => series.names[mark.at].replaceAll("\n", "<br>"));
    return { ...own, tickvals: named.map((mark) => mark.begin), ticktext: names };
  }

  function trace(from, chart) {
    if (from.type === "heat") return heat(from, "%{x:.4~g}");
    if (from.type === "bars") return bars(from, (from.is_horizontal ? chart.x : chart.y).unit);
    return line(from, (from.on_right && chart.right ? chart.right : chart.y).unit);
  }

  // 0.0002 is 200 µs.
  function seconds(value) {
    const [factor, unit] = [[1e-9, "ns"], [1e-6, "µs"], [1e-3, "ms"]].find(([factor]) => value < factor * 999.5) || [1, "s"];
    return +(value / factor).toPrecision(3) + " " + unit;
  }
  // Ticks of a logarithmic axis of times: as many as there is room for, in lengths of a name. They stay when a part is zoomed into.
  function timeTicks([low, high], room) {
    const ofDecade = room / Math.max(0.1, Math.log10(high / low));
    const digits = ofDecade < 3.4 ? [1] : ofDecade < 10.5 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 7];
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
    if (chart.traces.length < 2) return 0;
    const names = chart.traces.filter((trace) => trace.type !== "heat").map((trace) => trace.name);
    const longest = Math.max(...names.map((name) => name.length));
    const room = (printing ? printWidth(place) : place.clientWidth) - 90;
    return Math.ceil(names.length / Math.max(1, Math.floor(room / (7 * longest + 60))));
  }
  function figure(chart, place, lines) {
    const isClosest = chart.traces.some((from) => from.type === "heat") || chart.traces.every((from) => from.type === "bars");
    const across = (printing ? printWidth(place) : place.clientWidth) - (chart.right ? 112 : 70);
    const height = printing ? PRINT_HEIGHT + LEGEND_LINE * Math.max(0, lines - 1) : place.clientHeight;
    const up = height - 70 - LEGEND_LINE * lines;
    const zoomed = printing ? undefined : ranges.get(place.dataset.chart);
    const series = intervals[chart.intervals];
    const range = series ? zoomed || rangeOf(series) : zoomed;
    const marks = series && marksOf(series, range, across);
    const traces = chart.traces.map((from) => {
      if (!series) return trace(from, chart);
      return from.type === "heat" ? heatOf(from, series, marks) : levels(from, chart.y.unit, series, marks);
    });
    // The mean is to be seen over the colours.
    if (chart.traces[0].type === "heat") {
      traces.forEach((drawn, nth) => { if (chart.traces[nth].stroke === "solid") drawn.line.width = 3; });
    }
    const log = (name) => (chart[name].is_log && chart[name].names.length === 0 ? timeTicks(extent(traces, name), name === "x" ? across / 46 : up / 16) : {});
    const time = series ? intervalAxis(series, range, marks) : range && { range };
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
      bargap: 0, barmode: series ? "stack" : "overlay", uniformtext: { minsize: 9, mode: "hide" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("text-2"), activecolor: colour("text") },
      xaxis: axis(chart.x, across, { showgrid: false, showline: true, ticks: "outside", tickcolor: colour("line"), tickangle: 0, ...log("x"), ...time }),
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
        // Beside its line, away from that of the mark before it.
        ...chart.marks.map(([x, text]) => ({
          x: chart.x.is_log ? Math.log10(x) : x, xref: "x", y: 1, yref: "paper", text, textangle: -90, showarrow: false, yanchor: "top",
          xanchor: chart.marks.some(([other]) => other < x && other > 0.85 * x) ? "left" : "right",
          font: { size: 11, color: colour("text-2") },
        })),
        ...chart.traces.flatMap((from) => (from.bars || []).filter((bar) => bar.cut)).map((bar) => ({
          x: bar.at, xref: "x", y: bar.length + bar.error[1], yref: "y", text: bar.cut, showarrow: false, yanchor: "bottom",
          font: { size: 10, color: colour("text-2") },
        })),
      ],
    };
    if (chart.right) layout.yaxis2 = axis(chart.right, up, { overlaying: "y", side: "right", showgrid: false });
    if (printing) Object.assign(layout, { autosize: false, width: printWidth(place), height });
    // New marks leave what the reader hid, and the height that they chose; the range of time is always the one given.
    if (series) Object.assign(layout, { uirevision: "kept" }, { xaxis: { ...layout.xaxis, uirevision: String(range) } });
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
    const own = charts[source.dataset.chart].intervals;
    const series = intervals[own];
    const range = series ? given.map((end) => shownAt(series, end)) : given;
    const others = places.filter(({ dataset: { chart } }) => charts[chart].is_timeline && charts[chart].intervals === own);
    const moved = others.map((place) => {
      const name = place.dataset.chart;
      if (reset) ranges.delete(name); else ranges.set(name, range);
      return series ? draw(place) : plotly.relayout(place, { "xaxis.range": [...(reset ? charts[name].x.range : range)] });
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
