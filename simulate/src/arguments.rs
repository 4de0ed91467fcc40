//! The command line: seeds, and what to show of them.

use carrousel_system::Defect;

/// The defects that can be put back, and their names.
pub(crate) const DEFECTS: [(&str, Defect); 4] = [
    ("leaves-alone", Defect::LeavesAlone),
    ("sleeps-unpolled", Defect::SleepsUnpolled),
    ("unbounded-eager", Defect::UnboundedEager),
    ("leaves-unheard", Defect::LeavesUnheard),
];

/// Seeds, and what to show of them.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) first: u64,
    pub(crate) count: u64,
    pub(crate) defect: Option<Defect>,
    /// Whether every event is printed, and a chart.
    pub(crate) shows: bool,
    /// Options that ranks have instead of the seed's, as variables of the environment.
    pub(crate) options: Vec<(String, String)>,
}

impl Arguments {
    /// Reads them.
    ///
    /// # Errors
    /// The wrong word, and what is expected.
    pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self { first: 0, count: 1, defect: None, shows: false, options: Vec::new() };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("`{word}` needs a value"));
            let number = |text: String| text.parse::<u64>().map_err(|_| format!("`{text}` is not a number"));
            match word.as_str() {
                "--first" => arguments.first = number(value()?)?,
                "--count" => arguments.count = number(value()?)?,
                "--defect" => {
                    let name = value()?;
                    let known = DEFECTS.iter().find(|(known, _)| *known == name);
                    let names = DEFECTS.map(|(name, _)| name).join(", ");
                    let (_, defect) =
                        known.ok_or(format!("no defect is called `{name}`: there are {names}"))?;
                    arguments.defect = Some(*defect);
                }
                "--option" => {
                    let text = value()?;
                    let (name, value) = text.split_once('=').ok_or(format!("`{text}` is not NAME=VALUE"))?;
                    arguments.options.push((name.to_owned(), value.to_owned()));
                }
                "--show" => arguments.shows = true,
                "--defects" => {
                    DEFECTS.iter().for_each(|(name, _)| println!("{name}"));
                    arguments.count = 0;
                }
                _ => {
                    return Err(format!(
                        "`{word}` is not known: --first, --count, --defect, --defects, --option, --show"
                    ));
                }
            }
        }
        Ok(arguments)
    }
}
