//! The group that a process is in, as far as this process can see it.

use nix::unistd::getpgid;
use rustix::process::Pid;

/// The group of a child, or of this process. `None` if the group's leader is outside of this process's PID namespace: a
/// container's first process often inherits such a group. It has no number here, and the kernel says 0. The functions of
/// `rustix` make a [`Pid`] of that 0 without a check, although no [`Pid`] may be 0.
pub(crate) fn process_group(child: Option<Pid>) -> Option<Pid> {
    let child = child.map(|child| nix::unistd::Pid::from_raw(child.as_raw_nonzero().get()));
    Pid::from_raw(getpgid(child).ok()?.as_raw())
}

#[cfg(test)]
mod tests {
    use super::process_group;
    use rustix::process::Pid;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn a_child_is_in_the_group_of_its_parent_until_it_has_its_own() {
        let mut inherits = Command::new("sleep").arg("60").spawn().expect("starts");
        let mut leads = Command::new("sleep").arg("60").process_group(0).spawn().expect("starts");
        let [inherited, own] = [&inherits, &leads].map(Pid::from_child);
        assert_eq!(process_group(Some(inherited)), process_group(None));
        assert_eq!(process_group(Some(own)), Some(own));
        for child in [&mut inherits, &mut leads] {
            child.kill().expect("is there");
            child.wait().expect("is reaped");
        }
    }
}
