//! Runs the targets without libFuzzer, over their corpora and over mutations of them.

use crate::inputs;
use crate::mutation::Mutation;
use crate::targets::{ALL, Target};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a target over its corpus and over mutations, and shows an input that breaks it.
fn run(name: &str) {
    let target: &Target = ALL.iter().find(|it| it.name == name).unwrap();
    let corpus = inputs::of(name);
    let mut made = Mutation::new(0x7171, corpus.clone());
    let made = (0..target.rounds).map(|_| made.next());
    for input in corpus.into_iter().chain(made) {
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        assert!(
            outcome.is_ok(),
            "{name} breaks on {} bytes, in hexadecimal {}, which is {:?}",
            input.len(),
            hex::encode(&input),
            String::from_utf8_lossy(&input)
        );
    }
}

macro_rules! targets {
    ($($name:ident),+ $(,)?) => {
        $(#[test] fn $name() { run(stringify!($name)); })+

        #[test]
        fn every_target_is_run() {
            let run = [$(stringify!($name)),+];
            assert_eq!(ALL.iter().map(|it| it.name).collect::<Vec<_>>(), run);
        }
    };
}

targets!(
    request_body,
    canonical_json,
    download_url,
    record,
    journal,
    form,
    image_header,
    outside_url,
    signature,
    inline_images,
);
