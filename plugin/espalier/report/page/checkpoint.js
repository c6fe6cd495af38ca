// The page of a checkpointing schedule, from top to bottom.

function checkpointCost(value) {
  return data.figures.timed ? seconds(value) : `${count(Math.round(value))} steps`;
}

function sayCheckpointInShort() {
  const { figures, levels } = data;
  say(`${counted(figures.steps, "step")} are reversed with ${count(figures.advances)} `,
    `forward steps beside those of the backward steps; cost ${checkpointCost(figures.cost)}.`);
  if (figures.cost > figures.lower_bound) {
    say(`No schedule costs less than ${checkpointCost(figures.lower_bound)}; this one is `,
      `${figures.proof}.`);
  } else {
    say("No schedule costs less: this is proved.");
  }
  if (figures.sized) {
    say(`Memory: at most ${bytes(figures.peak_bytes)} of ${bytes(figures.bound_bytes)}.`);
  }
  for (const level of levels) {
    say(`${level.name}: ${counted(level.slots, "slot")}, ${counted(level.writes, "write")}, `,
      `${counted(level.reads, "read")}.`);
  }
}

function addCheckpointFigures() {
  const { figures, levels } = data;
  addFigures([
    ["steps to reverse", count(figures.steps)], ["forward steps", count(figures.advances)],
    ["cost", checkpointCost(figures.cost)],
    ["no schedule costs less than", checkpointCost(figures.lower_bound)],
    ...(figures.sized ? [["bound", bytes(figures.bound_bytes)],
      ["peak", bytes(figures.peak_bytes)]] : []),
    ...levels.map((level) => [`${level.name}, slots`, count(level.slots)]),
  ]);
}

/// What is held over time: slots by level, or bytes.
function addCheckpointHeld(axis) {
  const { figures, levels, held } = data;
  const where = (x) => `after ${checkpointCost(x)}`;
  if (figures.sized) {
    const names = ["held", "of the step that runs"];
    const node = section("Memory over time", legend([["s0", names[0]], ["s5", names[1]],
      ["bound", "bound", true]]));
    memoryChart(node, axis, () => held, { bound: figures.bound_bytes, least: 0,
      label: "Memory over time", partColour: (part) => ["s0", "s5"][part],
      partName: (part) => names[part], xText: checkpointCost, where });
    return;
  }
  const colours = levels.map((_, k) => `s${k % 7}`);
  const node = section("Slots in use over time",
    legend(levels.map((level, k) => [colours[k], level.name])));
  const { memory } = held;
  const top = memory.high.reduce((a, b) => Math.max(a, b), 1);
  new StackChart(node, { axis, height: 220, label: "Slots in use over time",
    xText: checkpointCost, yText: (value) => (Number.isInteger(value) ? count(value) : ""),
    data: () => ({ x: withEnd(memory, memory.time),
      layers: memory.parts.map((values, k) =>
        ({ values: withEnd(memory, values), colour: colours[k] })), top }),
    read(k) {
      const c = Math.min(k, memory.high.length - 1);
      return `${where(memory.time[c])}: ` + levels.map((level, part) =>
        `${count(memory.parts[part][c])} of ${count(level.slots)} ${level.name}`).join(", ");
    } });
}

/// The step of the working state over time.
function addCheckpointSteps(axis) {
  const { memory } = data.working;
  const node = section("Where the working state is");
  const top = data.figures.steps;
  new StackChart(node, { axis, height: 220, label: "Step of the working state over time",
    xText: checkpointCost, yText: (value) => (Number.isInteger(value) ? count(value) : ""),
    data: () => ({ x: withEnd(memory, memory.time), layers: [],
      lines: [{ values: withEnd(memory, memory.high), colour: "s0" },
        ...(memory.exact ? [] : [{ values: withEnd(memory, memory.low), colour: "floor" }])],
      top }),
    read(k) {
      const c = Math.min(k, memory.high.length - 1);
      const low = memory.low[c] === memory.high[c] ? "" : `${count(memory.low[c])} to `;
      return `after ${checkpointCost(memory.time[c])}: step ${low}${count(memory.high[c])}`;
    } });
}

/// The least cost of every bound.
function addCheckpointCurve() {
  const { curve, figures } = data;
  const last = curve.bytes.length - 1;
  const end = curve.bytes[last] + Math.max(1, (curve.bytes[last] - curve.bytes[0]) / 50);
  const axis = new Axis(curve.bytes[0], end);
  const node = section("Least cost for every bound", legend([["s0", "cost"],
    ["least", `every stage once: ${checkpointCost(curve.cost[last])}`, true]]));
  new StackChart(node, { axis, height: 250, label: "Least cost for every bound",
    mark: () => figures.bound_bytes, xText: bytes, yText: checkpointCost,
    data: () => ({ x: [...curve.bytes, end],
      layers: [{ values: [...curve.cost, curve.cost[last]], colour: "s0" }],
      rules: [{ value: curve.cost[last], colour: "least" }], top: curve.cost[0] }),
    read(k) {
      const c = Math.min(k, last);
      return `from ${bytes(curve.bytes[c])} (${count(curve.bytes[c])} bytes) on: ` +
        `${checkpointCost(curve.cost[c])}`;
    } });
}

function showCheckpoint() {
  sayCheckpointInShort();
  addCheckpointFigures();
  const axis = new Axis(data.held.from, data.held.to);
  addCheckpointHeld(axis);
  addCheckpointSteps(axis);
  if (data.curve) addCheckpointCurve();
}
