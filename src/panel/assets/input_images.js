// The input images of a request: files that are handed over, and addresses that the service fetches.
import { fill, h, misfit, showFaults } from "./dom.js";
import { bytes } from "./format.js";
import { icon } from "./icons.js";

const KINDS = "image/png,image/jpeg,image/webp,image/gif,image/heic,image/avif";

let numbered = 0;

/** `changed` hears of each image that comes or goes. */
export function inputImages({ max_inputs: most, max_input_bytes: room }, changed) {
  const chosen = [];
  const list = h("ul", { class: "inputs" });
  const size = () => chosen.reduce((sum, it) => sum + (it.file?.size ?? 0), 0);
  const refuse = (message) => showFaults(node.parentElement, message ? misfit("input_images_urls", message) : null);

  function draw() {
    fill(list, chosen.map((it, at) => h("li", { "data-key": it.number },
      it.file ? h("img", { src: it.preview, alt: "" }) : null, h("span", { title: it.url ?? it.file.name }, it.url ?? `${it.file.name}, ${bytes(it.file.size)}`),
      h("button", { class: "icon", type: "button", "aria-label": `Remove ${it.url ?? it.file.name}`, onclick: () => takeAway(at) }, icon("close", 15)))));
  }

  function takeAway(at) {
    const [gone] = chosen.splice(at, 1);
    if (gone.preview) URL.revokeObjectURL(gone.preview);
    refuse(null);
    draw();
    changed();
  }

  function put(image) {
    chosen.push({ ...image, number: String(++numbered) });
  }

  function add(files) {
    refuse(null);
    for (const file of files) {
      if (chosen.length >= most) { refuse(`${file.name} was left out: at most ${most} are allowed.`); break; }
      if (size() + file.size > room) { refuse(`${file.name} was left out: all images together may have ${bytes(room)}.`); break; }
      put({ file, preview: URL.createObjectURL(file) });
    }
    draw();
    changed();
  }

  function addAddress() {
    const url = address.value.trim();
    refuse(null);
    if (!url) { address.focus(); return; }
    if (chosen.length >= most) { refuse(`At most ${most} are allowed.`); return; }
    if (!/^https?:\/\/./.test(url)) { refuse("Write the whole address, such as https://example.com/fox.png."); address.focus(); return; }
    put({ url });
    address.value = "";
    draw();
    changed();
    address.focus();
  }

  const chooser = h("input", { class: "sr", type: "file", multiple: true, accept: KINDS, onchange: () => { add(chooser.files); chooser.value = ""; } });
  const drop = h("label", { class: "drop", ondragover: (event) => { event.preventDefault(); drop.classList.add("over"); }, ondragleave: () => drop.classList.remove("over"),
    ondrop: (event) => { event.preventDefault(); drop.classList.remove("over"); add(event.dataTransfer.files); } },
  chooser, h("b", {}, "Choose images"), h("span", { class: "small" }, `or drop them here, up to ${most}`));
  const address = h("input", { type: "url", placeholder: "https://example.com/fox.png", "aria-label": "Address of an input image", autocomplete: "off",
    onkeydown: (event) => { if (event.key === "Enter") { event.preventDefault(); addAddress(); } } });
  const node = h("div", { class: "field", "data-field": "input_images_urls image" }, h("span", { class: "legend" }, "Input images"), list, drop,
    h("div", { class: "row" }, address, h("button", { class: "button", type: "button", onclick: addAddress }, "Add")), h("span", { class: "fault", role: "alert", hidden: true }));

  return {
    node,
    count: () => chosen.length,
    files: () => chosen.filter((it) => it.file).map((it) => it.file),
    addresses: () => chosen.filter((it) => it.url).map((it) => it.url),
    /** All of them as addresses, for a program. */
    named: () => chosen.map((it) => it.url ?? `https://example.com/${encodeURIComponent(it.file.name)}`),
    /** Tells one choice of images from another. */
    mark: () => chosen.map((it) => it.number).join(),
  };
}
