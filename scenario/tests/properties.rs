//! Properties over generated files: formatting keeps the meaning and is idempotent, and nothing
//! panics.

mod generator;

use carrousel_scenario::{Vocabulary, check, format, load, parse};
use generator::{any_ast, same};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn parsing_what_was_formatted_gives_the_same_tree(ast in any_ast()) {
        let text = format(&ast);
        let parsed = parse("f", text.as_bytes());
        prop_assert!(parsed.is_ok(), "{}\nin:\n{text}", parsed.unwrap_err());
        let parsed = parsed.unwrap();
        prop_assert!(same(&ast, &parsed), "{ast:#?}\n{parsed:#?}\n{text}");
        prop_assert_eq!(format(&parsed), text);
    }

    #[test]
    fn formatting_keeps_what_a_file_means(ast in any_ast()) {
        let vocabulary = Vocabulary::default();
        let text = format(&ast);
        let before = check(&parse("f", text.as_bytes()).unwrap(), &vocabulary);
        // Another layout: more blanks, other line ends, no indentation.
        let other: String = text.lines().map(|line| format!("\t{}\r\n", line.trim())).collect();
        let after = check(&parse("f", other.as_bytes()).unwrap(), &vocabulary);
        match (before, after) {
            (Ok(before), Ok(after)) => prop_assert_eq!(before.programs, after.programs),
            (before, after) => prop_assert_eq!(before.is_ok(), after.is_ok()),
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = load("f", &bytes).map_err(|error| error.render(true));
    }

    #[test]
    fn arbitrary_words_never_panic(words in proptest::collection::vec(generator::any_word(), 0..60)) {
        let text = words.concat();
        if let Err(error) = load("f", text.as_bytes()) {
            prop_assert!(error.render(false).starts_with("f:"));
        }
    }

    #[test]
    fn mutated_files_never_panic(
        ast in any_ast(),
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = format(&ast).into_bytes();
        for (at, byte) in cuts {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match byte % 3 {
                0 => bytes[at] = byte,
                1 => { bytes.remove(at); }
                _ => bytes.insert(at, byte),
            }
        }
        let _ = load("f", &bytes).map_err(|error| error.render(true));
        if let Ok(ast) = parse("f", &bytes) {
            let text = format(&ast);
            let again = parse("f", text.as_bytes()).map(|ast| format(&ast));
            prop_assert_eq!(again.ok(), Some(text));
        }
    }

    #[test]
    fn malformed_trees_never_panic(ast in any_ast(), shuffle in any::<u64>()) {
        let mut ast = ast;
        let count = ast.lines.len().max(1);
        ast.lines.rotate_left(shuffle as usize % count);
        for line in &mut ast.lines {
            if let carrousel_scenario::ast::Item::Statement(statement) = &mut line.item {
                statement.args.reverse();
            }
        }
        let _ = check(&ast, &Vocabulary::default()).map_err(|error| error.render(false));
    }
}
