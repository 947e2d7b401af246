//! Enums whose variants have names on the wire and in the configuration.

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            /// In the order in which they are listed to people.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The name on the wire and in the configuration.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The names of [`Self::ALL`].
            pub fn words() -> impl Iterator<Item = &'static str> + Clone {
                Self::ALL.into_iter().map(Self::word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::domain::enum_words::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let mut all = Self::ALL.into_iter();
                all.find(|it| it.word() == text).ok_or($crate::domain::enum_words::UnknownWord)
            }
        }
    };
}

pub(crate) use words;

#[derive(Debug, thiserror::Error)]
#[error("unknown word")]
pub struct UnknownWord;
