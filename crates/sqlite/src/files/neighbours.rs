//! Finds processes that used the database and have ended without closing it.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant, SystemTime};

use crate::connect::url::{Location, OpenMode};
use crate::files::presence::{DeadOwner, Owner, Presence};
use crate::limits;

/// The other processes that use the database.
#[derive(Debug)]
pub(crate) struct Neighbours {
    own: Presence,
    known: BTreeSet<String>,
    next_check: Instant,
    /// Time stamp of the folder when it was last listed.
    stamp: Option<SystemTime>,
    /// Whether the folder was listed again after it had changed: two changes within one tick of
    /// the file system's clock have the same stamp.
    is_settled: bool,
}

impl Neighbours {
    /// Shows this process to the others. `None` if they cannot find out which of them are alive.
    pub(crate) fn of(location: &Location) -> Option<Self> {
        let own = match location {
            Location::Memory | Location::File { mode: OpenMode::ReadOnly, .. } => return None,
            Location::File { path, mode: OpenMode::ReadWrite | OpenMode::Create } => {
                Presence::announce(path)?
            }
        };
        let next_check = Instant::now();
        Some(Self { own, known: BTreeSet::new(), next_check, stamp: None, is_settled: false })
    }

    /// How the others know this process.
    pub(crate) fn id(&self) -> &str {
        self.own.id()
    }

    /// Whether no other process that uses the database is alive. One that cannot be examined is.
    pub(crate) fn are_absent(&self) -> bool {
        let place = &self.own.place;
        place.list().is_ok_and(|ids| {
            let mut others = ids.iter().filter(|id| *id != self.own.id());
            others.all(|id| !matches!(place.examine(id), Owner::Alive))
        })
    }

    /// Processes that are dead. Checks at most once in an interval; before that, returns none.
    pub(crate) fn find_dead(&mut self) -> Vec<DeadOwner> {
        let started = Instant::now();
        if started < self.next_check {
            return Vec::new();
        }
        self.list_changed_folder();
        let mut dead = Vec::new();
        let place = &self.own.place;
        self.known.retain(|id| match place.examine(id) {
            Owner::Gone => false,
            Owner::Alive => true,
            // It stays known until its file is gone, in case its leases cannot be released now.
            Owner::Dead(owner) => {
                dead.push(owner);
                true
            }
        });
        // A folder with very many files must not slow the writer down.
        let pause = started.elapsed().saturating_mul(limits::NEIGHBOUR_CHECK_SHARE);
        self.next_check = started + pause.clamp(limits::NEIGHBOUR_CHECK, Duration::from_secs(60));
        dead
    }

    fn list_changed_folder(&mut self) {
        let place = &self.own.place;
        let stamp = fs::metadata(place.folder()).and_then(|folder| folder.modified()).ok();
        let is_same = stamp.is_some() && stamp == self.stamp;
        if is_same && self.is_settled {
            return;
        }
        // A folder that cannot be listed now is listed at the next check.
        let Ok(ids) = place.list() else { return };
        self.known = ids.into_iter().filter(|id| id != self.own.id()).collect();
        (self.stamp, self.is_settled) = (stamp, is_same);
    }
}
