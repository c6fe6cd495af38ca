// The tree: a line a subtree, opened and closed.

class Outline {
  constructor(parent, tree, figures) {
    this.figures = figures;
    this.rows = tree.rows.map((values, number) => {
      const row = { number, children: [] };
      tree.columns.forEach((column, k) => { row[column] = values[k]; });
      return row;
    });
    this.roots = [];
    for (const row of this.rows) {
      row.depth = row.parent < 0 ? 0 : this.rows[row.parent].depth + 1;
      (row.parent < 0 ? this.roots : this.rows[row.parent].children).push(row);
    }
    const sum = (key) => this.roots.reduce((all, row) => all + row[key], 0);
    this.work = sum("work");
    this.held = sum("held");
    this.end = Math.max(...this.roots.map((row) => row.end));
    this.note = element("span", { class: "quiet", role: "status" });
    this.body = element("tbody");
    parent.append(this.tools(), element("div", { class: "scroll" }, this.table()));
    for (const root of this.roots) this.body.append(this.line(root));
    this.openTowardsPeak();
    this.makeReachable(this.roots[0]);
  }

  tools() {
    const search = element("input", {
      type: "search", placeholder: "task", size: 12, "aria-label": "find a task",
      onkeydown: (event) => { if (event.key === "Enter") this.find(search.value.trim()); },
    });
    const sort = element("select", {
      "aria-label": "order of lines", onchange: () => this.sort(sort.value),
    }, ...[["weight", "weight"], ["held", "held at the peak"], ["work", "work"],
      ["peak", "its own peak"], ["start", "first start"]].map(([value, text]) =>
      element("option", { value }, text)));
    return element("div", { class: "bar" }, "Find ", search, "Order by ", sort, this.note);
  }

  table() {
    const head = [["Subtree"], ["Tasks", 1], ["Work", 1], ["Peak on its own", 1],
      ["Held at the peak", 1], [""], ["Workers"], [""], ["When it runs"]];
    return element("table", { role: "treegrid", "aria-label": "subtrees" },
      element("thead", {}, element("tr", { role: "row" }, ...head.map(([text, number]) =>
        element("th", { scope: "col", class: number ? "number" : undefined }, text)))),
      this.body);
  }

  name(row) {
    if (row.kind === 2) {
      const word = row.parent < 0 ? "further tree" : "further subtree";
      return counted(row.subtrees, word);
    }
    if (row.kind === 1) return `${row.task} … ${row.last}, a path of ${count(row.path_length)}`;
    return `${row.task}`;
  }

  strip(from, to, all, name) {
    const left = all > 0 ? (100 * from) / all : 0;
    const width = all > 0 ? (100 * (to - from)) / all : 0;
    if (to <= from) return element("span", { class: "strip" });
    return element("span", { class: "strip" }, element("i", {
      style: `left: min(${left}%, 100% - 2px); width: ${width}%; background: var(--${name})`,
    }));
  }

  line(row) {
    const opens = row.children.length > 0;
    const twig = element("span", { class: "twig", "aria-hidden": "true",
      onclick: () => this.toggle(row) }, opens ? "▸" : "");
    const indent = 14 * Math.min(row.depth, 24);
    const last = row.first_worker + row.workers;
    const shown = row.workers === 1 ? `${row.first_worker}` : `${row.first_worker}–${last - 1}`;
    const tint = subtreeColour(row.colour);
    const cell = (text) => element("td", { class: "number", role: "gridcell" }, text);
    row.twig = twig;
    row.node = element("tr", {
      role: "row", tabindex: -1, "aria-level": row.depth + 1,
      "aria-expanded": opens ? "false" : undefined,
      onkeydown: (event) => this.key(event, row), onfocus: () => this.makeReachable(row),
    },
      element("td", { class: "name", role: "gridcell", style: `padding-left: ${8 + indent}px` },
        twig, element("span", { class: "chip", style: `background: var(--${tint})` }),
        row.depth > 24 ? `(${row.depth}) ${this.name(row)}` : this.name(row)),
      cell(count(row.tasks)),
      cell(percent(row.work, this.work)),
      cell(bytes(row.peak)),
      cell(bytes(row.held)),
      element("td", { role: "gridcell" }, this.strip(0, row.held, this.held, tint)),
      cell(shown),
      element("td", { role: "gridcell" },
        this.strip(row.first_worker, last, this.figures.workers, "busy")),
      element("td", { role: "gridcell" }, this.strip(row.start, row.end, this.end, tint)));
    return row.node;
  }

  isOpen(row) {
    return row.node !== undefined && row.node.getAttribute("aria-expanded") === "true";
  }

  open(row) {
    if (row.children.length === 0 || this.isOpen(row)) return;
    let after = row.node;
    for (const child of row.children) {
      after.after(this.line(child));
      after = child.node;
    }
    row.node.setAttribute("aria-expanded", "true");
    row.twig.textContent = "▾";
  }

  close(row) {
    if (!this.isOpen(row)) return;
    const below = [...row.children];
    while (below.length > 0) {
      const each = below.pop();
      if (this.isOpen(each)) below.push(...each.children);
      each.node.remove();
      each.node = undefined;
    }
    row.node.setAttribute("aria-expanded", "false");
    row.twig.textContent = "▸";
  }

  toggle(row) {
    if (this.isOpen(row)) this.close(row);
    else this.open(row);
  }

  /// Opens, from the roots down, what holds most at the peak.
  openTowardsPeak() {
    let level = this.roots;
    for (let depth = 0; depth < 12 && level.length > 0; ++depth) {
      const next = level.reduce((a, b) => (b.held > a.held ? b : a));
      if (next.kind === 2 || next.held * 4 < this.held) break;
      this.open(next);
      level = next.children;
    }
  }

  sort(key) {
    const order = (a, b) => {
      if ((a.kind === 2) !== (b.kind === 2)) return a.kind === 2 ? 1 : -1;
      if (key === "weight") return a.number - b.number;
      return key === "start" ? a.start - b.start : b[key] - a[key];
    };
    const open = new Set(this.rows.filter((row) => this.isOpen(row)).map((row) => row.number));
    for (const root of this.roots) { this.close(root); root.node.remove(); }
    this.roots.sort(order);
    for (const row of this.rows) row.children.sort(order);
    for (const root of this.roots) this.body.append(this.line(root));
    for (const row of this.rows) if (open.has(row.number) && row.node) this.open(row);
    this.makeReachable(this.roots[0]);
  }

  /// Shows the line of a task. @return whether it has one
  find(task) {
    const row = this.rows.find((each) => each.kind !== 2 &&
      (`${each.task}` === `${task}` || `${each.last}` === `${task}`));
    this.note.textContent = row ? "" : `no line of its own: ${task}`;
    if (!row) return false;
    const above = [];
    for (let at = row.parent; at >= 0; at = this.rows[at].parent) above.push(this.rows[at]);
    for (const each of above.reverse()) this.open(each);
    this.focus(row);
    return true;
  }

  makeReachable(row) {
    if (this.reachable && this.reachable.node) this.reachable.node.tabIndex = -1;
    this.reachable = row;
    if (row && row.node) row.node.tabIndex = 0;
  }

  focus(row) {
    if (!row || !row.node) return;
    row.node.focus();
    row.node.scrollIntoView({ block: "nearest" });
  }

  key(event, row) {
    const lines = this.body.children;
    const rowOf = (node) => this.rows.find((each) => each.node === node);
    const keys = {
      ArrowDown: () => this.focus(rowOf(row.node.nextElementSibling)),
      ArrowUp: () => this.focus(rowOf(row.node.previousElementSibling)),
      ArrowRight: () => (this.isOpen(row) ? this.focus(row.children[0]) : this.open(row)),
      ArrowLeft: () => (this.isOpen(row) ? this.close(row) : this.focus(this.rows[row.parent])),
      Home: () => this.focus(rowOf(lines[0])),
      End: () => this.focus(rowOf(lines[lines.length - 1])),
      Enter: () => this.toggle(row), " ": () => this.toggle(row),
    };
    if (!keys[event.key]) return;
    keys[event.key]();
    event.preventDefault();
  }
}
