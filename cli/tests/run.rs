//! `carrousel run`: what a user sees of it. How it treats its ranks is tested beside the launcher.

mod common;

use common::Place;

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
