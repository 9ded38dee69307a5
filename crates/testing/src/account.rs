//! The account that a server runs as.

use std::path::Path;
use std::process::Command;

/// Database servers refuse to run as root, so that root runs them as somebody else.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    /// User id and group id; `None` means the account of the test itself.
    other: Option<(u32, u32)>,
}

impl Account {
    /// The account of the test, or one without rights if that is root: the one of that name, which packages of the server
    /// make, or `nobody`.
    ///
    /// # Errors
    /// If root finds neither.
    pub(crate) fn choose(name: &str) -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self { other: None });
        }
        let passwd =
            std::fs::read_to_string("/etc/passwd").map_err(|error| format!("/etc/passwd: {error}"))?;
        let other = [name, "nobody"].iter().find_map(|name| find(&passwd, name));
        if other.is_none() {
            return Err(format!("running as root, and there is no account '{name}' or 'nobody'"));
        }
        Ok(Self { other })
    }

    /// A command that runs `program` as this account, and ends it when the thread that started it ends. What the user of the
    /// test set for clients, in variables whose names begin with `variables`, is not meant for this server.
    pub(crate) fn command(&self, program: &Path, variables: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if let Some((user, group)) = &self.other {
            command.args([
                format!("--reuid={user}"),
                format!("--regid={group}"),
                "--clear-groups".to_owned(),
            ]);
        }
        command.arg("--").arg(program);
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(variables.as_bytes()) {
                command.env_remove(name);
            }
        }
        command
    }

    /// Gives a file or folder to this account.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn give(&self, path: &Path) -> Result<(), String> {
        let Some((user, group)) = self.other else { return Ok(()) };
        std::os::unix::fs::chown(path, Some(user), Some(group))
            .map_err(|error| format!("chown {}: {error}", path.display()))
    }
}

fn find(passwd: &str, name: &str) -> Option<(u32, u32)> {
    let fields: Vec<&str> =
        passwd.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|f| f[0] == name)?;
    Some((fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
}

/// A command by an account that has no rights. `None`, which stderr says, where this test is not root's, or that account can't
/// reach the program.
#[allow(clippy::print_stderr, reason = "a skipped test must be seen")]
#[must_use]
pub fn as_nobody(program: &Path) -> Option<Command> {
    let passwd = std::fs::read_to_string("/etc/passwd").ok()?;
    let nobody = find(&passwd, "nobody").filter(|_| rustix::process::geteuid().is_root());
    let command = || Account { other: nobody }.command(program, "PG");
    let reaches_it = command().arg("--version").output().is_ok_and(|done| done.status.success());
    if nobody.is_none() || !reaches_it {
        eprintln!("skipped: this test is not root's, or nobody may not run {}", program.display());
        return None;
    }
    Some(command())
}
