//! Random trees of the kind that the parser makes.

use std::sync::Arc;

use carrousel_scenario::ast::{
    Arg, Ast, Expr, Field, Group, Item, Line, Local, Name, Operator, Ranks, Setting, Split, Statement, Tree,
    Value,
};
use carrousel_scenario::units::Unit;
use carrousel_scenario::verb::{Holds, Slot, Verb};
use carrousel_scenario::{Check, Combine, Span};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// A word, mark, blank or line end of the language, or something like it.
pub(crate) fn any_word() -> impl Strategy<Value = String> {
    let verbs: Vec<String> = Verb::ALL.iter().map(|verb| verb.name().to_owned()).collect();
    let others = [
        "scenario",
        "ranks",
        "nodes",
        "window",
        "option",
        "expect",
        "rank",
        "repeat",
        "end",
        "to",
        "tag",
        "size",
        "from",
        "at",
        "buf",
        "root",
        "any",
        "all",
        "me",
        "shared",
        "w",
        "violated",
        "rma-race",
        "\"x\"",
        "..",
        "*",
        "[",
        "]",
        "(",
        ")",
        "source",
        "comm",
        "comm c = split color me%2 key -me",
        "split",
        "color",
        "on c",
        "me(c)",
        "size(c)",
        "source(r)",
        "tag(r)",
        "r",
        "r = recv from any tag any size 8",
        "-",
        "+",
        "/",
        "%",
        ",",
        ":",
        "=",
        ".",
        "#",
        "0",
        "1",
        "2",
        "16KiB",
        "5us",
        "99999999999999999999",
        "é",
        "\u{0}",
        "\\",
    ];
    prop_oneof![
        2 => select(verbs),
        4 => select(others.map(str::to_owned).to_vec()),
        4 => Just(" ".to_owned()),
        2 => select(["\n", "\r\n", "\nrank *\n", "\nranks 2\n"].map(str::to_owned).to_vec()),
    ]
}

fn name() -> impl Strategy<Value = Name> {
    "[a-z_][a-zA-Z0-9_]{0,5}"
        .prop_filter("words that have a meaning", |text| {
            !["me", "size", "all", "any", "on"].contains(&text.as_str())
        })
        .prop_map(|text| Name { text: text.into(), at: Span::default() })
}

fn window() -> impl Strategy<Value = Name> {
    select(vec!["w", "v"]).prop_map(|text| Name { text: text.into(), at: Span::default() })
}

/// Names that half of the files declare.
fn communicator() -> impl Strategy<Value = Name> {
    select(vec!["c", "d"]).prop_map(|text| Name { text: text.into(), at: Span::default() })
}

/// The units that a number may have, and whether messages may be asked for.
fn tree(units: &'static [Unit], received: bool) -> BoxedStrategy<Tree> {
    tree_of(units, received, false)
}

/// The same, and whether numbers of communicators may be asked for.
fn tree_of(units: &'static [Unit], received: bool, local: bool) -> BoxedStrategy<Tree> {
    let number = (select(vec![Local::Me, Local::Size]), communicator())
        .prop_map(|(local, name)| Tree::Local(local, Box::new(name.text)));
    let field = select(vec![Field::Source, Field::Tag]);
    let message =
        (field, received_name()).prop_map(|(field, name)| Tree::Received(field, Box::new(name.text)));
    let leaf = prop_oneof![
        u32::from(received) * 2 => message,
        u32::from(local) => number,
        4 => (0_u64..4, select(units)).prop_map(|(value, unit)| Tree::Number(value, unit)),
        1 => any::<u32>().prop_map(|value| Tree::Number(value.into(), Unit::None)),
        2 => Just(Tree::Me),
        1 => Just(Tree::Size),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let minus_of =
            inner.clone().prop_filter("a minus binds tighter", |tree| !matches!(tree, Tree::Chain(_)));
        let product_of = minus_of.clone();
        let products = [Operator::Multiply, Operator::Divide, Operator::Remainder];
        let product = (product_of.clone(), vec((select(products.to_vec()), product_of), 1..3))
            .prop_map(|chain| Tree::Chain(Box::new(chain)));
        let sums = [Operator::Add, Operator::Subtract];
        let term = prop_oneof![minus_of.clone(), product.clone()];
        let sum = (term.clone(), vec((select(sums.to_vec()), term), 1..3))
            .prop_map(|chain| Tree::Chain(Box::new(chain)));
        prop_oneof![
            minus_of.prop_map(|tree| Tree::Minus(Box::new(tree))),
            inner.prop_map(|tree| Tree::Parentheses(Box::new(tree), Unit::None)),
            product,
            sum,
        ]
    })
    .boxed()
}

fn expr(units: &'static [Unit]) -> impl Strategy<Value = Expr> {
    tree(units, false).prop_map(|tree| Expr { at: Span::default(), tree })
}

/// Of a statement, or of a split.
fn expr_of(units: &'static [Unit], received: bool) -> impl Strategy<Value = Expr> {
    tree_of(units, received, true).prop_map(|tree| Expr { at: Span::default(), tree })
}

/// Names that `with_messages` binds.
fn received_name() -> impl Strategy<Value = Name> {
    select(vec!["r", "p", "q"]).prop_map(|text| Name { text: text.into(), at: Span::default() })
}

/// A receive and a probe, whose messages what follows may ask for.
fn with_messages() -> Vec<Item> {
    let bound = |text: &str, verb: Verb, args: Vec<Arg>| {
        let bind = Some(Box::new(Name { text: text.into(), at: Span::default() }));
        Item::Statement(Statement { label: None, bind, verb, args: args.into() })
    };
    let size = Expr { at: Span::default(), tree: Tree::Number(8, Unit::None) };
    vec![
        bound("r", Verb::Recv, vec![Arg::Any, Arg::Any, Arg::Expr(size.clone()), Arg::Absent, Arg::Absent]),
        bound("q", Verb::IRecv, vec![Arg::Any, Arg::Any, Arg::Expr(size), Arg::Absent, Arg::Absent]),
        Item::Statement(Statement { label: None, bind: None, verb: Verb::Wait, args: [Arg::All].into() }),
        bound("p", Verb::Probe, vec![Arg::Any, Arg::Any, Arg::Absent]),
    ]
}

const PLAIN: &[Unit] = &[Unit::None];
const SIZES: &[Unit] = &[Unit::None, Unit::B, Unit::KiB, Unit::MiB, Unit::GiB];

fn time() -> impl Strategy<Value = Expr> {
    let unit = select(vec![Unit::Ns, Unit::Us, Unit::Ms, Unit::S]);
    (0_u64..5, unit, option::of(tree(PLAIN, false))).prop_map(|(value, unit, factor)| {
        let time = Tree::Number(value, unit);
        let tree = match factor {
            None => time,
            Some(tree) => {
                let factor = Tree::Parentheses(Box::new(tree), Unit::None);
                Tree::Chain(Box::new((factor, vec![(Operator::Multiply, time)])))
            }
        };
        Expr { at: Span::default(), tree }
    })
}

/// Few ranks, so that many files are right.
fn rank() -> impl Strategy<Value = Expr> {
    few_or(expr(PLAIN))
}

fn few_or(other: impl Strategy<Value = Expr>) -> impl Strategy<Value = Expr> {
    prop_oneof![
        6 => (0_u64..3).prop_map(|rank| Expr { at: Span::default(), tree: Tree::Number(rank, Unit::None) }),
        1 => other,
    ]
}

fn group() -> impl Strategy<Value = Group> {
    vec(rank(), 0..4).prop_map(|items| Group(items.into()))
}

fn arg(slot: Slot, received: bool) -> BoxedStrategy<Arg> {
    let expr = move |units| expr_of(units, received);
    let rank = move || few_or(expr(PLAIN));
    let present = match slot.holds {
        Holds::Window => window().prop_map(Arg::Name).boxed(),
        Holds::Communicator => communicator().prop_map(Arg::Name).boxed(),
        Holds::Buffer | Holds::Request => name().prop_map(Arg::Name).boxed(),
        Holds::Rank => rank().prop_map(Arg::Expr).boxed(),
        Holds::RankOrAny => prop_oneof![rank().prop_map(Arg::Expr), Just(Arg::Any)].boxed(),
        Holds::Tag => expr(PLAIN).prop_map(Arg::Expr).boxed(),
        Holds::TagOrAny => prop_oneof![expr(PLAIN).prop_map(Arg::Expr), Just(Arg::Any)].boxed(),
        Holds::Size => expr(SIZES).prop_map(Arg::Expr).boxed(),
        Holds::Time => time().prop_map(Arg::Expr).boxed(),
        Holds::Group => group().prop_map(Arg::Group).boxed(),
        Holds::LockMode => select(vec![Arg::Shared, Arg::Exclusive]).boxed(),
        Holds::Count => few_or(expr(PLAIN)).prop_map(Arg::Expr).boxed(),
        Holds::Combine => select(Combine::ALL.to_vec()).prop_map(Arg::Combine).boxed(),
        Holds::Assertions(of) => {
            let words = proptest::sample::subsequence(of, 1..=of.len());
            words.prop_map(|words| Arg::Assertions(words.into_iter().collect())).boxed()
        }
        Holds::Requests => {
            let names = vec(name(), 1..4).prop_map(|names| Arg::Names(names.into()));
            prop_oneof![names, Just(Arg::All)].boxed()
        }
    };
    if slot.optional { prop_oneof![present, Just(Arg::Absent)].boxed() } else { present }
}

fn statement() -> impl Strategy<Value = Item> {
    let verb = select(Verb::ALL);
    (verb, option::weighted(0.2, name()), option::of(name())).prop_flat_map(|(verb, label, bind)| {
        let args: Vec<BoxedStrategy<Arg>> =
            verb.slots().iter().map(|&slot| arg(slot, verb.defers())).collect();
        args.prop_map(move |args| {
            let label = label.clone().map(Box::new);
            let bind = bind.clone().filter(|_| verb.binds()).map(Box::new);
            Item::Statement(Statement { label, bind, verb, args: args.into() })
        })
    })
}

/// Statements, and `repeat`s that pair.
fn body() -> impl Strategy<Value = Vec<Item>> {
    let leaf = vec(statement(), 0..4).boxed();
    leaf.prop_recursive(3, 12, 3, |inner| {
        (inner.clone(), (0_u64..3), inner).prop_map(|(before, rounds, inside)| {
            let rounds = Expr { at: Span::default(), tree: Tree::Number(rounds, Unit::None) };
            let mut items = before;
            items.push(Item::Repeat(rounds));
            items.extend(inside);
            items.push(Item::End);
            items
        })
    })
}

fn ranks() -> impl Strategy<Value = Ranks> {
    prop_oneof![
        rank().prop_map(|rank| Ranks::One(Box::new(rank))),
        (rank(), rank()).prop_map(|range| Ranks::Range(Box::new(range))),
        Just(Ranks::All),
    ]
}

fn declaration() -> impl Strategy<Value = Item> {
    let number = expr(SIZES).prop_map(Value::Number);
    let value = prop_oneof![name().prop_map(Value::Word), number];
    prop_oneof![
        "[ -~é]{0,8}".prop_map(|title| Item::Title(title.into())),
        vec(group(), 1..3).prop_map(|groups| Item::Nodes(groups.into())),
        (name(), expr(SIZES)).prop_map(|window| Item::Window(Box::new(window))),
        split().prop_map(|split| Item::Split(Box::new(split))),
        (option::of(name()), name(), value)
            .prop_map(|(window, name, value)| Item::Setting(Box::new(Setting { window, name, value }))),
        select(Check::ALL.to_vec()).prop_map(Item::Expect),
    ]
}

fn split() -> impl Strategy<Value = Split> {
    let number = || expr_of(PLAIN, false);
    (communicator(), number(), option::of(number()), option::of(communicator()))
        .prop_map(|(name, color, key, parent)| Split { name, color, key, parent })
}

fn comment() -> impl Strategy<Value = String> {
    "#[ a-z\"é]{0,6}".prop_map(|text| text.trim_end().to_owned())
}

/// A run of comments and single blank lines, or a lone blank line.
fn remark() -> impl Strategy<Value = Item> {
    let block = (any::<bool>(), vec(comment(), 1..3), any::<bool>(), any::<bool>());
    let block = block.prop_map(|(before, comments, between, after)| {
        let blank = |yes: bool| if yes { "\n" } else { "" };
        let inside = comments.join(if between { "\n\n" } else { "\n" });
        Item::Remark(format!("{}{inside}{}", blank(before), blank(after)).into())
    });
    prop_oneof![3 => block, 1 => Just(Item::Remark("".into()))]
}

/// A file: declarations, then blocks. Half of them declare what the blocks use.
pub(crate) fn any_ast() -> impl Strategy<Value = Ast> {
    let number = |value| Expr { at: Span::default(), tree: Tree::Number(value, Unit::None) };
    let window = move |text: &str| {
        let name = Name { text: text.into(), at: Span::default() };
        Item::Window(Box::new((name, number(1 << 40))))
    };
    let split = move |text: &str, color: Tree| {
        let name = Name { text: text.into(), at: Span::default() };
        let color = Expr { at: Span::default(), tree: color };
        Item::Split(Box::new(Split { name, color, key: None, parent: None }))
    };
    let minus_me = Tree::Minus(Box::new(Tree::Me));
    let communicators = [split("c", Tree::Number(0, Unit::None)), split("d", minus_me)];
    let mut head = vec![Item::Ranks(number(3)), window("w"), window("v")];
    head.extend(communicators);
    let declarations = prop_oneof![Just(head.clone()), vec(declaration(), 0..4)];
    let blocks = vec((ranks(), any::<bool>(), body()), 0..4);
    let extras = vec((option::weighted(0.2, remark()), option::weighted(0.2, comment())), 64);
    (declarations, blocks, extras).prop_map(|(declarations, blocks, extras)| {
        let mut items = declarations;
        for (ranks, messages, body) in blocks {
            items.push(Item::Block(ranks));
            items.extend(if messages { with_messages() } else { Vec::new() });
            items.extend(body);
        }
        let mut lines: Vec<Line> = Vec::new();
        let line = |item, comment| Line { at: Span::default(), item, comment };
        for (index, item) in items.into_iter().enumerate() {
            let (remark, comment) = extras[index % extras.len()].clone();
            // Blank lines at the beginning of a file are not kept.
            if let Some(remark) = remark.filter(|_| index > 0) {
                lines.push(line(remark, None));
            }
            lines.push(line(item, comment.map(Into::into)));
        }
        Ast { file: "f".to_owned(), source: Arc::from(""), lines, memory: 0 }
    })
}

/// Whether two trees are equal, places apart.
pub(crate) fn same(left: &Ast, right: &Ast) -> bool {
    let bare = |ast: &Ast| without_places(&format!("{:?}", ast.lines));
    bare(left) == bare(right)
}

/// The debug form of a tree without what follows `Span`.
fn without_places(debug: &str) -> String {
    let mut parts = debug.split("Span {");
    let mut text = parts.next().unwrap_or("").to_owned();
    for part in parts {
        text += part.split_once('}').map_or("", |(_, rest)| rest);
    }
    text
}
