//! Tests of `[tiers.*]`.

use super::{TestConfig, defaults};

fn tier(name: &str, line: &str) -> Vec<String> {
    TestConfig::file(format!("[tiers.{name}]\n{line}\n")).faults()
}

#[test]
fn a_tier_keeps_the_defaults_of_absent_keys() {
    let c = TestConfig::file("[tiers.quality]\nprices = { \"2K\" = \"0.5\" }\n").config();
    let mut expected = defaults();
    expected
        .tiers
        .quality
        .prices
        .insert("2K".into(), "0.5".parse().unwrap());
    assert_eq!(c, expected);
    let c = TestConfig::file("[tiers.pro]\naspect_ratios = ['16:9']\ncompat_models = []").config();
    assert_eq!(c.tiers.pro.aspect_ratios, ["16:9"]);
    assert!(c.tiers.pro.compat_models.is_empty());
    assert_eq!(c.tiers.pro.resolutions.len(), 3);
}

#[test]
fn prices_merge_over_all_layers() {
    let c = TestConfig::file("[tiers.quality.prices]\n1K = '1'\n2K = '1'\n4K = '1'\n")
        .env("TINTYPE__TIERS__QUALITY__PRICES__4K", "2")
        .env("TINTYPE__TIERS__QUALITY__PRICES", "{ 2K = '2' }")
        .flag("tiers.quality.prices.4K", "3")
        .config();
    let prices: Vec<String> = c
        .tiers
        .quality
        .prices
        .values()
        .map(|p| p.to_string())
        .collect();
    assert_eq!(prices, ["1", "2", "3"]);
}

#[test]
fn fewer_resolutions_drop_the_prices_of_layers_below() {
    let c = TestConfig::file("tiers.pro.resolutions = ['1K', '4K']").config();
    assert_eq!(c.tiers.pro.prices.keys().collect::<Vec<_>>(), ["1K", "4K"]);
    let c = TestConfig::file("tiers.pro.prices.2K = '9'")
        .env("TINTYPE__TIERS__PRO__RESOLUTIONS", "['1K']")
        .config();
    assert_eq!(c.tiers.pro.prices.len(), 1);
    let faults = tier("pro", "resolutions = ['1K']\nprices = { 2K = '9' }");
    assert_eq!(
        faults,
        ["config.toml:3: tiers.pro.prices.2K: this tier has no such resolution"]
    );
    let faults = tier("fast", "prices = { 2K = '9' }");
    assert_eq!(
        faults,
        ["config.toml:2: tiers.fast.prices.2K: this tier has no such resolution"]
    );
}

#[test]
fn prices_are_decimal_strings_in_bounds() {
    assert!(
        tier("fast", "prices = { 1K = 0.039 }")[0]
            .contains("expected a string in quotes, found a float")
    );
    for bad in ["-1", "0.0000001", "1000000", "free", "1e3", ""] {
        let faults = tier("fast", &format!("prices = {{ 1K = '{bad}' }}"));
        assert!(faults[0].contains("with up to 6 decimals"), "{faults:?}");
        assert_eq!(faults.len(), 1, "{faults:?}");
    }
    let c = TestConfig::file("tiers.fast.prices.1K = '0'").config();
    assert!(c.tiers.fast.prices["1K"].is_zero());
    assert!(tier("fast", "prices = { 8K = '1' }")[0].contains("unknown resolution"));
}

#[test]
fn resolutions_follow_the_interface() {
    assert!(tier("fast", "resolutions = ['1K', '2K']")[0].contains("expected [\"1K\"]"));
    assert!(
        tier("fast", "resolutions = ['2K']")
            .iter()
            .any(|f| f.contains("expected [\"1K\"]"))
    );
    assert!(tier("pro", "resolutions = ['2K']")[0].contains("expected `1K` among them"));
    assert!(tier("pro", "resolutions = ['1K', '1K']")[0].contains("twice"));
    assert!(
        tier("pro", "resolutions = []")[0].contains("expected a list of 1 to 3 entries, found 0")
    );
    assert!(tier("pro", "resolutions = ['1k']")[0].contains("did you mean `1K`?"));
}

#[test]
fn aspect_ratios_come_from_the_known_set() {
    for bad in ["16:10", "0:0", "1:1 ", "１６:９", "", "AUTO", "32:9"] {
        let faults = tier("pro", &format!("aspect_ratios = ['1:1', '{bad}']"));
        assert!(
            faults[0].contains("tiers.pro.aspect_ratios[1]: expected one of 1:1 2:3"),
            "{faults:?}"
        );
    }
    assert!(
        !tier("fast", "aspect_ratios = ['1:1', 'auto']").is_empty(),
        "fast has no auto"
    );
    assert!(tier("pro", "aspect_ratios = ['auto']")[0].contains("besides `auto`"));
    assert!(tier("pro", "aspect_ratios = ['1:1', '1:1']")[0].contains("twice"));
    assert!(!tier("pro", "aspect_ratios = []").is_empty());
    let c = TestConfig::file("tiers.fast.aspect_ratios = ['8:1', '1:1']").config();
    assert_eq!(
        c.tiers.fast.aspect_ratios,
        ["8:1", "1:1"],
        "in the order of the file"
    );
}

#[test]
fn a_tier_can_only_name_existing_backends() {
    assert!(tier("pro", "backends = []")[0].contains("expected a list of 1 to 16 entries"));
    assert!(tier("pro", "backends = ['builtin']")[0].contains("backends[0]: expected a table"));
    assert!(tier("pro", "backends = [{}]")[0].contains("backends[0].name: missing"));
    assert!(tier("pro", "backends = [{ name = 'bultin' }]")[0].contains("did you mean `builtin`?"));
    assert!(
        tier("pro", "backends = [{ name = 'gpu' }]")[0]
            .ends_with("the backend `gpu` is not defined; defined: builtin")
    );
    assert!(
        tier("pro", "backends = [{ name = 'builtin', model = 'x' }]")[0].contains("has no models")
    );
    assert!(
        tier("pro", "backends = [{ name = 'builtin', modle = 'x' }]")[0]
            .contains("did you mean `model`?")
    );
    let both = "[[tiers.pro.backends]]\nname = 'g'\nmodel = 'm'\n[[tiers.pro.backends]]\nname = 'builtin'\n\
                [backends.g]\nkind = 'openai'\nbase_url = 'http://a'\n";
    let c = TestConfig::file(both).config();
    assert_eq!(c.tiers.pro.backends[0].model.as_deref(), Some("m"));
    assert_eq!(c.tiers.pro.backends[1].name, "builtin");
}

#[test]
fn a_model_id_belongs_to_one_tier() {
    assert!(tier("fast", "compat_models = ['a', 'a']")[0].contains("`a` is given twice"));
    assert!(tier("fast", "compat_models = ['pro']")[0].contains("is the name of the tier pro"));
    let faults = tier("pro", "compat_models = ['gemini-3.1-flash-image']");
    assert_eq!(
        faults,
        [
            "config.toml:2: tiers.pro.compat_models: `gemini-3.1-flash-image` already belongs to the tier quality"
        ]
    );
    let faults = tier("fast", "compat_models = ['gemini-3-pro-image']");
    assert_eq!(faults.len(), 1);
    assert!(
        faults[0].starts_with("config.toml:2: "),
        "the file is at fault, not the defaults: {faults:?}"
    );
    assert!(tier("fast", "compat_models = ['models/x']")[0].contains("a model id of"));
    let own = TestConfig::file("tiers.fast.compat_models = ['fast', 'mine']").config();
    assert_eq!(own.tiers.fast.compat_models, ["fast", "mine"]);
}

#[test]
fn weights_are_small_whole_numbers() {
    let c = TestConfig::file("tiers.pro.backends = [{ name = 'builtin', weight = 3 }]").config();
    assert_eq!(c.tiers.pro.backends[0].weight, Some(3));
    for bad in ["0", "1001", "0.5", "'3'"] {
        let faults = tier(
            "pro",
            &format!("backends = [{{ name = 'builtin', weight = {bad} }}]"),
        );
        assert!(
            faults[0].contains("weight: expected an integer from 1 to 1000"),
            "{faults:?}"
        );
    }
}
