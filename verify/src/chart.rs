//! Message-sequence charts.
/// One execution, to be drawn.
#[derive(Clone, Debug, Default)]
pub struct Chart {}
