//! Runs one target under libFuzzer. `tests/fuzz/run` builds this program and passes in the environment the target, the time in
//! seconds, and the directory for inputs that reach new code.

#![allow(unsafe_code, reason = "libFuzzer has a C interface")]

use crate::inputs;
use crate::targets::{ALL, Target};
use std::env;
use std::ffi::{CString, c_char, c_int};
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

type Callback = extern "C" fn(*const u8, usize) -> c_int;

unsafe extern "C" {
    fn LLVMFuzzerRunDriver(
        argc: *mut c_int,
        argv: *mut *mut *mut c_char,
        callback: Callback,
    ) -> c_int;
}

static TARGET: OnceLock<&Target> = OnceLock::new();

/// A panic cannot unwind out of this function: the process aborts, and libFuzzer writes the input to a file.
extern "C" fn one(data: *const u8, size: usize) -> c_int {
    let input = match size {
        0 => &[][..],
        // SAFETY: libFuzzer owns `size` bytes at `data` for the duration of the call.
        _ => unsafe { std::slice::from_raw_parts(data, size) },
    };
    if let Some(target) = TARGET.get() {
        (target.run)(input);
    }
    0
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set; start tests/fuzz/run"))
}

#[test]
fn coverage_guided_fuzzing_finds_no_crash() {
    let name = variable("TINTYPE_FUZZ_TARGET");
    let target = ALL.iter().find(|it| it.name == name);
    let target = target.unwrap_or_else(|| panic!("there is no target {name}"));
    TARGET.get_or_init(|| target);
    let place = PathBuf::from(variable("TINTYPE_FUZZ_DIR"));
    let kept = place.join(&name);
    fs::create_dir_all(&kept).unwrap();
    for (at, input) in inputs::of(&name).iter().enumerate() {
        fs::write(kept.join(format!("seed-{at:03}")), input).unwrap();
    }
    let arguments = [
        "fuzz".to_owned(),
        kept.display().to_string(),
        format!("-max_total_time={}", variable("TINTYPE_FUZZ_SECONDS")),
        format!("-artifact_prefix={}/found-{name}-", place.display()),
        "-max_len=4096".into(),
        "-timeout=20".into(),
        "-rss_limit_mb=2048".into(),
        "-print_final_stats=1".into(),
        "-verbosity=0".into(),
    ];
    let texts = arguments.map(|it| CString::new(it).unwrap());
    let mut pointers: Vec<*mut c_char> = texts.iter().map(|it| it.as_ptr().cast_mut()).collect();
    let mut count = c_int::try_from(pointers.len()).unwrap();
    pointers.push(std::ptr::null_mut());
    let mut list = pointers.as_mut_ptr();
    // SAFETY: a list of that many strings and a terminating null, all of which outlive the call. libFuzzer ends the process
    // itself when the time is over.
    let code = unsafe { LLVMFuzzerRunDriver(&mut count, &mut list, one) };
    assert_eq!(code, 0);
}
