//! How faults look to a person.

use carrousel_scenario::load;
use miette::{GraphicalReportHandler, GraphicalTheme};

fn rendered(input: &str) -> String {
    load("late.scn", input.as_bytes()).unwrap_err().render(false)
}

#[test]
fn faults_of_single_lines() {
    insta::assert_snapshot!(rendered(
        "scenario \"late post\nranks 3\nrank 0\n\tcompute 1000\n\tisnd to 1 tag 0 size 64\nrank 1\n  r = barrier\n  repeat 3\n    recv from 0 tag 0 siez 64\n"
    ));
}

#[test]
fn faults_of_values_and_names() {
    insta::assert_snapshot!(rendered(
        "ranks 3\nwindow w 1MiB\noption eager_treshold 16KiB\nrank *\n  e = isend to me+1 tag 0 size 64\n  put w to 0 size 1MiB at 8  # too far\n  put v to 0 size 64\n  wait f\n"
    ));
}

#[test]
fn a_long_line_is_shown_around_the_fault() {
    let line = format!("compute 1us {}oops {}", " ".repeat(200), "x".repeat(200));
    insta::assert_snapshot!(rendered(&format!("ranks 1\nrank 0\n{line}\n")));
}

#[test]
fn color_is_only_escapes() {
    let error = load("f", b"ranks 0\n").unwrap_err();
    let colored = error.render(true);
    assert!(colored.contains("\x1b["));
    let mut plain = String::new();
    let mut rest = colored.as_str();
    while let Some(escape) = rest.find('\x1b') {
        plain += &rest[..escape];
        let end = rest[escape..].find('m').unwrap();
        rest = &rest[escape + end + 1..];
    }
    plain += rest;
    assert_eq!(plain, error.render(false));
}

#[test]
fn miette_renders_them_too() {
    let error = load("late.scn", b"ranks 2\nrank *\n  send to me+1 tag 0 size 64\n").unwrap_err();
    let mut text = String::new();
    let theme = GraphicalTheme::unicode_nocolor();
    GraphicalReportHandler::new_themed(theme).render_report(&mut text, &error).unwrap();
    insta::assert_snapshot!(text);
}
