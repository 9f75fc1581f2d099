// What is in sight: a span of time and a scroll through the lanes.  Animated, never past the ends.
const GUTTER = 152, RULER = 26, LEAST_NS = 40;
const view = { from: total.from, to: total.to, top: 0, laneHeight: 30, width: 0, height: 0 };
const shown = { arrows: true, groups: true, selected: null, hover: null, brush: null };
let waiting = 0, goal = null;

const scale = () => (view.width - GUTTER) / (view.to - view.from);
const xOf = (ns) => GUTTER + (ns - view.from) * scale();
const timeAt = (x) => view.from + (x - GUTTER) / scale();
const yOf = (place) => RULER + place * view.laneHeight - view.top;
const laneAt = (y) => Math.floor((y - RULER + view.top) / view.laneHeight);
const contentHeight = () => lanes.length * view.laneHeight + 12;

function invalidate() {
  if (!waiting) waiting = requestAnimationFrame(frame);
}

function frame() {
  waiting = 0;
  if (goal) {
    const near = 0.35, left = goal.from - view.from, right = goal.to - view.to;
    if (Math.abs(left) + Math.abs(right) < (view.to - view.from) * 1e-3) {
      view.from = goal.from; view.to = goal.to; goal = null;
    } else {
      view.from += left * near; view.to += right * near; invalidate();
    }
  }
  draw();
}

function bounded(from, to) {
  const span = Math.min(Math.max(to - from, LEAST_NS), (total.to - total.from) * 1.06);
  const slack = span * 0.03;
  const centre = (from + to) / 2;
  const low = Math.min(Math.max(centre - span / 2, total.from - slack), total.to + slack - span);
  return { from: low, to: low + span };
}

// Soft: the picture glides there.
function goTo(from, to, soft) {
  const target = bounded(from, to);
  if (soft) goal = target;
  else { goal = null; Object.assign(view, target); }
  invalidate();
}

function zoom(factor, x, soft) {
  const now = goal && soft ? goal : view;
  const at = now.from + ((x - GUTTER) / (view.width - GUTTER)) * (now.to - now.from);
  goTo(at - (at - now.from) * factor, at + (now.to - at) * factor, soft);
}

function pan(share, soft) {
  const now = goal && soft ? goal : view;
  const by = (now.to - now.from) * share;
  goTo(now.from + by, now.to + by, soft);
}

function scroll(pixels) {
  const most = Math.max(0, contentHeight() - (view.height - RULER));
  view.top = Math.min(Math.max(view.top + pixels, 0), most);
  invalidate();
}

function fit() { goTo(total.from - (total.to - total.from) * 0.02, total.to + (total.to - total.from) * 0.02, true); }

function reveal(place, slice, near) {
  const lane = lanes[place], from = lane.from[slice], to = sliceEnd(lane, slice);
  const span = near ? Math.max((to - from) * 6, 400) : view.to - view.from;
  const centre = (from + to) / 2;
  if (near || from < view.from || to > view.to) goTo(centre - span / 2, centre + span / 2, true);
  const y = yOf(place);
  if (y < RULER) scroll(y - RULER);
  else if (y + view.laneHeight > view.height) scroll(y + view.laneHeight - view.height + 8);
}

function resize() {
  const box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
  view.width = box.width; view.height = box.height;
  for (const one of [canvas, overview]) {
    const size = one.getBoundingClientRect();
    one.width = Math.round(size.width * ratio); one.height = Math.round(size.height * ratio);
    one.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  const room = (view.height - RULER - 12) / Math.max(lanes.length, 1);
  view.laneHeight = Math.round(Math.min(Math.max(room, 20), 64));
  scroll(0);
  drawnOverview = null;
  draw(); // at once: a canvas whose size was set is empty
}
