//! `carrousel fi`, with a libfabric, providers and launchers that are made for these tests.

use crate::common::{Place, Ran};
use crate::schema::Schema;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A libfabric that offers the providers of `OFFERS`, which are separated by commas, as far as `FI_PROVIDER` allows it.
const LIBFABRIC: &str = r#"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
struct ep { int type; };
struct fabric { void *fabric; char *name; char *provider; uint32_t version, api; };
struct info {
    struct info *next; uint64_t caps, mode; uint32_t format; size_t source, destination;
    void *addresses[3], *transmit, *receive; struct ep *ep; void *domain; struct fabric *fabric; void *nic;
};
uint32_t fi_version(void) { return 1u << 16 | 17; }
struct info *fi_dupinfo(const struct info *info) {
    struct info *made = calloc(1, sizeof *made);
    made->ep = calloc(1, sizeof *made->ep);
    made->fabric = calloc(1, sizeof *made->fabric);
    return made;
}
int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct info *hints,
               struct info **found) {
    if (version != fi_version() || hints->caps != 10 || hints->ep->type != 3) return -22;
    const char *offers = getenv("OFFERS"), *wanted = getenv("FI_PROVIDER");
    char *rest = strdup(offers ? offers : ""), *name;
    struct info **next = found;
    *found = NULL;
    while ((name = strsep(&rest, ","))) {
        if (!*name || (wanted && strcmp(wanted, name))) continue;
        *next = fi_dupinfo(NULL);
        (*next)->fabric->provider = name;
        next = &(*next)->next;
    }
    return *found ? 0 : -61;
}
"#;

const PROVIDER: &str = r#"
struct provider { unsigned version, interface; void *context[4]; const char *name; };
struct provider *fi_prov_ini(void) {
    static struct provider provider = { 1, 2u << 16 | 5, { 0 }, "carrousel" };
    return &provider;
}
"#;

/// Ends the process that loads it.
const CRASHES: &str =
    "#include <stdlib.h>\n__attribute__((constructor)) static void begin(void) { abort(); }\n";

/// A machine: its `PATH` has launchers, whose libraries are linked with the libfabric of these tests.
struct Machine(Place);

impl Machine {
    fn new() -> Self {
        let machine = Self(Place::new());
        for directory in ["bin", "lib/openmpi", "provider", "empty"] {
            fs::create_dir_all(machine.0.path(directory)).expect("it can be made");
        }
        machine.compiled("lib/libfabric.so.1", LIBFABRIC);
        let libfabric = machine.0.path("lib/libfabric.so.1");
        machine.script("ldd", &format!("echo 'libfabric.so.1 => {} (0x7f00)'", libfabric.display()));
        machine
    }

    /// Has a library of this source.
    fn compiled(&self, name: &str, source: &str) {
        let source_file = self.0.path("source.c");
        fs::write(&source_file, source).expect("it can be written");
        let compiled = Command::new("cc")
            .args(["-D_GNU_SOURCE", "-shared", "-fPIC", "-o"])
            .args([&self.0.path(name), &source_file])
            .status()
            .expect("there is a C compiler");
        assert!(compiled.success());
    }

    fn script(&self, name: &str, text: &str) {
        let file = self.0.path("bin").join(name);
        fs::write(&file, format!("#!/bin/sh\n{text}\n")).expect("it can be written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("it is there");
    }

    /// Has the provider.
    fn with_provider(self) -> Self {
        self.compiled("provider/libcarrousel-fi.so", PROVIDER);
        self
    }

    /// Has an Open MPI with this value of the parameter `mtl`.
    fn with_open_mpi(self, version: &str, mtl: &str) -> Self {
        self.script("mpiexec", &format!("echo 'mpiexec (Open MPI) {version}'"));
        let file = "file (/etc/mca.conf:67)";
        self.script(
            "ompi_info",
            &format!(
                "echo 'mca:mtl:base:param:mtl:value:{mtl}'\necho 'mca:mtl:base:param:mtl:source:{file}'\n\
                 echo 'mca:mtl:ofi:param:mtl_ofi_provider_exclude:value:shm,tcp'"
            ),
        );
        fs::write(self.0.path("lib/openmpi/mca_mtl_ofi.so"), "").expect("it can be written");
        self
    }

    /// Has an MPICH with this device.
    fn with_mpich(self, name: &str, device: &str) -> Self {
        self.script(
            name,
            &format!("echo 'HYDRA build details:'\necho '  Version: 5.0.2'\necho '  --with-device={device}'"),
        );
        fs::write(self.0.path("lib/libmpi.so.12"), "").expect("it can be written");
        self
    }

    fn command(&self, variables: &[(&str, &str)]) -> Command {
        let mut command = self.0.command();
        command.env_clear().env("PATH", self.0.path("bin")).arg("fi");
        command.envs(variables.iter().copied());
        command
    }

    fn told(&self, words: &str, variables: &[(&str, &str)]) -> Ran {
        let mut command = self.command(variables);
        command.args(words.split_whitespace()).output().expect("it runs").into()
    }

    fn json(&self, variables: &[(&str, &str)]) -> Value {
        let ran = self.told("--format json", variables);
        let report: Value = serde_json::from_str(&ran.out).expect("it is JSON");
        assert_eq!(report["uses"] == true, ran.status == Some(0), "{report:#}");
        report
    }

    /// What keeps the first host from using the provider.
    fn problems(&self, variables: &[(&str, &str)]) -> Vec<String> {
        let report = self.json(variables);
        let problems = report["hosts"][0]["problems"].as_array().expect("they are listed");
        problems.iter().map(|problem| problem["what"].as_str().expect("it is text").to_owned()).collect()
    }

    fn provider(&self) -> String {
        self.0.path("provider").display().to_string()
    }
}

const NAMED: (&str, &str) = ("FI_PROVIDER", "carrousel");
const OFFERED: (&str, &str) = ("OFFERS", "tcp,net,carrousel");

#[test]
fn an_mpi_that_would_use_the_provider_ends_with_0() {
    let machine = Machine::new().with_provider().with_open_mpi("5.0.11", "");
    let path = machine.provider();
    let ran = machine.told("", &[("FI_PROVIDER_PATH", &path), NAMED, OFFERED]).status(0);
    ran.says("mpiexec: Open MPI 5.0.11, libfabric 1.17: would use it\n")
        .says("offers carrousel\n")
        .says("carrousel 0.1, made for libfabric 2.5 and older\n")
        .says("prints no `mtl:ofi:provider`: CARROUSEL_REPORT=1")
        .says("bin/mpiexec would use the provider\n");
}

#[test]
fn a_misspelt_name_is_told_with_a_suggestion() {
    let machine = Machine::new().with_provider().with_open_mpi("5.0.11", "");
    let path = machine.provider();
    let variables = [("FI_PROVIDER_PATH", path.as_str()), ("FI_PROVIDER", "carousel"), OFFERED];
    assert_eq!(machine.problems(&variables), ["FI_PROVIDER: `carousel`: did you mean carrousel?"]);
    machine
        .told("", &variables)
        .status(1)
        .says("help: export FI_PROVIDER=carrousel\n")
        .says("offers nothing\n")
        .says("bin/mpiexec would not use the provider\n");
}

#[test]
fn a_wrong_path_is_told() {
    let machine = Machine::new().with_provider().with_open_mpi("5.0.11", "");
    let none = ("OFFERS", "tcp");
    assert_eq!(machine.problems(&[none]), ["FI_PROVIDER_PATH is not set"]);
    let gone = machine.problems(&[none, ("FI_PROVIDER_PATH", "/there/is/none")]);
    assert_eq!(gone, ["FI_PROVIDER_PATH: /there/is/none: No such file or directory (os error 2)"]);
    let empty = machine.0.path("empty").display().to_string();
    let nothing = machine.problems(&[none, ("FI_PROVIDER_PATH", &empty)]);
    assert_eq!(nothing, [format!("FI_PROVIDER_PATH: no libcarrousel-fi.so in {empty}")]);
}

#[test]
fn a_file_that_cannot_be_loaded_is_told_with_the_reason() {
    let machine = Machine::new().with_open_mpi("5.0.11", "");
    let file = machine.0.path("provider/libcarrousel-fi.so");
    let path = machine.provider();
    let variables = [("FI_PROVIDER_PATH", path.as_str()), ("OFFERS", "tcp")];
    fs::write(&file, "no library").expect("it can be written");
    let problems = machine.problems(&variables);
    assert!(problems.iter().any(|problem| problem.contains("file too short")), "{problems:?}");
    machine.compiled("provider/libcarrousel-fi.so", CRASHES);
    let problems = machine.problems(&variables);
    let ends = "loading it ends the process: signal: 6 (SIGABRT)";
    assert!(problems.iter().any(|problem| problem.contains(ends)), "{problems:?}");
}

#[test]
fn what_open_mpi_chooses_is_what_its_parameters_say() {
    let machine = Machine::new().with_provider().with_open_mpi("4.1.4", "^ofi");
    let path = machine.provider();
    let path = ("FI_PROVIDER_PATH", path.as_str());
    let mtl = "mtl is `^ofi` (file (/etc/mca.conf:67)), so ofi is not used";
    assert_eq!(machine.problems(&[path, NAMED, OFFERED]), [mtl]);
    let machine = machine.with_open_mpi("4.1.4", "ofi");
    assert_eq!(machine.problems(&[path, OFFERED]), ["it takes the provider net, which comes first"]);
    assert_eq!(machine.problems(&[path, NAMED, OFFERED]), [""; 0]);
    // Without ompi_info there is the environment.
    fs::remove_file(machine.0.path("bin/ompi_info")).expect("it is there");
    let ob1 = machine.problems(&[path, NAMED, OFFERED, ("OMPI_MCA_pml", "ob1")]);
    assert_eq!(ob1, ["pml is `ob1` (OMPI_MCA_pml), so cm is not used"]);
}

#[test]
fn mpich_needs_its_module_and_the_name() {
    let machine = Machine::new().with_provider().with_mpich("mpiexec", "ch4:ucx,ofi");
    let path = machine.provider();
    let path = ("FI_PROVIDER_PATH", path.as_str());
    let ofi = ("MPIR_CVAR_CH4_NETMOD", "ofi");
    let ucx = "it uses ucx first (ch4:ucx,ofi), and MPIR_CVAR_CH4_NETMOD is not set";
    assert_eq!(machine.problems(&[path, NAMED, OFFERED]), [ucx]);
    let unnamed = "FI_PROVIDER does not name carrousel, and MPICH takes another provider";
    assert_eq!(machine.problems(&[path, OFFERED, ofi]), [unnamed]);
    let local = "messages within a node stay in MPICH's own shared memory";
    let ran = machine.told("", &[path, NAMED, OFFERED, ofi]).status(0).says(local);
    assert!(ran.out.contains("MPICH 5.0.2, libfabric 1.17: would use it\n"), "{}", ran.out);
    let ran = machine.told("", &[path, NAMED, OFFERED, ofi, ("MPIR_CVAR_NOLOCAL", "1")]).status(0);
    assert!(!ran.out.contains(local), "{}", ran.out);
    machine.script("ldd", "echo 'libucp.so.0 => /lib/libucp.so.0 (0x1)'");
    let without = machine.problems(&[path, NAMED, OFFERED, ofi]);
    assert_eq!(without, ["it is built without libfabric (ch4:ucx,ofi), and can use no provider"]);
}

#[test]
fn the_answer_is_about_the_first_mpi_or_the_one_that_is_named() {
    let machine =
        Machine::new().with_provider().with_open_mpi("5.0.11", "").with_mpich("mpiexec.mpich", "ch4:ucx");
    let path = machine.provider();
    let variables = [("FI_PROVIDER_PATH", path.as_str()), NAMED, OFFERED];
    let report = machine.json(&variables);
    let names: Vec<_> = report["hosts"].as_array().expect("two").iter().map(|host| &host["name"]).collect();
    assert_eq!((names, &report["uses"]), (vec![&json!("Open MPI"), &json!("MPICH")], &json!(true)));
    machine.told("--mpiexec mpiexec.mpich", &variables).status(1).says("bin/mpiexec.mpich would not use");
    machine.told("--mpiexec magic", &variables).status(2).complains("there is no magic");
    machine.script("mpiexec", "echo 'Intel(R) MPI Library for Linux* OS, Version 2021.9'");
    machine.told("", &variables).status(1).says("it is neither Open MPI nor MPICH");
}

/// The libfabric of the system may be there or not.
#[test]
fn without_an_mpi_the_answer_is_about_the_systems_libfabric() {
    let machine = Machine::new();
    let library_path = machine.0.path("lib").display().to_string();
    let library = ("LD_LIBRARY_PATH", library_path.as_str());
    let ran = machine.told("", &[library, OFFERED, NAMED]).status(0);
    ran.says("libfabric 1.17: would use it\n").says("no mpiexec is in PATH");
    machine.told("", &[library, ("OFFERS", "tcp")]).status(1).says("FI_PROVIDER_PATH is not set");
}

#[test]
fn a_file_name_is_no_command_to_the_terminal() {
    let machine = Machine::new().with_open_mpi("5.0.11", "");
    let ran = machine.told("", &[("FI_PROVIDER_PATH", "/\u{1b}[2J"), ("FI_PROVIDER", "a\u{1b}b")]).status(1);
    assert!(!ran.out.contains('\u{1b}') && ran.out.contains("\\u{1b}[2J"), "{}", ran.out);
}

#[test]
fn every_report_is_as_its_schema_says() {
    let machine = Machine::new().with_provider().with_open_mpi("5.0.11", "");
    let path = machine.provider();
    let report = machine.json(&[("FI_PROVIDER_PATH", &path), NAMED, OFFERED]);
    assert_eq!(
        report["files"][0]["provider"],
        json!({"name": "carrousel", "version": "0.1", "interface": "2.5"})
    );
    let schema = Schema::new("fi");
    schema.takes(&report);
    fs::write(machine.0.path("provider/libother-fi.so"), "no library").expect("it can be written");
    let wrong = ("FI_PROVIDER_PATH", path.as_str());
    for variables in [&[][..], &[wrong, OFFERED], &[wrong, ("FI_PROVIDER", "carousel"), OFFERED]] {
        schema.takes(&machine.json(variables));
    }
    schema.takes(&Machine::new().json(&[]));
    let library = report["hosts"][0]["libfabric"]["file"].as_str().expect("it has one");
    assert!(Path::new(library).ends_with("lib/libfabric.so.1"), "{library}");
    assert_eq!(report["hosts"][0]["libfabric"]["offers"], json!(["carrousel"]));
}
