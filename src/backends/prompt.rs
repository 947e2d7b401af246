//! Removes server directives from prompts.

/// With this tag a prompt can set any parameter of stable-diffusion.cpp's server, including the paths of its models.
const TAG: &str = "sd_cpp_extra_args";
const HARMLESS: &str = "sd-cpp-extra-args";

/// Defuses stable-diffusion.cpp's directive tag and changes nothing else.
pub fn without_directives(prompt: &str) -> String {
    // Lowercasing changes ASCII letters only, so the offsets in `lower` are offsets in `prompt`.
    let lower = prompt.to_ascii_lowercase();
    let mut harmless = String::with_capacity(prompt.len());
    let mut done = 0;
    for (at, found) in lower.match_indices(TAG) {
        harmless.push_str(&prompt[done..at]);
        harmless.push_str(HARMLESS);
        done = at + found.len();
    }
    harmless.push_str(&prompt[done..]);
    harmless
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_is_removed_in_every_spelling_and_cannot_be_reassembled() {
        for prompt in [
            r#"a fox <sd_cpp_extra_args>{"steps":999}</sd_cpp_extra_args>"#,
            "<SD_cpp_Extra_ARGS>x",
            "<sd_cpp_sd_cpp_extra_argsextra_args>",
        ] {
            let harmless = without_directives(prompt).to_lowercase();
            assert!(!harmless.contains(TAG), "{harmless}");
        }
        assert_eq!(
            without_directives("a <sd_cpp_extra_args> b"),
            "a <sd-cpp-extra-args> b"
        );
        let kept = "ein Fuchs, \u{fc}ber <lora:x:1> \u{1f98a} | extra args";
        assert_eq!(without_directives(kept), kept);
    }
}
