//! Which files of a crate name items of which others, and where such arrows run in circles.
//!
//! Reads `use` declarations and paths of each file, follows re-exports to the file that defines the item, and leaves
//! out what is compiled for tests only. Methods, and paths within macros, are not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::Visit;
use syn::{Attribute, Expr, ExprLit, Item, ItemUse, Lit, Meta, MetaNameValue, UseTree, Visibility};

/// Re-exports of re-exports are followed so far.
const DEPTH: u32 = 16;

/// The modules of one crate target.
#[derive(Debug, Default)]
pub struct Modules {
    modules: Vec<Module>,
}

#[derive(Debug, Default)]
struct Module {
    /// Relative to the root file's directory.
    file: PathBuf,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// Items that are defined here.
    items: BTreeSet<String>,
    /// What `use` declarations bind: a name, and the path behind it.
    imports: BTreeMap<String, Vec<String>>,
    /// The paths in front of `::*`.
    globs: Vec<Vec<String>>,
    /// Paths that code of this module names.
    named: BTreeSet<Vec<String>>,
}

/// What a path leads to.
#[derive(Clone, Copy)]
enum Target {
    Module(usize),
    /// An item of that module.
    Item(usize),
}

/// Files that name each other, directly or through others: each with the files that it names, and the names.
pub type Circle = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

impl Modules {
    /// Reads a crate from its root file on.
    ///
    /// # Panics
    /// When a file cannot be read, or is no Rust.
    pub fn read(root: &Path) -> Self {
        let mut all = Self::default();
        let directory = root.parent().expect("a file is in a directory");
        all.add(root, directory, directory, None);
        all
    }

    fn add(&mut self, file: &Path, children_in: &Path, base: &Path, parent: Option<usize>) -> usize {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let index = self.modules.len();
        let name = file.strip_prefix(base).unwrap_or(file).to_owned();
        self.modules.push(Module { file: name, parent, ..Module::default() });
        self.fill(index, &syntax.items, file, children_in, base);
        index
    }

    fn fill(&mut self, index: usize, items: &[Item], file: &Path, children_in: &Path, base: &Path) {
        for item in items.iter().filter(|item| !attributes(item).iter().any(is_for_tests)) {
            let Item::Mod(module) = item else {
                let mut names = Names { into: &mut self.modules[index] };
                names.define(item);
                names.visit_item(item);
                continue;
            };
            let name = module.ident.to_string();
            let child = if let Some((_, items)) = &module.content {
                let child = self.modules.len();
                let file_name = self.modules[index].file.clone();
                self.modules.push(Module { file: file_name, parent: Some(index), ..Module::default() });
                self.fill(child, items, file, &children_in.join(&name), base);
                child
            } else {
                let inside = children_in.join(&name);
                let elsewhere = module.attrs.iter().find_map(path_of).map(|path| {
                    let directory = file.parent().expect("a file is in a directory");
                    directory.join(path)
                });
                let flat = inside.with_extension("rs");
                let file = elsewhere.unwrap_or(if flat.exists() { flat } else { inside.join("mod.rs") });
                self.add(&file, &inside, base, Some(index))
            };
            self.modules[index].children.insert(name, child);
        }
    }

    fn resolve(&self, from: usize, path: &[String], depth: u32) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        let begin = match first.as_str() {
            "crate" => Target::Module(0),
            "self" => Target::Module(from),
            "super" => Target::Module(self.modules[from].parent?),
            name => self.member(from, name, depth)?,
        };
        rest.iter().try_fold(begin, |target, name| match target {
            Target::Module(module) if name == "super" => Some(Target::Module(self.modules[module].parent?)),
            Target::Module(module) => self.member(module, name, depth),
            // A variant, or a function of a type.
            Target::Item(_) => Some(target),
        })
    }

    /// What a name means in a module.
    fn member(&self, module: usize, name: &str, depth: u32) -> Option<Target> {
        let known = &self.modules[module];
        if let Some(child) = known.children.get(name) {
            return Some(Target::Module(*child));
        }
        if known.items.contains(name) {
            return Some(Target::Item(module));
        }
        let depth = depth.checked_sub(1)?;
        if let Some(path) = known.imports.get(name) {
            // `use serde::Serialize` binds a name of another crate, which begins with no name of this one.
            return self.resolve_import(module, path, depth);
        }
        known.globs.iter().find_map(|glob| match self.resolve_import(module, glob, depth)? {
            Target::Module(inside) => self.member(inside, name, depth),
            Target::Item(_) => None,
        })
    }

    /// As [`Self::resolve`]; the import must not be found by its own name.
    fn resolve_import(&self, from: usize, path: &[String], depth: u32) -> Option<Target> {
        let first = path.first()?;
        let known = &self.modules[from];
        let is_local = matches!(first.as_str(), "crate" | "self" | "super")
            || known.children.contains_key(first)
            || known.items.contains(first);
        if is_local { self.resolve(from, path, depth) } else { None }
    }

    /// For each file, the others that it names, and what of them.
    fn arrows(&self) -> Circle {
        let mut arrows = Circle::new();
        for (index, module) in self.modules.iter().enumerate() {
            let from = module.file.display().to_string();
            for path in &module.named {
                let Some(Target::Module(target) | Target::Item(target)) = self.resolve(index, path, DEPTH)
                else {
                    continue;
                };
                let to = self.modules[target].file.display().to_string();
                if to != from {
                    let name = path.last().cloned().unwrap_or_default();
                    arrows.entry(from.clone()).or_default().entry(to).or_default().insert(name);
                }
            }
        }
        arrows
    }

    /// The circles, each with the arrows between its files.
    pub fn circles(&self) -> Vec<Circle> {
        let arrows = self.arrows();
        let reached: BTreeMap<&String, BTreeSet<&String>> =
            arrows.keys().map(|from| (from, reach(&arrows, from))).collect();
        let mut circles = Vec::new();
        let mut seen = BTreeSet::new();
        for (from, to) in &reached {
            if !to.contains(from) || seen.contains(from) {
                continue;
            }
            let together: BTreeSet<&String> = to
                .iter()
                .copied()
                .filter(|other| reached.get(other).is_some_and(|to| to.contains(from)))
                .collect();
            seen.extend(together.iter().copied());
            let inside = |to: &BTreeMap<String, BTreeSet<String>>| {
                to.iter()
                    .filter(|(to, _)| together.contains(to))
                    .map(|(to, names)| (to.clone(), names.clone()))
                    .collect()
            };
            circles.push(together.iter().map(|file| ((*file).clone(), inside(&arrows[*file]))).collect());
        }
        circles
    }
}

/// The files that can be reached from one.
fn reach<'a>(arrows: &'a Circle, from: &String) -> BTreeSet<&'a String> {
    let (mut found, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        for to in arrows.get(file).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(to) {
                next.push(to);
            }
        }
    }
    found
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether it says `cfg(test)`.
fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
}

/// The file that `path = ".."` names.
fn path_of(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(MetaNameValue {
        path, value: Expr::Lit(ExprLit { lit: Lit::Str(file), .. }), ..
    }) = &attribute.meta
    else {
        return None;
    };
    path.is_ident("path").then(|| file.value())
}

/// Collects what the items of a module define and name.
struct Names<'a> {
    into: &'a mut Module,
}

impl Names<'_> {
    fn define(&mut self, item: &Item) {
        let name = match item {
            Item::Const(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Macro(item) => match &item.ident {
                Some(ident) => ident,
                None => return,
            },
            Item::Static(item) => &item.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::Type(item) => &item.ident,
            Item::Union(item) => &item.ident,
            _ => return,
        };
        self.into.items.insert(name.to_string());
    }

    fn import(&mut self, tree: &UseTree, path: &mut Vec<String>, is_re_export: bool) {
        let bind = |into: &mut Module, name: String, mut path: Vec<String>| {
            if path.last().is_some_and(|last| last == "self") {
                path.pop();
            }
            if !is_re_export {
                into.named.insert(path.clone());
            }
            into.imports.insert(name, path);
        };
        match tree {
            UseTree::Path(tree) => {
                path.push(tree.ident.to_string());
                self.import(&tree.tree, path, is_re_export);
                path.pop();
            }
            UseTree::Name(tree) => {
                let name = tree.ident.to_string();
                let bound =
                    if name == "self" { path.last().cloned().unwrap_or_default() } else { name.clone() };
                bind(self.into, bound, [&path[..], &[name]].concat());
            }
            UseTree::Rename(tree) => {
                bind(self.into, tree.rename.to_string(), [&path[..], &[tree.ident.to_string()]].concat());
            }
            UseTree::Glob(_) => self.into.globs.push(path.clone()),
            UseTree::Group(tree) => tree.items.iter().for_each(|tree| self.import(tree, path, is_re_export)),
        }
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        // Handing a name on is not using it.
        let is_re_export = !matches!(item.vis, Visibility::Inherited);
        self.import(&item.tree, &mut Vec::new(), is_re_export);
    }

    // `pub(super)` names a module, but takes nothing from it.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.into.named.insert(names);
        syn::visit::visit_path(self, path);
    }
}
