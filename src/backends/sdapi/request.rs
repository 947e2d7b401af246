//! What is sent: the bodies of `/sdapi/v1/txt2img` and `/img2img`.

use super::prompt::plain;
use crate::config::SdApiSettings;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use tintype_actors::ports::GenerationTask;
use tintype_imaging::fit::Fitted;

/// Crops and resizes an input to the picture's size; the default would stretch it.
const CROP_AND_RESIZE: u8 = 1;

/// A request, ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The path below the address of the server.
    pub path: &'static str,
    /// The JSON body.
    pub body: Value,
}

/// The request for a picture of `size` (width by height). `task` is how its progress can be asked for.
pub fn request(
    settings: &SdApiSettings,
    order: &GenerationTask,
    size: (u32, u32),
    originals: &[Fitted],
    task: &str,
) -> Request {
    let prompt = match settings.prompt_syntax {
        true => order.prompt.clone(),
        false => plain(&order.prompt),
    };
    let mut body = Map::new();
    let mut set = |key: &str, value: Value| drop(body.insert(key.to_owned(), value));
    set("prompt", prompt.into());
    set("negative_prompt", settings.negative_prompt.clone().into());
    set("width", size.0.into());
    set("height", size.1.into());
    set("steps", settings.steps.into());
    set("cfg_scale", settings.cfg_scale.into());
    set("seed", seed(order).into());
    set("batch_size", 1.into());
    set("n_iter", 1.into());
    set("send_images", true.into());
    // The server keeps no copy: nobody would ever remove it.
    set("save_images", false.into());
    set("force_task_id", task.into());
    if let Some(sampler) = &settings.sampler {
        set("sampler_name", sampler.clone().into());
    }
    if let Some(scheduler) = &settings.scheduler {
        set("scheduler", scheduler.clone().into());
    }
    set("override_settings", options(settings, order));
    set("override_settings_restore_afterwards", true.into());
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
    }
    Request {
        path,
        body: Value::Object(body),
    }
}

/// The request that enlarges a picture to `size` by one of the server's own upscalers.
pub fn enlargement(picture: &[u8], upscaler: &str, size: (u32, u32)) -> Request {
    Request {
        path: "/sdapi/v1/extra-single-image",
        body: json!({
            "image": STANDARD.encode(picture),
            "resize_mode": 1,
            "upscaling_resize_w": size.0,
            "upscaling_resize_h": size.1,
            "upscaling_crop": true,
            "upscaler_1": upscaler,
        }),
    }
}

/// The same for every run of a job, so that a picture that is made again is the same one.
fn seed(order: &GenerationTask) -> u32 {
    // The last bits of an id are random.
    order.job.0.as_u128() as u32
}

fn options(settings: &SdApiSettings, order: &GenerationTask) -> Value {
    let mut options = Map::new();
    // Lossless, as the picture may be cropped or enlarged still. The operator's table may say otherwise.
    options.insert("samples_format".into(), "png".into());
    options.extend(settings.override_settings.clone());
    if let Some(checkpoint) = order.model.as_ref().or(settings.checkpoint.as_ref()) {
        options.insert("sd_model_checkpoint".into(), checkpoint.clone().into());
    }
    Value::Object(options)
}
