//! Turns a panic of a handler into a 500 response while the request is still available.
//!
//! The outermost middleware also catches panics, but it no longer has the request, so its log line and metric would lack the route and the
//! account.

use crate::application::error;
use crate::web::problem::{HttpResult, Problem};
use actix_web::dev::{AppService, HttpServiceFactory};
use actix_web::http::Method;
use actix_web::{FromRequest, Handler, Resource, Responder, Route, web};
use futures_util::FutureExt as _;
use futures_util::future::{CatchUnwind, Map};
use std::future::ready;
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
pub struct GuardedResource {
    path: Resource,
    methods: Vec<Method>,
    /// Responds to all other methods; without it they get 405 with `Allow`.
    fallback: Option<Route>,
}

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
    /// Refuses all other methods.
    pub fn of(path: Resource) -> Self {
        Self {
            path,
            methods: Vec::new(),
            fallback: None,
        }
    }

    /// `fallback` responds to all other methods.
    pub fn new<F, Args>(path: Resource, fallback: F) -> Self
    where
        F: Handler<Args, Output: Responder + 'static>,
        Args: FromRequest + 'static,
    {
        Self::of(path).with_fallback(fallback)
    }

    pub fn with_fallback<F, Args>(mut self, fallback: F) -> Self
    where
        F: Handler<Args, Output: Responder + 'static>,
        Args: FromRequest + 'static,
    {
        self.fallback = Some(web::to(fallback));
        self
    }

    pub fn on<F, Args>(mut self, method: Method, handler: F) -> Self
    where
        F: Handler<Args, Output: Responder + 'static>,
        Args: FromRequest + 'static,
    {
        let route = web::method(method.clone()).to(CatchPanic(handler));
        self.path = self.path.route(route);
        self.methods.push(method);
        self
    }

    /// Creates the refusal of a method without a handler.
    pub fn refusal(&self) -> Problem {
        let mut words: Vec<&str> = self.methods.iter().map(Method::as_str).collect();
        words.sort_unstable();
        Problem::method_not_allowed(&words.join(", "))
    }

    methods!(get: GET, head: HEAD, post: POST, put: PUT, patch: PATCH, delete: DELETE);
}

impl HttpServiceFactory for GuardedResource {
    fn register(self, config: &mut AppService) {
        let refusal = self.refusal();
        let refuse = move || ready(HttpResult::Err(refusal.clone()));
        let fallback = self.fallback.unwrap_or_else(|| web::to(refuse));
        self.path.default_service(fallback).register(config);
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
