//! `PMI_process_mapping`: the text in which launchers say which ranks share a node.
//!
//! `(vector,(F,N,P),...)` says: P ranks on node F, the next P on node F + 1, and so on for N nodes; then
//! the next triple. When ranks are left after the last triple, the list begins again.

/// The key under which a launcher stores the mapping.
pub(crate) const KEY: &str = "PMI_process_mapping";

/// The node of each rank, if the text is such a mapping.
pub(crate) fn parse(text: &str, size: u32) -> Option<Vec<u32>> {
    let inner = text.trim().strip_prefix("(vector,")?.strip_suffix(')')?;
    let mut triples = Vec::new();
    for triple in inner.split_terminator(')') {
        let numbers = triple.trim_start_matches(',').trim().strip_prefix('(')?;
        let mut numbers = numbers.split(',').map(|number| number.trim().parse::<u32>().ok());
        triples.push((numbers.next()??, numbers.next()??, numbers.next()??));
        if numbers.next().is_some() {
            return None;
        }
    }
    // Triples without ranks would be gone through for each rank; and without any other triple, for ever.
    triples.retain(|(_, count, ranks)| *count > 0 && *ranks > 0);
    if triples.is_empty() {
        return None;
    }
    let mut nodes = Vec::new();
    while nodes.len() < size as usize {
        for (first, count, ranks) in &triples {
            // A mapping may claim more ranks than fit into memory: the list ends with the last rank.
            let left = size.checked_sub(nodes.len() as u32)?;
            let claimed = u64::from(*count) * u64::from(*ranks);
            for place in 0..claimed.min(u64::from(left)) as u32 {
                nodes.push(first.checked_add(place / ranks)?);
            }
        }
    }
    Some(nodes)
}

/// The mapping of nodes 0, 1, ... that have so many ranks each.
pub(crate) fn write(ranks_by_node: &[u32]) -> String {
    let mut triples: Vec<(usize, u32, u32)> = Vec::new();
    for (node, ranks) in ranks_by_node.iter().enumerate() {
        match triples.last_mut() {
            Some((_, count, same)) if same == ranks => *count += 1,
            _ => triples.push((node, 1, *ranks)),
        }
    }
    let triples: Vec<String> =
        triples.iter().map(|(first, count, ranks)| format!("({first},{count},{ranks})")).collect();
    format!("(vector,{})", triples.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn triples_are_read_in_order_and_repeated() {
        assert_eq!(parse("(vector,(0,1,4))", 4), Some(vec![0, 0, 0, 0]));
        assert_eq!(parse("(vector,(0,2,2),(2,1,3))", 7), Some(vec![0, 0, 1, 1, 2, 2, 2]));
        assert_eq!(parse("(vector,(0,2,1))", 5), Some(vec![0, 1, 0, 1, 0]));
        assert_eq!(parse("(vector, (0,2,1), (5,1,1))", 3), Some(vec![0, 1, 5]));
    }

    #[test]
    fn invalid_mappings_are_refused() {
        let wrong = ["", "(vector)", "(vector,)", "(vector,(0,1))", "(vector,(0,1,2,3))", "(vector,(0,0,5))"];
        for text in
            wrong.into_iter().chain(["(vector,(0,5,0))", "(vector,(a,1,1))", "(vector,(4294967295,2,1))"])
        {
            assert_eq!(parse(text, 2), None, "{text}");
        }
    }

    #[test]
    fn a_huge_claim_costs_nothing() {
        assert_eq!(parse("(vector,(0,4294967295,4294967295))", 2), Some(vec![0, 0]));
        // As many triples as a line can hold, for as many ranks as there can be.
        let nothing = "(0,0,0),".repeat(100_000);
        assert_eq!(parse(&format!("(vector,{nothing}(7,1,1))"), 1 << 20), Some(vec![7; 1 << 20]));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(ranks in proptest::collection::vec(1u32..4, 1..20)) {
            let nodes: Vec<u32> = ranks.iter().zip(0..).flat_map(|(ranks, node)| vec![node; *ranks as usize]).collect();
            prop_assert_eq!(parse(&write(&ranks), nodes.len() as u32), Some(nodes));
        }

        #[test]
        fn any_text_is_a_mapping_or_not(text in "\\(vector,[(),0-9 ]{0,40}\\)?", size in 1u32..100) {
            if let Some(nodes) = parse(&text, size) {
                prop_assert_eq!(nodes.len(), size as usize);
            }
        }
    }
}
