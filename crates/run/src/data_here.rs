//! Where the data of a target lie on this host.

use std::path::{Path, PathBuf};

use slob_engine::Engine;
use slob_host::Device;
use slob_observe::Eye;

/// The data of a target, as this host has them.
#[derive(Clone, Debug)]
pub struct DataHere {
    /// Where this program finds them. The folder of an embedded database need not be there yet.
    pub path: PathBuf,
    /// What carries them, or why that is not known.
    pub device: Result<Device, String>,
}

impl DataHere {
    /// Looks for the first server of a target, whose `embedded` says whether it is part of this program, and for its data.
    ///
    /// # Errors
    /// With what is lacking, if they are elsewhere or not to be seen.
    pub fn find(engine: &dyn Engine, embedded: bool) -> Result<Self, String> {
        let server =
            engine.whereabouts().into_iter().next().ok_or("this target has no server to look for")?;
        if embedded {
            let path = server.clues.data.ok_or("this target keeps no files")?;
            let device = Device::behind(nearest(&path)).map_err(|error| error.to_string());
            return Ok(Self { path, device });
        }
        let found = Eye::here().find(server.clues)?;
        let lacking = found.lacking.join(" ");
        let path = found.path.ok_or_else(|| lacking.clone())?;
        Ok(Self { path, device: found.data.ok_or(lacking) })
    }

    /// The folder of the data, or the nearest one above it that is there.
    #[must_use]
    pub fn folder(&self) -> &Path {
        nearest(&self.path)
    }
}

fn nearest(path: &Path) -> &Path {
    let there = path.ancestors().find(|path| path.exists());
    // The last one above a relative path has no name.
    there.unwrap_or(Path::new(if path.is_absolute() { "/" } else { "." }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_there_yet_lies_in_one_that_is() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(nearest(&folder.path().join("a/b")), folder.path());
        assert_eq!(nearest(folder.path()), folder.path());
        assert_eq!(nearest(Path::new("no-such-folder/x")), Path::new("."));
    }
}
