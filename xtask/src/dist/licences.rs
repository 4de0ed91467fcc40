//! Under what terms is what packages contain: ours, and those of the crates that are compiled into it, whose licences ask for
//! their text to come along.

use crate::tools::{cargo, output_of, root};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The packages whose programs and libraries are shipped.
const SHIPPED: [&str; 6] =
    ["--package", "carrousel-cli", "--package", "carrousel-ofi", "--package", "carrousel-ffi"];
/// The beginnings of the names of files with licences, in small letters.
const FILES: [&str; 6] = ["license", "licence", "copying", "copyright", "notice", "unlicense"];

/// A crate of others.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Dependency {
    name: String,
    version: String,
    licence: String,
}

/// Ours, and where the others are.
pub(super) fn own() -> Result<String, String> {
    let read = |name: &str| fs::read_to_string(root().join(name)).map_err(|error| format!("{name}: {error}"));
    Ok(format!(
        "Carrousel is licensed under MIT or Apache-2.0, as you like. LICENSE-MIT and LICENSE-APACHE have the texts; the first \
         follows. THIRD-PARTY-LICENSES has those of the crates that are compiled into it.\n\n{}",
        read("LICENSE-MIT")?
    ))
}

/// A list of the crates, and each text once, behind the names of those that have it.
pub(super) fn of_dependencies() -> Result<String, String> {
    let tree = ["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none"];
    let format = ["--all-features", "--format", "{p}|{l}"];
    let dependencies = dependencies_in(&output_of(&mut cargo(&[&tree[..], &format, &SHIPPED].concat()))?);
    let sources = sources()?;
    let mut text = "The Rust standard library (MIT OR Apache-2.0), and these crates, are compiled into Carrousel's programs and libraries.\n\n".to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Dependency { name, version, licence } in &dependencies {
        // Memory can be written to.
        let _ = writeln!(text, "{name} {version}: {licence}");
        let source = sources
            .get(&(name.clone(), version.clone()))
            .ok_or_else(|| format!("cargo does not say where the sources of {name} {version} are"))?;
        for licence in licences_in(source)? {
            texts.entry(licence).or_default().push(format!("{name} {version}"));
        }
    }
    for (licence, crates) in texts {
        let _ = write!(text, "\n{}\n{}\n\n{}\n", "-".repeat(80), crates.join(", "), licence.trim_end());
    }
    Ok(text)
}

/// The crates of others in what `cargo tree` prints: `name v1.2.3|MIT`, and of ours with a directory behind the version.
fn dependencies_in(tree: &str) -> Vec<Dependency> {
    let mut dependencies: Vec<Dependency> = tree
        .lines()
        .filter_map(|line| {
            let (package, licence) = line.trim_end_matches(" (*)").split_once('|')?;
            let (name, version) = package.split_once(" v")?;
            (!version.contains(' ')).then(|| Dependency {
                name: name.to_owned(),
                version: version.to_owned(),
                licence: licence.to_owned(),
            })
        })
        .collect();
    dependencies.sort();
    dependencies.dedup();
    dependencies
}

#[derive(Deserialize)]
struct CargoMetadata {
    packages: Vec<CargoPackage>,
}

#[derive(Deserialize)]
struct CargoPackage {
    name: String,
    version: String,
    manifest_path: PathBuf,
}

/// Where the sources of crates are, by name and version.
fn sources() -> Result<BTreeMap<(String, String), PathBuf>, String> {
    let told = output_of(&mut cargo(&["metadata", "--format-version", "1", "--locked", "--all-features"]))?;
    let CargoMetadata { packages } =
        serde_json::from_str(&told).map_err(|error| format!("`cargo metadata`: {error}"))?;
    let place = |package: CargoPackage| {
        Some(((package.name, package.version), package.manifest_path.parent()?.to_owned()))
    };
    Ok(packages.into_iter().filter_map(place).collect())
}

/// The texts in the directory of a crate.
fn licences_in(directory: &Path) -> Result<Vec<String>, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut texts = BTreeMap::new();
    for entry in fs::read_dir(directory).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if path.is_file() && FILES.iter().any(|start| name.starts_with(start)) {
            let text = fs::read(&path).map_err(wrong)?;
            texts.insert(name, String::from_utf8_lossy(&text).replace('\r', ""));
        }
    }
    Ok(texts.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_others_are_listed_once() {
        let tree = "carrousel-cli v0.1.0 (/w/cli)|MIT OR Apache-2.0\nserde v1.0.2|MIT OR Apache-2.0\n\
                    libc v0.2.1|MIT\nserde v1.0.2|MIT OR Apache-2.0 (*)\n\n";
        let names = dependencies_in(tree).into_iter().map(|found| (found.name, found.licence));
        let expected = [("libc", "MIT"), ("serde", "MIT OR Apache-2.0")];
        assert!(names.eq(expected.map(|(name, licence)| (name.to_owned(), licence.to_owned()))));
    }

    #[test]
    fn every_crate_comes_with_its_licence() {
        let text = of_dependencies().expect("cargo knows");
        assert!(text.contains("\nserde_json ") && text.contains("Permission is hereby granted"), "{text}");
        assert!(!text.contains("\ncarrousel-rank "), "ours are no third party");
    }
}
