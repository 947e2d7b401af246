//! Builds the bodies of `/sdapi/v1/txt2img`, `/img2img` and `/extra-single-image`.

use super::prompt::plain;
use crate::config::{PROMPT_PLACEHOLDER, SdApiSettings};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use tintype_actors::ports::GenerationTask;
use tintype_imaging::fit::FittedImage;

/// Resizes an input, which already has the ratio of the requested size. A1111 and Forge would crop another one, SD.Next stretch it.
const CROP_AND_RESIZE: u8 = 1;
/// Below a mask, begins with the pixels of the input image.
const FILL_ORIGINAL: u8 = 1;

#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    pub originals: &'a [FittedImage],
    /// White where the image may change.
    pub mask: Option<&'a [u8]>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Below `base_url`.
    pub path: &'static str,
    pub body: Value,
}

/// The request for an image of `size` (width by height). `task_id` identifies it in progress polls.
pub fn request(
    settings: &SdApiSettings,
    task: &GenerationTask,
    size: (u32, u32),
    Inputs { originals, mask }: Inputs<'_>,
    task_id: &str,
) -> Request {
    let prompt = match settings.prompt_syntax {
        true => task.prompt.clone(),
        false => plain(&task.prompt),
    };
    let template = &settings.prompt_template;
    let prompt = template.replacen(PROMPT_PLACEHOLDER, &prompt, 1);
    let mut body: Map<String, Value> = settings.request.clone().into_iter().collect();
    let mut set = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
    set("prompt", prompt.into());
    set("negative_prompt", settings.negative_prompt.clone().into());
    set("width", size.0.into());
    set("height", size.1.into());
    set("steps", settings.steps.into());
    set("cfg_scale", settings.cfg_scale.into());
    set("seed", seed(task).into());
    set("batch_size", 1.into());
    set("n_iter", 1.into());
    set("send_images", true.into());
    // The server saves no copy: nothing would ever delete it.
    set("save_images", false.into());
    set("force_task_id", task_id.into());
    if let Some(sampler) = &settings.sampler {
        set("sampler_name", sampler.clone().into());
    }
    if let Some(scheduler) = &settings.scheduler {
        set("scheduler", scheduler.clone().into());
    }
    set("override_settings", options(settings, task));
    let restores = settings.restore_settings;
    set("override_settings_restore_afterwards", restores.into());
    let encoded = || -> Vec<String> {
        originals
            .iter()
            .map(|original| STANDARD.encode(&original.bytes))
            .collect()
    };
    let mut path = "/sdapi/v1/txt2img";
    if settings.reference_inputs && !originals.is_empty() {
        set("extra_images", json!(encoded()));
    } else if !originals.is_empty() {
        path = "/sdapi/v1/img2img";
        set("init_images", json!(encoded()));
        set("denoising_strength", settings.denoising_strength.into());
        set("resize_mode", CROP_AND_RESIZE.into());
        set("include_init_images", false.into());
        if let Some(mask) = mask {
            set("mask", STANDARD.encode(mask).into());
            set("inpainting_mask_invert", 0.into());
            set("inpainting_fill", FILL_ORIGINAL.into());
            // The whole image, not an enlarged part around the mask.
            set("inpaint_full_res", false.into());
        }
    }
    Request {
        path,
        body: Value::Object(body),
    }
}

/// The request that enlarges an image to `size` with one of the server's upscalers.
pub fn enlargement(image: &[u8], upscaler: &str, size: (u32, u32)) -> Request {
    Request {
        path: "/sdapi/v1/extra-single-image",
        body: json!({
            "image": STANDARD.encode(image),
            "resize_mode": 1,
            "upscaling_resize_w": size.0,
            "upscaling_resize_h": size.1,
            "upscaling_crop": true,
            "upscaler_1": upscaler,
        }),
    }
}

/// Every run of a job uses the same seed, so that a rerun generates the same image.
fn seed(task: &GenerationTask) -> u32 {
    // The last bits of an id are random.
    task.job.0.as_u128() as u32
}

fn options(settings: &SdApiSettings, task: &GenerationTask) -> Value {
    let mut options: Map<String, Value> = settings.override_settings.clone().into_iter().collect();
    if let Some(checkpoint) = checkpoint(settings, task) {
        options.insert("sd_model_checkpoint".into(), checkpoint.into());
    }
    Value::Object(options)
}

/// The checkpoint to request; `None` for the loaded one.
pub fn checkpoint<'a>(settings: &'a SdApiSettings, task: &'a GenerationTask) -> Option<&'a str> {
    task.model.as_deref().or(settings.checkpoint.as_deref())
}

/// May `wanted` name the checkpoint that the server calls `used`? Servers take a file name with or without its folder, its extension
/// and its hash, or the hash alone, and report the bare name.
pub fn may_name(wanted: &str, used: &str) -> bool {
    let bare = |name: &str| {
        let name = name.split(" [").next().unwrap_or_default();
        let file = name.rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = [".safetensors", ".ckpt", ".gguf", ".sft"];
        let stem = stem.iter().find_map(|it| file.strip_suffix(it));
        stem.unwrap_or(file).to_lowercase()
    };
    let is_hash = wanted.len() >= 8 && wanted.bytes().all(|it| it.is_ascii_hexdigit());
    is_hash || bare(wanted) == bare(used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_name_a_checkpoint_is_recognized() {
        for wanted in [
            "sd_xl_base_1.0",
            "sd_xl_base_1.0.safetensors",
            "SDXL/sd_xl_base_1.0.safetensors [31e35c80fc]",
            "sdxl\\SD_XL_base_1.0.safetensors",
            "31e35c80fc",
        ] {
            assert!(may_name(wanted, "sd_xl_base_1.0"), "{wanted}");
        }
        assert!(!may_name("sd_xl_base_1.0", "v1-5-pruned"));
    }
}
