//! Hostile JSON, 28: cases in the manner of nst/JSONTestSuite, against every call that takes a body.
//!
//! The test sends each case as the whole body and as the value of a field that takes any object. Invalid JSON is a 422; valid
//! JSON is at most a fault of a field; neither is a 5xx or ends the connection.

use crate::support::{ENDPOINTS, Server, fox, merge};
use serde_json::json;

/// Valid JSON.
const VALID: &[&[u8]] = &[
    b"[]",
    b"[ ]",
    b"[\"\"]",
    b"[1 ]",
    b"[1,null,2]",
    b"[[] ]",
    b"[\"a\"]",
    b"[null, 1, \"1\", {}]",
    b" [1]",
    b"[2] ",
    b"[0]",
    b"[-0]",
    b"[-1]",
    b"[-123]",
    b"[123e65]",
    b"[0e+1]",
    b"[0e1]",
    b"[20e1]",
    b"[1E22]",
    b"[1E-2]",
    b"[1E+2]",
    b"[123.456e78]",
    b"[-0.000000000000000000000000000000000000000000000000000000000000000000000000000000001]",
    b"{}",
    b"{\"a\":\"b\"}",
    b"{\"\":0}",
    b"{\"foo\\u0000bar\": 42}",
    b"{\"min\": -1.0e+28, \"max\": 1.0e+28}",
    b"{\"x\":[{\"id\": \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}], \"id\": \"y\"}",
    b"{\"title\":\"\\u041f\\u043e\\u043b\\u0442\\u043e\\u0440\\u0430\"}",
    b"{\n\"a\": \"b\"\n}",
    b"[\"\\u0060\\u012a\\u12AB\"]",
    b"[\"\\uD801\\udc37\"]",
    b"[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]",
    b"[\"\\\\u0000\"]",
    b"[\"\\\"\"]",
    b"[\"a/*b*/c/*d//e\"]",
    b"[\"\\\\a\"]",
    b"[\"\\u0012\"]",
    b"[\"\\uFFFF\"]",
    b"[\"asd\"]",
    b"[ \"asd\"]",
    b"[\"new\\u00A0line\"]",
    b"[\"\xf4\x8f\xbf\xbf\"]",
    b"[\"\xef\xbf\xbf\"]",
    b"[\"\xe2\x80\xa8\"]",
    b"[\"\xe2\x80\xa9\"]",
    b"[\"\x7f\"]",
    b"[\"\\uA66D\"]",
    b"[\"\\u0821\"]",
    b"[\"\\u0123\"]",
    b"[\"\\u0061\\u30af\\u30EA\\u30b9\"]",
    b"[\"\\uDBFF\\uDFFF\"]",
    b"[\"\\uD834\\uDd1e\"]",
    b"[\"\\uDBFF\\uDFFE\"]",
    b"[\"\\u200B\"]",
    b"[\"\\u2064\"]",
    b"\" \"",
    b"false",
    b"42",
    b"-0.1",
    b"null",
    b"\"asd\"",
    b"true",
    b"\"\"",
    b"[\"a\"]\n",
    b"[true]",
    b" [] ",
];

/// Invalid JSON.
const INVALID: &[&[u8]] = &[
    b"[1 true]",
    b"[a\xe5]",
    b"[\"\": 1]",
    b"[\"\"],",
    b"[,1]",
    b"[1,,2]",
    b"[\"x\",,]",
    b"[\"x\"]]",
    b"[\"\",]",
    b"[\"x\"",
    b"[x",
    b"[3[4]]",
    b"[\xff]",
    b"[1:2]",
    b"[,]",
    b"[-]",
    b"[   , \"\"]",
    b"[\"a\",\n4\n,1,",
    b"[1,]",
    b"[1,,]",
    b"[\"\x0ba\"\\f]",
    b"[*]",
    b"[\"\"",
    b"[1,",
    b"[1,\n1\n,1",
    b"[{}",
    b"[fals]",
    b"[nul]",
    b"[tru]",
    b"123\0",
    b"[++1234]",
    b"[+1]",
    b"[+Inf]",
    b"[-01]",
    b"[-1.0.]",
    b"[-2.]",
    b"[-NaN]",
    b"[.-1]",
    b"[.2e-3]",
    b"[0.1.2]",
    b"[0.3e+]",
    b"[0.3e]",
    b"[0.e1]",
    b"[0e+]",
    b"[0e]",
    b"[1.0e+]",
    b"[1.0e-]",
    b"[1.0e]",
    b"[1 000.0]",
    b"[1eE2]",
    b"[2.e+3]",
    b"[2.e-3]",
    b"[2.e3]",
    b"[9.e+]",
    b"[Inf]",
    b"[NaN]",
    b"[\xef\xbc\x91]",
    b"[1+2]",
    b"[0x1]",
    b"[0x42]",
    b"[Infinity]",
    b"[0e+-1]",
    b"[-123.123foo]",
    b"[123\xe5]",
    b"[-Infinity]",
    b"[-foo]",
    b"[- 1]",
    b"[-012]",
    b"[-.123]",
    b"[-1x]",
    b"[1ea]",
    b"[1e\xe5]",
    b"[1.]",
    b"[.123]",
    b"[1.2a-3]",
    b"[1.8011670033376514H-308]",
    b"[012]",
    b"[\"x\", truth]",
    b"{[: \"x\"}\n",
    b"{\"x\", null}",
    b"{\"x\"::\"b\"}",
    b"{\xf0\x9f\x87\xa8\xf0\x9f\x87\xad}",
    b"{\"a\":\"a\" 123}",
    b"{key: 'value'}",
    b"{\"\xb9\":\"0\",}",
    b"{\"a\" b}",
    b"{:\"b\"}",
    b"{\"a\" \"b\"}",
    b"{\"a\":",
    b"{\"a\"",
    b"{1:1}",
    b"{9999E9999:1}",
    b"{null:null,null:null}",
    b"{\"id\":0,,,,,}",
    b"{'a':0}",
    b"{\"id\":0,}",
    b"{\"a\":\"b\"}/**/",
    b"{\"a\":\"b\"}/**//",
    b"{\"a\":\"b\"}//",
    b"{\"a\":\"b\"}/",
    b"{\"a\":\"b\",,\"c\":\"d\"}",
    b"{a: \"b\"}",
    b"{\"a\":\"a",
    b"{ \"foo\" : \"bar\", \"a\" }",
    b"{\"a\":\"b\"}#",
    b" ",
    b"[\"\\uD800\\\"]",
    b"[\"\\uD800\\u\"]",
    b"[\"\\uD800\\u1\"]",
    b"[\"\\uD800\\u1x\"]",
    b"[\xc3\xa9]",
    b"[\"\\\0\"]",
    b"[\"\\x00\"]",
    b"[\"\\\\\\\"]",
    b"[\"\\\t\"]",
    b"[\"\\\xf0\x9f\x8c\x80\"]",
    b"[\"\\\"]",
    b"[\"\\u00A\"]",
    b"[\"\\uD834\\uDd\"]",
    b"[\"\\uD800\\uD800\\x\"]",
    b"[\"\\u\xe5\"]",
    b"[\"\\a\"]",
    b"[\"\\uqqqq\"]",
    b"[\"\\\xe5\"]",
    b"[\\u0020\"asd\"]",
    b"[\\n]",
    b"\"",
    b"['single quote']",
    b"abc",
    b"[\"\\",
    b"[\"a\0a\"]",
    b"[\"new\nline\"]",
    b"[\"\t\"]",
    b"\"\\UA66D\"",
    b"\"\"x",
    b"<.>",
    b"[<null>]",
    b"[1]x",
    b"[1]]",
    b"[\"asd]",
    b"a\xc3\xa5",
    b"[True]",
    b"1]",
    b"{\"x\": true,",
    b"[][]",
    b"]",
    b"\xef\xbb{}",
    b"\xe5",
    b"[",
    b"",
    b"\xff\xfe[\0\"\0",
    b"2@",
    b"{}}",
    b"{\"\":",
    b"{\"a\":/*comment*/\"b\"}",
    b"{\"a\": true} \"x\"",
    b"['",
    b"[,",
    b"[{",
    b"[\"a",
    b"[\"a\"",
    b"{",
    b"{]",
    b"{,",
    b"{[",
    b"{\"a",
    b"{'a'",
    b"*",
    b"{\"a\":\"b\"}#{}",
    b"[\xe2\x81\xa0]",
    b"\xef\xbb\xbf",
    b"[\\u000A\"\"]",
    b"[1",
    b"[ false, nul",
    b"[ true, fals",
    b"[ false, tru",
    b"[\"asd\"",
    b"\xc3\xa5",
    b"[\x0c]",
    b"[\x0b]",
];

/// Either is fine: numbers beyond a double, lone surrogates, broken UTF-8, byte order marks.
const EITHER: &[&[u8]] = &[
    b"[123.456e-789]",
    b"[0.4e00669999999999999999999999999999999999999999999999999999999999999999999999999999999]",
    b"[-1e+9999]",
    b"[1.5e+9999]",
    b"[-123123e100000]",
    b"[123123e100000]",
    b"[123e-10000000]",
    b"[-123123123123123123123123123123]",
    b"{\"\\uDFAA\":0}",
    b"[\"\\uDADA\"]",
    b"[\"\\uD888\\u1234\"]",
    b"[\"\xe6\x97\xa5\xd1\x88\xfa\"]",
    b"[\"\\uD800\\n\"]",
    b"[\"\\uDd1ea\"]",
    b"[\"\\uD800\\uD800\\n\"]",
    b"[\"\\ud800\"]",
    b"[\"\\ud800abc\"]",
    b"[\"\xff\"]",
    b"[\"\\uDd1e\\uD834\"]",
    b"[\"\xe9\"]",
    b"[\"\\uDFAA\"]",
    b"[\"\x81\"]",
    b"[\"\xf4\xbf\xbf\xbf\"]",
    b"[\"\xc0\xaf\"]",
    b"[\"\xfc\x83\xbf\xbf\xbf\xbf\"]",
    b"[\"\xed\xa0\x80\"]",
    b"\xef\xbb\xbf{}",
    b"\0[\0\"\0\xe9\0\"\0]",
    b"[\0\"\0\xe9\0\"\0]\0",
];

/// Method and path of every call that takes a body, of the operator and of clients.
fn paths(account: &str, key: &str) -> Vec<(&'static str, String)> {
    let mut paths: Vec<(&str, String)> = ENDPOINTS
        .iter()
        .map(|(path, ..)| ("POST", format!("/api/v1{path}")))
        .collect();
    paths.extend([
        ("POST", "/admin/v1/accounts".to_owned()),
        ("POST", format!("/admin/v1/accounts/{account}/deposits")),
        ("POST", format!("/admin/v1/accounts/{account}/keys")),
        ("PATCH", format!("/admin/v1/keys/{key}")),
        ("PUT", "/admin/v1/pause".to_owned()),
    ]);
    paths
}

#[test]
fn hostile_28_texts_that_are_json_and_texts_that_are_not() {
    let server = Server::start();
    let customer = server.customer("1000.00");
    let mut session = crate::support::http::Session::open(server.address);
    for (method, path) in paths(&customer.account, &customer.key_id) {
        let token = if path.starts_with("/admin") {
            crate::support::options::ADMIN_TOKEN
        } else {
            &customer.key
        };
        for (cases, is_json) in [(VALID, Some(true)), (INVALID, Some(false)), (EITHER, None)] {
            for case in cases {
                let call = server.call(method, &path).bearer(token);
                let answer = session.send(&call.bytes("application/json", case));
                let shown = String::from_utf8_lossy(case);
                let only_object = shown.trim() == "{}" && [200, 201].contains(&answer.status);
                if only_object && is_json == Some(true) {
                    // An empty change, or no pause.
                    continue;
                }
                assert_eq!(
                    answer.status,
                    422,
                    "{method} {path} {shown}: {}",
                    answer.text()
                );
                answer.assert_problem(422, "validation_failed");
                if is_json == Some(false) {
                    assert_eq!(answer.faulty_fields(), ["body"], "{method} {path} {shown}");
                }
            }
        }
    }
    server.assert_money(&customer, "1000.00", "0.00", "1000.00");
    server.assert_well();
}

#[test]
fn hostile_28_the_same_texts_inside_metadata() {
    let server = Server::start();
    let customer = server.customer("1000.00");
    let mut session = crate::support::http::Session::open(server.address);
    for (cases, expected) in [(VALID, Some(202)), (INVALID, Some(422)), (EITHER, None)] {
        for case in cases {
            let mut body =
                b"{\"prompt\":\"a\",\"aspect_ratio\":\"1:1\",\"metadata\":{\"m\":".to_vec();
            body.extend(*case);
            body.extend(b"}}");
            let call = server.native(&customer, "POST", "/nb/text-generations");
            let answer = session.send(&call.bytes("application/json", &body));
            let shown = String::from_utf8_lossy(case);
            match expected {
                Some(status) => assert_eq!(answer.status, status, "{shown}: {}", answer.text()),
                None => assert!(
                    [202, 422].contains(&answer.status),
                    "{shown}: {}",
                    answer.text()
                ),
            }
        }
    }
    let mut body = fox();
    merge(&mut body, json!({"metadata": {"m": [null]}}));
    server
        .generation(&customer, "/text-generations", &body)
        .expect(202);
    server.assert_settled();
    server.assert_well();
}
