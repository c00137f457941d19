//! The files of a store as a power cut may leave them.
//!
//! What was done before the last completed sync of a file is there. Of later writes any part may be
//! there, in sectors and in any order, and a sector that was about to be written may hold garbage.
//! Names are kept by a sync of the folder in the same way.

use std::collections::BTreeMap;
use std::path::Path;

use crate::power::cut::{Cut, Disk, Survival};
use crate::power::disk_log::{Act, DiskLog, EFFECTS, FileId, Op};
use crate::rng::Rng;

/// Disks write such units as a whole.
const SECTOR: usize = 512;
/// Of so many lost sectors, one holds garbage, if the disk does that at all.
const GARBAGE_SHARE: u64 = 4;
/// The index of the log: a mapped file that SQLite builds anew after a crash.
const INDEX: &str = "-shm";
/// Size of an index.
const INDEX_BYTES: usize = 32 * 1024;

/// Name and content of each file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// What the activities did before the cut.
    pub(crate) effects: Vec<u8>,
}

impl Image {
    /// What is left after a cut.
    pub(crate) fn after(log: &DiskLog, cut: Cut, disk: Disk) -> Self {
        let mut rng = Rng::new(cut.seed);
        let begun: Vec<&Op> = log.ops.iter().take_while(|op| op.begin < cut.moment).collect();
        let mut files = BTreeMap::new();
        for (name, file) in names_left(&begun, cut.moment, &mut rng) {
            if !name.ends_with(INDEX) {
                let kept = contents_left(&begun, file, &name, cut.moment, disk, &mut rng);
                files.insert(name, kept);
            } else if rng.below(2) == 0 {
                files.insert(name, garbage(&mut rng, INDEX_BYTES));
            }
        }
        Self { files, effects: effects(&begun) }
    }

    /// What the files hold if nothing is lost.
    pub(crate) fn complete(log: &DiskLog) -> Self {
        Self::before(log, usize::MAX)
    }

    /// What a kill at this moment leaves: everything that was written.
    pub(crate) fn before(log: &DiskLog, moment: usize) -> Self {
        let begun: Vec<&Op> = log.ops.iter().take_while(|op| op.begin < moment).collect();
        let mut names: BTreeMap<String, FileId> = BTreeMap::new();
        for op in &begun {
            apply_name(&mut names, &op.act);
        }
        let mut files = BTreeMap::new();
        for (name, file) in names.into_iter().filter(|(name, _)| !name.ends_with(INDEX)) {
            let mut content = Vec::new();
            for op in begun.iter().filter(|op| changed_file(&op.act) == Some(file)) {
                apply(&mut content, &op.act);
            }
            files.insert(name, content);
        }
        Self { files, effects: effects(&begun) }
    }

    /// The files of a folder, to compare.
    pub(crate) fn of_folder(folder: &Path) -> Result<Self, String> {
        let mut image = Self::default();
        let named = |error: std::io::Error| format!("{}: {error}", folder.display());
        for entry in std::fs::read_dir(folder).map_err(named)? {
            let entry = entry.map_err(named)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.ends_with(INDEX) {
                image.files.insert(name, std::fs::read(entry.path()).map_err(named)?);
            }
        }
        image.effects = image.files.remove(EFFECTS).unwrap_or_default();
        Ok(image)
    }

    /// The effects in an order that does not depend on which of two threads came first.
    pub(crate) fn sorted_effects(&self) -> Vec<&[u8]> {
        let mut lines: Vec<&[u8]> = self.effects.split(|byte| *byte == b'\n').collect();
        lines.sort_unstable();
        lines
    }

    /// Writes the files into a folder.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), String> {
        let effects = (EFFECTS, self.effects.as_slice());
        let files = self.files.iter().map(|(name, content)| (name.as_str(), content.as_slice()));
        for (name, content) in files.chain([effects]) {
            let path = folder.join(name);
            std::fs::write(&path, content)
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    }
}

fn effects(begun: &[&Op]) -> Vec<u8> {
    let mut effects = Vec::new();
    for op in begun {
        if let Act::Effect(data) = &op.act {
            effects.extend_from_slice(data);
        }
    }
    effects
}

/// Which names exist: what a sync of the folder kept, and for each name some of its later changes.
fn names_left(begun: &[&Op], moment: usize, rng: &mut Rng) -> BTreeMap<String, FileId> {
    let kept_until = synced_until(begun, moment, |act| matches!(act, Act::SyncFolder));
    let mut names = BTreeMap::new();
    let mut later: BTreeMap<&str, Vec<&Act>> = BTreeMap::new();
    for op in begun {
        let (Act::Create { name, .. } | Act::Remove { name }) = &op.act else { continue };
        if is_kept(op, kept_until) {
            apply_name(&mut names, &op.act);
        } else {
            later.entry(name).or_default().push(&op.act);
        }
    }
    for acts in later.values() {
        let count = usize::try_from(rng.below(acts.len() as u64 + 1)).unwrap_or(0);
        for act in acts.iter().take(count) {
            apply_name(&mut names, act);
        }
    }
    // The file of effects is no part of the store.
    names.remove(EFFECTS);
    names
}

fn apply_name(names: &mut BTreeMap<String, FileId>, act: &Act) {
    match act {
        Act::Create { name, file } if name != EFFECTS => {
            names.insert(name.clone(), *file);
        }
        Act::Remove { name } => {
            names.remove(name);
        }
        Act::Create { .. }
        | Act::Write { .. }
        | Act::Resize { .. }
        | Act::Sync { .. }
        | Act::SyncFolder
        | Act::Ack(_)
        | Act::Effect(_) => {}
    }
}

/// What is left in one file.
fn contents_left(
    begun: &[&Op],
    file: FileId,
    name: &str,
    moment: usize,
    disk: Disk,
    rng: &mut Rng,
) -> Vec<u8> {
    let lies = disk == Disk::ForgetsCheckpoints && name.ends_with(".db");
    let is_sync = |act: &Act| !lies && matches!(act, Act::Sync { file: synced } if *synced == file);
    let kept_until = synced_until(begun, moment, is_sync);
    let changes: Vec<&&Op> =
        begun.iter().filter(|op| changed_file(&op.act) == Some(file)).collect();
    let unsure = changes.iter().filter(|op| !is_kept(op, kept_until)).count();
    let survival = Survival::choose(rng, unsure);
    let leaves_garbage = rng.below(2) == 0;
    let mut content = Vec::new();
    let mut number = 0;
    for op in changes {
        if is_kept(op, kept_until) {
            apply(&mut content, &op.act);
            continue;
        }
        for part in sectors(&op.act) {
            if survival.keeps(rng, number, unsure) {
                apply(&mut content, &part);
            } else if leaves_garbage && rng.below(GARBAGE_SHARE) == 0 {
                spoil(&mut content, &part, rng);
            }
        }
        number += 1;
    }
    content
}

/// Everything that returned before this moment is on the disk: the last sync that returned before
/// the cut was entered then.
fn synced_until(begun: &[&Op], moment: usize, is_sync: impl Fn(&Act) -> bool) -> usize {
    let completed = begun.iter().filter(|op| op.end < moment && is_sync(&op.act));
    completed.map(|op| op.begin).max().unwrap_or(0)
}

fn is_kept(op: &Op, kept_until: usize) -> bool {
    op.end < kept_until
}

fn changed_file(act: &Act) -> Option<FileId> {
    match act {
        Act::Write { file, .. } | Act::Resize { file, .. } => Some(*file),
        Act::Sync { .. }
        | Act::Create { .. }
        | Act::Remove { .. }
        | Act::SyncFolder
        | Act::Ack(_)
        | Act::Effect(_) => None,
    }
}

fn apply(content: &mut Vec<u8>, act: &Act) {
    match act {
        Act::Write { offset, data, .. } => {
            let end = offset + data.len();
            if content.len() < end {
                content.resize(end, 0);
            }
            content[*offset..end].copy_from_slice(data);
        }
        Act::Resize { length, .. } => content.resize(*length, 0),
        Act::Sync { .. }
        | Act::Create { .. }
        | Act::Remove { .. }
        | Act::SyncFolder
        | Act::Ack(_)
        | Act::Effect(_) => {}
    }
}

/// A write in the parts that a disk writes as a whole; anything else is one part.
fn sectors(act: &Act) -> Vec<Act> {
    let Act::Write { file, offset, data } = act else { return vec![act.clone()] };
    let mut parts = Vec::new();
    let mut at = 0;
    while at < data.len() {
        let end = (SECTOR - (offset + at) % SECTOR + at).min(data.len());
        let data = data[at..end].to_vec();
        parts.push(Act::Write { file: *file, offset: offset + at, data });
        at = end;
    }
    parts
}

/// A write that was under way when the power went.
fn spoil(content: &mut Vec<u8>, act: &Act, rng: &mut Rng) {
    if let Act::Write { file, offset, data } = act {
        let data = garbage(rng, data.len());
        apply(content, &Act::Write { file: *file, offset: *offset, data });
    }
}

fn garbage(rng: &mut Rng, length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend_from_slice(&rng.next().to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEDS: u64 = 200;

    /// Two sectors are written and synced, then overwritten; the cut comes last.
    fn log() -> DiskLog {
        let write = |byte: u8| Act::Write { file: 0, offset: 0, data: vec![byte; 2 * SECTOR] };
        let acts = [
            Act::Create { name: "a.db".to_owned(), file: 0 },
            Act::SyncFolder,
            write(1),
            Act::Sync { file: 0 },
            write(2),
        ];
        let ops = acts.into_iter().enumerate();
        let ops: Vec<Op> = ops.map(|(at, act)| Op { begin: at, end: at, act }).collect();
        DiskLog { moments: ops.len(), ops }
    }

    fn images(log: &DiskLog, moment: usize, disk: Disk) -> Vec<Vec<u8>> {
        let image = |seed| Image::after(log, Cut { moment, seed }, disk);
        (0..SEEDS).map(|seed| image(seed).files.remove("a.db").unwrap_or_default()).collect()
    }

    #[test]
    fn what_was_synced_is_kept() {
        for content in images(&log(), 4, Disk::Honest) {
            assert_eq!(content, vec![1; 2 * SECTOR]);
        }
    }

    #[test]
    fn what_was_not_synced_is_kept_lost_or_torn() {
        let found = images(&log(), 5, Disk::Honest);
        let torn = [vec![2; SECTOR], vec![1; SECTOR]].concat();
        let reordered = [vec![1; SECTOR], vec![2; SECTOR]].concat();
        for wanted in [vec![1; 2 * SECTOR], vec![2; 2 * SECTOR], torn, reordered] {
            assert!(found.contains(&wanted), "no cut gives {:?}", &wanted[SECTOR - 1..=SECTOR]);
        }
    }

    #[test]
    fn a_disk_that_ignores_syncs_loses_what_was_synced() {
        let found = images(&log(), 4, Disk::ForgetsCheckpoints);
        assert!(found.iter().any(|content| *content != vec![1; 2 * SECTOR]));
    }

    #[test]
    fn the_same_seed_gives_the_same_image() {
        assert_eq!(images(&log(), 5, Disk::Honest), images(&log(), 5, Disk::Honest));
    }
}
