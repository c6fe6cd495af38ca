// The page of a pipeline: stages down, time across.

const kOperation = { kind: 0, batch: 1, chunk: 2, from: 3, to: 4, size: 5 };
const kKinds = [
  { short: "F", text: "forward", colour: "s0" },
  { short: "B", text: "gradient of the input", colour: "s2" },
  { short: "W", text: "gradients of the weights", colour: "s1" },
  { short: "B", text: "both gradients", colour: "s2" }];

function held(value) {
  const { unit } = data.figures;
  return unit === 1 ? bytes(value)
    : counted(value / unit, "micro-batch").replace(/hs$/, "hes");
}

function sayPipelineInShort() {
  const { figures } = data;
  const all = figures.makespan * figures.stages;
  say(`${counted(figures.micro_batches, "micro-batch").replace(/hs$/, "hes")} go through `,
    `${counted(figures.stages, "stage")} in ${seconds(figures.makespan)}; the stages are `,
    `idle ${percent(all - figures.busy, all)} of the time.`);
  const over = figures.makespan - figures.lower_bound;
  say(over > 1e-9 ? `No schedule takes less than ${seconds(figures.lower_bound)}; this one is `
    + `${percent(over, figures.lower_bound)} above.` : "No schedule takes less: this is proved.");
  const bound = figures.bound_bytes === null ? "" : ` of ${held(figures.bound_bytes)}`;
  say(`A stage holds at most ${held(figures.peak_bytes)}${bound}.`);
}

class PipelinePicture {
  constructor(parent, axis) {
    this.axis = axis;
    this.canvas = element("canvas", { class: "lanes", role: "img", tabindex: 0,
      "aria-label": "Operations of each stage over time" });
    this.readout = readoutLine();
    parent.append(this.canvas, this.readout);
    this.canvas.addEventListener("mousemove", (event) => this.read(event));
    this.canvas.addEventListener("dblclick", () => axis.show(...axis.whole));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    axis.followers.push(() => this.redraw());
    new ResizeObserver(() => {
      if (this.canvas.clientWidth !== this.width) this.redraw();
    }).observe(this.canvas);
    charts.push(this);
    this.redraw();
  }

  get row() {
    return Math.max(7, Math.min(30, Math.floor(480 / data.lanes.length)));
  }

  x(time) {
    const { axis } = this;
    return kGutter + ((time - axis.from) / (axis.to - axis.from)) *
      (this.width - kGutter - kMargin);
  }

  redraw() {
    this.width = this.canvas.clientWidth || 900;
    const row = this.row;
    const height = row * data.lanes.length + 26;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = this.width * devicePixelRatio;
    this.canvas.height = height * devicePixelRatio;
    const pen = this.canvas.getContext("2d");
    pen.scale(devicePixelRatio, devicePixelRatio);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const every = Math.ceil(14 / row);
    data.lanes.forEach((lane, d) => {
      pen.fillStyle = colour("short");
      pen.fillRect(kGutter, d * row, this.width - kGutter - kMargin, row - 2);
      if (d % every) return;
      pen.fillStyle = colour("quiet");
      pen.textAlign = "right";
      pen.fillText(`stage ${d}`, kGutter - 8, d * row + row / 2 - 1);
    });
    pen.save();
    pen.beginPath();
    pen.rect(kGutter, 0, this.width - kGutter - kMargin, height);
    pen.clip();
    pen.textAlign = "center";
    const inks = kKinds.map((kind) => colour(kind.colour));
    data.lanes.forEach((lane, d) => this.drawLane(pen, lane, d * row, row - 2, inks));
    pen.restore();
    this.drawTimes(pen, height);
  }

  drawLane(pen, lane, top, high, inks) {
    const chunks = data.figures.chunks / data.figures.stages;
    for (let k = 0; k < lane.length; k += kOperation.size) {
      const left = this.x(lane[k + kOperation.from] * 1e-9);
      const wide = this.x(lane[k + kOperation.to] * 1e-9) - left;
      if (left + wide < kGutter || left > this.width) continue;
      const kind = lane[k + kOperation.kind];
      const turn = Math.floor(lane[k + kOperation.chunk] / data.figures.stages);
      const gap = wide > 3 ? 1 : 0;
      pen.globalAlpha = chunks > 1 ? 1 - 0.6 * turn / chunks : 1;
      pen.fillStyle = inks[kind];
      pen.fillRect(left, top, Math.max(wide - gap, 0.5), high);
      if (kind === 3) {  // one operator for both: its end is what W would be
        pen.fillStyle = inks[2];
        pen.fillRect(left, top + high - Math.min(3, high / 3), Math.max(wide - gap, 0.5),
          Math.min(3, high / 3));
      }
      pen.globalAlpha = 1;
      const text = `${lane[k + kOperation.batch]}`;
      if (high > 11 && wide > 5 + 6 * text.length) {
        pen.fillStyle = chunks > 1 && turn > 0 ? colour("text") : "#ffffff";
        pen.fillText(text, left + wide / 2, top + high / 2 + 0.5);
      }
    }
  }

  drawTimes(pen, height) {
    pen.fillStyle = colour("quiet");
    pen.textAlign = "center";
    for (let k = 0; k <= 8; ++k) {
      const time = this.axis.from + (this.axis.to - this.axis.from) * k / 8;
      pen.fillText(seconds(time), this.x(time), height - 10);
    }
  }

  read(event) {
    const box = this.canvas.getBoundingClientRect();
    const d = Math.floor((event.clientY - box.top) / this.row);
    const lane = data.lanes[d];
    if (!lane) return;
    const inner = this.width - kGutter - kMargin;
    const time = (this.axis.from + ((event.clientX - box.left - kGutter) / inner) *
      (this.axis.to - this.axis.from)) * 1e9;
    let text = "idle";
    for (let k = 0; k < lane.length; k += kOperation.size) {
      if (lane[k + kOperation.from] > time || time >= lane[k + kOperation.to]) continue;
      const from = lane[k + kOperation.from] * 1e-9;
      text = `${kKinds[lane[k]].text} of micro-batch ${lane[k + kOperation.batch]}, chunk ` +
        `${lane[k + kOperation.chunk]}, from ${seconds(from)} for ` +
        seconds(lane[k + kOperation.to] * 1e-9 - from);
    }
    this.readout.textContent = `stage ${d}: ${text}`;
  }

  key(event) {
    const { axis } = this;
    const width = axis.to - axis.from;
    const keys = {
      ArrowLeft: () => axis.reach(axis.from - width / 4),
      ArrowRight: () => axis.reach(axis.to + width / 4),
      "+": () => axis.zoom(0.5), "=": () => axis.zoom(0.5), "-": () => axis.zoom(2),
      Home: () => axis.show(...axis.whole),
    };
    if (!keys[event.key]) return;
    keys[event.key]();
    event.preventDefault();
  }
}

/// Places of a scale of bytes, or of whole micro-batches.
function pipelineSplits() {
  const { peak_bytes: peak, unit } = data.figures;
  if (unit === 1) return byteSplits(peak);
  const step = Math.max(1, Math.ceil(peak / unit / 8));
  return Array.from({ length: Math.floor(peak / unit / step) + 1 }, (_, k) => k * step * unit);
}

/// What each stage holds over time, a line each.
function addPipelineMemory(axis) {
  const { figures } = data;
  const lines = data.held.devices.map((values, d) => ({ values, colour: `s${d % 7}` }));
  const ends = (values) => (data.held.end > data.held.time[data.held.time.length - 1]
    ? [...values, values[values.length - 1]] : values);
  const bound = figures.bound_bytes;
  const shown = bound !== null && bound <= 2.5 * figures.peak_bytes ? bound : 0;
  const node = section("What each stage holds", legend([
    ...lines.slice(0, 16).map((line, d) => [line.colour, `stage ${d}`]),
    ...(bound === null ? [] : [["bound", `bound ${held(bound)}`, true]])]));
  new StackChart(node, { axis, height: 260, label: "What each stage holds over time",
    xText: seconds, yText: (value) => (figures.unit === 1 ? bytes(value) : count(value / figures.unit)),
    data: () => ({ x: ends(data.held.time), layers: [],
      lines: lines.map((line) => ({ values: ends(line.values), colour: line.colour })),
      rules: shown ? [{ value: shown, colour: "bound" }] : [],
      top: Math.max(figures.peak_bytes, shown),
      splits: () => pipelineSplits() }),
    read(k) {
      const c = Math.min(k, data.held.time.length - 1);
      return `after ${seconds(data.held.time[c])}: ` + data.held.devices.slice(0, 8)
        .map((values, d) => `stage ${d} ${held(values[c])}`).join(", ");
    } });
}

function showPipeline() {
  const { figures } = data;
  sayPipelineInShort();
  addFigures([["step", seconds(figures.makespan)],
    ["no schedule takes less than", seconds(figures.lower_bound)],
    ["idle", percent(figures.makespan * figures.stages - figures.busy,
      figures.makespan * figures.stages)],
    ["most on a stage", held(figures.peak_bytes)],
    ...(figures.bound_bytes === null ? [] : [["bound", held(figures.bound_bytes)]]),
    ["micro-batches", count(figures.micro_batches)]]);
  const axis = new Axis(0, figures.makespan);
  const kinds = new Set(data.lanes.flatMap((lane) =>
    lane.filter((_, k) => k % kOperation.size === kOperation.kind)));
  const node = section("The step", legend([...kinds].sort().map((kind) =>
    [kKinds[kind].colour, `${kKinds[kind].short}: ${kKinds[kind].text}`])));
  new PipelinePicture(node, axis);
  addPipelineMemory(axis);
  section("Stages", plainTable([["Stage"], ["Busy", 1], ["Idle", 1], ["Idle part", 1],
    ["All the time", 1], ["At most", 1]], figures.devices.map((device, d) => [`${d}`,
    seconds(device.busy), seconds(device.idle), percent(device.idle, figures.makespan),
    figures.unit === 1 ? bytes(device.persistent) : "–", held(device.peak)])));
  for (const table of data.tables) {
    section(table.heading, plainTable(table.columns.map((text, k) =>
      [text, k > 0 && k + 1 < table.columns.length]), table.rows));
  }
}
