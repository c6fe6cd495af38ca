"use strict";
// Numbers for people, colours, and pieces of the page.

const data = JSON.parse(document.getElementById("data").textContent);

function scaled(value, base, units) {
  let unit = 0;
  let rest = Math.abs(value);
  while (rest >= base && unit < units.length - 1) {
    rest /= base;
    ++unit;
  }
  const digits = unit === 0 && Number.isInteger(rest) ? 0 : rest < 10 ? 2 : rest < 100 ? 1 : 0;
  return `${value < 0 ? "−" : ""}${rest.toFixed(digits)} ${units[unit]}`;
}

function bytes(value) {
  return scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]);
}

function flops(value) {
  return scaled(value, 1000, ["flop", "kflop", "Mflop", "Gflop", "Tflop", "Pflop", "Eflop"]);
}

function seconds(value) {
  if (value === 0) return "0 s";
  const small = [[1, 1, "s"], [1e-3, 1e3, "ms"], [1e-6, 1e6, "µs"], [0, 1e9, "ns"]];
  const [, factor, unit] = small.find(([least]) => value >= least);
  return `${Number((value * factor).toPrecision(4))} ${unit}`;
}

function count(value) {
  return value.toLocaleString("en-US");
}

function counted(value, word) {
  return `${count(value)} ${word}${value === 1 ? "" : "s"}`;
}

function percent(part, all) {
  if (!(all > 0)) return "0 %";
  const value = (100 * part) / all;
  if (value > 0 && value < 0.05) return "< 0.1 %";
  return `${value > 0 && value < 9.95 ? value.toFixed(1) : value.toFixed(0)} %`;
}

/// Workers of a range: "worker 3" or "workers 0–3".
function workers(first, number) {
  return number === 1 ? `worker ${first}` : `workers ${first}–${first + number - 1}`;
}

/// A time of a run, in seconds where these are known.
function runTime(value) {
  return data.rate > 0 ? seconds(value / data.rate) : flops(value);
}

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== undefined));
  return node;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function subtreeColour(subtree) {
  return subtree < 0 ? "above" : `s${subtree % 7}`;
}

function section(heading, ...children) {
  const title = element("h2", {}, heading);
  const node = element("section", {}, title, ...children);
  document.getElementById("sections").append(node);
  return node;
}

function legend(entries) {
  return element("div", { class: "legend" }, ...entries.map(([name, text, rule]) =>
    element("span", {},
      element("i", rule ? { class: "rule", style: `border-color: var(--${name})` }
                        : { style: `background: var(--${name})` }), text)));
}
