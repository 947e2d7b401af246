//! A wall around handlers: one that panics is answered 500 where its call is still at hand.
//!
//! The outermost layer has a wall too, but what reaches that has lost its request on the way, so that its line in the log and its
//! figure could name neither route nor account.

use super::problem::Problem;
use crate::application::error;
use actix_web::{FromRequest, Handler};
use futures_util::FutureExt as _;
use futures_util::future::{CatchUnwind, Map};
use std::any::Any;
use std::panic::AssertUnwindSafe;

type Caught<T> = Result<T, Box<dyn Any + Send>>;

/// A handler behind the wall.
#[derive(Clone)]
pub struct Walled<F>(pub F);

impl<F, Args> Handler<Args> for Walled<F>
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
{
    type Output = Result<F::Output, Problem>;
    type Future =
        Map<CatchUnwind<AssertUnwindSafe<F::Future>>, fn(Caught<F::Output>) -> Self::Output>;

    fn call(&self, args: Args) -> Self::Future {
        AssertUnwindSafe(self.0.call(args))
            .catch_unwind()
            .map(answered)
    }
}

fn answered<T>(outcome: Caught<T>) -> Result<T, Problem> {
    outcome.map_err(|_| {
        tracing::error!(
            "a handler panicked; the line of the call that was answered 500 has its request id"
        );
        error::internal().into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::test::{TestRequest, call_service, init_service};
    use actix_web::{App, HttpResponse, web};

    async fn panicking() -> HttpResponse {
        panic!("as a fault would")
    }

    #[actix_web::test]
    async fn a_handler_that_panics_is_answered_500_with_its_route_at_hand() {
        let app = App::new().route("/jobs/{job_id}", web::get().to(Walled(panicking)));
        let app = init_service(app).await;
        let call = TestRequest::get().uri("/jobs/4711").to_request();
        let response = call_service(&app, call).await;
        assert_eq!(response.status(), 500);
        let route = response.request().match_pattern();
        assert_eq!(route.as_deref(), Some("/jobs/{job_id}"));
        assert!(response.response().extensions().contains::<Problem>());
    }
}
