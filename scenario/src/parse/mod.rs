//! From text to [`Ast`]: line by line, so that one wrong line does not hide the next.

mod cursor;
mod declaration;
mod expression;
mod names;
mod statement;

use std::sync::Arc;

use self::cursor::{Cursor, Kind};
use self::declaration::Keyword;
use self::names::Names;
use crate::ast::{Ast, Item, Line};
use crate::error::{Error, Faults};
use crate::format;
use crate::limits::{FILE_BYTES_MAX, NESTING_MAX, TREE_MEMORY_MAX};
use crate::problem::{Problem, clip, did_you_mean};
use crate::room::Room;
use crate::span::Span;
use crate::verb::Verb;

pub(crate) use self::cursor::LocatedProblem;
pub(crate) use self::expression::measure_time;

/// Parses a file. `name` stands for the file in messages.
///
/// # Errors
///
/// If the text is not UTF-8, a line is not of the language, or lines do not fit together, such as statements outside
/// of a block or a `repeat` without `end`. All such errors are reported, up to a limit. Checks that need the values
/// of expressions are left to [`check`](crate::check).
pub fn parse(name: &str, bytes: &[u8]) -> Result<Ast, Error> {
    let mut faults = Faults::new();
    if bytes.len() > FILE_BYTES_MAX {
        faults.add(Span::default(), Problem::FileTooLarge, None);
        return Err(faults.into_error(name, &Arc::from("")));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(not_utf8(name, bytes, error.valid_up_to())),
    };
    let room = Room::new(2 * text.len() as u64, TREE_MEMORY_MAX);
    let mut parser = Parser::new(faults);
    let mut base = 0;
    for line in text.split_inclusive('\n') {
        if parser.faults.full() {
            break;
        }
        // Editors put a byte order mark at the beginning; it is no part of the text.
        let skip = if base == 0 && line.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        parser.line(&line[skip..], base + skip, &room);
        base += line.len();
    }
    parser.finish(name, text, &room)
}

fn not_utf8(name: &str, bytes: &[u8], at: usize) -> Error {
    // Enough for the excerpt of a message; a file of garbage need not be converted whole.
    const SHOWN_BYTES_MAX: usize = 200;
    let shown = &bytes[..bytes.len().min(at + SHOWN_BYTES_MAX)];
    let problem = Problem::NotUtf8 { byte: bytes[at] };
    let mut faults = Faults::new();
    faults.add(Span::new(at, at + '\u{fffd}'.len_utf8()), problem, None);
    faults.into_error(name, &Arc::from(String::from_utf8_lossy(shown)))
}

struct Parser {
    names: Names,
    faults: Faults,
    lines: Vec<Line>,
    /// Comment and blank lines that were read and are not yet in `lines`.
    remark: Option<String>,
    /// Whether a `rank` line is in force. After a first complaint, statements are let through.
    in_block: bool,
    /// The open `repeat`s, from the outermost: place and line.
    repeats: Vec<(Span, u32)>,
    /// The line being read, from 1.
    number: u32,
}

impl Parser {
    fn new(faults: Faults) -> Self {
        Parser {
            names: Names::default(),
            faults,
            lines: Vec::new(),
            remark: None,
            in_block: false,
            repeats: Vec::new(),
            number: 0,
        }
    }

    /// Reads one line, its end included.
    fn line(&mut self, line: &str, base: usize, room: &Room) {
        self.number += 1;
        let line = line.trim_end_matches(['\n', '\r']);
        let mut cursor = Cursor::new(line, base, room);
        let first = cursor.peek();
        if first.kind == Kind::End {
            let comment = &line[first.at.start as usize - base..];
            return self.remark(comment.trim_end());
        }
        if let Err((at, problem)) = self.said(&mut cursor) {
            self.faults.add(at, problem, None);
        }
    }

    /// Parses a line that is neither blank nor a comment.
    fn said(&mut self, cursor: &mut Cursor<'_>) -> Result<(), LocatedProblem> {
        self.flush_remark(cursor)?;
        let first = cursor.peek().at;
        let item = self.item(cursor)?;
        let at = first.to(cursor.here());
        cursor.skip_blanks();
        let comment = cursor.rest().trim_end();
        cursor.take_list::<u8>(comment.len())?;
        let comment = (!comment.is_empty()).then(|| comment.into());
        self.push(cursor, Line { at, item, comment })
    }

    fn push(&mut self, cursor: &Cursor<'_>, line: Line) -> Result<(), LocatedProblem> {
        // The checker has two numbers for each line.
        cursor.take_item::<(Line, u32, u32)>()?;
        self.lines.push(line);
        Ok(())
    }

    fn item(&mut self, cursor: &mut Cursor<'_>) -> Result<Item, LocatedProblem> {
        let prefix = statement::prefix(cursor, &mut self.names)?;
        let token = cursor.next();
        let Kind::Word(word) = token.kind else {
            return Err(token.unexpected("a statement or a declaration", None));
        };
        let labelled = prefix.label.as_ref().or(prefix.bind.as_ref());
        if let Some(verb) = Verb::from_name(word) {
            if !self.in_block {
                self.in_block = true;
                let wrong = Problem::OutsideBlock { word: verb.name() };
                self.faults.add(token.at, wrong, None);
            }
            let statement = statement::statement(cursor, &mut self.names, prefix, verb)?;
            Ok(Item::Statement(statement))
        } else if let Some(keyword) = Keyword::from_name(word) {
            self.place(keyword, token.at)?;
            if let Some(label) = labelled {
                return Err((label.at, Problem::LabelWithoutStatement { word: keyword.name() }));
            }
            declaration::line(cursor, &mut self.names, keyword)
        } else {
            let verbs = Verb::ALL.iter().map(|verb| verb.name());
            let keywords = Keyword::ALL.iter().map(|keyword| keyword.name());
            let help = did_you_mean(word, verbs.chain(keywords));
            Err((token.at, Problem::UnknownStatement { word: clip(word), help }))
        }
    }

    /// Checks that blocks and `repeat`s pair, whether or not the line is right otherwise.
    fn place(&mut self, keyword: Keyword, at: Span) -> Result<(), LocatedProblem> {
        let word = keyword.name();
        match keyword {
            Keyword::Repeat | Keyword::End if !self.in_block => {
                self.in_block = true;
                self.faults.add(at, Problem::OutsideBlock { word }, None);
            }
            _ => {}
        }
        match keyword {
            Keyword::Repeat => {
                self.repeats.push((at, self.number));
                if self.repeats.len() == NESTING_MAX + 1 {
                    return Err((at, Problem::Nesting { what: "repeats" }));
                }
            }
            Keyword::End => {
                self.repeats.pop().ok_or((at, Problem::EndWithoutRepeat))?;
            }
            _ => {
                self.in_block = !keyword.is_declaration();
                let open = self.repeats.first().copied();
                self.repeats.clear();
                if let Some((_, line)) = open {
                    return Err((at, Problem::InsideRepeat { word, line }));
                }
            }
        }
        Ok(())
    }

    /// Adds a comment line, or a blank one, to the run of them.
    fn remark(&mut self, text: &str) {
        match &mut self.remark {
            None => self.remark = Some(text.to_owned()),
            Some(run) => {
                let after_blank = run.is_empty() || run.ends_with('\n');
                if !(text.is_empty() && after_blank) {
                    run.push('\n');
                    run.push_str(text);
                }
            }
        }
    }

    fn flush_remark(&mut self, cursor: &Cursor<'_>) -> Result<(), LocatedProblem> {
        let Some(run) = self.remark.take() else { return Ok(()) };
        cursor.take_list::<u8>(run.len())?;
        let item = Item::Remark(run.into_boxed_str());
        self.push(cursor, Line { at: Span::default(), item, comment: None })
    }

    fn finish(mut self, name: &str, text: &str, room: &Room) -> Result<Ast, Error> {
        if let Err((at, problem)) = self.flush_remark(&Cursor::new("", text.len(), room)) {
            self.faults.add(at, problem, None);
        }
        if let Some(&(at, _)) = self.repeats.last() {
            self.faults.add(at, Problem::OpenRepeat, None);
        }
        let source = Arc::from(text);
        if !self.faults.is_empty() {
            return Err(self.faults.into_error(name, &source));
        }
        let ast = Ast { file: name.to_owned(), source, lines: self.lines, memory: room.taken() };
        let bytes = format::length(&ast);
        if bytes > FILE_BYTES_MAX {
            self.faults.add(Span::default(), Problem::LayoutTooLarge { bytes }, None);
            return Err(self.faults.into_error(name, &ast.source));
        }
        Ok(ast)
    }
}
