//! Where the power goes, and what a disk makes of that which is not synced.

use crate::power::disk_log::{Act, DiskLog};
use crate::rng::Rng;

/// One power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Calls that were entered at an earlier moment may have had an effect.
    pub(crate) moment: usize,
    /// Decides what is left of each write.
    pub(crate) seed: u64,
}

/// How a disk treats the writes of a file that are not synced. Each is torn at its sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Survival {
    Nothing,
    Everything,
    /// Each sector by itself; of ten, this many are written.
    Sectors(u64),
    /// The first writes; the last of them in part.
    First(usize),
    /// The last writes: the disk reorders them.
    Last(usize),
}

/// Whether the disk keeps its promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disk {
    Honest,
    /// Ignores the syncs of the database file, which a checkpoint needs. A planted defect.
    ForgetsCheckpoints,
}

impl Cut {
    /// The cut of a seed. Half of them come anywhere, the others right behind an acknowledgement
    /// or beside a sync, a change of a length or of a name: that is where mistakes show.
    pub(crate) fn choose(log: &DiskLog, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let moments = log.moments as u64;
        let near = |rng: &mut Rng, is_wanted: &dyn Fn(&Act) -> bool| {
            let places: Vec<usize> =
                log.ops.iter().filter(|op| is_wanted(&op.act)).map(|op| op.begin).collect();
            match places.len() {
                0 => 0,
                count => places[usize::try_from(rng.below(count as u64)).unwrap_or(0)],
            }
        };
        let moment = match rng.below(4) {
            0 => near(&mut rng, &|act| matches!(act, Act::Ack(_) | Act::Effect(_))) + 1,
            1 => {
                let change = near(&mut rng, &is_rare);
                change + usize::try_from(rng.below(6)).unwrap_or(0)
            }
            _anywhere => usize::try_from(rng.below(moments + 1)).unwrap_or(0),
        };
        Self { moment: moment.min(log.moments), seed: rng.next() }
    }
}

fn is_rare(act: &Act) -> bool {
    match act {
        Act::Resize { .. }
        | Act::Sync { .. }
        | Act::Create { .. }
        | Act::Remove { .. }
        | Act::SyncFolder => true,
        Act::Write { .. } | Act::Ack(_) | Act::Effect(_) => false,
    }
}

impl Survival {
    /// What happens to this number of writes of a file.
    pub(crate) fn choose(rng: &mut Rng, writes: usize) -> Self {
        let some = |rng: &mut Rng| usize::try_from(rng.below(writes as u64 + 1)).unwrap_or(0);
        match rng.below(8) {
            0 | 1 => Self::Nothing,
            2 => Self::Everything,
            3 => Self::First(some(rng)),
            4 => Self::Last(some(rng)),
            5 => Self::Sectors(9),
            6 => Self::Sectors(1),
            _otherwise => Self::Sectors(5),
        }
    }

    /// Whether a sector of the write with this number, of so many, is written.
    pub(crate) fn keeps(self, rng: &mut Rng, number: usize, writes: usize) -> bool {
        match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::Sectors(of_ten) => rng.below(10) < of_ten,
            Self::First(count) => number < count || (number == count && rng.below(2) == 0),
            Self::Last(count) => number + count >= writes,
        }
    }
}
