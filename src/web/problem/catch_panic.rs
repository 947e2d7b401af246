//! Turns a panic of a handler into a 500 response while the request is still available.
//!
//! The outermost middleware also catches panics, but it no longer has the request, so its log line and metric would lack the route and the
//! account.

use crate::application::error;
use crate::web::problem::Problem;
use actix_web::dev::{AppService, HttpServiceFactory};
use actix_web::http::Method;
use actix_web::{FromRequest, Handler, Resource, Responder, web};
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

/// A path whose handlers turn panics into 500 responses.
pub struct GuardedResource(pub Resource);

macro_rules! methods {
    ($($name:ident: $method:ident),+ $(,)?) => {$(
        pub fn $name<F, Args>(self, handler: F) -> Self
        where
            F: Handler<Args, Output: Responder + 'static>,
            Args: FromRequest + 'static,
        {
            self.on(Method::$method, handler)
        }
    )+};
}

impl GuardedResource {
    /// `fallback` responds to all other methods.
    pub fn new<F, Args>(path: Resource, fallback: F) -> Self
    where
        F: Handler<Args, Output: Responder + 'static>,
        Args: FromRequest + 'static,
    {
        Self(path.default_service(web::to(fallback)))
    }

    pub fn on<F, Args>(self, method: Method, handler: F) -> Self
    where
        F: Handler<Args, Output: Responder + 'static>,
        Args: FromRequest + 'static,
    {
        let route = web::method(method).to(CatchPanic(handler));
        Self(self.0.route(route))
    }

    methods!(get: GET, head: HEAD, post: POST, put: PUT, patch: PATCH, delete: DELETE);
}

impl HttpServiceFactory for GuardedResource {
    fn register(self, config: &mut AppService) {
        self.0.register(config);
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
