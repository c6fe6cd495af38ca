// What each worker did: a row of bars each.

const kBar = { from: 0, to: 1, tasks: 2, task: 3, subtree: 4, busy: 5, size: 6 };

class LaneChart {
  /// options: axis, view() -> {from, to, lanes}, label, onpick(task),
  ///          name(task) -> text for one task
  constructor(parent, options) {
    this.options = options;
    this.canvas = element("canvas", {
      class: "lanes", ...keyed(options.label, (event) => this.key(event)),
      onmousemove: (event) => this.point(event),
      ondblclick: () => options.axis.show(...options.axis.whole),
      onclick: (event) => { this.point(event); this.canvas.focus(); },
    });
    this.readout = readoutLine();
    parent.append(this.canvas, this.readout);
    options.axis.followers.push(() => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(parent);
    charts.push(this);
    this.lane = 0;
    this.bar = -1;
    this.redraw();
  }

  /// Height of a row in pixels.
  get row() {
    const rows = this.options.view().lanes.length;
    return Math.max(6, Math.min(26, Math.floor(420 / rows)));
  }

  time(view, tick) {
    return view.from + ((view.to - view.from) * tick) / 1e6;
  }

  x(time) {
    const { axis } = this.options;
    const inner = this.canvas.clientWidth - kGutter - kMargin;
    return kGutter + (inner * (time - axis.from)) / (axis.to - axis.from);
  }

  redraw() {
    const view = this.options.view();
    const row = this.row;
    const height = row * view.lanes.length + 4;
    const width = this.canvas.clientWidth;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.max(1, width * devicePixelRatio);
    this.canvas.height = height * devicePixelRatio;
    const ctx = this.canvas.getContext("2d");
    ctx.scale(devicePixelRatio, devicePixelRatio);
    ctx.font = "12px system-ui, sans-serif";
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    const every = Math.ceil(14 / row);
    view.lanes.forEach((lane, k) => {
      const top = 2 + k * row;
      if (k % every === 0) {
        ctx.fillStyle = colour("quiet");
        const name = lane.workers === 1 ? `${lane.first_worker}`
          : `${lane.first_worker}–${lane.first_worker + lane.workers - 1}`;
        ctx.fillText(name, kGutter - 8, top + row / 2);
      }
      ctx.fillStyle = colour("short");
      ctx.fillRect(kGutter, top, width - kGutter - kMargin, row - 1);
    });
    ctx.save();
    ctx.beginPath();
    ctx.rect(kGutter, 0, width - kGutter - kMargin, height);
    ctx.clip();
    view.lanes.forEach((lane, k) => this.drawLane(ctx, view, lane, 2 + k * row));
    this.drawChoice(ctx, view);
    ctx.restore();
  }

  drawLane(ctx, view, lane, top) {
    const height = this.row - 1;
    const palette = {};
    const { axis } = this.options;
    for (let b = 0; b < lane.bars.length; b += kBar.size) {
      const from = this.time(view, lane.bars[b + kBar.from]);
      const to = this.time(view, lane.bars[b + kBar.to]);
      if (to < axis.from || from > axis.to) continue;
      const left = this.x(from);
      const width = this.x(to) - left;
      const name = subtreeColour(lane.bars[b + kBar.subtree]);
      palette[name] = palette[name] || colour(name);
      ctx.fillStyle = palette[name];
      const full = (height * lane.bars[b + kBar.busy]) / 100;
      const gap = width > 4 ? 1 : 0;  // between tasks that can be told apart
      ctx.fillRect(left, top + height - full, Math.max(width - gap, 0.5), full);
    }
  }

  drawChoice(ctx, view) {
    const lane = view.lanes[this.lane];
    const b = this.bar * kBar.size;
    if (!lane || this.bar < 0 || b >= lane.bars.length) return;
    const left = this.x(this.time(view, lane.bars[b]));
    const right = this.x(this.time(view, lane.bars[b + 1]));
    ctx.strokeStyle = colour("text");
    ctx.lineWidth = 2;
    ctx.strokeRect(left - 1, 2 + this.lane * this.row - 1, Math.max(right - left, 2) + 1,
      this.row + 1);
  }

  point(event) {
    const view = this.options.view();
    const { axis } = this.options;
    const lane = Math.floor((event.offsetY - 2) / this.row);
    const inner = this.canvas.clientWidth - kGutter - kMargin;
    const time = axis.from + ((event.offsetX - kGutter) / inner) * (axis.to - axis.from);
    const found = view.lanes[lane];
    if (!found) return;
    const tick = (1e6 * (time - view.from)) / (view.to - view.from);
    for (let b = 0; b < found.bars.length; b += kBar.size) {
      if (found.bars[b] <= tick && tick <= found.bars[b + 1]) {
        this.choose(lane, b / kBar.size);
        return;
      }
    }
    this.choose(lane, -1);
  }

  choose(lane, bar) {
    const view = this.options.view();
    this.lane = Math.max(0, Math.min(view.lanes.length - 1, lane));
    const row = view.lanes[this.lane];
    this.bar = Math.min(bar, row.bars.length / kBar.size - 1);
    this.readout.textContent = this.describe(view, row);
    this.redraw();
  }

  describe(view, lane) {
    const who = workers(lane.first_worker, lane.workers);
    if (this.bar < 0) return `${who}: idle`;
    const b = this.bar * kBar.size;
    const [from, to, tasks, task, subtree, busy] = lane.bars.slice(b, b + kBar.size);
    const what = task >= 0 ? this.options.name(task)
      : `${counted(tasks, "task")}, busy ${busy} % of the time`;
    const start = this.time(view, from);
    const end = this.time(view, to);
    return `${who}: ${what}, ${this.options.group(subtree)}, from ${runTime(start)} for ` +
      runTime(end - start);
  }

  key(event) {
    const view = this.options.view();
    const { axis } = this.options;
    const lane = view.lanes[this.lane];
    const step = (by) => {
      this.choose(this.lane, Math.max(0, this.bar + by));
      const b = this.bar * kBar.size;
      if (b >= 0 && b < lane.bars.length) axis.reach(this.time(view, lane.bars[b]));
    };
    const other = (by) => {
      const b = Math.max(0, this.bar) * kBar.size;
      const at = lane.bars[b] || 0;
      this.lane = Math.max(0, Math.min(view.lanes.length - 1, this.lane + by));
      const bars = view.lanes[this.lane].bars;
      let near = 0;
      while (near + kBar.size < bars.length && bars[near + 1] < at) near += kBar.size;
      this.choose(this.lane, bars.length > 0 ? near / kBar.size : -1);
    };
    const keys = {
      ArrowLeft: () => step(event.shiftKey ? -20 : -1),
      ArrowRight: () => step(event.shiftKey ? 20 : 1),
      ArrowUp: () => other(-1), ArrowDown: () => other(1),
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
      Home: () => axis.show(...axis.whole),
      Enter: () => {
        const task = this.bar < 0 ? -1 : lane.bars[this.bar * kBar.size + kBar.task];
        if (task >= 0 && this.options.onpick) this.options.onpick(task);
      },
    };
    if (!keys[event.key]) return;
    keys[event.key]();
    event.preventDefault();
  }

  zoom(factor) {
    const view = this.options.view();
    const lane = view.lanes[this.lane];
    const at = this.bar < 0 ? undefined : this.time(view, lane.bars[this.bar * kBar.size]);
    this.options.axis.zoom(factor, at);
  }
}
