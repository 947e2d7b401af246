//! Registers each path together with its OpenAPI description, so that routing, documents and the `Allow` header of a 405 cannot diverge.
//! Both interfaces use only this router.

use super::openapi::{DocumentBuilder, Operation, RequiredAuth};
use crate::web::auth::Principal;
use crate::web::auth::access::OperatorCall;
use crate::web::problem::HttpResult;
use crate::web::problem::catch_panic::GuardedResource;
use actix_web::dev::HttpServiceFactory;
use actix_web::http::Method;
use actix_web::{FromRequest, Handler, Responder, Scope, web};
use std::future::ready;

/// One method of a path, for the documents.
pub struct Call {
    pub method: Method,
    /// The absolute path, as the documents write it.
    pub path: String,
    pub auth: RequiredAuth,
    describe: Box<dyn Fn(&mut DocumentBuilder<'_>) -> Operation>,
}

impl Call {
    pub fn describe(&self, builder: &mut DocumentBuilder<'_>) -> Operation {
        (self.describe)(builder)
    }
}

pub struct ApiPath {
    auth: RequiredAuth,
    documented_path: String,
    resource: GuardedResource,
    calls: Vec<Call>,
}

pub struct ApiRouter {
    prefix: &'static str,
    paths: Vec<ApiPath>,
}

macro_rules! documented_methods {
    ($($name:ident: $method:ident),+ $(,)?) => {$(
        pub fn $name<F, Args>(self, handler: F, describe: impl Describe) -> Self
        where
            F: Handler<Args, Output: Responder + 'static>,
            Args: FromRequest + 'static,
        {
            self.with(Method::$method, handler, describe)
        }
    )+};
}

impl ApiPath {
    /// A path without methods, relative to the prefix of its router.
    pub fn new(auth: RequiredAuth, path: &str) -> Self {
        Self {
            auth,
            documented_path: path.to_owned(),
            resource: GuardedResource::of(web::resource(path)),
            calls: Vec::new(),
        }
    }

    /// Sets the path for the documents: OpenAPI templates cannot express a parameter with slashes.
    pub fn documented_as(mut self, path: &str) -> Self {
        self.documented_path = path.to_owned();
        self
    }

    /// `GET`, and `HEAD` except on the operator's paths.
    pub fn get<F, Args>(self, handler: F, describe: impl Describe) -> Self
    where
        F: Handler<Args, Output: Responder + 'static>,
        Args: FromRequest + 'static,
    {
        let path = match self.auth {
            RequiredAuth::None | RequiredAuth::ApiKey => self.route(Method::HEAD, handler.clone()),
            RequiredAuth::AdminToken => self,
        };
        path.with(Method::GET, handler, describe)
    }

    documented_methods!(post: POST, put: PUT, patch: PATCH, delete: DELETE);

    fn with<F, Args>(mut self, method: Method, handler: F, describe: impl Describe) -> Self
    where
        F: Handler<Args, Output: Responder + 'static>,
        Args: FromRequest + 'static,
    {
        self.calls.push(Call {
            method: method.clone(),
            path: self.documented_path.clone(),
            auth: self.auth,
            describe: Box::new(describe),
        });
        self.route(method, handler)
    }

    fn route<F, Args>(mut self, method: Method, handler: F) -> Self
    where
        F: Handler<Args, Output: Responder + 'static>,
        Args: FromRequest + 'static,
    {
        self.resource = self.resource.on(method, handler);
        self
    }

    /// The resource to register. Authenticates before it reports a wrong method.
    fn resource(self) -> impl HttpServiceFactory {
        let refusal = self.resource.refusal();
        let refuse = move || ready(HttpResult::Err(refusal.clone()));
        match self.auth {
            RequiredAuth::None => self.resource,
            RequiredAuth::ApiKey => self.resource.with_fallback(move |_: Principal| refuse()),
            RequiredAuth::AdminToken => {
                self.resource.with_fallback(move |_: OperatorCall| refuse())
            }
        }
    }
}

impl ApiRouter {
    pub fn new(prefix: &'static str, paths: Vec<ApiPath>) -> Self {
        Self { prefix, paths }
    }

    /// All calls with absolute paths.
    pub fn calls(self) -> impl Iterator<Item = Call> {
        let prefix = self.prefix;
        let calls = self.paths.into_iter().flat_map(|path| path.calls);
        calls.map(move |call| Call {
            path: format!("{prefix}{}", call.path),
            ..call
        })
    }

    /// The scope to register, for a router with a prefix.
    pub fn scope(mut self) -> Scope {
        let scope = web::scope(self.prefix);
        // The router compares paths without parameters as text, and all others with a regular expression each.
        self.paths
            .sort_by_key(|path| path.documented_path.contains('{'));
        let paths = self.paths.into_iter();
        paths.fold(scope, |scope, path| scope.service(path.resource()))
    }

    /// Registers the paths of a router without a prefix.
    pub fn register(self, service: &mut web::ServiceConfig) {
        for path in self.paths {
            service.service(path.resource());
        }
    }
}

pub trait Describe: Fn(&mut DocumentBuilder<'_>) -> Operation + 'static {}

impl<F: Fn(&mut DocumentBuilder<'_>) -> Operation + 'static> Describe for F {}
