//! Which driver makes the connections: Oracle's client library, or none.
//!
//! | target | driver |
//! | --- | --- |
//! | `...?driver=oci` | Oracle's client library, by OCI |
//! | `...?driver=thin` | Oracle's own driver in Rust, which needs no library |
//! | without the word | OCI where its library is found, else the thin one |

use slob_engine::EngineError;
use slob_spec::Target;

use crate::client::Dial;
use crate::native::{self, Native};

/// What a target may ask for.
pub(crate) const NAMES: [&str; 2] = [OCI, THIN];
const OCI: &str = "oci";
const THIN: &str = "thin";

/// The driver of a target.
///
/// # Errors
/// [`slob_engine::ErrorKind::Usage`] if this build has none such.
pub(crate) fn of_target(target: &Target) -> Result<Box<dyn Dial>, EngineError> {
    let asked = target.query_value("driver").map(str::to_ascii_lowercase);
    match asked.as_deref() {
        Some(THIN) => thin(true),
        Some(_) => Ok(Box::new(Native)),
        None if native::client_version().is_some() => Ok(Box::new(Native)),
        // Without a thin one, the message says where the library is to be had.
        None => thin(false).or_else(|_| Ok(Box::new(Native))),
    }
}

#[cfg(feature = "thin")]
#[allow(clippy::unnecessary_wraps)]
fn thin(chosen: bool) -> Result<Box<dyn Dial>, EngineError> {
    Ok(Box::new(crate::thin::Thin::new(chosen)))
}

#[cfg(not(feature = "thin"))]
fn thin(_: bool) -> Result<Box<dyn Dial>, EngineError> {
    Err(EngineError::new(
        slob_engine::ErrorKind::Usage,
        "reading the target",
        "this build has no thin driver (its feature `thin` is off)",
    )
    .with_advice(
        "use the slob of a package, or build with --features thin; or install Oracle's client library and leave ?driver=thin out",
    ))
}

/// For `slob --version`: what is built in, and what would be taken.
pub(crate) fn in_words() -> String {
    let library = native::client_version().map_or_else(
        || "no client library found".to_owned(),
        |version| format!("client library {version} found"),
    );
    #[cfg(feature = "thin")]
    let thin = format!("thin driver oracledb {}, ", crate::thin::VERSION);
    #[cfg(not(feature = "thin"))]
    let thin = "";
    format!("{thin}OCI by ODPI-C ({library})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driver(target: &str) -> String {
        of_target(&target.parse().unwrap()).unwrap().driver().name
    }

    #[test]
    fn a_target_names_its_driver() {
        assert!(driver("oracle://u@//h/s?driver=oci").starts_with("OCI"));
        #[cfg(feature = "thin")]
        {
            assert!(driver("oracle://u@//h/s?driver=THIN").starts_with("thin, oracledb "));
            let unsaid = driver("oracle://u@//h/s");
            assert_eq!(unsaid.starts_with("OCI"), native::client_version().is_some(), "{unsaid}");
        }
    }
}
