// The canvases.  What is narrower than a pixel is drawn once a pixel, so that a frame's cost is the
// screen's and not the run's.
const canvas = document.getElementById("lanes"), overview = document.getElementById("overview");
const MOST_ARROWS = 2500, FONT = '12px system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif';
let colours = {}, drawnOverview = null, arrowsLeftOut = 0;

function readColours() {
  const style = getComputedStyle(document.documentElement);
  colours = {};
  for (const name of ["ground", "raised", "ink", "soft", "line", "band", "run", "accent", "send", "receive",
    "wait", "collective", "verbs", "other", "arrow", "checkpoint", "signal", "bookmark", "bad", "good"])
    colours[name] = style.getPropertyValue(`--${name}`).trim();
  drawnOverview = null;
}

function draw() {
  const g = canvas.getContext("2d");
  g.font = FONT; g.textBaseline = "middle";
  g.fillStyle = colours.ground; g.fillRect(0, 0, view.width, view.height);
  g.save();
  g.beginPath(); g.rect(0, RULER, view.width, view.height - RULER); g.clip();
  const first = Math.max(0, laneAt(RULER)), last = Math.min(lanes.length - 1, laneAt(view.height));
  for (let place = first; place <= last; place++) drawBand(g, place);
  drawGrid(g);
  if (shown.groups) drawGatherings(g);
  for (let place = first; place <= last; place++) drawLane(g, place);
  g.beginPath(); g.rect(GUTTER, RULER, view.width - GUTTER, view.height - RULER); g.clip();
  drawArrows(g);
  drawMarks(g, first, last);
  g.restore();
  drawGutter(g, first, last);
  drawRuler(g);
  drawBrush(g);
  drawOverview();
}

function drawBand(g, place) {
  if (!(place % 2)) return;
  g.fillStyle = colours.band;
  g.fillRect(GUTTER, yOf(place), view.width - GUTTER, view.laneHeight);
}

function drawLane(g, place) {
  const lane = lanes[place], y = yOf(place), h = view.laneHeight;
  const left = Math.max(GUTTER, xOf(lane.start)), right = Math.min(view.width, xOf(lane.end));
  const top = y + Math.round(h * 0.19), tall = Math.round(h * 0.62);
  if (right > left) {
    g.fillStyle = colours.run;
    g.fillRect(left, y + h / 2 - 1.5, right - left, 3);
  }
  const begin = firstAt(lane.reach, view.from);
  let filled = GUTTER - 1;
  for (let i = begin; i < lane.from.length && lane.from[i] <= view.to; i++) {
    const start = xOf(lane.from[i]), end = xOf(sliceEnd(lane, i));
    if (end <= filled + 0.35 && end < view.width) continue;
    const x = Math.max(start, filled, GUTTER - 4), wide = Math.min(end, view.width + 4) - x;
    g.fillStyle = colours[data.kinds[lane.kind[i]]];
    if (wide > 5) {
      g.beginPath(); g.roundRect(x, top, wide - 0.5, tall, 3); g.fill();
      if (wide > 46) label(g, lane, i, x, top, wide, tall);
    } else {
      g.fillRect(x, top, Math.max(wide, 1), tall);
    }
    filled = Math.max(end, x + 1);
  }
  for (const [one, colour] of [[shown.hover, colours.soft], [shown.selected, colours.accent]])
    if (one && one.lane === place) outline(g, lane, one.slice, top, tall, colour);
}

function label(g, lane, i, x, top, wide, tall) {
  const left = Math.max(x, GUTTER) + 6, room = x + wide - left - 6;
  const times = lane.times[i] ? ` \u00d7${number(lane.times[i])}` : "";
  let text = sliceName(lane, i).replace(/^MPI_/, "") + times;
  if (room < 24) return;
  while (text.length > 2 && g.measureText(text).width > room) text = text.slice(0, -2) + "\u2026";
  if (text.length < 3) return;
  const dark = document.documentElement.dataset.theme === "dark";
  const pale = ["other", "wait"].includes(data.kinds[lane.kind[i]]);
  g.fillStyle = dark ? (pale ? colours.ink : "#12141a") : pale ? "#1b1d24" : "#ffffff";
  g.fillText(text, left, top + tall / 2 + 0.5);
}

function outline(g, lane, slice, top, tall, colour) {
  const x = xOf(lane.from[slice]), wide = Math.max(xOf(sliceEnd(lane, slice)) - x, 3);
  g.strokeStyle = colour; g.lineWidth = 2;
  g.beginPath(); g.roundRect(x - 1.5, top - 1.5, wide + 2.5, tall + 3, 4); g.stroke();
}

function drawArrows(g) {
  arrowsLeftOut = 0;
  const chosen = shown.hover || shown.selected;
  const mine = chosen ? touching[chosen.lane].get(chosen.slice) || [] : [];
  if (shown.arrows) {
    const sight = [];
    for (const arrow of data.arrows) {
      const start = arrowStart(arrow), end = arrowEnd(arrow);
      if (Math.max(start, end) >= view.from && Math.min(start, end) <= view.to) sight.push(arrow);
    }
    const every = Math.ceil(sight.length / MOST_ARROWS), few = sight.length < 260;
    const faint = Math.max(0.05, 60 / sight.length);
    g.globalAlpha = Math.min(chosen && mine.length ? 0.16 : 1, few ? 0.75 : faint);
    g.strokeStyle = g.fillStyle = colours.arrow; g.lineWidth = few ? 1.3 : 1;
    g.beginPath();
    for (let i = 0; i < sight.length; i += every) arrowPath(g, sight[i]);
    g.stroke();
    if (few) for (const arrow of sight) arrowHead(g, arrow);
    arrowsLeftOut = sight.length - Math.ceil(sight.length / every);
  }
  g.globalAlpha = 1; g.lineWidth = 2; g.strokeStyle = g.fillStyle = colours.arrow;
  for (const i of mine.slice(0, 400)) {
    g.beginPath(); arrowPath(g, data.arrows[i]); g.stroke(); arrowHead(g, data.arrows[i]);
  }
}

function ends(arrow) {
  const down = arrow[DEST] > arrow[SOURCE], near = view.laneHeight * 0.31;
  const middle = view.laneHeight / 2;
  return {
    x0: xOf(arrowStart(arrow)), y0: yOf(arrow[SOURCE]) + middle + (down ? near : -near),
    x1: xOf(arrowEnd(arrow)), y1: yOf(arrow[DEST]) + middle + (down ? -near : near),
  };
}

function arrowPath(g, arrow) {
  const { x0, y0, x1, y1 } = ends(arrow);
  g.moveTo(x0, y0);
  if (arrow[SOURCE] === arrow[DEST]) g.quadraticCurveTo((x0 + x1) / 2, y0 - 14, x1, y0);
  else g.lineTo(x1, y1);
}

function arrowHead(g, arrow) {
  const { x0, y0, x1, y1 } = ends(arrow);
  if (x1 < GUTTER - 8 || x1 > view.width + 8) return;
  const turn = Math.atan2(y1 - y0, x1 - x0), size = 6;
  g.beginPath();
  g.moveTo(x1, y1);
  g.lineTo(x1 - size * Math.cos(turn - 0.42), y1 - size * Math.sin(turn - 0.42));
  g.lineTo(x1 - size * Math.cos(turn + 0.42), y1 - size * Math.sin(turn + 0.42));
  g.fill();
}

// A collective: a veil from who came first to who left last, where it is wide enough to be seen.
function drawGatherings(g) {
  const chosen = shown.hover || shown.selected;
  const mine = chosen ? gathering[chosen.lane].get(chosen.slice) : undefined;
  let last = -1;
  data.gatherings.forEach(([, calls], i) => {
    let from = Infinity, to = -Infinity, top = Infinity, bottom = -Infinity;
    for (let k = 0; k < calls.length; k += 2) {
      const lane = lanes[calls[k]];
      from = Math.min(from, lane.from[calls[k + 1]]);
      to = Math.max(to, sliceEnd(lane, calls[k + 1]));
      top = Math.min(top, calls[k]); bottom = Math.max(bottom, calls[k]);
    }
    if (to < view.from || from > view.to) return;
    const left = xOf(from), wide = xOf(to) - left;
    if (i !== mine && left + wide < last + 2) return;
    last = left + wide;
    const y0 = yOf(top) + 2, y1 = yOf(bottom) + view.laneHeight - 2;
    g.globalAlpha = i === mine ? 0.3 : 0.11;
    g.fillStyle = g.strokeStyle = colours.collective;
    g.beginPath(); g.roundRect(left - 2, y0, Math.max(wide, 1) + 4, y1 - y0, 5); g.fill();
    if (i === mine) { g.globalAlpha = 0.9; g.lineWidth = 1.5; g.stroke(); }
  });
  g.globalAlpha = 1;
}

function drawMarks(g, first, last) {
  for (let place = first; place <= last; place++) {
    let filled = -99;
    for (const [at, , kind] of lanes[place].marks) {
      const x = xOf(at), y = yOf(place) + 1;
      if (x < GUTTER - 6 || x > view.width + 6 || x < filled + 3) continue;
      filled = x;
      g.fillStyle = colours[kind];
      g.beginPath();
      if (kind === "bookmark") {
        g.moveTo(x - 4, y); g.lineTo(x + 4, y); g.lineTo(x + 4, y + 11); g.lineTo(x, y + 7.5); g.lineTo(x - 4, y + 11);
      } else if (kind === "checkpoint") {
        g.moveTo(x, y); g.lineTo(x + 4.5, y + 4.5); g.lineTo(x, y + 9); g.lineTo(x - 4.5, y + 4.5);
      } else {
        g.moveTo(x - 2.5, y); g.lineTo(x + 3, y); g.lineTo(x + 0.5, y + 4.5); g.lineTo(x + 3.5, y + 4.5); g.lineTo(x - 2.5, y + 11);
      }
      g.fill();
      g.globalAlpha = 0.5; g.fillRect(x - 0.5, y + 7, 1, view.laneHeight - 8); g.globalAlpha = 1;
    }
  }
}

function drawGutter(g, first, last) {
  g.fillStyle = colours.raised; g.fillRect(0, RULER, GUTTER, view.height - RULER);
  g.fillStyle = colours.line; g.fillRect(GUTTER - 1, 0, 1, view.height);
  g.save(); g.beginPath(); g.rect(0, RULER, GUTTER, view.height - RULER); g.clip();
  for (let place = first; place <= last; place++) {
    const lane = lanes[place], middle = yOf(place) + view.laneHeight / 2;
    const good = lane.state === "exited 0";
    g.fillStyle = good ? colours.good : lane.state === "running" ? colours.accent : colours.bad;
    g.beginPath(); g.arc(15, middle, 3.5, 0, 7); g.fill();
    g.fillStyle = colours.ink; g.fillText(`rank ${lane.rank}`, 26, middle + 0.5);
    if (!good) {
      g.fillStyle = colours.soft;
      let text = lane.state;
      while (text.length > 3 && g.measureText(text).width > GUTTER - 92) text = text.slice(0, -2) + "\u2026";
      g.textAlign = "right"; g.fillText(text, GUTTER - 8, middle + 0.5); g.textAlign = "left";
    }
  }
  g.restore();
}

// Steps of the ruler: round ones, some hundred pixels apart.
function ruler() {
  const rough = (view.to - view.from) / Math.max((view.width - GUTTER) / 110, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough);
  // Near, seconds would need many digits: times are then from the left edge on.
  const near = step < view.from * 1e-5;
  return { step, near, base: near ? Math.floor(view.from / step) * step : 0 };
}

function ticks(visit) {
  const { step } = ruler();
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    const x = Math.round(xOf(at));
    if (x >= GUTTER) visit(at, x);
  }
}

function drawGrid(g) {
  g.fillStyle = colours.line; g.globalAlpha = 0.6;
  ticks((at, x) => g.fillRect(x, RULER, 1, view.height - RULER));
  g.globalAlpha = 1;
}

function drawRuler(g) {
  g.fillStyle = colours.raised; g.fillRect(0, 0, view.width, RULER);
  g.fillStyle = colours.line; g.fillRect(0, RULER - 1, view.width, 1);
  const { step, near, base } = ruler();
  const top = Math.max(Math.abs(view.from - base), Math.abs(view.to - base));
  const unit = top >= 1e9 ? 1e9 : top >= 1e6 ? 1e6 : top >= 1e3 ? 1e3 : 1;
  const digits = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
  const names = { 1e9: "s", 1e6: "ms", 1e3: "\u00b5s", 1: "ns" };
  ticks((at, x) => {
    g.fillStyle = colours.line; g.fillRect(x, RULER - 6, 1, 6);
    const text = `${near ? "+" : ""}${((at - base) / unit).toFixed(digits)} ${names[unit]}`;
    g.fillStyle = colours.soft;
    if (x + 8 + g.measureText(text).width < view.width) g.fillText(text, x + 4, RULER / 2);
  });
  g.fillStyle = colours.soft;
  g.fillText(near ? time(base) : "time", 12, RULER / 2);
}

function drawBrush(g) {
  if (!shown.brush) return;
  const [a, b] = shown.brush, left = Math.min(a, b), wide = Math.abs(b - a);
  g.fillStyle = colours.accent; g.globalAlpha = 0.14; g.fillRect(left, RULER, wide, view.height); g.globalAlpha = 1;
  g.fillRect(left, RULER, 1, view.height); g.fillRect(left + wide, RULER, 1, view.height);
  g.fillText(time((wide / (view.width - GUTTER)) * (view.to - view.from)), left + wide / 2 - 20, RULER + 12);
}

// How busy the ranks are with which kind of call, over the whole run; drawn once.
function drawOverview() {
  const g = overview.getContext("2d"), box = overview.getBoundingClientRect();
  const wide = Math.max(1, Math.floor(box.width - GUTTER)), high = box.height;
  if (!drawnOverview || drawnOverview.wide !== wide) drawnOverview = { wide, busy: density(wide) };
  g.fillStyle = colours.raised; g.fillRect(0, 0, box.width, high);
  const room = high - 10;
  drawnOverview.busy.forEach((column, x) => {
    let y = high - 4;
    column.forEach((share, kind) => {
      const tall = Math.min(share, 1) * room;
      if (tall < 0.3) return;
      g.fillStyle = colours[data.kinds[kind]]; g.fillRect(GUTTER + x, y - tall, 1, tall); y -= tall;
    });
  });
  const span = total.to - total.from, at = (ns) => GUTTER + ((ns - total.from) / span) * wide;
  const left = Math.max(GUTTER, at(view.from)), right = Math.min(GUTTER + wide, at(view.to));
  g.fillStyle = colours.ground; g.globalAlpha = 0.72;
  g.fillRect(GUTTER, 0, left - GUTTER, high); g.fillRect(right, 0, GUTTER + wide - right, high);
  g.globalAlpha = 1;
  g.strokeStyle = colours.accent; g.lineWidth = 1.5;
  g.beginPath(); g.roundRect(left + 0.75, 1.5, Math.max(right - left - 1.5, 3), high - 4, 4); g.stroke();
  g.font = FONT; g.textBaseline = "middle"; g.fillStyle = colours.soft;
  g.fillText(`${lanes.length} rank${lanes.length > 1 ? "s" : ""}`, 12, high / 2 - 8);
  g.fillText(time(span), 12, high / 2 + 8);
}

function density(wide) {
  const busy = Array.from({ length: wide }, () => new Float64Array(data.kinds.length));
  const per = wide / (total.to - total.from), weight = 1 / Math.max(lanes.length, 1);
  for (const lane of lanes) {
    for (let i = 0; i < lane.from.length; i++) {
      const a = (lane.from[i] - total.from) * per, b = (sliceEnd(lane, i) - total.from) * per;
      for (let x = Math.max(0, Math.floor(a)); x < wide && x <= b; x++)
        busy[x][lane.kind[i]] += weight * Math.max(Math.min(b, x + 1) - Math.max(a, x), 0.002);
    }
  }
  return busy;
}
