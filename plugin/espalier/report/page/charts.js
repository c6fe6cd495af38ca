// Charts over one axis: they share what part of it is shown.

const kGutter = 92;  // left of every chart, so that their axes line up
const kMargin = 40;  // right of them

/// The part of an axis that pictures show together.
class Axis {
  constructor(from, to) {
    this.followers = [];
    this.setWhole(from, to);
  }
  setWhole(from, to) {
    this.whole = [from, to > from ? to : from + 1];
    this.show(...this.whole);
  }
  show(from, to) {
    const [first, last] = this.whole;
    const least = (last - first) * 1e-5;
    this.from = Math.max(first, from);
    this.to = Math.min(last, Math.max(to, this.from + least));
    for (const follow of this.followers) follow();
  }
  zoom(factor, around) {
    const at = around === undefined ? (this.from + this.to) / 2 : around;
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }
  /// Shows `at` without a change of scale.
  reach(at) {
    const width = this.to - this.from;
    if (at < this.from) this.show(at - width * 0.05, at + width * 0.95);
    if (at > this.to) this.show(at - width * 0.95, at + width * 0.05);
  }
}

const charts = [];  // all, to draw them again when the colours change

/// Attributes of a picture that takes keys, for those who cannot see it, too.
function keyed(label, key) {
  return { tabindex: 0, role: "img", "aria-label": label, onkeydown: key };
}

/// The line that says what is under the pointer.
function readoutLine() {
  return element("p", { class: "readout", "aria-live": "polite" });
}

/// A stack of areas.
///   axis     Axis
///   height   pixels
///   label    for those who cannot see it
///   xText    place on the axis -> text;  yText: likewise
///   data()   {x, layers: [{values, colour}] bottom first, lines: [{values, colour}],
///             rules: [{value, colour, text}], top}; called again by redraw()
///   read(k)  what the readout says of column k
class StackChart {
  constructor(parent, options) {
    this.options = options;
    this.box = element("div", {
      class: "chart", ...keyed(options.label, (event) => this.key(event)),
    });
    this.readout = readoutLine();
    parent.append(this.box, this.readout);
    options.axis.followers.push(() => this.follow());
    new ResizeObserver(() => {
      if (this.plot && this.box.clientWidth !== this.plot.width) this.resize();
    }).observe(this.box);
    charts.push(this);
    this.redraw();
  }

  resize() {
    this.plot.setSize({ width: this.box.clientWidth, height: this.options.height });
  }

  follow() {
    const { axis } = this.options;
    const { min, max } = this.plot.scales.x;
    if (min !== axis.from || max !== axis.to) {
      this.plot.setScale("x", { min: axis.from, max: axis.to });
    }
  }

  redraw() {
    if (this.plot) this.plot.destroy();
    const source = this.options.data();
    this.source = source;
    const columns = [source.x];
    const series = [{}];
    const stepped = uPlot.paths.stepped({ align: 1 });
    let sum = source.x.map(() => 0);
    const stacked = source.layers.map((layer) => {
      sum = sum.map((below, k) => below + layer.values[k]);
      return { values: sum, colour: layer.colour };
    });
    for (const layer of stacked.reverse()) {  // the highest first: the others hide it
      columns.push(layer.values);
      // Without a stroke: its joins would reach over the bound.
      series.push({ fill: colour(layer.colour), width: 0, paths: stepped,
        points: { show: false } });
    }
    for (const line of source.lines || []) {
      columns.push(line.values);
      series.push({ stroke: colour(line.colour), width: 1, paths: stepped,
        points: { show: false } });
    }
    this.plot = new uPlot(this.settings(source, series), columns, this.box);
  }

  settings(source, series) {
    const { axis, height, xText, yText } = this.options;
    const ink = { stroke: colour("quiet"), grid: { stroke: colour("grid"), width: 1 },
      ticks: { stroke: colour("grid"), width: 1 }, font: "12px system-ui, sans-serif" };
    return {
      width: this.box.clientWidth || 900, height, series,
      padding: [8, kMargin, 0, 0],
      legend: { show: false },
      scales: {
        x: { time: false, range: () => [axis.from, axis.to] },
        y: { range: () => [0, source.top > 0 ? source.top * 1.04 : 1] },
      },
      axes: [
        { ...ink, size: 30, space: 100, values: (_, marks) => marks.map(xText) },
        { ...ink, size: kGutter, splits: source.splits,
          values: (_, marks) => marks.map(yText) },
      ],
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      hooks: {
        draw: [(plot) => this.rules(plot)],
        setCursor: [(plot) => this.read(plot.cursor.idx)],
        setSelect: [(plot) => this.select(plot)],
        ready: [(plot) => plot.over.addEventListener("dblclick",
          () => axis.show(...axis.whole))],
      },
    };
  }

  select(plot) {
    const { left, width } = plot.select;
    if (width < 3) return;
    const from = plot.posToVal(left, "x");
    const to = plot.posToVal(left + width, "x");
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.options.axis.show(from, to);
  }

  rules(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    for (const rule of this.source.rules || []) {
      const y = Math.round(plot.valToPos(rule.value, "y", true));
      if (y < bbox.top - 1) continue;
      ctx.strokeStyle = ctx.fillStyle = colour(rule.colour);
      ctx.lineWidth = 2 * devicePixelRatio;
      ctx.setLineDash([8, 5]);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
    }
    if (this.options.mark !== undefined) {
      const x = Math.round(plot.valToPos(this.options.mark(), "x", true));
      if (x >= bbox.left && x <= bbox.left + bbox.width) {
        ctx.strokeStyle = colour("bound");
        ctx.lineWidth = devicePixelRatio;
        ctx.setLineDash([2, 3]);
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
      }
    }
    ctx.restore();
  }

  read(column) {
    this.readout.textContent =
      column === null || column === undefined ? "" : this.options.read(column);
  }

  key(event) {
    const { axis } = this.options;
    const x = this.source.x;
    const move = (by) => {
      const now = this.plot.cursor.idx;
      const middle = x.findIndex((at) => at >= axis.from);
      const next = now === null || now === undefined ? Math.max(middle, 0) : now + by;
      const at = Math.max(0, Math.min(x.length - 1, next));
      axis.reach(x[at]);
      this.plot.setCursor({ left: this.plot.valToPos(x[at], "x"), top: 1 });
    };
    const cursor = this.plot.cursor.idx;
    const around = cursor === null || cursor === undefined ? undefined : x[cursor];
    const keys = {
      ArrowLeft: () => move(event.shiftKey ? -20 : -1),
      ArrowRight: () => move(event.shiftKey ? 20 : 1),
      "+": () => axis.zoom(0.5, around), "=": () => axis.zoom(0.5, around),
      "-": () => axis.zoom(2, around), Home: () => axis.show(...axis.whole),
    };
    if (!keys[event.key]) return;
    keys[event.key]();
    event.preventDefault();
  }
}

/// Layers of a memory chart: its last part at the bottom.
function memoryLayers(memory, partColour) {
  const last = memory.parts.length - 1;
  const parts = [last, ...Array.from({ length: last }, (_, part) => part)];
  return parts.map((part) => ({ values: memory.parts[part], colour: partColour(part) }));
}

/// Four steps of whole units up to `top` bytes.
function byteSplits(top) {
  let step = 1;
  while (step * 5 < top) step *= 2;
  const fine = step / 2;
  const chosen = top / fine <= 6 ? fine : step;
  const splits = [];
  for (let at = 0; at <= top * 1.04; at += chosen) splits.push(at);
  return splits;
}
