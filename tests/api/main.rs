//! The HTTP edge from outside: a real server on loopback, spoken to in bytes.
//!
//! `spec_*` has one test for each row of the specification's tables, `decisions_*` for what it leaves open, `admin_*` for the
//! operator's calls, `documents_*` for the published descriptions, and `hostile_*` for what must be survived, by the numbers of its list.

mod admin_account_changes;
mod admin_accounts;
mod admin_audit;
mod admin_jobs;
mod admin_key_addresses;
mod admin_key_limits;
mod admin_key_rotation;
mod admin_keys;
mod admin_lists;
mod admin_pause;
mod admin_people;
mod callers_who_leave;
mod decisions_bodies;
mod decisions_callbacks;
mod decisions_cancel;
mod decisions_dry_run;
mod decisions_errors;
mod decisions_events;
mod decisions_files;
mod decisions_headers;
mod decisions_history;
mod decisions_idempotency;
mod decisions_inputs;
mod decisions_jobs;
mod decisions_metadata;
mod decisions_order;
mod decisions_positions;
mod decisions_prompts;
mod decisions_queue;
mod decisions_rates;
mod decisions_ratios;
mod decisions_reads;
mod decisions_waiting;
mod documents_form;
mod documents_served;
mod hostile_auth;
mod hostile_connections;
mod hostile_fetching;
mod hostile_fields;
mod hostile_idempotency;
mod hostile_json;
mod hostile_json_suite;
mod hostile_money;
mod hostile_ssrf;
mod hostile_ssrf_ways;
mod hostile_wire;
mod panel_audit;
mod panel_guard;
mod panel_operator;
mod panel_pages;
mod panel_sessions;
mod secrets_stay_secret;
mod spec_authentication;
mod spec_endpoints;
mod spec_errors;
mod spec_limits;
mod spec_requests;
mod spec_responses;
mod spec_states;
mod spec_tiers;
// The webhooks' tests stand on it too, and each binary leaves a part of it unused.
#[allow(dead_code, unused_imports)]
mod support;
