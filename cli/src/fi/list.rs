//! Lists of names in variables: `a,b` names what is allowed, `^a,b` what is not, nothing allows all.

/// Such a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct List<'a>(pub(super) &'a str);

impl<'a> List<'a> {
    /// Whether it says what is not allowed.
    pub(super) fn excludes(self) -> bool {
        self.0.trim_start().starts_with('^')
    }

    /// Its names.
    pub(super) fn names(self) -> impl Iterator<Item = &'a str> {
        let names = self.0.trim().trim_start_matches('^');
        names.split([',', ';']).map(str::trim).filter(|name| !name.is_empty())
    }

    /// Whether it has this name.
    pub(super) fn has(self, name: &str) -> bool {
        self.names().any(|other| other.eq_ignore_ascii_case(name))
    }

    /// Whether it allows this name.
    pub(super) fn allows(self, name: &str) -> bool {
        if self.excludes() { !self.has(name) } else { self.names().next().is_none() || self.has(name) }
    }
}

/// A name of the list that may be a misspelt `name`.
pub(super) fn misspelt<'a>(list: List<'a>, name: &str) -> Option<&'a str> {
    /// A word at a greater distance is another word.
    const DISTANCE_MAX: usize = 3;
    list.names().find(|other| {
        let distance = strsim::damerau_levenshtein(&other.to_lowercase(), name);
        (1..=DISTANCE_MAX).contains(&distance)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_what_is_allowed_or_what_is_not() {
        let allows = |list| List(list).allows("ofi");
        let allowed = ["", "ofi", "psm2, OFI", "^psm2", "^"].map(allows);
        assert_eq!(allowed, [true; 5]);
        assert_eq!(["psm2", "^ofi", "^psm2,ofi"].map(allows), [false; 3]);
    }

    #[test]
    fn a_name_that_is_nearly_right_is_misspelt() {
        let found = |list| misspelt(List(list), "carrousel");
        assert_eq!(found("carousel"), Some("carousel"));
        assert_eq!(found("tcp,Carrousell"), Some("Carrousell"));
        assert_eq!((found("carrousel"), found("tcp;ofi_rxm"), found("")), (None, None, None));
    }
}
