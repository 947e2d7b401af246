//! The receiver's verification of a delivery: `X-Signature`, `X-Timestamp`, `webhook-id`, `webhook-signature`, one per line,
//! then the body. Only content that was signed with the secret verifies.

use tintype_storage::domain::time::Timestamp;
use tintype_storage::domain::webhook::Encoding;
use tintype_storage::json::Json;
use tintype_storage::webhook_wire::canonical::canonical;
use tintype_storage::webhook_wire::secret::WebhookSecret;
use tintype_storage::webhook_wire::signature::{standard_signature, x_signature};
use tintype_storage::webhook_wire::verification::{
    Headers, SignedText, verify_standard, verify_x_signature,
};

/// When the deliveries of the corpus were sent.
const SENT: i64 = 1_795_000_000;
const MAX_DEPTH: usize = 33;

pub fn run(input: &[u8]) {
    let secret = WebhookSecret::from_random([1; 32]);
    genuine(&secret, input);
    let mut parts = input.splitn(5, |byte| *byte == b'\n');
    let mut line = || std::str::from_utf8(parts.next()?).ok();
    let (given, time, id, standard) = (line(), line(), line(), line());
    let body = parts.next().unwrap_or_default();
    let headers = Headers {
        x_signature: given,
        x_timestamp: time,
        webhook_id: id,
        webhook_timestamp: time,
        webhook_signature: standard,
    };
    let now = Timestamp::from_millis(SENT * 1_000);
    if let Ok(signed) = verify_x_signature(&secret, &headers, body, now) {
        let text = String::from_utf8(body.to_vec()).ok();
        let text = match signed {
            SignedText::Raw => text.expect("only text is signed here"),
            SignedText::Rewritten(encoding) => {
                canonical(&Json::parse(&text.unwrap(), MAX_DEPTH).unwrap(), encoding)
            }
        };
        let seconds: i64 = time.unwrap().parse().unwrap();
        assert!((seconds - SENT).abs() <= 300);
        assert_eq!(given.unwrap(), x_signature(&secret, seconds, &text));
    }
    if verify_standard(&secret, &headers, body, now).is_ok() {
        let seconds: i64 = time.unwrap().parse().unwrap();
        let text = std::str::from_utf8(body).expect("only text is signed here");
        let entry = standard_signature(&[secret], id.unwrap(), seconds, text);
        assert!(standard.unwrap().contains(entry.trim_end_matches('=')));
    }
}

/// Any value that is signed verifies, in both encodings, as it is and rewritten; with one byte changed it does not.
fn genuine(secret: &WebhookSecret, input: &[u8]) {
    let Some(value) = std::str::from_utf8(input)
        .ok()
        .and_then(|text| Json::parse(text, MAX_DEPTH).ok())
    else {
        return;
    };
    let now = Timestamp::from_millis(SENT * 1_000);
    let time = SENT.to_string();
    for encoding in Encoding::ALL {
        let text = canonical(&value, encoding);
        let given = x_signature(secret, SENT, &text);
        let headers = Headers {
            x_signature: Some(&given),
            x_timestamp: Some(&time),
            ..Headers::default()
        };
        let raw = verify_x_signature(secret, &headers, text.as_bytes(), now);
        assert_eq!(raw, Ok(SignedText::Raw));
        let spaced = format!(" {text}\n");
        let rewritten = verify_x_signature(secret, &headers, spaced.as_bytes(), now);
        assert!(matches!(rewritten, Ok(SignedText::Rewritten(_))), "{text}");
        let other = format!("[{text}]");
        assert!(verify_x_signature(secret, &headers, other.as_bytes(), now).is_err());
        let later = (SENT + 1).to_string();
        let moved = Headers {
            x_timestamp: Some(&later),
            ..headers
        };
        assert!(verify_x_signature(secret, &moved, text.as_bytes(), now).is_err());
    }
}
