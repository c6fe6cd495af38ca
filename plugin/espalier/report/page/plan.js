// The page of a plan, from top to bottom.

function groupName(subtree) {
  return subtree < 0 ? "above the coloured subtrees" : `in the subtree of ${data.subtrees[subtree]}`;
}

/// The last part of a plan's memory is that of the tasks above the subtrees.
function subtreeOfPart(part) {
  return part === data.subtrees.length ? -1 : part;
}

const kSubtreeParts = {
  partColour: (part) => subtreeColour(subtreeOfPart(part)),
  partName: (part) => groupName(subtreeOfPart(part)),
};

function memoryLegend(bound, exact) {
  const entries = data.subtrees.map((id, k) => [subtreeColour(k), `subtree of ${id}`]);
  if (data.subtrees.length > 0) entries.push(["above", "tasks above them, and small subtrees"]);
  else entries.push(["above", "memory"]);
  entries.push(["bound", `bound, ${bytes(bound)}`, true]);
  entries.push(["least", `no order needs less than ${bytes(data.figures.least_bytes)}`, true]);
  if (!exact) entries.push(["floor", "line: least that was held in the column", false]);
  return legend(entries);
}

/// The subtree that is to blame for the peak.
function sayWhere(peak) {
  const main = peak.main_holder;
  if (!main) {
    say("No single subtree holds more than half of it.");
    return;
  }
  const below = main.below.map(({ task, bytes: held }) => `${task} (${percent(held, peak.bytes)})`);
  const parts = below.length === 0 ? "" : below.length === 1
    ? `; below it, most is held by the subtree of ${below[0]}`
    : `; below it, most is held by the subtrees of ${below.join(", ")}`;
  say(`The smallest subtree that holds more than half of it is that of task ${main.task} (`,
    `${workers(main.first_worker, main.workers)}), with ${percent(main.bytes, peak.bytes)}`,
    `${parts}.`);
}

function sayInShort() {
  const { figures, peak } = data;
  if (peak) {
    const part = percent(peak.bytes, figures.bound_bytes);
    say(`Memory: at most ${bytes(peak.bytes)}, ${part} of the bound, first when task `,
      `${peak.task} starts, ${percent(peak.time, figures.makespan_flops)} into the run.`);
    const { running_bytes, output_bytes, retained_bytes } = peak.purposes;
    const purposes = [[running_bytes, "of tasks that run"],
      [output_bytes, "outputs that are read or wait to be"],
      [retained_bytes, "kept to the end"]].filter(([held]) => held > 0);
    say("That is ", purposes.map(([held, what]) =>
      `${percent(held, peak.bytes)} ${what}`).join(", "), ".");
    sayWhere(peak);
  }
  const use = figures.workers_use;
  say(`Workers: busy ${percent(use.busy, figures.workers)} of the time; idle `,
    `${percent(use.held, figures.workers)} while the bound holds ready tasks back, and `,
    `${percent(use.short_of_work, figures.workers)} while too few tasks are ready.`);
  const limits = [["work_bound_flops", "the work divided by the workers"],
    ["critical_path_flops", "the critical path"],
    ["memory_area_flops", "the memory that the work needs (memory area)"]];
  const best = limits.find(([key]) => figures[key] === figures.lower_bound_flops);
  const ratio = figures.lower_bound_flops > 0
    ? figures.makespan_flops / figures.lower_bound_flops : 1;
  say(`Time: ${runTime(figures.makespan_flops)}, ${ratio.toFixed(2)} × what no schedule `,
    `can beat: ${best ? best[1] : "the lower bound"}.`);
}

function addPlanFigures() {
  const { figures } = data;
  addFigures([
    ["tasks", count(figures.tasks)], ["workers", count(figures.workers)],
    ["work", flops(figures.work_flops)],
    ["bound", bytes(figures.bound_bytes)], ["least that suffices", bytes(figures.least_bytes)],
    ["peak of the simulated run", bytes(figures.peak_bytes)],
    ["peak on one worker", bytes(figures.witness_bytes)],
    ["simulated makespan", runTime(figures.makespan_flops)],
    ["no schedule takes less than", runTime(figures.lower_bound_flops)],
  ]);
}

function useChart(parent, axis, view, total) {
  return new StackChart(parent, {
    axis, height: 140, label: "busy and idle workers over time", xText: runTime,
    yText: (value) => `${value}`,
    data() {
      const { occupancy, from, to } = view();
      const columns = occupancy.busy.length;
      const x = Array.from({ length: columns + 1 }, (_, k) => from + ((to - from) * k) / columns);
      const rest = occupancy.busy.map((busy, k) => Math.max(0, total - busy - occupancy.held[k]));
      const layers = [["busy", occupancy.busy], ["held", occupancy.held], ["short", rest]];
      return { x, top: total, splits: () => [...new Set([0, Math.round(total / 2), total])],
        layers: layers.map(([name, values]) =>
          ({ colour: name, values: [...values, values[columns - 1]] })) };
    },
    read(k) {
      const { occupancy, from, to } = view();
      const c = Math.min(k, occupancy.busy.length - 1);
      const at = from + ((to - from) * c) / occupancy.busy.length;
      const rest = Math.max(0, total - occupancy.busy[c] - occupancy.held[c]);
      return `${runTime(at)}: ${occupancy.busy[c].toFixed(1)} workers busy, ` +
        `${occupancy.held[c].toFixed(1)} idle for memory, ${rest.toFixed(1)} idle as too few ` +
        "tasks are ready";
    },
  });
}

function addRun(outline) {
  const { figures, run } = data;
  let view = run.whole;
  const axis = new Axis(run.whole.from, run.whole.to);
  const note = element("span", { class: "quiet" });
  const drawn = [];
  const [buttons, pick] = chooser([["whole", "Whole run"], ["peak", "Around the peak"]],
    (name) => {
      view = run[name];
      note.textContent = view.memory.exact ? nearText(view)
        : `${count(view.memory.time.length)} columns of equal width`;
      if (name === "whole" && view.memory.exact) note.textContent = "every moment";
      axis.setWhole(view.from, view.to);
      for (const chart of drawn) chart.redraw();
    });
  const node = section("The simulated run", element("div", { class: "bar" }, ...buttons, note),
    memoryLegend(figures.bound_bytes, run.whole.memory.exact));
  const add = (heading, make) => {
    node.append(element("h3", {}, heading));
    drawn.push(make());
  };
  add("Memory", () => memoryChart(node, axis, () => view, {
    ...kSubtreeParts, bound: figures.bound_bytes, least: figures.least_bytes,
    label: "memory over time", xText: runTime, where: runTime,
    mark: () => data.peak.time }));
  add("Workers", () => new LaneChart(node, {
    axis, view: () => view, label: "what each worker runs, over time",
    name: (task) => `task ${task}`,
    group: groupName, onpick: (task) => outline().find(task) }));
  add("Busy and idle workers", () => {
    node.append(legend([["busy", "busy"], ["held", "idle: the bound holds ready tasks back"],
      ["short", "idle: too few tasks are ready"]]));
    return useChart(node, axis, () => view, figures.workers);
  });
  pick("whole");
}

function addPeak() {
  const { peak } = data;
  if (!peak) return;
  const why = (holder) => {
    if (holder.runs) return "runs";
    if (holder.parent !== undefined && holder.output_bytes > 0 &&
        holder.bytes > holder.retained_bytes) {
      return holder.parent_runs ? `output, read by task ${holder.parent}, which runs`
        : `output, waits for task ${holder.parent}`;
    }
    return "kept to the end";
  };
  const rows = peak.holders.map((holder) => [
    [chip(subtreeColour(holder.subtree)), `${holder.id}`], bytes(holder.bytes),
    percent(holder.bytes, peak.bytes), why(holder)]);
  section("What is in memory at the peak",
    element("p", { class: "quiet" }, `${counted(peak.holding_tasks, "task")} hold memory; ` +
      `the ${count(peak.holders.length)} that hold most:`),
    plainTable([["Task"], ["Bytes", 1], ["Part", 1], ["Why"]], rows));
}

function addOrder() {
  const { figures, order } = data;
  const put = (bar) => section("The order on one worker",
    element("p", { class: "quiet" }, "One task after the other, in the order in which memory " +
      "is granted: the proof that the bound suffices."),
    bar, memoryLegend(figures.bound_bytes, order.whole.memory.exact));
  orderChart(order, put, {
    ...kSubtreeParts, bound: figures.bound_bytes, least: figures.least_bytes,
    label: "memory over the order",
    where: (k) => `task ${count(Math.floor(k) + 1)} of the order` });
}

function addTree() {
  const whole = data.tree.rows.length >= data.figures.tasks;
  const node = section("The tree", element("p", { class: "quiet" }, whole
    ? "Every task, opened towards what holds most at the peak."
    : `${count(data.tree.rows.length)} lines for ${count(data.figures.tasks)} tasks: the ` +
      "subtrees that matter most, opened towards what holds most at the peak. A path stands " +
      "for tasks of which each has one child that counts."));
  return new Outline(node, data.tree, data.figures);
}

function showPlan() {
  sayInShort();
  addPlanFigures();
  let outline;
  addRun(() => outline);
  addPeak();
  addOrder();
  outline = addTree();
}
