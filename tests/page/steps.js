
// What a person would do, one after the other; what is wrong goes to the end of the document.
const wrong = [], check = (what, holds) => { if (!holds) wrong.push(what); };
try {
  const key = (name) => document.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
  const settle = () => { while (goal) { Object.assign(view, goal); goal = null; } draw(); };
  const at = (type, x, y, more) => {
    const box = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new PointerEvent(type, { clientX: box.left + x, clientY: box.top + y, pointerId: 1, bubbles: true, ...more }));
  };
  canvas.setPointerCapture = () => {};
  const painted = () => {
    const ratio = window.devicePixelRatio || 1, colours = new Set();
    const row = canvas.getContext("2d").getImageData(GUTTER * ratio, (RULER + view.laneHeight / 2) * ratio, (view.width - GUTTER) * ratio, 1).data;
    for (let i = 0; i < row.length; i += 4) colours.add(`${row[i]},${row[i + 1]},${row[i + 2]}`);
    return colours.size;
  };
  check("size", view.width > 300 && view.height > 200 && canvas.width > 0);
  check("calls are painted", painted() > 3);
  check("the first view leaves MPI_Init out", view.from > total.from);
  key("0"); settle();
  check("fit", view.from <= total.from && view.to >= total.to);
  let span = view.to - view.from;
  const middle = (view.width + GUTTER) / 2, kept = timeAt(middle);
  const box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -240, clientX: box.left + middle, clientY: box.top + 60, cancelable: true }));
  check("the wheel zooms", view.to - view.from < span);
  check("at the pointer", Math.abs(timeAt(middle) - kept) < span * 1e-6);
  const left = view.from;
  key("d"); settle();
  check("d moves on", view.from > left);
  at("pointerdown", 400, 60); at("pointermove", 460, 60); at("pointerup", 460, 60);
  check("dragging moves", view.from < left + (view.to - view.from));
  at("pointerdown", 300, 60, { shiftKey: true }); at("pointermove", 500, 60, { shiftKey: true });
  span = view.to - view.from;
  at("pointerup", 500, 60); settle();
  check("shift and drag zooms to a span", view.to - view.from < span);
  for (let i = 0; i < 60; i++) { key("w"); settle(); }
  check("zooming ends", view.to - view.from >= LEAST_NS * 0.999);
  field.value = "MPI_Barrier";
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" })); settle();
  check("find by name", sliceName(lanes[shown.selected.lane], shown.selected.slice) === "MPI_Barrier");
  find("tag 8"); settle();
  const chosen = shown.selected;
  check("find by tag", touching[chosen.lane].get(chosen.slice).some((i) => data.arrows[i][TAG] === 8));
  check("the panel says where it went", /rank \d, tag 8, 4 B/.test(panel.textContent) && panel.textContent.includes("goto"));
  key("g"); settle();
  check("g goes to the other end", shown.selected.lane !== chosen.lane);
  key("z"); settle();
  const lane = lanes[shown.selected.lane], slice = shown.selected.slice;
  const x = (xOf(lane.from[slice]) + xOf(sliceEnd(lane, slice))) / 2, y = yOf(shown.selected.lane) + view.laneHeight / 2;
  at("pointermove", x, y);
  check("the tip", !tip.hidden && tip.textContent.includes(sliceName(lane, slice)) && tip.textContent.includes("event"));
  key("Escape");
  check("nothing is selected", shown.selected === null);
  at("pointerdown", x, y); at("pointerup", x, y);
  check("a click selects", shown.selected && shown.selected.slice === slice);
  const before = shown.selected.slice;
  key(","); settle();
  check("the call before", shown.selected.slice === before - 1);
  find("1:3"); settle();
  check("find by event", lanes[shown.selected.lane].rank === 1 && lanes[1].event[shown.selected.slice] === 3);
  const marks = lanes[1].marks.find((mark) => mark[2] === "bookmark");
  check("the bookmark", marks[3] === "here");
  const light = document.documentElement.dataset.theme, ground = colours.ground;
  key("t"); draw();
  check("light and dark", document.documentElement.dataset.theme !== light && colours.ground !== ground);
  key("m"); draw();
  check("messages off", !shown.arrows && document.getElementById("arrows").getAttribute("aria-pressed") === "false");
  key("?");
  check("keys are shown", document.getElementById("keys").open);
  document.getElementById("keys").close();
  const since = performance.now();
  for (let i = 0; i < 10; i++) draw();
  check("smooth", (performance.now() - since) / 10 < 500);
} catch (error) {
  wrong.push(`${error.name}: ${error.message} ${error.stack}`);
}
const report = document.createElement("pre");
report.id = "report";
report.textContent = JSON.stringify(wrong);
document.body.append(report);
