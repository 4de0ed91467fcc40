//! `carrousel run`: what a user sees of it. How it treats its ranks is tested beside the launcher.

use crate::common::{Place, Ran};
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_job_of_a_program_is_its_output() {
    let ran = Place::new().run("run -n 3 --prefix -- sh -c echo");
    ran.status(0).says("[0] \n").says("[1] \n").says("[2] \n");
}

#[test]
fn the_first_failure_is_told_and_is_the_status() {
    let place = Place::new().with("fail.sh", "test $PMI_RANK = 1 && kill -9 $$; sleep 60");
    place.run("run -n 2 -- sh fail.sh").status(137).complains("error: rank 1 was killed by SIGKILL");
    let place = Place::new().with("fail.sh", "exit 5");
    place
        .run("run -n 7 -- sh fail.sh")
        .status(5)
        .complains("exited with status 5\n  and 3 more ranks failed");
}

#[test]
fn a_job_that_cannot_begin_says_why() {
    let place = Place::new();
    place.run("run -n 2 -- /no/such/program").status(127).complains("cannot start `/no/such/program`");
    place.run("run -n 0 -- true").status(2);
    place.run("run -n 2").status(2);
    place.run("run -n 2 --hosts a:x -- true").status(2).complains("`a:x` is not a host");
}

#[test]
fn rank_0_reads_what_the_command_is_given() {
    let ran = Place::new().feed("run -n 2 --prefix -- cat", "a line\n").status(0);
    assert_eq!(ran.out, "[0] a line\n");
}

#[test]
fn ranks_start_where_the_command_does() {
    let place = Place::new().with("write.sh", "echo $PMI_SIZE > $PMI_RANK.txt");
    place.run("run -n 2 -- sh write.sh").status(0);
    assert_eq!((place.text("0.txt"), place.text("1.txt")), ("2\n".to_owned(), "2\n".to_owned()));
}

#[test]
fn other_hosts_start_this_command_as_their_agent() {
    // This host, by way of an `ssh` that takes options, a host and a command, as the real one does; nothing of this
    // environment is there.
    let ssh = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nhost=$2\nshift 2\nexec env -i ON=$host sh -c \"$*\"\n";
    let script = "echo $PMI_RANK of $PMI_SIZE on $ON in $PWD with $CARROUSEL_RTR_LIMIT${OTHER-, no other}";
    let place = Place::new().with("ssh", ssh).with("where.sh", script);
    std::fs::set_permissions(place.path("ssh"), std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let here = place.path("");
    let mut command = place.command();
    let path = format!("{}:{}", here.display(), std::env::var("PATH").expect("there is one"));
    command.args("run -n 3 --hosts a:2,b -- sh where.sh".split(' ')).env("PATH", path);
    command.envs([("CARROUSEL_RTR_LIMIT", "3"), ("OTHER", "other")]);
    let ran = Ran::from(command.output().expect("it can be started")).status(0);
    let directory = here.canonicalize().expect("it is there");
    let mut lines: Vec<&str> = ran.out.lines().collect();
    lines.sort_unstable();
    let line = |text: &str| format!("{text} in {} with 3, no other", directory.display());
    assert_eq!(lines, [line("0 of 3 on a"), line("1 of 3 on a"), line("2 of 3 on b")]);
}
