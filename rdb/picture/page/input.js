// Mouse, touch and keys.
const PIXEL_LINES = 16;
let drag = null, pointer = { x: 0, y: 0 };

// What is at a place of the canvas: a mark, or the slice that is there or within some pixels.
function hitAt(x, y) {
  const place = laneAt(y);
  if (x < GUTTER || y < RULER || place < 0 || place >= lanes.length) return null;
  const lane = lanes[place];
  if (y - yOf(place) < 13)
    for (const mark of lane.marks) if (Math.abs(xOf(mark[0]) - x) < 5) return { lane: place, mark };
  const at = timeAt(x), slack = 3 / scale();
  let best = null, near = slack;
  for (let i = Math.max(0, firstAt(lane.reach, at - slack)); i < lane.from.length; i++) {
    if (lane.from[i] > at + slack) break;
    const away = Math.max(lane.from[i] - at, at - sliceEnd(lane, i), 0);
    if (away <= near) { near = away; best = i; }
  }
  return best === null ? null : { lane: place, slice: best };
}

const same = (a, b) => (a && b ? a.lane === b.lane && a.slice === b.slice && a.mark === b.mark : a === b);

function hover(x, y) {
  const hit = hitAt(x, y), slice = hit && !hit.mark ? hit : null;
  if (!same(slice, shown.hover)) { shown.hover = slice; invalidate(); }
  if (hit) showTip(hit, x, y);
  else hideTip();
}

canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  canvas.focus();
  drag = { x: event.offsetX, y: event.offsetY, from: view.from, to: view.to, top: view.top, span: event.shiftKey, moved: false };
  hideTip();
});
canvas.addEventListener("pointermove", (event) => {
  pointer = { x: event.offsetX, y: event.offsetY };
  if (!drag) { hover(pointer.x, pointer.y); return; }
  const dx = pointer.x - drag.x, dy = pointer.y - drag.y;
  if (Math.abs(dx) + Math.abs(dy) > 3) drag.moved = true;
  if (!drag.moved) return;
  if (drag.span) { shown.brush = [Math.max(drag.x, GUTTER), Math.max(pointer.x, GUTTER)]; invalidate(); return; }
  canvas.classList.add("moving");
  const by = (-dx / (view.width - GUTTER)) * (drag.to - drag.from);
  goTo(drag.from + by, drag.to + by, false);
  view.top = drag.top - dy;
  scroll(0);
});
canvas.addEventListener("pointerup", (event) => {
  canvas.classList.remove("moving");
  const was = drag;
  drag = null;
  if (!was) return;
  if (shown.brush) {
    const [a, b] = shown.brush.map(timeAt);
    shown.brush = null;
    goTo(Math.min(a, b), Math.max(a, b), true);
  } else if (!was.moved) {
    const hit = hitAt(event.offsetX, event.offsetY);
    select(hit && !hit.mark ? hit : null, false);
  }
  invalidate();
});
canvas.addEventListener("pointerleave", () => { shown.hover = null; hideTip(); invalidate(); });
canvas.addEventListener("dblclick", () => { if (shown.selected) reveal(shown.selected.lane, shown.selected.slice, true); });
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const lines = event.deltaMode === 1 ? PIXEL_LINES : 1;
  const across = event.deltaX * lines, along = event.deltaY * lines;
  if (event.shiftKey) scroll(along || across);
  else if (Math.abs(across) > Math.abs(along)) pan(across / (view.width - GUTTER), false);
  else zoom(Math.exp(Math.max(-240, Math.min(240, along)) * 0.0022), Math.max(event.offsetX, GUTTER), false);
  hideTip();
}, { passive: false });

function overviewTo(event) {
  const at = total.from + ((event.offsetX - GUTTER) / (view.width - GUTTER)) * (total.to - total.from);
  const half = (view.to - view.from) / 2;
  goTo(at - half, at + half, event.type === "pointerdown");
}
overview.addEventListener("pointerdown", (event) => { overview.setPointerCapture(event.pointerId); overviewTo(event); });
overview.addEventListener("pointermove", (event) => { if (event.buttons) overviewTo(event); });

function beside(by) {
  const chosen = shown.selected;
  if (!chosen) return;
  const slice = chosen.slice + by;
  if (slice >= 0 && slice < lanes[chosen.lane].from.length) select({ lane: chosen.lane, slice }, true);
}

function follow() {
  const chosen = shown.selected;
  const arrows = chosen ? touching[chosen.lane].get(chosen.slice) : undefined;
  if (arrows) select(otherEnd(data.arrows[arrows[0]], chosen.lane), true);
}

function toggle(name) {
  shown[name] = !shown[name];
  document.getElementById(name).setAttribute("aria-pressed", String(shown[name]));
  invalidate();
}

function theme() {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  readColours();
  showLegend();
  invalidate();
}

// `MPI_Recv`, `2:1234` (rank and event), `tag 7`: from the selected call on, then from the start.
function find(text) {
  const place = text.match(/^\s*(\d+)\s*:\s*([\d,]+)\s*$/), tag = text.match(/^\s*tag\s+(-?\d+)\s*$/i);
  if (place) {
    const lane = lanes.findIndex((one) => one.rank === +place[1]);
    if (lane < 0 || !lanes[lane].event.length) return false;
    const event = +place[2].replaceAll(",", "");
    const slice = Math.max(0, firstAt(lanes[lane].event, event + 1) - 1);
    select({ lane, slice }, true);
    return true;
  }
  const word = text.trim().toLowerCase();
  if (!word) return false;
  const chosen = shown.selected, since = chosen ? lanes[chosen.lane].from[chosen.slice] : -1;
  const names = data.names.map((name) => name.toLowerCase().includes(word));
  let best = null, first = null;
  lanes.forEach((lane, laneAt) => {
    for (let i = 0; i < lane.from.length; i++) {
      const hit = tag
        ? (touching[laneAt].get(i) || []).some((k) => data.arrows[k][TAG] === +tag[1])
        : names[lane.name[i]];
      if (!hit) continue;
      const at = lane.from[i], one = { lane: laneAt, slice: i, at };
      if (!first || at < first.at) first = one;
      const later = at > since || (at === since && chosen && laneAt > chosen.lane);
      if (later) { if (!best || at < best.at) best = one; break; }
    }
  });
  if (best || first) select(best || first, true);
  return Boolean(best || first);
}

const field = document.getElementById("find");
field.addEventListener("keydown", (event) => {
  if (event.key === "Enter") field.style.borderColor = find(field.value) ? "" : "var(--bad)";
  if (event.key === "Escape") canvas.focus();
  event.stopPropagation();
});
const KEYS = {
  w: () => zoom(0.6, Math.max(pointer.x, GUTTER), true), s: () => zoom(1 / 0.6, Math.max(pointer.x, GUTTER), true),
  "+": () => zoom(0.6, (view.width + GUTTER) / 2, true), "-": () => zoom(1 / 0.6, (view.width + GUTTER) / 2, true),
  a: () => pan(-0.25, true), d: () => pan(0.25, true),
  ArrowLeft: () => pan(-0.25, true), ArrowRight: () => pan(0.25, true),
  ArrowUp: () => scroll(-view.laneHeight), ArrowDown: () => scroll(view.laneHeight),
  PageUp: () => scroll(-view.height / 2), PageDown: () => scroll(view.height / 2),
  ",": () => beside(-1), ".": () => beside(1), g: follow,
  z: () => { if (shown.selected) reveal(shown.selected.lane, shown.selected.slice, true); },
  0: fit, f: fit, m: () => toggle("arrows"), c: () => toggle("groups"), t: theme,
  "/": () => field.focus(), "?": () => document.getElementById("keys").showModal(), Escape: () => select(null, false),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("keys").open) return;
  const action = KEYS[event.key];
  if (!action || event.target === field) return;
  event.preventDefault();
  action();
});
document.getElementById("arrows").addEventListener("click", () => toggle("arrows"));
document.getElementById("groups").addEventListener("click", () => toggle("groups"));
document.getElementById("fit").addEventListener("click", fit);
document.getElementById("theme").addEventListener("click", theme);
document.getElementById("help").addEventListener("click", () => document.getElementById("keys").showModal());
