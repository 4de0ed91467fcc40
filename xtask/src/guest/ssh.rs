//! Ssh between guests, as root and without a question: keys for one run.

use super::archive::{Archive, PLAIN, SECRET};
use super::packages::command;
use crate::tools;
use std::fs;
use std::path::Path;

/// The server's settings that differ from the default. Its users are looked up in the guest's files: there is no PAM.
const SERVER: &str = "\
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin prohibit-password
PermitUserEnvironment yes
UsePAM no
LogLevel ERROR
PidFile none
";
/// The user as whom the server does what needs no rights, and his directory, which must be root's.
pub(super) const USER: &str = "sshd:x:100:100::/run/sshd:/bin/false\n";
pub(super) const GROUP: &str = "sshd:x:100:\n";
/// The programs that the server starts for each connection; since version 9.8 these are programs of their own.
pub(super) const HELPERS: [&str; 2] = ["/usr/lib/openssh/sshd-session", "/usr/lib/openssh/sshd-auth"];

/// Adds keys and settings for guests of these names. The keys are made in `directory`.
pub(super) fn configure(archive: &mut Archive, hosts: &[String], directory: &Path) -> Result<(), String> {
    let (host, host_public) = key(&directory.join("host_key"))?;
    let (user, user_public) = key(&directory.join("user_key"))?;
    archive.bytes("/etc/ssh/sshd_config", SERVER, PLAIN);
    archive.bytes("/etc/ssh/ssh_host_ed25519_key", host, SECRET);
    archive.bytes("/root/.ssh/id_ed25519", user, SECRET);
    archive.bytes("/root/.ssh/authorized_keys", user_public, SECRET);
    archive.bytes("/root/.ssh/known_hosts", format!("{} {host_public}", hosts.join(",")), SECRET);
    archive.directory("/run/sshd");
    Ok(())
}

/// A new pair of keys, the private one first.
fn key(path: &Path) -> Result<(String, String), String> {
    let mut keygen = command("ssh-keygen")?;
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "guest", "-f"]).arg(path);
    tools::run(keygen)?;
    let read = |path: &Path| {
        fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
    };
    Ok((read(path)?, read(&path.with_extension("pub"))?))
}
