//! Encodes spans as OTLP JSON (opentelemetry-proto, `ExportTraceServiceRequest` in the JSON mapping of Protobuf): ids in lower-case
//! hex, 64-bit numbers as strings, enumerations as numbers.

use super::span::{Span, Value};
use serde_json::{Map, Value as Json, json};

/// OTLP's status code of a failed span.
const ERROR: u8 = 2;

pub fn body(service: &str, instance: &str, spans: &[Span]) -> Json {
    let spans: Vec<Json> = spans.iter().map(span).collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": [
            attribute("service.name", &service.into()),
            attribute("service.version", &env!("CARGO_PKG_VERSION").into()),
            attribute("service.instance.id", &instance.into()),
        ]},
        "scopeSpans": [{
            "scope": {"name": "tintype", "version": env!("CARGO_PKG_VERSION")},
            "spans": spans,
        }],
    }]})
}

fn span(span: &Span) -> Json {
    let attributes = span.attributes.iter();
    let attributes: Vec<Json> = attributes.map(|(key, it)| attribute(key, it)).collect();
    let mut fields = Map::new();
    let mut set = |key: &str, value: Json| drop(fields.insert(key.to_owned(), value));
    set("traceId", hex::encode(span.trace).into());
    set("spanId", hex::encode(span.id).into());
    if let Some(parent) = span.parent {
        set("parentSpanId", hex::encode(parent).into());
    }
    set("name", span.name.into());
    set("kind", (span.kind as u8).into());
    set("startTimeUnixNano", span.began.0.to_string().into());
    set("endTimeUnixNano", span.ended.0.to_string().into());
    set("attributes", attributes.into());
    if let Some(failure) = &span.failure {
        set("status", json!({"code": ERROR, "message": failure}));
    }
    fields.into()
}

fn attribute(key: &str, value: &Value) -> Json {
    let value = match value {
        Value::Text(text) => json!({"stringValue": text}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
    };
    json!({"key": key, "value": value})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observability::traces::span::{Kind, Moment};

    #[test]
    fn a_span_is_encoded_as_otlp_json() {
        let span = Span {
            trace: [0xAB; 16],
            id: [1; 8],
            parent: Some([2; 8]),
            name: "run",
            kind: Kind::Internal,
            began: Moment(1_795_000_000_000_000_000),
            ended: Moment(1_795_000_000_500_000_000),
            attributes: vec![("tintype.tier", "pro".into()), ("tintype.run", 2u32.into())],
            failure: Some("no room".into()),
        };
        let root = Span {
            parent: None,
            failure: None,
            attributes: Vec::new(),
            ..span.clone()
        };
        let body = body("pictures", "one", &[span, root]);
        let text = serde_json::to_string_pretty(&body).unwrap();
        insta::assert_snapshot!(text.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    }
}
