//! `comm NAME = split color K [key K] [on PARENT]`: which ranks are together, and in which order (MPI-4.1, 7.4.2,
//! `MPI_Comm_split`). Colors and keys are known before the programs begin, so members are, too.

use std::sync::Arc;

use super::places::Place;
use super::values::Values;
use crate::ast::{Name, Split};
use crate::error::Faults;
use crate::ids::CommunicatorId;
use crate::limits::STATEMENTS_MAX;
use crate::model::{Communicator, Scenario, Step};
use crate::op::Op;
use crate::parse::LocatedProblem;
use crate::problem::{Many, Problem};
use crate::span::Span;
use crate::value::{self, Within};

/// The splits of a file, in its order: the first statements of each rank.
#[derive(Debug, Default)]
pub(super) struct Splits {
    /// By rank.
    steps: Vec<Vec<Step>>,
    /// How many there are, over all ranks.
    total: u64,
}

/// The color and key of a rank.
struct Own {
    parent: Place,
    color: Option<u32>,
    key: i32,
    rank: u32,
}

impl Splits {
    pub(super) fn new(ranks: u32) -> Self {
        Splits { steps: vec![Vec::new(); ranks as usize], total: 0 }
    }

    /// Whether the file has none.
    pub(super) fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// How many there are, over all ranks.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The splits of a rank, which are taken out.
    pub(super) fn take(&mut self, rank: u32) -> Vec<Step> {
        std::mem::take(&mut self.steps[rank as usize])
    }

    /// Reads the declaration in line `line` of the text.
    pub(super) fn read(
        &mut self,
        split: &Split,
        line: u32,
        scenario: &mut Scenario,
        values: &mut Values,
        faults: &mut Faults,
    ) {
        let own = self.own(split, scenario, values);
        values.set_me(None);
        match own {
            Ok(all) => self.define(split, line, all, scenario, values),
            Err((at, problem, rank)) => faults.add(at, problem, rank),
        }
        // Declared even if it is wrong, so that statements that use it are not.
        if values.communicators.find(&split.name).is_err() {
            let everywhere = Some(Place { id: CommunicatorId::WORLD, me: 0, size: scenario.ranks });
            values.communicators.declare(&split.name.text, vec![everywhere; scenario.ranks as usize]);
        }
    }

    /// The color and key of each rank that takes part.
    fn own(
        &mut self,
        split: &Split,
        scenario: &Scenario,
        values: &mut Values,
    ) -> Result<Vec<Own>, (Span, Problem, Option<u32>)> {
        if let Some(parent) = &split.parent {
            values.communicators.find(parent).map_err(|(at, problem)| (at, problem, None))?;
        }
        let mut all = Vec::with_capacity(scenario.ranks as usize);
        for rank in 0..scenario.ranks {
            let parent = match &split.parent {
                None => Place { id: CommunicatorId::WORLD, me: rank, size: scenario.ranks },
                Some(parent) => match values.communicators.place(&parent.text, rank) {
                    Ok(place) => place,
                    Err(_) => continue,
                },
            };
            let located = |(at, problem)| (at, problem, Some(rank));
            values.set_me(Some(rank));
            let color = values.number(&split.color).map_err(located)?;
            let color = value::color(color).map_err(|problem| located((split.color.at, problem)))?;
            let key = match &split.key {
                None => 0,
                Some(key) => {
                    let number = values.number(key).map_err(located)?;
                    value::key(number).map_err(|problem| located((key.at, problem)))?
                }
            };
            all.push(Own { parent, color, key, rank });
        }
        self.total += all.len() as u64;
        // A step and a place of each rank, and its number in a list of members.
        let room = values.take_list::<(Step, Place, [u32; 4])>(all.len());
        room.map_err(|problem| (split.name.at, problem, None))?;
        match self.total > STATEMENTS_MAX {
            true => Err((split.name.at, Problem::TooManyStatements { count: Many(self.total) }, None)),
            false => Ok(all),
        }
    }

    /// Ranks of one parent and color are together, by ascending key, and by their order in the parent if keys are
    /// equal.
    fn define(
        &mut self,
        split: &Split,
        line: u32,
        mut all: Vec<Own>,
        scenario: &mut Scenario,
        values: &mut Values,
    ) {
        let group = |own: &Own| (own.parent.id, own.color);
        all.sort_unstable_by_key(|own| (group(own), own.key, own.parent.me));
        let mut places = vec![None; scenario.ranks as usize];
        for together in all.chunk_by(|one, next| group(one) == group(next)) {
            let (parent, color) = group(&together[0]);
            let made = color.map(|_| CommunicatorId(scenario.communicators.len() as u32));
            if let Some(id) = made {
                let members: Arc<[u32]> = together.iter().map(|own| own.rank).collect();
                for (me, own) in (0..).zip(together) {
                    places[own.rank as usize] = Some(Place { id, me, size: members.len() as u32 });
                }
                let name = Arc::clone(&split.name.text);
                scenario.communicators.push(Communicator { name, line, parent, members });
            }
            for own in together {
                let name = Arc::clone(&split.name.text);
                let op = Op::Split { name, color, key: own.key, made };
                self.steps[own.rank as usize].push(Step { line, label: None, bind: None, on: parent, op });
            }
        }
        values.communicators.declare(&split.name.text, places);
    }
}

/// The ranks that a statement may name, and this rank's communicator.
pub(super) fn within(on: Option<&Name>, values: &Values) -> Result<(CommunicatorId, Within), LocatedProblem> {
    let Some(name) = on else {
        return Ok((CommunicatorId::WORLD, Within { name: None, ranks: values.ranks() }));
    };
    let place = values.place(&name.text).map_err(|problem| (name.at, problem))?;
    Ok((place.id, Within { name: Some(Arc::clone(&name.text)), ranks: place.size }))
}
