//! Macros that declare a section once: its keys, their types and their readers.

/// Declares a section. Every key is required, because the defaults contain it. `= reader` parses its value. `=> name: Type = convert`
/// adds a method that returns the value in another type, such as seconds as a `Duration`.
macro_rules! section {
    ($(#[$meta:meta])* pub struct $name:ident {
        $(
            $(#[$key_meta:meta])*
            $visible:vis $key:ident: $kind:ty = $reader:expr
                $(=> $method:ident: $converted:ty = $convert:expr)?
        ),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        pub struct $name {
            $($(#[$key_meta])* $visible $key: $kind),+
        }

        impl $name {
            pub(super) fn read(mut section: super::reader::Section<'_>) -> Self {
                let read = Self {
                    $($key: section.required(stringify!($key), $reader)),+
                };
                section.finish();
                read
            }

            $($(pub fn $method(&self) -> $converted {
                $convert(self.$key)
            })?)+
        }
    };
}

/// Declares the keys of one kind of backend. Each is optional: `= reader, default`.
macro_rules! settings {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$key_meta:meta])* pub $key:ident: $kind:ty = $reader:expr, $default:expr;)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        pub struct $name {
            $($(#[$key_meta])* pub $key: $kind),+
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($key: $default),+
                }
            }
        }

        impl $name {
            pub(super) const KEYS: &[&str] = &[$(stringify!($key)),+];

            /// Reads the keys of this kind from the section of a backend.
            pub(super) fn read(section: &mut crate::config::reader::Section<'_>) -> Self {
                Self {
                    $($key: section.optional(stringify!($key), $reader).unwrap_or($default)),+
                }
            }
        }
    };
}

pub(super) use {section, settings};
