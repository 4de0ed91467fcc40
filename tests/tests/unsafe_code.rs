//! `unsafe` is where tests/unsafe.md says, and nowhere else.

use carrousel_tests::{files, packages, root, text};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use syn::visit::{self, Visit};
use syn::{
    Attribute, ExprUnsafe, File, ItemFn, ItemForeignMod, ItemImpl, ItemMod, ItemTrait, Meta, Safety,
    Signature,
};

/// Whether code has `unsafe` blocks, functions, implementations, attributes or foreign items that are not compiled for tests only.
#[derive(Default)]
struct Finder {
    found: bool,
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let Meta::List(list) = &attribute.meta else { return false };
        list.path.is_ident("cfg") && list.tokens.to_string().contains("test")
    })
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_expr_unsafe(&mut self, _: &'ast ExprUnsafe) {
        self.found = true;
    }

    fn visit_signature(&mut self, signature: &'ast Signature) {
        self.found |= matches!(signature.safety, Safety::Unsafe(_));
        visit::visit_signature(self, signature);
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        self.found |= item.unsafety.is_some();
        visit::visit_item_impl(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.found |= item.unsafety.is_some();
        visit::visit_item_trait(self, item);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        // What C calls by its name is in the tables of the C library; it runs no sooner than it is called.
        let is_name =
            || matches!(&attribute.meta, Meta::List(list) if list.tokens.to_string() == "no_mangle");
        self.found |= attribute.path().is_ident("unsafe") && !is_name();
        visit::visit_attribute(self, attribute);
    }

    fn visit_item_foreign_mod(&mut self, _: &'ast ItemForeignMod) {
        self.found = true;
    }
}

fn has_unsafe(code: &File) -> bool {
    let mut finder = Finder::default();
    finder.visit_file(code);
    finder.found
}

/// The files of `src` directories that have `unsafe`, from the root of the repository on.
fn files_with_unsafe() -> BTreeSet<String> {
    let mut sources = Vec::new();
    for package in packages() {
        let manifest = PathBuf::from(package["manifest_path"].as_str().expect("it has one"));
        sources.extend(files(&manifest.with_file_name("src"), "rs"));
    }
    let with_unsafe = sources.into_iter().filter(|file| {
        let text = fs::read_to_string(file).expect("it is there");
        has_unsafe(&syn::parse_file(&text).expect("it is Rust"))
    });
    let relative = |file: PathBuf| file.strip_prefix(root()).expect("it is below").display().to_string();
    with_unsafe.map(relative).collect()
}

/// The files that the table has.
fn files_of_the_table() -> BTreeSet<String> {
    let page = text("tests/unsafe.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    rows.map(str::to_owned).collect()
}

#[test]
fn unsafe_code_is_where_the_page_says() {
    let (found, said) = (files_with_unsafe(), files_of_the_table());
    let unsaid: Vec<_> = found.difference(&said).collect();
    let gone: Vec<_> = said.difference(&found).collect();
    assert!(
        unsaid.is_empty() && gone.is_empty(),
        "not in tests/unsafe.md: {unsaid:?}; without `unsafe`: {gone:?}"
    );
}

#[test]
fn every_kind_of_unsafe_code_is_found_and_that_of_tests_is_not() {
    let code = |text: &str| has_unsafe(&syn::parse_file(text).expect("it is Rust"));
    for text in [
        "fn f() { g(|| unsafe { h() }) }",
        "unsafe fn f() {}",
        "impl T { unsafe fn f() {} }",
        "unsafe impl Send for T {}",
        "unsafe trait T {}",
        "#[unsafe(link_section = \".init_array\")] static S: u8 = 0;",
        "unsafe extern \"C\" { fn f(); }",
        "mod inner { unsafe fn f() {} }",
    ] {
        assert!(code(text), "{text}");
    }
    assert!(!code("#[cfg(test)] mod tests { unsafe fn f() {} } // unsafe { }\nfn f() {}"));
    assert!(!code("#[cfg(all(test, not(loom)))] mod tests { fn f() { unsafe { g() } } }"));
}
