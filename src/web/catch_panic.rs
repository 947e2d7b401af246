//! Turns a panic of a handler into a 500 response while the request is still available.
//!
//! The outermost middleware also catches panics, but it no longer has the request, so its log line and metric would lack the route and the
//! account.

use super::problem::Problem;
use crate::application::error;
use actix_web::{FromRequest, Handler};
use futures_util::FutureExt as _;
use futures_util::future::{CatchUnwind, Map};
use std::panic::AssertUnwindSafe;
use std::thread;

/// A handler whose panics become 500 responses.
#[derive(Clone)]
pub struct CatchPanic<F>(pub F);

impl<F, Args> Handler<Args> for CatchPanic<F>
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
{
    type Output = Result<F::Output, Problem>;
    type Future = Map<
        CatchUnwind<AssertUnwindSafe<F::Future>>,
        fn(thread::Result<F::Output>) -> Self::Output,
    >;

    fn call(&self, args: Args) -> Self::Future {
        AssertUnwindSafe(self.0.call(args))
            .catch_unwind()
            .map(to_response)
    }
}

fn to_response<T>(outcome: thread::Result<T>) -> Result<T, Problem> {
    outcome.map_err(|_| {
        tracing::error!("a handler panicked; the log line of the 500 response has the request id");
        error::internal().into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::{TestRequest, call_service, init_service};
    use actix_web::{App, HttpResponse, web};

    async fn panicking() -> HttpResponse {
        panic!("test")
    }

    #[actix_web::test]
    async fn a_panic_becomes_a_500_response_with_its_route() {
        let app = App::new().route("/jobs/{job_id}", web::get().to(CatchPanic(panicking)));
        let app = init_service(app).await;
        let call = TestRequest::get().uri("/jobs/4711").to_request();
        let response = call_service(&app, call).await;
        assert_eq!(response.status(), 500);
        let route = response.request().match_pattern();
        assert_eq!(route.as_deref(), Some("/jobs/{job_id}"));
        assert!(response.response().extensions().contains::<Problem>());
    }
}
