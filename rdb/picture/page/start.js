// The first look.
function showLegend() {
  const legend = document.getElementById("legend");
  legend.replaceChildren();
  const marks = [...new Set(lanes.flatMap((lane) => lane.marks.map((mark) => mark[2])))];
  for (const [name, round] of [...data.kinds.map((kind) => [kind, false]), ...marks.map((mark) => [mark, true])]) {
    const row = element("span"), dot = element("i", "", round ? "round" : "");
    dot.style.background = `var(--${name})`;
    row.append(dot, name);
    legend.append(row);
  }
}

document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (change) => {
  document.documentElement.dataset.theme = change.matches ? "dark" : "light";
  readColours();
  invalidate();
});
document.getElementById("job").textContent = data.job;
document.getElementById("command").textContent = data.command;
document.getElementById("command").title = data.command;
readColours();
showLegend();
showPanel();
new ResizeObserver(resize).observe(canvas);
resize();

// The first view is of what the program did between MPI_Init and MPI_Finalize, where that is known.
let begin = Infinity, finish = -Infinity;
for (const lane of lanes) {
  for (let i = 0; i < lane.from.length; i++) {
    const name = sliceName(lane, i);
    if (name.startsWith("MPI_Init") && name !== "MPI_Initialized") begin = Math.min(begin, sliceEnd(lane, i));
    if (name === "MPI_Finalize") finish = Math.max(finish, lane.from[i]);
  }
}
if (begin === Infinity) begin = total.from;
if (!(finish > begin)) finish = total.to;
goTo(begin - (finish - begin) * 0.02, finish + (finish - begin) * 0.02, false);
draw();
