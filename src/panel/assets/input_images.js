// The input images of a request: uploaded files, and URLs that the service fetches.
import { fill, h, fieldError, showFaults } from "./dom.js";
import { bytes } from "./format.js";
import { icon } from "./icons.js";

const KINDS = "image/png,image/jpeg,image/webp,image/gif,image/heic,image/avif";

/** Some systems report no type for HEIC and AVIF files. */
const isImage = (file) => KINDS.split(",").includes(file.type) || /\.(heic|heif|avif)$/i.test(file.name);

let numbered = 0;

export const inputFile = (file) => ({ file, preview: URL.createObjectURL(file), number: String(++numbered) });

export const inputUrl = (url) => ({ url, number: String(++numbered) });

/** `changed` is called when an image is added or removed; `chosen` holds the images. */
export function inputImages({ max_inputs: most, max_input_bytes: room }, chosen, changed) {
  const list = h("ul", { class: "inputs" });
  const size = () => chosen.reduce((sum, it) => sum + (it.file?.size ?? 0), 0);
  const refuse = (message) => showFaults(node.parentElement, message ? fieldError("input_images_urls", message) : null);

  function draw() {
    fill(list, chosen.map((it, at) => h("li", { "data-key": it.number },
      it.file ? h("img", { src: it.preview, alt: "" }) : null, h("span", { title: it.url ?? it.file.name }, it.url ?? `${it.file.name}, ${bytes(it.file.size)}`),
      h("button", { class: "icon", type: "button", "aria-label": `Remove ${it.url ?? it.file.name}`, onclick: () => removeAt(at) }, icon("close", 15)))));
  }

  function removeAt(at) {
    const [removed] = chosen.splice(at, 1);
    if (removed.preview) URL.revokeObjectURL(removed.preview);
    refuse(null);
    draw();
    changed();
  }

  function add(files) {
    refuse(null);
    for (const file of files) {
      if (!isImage(file)) { refuse(`${file.name} was not added: it is not a PNG, JPEG, WebP, GIF, HEIC or AVIF image.`); continue; }
      if (chosen.length >= most) { refuse(`${file.name} was not added: the limit is ${most} images.`); break; }
      if (size() + file.size > room) { refuse(`${file.name} was not added: the limit is ${bytes(room)} for all images together.`); break; }
      chosen.push(inputFile(file));
    }
    draw();
    changed();
  }

  function addAddress() {
    const url = address.value.trim();
    refuse(null);
    if (!url) { address.focus(); return; }
    if (chosen.length >= most) { refuse(`The limit is ${most} images.`); return; }
    if (!/^https?:\/\/./.test(url)) { refuse("Enter the full URL, such as https://example.com/fox.png."); address.focus(); return; }
    chosen.push(inputUrl(url));
    address.value = "";
    draw();
    changed();
    address.focus();
  }

  const chooser = h("input", { class: "sr", type: "file", multiple: true, accept: KINDS, onchange: () => { add(chooser.files); chooser.value = ""; } });
  const drop = h("label", { class: "drop", ondragover: (event) => { event.preventDefault(); drop.classList.add("over"); }, ondragleave: () => drop.classList.remove("over"),
    ondrop: (event) => { event.preventDefault(); drop.classList.remove("over"); add(event.dataTransfer.files); } },
  chooser, h("b", {}, "Choose images"), h("span", { class: "small" }, `or drop them here, up to ${most}`));
  const address = h("input", { type: "url", placeholder: "https://example.com/fox.png", "aria-label": "URL of an input image", autocomplete: "off",
    onkeydown: (event) => { if (event.key === "Enter") { event.preventDefault(); addAddress(); } } });
  const node = h("div", { class: "field", "data-field": "input_images_urls image" }, h("span", { class: "legend" }, "Input images"), list, drop,
    h("div", { class: "row" }, address, h("button", { class: "button", type: "button", onclick: addAddress }, "Add")), h("span", { class: "fault", role: "alert", hidden: true }));

  draw();
  return {
    node,
    count: () => chosen.length,
    files: () => chosen.filter((it) => it.file).map((it) => it.file),
    addresses: () => chosen.filter((it) => it.url).map((it) => it.url),
    /** All images as URLs, for the code sample; files get a placeholder. */
    named: () => chosen.map((it) => it.url ?? `URL_OF_${it.file.name}`),
    /** Identifies the current choice of images. */
    mark: () => chosen.map((it) => it.number).join(),
  };
}
