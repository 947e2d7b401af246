//! One call in a document: what it takes, what it answers, and what it refuses.

use super::door::Door;
use super::headers::Header;
use super::refusals;
use crate::web::idempotency_key;
use crate::web::problem::Code;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A call, described.
pub struct Operation {
    id: &'static str,
    group: &'static str,
    summary: &'static str,
    text: String,
    parameters: Vec<Value>,
    body: Option<Value>,
    answers: Vec<Answer>,
    codes: Vec<Code>,
}

/// An answer that is no error.
pub struct Answer {
    status: u16,
    text: &'static str,
    headers: Vec<Header>,
    content: Map<String, Value>,
    links: Map<String, Value>,
}

impl Operation {
    /// A call of this id, which is unique in its document, in a group of calls.
    pub fn new(id: &'static str, group: &'static str, summary: &'static str) -> Self {
        Self {
            id,
            group,
            summary,
            text: String::new(),
            parameters: Vec::new(),
            body: None,
            answers: Vec::new(),
            codes: Vec::new(),
        }
    }

    /// What more there is to say of it, in CommonMark.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// An id in the path.
    pub fn path_id(self, name: &str, text: &str) -> Self {
        let schema = json!({"type": "string", "format": "uuid"});
        self.path(name, text, schema)
    }

    /// A parameter in the path.
    pub fn path(self, name: &str, text: &str, schema: Value) -> Self {
        self.parameter(name, "path", text, schema)
    }

    /// A parameter of the query.
    pub fn query(self, name: &str, text: &str, schema: Value) -> Self {
        self.parameter(name, "query", text, schema)
    }

    /// The parameters that every list has. Others that it does not know are refused.
    pub fn window(self) -> Self {
        let limit = json!({"type": "integer", "minimum": 1, "maximum": 100, "default": 20});
        // Not `format: uuid`, which is written with hyphens.
        let cursor = json!({"type": "string", "pattern": "^[0-9a-f]{32}$"});
        self.query("limit", "Entries on the page.", limit)
            .query("cursor", "`next_cursor` of the page before.", cursor)
            .refuses([Code::ValidationFailed])
    }

    /// A header of the request.
    pub fn header(self, name: &str, text: &str, schema: Value) -> Self {
        self.parameter(name, "header", text, schema)
    }

    /// The header that makes a call safe to repeat.
    pub fn idempotent(self, text: &str) -> Self {
        let schema =
            json!({"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"});
        self.header(idempotency_key::HEADER, text, schema)
            .refuses([Code::ValidationFailed, Code::IdempotencyKeyReused])
    }

    /// A parameter of the query that is an object: `name[member]=value`.
    pub fn deep_query(mut self, name: &str, text: &str, schema: Value, example: Value) -> Self {
        self.parameters.push(json!({
            "name": name,
            "in": "query",
            "description": text,
            "style": "deepObject",
            "explode": true,
            "schema": schema,
            "example": example,
        }));
        self
    }

    fn parameter(mut self, name: &str, place: &str, text: &str, schema: Value) -> Self {
        let mut parameter =
            json!({"name": name, "in": place, "description": text, "schema": schema});
        if place == "path" {
            parameter["required"] = true.into();
        }
        self.parameters.push(parameter);
        self
    }

    /// A JSON body with examples, each under what it is an example of.
    pub fn body(self, schema: Value, examples: &[(&str, Value)]) -> Self {
        self.takes(schema, examples, true)
    }

    /// The same where the body may be left out.
    pub fn optional_body(self, schema: Value, examples: &[(&str, Value)]) -> Self {
        self.takes(schema, examples, false)
    }

    fn takes(mut self, schema: Value, examples: &[(&str, Value)], required: bool) -> Self {
        self.body = Some(json!({
            "required": required,
            "content": {"application/json": {"schema": schema, "examples": named(examples)}},
        }));
        self.refuses([
            Code::RequestTimeout,
            Code::PayloadTooLarge,
            Code::UnsupportedMediaType,
            Code::ValidationFailed,
        ])
    }

    /// The body, sent as another media type.
    pub fn also_as(mut self, media: &str, content: Value) -> Self {
        if let Some(body) = &mut self.body {
            body["content"][media] = content;
        }
        self
    }

    /// What is answered when all is well.
    pub fn answer(mut self, answer: Answer) -> Self {
        self.answers.push(answer);
        self
    }

    /// Errors that it may answer, beyond those of everything behind the same door.
    pub fn refuses(mut self, codes: impl IntoIterator<Item = Code>) -> Self {
        for code in codes {
            if !self.codes.contains(&code) {
                self.codes.push(code);
            }
        }
        self
    }

    /// The call as the document has it. Refusals are put into `responses`, the document's own, and referred to.
    pub fn write(self, door: Door, responses: &mut Map<String, Value>) -> Value {
        let mut told: BTreeMap<u16, Value> = BTreeMap::new();
        for answer in self.answers {
            told.insert(answer.status, answer.write(door));
        }
        let mut codes: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
        let common = refusals::behind(door).iter().copied();
        for code in common.chain(self.codes) {
            let listed = codes.entry(code.status().as_u16()).or_default();
            if !listed.contains(&code) {
                listed.push(code);
            }
        }
        for (status, codes) in codes {
            told.insert(status, refusals::response(&codes, door, responses));
        }
        let mut written = json!({
            "operationId": self.id,
            "tags": [self.group],
            "summary": self.summary,
            "responses": told.into_iter().map(|(status, it)| (status.to_string(), it)).collect::<Map<_, _>>(),
        });
        if !self.text.is_empty() {
            written["description"] = self.text.into();
        }
        if !self.parameters.is_empty() {
            written["parameters"] = self.parameters.into();
        }
        if let Some(body) = self.body {
            written["requestBody"] = body;
        }
        written["security"] = match door {
            Door::Anyone => json!([]),
            Door::Client => json!([{"apiKey": []}]),
            Door::Operator => json!([{"adminToken": []}]),
        };
        written
    }
}

impl Answer {
    /// An answer without a body.
    pub fn new(status: u16, text: &'static str) -> Self {
        Self {
            status,
            text,
            headers: Vec::new(),
            content: Map::new(),
            links: Map::new(),
        }
    }

    /// An answer in JSON.
    pub fn json(status: u16, text: &'static str, schema: Value, example: Value) -> Self {
        Self::new(status, text).content(
            "application/json",
            json!({"schema": schema, "example": example}),
        )
    }

    /// A body of another type.
    pub fn content(mut self, media: &str, content: Value) -> Self {
        self.content.insert(media.to_owned(), content);
        self
    }

    /// A header, beside the request id that every answer has.
    pub fn header(mut self, header: Header) -> Self {
        self.headers.push(header);
        self
    }

    /// `Cache-Control: no-store`
    pub fn not_stored(self) -> Self {
        self.header(Header::CACHE_CONTROL)
    }

    /// A call that goes on from here: its id, and one of its parameters from a place in this answer.
    pub fn link(mut self, name: &str, operation: &str, parameter: &str, place: &str) -> Self {
        let link = json!({"operationId": operation, "parameters": {parameter: place}});
        self.links.insert(name.to_owned(), link);
        self
    }

    fn write(self, door: Door) -> Value {
        let of_key =
            (door == Door::Client).then_some([Header::RATE_LIMIT, Header::RATE_LIMIT_POLICY]);
        let of_operator = (door == Door::Operator).then_some(Header::CACHE_CONTROL);
        let headers = [Header::REQUEST_ID]
            .into_iter()
            .chain(of_operator)
            .chain(self.headers)
            .chain(of_key.into_iter().flatten());
        let mut written = json!({
            "description": self.text,
            "headers": headers.map(Header::written).collect::<Map<_, _>>(),
        });
        if !self.content.is_empty() {
            written["content"] = self.content.into();
        }
        if !self.links.is_empty() {
            written["links"] = self.links.into();
        }
        written
    }
}

/// Examples by a word made from what each is of.
pub fn named(examples: &[(&str, Value)]) -> Map<String, Value> {
    let entry = |(summary, value): &(&str, Value)| {
        let name: String = summary
            .chars()
            .map(|it| {
                if it.is_ascii_alphanumeric() {
                    it.to_ascii_lowercase()
                } else {
                    '_'
                }
            })
            .collect();
        (name, json!({"summary": summary, "value": value}))
    };
    examples.iter().map(entry).collect()
}
