// Shows what the data are of.

addHead();
({ plan: showPlan, graph: showGraph, layout: showLayout, checkpoint: showCheckpoint,
  pipeline: showPipeline, memory: showMemory })[data.kind]();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const chart of charts) chart.redraw();
});
document.body.dataset.ready = "yes";
