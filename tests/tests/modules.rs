//! Within a crate, too, arrows point down: files do not name each other in circles.

use carrousel_tests::modules::{Circle, Modules};
use carrousel_tests::{files, packages, root};
use std::fmt::Write;
use std::path::PathBuf;

/// The root files of all libraries and programs of the workspace.
fn roots() -> Vec<PathBuf> {
    let packages = packages();
    let targets = packages.iter().flat_map(|package| package["targets"].as_array().into_iter().flatten());
    let ships = |target: &&serde_json::Value| {
        let kinds = target["kind"].as_array().into_iter().flatten();
        kinds.filter_map(|kind| kind.as_str()).any(|kind| matches!(kind, "lib" | "bin" | "cdylib"))
    };
    targets.filter(ships).filter_map(|target| target["src_path"].as_str().map(PathBuf::from)).collect()
}

/// A circle in words: each arrow, and the names that make it one.
fn told(circle: &Circle) -> String {
    let mut text = String::new();
    for (from, to) in circle {
        for (to, names) in to {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            writeln!(text, "    {from} -> {to}: {}", names.join(", ")).expect("memory can be written to");
        }
    }
    text
}

#[test]
fn files_form_no_circles() {
    for file in roots() {
        let name = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
        let told: String = Modules::read(&file).circles().iter().map(told).collect();
        assert!(told.is_empty(), "files of {name} form circles:\n{told}");
    }
}

/// A further network is an implementation of traits, and a variant there.
#[test]
fn the_engine_names_transports_in_one_module() {
    let names = ["carrousel_transport_shm", "carrousel_transport_verbs", "feature = \"verbs\""];
    let source = root().join("engine/src");
    let names_one = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("it can be read");
        names.iter().any(|name| text.contains(name))
    };
    let (inside, outside): (Vec<_>, Vec<_>) = files(&source, "rs")
        .into_iter()
        .filter(names_one)
        .partition(|path| path.starts_with(source.join("backends")));
    assert!(!inside.is_empty(), "the module has another name");
    assert!(outside.is_empty(), "these name transports, too: {outside:?}");
}

/// The words of a text that name something of MPI, or our module for its tags. The name of the standard does not count:
/// comments cite it.
fn names_of_mpi(text: &str) -> Vec<&str> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.filter(|word| *word == "mpi" || word.to_ascii_lowercase().contains("mpi_")).collect()
}

/// To the endpoint all bits of a tag are alike: what they mean is the matter of the libraries on it.
#[test]
fn the_engine_has_no_names_of_mpi() {
    for source in files(&root().join("engine/src"), "rs") {
        let text = std::fs::read_to_string(&source).expect("it can be read");
        assert_eq!(names_of_mpi(&text), [""; 0], "in {}", source.display());
    }
    // The library with MPI's calls has them.
    let tags = carrousel_tests::text("carrousel/src/point_to_point/tags.rs");
    assert!(names_of_mpi(&tags).contains(&"mpi"), "the module has another name");
    let code =
        "use carrousel_rank::{Send, mpi}; call.check_mpi_tag()?; // MPI_TAG_UB (MPI-4.1, 3.2.3), mpiexec";
    assert_eq!(names_of_mpi(code), ["mpi", "check_mpi_tag", "MPI_TAG_UB"]);
}

/// A crate whose files name each other in a circle of two, one of them behind a re-export.
#[test]
fn a_circle_is_found_behind_re_exports_and_not_in_tests() {
    let place = tempfile::tempdir().expect("it can be made");
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).expect("it is ours");
    write("lib.rs", "mod a; mod b; mod c; pub use a::One;");
    write("a.rs", "use crate::b::Two; pub struct One; fn f(_: Two) {}");
    write("b.rs", "pub struct Two; fn g() { let _ = crate::One; }");
    write("c.rs", "use crate::b::Two; #[cfg(test)] mod tests { use crate::b::Two; }");
    let circles = Modules::read(&place.path().join("lib.rs")).circles();
    let files: Vec<Vec<&str>> =
        circles.iter().map(|circle| circle.keys().map(String::as_str).collect()).collect();
    assert_eq!(files, [["a.rs", "b.rs"]]);
    write("b.rs", "pub struct Two; #[cfg(test)] mod tests { use crate::One; }");
    assert!(Modules::read(&place.path().join("lib.rs")).circles().is_empty());
}
