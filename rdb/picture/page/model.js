// The data of the page, and what can be asked of it.
const data = JSON.parse(document.getElementById("data").textContent);
const lanes = data.lanes.map((lane) => ({
  ...lane,
  from: Float64Array.from(lane.from),
  took: Float64Array.from(lane.took),
  event: Float64Array.from(lane.event),
  name: Uint16Array.from(lane.name),
  kind: Uint8Array.from(lane.kind),
}));
const total = { from: 0, to: Math.max(1, ...lanes.map((lane) => lane.end)) };
const SOURCE = 0, SEND = 1, DEST = 2, RECEIVE = 3, TAG = 4, BYTES = 5, COMM = 6, SENT = 7, GOT = 8;

// Slices do not overlap within a lane, so their ends are in order, too.  Threads' may: the longest so
// far says how far back one that still lasts can have begun.
for (const lane of lanes) {
  lane.longest = 0;
  for (const took of lane.took) if (took > lane.longest) lane.longest = took;
  lane.reach = new Float64Array(lane.from.length);
  let reach = -1;
  for (let i = 0; i < lane.from.length; i++) {
    reach = Math.max(reach, lane.from[i] + lane.took[i]);
    lane.reach[i] = reach;
  }
}

function firstAt(array, value) {
  let low = 0, high = array.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (array[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

const sliceEnd = (lane, i) => lane.from[i] + lane.took[i];
const arrowStart = (arrow) => lanes[arrow[SOURCE]].from[arrow[SEND]];
const arrowEnd = (arrow) => sliceEnd(lanes[arrow[DEST]], arrow[RECEIVE]);

// Lane and slice -> the arrows and the collective that it is part of.
const touching = lanes.map(() => new Map());
const gathering = lanes.map(() => new Map());
data.arrows.forEach((arrow, number) => {
  for (const [lane, slice] of [[arrow[SOURCE], arrow[SEND]], [arrow[DEST], arrow[RECEIVE]]]) {
    const known = touching[lane].get(slice);
    if (known === undefined) touching[lane].set(slice, [number]);
    else if (known[known.length - 1] !== number) known.push(number);
  }
});
data.gatherings.forEach(([, calls], number) => {
  for (let i = 0; i < calls.length; i += 2) gathering[calls[i]].set(calls[i + 1], number);
});

function time(ns, digits) {
  const size = Math.abs(ns);
  const [unit, name] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"]
    : size >= 1e3 ? [1e3, "\u00b5s"] : [1, "ns"];
  const value = ns / unit;
  return `${digits === undefined ? +value.toPrecision(4) : value.toFixed(digits)} ${name}`;
}

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let place = 0;
  while (count >= 1024 && place < units.length - 1) { count /= 1024; place++; }
  return `${+count.toFixed(count < 10 && place ? 1 : 0)} ${units[place]}`;
}

const number = (value) => value.toLocaleString("en-US");
const sliceName = (lane, i) => data.names[lane.name[i]];
