//! Parses `storage.objects`: the kind of store, the bucket and the prefix.

use super::ObjectError;
use super::error::shorten;
use super::key;
use object_store::path::Path;
use url::Url;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    /// Amazon S3 or a compatible server.
    S3,
    /// Google Cloud Storage.
    Gs,
    /// Azure Blob Storage.
    Az,
}

/// A bucket (or container) and the prefix of every key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) scheme: Scheme,
    pub(super) bucket: String,
    /// Empty for the whole bucket.
    pub(super) prefix: Path,
}

impl Address {
    /// Parses `s3://bucket/prefix`, `gs://bucket/prefix` or `az://container/prefix`.
    ///
    /// # Errors
    /// `ObjectError::Setting` for any other text. User names, passwords, ports, queries and fragments
    /// are rejected: credentials and endpoints come only from the environment, so the configuration
    /// holds no secret.
    pub(super) fn parse(value: &str) -> Result<Self, ObjectError> {
        let refuse = |reason: &str| ObjectError::Setting {
            value: without_credentials(value),
            reason: reason.to_owned(),
        };
        let forms = "write s3://bucket/prefix, gs://bucket/prefix or az://container/prefix";
        let url = Url::parse(value).map_err(|_| refuse(forms))?;
        let scheme = match url.scheme() {
            "s3" => Scheme::S3,
            "gs" => Scheme::Gs,
            "az" => Scheme::Az,
            _ => return Err(refuse(forms)),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refuse(
                "credentials do not belong here; set them in the environment",
            ));
        }
        if url.port().is_some() || url.query().is_some() || url.fragment().is_some() {
            return Err(refuse(
                "a port, query or fragment has no effect here; set an endpoint in the environment (AWS_ENDPOINT_URL)",
            ));
        }
        let bucket = match url.host_str() {
            Some(host) if !host.is_empty() => host.to_owned(),
            _ => return Err(refuse("the name of the bucket or container is missing")),
        };
        let prefix = match url.path().trim_matches('/') {
            "" => Path::default(),
            path => {
                key::location(path).map_err(|error| refuse(&format!("in the prefix, {error}")))?
            }
        };
        Ok(Self {
            scheme,
            bucket,
            prefix,
        })
    }

    /// The error when the store cannot be set up from its variables.
    pub(super) fn refused(&self, error: &object_store::Error) -> ObjectError {
        ObjectError::Setting {
            value: self.to_string(),
            reason: shorten(&error.to_string()),
        }
    }

    pub(super) fn missing(&self, variable: &'static str, reason: &'static str) -> ObjectError {
        ObjectError::MissingVariable {
            value: self.to_string(),
            variable,
            reason,
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = match self.scheme {
            Scheme::S3 => "s3",
            Scheme::Gs => "gs",
            Scheme::Az => "az",
        };
        write!(f, "{scheme}://{}", self.bucket)?;
        if !self.prefix.as_ref().is_empty() {
            write!(f, "/{}", self.prefix)?;
        }
        Ok(())
    }
}

/// Hides everything before an `@`, which may be a secret.
fn without_credentials(value: &str) -> String {
    match value.rsplit_once('@') {
        Some((before, after)) => {
            let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
            format!("{scheme}://...@{after}")
        }
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_kinds_round_trip() {
        for (value, scheme, bucket, prefix) in [
            ("s3://pictures", Scheme::S3, "pictures", ""),
            ("s3://pictures/", Scheme::S3, "pictures", ""),
            ("s3://pictures/a/b", Scheme::S3, "pictures", "a/b"),
            (
                "gs://my_bucket.example/x",
                Scheme::Gs,
                "my_bucket.example",
                "x",
            ),
            (
                "az://container/tintype/",
                Scheme::Az,
                "container",
                "tintype",
            ),
        ] {
            let address = Address::parse(value).expect(value);
            assert_eq!(address.scheme, scheme, "{value}");
            assert_eq!(address.bucket, bucket, "{value}");
            assert_eq!(address.prefix.as_ref(), prefix, "{value}");
            assert_eq!(address.to_string(), value.trim_end_matches('/'));
        }
    }

    #[test]
    fn any_other_value_is_refused_with_the_name_of_the_setting() {
        for value in [
            "objects",
            "/srv/objects",
            "file:///srv/objects",
            "https://bucket.s3.amazonaws.com",
            "s3:bucket",
            "s3://",
            "s3:///prefix",
            "s3://bucket:9000/x",
            "s3://bucket/x?region=eu",
            "s3://bucket/x#y",
            "s3://bucket/a//b",
            "s3://bucket/a%2fb",
            "s3://bucket/a b",
            "S3",
        ] {
            let error = Address::parse(value).unwrap_err().to_string();
            assert!(error.starts_with("storage.objects = "), "{error}");
        }
    }

    #[test]
    fn credentials_in_the_value_are_refused_and_not_repeated() {
        for value in ["s3://id:hush@bucket/x", "s3://hush@bucket", "hush@bucket"] {
            let error = Address::parse(value).unwrap_err().to_string();
            assert!(!error.contains("hush"), "{error}");
        }
    }
}
