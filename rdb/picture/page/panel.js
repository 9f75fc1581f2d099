// What is said of a call: in the tip at the pointer, in the panel below when it is selected.
const tip = document.getElementById("tip"), panel = document.getElementById("panel");

function element(tag, text, kind) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function facts(place, slice) {
  const lane = lanes[place], times = lane.times[slice];
  const last = lane.event[slice] + (times || 1) - 1;
  const known = lane.took[slice] > 0;
  return {
    name: sliceName(lane, slice) + (times ? ` \u00d7${number(times)}` : ""),
    event: times ? `events ${number(lane.event[slice])}\u2013${number(last)}` : `event ${number(lane.event[slice])}`,
    when: `at ${time(lane.from[slice], 6)}`,
    took: known ? `took ${time(lane.took[slice])}${times ? " the first time" : ""}` : "its length is not known",
  };
}

function messageText(arrow, place) {
  const sent = arrow[SOURCE] === place;
  const peer = lanes[sent ? arrow[DEST] : arrow[SOURCE]].rank;
  const where = data.comms[arrow[COMM]];
  const comm = where === "MPI_COMM_WORLD" ? "" : `, ${where}`;
  return `${sent ? "to" : "from"} rank ${peer}, tag ${arrow[TAG]}, ${bytes(arrow[BYTES])}${comm}`;
}

function showTip(hit, x, y) {
  tip.replaceChildren();
  if (hit.mark) {
    const [at, event, kind, name] = hit.mark;
    tip.append(element("b", name), element("div", `${kind} at event ${number(event)}, ${time(at, 6)}`, "soft"));
  } else {
    const said = facts(hit.lane, hit.slice);
    const head = element("div");
    head.append(element("b", said.name), element("span", `  rank ${lanes[hit.lane].rank}, ${said.event}`, "soft"));
    tip.append(head, element("div", `${said.took}, ${said.when}`, "soft"));
    const arrows = touching[hit.lane].get(hit.slice) || [];
    for (const i of arrows.slice(0, 5)) tip.append(element("div", messageText(data.arrows[i], hit.lane)));
    if (arrows.length > 5) tip.append(element("div", `and ${number(arrows.length - 5)} messages more`, "soft"));
    const group = gathering[hit.lane].get(hit.slice);
    if (group !== undefined) {
      const [comm, calls] = data.gatherings[group];
      tip.append(element("div", `${calls.length / 2} ranks on ${data.comms[comm]}`));
    }
  }
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, view.width - box.width - 8))}px`;
  tip.style.top = `${y + 18 + box.height > view.height ? Math.max(4, y - box.height - 10) : y + 18}px`;
}

function hideTip() { tip.hidden = true; }

function showPanel() {
  panel.replaceChildren();
  const chosen = shown.selected;
  if (!chosen) {
    const slices = lanes.reduce((sum, lane) => sum + lane.from.length, 0);
    panel.append(element("span", `${number(slices)} calls, ${number(data.arrows.length)} messages, ` +
      `${number(data.gatherings.length)} collectives. Click a call; press ? for keys.`, "soft"));
    for (const text of data.missing) panel.append(element("span", `not shown: ${text}`));
    return;
  }
  const lane = lanes[chosen.lane], said = facts(chosen.lane, chosen.slice);
  panel.append(element("b", said.name), element("span", `rank ${lane.rank}, ${said.event}`),
    element("span", `${said.took}, ${said.when}`, "soft"));
  const arrows = touching[chosen.lane].get(chosen.slice) || [];
  for (const i of arrows.slice(0, 12)) {
    const arrow = data.arrows[i], sent = arrow[SOURCE] === chosen.lane;
    const link = element("a", messageText(arrow, chosen.lane) +
      ` (event ${number(sent ? arrow[GOT] : arrow[SENT])} there)`);
    link.addEventListener("click", () => select(otherEnd(arrow, chosen.lane), true));
    panel.append(link);
  }
  if (arrows.length > 12) panel.append(element("span", `and ${number(arrows.length - 12)} more`, "soft"));
  const right = element("span", "in the console: ", "right");
  right.append(element("code", `rdb attach ${data.job}`), " ", element("code", `focus ${lane.rank}`), " ",
    element("code", `goto ${lane.event[chosen.slice]}`));
  panel.append(right);
}

function otherEnd(arrow, place) {
  return arrow[SOURCE] === place ? { lane: arrow[DEST], slice: arrow[RECEIVE] } : { lane: arrow[SOURCE], slice: arrow[SEND] };
}

function select(hit, show) {
  shown.selected = hit;
  if (hit && show) reveal(hit.lane, hit.slice, false);
  showPanel();
  invalidate();
}
