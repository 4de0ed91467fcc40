//! What holds for any bytes that are read as a scenario; shared by the fuzzer and the replay of its
//! corpus.

use carrousel_scenario::{Vocabulary, check, format, limits, parse};

/// Panics when `bytes` break a promise of the language's crate.
pub(crate) fn holds(bytes: &[u8]) {
    let ast = match parse("f", bytes) {
        Ok(ast) => ast,
        Err(error) => return well_formed(&error),
    };
    let text = format(&ast);
    let again = parse("f", text.as_bytes()).expect("formatted text parses");
    assert_eq!(format(&again), text, "formatting is idempotent");

    let vocabulary = Vocabulary::default();
    let before = check(&ast, &vocabulary);
    let after = check(&again, &vocabulary);
    match (before, after) {
        (Ok(before), Ok(after)) => {
            let statements: usize = before.programs.iter().map(|program| program.steps.len()).sum();
            assert!(statements as u64 <= limits::STATEMENTS_MAX);
            assert_eq!(before.ranks as usize, before.programs.len());
            for (before, after) in before.programs.iter().zip(&after.programs) {
                let ops = before.steps.iter().map(|step| &step.op);
                assert!(ops.eq(after.steps.iter().map(|step| &step.op)), "same meaning");
            }
        }
        (Err(before), Err(after)) => {
            well_formed(&before);
            assert_eq!(before.faults().len(), after.faults().len(), "same faults");
        }
        (before, after) => panic!("formatting changed the verdict: {before:?}, {after:?}"),
    }
}

fn well_formed(error: &carrousel_scenario::Error) {
    assert!(!error.faults().is_empty());
    for fault in error.faults() {
        assert!(fault.headline().starts_with(&format!("f:{}:{}: ", fault.line, fault.column)));
    }
    assert!(error.render(false).len() < 50_000);
}
