/* The charts of a report. All data comes from the element #data; nothing is loaded, no text becomes markup. */
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const explorer = document.getElementById("explorer-section");
  if (data === null || data.phases.length === 0) { explorer.hidden = true; return; }

  const unpacked = ({ unit, steps }) => {
    let sum = 0;
    return steps.map(step => step === null ? null : (sum += step) * unit);
  };
  const points = {
    names: data.points.names,
    submitted: unpacked(data.points.submitted),
    delays: Object.fromEntries(Object.entries(data.points.delays).map(([key, column]) => [key, unpacked(column)])),
  };
  const phases = Object.fromEntries(data.phases.map(phase => [phase.key, phase]));

  /* -- words ------------------------------------------------------------------------------------------------- */
  const UNITS = [[1e-6, "µs"], [1e-3, "ms"], [1, "s"], [60, "min"], [3600, "h"]];
  const unitFor = largest => UNITS.findLast(([size]) => largest >= size * (size >= 60 ? 5 : 1)) ?? UNITS[0];
  const rounded = value => String(Number(value.toPrecision(4)));
  const span = value => {
    if (value === null || value === undefined) return "–";
    const [size, name] = unitFor(Math.abs(value));
    return `${rounded(value / size)} ${value === 0 ? "s" : name}`;
  };
  const spans = splits => {
    const [size, name] = unitFor(Math.max(...splits.map(Math.abs)));
    return splits.map(split => `${rounded(split / size)} ${name}`);
  };
  const two = value => String(value).padStart(2, "0");
  const clock = value => {
    const whole = Math.floor(value + 1e-9), part = value - whole;
    const [hours, minutes, seconds] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
    const text = hours ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
    return part > 5e-4 ? text + part.toFixed(3).slice(1) : text;
  };
  const clocks = splits => splits[splits.length - 1] < 10 ? spans(splits) : splits.map(clock);
  const figure = value => value === null || value === undefined ? "–" : Number(value.toFixed(2)).toLocaleString("en");
  const figures = splits => splits.map(split => Number(split.toPrecision(6)).toLocaleString("en"));

  /* -- charts ------------------------------------------------------------------------------------------------ */
  const CLOCK_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
  for (let size = 0.5; size > 1e-6; size /= 10) CLOCK_STEPS.unshift(size / 5, size / 2.5, size);
  for (let days = 2; days < 1000; days *= 2) CLOCK_STEPS.push(days * 86400);
  const color = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const place = name => document.querySelector(`[data-chart="${name}"]`);
  const drawn = new Map();

  const axis = (values, more) => ({
    stroke: color("soft"), grid: { stroke: color("grid"), width: 1 }, ticks: { stroke: color("line"), width: 1 },
    font: "12px system-ui, sans-serif", values: (_, splits) => values(splits), ...more,
  });
  const widest = (self, values) => values === null ? 50
    : 22 + Math.max(...values.map(value => value.length)) * 7;

  function accessibleLegend(chart) {
    chart.root.querySelectorAll(".u-legend .u-series").forEach((row, at) => {
      const name = row.querySelector("th");
      if (at === 0 || chart.series.length === 2) { name.style.cursor = "default"; return; }
      name.tabIndex = 0;
      name.setAttribute("role", "button");
      const told = () => name.setAttribute("aria-pressed", String(chart.series[at].show));
      told();
      name.addEventListener("click", () => setTimeout(told));
      name.addEventListener("keydown", event => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); name.click(); }
      });
    });
  }

  function resetButton(host) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "reset";
    button.textContent = "Zoom out";
    button.hidden = true;
    host.parentElement.append(button);
    return button;
  }

  function draw(name, { columns, series, x, y, sync, over }) {
    const host = place(name);
    if (!host) return;
    drawn.get(name)?.destroy();
    host.parentElement.querySelector(".reset")?.remove();
    const reset = resetButton(host);
    const [first, last] = x.range ?? [columns[0][0], columns[0][columns[0].length - 1]];
    const whole = last > first ? [first, last] : [first - 0.5, first + 0.5];
    const [dataFirst, dataLast] = [columns[0][0], columns[0][columns[0].length - 1]];
    const chart = new uPlot({
      width: host.clientWidth, height: 270,
      cursor: { sync: sync ? { key: sync } : undefined, focus: { prox: 24 }, drag: { x: true, y: false } },
      focus: { alpha: 0.35 },
      scales: {
        x: { time: false, range: (_, low, high) => high <= low || (low === dataFirst && high === dataLast) ? whole : [low, high] },
        y: { range: (_, low, high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.06 : 1] },
      },
      axes: [axis(x.values, { incrs: x.steps, space: 80 }), axis(y.values, { size: widest })],
      series: [{ label: x.label, value: (_, value, __, at) => value === null ? "–" : x.value(value, at) }, ...series.map(
        each => ({ width: 1.6, value: (_, value) => y.value(value), points: { show: false }, ...each }))],
      hooks: {
        draw: over ? [over] : [],
        setScale: [(self, key) => {
          if (key !== "x") return;
          const { min, max } = self.scales.x;
          reset.hidden = !(min > whole[0] + 1e-9 || max < whole[1] - 1e-9);
        }],
      },
    }, columns, host);
    reset.addEventListener("click", () => chart.setScale("x", { min: whole[0], max: whole[1] }));
    accessibleLegend(chart);
    drawn.set(name, chart);
  }

  const dots = (shade, extra) => ({
    stroke: shade, paths: () => null,
    points: { show: true, size: points.names.length > 2500 ? 3 : 4, fill: shade + "99", stroke: "transparent", width: 0 }, ...extra,
  });
  const bySubmission = {
    label: "Submitted", values: clocks, steps: CLOCK_STEPS,
    value: (value, at) => `${clock(value)}  ${points.names[at] ?? ""}`,
  };
  const inTime = { label: "Cluster time", values: clocks, steps: CLOCK_STEPS, value: value => clock(value) };
  const inSpans = { values: spans, value: span };
  const inFigures = { values: figures, value: figure };
  const SHADES = ["s1", "s3", "s2", "s5", "s4", "s6"];

  function drawTotals() {
    const totals = data.phases.filter(phase => phase.total);
    // How long a workload runs is its own affair and would dwarf the rest: hidden until asked for.
    const shown = totals.filter(phase => phase.key !== "totalFinished");
    draw("totals", {
      columns: [points.submitted, ...totals.map(phase => points.delays[phase.key])],
      series: totals.map((phase, at) => dots(color(SHADES[at]), {
        label: phase.title.replace(/^Total /, ""), show: shown.length === 0 || phase.key !== "totalFinished",
      })),
      x: bySubmission, y: inSpans,
    });
  }

  const { width, counts } = data.slices;
  const count = counts.submitted.length;
  const sliceStarts = Array.from({ length: count }, (_, at) => at * width);
  const wholeRun = [0, count * width];
  const stepped = (...more) => uPlot.paths.stepped({ align: 1 })(...more);

  function drawRates() {
    const named = [["submitted", "Submitted", "s1"], [counts.bound ? "bound" : "decided", "Scheduled", "s2"],
      ["running", "Running", "s3"], ["finished", "Finished", "s5"]].filter(([key]) => counts[key]);
    draw("rates", {
      columns: [sliceStarts, ...named.map(([key]) => counts[key].map(value => value / width))],
      series: named.map(([, label, shade]) => ({ label, stroke: color(shade), paths: stepped })),
      x: { ...inTime, range: wholeRun }, sync: "time",
      y: { values: figures, value: value => value === null || value === undefined ? "–" : `${figure(value)} /s` },
    });
  }

  function drawQueue() {
    const summed = key => { let sum = 0; return (counts[key] ?? counts.submitted.map(() => 0)).map(each => sum += each); };
    const less = (from, what) => from.map((value, at) => Math.max(0, value - what[at]));
    const placed = summed(counts.bound ? "bound" : "decided");
    const states = [["Waiting", "s1", less(summed("submitted"), placed)]];
    if (counts.running) {
      states.push(["Starting", "s2", less(placed, summed("running"))]);
      states.push(["Running", "s3", less(summed("running"), summed("finished"))]);
    }
    draw("queue", {
      columns: [[...sliceStarts, count * width], ...states.map(state => [0, ...state[2]])],
      series: states.map(([label, shade], at) => ({
        label, stroke: color(shade), fill: at === 0 ? color(shade) + "22" : undefined,
      })),
      x: { ...inTime, range: wholeRun }, y: inFigures, sync: "time",
    });
  }

  function drawGpus() {
    if (data.gpus === null) return;
    const { inUse, byRun, stranded, there } = data.gpus;
    // Rounded down, so that what is not full does not look full.
    const share = (value, at) => value === null || value === undefined ? "–"
      : there?.[at] ? `${figure(value)} (${Math.floor(100 * value / there[at])} %)` : figure(value);
    const value = (_, value, __, at) => share(value, at);
    const most = Math.max(...inUse);
    const shown = [
      [inUse, { label: "In use", stroke: color("s3"), fill: color("s3") + "2e", paths: stepped, value }],
      [byRun, { label: "By this run", stroke: color("s1"), paths: stepped, value }],
      [stranded, { label: "Stranded", stroke: color("s2"), paths: stepped, value, show: most > 0 && Math.max(...stranded ?? []) <= 10 * most }],
      [there, { label: "There", stroke: color("s4"), dash: [6, 4], paths: stepped, show: Math.max(...there ?? []) <= 10 * most }],
    ].filter(([column]) => column);
    draw("gpus", {
      columns: [sliceStarts, ...shown.map(([column]) => column)],
      series: shown.map(([, look]) => look),
      x: { ...inTime, range: wholeRun }, y: inFigures, sync: "time",
    });
  }

  function drawQueues() {
    if (data.queues === null) return;
    const { times, allocated, fairShare } = data.queues;
    const names = Object.keys(allocated);
    if (names.length === 0) return;
    const shade = at => color(SHADES[at % SHADES.length]);
    draw("queues", {
      columns: [times, ...names.map(name => allocated[name]), ...names.map(name => fairShare[name])],
      series: [
        ...names.map((name, at) => ({ label: name, stroke: shade(at), paths: stepped })),
        ...names.map((name, at) => ({ label: `${name}, fair share`, stroke: shade(at), dash: [6, 4], paths: stepped, show: false })),
      ],
      x: { ...inTime, range: wholeRun }, y: inFigures, sync: "time",
    });
  }

  function drawDevices() {
    if (!data.devices) return;
    const { allocated, there } = data.devices, most = Math.max(...allocated);
    draw("devices", {
      columns: [sliceStarts, allocated, there],
      series: [
        { label: "Allocated", stroke: color("s3"), fill: color("s3") + "2e", paths: stepped },
        { label: "There", stroke: color("s4"), dash: [6, 4], paths: stepped, show: Math.max(...there) <= 10 * most },
      ],
      x: { ...inTime, range: wholeRun }, y: inFigures, sync: "time",
    });
  }

  /* Lines across a histogram at the percentiles of its phase. */
  const percentiles = phase => chart => {
    const { ctx, bbox } = chart, ratio = devicePixelRatio;
    ctx.save();
    ctx.font = `${12 * ratio}px system-ui, sans-serif`;
    ctx.strokeStyle = ctx.fillStyle = color("s4");
    ctx.lineWidth = 1.5 * ratio;
    for (const [at, name] of ["p50", "p99"].entries()) {
      const x = chart.valToPos(phase[name], "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      const text = `${name} ${span(phase[name])}`, right = x + 6 * ratio + ctx.measureText(text).width < bbox.left + bbox.width;
      ctx.setLineDash(at ? [5 * ratio, 4 * ratio] : []);
      ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
      ctx.textAlign = right ? "left" : "right";
      ctx.fillText(text, x + (right ? 6 : -6) * ratio, bbox.top + (12 + 16 * at) * ratio);
    }
    ctx.restore();
  };

  let chosen = (phases.totalDecided ?? data.phases[0]).key;
  function drawPhase() {
    const phase = phases[chosen], shade = color("s1");
    draw("delays", {
      columns: [points.submitted, points.delays[chosen]], series: [dots(shade, { label: phase.title })],
      x: bySubmission, y: inSpans,
    });
    const { low, width: bin, counts: bars } = phase.histogram;
    draw("histogram", {
      columns: [bars.map((_, at) => low + (at + 0.5) * bin), bars],
      series: [{ label: "Workloads", stroke: shade, fill: shade + "88", width: 1,
        paths: uPlot.paths.bars({ size: [0.92, 60], align: 0 }) }],
      x: { label: "Delay", values: spans, range: [low, low + bars.length * bin],
        value: value => bin === 1 ? span(value) : `${span(value - bin / 2)} to ${span(value + bin / 2)}` },
      y: inFigures, over: percentiles(phase),
    });
    const shown = points.names.length, of = data.points.of.toLocaleString("en");
    document.querySelector(".drawn").textContent = `${phase.sentence}. ` + (shown < data.points.of
      ? `${shown.toLocaleString("en")} of ${of} workloads are drawn; none that sticks out is left out.`
      : `Every one of ${of} workloads is drawn.`);
  }

  function offerPhases() {
    const fieldset = document.querySelector(".choices");
    for (const phase of data.phases) {
      const label = document.createElement("label"), input = document.createElement("input"), text = document.createElement("span");
      Object.assign(input, { type: "radio", name: "phase", value: phase.key, checked: phase.key === chosen });
      input.addEventListener("change", () => { chosen = phase.key; drawPhase(); });
      text.textContent = phase.title;
      label.append(input, text);
      fieldset.append(label);
    }
  }

  function drawAll() {
    drawTotals(); drawRates(); drawQueue(); drawGpus(); drawQueues(); drawDevices(); drawPhase();
  }

  offerPhases();
  drawAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  const resized = new ResizeObserver(entries => {
    for (const { target, contentRect } of entries) {
      const chart = drawn.get(target.dataset.chart);
      if (chart && Math.abs(chart.width - contentRect.width) > 1) chart.setSize({ width: contentRect.width, height: chart.height });
    }
  });
  document.querySelectorAll(".chart").forEach(host => resized.observe(host));
  document.documentElement.dataset.charts = String(drawn.size);
})();
