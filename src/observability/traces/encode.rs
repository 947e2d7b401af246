//! Encodes spans as OTLP JSON (opentelemetry-proto, `ExportTraceServiceRequest` in the JSON mapping of Protobuf): ids in lower-case
//! hex, 64-bit numbers as strings, enumerations as numbers.

use super::span::Span;
use serde_json::{Value, json};

/// OTLP's status code of a failed span.
const ERROR: u8 = 2;

pub fn body(service: &str, instance: &str, spans: &[Span]) -> Value {
    let spans: Vec<Value> = spans.iter().map(span).collect();
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

fn span(span: &Span) -> Value {
    let attributes = span.attributes.iter();
    let attributes: Vec<Value> = attributes.map(|(key, it)| attribute(key, it)).collect();
    let mut fields = json!({
        "traceId": hex::encode(span.trace),
        "spanId": hex::encode(span.id),
        "name": span.name,
        "kind": span.kind as u8,
        "startTimeUnixNano": span.began.as_nanos().to_string(),
        "endTimeUnixNano": span.ended.as_nanos().to_string(),
        "attributes": attributes,
    });
    if let Some(parent) = span.parent {
        fields["parentSpanId"] = hex::encode(parent).into();
    }
    if let Some(failure) = &span.failure {
        fields["status"] = json!({"code": ERROR, "message": failure});
    }
    fields
}

fn attribute(key: &str, value: &Value) -> Value {
    let value = match value {
        Value::Number(number) => json!({"intValue": number.to_string()}),
        text => json!({"stringValue": text}),
    };
    json!({"key": key, "value": value})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observability::traces::span::Kind;
    use std::time::Duration;

    #[test]
    fn a_span_is_encoded_as_otlp_json() {
        let span = Span {
            trace: [0xAB; 16],
            id: [1; 8],
            parent: Some([2; 8]),
            name: "run",
            kind: Kind::Internal,
            began: Duration::from_secs(1_795_000_000),
            ended: Duration::from_millis(1_795_000_000_500),
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
