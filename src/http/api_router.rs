//! Paths as one table: what is registered is described, and what is described is registered.
//!
//! A path is added here with a handler and its description in one step, so that the published documents, the routing and the
//! `Allow` of a 405 come from the same lines. There is no other way into the two interfaces.

use super::openapi::{Door, Operation, Sketch};
use crate::web::auth::{Operator, Principal};
use crate::web::catch_panic::Walled;
use crate::web::problem::Problem;
use actix_web::dev::HttpServiceFactory;
use actix_web::http::Method;
use actix_web::{FromRequest, Handler, HttpResponse, Resource, Responder, Scope, web};
use std::future::{Ready, ready};

/// One method of a path, as the documents tell it.
pub struct Call {
    /// The method.
    pub method: Method,
    /// The path from the root on, as the documents write it.
    pub path: String,
    /// Who may call.
    pub door: Door,
    describe: Box<dyn Fn(&mut Sketch<'_>) -> Operation>,
}

impl Call {
    /// Its description.
    pub fn describe(&self, sketch: &mut Sketch<'_>) -> Operation {
        (self.describe)(sketch)
    }
}

/// A path with its methods.
pub struct ApiPath {
    door: Door,
    shown: String,
    resource: Resource,
    methods: Vec<Method>,
    calls: Vec<Call>,
}

/// The paths below a prefix.
pub struct ApiRouter {
    prefix: &'static str,
    paths: Vec<ApiPath>,
}

impl ApiPath {
    /// A path that has no methods yet, below the prefix of its surface.
    pub fn new(door: Door, path: &str) -> Self {
        Self {
            door,
            shown: path.to_owned(),
            resource: web::resource(path),
            methods: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// Writes the path in another way in the documents, whose templates know no parameter with slashes.
    pub fn shown_as(mut self, path: &str) -> Self {
        self.shown = path.to_owned();
        self
    }

    /// `GET`, and `HEAD` with it; on the operator's paths `GET` alone.
    pub fn get<F, Args>(self, handler: F, describe: impl Describe) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        let place = match self.door {
            Door::Anyone | Door::Client => self.route(Method::HEAD, handler.clone()),
            Door::Operator => self,
        };
        place.with(Method::GET, handler, describe)
    }

    /// `POST`
    pub fn post<F, Args>(self, handler: F, describe: impl Describe) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.with(Method::POST, handler, describe)
    }

    /// `PUT`
    pub fn put<F, Args>(self, handler: F, describe: impl Describe) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.with(Method::PUT, handler, describe)
    }

    /// `PATCH`
    pub fn patch<F, Args>(self, handler: F, describe: impl Describe) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.with(Method::PATCH, handler, describe)
    }

    /// `DELETE`
    pub fn delete<F, Args>(self, handler: F, describe: impl Describe) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.with(Method::DELETE, handler, describe)
    }

    fn with<F, Args>(mut self, method: Method, handler: F, describe: impl Describe) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.calls.push(Call {
            method: method.clone(),
            path: self.shown.clone(),
            door: self.door,
            describe: Box::new(describe),
        });
        self.route(method, handler)
    }

    fn route<F, Args>(mut self, method: Method, handler: F) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.methods.push(method.clone());
        let handler = Walled(handler);
        self.resource = self.resource.route(web::method(method).to(handler));
        self
    }

    /// The methods as `Allow` names them.
    fn allow(&self) -> String {
        let mut words: Vec<&str> = self.methods.iter().map(Method::as_str).collect();
        words.sort_unstable();
        words.join(", ")
    }

    /// What is registered. A wrong method is told only to those who may come in.
    fn resource(self) -> impl HttpServiceFactory {
        let allow = self.allow();
        let refuse = move || refused(&allow);
        let fallback = match self.door {
            Door::Anyone => web::to(refuse),
            Door::Client => web::to(move |_: Principal| refuse()),
            Door::Operator => web::to(move |_: Operator| refuse()),
        };
        self.resource.default_service(fallback)
    }
}

fn refused(allow: &str) -> Ready<Result<HttpResponse, Problem>> {
    ready(Err(Problem::method_not_allowed(allow)))
}

impl ApiRouter {
    /// These paths below this prefix.
    pub fn new(prefix: &'static str, paths: Vec<ApiPath>) -> Self {
        Self { prefix, paths }
    }

    /// Every call, with its path from the root on.
    pub fn calls(self) -> impl Iterator<Item = Call> {
        let prefix = self.prefix;
        let calls = self.paths.into_iter().flat_map(|place| place.calls);
        calls.map(move |call| Call {
            path: format!("{prefix}{}", call.path),
            ..call
        })
    }

    /// The scope that serves the paths, where there is a prefix. Paths without parameters come first: the router compares them as text.
    pub fn scope(mut self) -> Scope {
        let scope = web::scope(self.prefix);
        self.paths.sort_by_key(|path| path.shown.contains('{'));
        let paths = self.paths.into_iter();
        paths.fold(scope, |scope, path| scope.service(path.resource()))
    }

    /// Registers the paths, where there is no prefix.
    pub fn register(self, service: &mut web::ServiceConfig) {
        for place in self.paths {
            service.service(place.resource());
        }
    }
}

/// Describes a call for one document.
pub trait Describe: Fn(&mut Sketch<'_>) -> Operation + 'static {}

impl<F: Fn(&mut Sketch<'_>) -> Operation + 'static> Describe for F {}
