// Icons as SVG paths in a box of 24 by 24.
import { s } from "./dom.js";

const PATHS = {
  overview: "M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z",
  playground: "M12 3v4M12 17v4M3 12h4M17 12h4M6.5 6.500l2 2M15.500 15.500l2 2M6.500 17.500l2-2M15.500 8.500l2-2",
  jobs: "M4 5h16v14H4zM4 15l4.500-4.500 4 4 3-3L20 16M15 9.500h.01",
  batches: "M12 3 3 8l9 5 9-5zM3 12l9 5 9-5M3 16l9 5 9-5",
  keys: "M14.500 9.500a4 4 0 1 1-4-4 4 4 0 0 1 4 4zM13.300 12.300 20 19M17 16l2-2",
  webhooks: "M9.500 8.500a3 3 0 1 1 4.500 2.600L11 16M6 14a3 3 0 1 0 4 4h5M14.500 9l3 5a3 3 0 1 1-1 5.500",
  deliveries: "M21 4 3 11l7 3 3 7zM10 14 21 4",
  usage: "M5 20V10M12 20V4M19 20v-7M3 20h18",
  "all-usage": "M5 20v-6M10 20V8M15 20v-9M20 20V4M3 20h18",
  ledger: "M6 3h12v18l-3-2-3 2-3-2-3 2zM9 8h6M9 12h6",
  people: "M9 11a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM2.500 20c.5-4 3-6 6.500-6s6 2 6.500 6M16 4.500a3.500 3.500 0 0 1 0 6.500M18 14.500c2 .8 3.200 2.600 3.500 5.500",
  accounts: "M4 20V8l8-4 8 4v12M4 20h16M9 20v-5h6v5M9 10h.01M15 10h.01",
  service: "M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01",
  nodes: "M9 4h6v5H9zM3 15h6v5H3zM15 15h6v5h-6zM12 9v3M6 15v-3h12v3",
  queue: "M4 6h10M4 12h16M4 18h7M17 4l3 2-3 2",
  audit: "M5 4h11l3 3v13H5zM8.500 10h7M8.500 13.500h7M8.500 17h4",
  profile: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.500 21c.5-4.500 3.500-6.500 7.500-6.500s7 2 7.500 6.500",
  gallery: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  star: "M12 4l2.500 5.100 5.600.800-4.100 3.900 1 5.600-5-2.600-5 2.600 1-5.600-4.100-3.900 5.600-.800z",
  left: "M15 5l-7 7 7 7",
  right: "M9 5l7 7-7 7",
  menu: "M4 7h16M4 12h16M4 17h16",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.400 1.400M17.600 17.600 19 19M5 19l1.400-1.400M17.600 6.400 19 5",
  moon: "M20 14.500A8.500 8.500 0 0 1 9.500 4a8.500 8.500 0 1 0 10.500 10.500z",
  out: "M14 4h5v16h-5M4 12h11M11 8l4 4-4 4",
  warn: "M12 4 2.500 20h19zM12 10v4M12 17h.01",
  info: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5M12 8h.01",
  pause: "M9 5v14M15 5v14",
  plus: "M12 5v14M5 12h14",
  check: "M5 12.500l4.500 4.500L19 7.500",
  close: "M6 6l12 12M18 6 6 18",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  compact: "M4 6h16M4 10h16M4 14h16M4 18h16",
  grid: "M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h6v6h-6z",
  comfortable: "M4 5h16v5H4zM4 14h16v5H4z",
};

/** The logo, inline to save a request. */
export const mark = () => s("svg", { width: 30, height: 30, viewBox: "0 0 32 32", "aria-hidden": "true" },
  s("rect", { x: 2, y: 2, width: 28, height: 28, rx: 7, fill: "#2b2420" }),
  s("rect", { x: 7, y: 6, width: 18, height: 20, rx: 2, fill: "none", stroke: "#d9a47f", "stroke-width": 2 }),
  s("circle", { cx: 16, cy: 13.5, r: 3.6, fill: "#d9a47f" }),
  s("path", { d: "M9.5 24c.8-4.4 3.3-6.3 6.500-6.300s5.700 1.900 6.500 6.300z", fill: "#d9a47f" }));

/** A decorative icon, hidden from screen readers. */
export const icon = (name, size = 18) => s("svg", {
  width: size, height: size, viewBox: "0 0 24 24", fill: "none", stroke: "currentColor", "stroke-width": 1.7,
  "stroke-linecap": "round", "stroke-linejoin": "round", "aria-hidden": "true",
}, s("path", { d: PATHS[name] ?? "" }));
