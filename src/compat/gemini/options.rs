//! `generationConfig`: aspect ratio and size of the image, in every spelling in use. All other options are accepted and ignored.

use crate::compat::refusal::Refusal;
use crate::compat::request_body::fields::{Field, Object};
use tintype_storage::domain::aspect_ratio::AspectRatio;
use tintype_storage::domain::catalog::{Catalog, Offer};
use tintype_storage::domain::output_format::OutputFormat;
use tintype_storage::domain::tier::{Resolution, Tier};
use tintype_storage::json::Json;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// `None`: the aspect ratio of the first input image.
    pub ratio: Option<AspectRatio>,
    /// Size and price.
    pub offer: Offer,
    /// The request asks for text besides the image.
    pub wants_text: bool,
    /// `None`: the file as the backend returns it.
    pub output: Option<OutputFormat>,
}

/// The names of aspect ratio and size in `generateContent`, where both spellings are read, and in interactions.
type ImageNames = [&'static str; 2];
const CAMEL_CASE: ImageNames = ["aspectRatio", "imageSize"];
const SNAKE_CASE: ImageNames = ["aspect_ratio", "image_size"];

/// Google's enum spells numbers as words.
const NUMBERS: [(&str, &str); 10] = [
    ("TWENTY_ONE", "21"),
    ("SIXTEEN", "16"),
    ("ONE", "1"),
    ("TWO", "2"),
    ("THREE", "3"),
    ("FOUR", "4"),
    ("FIVE", "5"),
    ("EIGHT", "8"),
    ("NINE", "9"),
    ("TWENTYONE", "21"),
];

/// # Errors
/// The tier does not offer the ratio or size, or a field has the wrong type.
pub fn read(body: &Object<'_>, tier: Tier, catalog: &Catalog) -> Result<Options, Refusal> {
    let mut read = PartialOptions::default();
    if let Some(config) = body.get("generationConfig")? {
        read_config(&config.object()?, tier, catalog, &mut read)?;
    }
    read.complete("generationConfig.imageConfig.imageSize", tier, catalog)
}

/// Reads the options of an interaction: `response_format`, and the older `response_modalities` and `generation_config.image_config`.
///
/// # Errors
/// As [`read`]; an unsupported file format or delivery.
pub fn read_interaction(
    body: &Object<'_>,
    tier: Tier,
    catalog: &Catalog,
) -> Result<Options, Refusal> {
    let mut read = PartialOptions {
        wants_text: wants_text(body, "response_modalities")?,
        ..PartialOptions::default()
    };
    if let Some(config) = body.get("generation_config")?
        && let Some(image) = config.object()?.get("image_config")?
    {
        read_image(&image, SNAKE_CASE, tier, catalog, &mut read)?;
    }
    if let Some(format) = body.get("response_format")? {
        let mut types = Vec::new();
        for entry in format.entries() {
            let object = entry.object()?;
            let kind = object.text("type")?.map(|(_, kind)| kind.to_owned());
            let kind = kind.unwrap_or_default();
            if kind == "image" {
                read_image(&entry, SNAKE_CASE, tier, catalog, &mut read)?;
                read.output = output(&object)?.or(read.output);
            }
            types.push(kind);
        }
        let other = |kind: &String| matches!(kind.as_str(), "text" | "audio" | "video");
        if !types.is_empty() && types.iter().all(other) {
            let message = "must have the type `image`: this model only generates images";
            return Err(Refusal::field(format.path, message));
        }
        read.wants_text |= types.iter().any(|kind| kind == "text");
    }
    read.complete("response_format.image_size", tier, catalog)
}

#[derive(Default)]
struct PartialOptions {
    ratio: Option<AspectRatio>,
    offer: Option<Offer>,
    wants_text: bool,
    output: Option<OutputFormat>,
}

impl PartialOptions {
    /// `size_field` is what a request without a size lacks, if the default size is not offered.
    fn complete(self, size_field: &str, tier: Tier, catalog: &Catalog) -> Result<Options, Refusal> {
        let offer = self.offer.or_else(|| catalog.offer(tier, Resolution::K1));
        Ok(Options {
            ratio: self.ratio,
            offer: offer.ok_or_else(|| Refusal::missing(size_field, &sizes(tier, catalog)))?,
            wants_text: self.wants_text,
            output: self.output,
        })
    }
}

fn output(image: &Object<'_>) -> Result<Option<OutputFormat>, Refusal> {
    if let Some((field, delivery)) = image.text("delivery")?
        && delivery != "inline"
    {
        let message = "must be `inline`; a job has a download URL at /api/v1/jobs/{id}";
        return Err(Refusal::field(field, message));
    }
    let Some((field, media_type)) = image.text("mime_type")? else {
        return Ok(None);
    };
    match media_type {
        "image/png" => Ok(Some(OutputFormat::Png)),
        "image/jpeg" => Ok(Some(OutputFormat::Jpeg { quality: 100 })),
        "image/webp" => Ok(Some(OutputFormat::WebP)),
        _ => {
            let message = "must be `image/png`, `image/jpeg` or `image/webp`";
            Err(Refusal::field(field, message))
        }
    }
}

fn read_config(
    config: &Object<'_>,
    tier: Tier,
    catalog: &Catalog,
    options: &mut PartialOptions,
) -> Result<(), Refusal> {
    options.wants_text = wants_text(config, "responseModalities")?;
    // The newer spelling is read last, so that it takes precedence.
    if let Some(image) = config.get("imageConfig")? {
        read_image(&image, CAMEL_CASE, tier, catalog, options)?;
    }
    if let Some(format) = config.get("responseFormat")? {
        for entry in format.entries() {
            // A format may also be a string or a schema, which has no image options.
            let Json::Object(_) = entry.value else {
                continue;
            };
            if let Some(images) = entry.object()?.get("image")? {
                for image in images.entries() {
                    read_image(&image, CAMEL_CASE, tier, catalog, options)?;
                }
            }
        }
    }
    Ok(())
}

fn wants_text(config: &Object<'_>, name: &str) -> Result<bool, Refusal> {
    let Some(modalities) = config.get(name)? else {
        return Ok(false);
    };
    let has = |modality: &str| {
        let is_it = |entry: Field<'_>| matches!(entry.value, Json::String(word) if word.eq_ignore_ascii_case(modality));
        modalities.entries().any(is_it)
    };
    // Google rejects this too, and the caller would pay for an image that it does not want.
    let is_empty = modalities.entries().next().is_none();
    if !is_empty && !has("IMAGE") && !has("MODALITY_UNSPECIFIED") {
        let message = "must contain IMAGE: this model only generates images; send [\"IMAGE\"] or [\"TEXT\", \"IMAGE\"]";
        return Err(Refusal::field(modalities.path, message));
    }
    Ok(has("TEXT"))
}

fn read_image(
    image: &Field<'_>,
    [ratio_name, size_name]: ImageNames,
    tier: Tier,
    catalog: &Catalog,
    options: &mut PartialOptions,
) -> Result<(), Refusal> {
    let image = image.object()?;
    if let Some((field, text)) = image.text(ratio_name)?
        && let Some(ratio) =
            ratio(text, tier, catalog).map_err(|message| Refusal::field(field, message))?
    {
        options.ratio = Some(ratio);
    }
    if let Some((field, text)) = image.text(size_name)?
        && let Some(offer) =
            offer(text, tier, catalog).map_err(|message| Refusal::field(field, message))?
    {
        options.offer = Some(offer);
    }
    Ok(())
}

/// Empty, unspecified and `auto` mean the aspect ratio of the first input image.
fn ratio(text: &str, tier: Tier, catalog: &Catalog) -> Result<Option<AspectRatio>, String> {
    if matches!(
        text,
        "" | "auto" | "ASPECT_RATIO_UNSPECIFIED" | "ASPECT_RATIO_AUTO"
    ) {
        return Ok(None);
    }
    let written = match text.strip_prefix("ASPECT_RATIO_") {
        Some(words) => words
            .split_once("_BY_")
            .and_then(|(width, height)| Some(format!("{}:{}", digits(width)?, digits(height)?))),
        None => Some(text.to_owned()),
    };
    let offered = &catalog.tier(tier).aspect_ratios;
    written
        .and_then(|text| text.parse::<AspectRatio>().ok())
        .filter(|ratio| offered.contains(ratio))
        .map(Some)
        .ok_or_else(|| {
            let offered: Vec<String> = offered.iter().map(ToString::to_string).collect();
            format!(
                "is not supported by the {tier} model; supported: {}",
                offered.join(", ")
            )
        })
}

fn digits(words: &str) -> Option<&'static str> {
    let number = NUMBERS.iter().find(|(name, _)| *name == words);
    number.map(|(_, digits)| *digits)
}

fn offer(text: &str, tier: Tier, catalog: &Catalog) -> Result<Option<Offer>, String> {
    let written = match text {
        "" | "IMAGE_SIZE_UNSPECIFIED" => return Ok(None),
        "IMAGE_SIZE_ONE_K" => "1K",
        "IMAGE_SIZE_TWO_K" => "2K",
        "IMAGE_SIZE_FOUR_K" => "4K",
        other => other,
    };
    written
        .parse::<Resolution>()
        .ok()
        .and_then(|it| catalog.offer(tier, it))
        .map(Some)
        .ok_or_else(|| {
            let sizes = sizes(tier, catalog);
            format!("is not supported by the {tier} model; {sizes}")
        })
}

fn sizes(tier: Tier, catalog: &Catalog) -> String {
    let sizes: Vec<&str> = catalog.tier(tier).resolution_names().collect();
    format!("supported: {}", sizes.join(", "))
}

#[cfg(test)]
mod tests;
