//! Settings and parameters as text: `slob.conf` and the document of parameters.

mod conf_text;
mod init;
mod markdown;
mod quote;

pub use conf_text::to_conf_text;
pub use init::init_text;
pub use markdown::markdown;
