//! The header is that of the code.

use std::path::Path;

/// `CARROUSEL_HEADER=write cargo test -p carrousel-ffi --test header` writes it anew.
#[test]
fn the_header_is_the_one_that_the_code_gives() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("it is a configuration");
    let bindings =
        cbindgen::Builder::new().with_crate(root).with_config(config).generate().expect("it is Rust");
    let mut text = Vec::new();
    bindings.write(&mut text);
    let text = String::from_utf8(text).expect("it is text");
    let path = root.join("include/carrousel.h");
    if std::env::var_os("CARROUSEL_HEADER").is_some_and(|value| value == "write") {
        std::fs::write(&path, &text).expect("it can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    for enumeration in enumerations(&root.join("src")) {
        let named = text.contains(&format!("enum {enumeration}\n"));
        assert!(named, "cbindgen.toml has to include {enumeration}, which no function names");
    }
    assert!(kept == text, "{} is stale: CARROUSEL_HEADER=write writes it anew", path.display());
}

/// The enumerations of the sources.
fn enumerations(sources: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(sources).expect("there are sources");
    let texts = entries.flatten().map(|entry| std::fs::read_to_string(entry.path()).expect("it is text"));
    let names = |text: String| -> Vec<String> {
        let begins = text.lines().filter_map(|line| line.strip_prefix("pub enum ")?.split(' ').next());
        begins.map(str::to_owned).collect()
    };
    texts.flat_map(names).collect()
}
