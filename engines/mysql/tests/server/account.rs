//! The account that a server runs as.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// MariaDB refuses to run as root, so that root runs it as somebody else.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    /// Name, user id, group id; `None` means the account of the test itself.
    other: Option<(String, u32, u32)>,
}

impl Account {
    /// The account of the test, or one without rights if that is root.
    ///
    /// # Errors
    /// If root finds neither `mysql` nor `nobody`.
    pub(crate) fn choose() -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self { other: None });
        }
        let passwd =
            std::fs::read_to_string("/etc/passwd").map_err(|error| format!("/etc/passwd: {error}"))?;
        let other = ["mysql", "nobody"].iter().find_map(|name| find(&passwd, name));
        if other.is_none() {
            return Err("running as root, and there is no account 'mysql' or 'nobody'".to_owned());
        }
        Ok(Self { other })
    }

    /// A command that runs `program` as this account, and ends it when the thread that started it ends.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if let Some((_, user, group)) = &self.other {
            command.args([
                format!("--reuid={user}"),
                format!("--regid={group}"),
                "--clear-groups".to_owned(),
            ]);
        }
        command.arg("--").arg(program);
        // What the user of the test set for clients is not meant for this server.
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_mysql(name)) {
            command.env_remove(name);
        }
        command
    }

    /// Gives a file or folder to this account.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn give(&self, path: &Path) -> Result<(), String> {
        let Some((_, user, group)) = self.other else { return Ok(()) };
        std::os::unix::fs::chown(path, Some(user), Some(group))
            .map_err(|error| format!("chown {}: {error}", path.display()))
    }
}

fn is_mysql(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"MYSQL")
}

fn find(passwd: &str, name: &str) -> Option<(String, u32, u32)> {
    let fields: Vec<&str> =
        passwd.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|f| f[0] == name)?;
    Some((name.to_owned(), fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}
