//! One call in a document: parameters, body, responses and errors.

use super::error_responses;
use super::headers::Header;
use super::required_auth::RequiredAuth;
use crate::web::problem::Code;
use crate::web::submissions::idempotency_key;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub struct Operation {
    id: &'static str,
    group: &'static str,
    summary: &'static str,
    text: String,
    parameters: Vec<Value>,
    body: Option<Value>,
    responses: Vec<ResponseDoc>,
    codes: Vec<Code>,
}

/// A response other than an error.
pub struct ResponseDoc {
    status: u16,
    text: &'static str,
    headers: Vec<Header>,
    content: Map<String, Value>,
    links: Map<String, Value>,
}

impl Operation {
    /// `id` is unique in the document. `group` is a tag.
    pub fn new(id: &'static str, group: &'static str, summary: &'static str) -> Self {
        Self {
            id,
            group,
            summary,
            text: String::new(),
            parameters: Vec::new(),
            body: None,
            responses: Vec::new(),
            codes: Vec::new(),
        }
    }

    /// The description, in CommonMark.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    pub fn path(self, name: &str, text: &str, schema: Value) -> Self {
        self.parameter(name, "path", text, schema)
    }

    pub fn query(self, name: &str, text: &str, schema: Value) -> Self {
        self.parameter(name, "query", text, schema)
    }

    /// The parameters of every list, which refuses unknown ones.
    pub fn window(self) -> Self {
        // Not `format: uuid`, which is written with hyphens.
        self.window_with_cursor("^[0-9a-f]{32}$")
    }

    /// As [`Self::window`], with the pattern of a cursor that is not an id alone.
    pub fn window_with_cursor(self, pattern: &str) -> Self {
        let limit = json!({"type": "integer", "minimum": 1, "maximum": 100, "default": 20});
        let cursor = json!({"type": "string", "pattern": pattern});
        self.query("limit", "Entries on the page.", limit)
            .query("cursor", "`next_cursor` of the page before.", cursor)
            .refuses([Code::ValidationFailed])
    }

    pub fn header(self, name: &str, text: &str, schema: Value) -> Self {
        self.parameter(name, "header", text, schema)
    }

    /// The ways to wait for the end of a record.
    pub fn long_poll(self, text: &str) -> Self {
        let seconds = json!({"type": "integer", "minimum": 0, "maximum": 60});
        let preference = json!({"type": "string", "examples": ["wait=30"]});
        let same = "`wait=N` does the same. Invalid values are ignored.";
        self.query("wait", text, seconds)
            .header("Prefer", same, preference)
    }

    /// `Idempotency-Key`
    pub fn idempotent(self, text: &str) -> Self {
        let schema =
            json!({"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"});
        self.header(idempotency_key::HEADER, text, schema)
            .refuses([Code::ValidationFailed, Code::IdempotencyKeyReused])
    }

    /// An object in the query: `name[member]=value`.
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

    fn parameter(mut self, name: &str, location: &str, text: &str, schema: Value) -> Self {
        let mut parameter =
            json!({"name": name, "in": location, "description": text, "schema": schema});
        if location == "path" {
            parameter["required"] = true.into();
        }
        self.parameters.push(parameter);
        self
    }

    /// A JSON body with examples, each with a summary.
    pub fn body(self, schema: Value, examples: &[(&str, Value)]) -> Self {
        self.with_body(schema, examples, true)
    }

    pub fn optional_body(self, schema: Value, examples: &[(&str, Value)]) -> Self {
        self.with_body(schema, examples, false)
    }

    fn with_body(mut self, schema: Value, examples: &[(&str, Value)], required: bool) -> Self {
        self.body = Some(json!({
            "required": required,
            "content": {"application/json": {"schema": schema, "examples": named_examples(examples)}},
        }));
        self.refuses([
            Code::RequestTimeout,
            Code::PayloadTooLarge,
            Code::UnsupportedMediaType,
            Code::ValidationFailed,
        ])
    }

    /// Adds another media type of the body.
    pub fn also_as(mut self, media: &str, content: Value) -> Self {
        if let Some(body) = &mut self.body {
            body["content"][media] = content;
        }
        self
    }

    pub fn response(mut self, response: ResponseDoc) -> Self {
        self.responses.push(response);
        self
    }

    /// Adds errors to those of every call with the same authentication.
    pub fn refuses(mut self, codes: impl IntoIterator<Item = Code>) -> Self {
        for code in codes {
            if !self.codes.contains(&code) {
                self.codes.push(code);
            }
        }
        self
    }

    /// Adds the ids that the path names, before the other parameters. There may be no record with such an id.
    fn with_ids(mut self, path: &str, auth: RequiredAuth) -> Self {
        let source = match auth {
            RequiredAuth::AdminToken => "",
            RequiredAuth::None | RequiredAuth::ApiKey => ", as its creation returned it",
        };
        let others = std::mem::take(&mut self.parameters);
        for name in path.split(['{', '}']) {
            if let Some(record) = name.strip_suffix("_id") {
                let text = format!("The {record}'s id{source}.");
                self = self.path(name, &text, uuid()).refuses([Code::NotFound]);
            }
        }
        self.parameters.extend(others);
        self
    }

    /// Renders the call. Adds its errors to `responses`, the components of the document, and references them.
    pub fn write(
        self,
        path: &str,
        auth: RequiredAuth,
        responses: &mut Map<String, Value>,
    ) -> Value {
        let this = self.with_ids(path, auth);
        let mut written_responses: BTreeMap<u16, Value> = BTreeMap::new();
        for response in this.responses {
            written_responses.insert(response.status, response.write(auth));
        }
        let mut codes: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
        let common = error_responses::common_codes(auth).iter().copied();
        for code in common.chain(this.codes) {
            let listed = codes.entry(code.status().as_u16()).or_default();
            if !listed.contains(&code) {
                listed.push(code);
            }
        }
        for (status, codes) in codes {
            written_responses.insert(status, error_responses::response(&codes, auth, responses));
        }
        let mut written = json!({
            "operationId": this.id,
            "tags": [this.group],
            "summary": this.summary,
            "responses": written_responses.into_iter().map(|(status, it)| (status.to_string(), it)).collect::<Map<_, _>>(),
        });
        if !this.text.is_empty() {
            written["description"] = this.text.into();
        }
        if !this.parameters.is_empty() {
            written["parameters"] = this.parameters.into();
        }
        if let Some(body) = this.body {
            written["requestBody"] = body;
        }
        written["security"] = match auth {
            RequiredAuth::None => json!([]),
            RequiredAuth::ApiKey => json!([{"apiKey": []}]),
            RequiredAuth::AdminToken => json!([{"adminToken": []}]),
        };
        written
    }
}

impl ResponseDoc {
    /// A response without a body.
    pub fn new(status: u16, text: &'static str) -> Self {
        Self {
            status,
            text,
            headers: Vec::new(),
            content: Map::new(),
            links: Map::new(),
        }
    }

    pub fn content(mut self, media: &str, content: Value) -> Self {
        self.content.insert(media.to_owned(), content);
        self
    }

    /// Adds a header. Every response has the request id.
    pub fn header(mut self, header: Header) -> Self {
        self.headers.push(header);
        self
    }

    /// `Cache-Control: no-store`
    pub fn not_stored(self) -> Self {
        self.header(Header::CACHE_CONTROL)
    }

    /// Links to follow-up calls, by name and operation. Each takes the member of this response that has the name of its parameter.
    pub fn links(mut self, parameter: &str, operations: &[(&str, &str)]) -> Self {
        let expression = format!("$response.body#/{parameter}");
        for (name, operation) in operations {
            let link = json!({"operationId": operation, "parameters": {parameter: expression}});
            self.links.insert((*name).to_owned(), link);
        }
        self
    }

    fn write(self, auth: RequiredAuth) -> Value {
        let of_key = (auth == RequiredAuth::ApiKey)
            .then_some([Header::RATE_LIMIT, Header::RATE_LIMIT_POLICY]);
        let not_stored = (auth != RequiredAuth::None).then_some(Header::CACHE_CONTROL);
        let headers = [Header::REQUEST_ID]
            .into_iter()
            .chain(not_stored)
            .chain(self.headers)
            .chain(of_key.into_iter().flatten());
        let mut written = json!({
            "description": self.text,
            "headers": headers.map(Header::reference).collect::<Map<_, _>>(),
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

/// The schema of an id.
pub fn uuid() -> Value {
    json!({"type": "string", "format": "uuid"})
}

/// The schema of a point in time.
pub fn date_time() -> Value {
    json!({"type": "string", "format": "date-time"})
}

/// Names each example after its summary.
pub fn named_examples(examples: &[(&str, Value)]) -> Map<String, Value> {
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
