// What pages have in common: head, figures, charts of memory.

function withEnd(columns, values) {
  return columns.end > columns.time[columns.time.length - 1]
    ? [...values, values[values.length - 1]] : values;
}

/// A memory chart of what `view()` shows.
///   bound, least         dashed lines; bound may be missing
///   partColour(part), partName(part)  of MemoryChart's parts
///   xText(x), where(x)   a place on the axis, for the axis and for the readout
///   top                  bytes that the scale has to reach at least
///   mark()               place of a line from top to bottom
function memoryChart(parent, axis, view, options) {
  const { bound, least, xText, where } = options;
  return new StackChart(parent, {
    axis, height: options.height || 250, label: options.label, xText, yText: bytes,
    mark: options.mark,
    data() {
      const { memory } = view();
      const most = memory.high.reduce((a, b) => Math.max(a, b), options.top || 0);
      // A bound far away would flatten the picture.
      const shown = bound === undefined || bound > 2.5 * most ? 0 : bound;
      const top = Math.max(most, least, shown);
      const rules = [];
      if (least > 0) rules.push({ value: least, colour: "least" });
      if (shown > 0) rules.push({ value: shown, colour: "bound" });
      return {
        x: withEnd(memory, memory.time),
        layers: memoryLayers(memory, options.partColour).map((layer) =>
          ({ values: withEnd(memory, layer.values), colour: layer.colour })),
        lines: memory.exact ? [] : [{ values: withEnd(memory, memory.low), colour: "floor" }],
        rules, top, splits: () => byteSplits(top),
      };
    },
    read(k) {
      const { memory } = view();
      const c = Math.min(k, memory.high.length - 1);
      const low = memory.exact ? "" : `, never below ${bytes(memory.low[c])}`;
      const parts = memory.parts.map((values, part) => [values[c], part])
        .filter(([held]) => held > 0).sort((a, b) => b[0] - a[0]).slice(0, 3)
        .map(([held, part]) => `${bytes(held)} ${options.partName(part)}`);
      return `${where(memory.time[c])}: at most ${bytes(memory.high[c])}${low}; ` +
        parts.join(", ");
    },
  });
}

/// Buttons that choose between the whole and the neighbourhood of the peak.
function chooser(parts, choose) {
  const buttons = parts.map(([name, text]) => element("button", {
    type: "button", "aria-pressed": "false", onclick: () => pick(name),
  }, text));
  function pick(name) {
    parts.forEach(([each], k) => buttons[k].setAttribute("aria-pressed", `${each === name}`));
    choose(name);
  }
  return [buttons, pick];
}

function nearText(view) {
  return `${counted(view.memory.time.length, "moment")} around the peak, each as it is`;
}

/// Memory over the steps of one order, all of it or around its peak.
///   order          {whole, peak}: views with their memory
///   put(bar)       where: puts the bar with the buttons there, returns the node
///   options        of memoryChart()
function orderChart(order, put, options) {
  let view = order.whole;
  const axis = new Axis(view.from, view.to);
  let chart;
  const note = element("span", { class: "quiet" });
  const [buttons, pick] = chooser([["whole", "Whole order"], ["peak", "Around the peak"]],
    (name) => {
      view = order[name];
      note.textContent = name === "peak" ? nearText(view) : "";
      axis.setWhole(view.from, view.to);
      if (chart) chart.redraw();
    });
  const node = put(element("div", { class: "bar" }, ...buttons, note));
  chart = memoryChart(node, axis, () => view,
    { xText: (k) => (Number.isInteger(k) ? count(k) : ""), ...options });
  pick("whole");
}

/// What stands between an answer and the bound that no answer passes.
function sayGap(answer, held, bound, proved) {
  if (proved) {
    say(`No ${answer} needs less: this is proved.`);
  } else {
    const gap = held - bound;
    say(`No ${answer} needs less than ${bytes(bound)}; between the two `,
      `are ${bytes(gap)}, ${percent(gap, bound)} of the lower bound.`);
  }
}

function say(...text) {
  document.getElementById("answer").append(element("li", {}, ...text));
}

/// rows: [what, value], both text.
function addFigures(rows) {
  document.getElementById("figures").append(...rows.map(([what, value]) =>
    element("div", {}, element("dt", {}, what), element("dd", {}, value))));
}

/// columns: [heading, whether it is a number]; rows: lists of text or nodes.
function plainTable(columns, rows) {
  const kind = (k) => (columns[k][1] ? { class: "number" } : {});
  return element("div", { class: "scroll" }, element("table", {},
    element("thead", {}, element("tr", {}, ...columns.map(([text], k) =>
      element("th", { scope: "col", ...kind(k) }, text)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((cell, k) =>
      element("td", kind(k), ...[cell].flat())))))));
}

function chip(name) {
  return element("span", { class: "chip", style: `background: var(--${name})` });
}

function addHead() {
  document.title = `Espalier: ${data.title}`;
  document.getElementById("title").textContent = data.title;
  document.getElementById("facts").textContent =
    data.facts.map(([what, value]) => `${what} ${value}`).join(" · ");
}
