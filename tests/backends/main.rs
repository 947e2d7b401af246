//! Back ends behind HTTP, from end to end: a real server, and stubs on loopback that speak the wire forms as the real ones do.

#[allow(
    dead_code,
    reason = "shared with the tests of the binary, which use all of it"
)]
#[path = "../recovery/client.rs"]
mod client;
mod comfyui;
mod comfyui_faults;
mod comfyui_resume;
mod comfyui_stub;
mod desk;
mod failover;
mod faults;
mod gemini;
mod inputs;
mod limits;
mod local_probe;
mod local_service;
mod openai;
mod peer;
#[allow(
    dead_code,
    reason = "shared with the tests of the binary, which use all of it"
)]
#[path = "../recovery/place.rs"]
mod place;
mod probe;
mod sdapi;
mod sdapi_faults;
mod sdapi_stub;
mod stub;
#[allow(
    dead_code,
    unused_imports,
    reason = "shared with the tests of the HTTP edge, which use all of it"
)]
#[path = "../api/support/mod.rs"]
mod support;
mod tintype;
mod world;
