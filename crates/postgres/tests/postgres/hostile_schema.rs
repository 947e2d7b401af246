//! Functions and operators that another role has created in the schema `public`.

use crate::outages::increment;
use crate::support::options;
use std::sync::Arc;
use tintype_postgres::PostgresEngine;
use tintype_postgres::testing::{has_pooler, server};
use tintype_storage::engine::Engine as _;

/// They fit the arguments better than those of PostgreSQL, and record their calls.
const HOSTILE: &str = "CREATE TABLE public.calls (callee text); \
     CREATE FUNCTION public.unnest(bytea[]) RETURNS SETOF bytea LANGUAGE sql VOLATILE AS \
     'INSERT INTO public.calls VALUES (''unnest(bytea[])''); SELECT pg_catalog.unnest($1)'; \
     CREATE FUNCTION public.unnest(text[]) RETURNS SETOF text LANGUAGE sql VOLATILE AS \
     'INSERT INTO public.calls VALUES (''unnest(text[])''); SELECT pg_catalog.unnest($1)'; \
     CREATE FUNCTION public.times(numeric, int4) RETURNS numeric LANGUAGE sql VOLATILE AS \
     'INSERT INTO public.calls VALUES (''*''); SELECT $1 OPERATOR(pg_catalog.*) $2::numeric'; \
     CREATE FUNCTION public.times(float8, int4) RETURNS float8 LANGUAGE sql VOLATILE AS \
     'INSERT INTO public.calls VALUES (''*''); SELECT $1 OPERATOR(pg_catalog.*) $2::float8'; \
     CREATE OPERATOR public.* (LEFTARG = numeric, RIGHTARG = int4, FUNCTION = public.times); \
     CREATE OPERATOR public.* (LEFTARG = float8, RIGHTARG = int4, FUNCTION = public.times)";

#[test]
fn functions_and_operators_of_other_roles_are_not_called() {
    let Some(server) = server() else { return };
    let database = server.database();
    server.execute(&database.name, HOSTILE);
    let pooled = has_pooler().then(|| database.pooled_url());
    let direct = server.url("postgres", &database.name);
    for (key, url) in ["a1", "a2"]
        .into_iter()
        .zip([direct].into_iter().chain(pooled))
    {
        let engine = Arc::new(PostgresEngine::open(options(&url)).expect("an engine"));
        let outcome = increment(&engine, key);
        outcome.recv().expect("an outcome").expect("a commit");
        assert!(engine.time().wait().expect("a read").is_some());
        let calls = server.query(&database.name, "SELECT DISTINCT callee FROM public.calls");
        assert!(calls.is_empty(), "{url}: {calls:?}");
    }
}
