// The page of a memory layout: time across, address up.

function sayLayoutInShort() {
  const { figures, peak } = data;
  say(`${counted(figures.buffers, "buffer")} in ${bytes(figures.capacity_bytes)}.`);
  sayGap("layout", figures.capacity_bytes, figures.lower_bound_bytes, figures.proved);
  if (peak) {
    say(`Most is alive at time ${count(peak.time)}: ${bytes(peak.bytes)} in `,
      `${counted(peak.alive, "buffer")}.`);
  }
}

const kBoxColours = ["s0", "s1", "s2", "s3", "s4", "s5", "s6"];

class LayoutPicture {
  constructor(parent) {
    this.canvas = element("canvas", { class: "lanes", role: "img",
      "aria-label": "Buffers, time across and address up" });
    this.readout = readoutLine();
    parent.append(this.canvas, this.readout);
    this.canvas.addEventListener("mousemove", (event) => this.read(event));
    new ResizeObserver(() => {
      if (this.canvas.clientWidth !== this.width) this.redraw();
    }).observe(this.canvas);
    charts.push(this);
    this.redraw();
  }

  x(time) {
    const [from, to] = data.window;
    return kGutter + (time - from) / (to - from) * (this.width - kGutter - kMargin);
  }

  y(address) {
    return 8 + (1 - address / (data.window[2] * 1.02)) * (this.height - 38);
  }

  redraw() {
    this.width = this.canvas.clientWidth || 900;
    this.height = 460;
    const scale = devicePixelRatio;
    this.canvas.width = this.width * scale;
    this.canvas.height = this.height * scale;
    this.canvas.style.height = `${this.height}px`;
    const pen = this.canvas.getContext("2d");
    pen.scale(scale, scale);
    if (data.grid) this.drawGrid(pen);
    this.drawBoxes(pen);
    this.drawAxes(pen);
  }

  drawGrid(pen) {
    const [from, to, top] = data.window;
    const wide = data.grid[0].length;
    const high = data.grid.length;
    pen.fillStyle = colour("busy");
    data.grid.forEach((line, row) => {
      const upper = this.y(top * (row + 1) / high);
      const lower = this.y(top * row / high);
      for (let k = 0; k < wide; ++k) {
        const level = parseInt(line[k], 36);
        if (level === 0) continue;
        pen.globalAlpha = level / 35;
        const left = this.x(from + (to - from) * k / wide);
        pen.fillRect(left, upper, this.x(from + (to - from) * (k + 1) / wide) - left,
          lower - upper);
      }
    });
    pen.globalAlpha = 1;
  }

  drawBoxes(pen) {
    pen.lineWidth = 0.5;
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    data.boxes.forEach(([name, lower, upper, offset, size], k) => {
      const left = this.x(lower);
      const top = this.y(offset + size);
      const wide = this.x(upper) - left;
      const high = this.y(offset) - top;
      pen.fillStyle = colour(kBoxColours[k % kBoxColours.length]);
      pen.globalAlpha = data.grid ? 0.55 : 0.8;
      pen.fillRect(left, top, wide, high);
      pen.globalAlpha = 1;
      pen.strokeStyle = colour("back");
      if (wide > 2 && high > 2) pen.strokeRect(left, top, wide, high);
      if (high > 13 && pen.measureText(name).width < wide - 6) {
        pen.fillStyle = colour("text");
        pen.fillText(name, left + 3, top + high / 2);
      }
    });
  }

  drawAxes(pen) {
    const [from, to, top] = data.window;
    const { capacity_bytes: capacity, lower_bound_bytes: bound } = data.figures;
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "right";
    for (const at of byteSplits(top)) {
      pen.strokeStyle = colour("grid");
      pen.fillStyle = colour("quiet");
      pen.fillRect(kGutter - 4, this.y(at), 4, 1);
      pen.fillText(bytes(at), kGutter - 8, this.y(at));
    }
    pen.textAlign = "center";
    for (let k = 0; k <= 8; ++k) {
      const at = Math.round(from + (to - from) * k / 8);
      pen.fillText(count(at), this.x(at), this.height - 10);
    }
    pen.textAlign = "left";
    const rule = (value, name) => {
      pen.strokeStyle = colour(name);
      pen.lineWidth = 1.5;
      pen.setLineDash([8, 5]);
      pen.beginPath();
      pen.moveTo(kGutter, this.y(value));
      pen.lineTo(this.width - kMargin, this.y(value));
      pen.stroke();
      pen.setLineDash([]);
    };
    rule(bound, "least");
    if (capacity !== bound) rule(capacity, "bound");
  }

  read(event) {
    const box = this.canvas.getBoundingClientRect();
    const [from, to, top] = data.window;
    const time = from + (event.clientX - box.left - kGutter) /
      (this.width - kGutter - kMargin) * (to - from);
    const address = (1 - (event.clientY - box.top - 8) / (this.height - 38)) * top * 1.02;
    const hit = data.boxes.find(([, lower, upper, offset, size]) =>
      lower <= time && time < upper && offset <= address && address < offset + size);
    this.readout.textContent = hit
      ? `${hit[0]}: ${bytes(hit[4])} at ${count(hit[3])}, alive in [${count(hit[1])}, ` +
        `${count(hit[2])})` : "";
  }
}

function showLayout() {
  const { figures, peak } = data;
  sayLayoutInShort();
  addFigures([
    ["buffers", count(figures.buffers)], ["capacity", bytes(figures.capacity_bytes)],
    ["no layout needs less than", bytes(figures.lower_bound_bytes)],
    ["most alive at one time", bytes(figures.load_bytes)],
    ["all buffers side by side", bytes(figures.total_bytes)],
  ]);
  const proved = figures.capacity_bytes === figures.lower_bound_bytes;
  const node = section("Memory over time",
    element("p", { class: "quiet" }, data.grid
      ? `The ${count(data.boxes.length)} buffers of largest area; the darker the ground ` +
        "the fuller is a cell with all others." : "Every box is a buffer."),
    legend([["least", `no layout needs less than ${bytes(figures.lower_bound_bytes)}`, true],
      ...(proved ? [] : [["bound", `capacity ${bytes(figures.capacity_bytes)}`, true]])]));
  new LayoutPicture(node);
  if (!peak) return;
  section("What is alive at the time of the largest load",
    element("p", { class: "quiet" }, `${counted(peak.alive, "buffer")}; the ` +
      `${count(peak.largest.length)} largest:`),
    plainTable([["Buffer"], ["Bytes", 1], ["Part", 1], ["Offset", 1], ["From", 1],
      ["To", 1]], peak.largest.map(([name, lower, upper, offset, size]) => [name,
      bytes(size), percent(size, peak.bytes), count(offset), count(lower), count(upper)])));
}
