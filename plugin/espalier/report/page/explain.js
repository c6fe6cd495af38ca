// The page of a solve: what its figures of memory are made of.

const kPartColours = {
  analysis: "busy", baseline: "above", reserve: "short", run_to_run: "grid", fronts: "s0",
  factor_before: "s0", factor: "s0", factor_read: "s4", front_factor: "s4",
  front_contribution: "s1", front_children: "s2", front_working: "s3", waiting: "s5",
  vectors: "s6", solve: "s0", beside: "s3", elsewhere: "busy",
};

function partColour(part) {
  return kPartColours[part] ?? "above";
}

/// Parts side by side, in proportion; what is negative is taken off the one before it.
function partBar(figure) {
  const strip = element("div", { class: "strip", style: "height: 26px" });
  let from = 0;
  for (const { part, label, bytes: size } of figure.parts) {
    if (size > 0) {
      strip.append(element("i", { title: `${label}: ${bytes(size)}`,
        style: `left: ${(100 * from) / figure.bytes}%; ` +
          `width: ${(100 * size) / figure.bytes}%; background: var(--${partColour(part)})` }));
    }
    from += size;
  }
  return strip;
}

function chainRows(figure) {
  return figure.chain.flatMap((front, k) => {
    const name = front.node < 0 ? "kept by roots"
      : `${k === 0 ? "front" : "waiting for front"} ${count(front.front)}`;
    const size = front.children_bytes + (k === 0 ? figure.own_bytes : 0);
    return [[name, front.node < 0 ? "" : count(front.order), bytes(size), count(size)],
      ...front.children.map((block) => [`– block of front ${count(block.front)}`,
        count(block.rows), bytes(block.bytes), count(block.bytes)])];
  });
}

function showFigure(figure) {
  const whose = figure.process === undefined ? "" : ` of process ${figure.process}`;
  const node = section(`${figure.label}${whose}: ${bytes(figure.bytes)}`,
    element("p", { class: "quiet" }, `Most is in memory in the ${figure.phase}.`),
    partBar(figure),
    plainTable([["Part"], ["", 1], ["Bytes", 1], ["Of all", 1]], figure.parts.map(
      ({ part, label, bytes: size }) => [[chip(partColour(part)), label], bytes(size),
        count(size), percent(size, figure.bytes)])));
  if (!figure.chain) return;
  node.append(element("h3", {}, "The fronts alone, at their peak"),
    plainTable([["Front"], ["Rows", 1], ["", 1], ["Bytes", 1]], chainRows(figure)));
}

function showMemory() {
  for (const figure of data.explain) {
    const most = figure.parts.reduce((a, b) => (b.bytes > a.bytes ? b : a));
    say(`${figure.label}: ${bytes(figure.bytes)}, of which ${bytes(most.bytes)} are: ` +
      `${most.label}.`);
  }
  addFigures(data.explain.map((figure) => [figure.label, bytes(figure.bytes)]));
  for (const figure of data.explain) showFigure(figure);
}
