//! End-to-end tests of HTTP backends: a real server, and stubs on loopback that speak the real wire formats.

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
mod failover;
mod faults;
mod fixture;
mod gemini;
mod inputs;
mod limits;
mod local_probe;
mod local_service;
mod log;
mod masks;
mod openai;
mod openai_servers;
mod peer;
mod probe;
mod sdapi;
mod sdapi_faults;
mod sdapi_stub;
mod service;
mod stub;
#[allow(
    dead_code,
    unused_imports,
    reason = "shared with the tests of the HTTP edge, which use all of it"
)]
#[path = "../api/support/mod.rs"]
mod support;
#[allow(
    dead_code,
    reason = "shared with the tests of the binary, which use all of it"
)]
#[path = "../recovery/test_directory.rs"]
mod test_directory;
mod tintype;
