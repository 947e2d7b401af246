// Small charts, drawn by hand.
import { s } from "./dom.js";
import { day } from "./format.js";

/** Narrower where the screen is, so that the words stay as large as elsewhere. */
const width = () => (innerWidth < 640 ? 330 : innerWidth < 860 ? 700 : 520);
const HEIGHT = 150;
const FLOOR = 126;
const LEFT = 40;

/** The top of the scale: a round number, and an even one where only whole things are counted. */
function ceiling(most, whole) {
  if (whole && most <= 10) return Math.max(2, 2 * Math.ceil(most / 2));
  if (most <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 2.5, 5, 10].map((it) => it * power).find((it) => it >= most - 1e-12);
}

/** Bars over days. `parts` are {of, class}, stacked; `tell` says a day in words. */
export function bars(days, parts, tell, label, whole = false) {
  const WIDTH = width();
  const every = WIDTH < 400 ? 4 : 3;
  const total = (it) => parts.reduce((sum, part) => sum + part.of(it), 0);
  const top = ceiling(Math.max(...days.map(total)), whole);
  const step = (WIDTH - LEFT) / days.length;
  const scale = (value) => (value / top) * (FLOOR - 12);
  const mark = (value) => s("g", {},
    s("line", { class: "grid", x1: LEFT, x2: WIDTH, y1: FLOOR - scale(value), y2: FLOOR - scale(value) }),
    s("text", { x: LEFT - 8, y: FLOOR - scale(value) + 4, "text-anchor": "end" }, String(Number(value.toPrecision(3)))));
  const bar = (it, at) => {
    let y = FLOOR;
    const pieces = parts.map((part) => {
      const height = part.of(it) > 0 ? Math.max(scale(part.of(it)), 2) : 0;
      y -= height;
      return s("rect", { class: part.class, x: LEFT + at * step + step * .18, y, width: step * .64, height, rx: 2.5 });
    });
    const named = at % every === (days.length - 1) % every;
    return s("g", {}, s("title", {}, `${day(it.day)}: ${tell(it)}`),
      s("rect", { class: "hover", x: LEFT + at * step, y: 4, width: step, height: FLOOR - 4 }), pieces,
      named ? s("text", { x: LEFT + (at + .5) * step, y: FLOOR + 17, "text-anchor": "middle" }, day(it.day)) : null);
  };
  return s("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    [0, top / 2, top].map(mark), days.map(bar));
}
