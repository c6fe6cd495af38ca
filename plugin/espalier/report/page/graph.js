// The page of an order of a graph, from top to bottom.

const kGraphParts = [["s0", "written by operators"], ["s5", "workspace"],
  ["above", "in memory from the start"]];

function sayGraphInShort() {
  const { figures, peak, file_order: file } = data;
  if (peak) {
    say(`Memory: at most ${bytes(peak.bytes)}, first while ${peak.operator} runs, step `,
      `${count(peak.step)} of ${count(figures.operators)}.`);
    const { initial_bytes, written_bytes, workspace_bytes } = peak.purposes;
    const purposes = [[written_bytes, "data that operators have written"],
      [initial_bytes, "data that are there from the start"], [workspace_bytes, "workspace"]];
    say("That is ", purposes.filter(([held]) => held > 0).map(([held, what]) =>
      `${percent(held, peak.bytes)} ${what}`).join(", "), ".");
  }
  sayGap("order", figures.least_bytes, figures.lower_bound_bytes, figures.proved);
  if (file) {
    const saved = file.peak_bytes - figures.least_bytes;
    say(`The order of the file needs ${bytes(file.peak_bytes)}`,
      saved > 0 ? `, ${percent(saved, figures.least_bytes)} more.` : ".");
  }
}

function addGraphFigures() {
  const { figures, file_order: file } = data;
  addFigures([
    ["operators", count(figures.operators)], ["data", count(figures.data)],
    ["peak of this order", bytes(figures.least_bytes)],
    ["no order needs less than", bytes(figures.lower_bound_bytes)],
    ...(file ? [["peak of the order of the file", bytes(file.peak_bytes)]] : []),
    ["in memory from the start", bytes(figures.initial_bytes)],
    ["in memory at the end", bytes(figures.final_bytes)],
  ]);
}

/// Memory over one order; `top` makes two orders comparable.
function addGraphOrder(heading, order, top) {
  const entries = [...kGraphParts, ["least",
    `no order needs less than ${bytes(data.figures.lower_bound_bytes)}`, true]];
  if (!order.whole.memory.exact) entries.push(["floor", "line: least in the column"]);
  orderChart(order, (bar) => section(heading, bar, legend(entries)), {
    least: data.figures.lower_bound_bytes, label: heading, top,
    partColour: (part) => kGraphParts[part][0], partName: (part) => kGraphParts[part][1],
    where: (k) => `step ${count(Math.floor(k) + 1)}` });
}

function addGraphPeak() {
  const { peak, operators } = data;
  if (!peak) return;
  const why = (held) => {
    if (held.written_now) return "is being written";
    if (held.next_step === peak.step) return "is being read";
    if (held.next_reader) return `waits for ${held.next_reader}, step ${count(held.next_step)}`;
    return held.kept ? "is kept to the end" : "";
  };
  section("What is in memory at the peak",
    element("p", { class: "quiet" }, `${counted(peak.held_data, "datum").replace("datums", "data")}` +
      ` of more than 0 bytes; the ${count(peak.held.length)} largest:`),
    plainTable([["Datum"], ["Bytes", 1], ["Part", 1], ["Written by"], ["Why"]],
      peak.held.map((held) => [
        [chip(kGraphParts[held.producer ? 0 : 2][0]), held.datum], bytes(held.bytes),
        percent(held.bytes, peak.bytes), held.producer || "from the start", why(held)])));
  section("Operators that run with most in memory",
    plainTable([["Step", 1], ["Operator"], ["In memory", 1], ["Of that its own", 1],
      ["Workspace", 1]],
      operators.map((each) => [count(each.step), each.operator, bytes(each.bytes),
        bytes(each.own_bytes), bytes(each.workspace_bytes)])));
}

function showGraph() {
  const { order, file_order: file } = data;
  sayGraphInShort();
  addGraphFigures();
  const top = Math.max(order.peak_bytes, file ? file.peak_bytes : 0);
  addGraphOrder("Memory over the order", order, top);
  if (file) addGraphOrder("Memory over the order of the file", file, top);
  addGraphPeak();
}
