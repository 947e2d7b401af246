//! The cases of the vectors: every kind of value that serializers write differently.

/// A delivery, recorded in both encodings.
#[derive(Clone)]
pub struct Case {
    pub name: String,
    pub kind: Kind,
    /// The request's metadata as written.
    pub metadata: Option<String>,
    /// Was the secret rotated shortly before?
    pub rotated: bool,
    /// The differences below that apply to the metadata.
    pub differs: &'static [&'static str],
}

/// An event, or the test of a webhook.
#[derive(Clone, Copy)]
pub enum Kind {
    Done,
    Failed,
    Test,
}

/// An integer that a double rounds.
const BIG_INTEGER: &str = "big-integer";
/// A number from 1e-9 to below 1e-4, which Python and JavaScript write differently.
const SMALL_FLOAT: &str = "small-float";
/// Names like array indexes, which a rebuilt JavaScript object puts first, by value.
const INDEX_KEYS: &str = "index-keys";
/// A member named `__proto__`, which a rebuilt JavaScript object loses.
const PROTO_KEY: &str = "proto-key";
/// Names whose order by code point differs from that by UTF-16 code unit.
const ASTRAL_ORDER: &str = "astral-order";

/// Numbers, each sent as the member `n`.
const NUMBERS: &[(&str, &[&str])] = &[
    ("0", &[]),
    ("-0", &[]),
    ("0.0", &[]),
    ("-0.0", &[]),
    ("1", &[]),
    ("1.0", &[]),
    ("-1.0", &[]),
    ("1e2", &[]),
    ("1E+2", &[]),
    ("0.1e1", &[]),
    ("1.5", &[]),
    ("2.50", &[]),
    ("0.1", &[]),
    ("-0.002", &[]),
    ("4.35", &[]),
    ("0.30000000000000004", &[]),
    ("333333333.33333329", &[]),
    ("123456.789", &[]),
    ("642537056656340.25", &[]),
    ("-642537056656340.75", &[]),
    ("0.0000240802764892578125", &[SMALL_FLOAT]),
    ("0.0001", &[]),
    ("0.00009999999999999999", &[SMALL_FLOAT]),
    ("1e-5", &[SMALL_FLOAT]),
    ("0.000001", &[SMALL_FLOAT]),
    ("9.5e-7", &[SMALL_FLOAT]),
    ("-1e-7", &[SMALL_FLOAT]),
    ("1e-9", &[SMALL_FLOAT]),
    ("9.99e-10", &[]),
    ("1e-10", &[]),
    ("1e-100", &[]),
    ("5e-324", &[]),
    ("2.2250738585072014e-308", &[]),
    ("1e-400", &[]),
    ("1e15", &[]),
    ("1e16", &[]),
    ("1.2345678901234567e16", &[]),
    ("1e20", &[]),
    ("999999999999999900000.0", &[]),
    ("1152921504606846976.0", &[]),
    ("1e21", &[]),
    ("1e22", &[]),
    ("1e23", &[]),
    ("-1.5e300", &[]),
    ("1.7976931348623157e308", &[]),
    ("9007199254740991", &[]),
    ("9007199254740992", &[]),
    ("9007199254740993", &[BIG_INTEGER]),
    ("-9007199254740993", &[BIG_INTEGER]),
    ("18446744073709551615", &[BIG_INTEGER]),
    ("18446744073709551616", &[BIG_INTEGER]),
    ("1152921504606846976", &[BIG_INTEGER]),
    ("100000000000000000000", &[]),
    ("1000000000000000000000", &[BIG_INTEGER]),
    ("123456789012345678901234567890", &[BIG_INTEGER]),
];

const OBJECTS: &[(&str, &str, &[&str])] = &[
    ("empty object", "{}", &[]),
    (
        "empty containers",
        r#"{"a":{},"b":[],"c":[[],{}],"d":""}"#,
        &[],
    ),
    (
        "words",
        r#"{"t":true,"f":false,"n":null,"l":[true,false,null]}"#,
        &[],
    ),
    (
        "blanks in the request",
        "{ \"b\" :\t1 ,\r\n\"a\" : [ 1 , 2 ] }",
        &[],
    ),
    (
        "nested names in any order",
        r#"{"b":{"d":1,"c":[{"z":1,"y":{"q":0,"p":0}}]},"a":0}"#,
        &[],
    ),
    (
        "upper, lower, underscore",
        r#"{"b":1,"B":2,"a_":3,"a":4,"A":5,"aa":6,"a-":7}"#,
        &[],
    ),
    ("empty name", r#"{"":1,"a":2," ":3}"#, &[]),
    (
        "index names",
        r#"{"b":1,"10":2,"9":3,"2":4}"#,
        &[INDEX_KEYS],
    ),
    ("index names in order", r#"{"1":0,"2":0,"3":0,"a":0}"#, &[]),
    (
        "private names",
        r#"{"_secret":"x","__proto__":1,"_":2,"a":3}"#,
        &[],
    ),
    ("private names alone", r#"{"_secret":"x"}"#, &[]),
    (
        "nested private names",
        r#"{"a":{"_b":1,"c":[{"_d":2}]},"_e":{"f":3}}"#,
        &[],
    ),
    (
        "nested __proto__",
        r#"{"a":{"__proto__":{"x":1},"b":2}}"#,
        &[PROTO_KEY],
    ),
    (
        "names of other libraries",
        r#"{"$serde_json::private::Number":"1","constructor":1,"toString":2,"toJSON":3}"#,
        &[],
    ),
    ("accents", r#"{"café":"crème brûlée","ÀÉ":"ß"}"#, &[]),
    ("escaped accents", r#"{"caf\u00e9":"cr\u00E8me"}"#, &[]),
    (
        "composed and decomposed",
        "{\"\u{e9}\":1,\"e\u{301}\":2}",
        &[],
    ),
    (
        "CJK, Arabic, Hebrew",
        r#"{"猫":"写真","قطة":"صورة","חתול":"תמונה"}"#,
        &[],
    ),
    ("emoji", r#"{"😀":"👩‍🚀🇩🇪","a":"\uD83D\uDE00"}"#, &[]),
    (
        "astral beside private use",
        "{\"😀\":1,\"\u{e000}\":2,\"z\":3}",
        &[ASTRAL_ORDER],
    ),
    (
        "astral beside U+FFFD, nested",
        "{\"a\":{\"\u{fffd}\":1,\"\u{10000}\":2,\"\u{d7ff}\":3}}",
        &[ASTRAL_ORDER],
    ),
    ("last characters", "{\"\u{ffff}\":\"\u{10ffff}\"}", &[]),
    (
        "control characters",
        r#"{"a":"\u0000\u0001\b\t\n\u000b\f\r\u001f","\u0001":1}"#,
        &[],
    ),
    ("DEL and C1", "{\"a\":\"\u{7f}\u{80}\u{85}\u{9f}\"}", &[]),
    ("line separators", "{\"a\":\"\u{2028}\u{2029}\"}", &[]),
    ("byte order mark inside", "{\"\u{feff}\":\"\u{feff}\"}", &[]),
    (
        "quote, backslash, slash",
        r#"{"a\"b":"\"\\\/","c\\d":"a/b","e'f":"'"}"#,
        &[],
    ),
    ("HTML", r#"{"a":"<script>&amp;</script>","b":"]]>"}"#, &[]),
    (
        "text that looks like JSON",
        r#"{"a":"{\"b\":1.0}","b":"\\u00e9"}"#,
        &[],
    ),
    (
        "numbers in a list",
        "{\"a\":[1.0,-0.0,0.1,1e16,1e21,12,0.5]}",
        &[],
    ),
];

pub fn cases() -> Vec<Case> {
    let case = |name: &str, kind, metadata: Option<String>, differs| Case {
        name: name.into(),
        kind,
        metadata,
        rotated: false,
        differs,
    };
    let mut all = vec![
        case("no metadata", Kind::Done, None, &[]),
        case("failed", Kind::Failed, Some(r#"{"order":17}"#.into()), &[]),
        case("failed, no metadata", Kind::Failed, None, &[]),
        case("test delivery", Kind::Test, None, &[]),
        Case {
            rotated: true,
            ..case(
                "rotated secret",
                Kind::Done,
                Some(r#"{"order":18}"#.into()),
                &[],
            )
        },
    ];
    let number = |(text, differs): &(&str, &'static [&str])| {
        let metadata = Some(format!("{{\"n\":{text}}}"));
        case(&format!("number {text}"), Kind::Done, metadata, differs)
    };
    all.extend(NUMBERS.iter().map(number));
    let object = |(name, text, differs): &(&str, &str, &'static [&str])| {
        case(name, Kind::Done, Some((*text).into()), differs)
    };
    all.extend(OBJECTS.iter().map(object));
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(31), "]".repeat(31));
    all.push(case("nested 32 deep, lists", Kind::Done, Some(deep), &[]));
    let deep = format!("{}{{}}{}", "{\"b\":0,\"a\":".repeat(31), "}".repeat(31));
    all.push(case("nested 32 deep, objects", Kind::Done, Some(deep), &[]));
    let wide: Vec<String> = (0..60).rev().map(|at| format!("\"k{at}\":{at}")).collect();
    all.push(case(
        "60 names",
        Kind::Done,
        Some(format!("{{{}}}", wide.join(","))),
        &[],
    ));
    all
}
