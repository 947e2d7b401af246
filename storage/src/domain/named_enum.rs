//! Enums whose variants have names on the wire and in the configuration.

macro_rules! named_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            /// In the order in which they are listed to people.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The name on the wire and in the configuration.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The names of [`Self::ALL`].
            pub fn names() -> impl Iterator<Item = &'static str> + Clone {
                Self::ALL.into_iter().map(Self::as_str)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::domain::named_enum::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let mut all = Self::ALL.into_iter();
                all.find(|it| it.as_str() == text).ok_or($crate::domain::named_enum::UnknownName)
            }
        }
    };
}

pub(crate) use named_enum;

#[derive(Debug, thiserror::Error)]
#[error("unknown word")]
pub struct UnknownName;
