//! Ends a response as the request's version of HTTP demands, where actix does not.

use actix_web::HttpResponse;
use actix_web::body::{BodySize, BoxBody, MessageBody as _};
use actix_web::dev::RequestHead;
use actix_web::http::{ConnectionType, Version};

/// What a request demands of the end of its response.
#[derive(Clone, Copy, Debug)]
pub struct Framing {
    /// The connection ends with the response, so the response must say `Connection: close`.
    closes: bool,
    /// HTTP/1.0 has no chunks: the end of the connection ends a body of unknown length.
    lacks_chunks: bool,
}

impl Framing {
    pub fn of(request: &RequestHead) -> Self {
        Self {
            // Actix ignores the offer, but closes the connection without telling. No handler can keep it open.
            closes: request.connection_type() == ConnectionType::Upgrade,
            lacks_chunks: request.version < Version::HTTP_11,
        }
    }

    /// Also closes the connection if `closes`.
    pub fn closing_if(self, closes: bool) -> Self {
        Self {
            closes: self.closes || closes,
            ..self
        }
    }

    pub fn apply(self, response: &mut HttpResponse<BoxBody>) {
        let size = response.body().size();
        let head = response.head_mut();
        let has_no_length = self.lacks_chunks && size == BodySize::Stream && head.chunked();
        if has_no_length {
            head.no_chunking(true);
        }
        if has_no_length || self.closes {
            head.set_connection_type(ConnectionType::Close);
        }
    }
}
