//! What a recorded node did to the files of its store, and what its store acknowledged, in order.

use std::collections::{HashMap, HashSet};
use std::io::BufRead;
use std::path::Path;

use crate::acks::Ack;
use crate::power::trace::{Call, TraceReader, bytes, descriptor};

/// The calls that change files, and those that tell where.
pub(crate) const TRACED: &str = "write,pwrite64,writev,pwritev,pwritev2,lseek,ftruncate,truncate,\
    fallocate,copy_file_range,sendfile,fsync,fdatasync,sync_file_range,open,openat,openat2,creat,\
    rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat";

/// Name of the file of effects, which is no part of the store: what it says has happened.
pub(crate) const EFFECTS: &str = "effects.txt";

/// Number of a file: names may be used again.
pub(crate) type FileId = usize;

/// One act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Act {
    Write {
        file: FileId,
        offset: usize,
        data: Vec<u8>,
    },
    Resize {
        file: FileId,
        length: usize,
    },
    /// Everything that was done to the file before is on the disk afterwards.
    Sync {
        file: FileId,
    },
    Create {
        name: String,
        file: FileId,
    },
    Remove {
        name: String,
    },
    /// The same for names.
    SyncFolder,
    Ack(Ack),
    Effect(Vec<u8>),
}

/// An act with the moments at which its call was entered and left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Op {
    pub(crate) begin: usize,
    pub(crate) end: usize,
    pub(crate) act: Act,
}

/// A recording.
#[derive(Debug, Default)]
pub(crate) struct DiskLog {
    /// In the order in which their calls were entered.
    pub(crate) ops: Vec<Op>,
    /// Number of moments: a cut may come before each of them, and after the last.
    pub(crate) moments: usize,
}

impl DiskLog {
    /// Reads the output of the recorder about a store in `folder`.
    pub(crate) fn read(trace: impl BufRead, folder: &Path) -> Result<Self, String> {
        let folder = format!("{}/", folder.display());
        let mut log = Builder { folder, ..Builder::default() };
        let mut reader = TraceReader::default();
        for line in trace.lines() {
            let line = line.map_err(|error| format!("the recording: {error}"))?;
            if let Some(call) = reader.line(&line)? {
                log.add(&call)?;
            }
        }
        let moments = reader.lines();
        for call in reader.left() {
            log.add(&call)?;
        }
        let mut ops = log.ops;
        ops.sort_by_key(|op| op.begin);
        Ok(Self { ops, moments })
    }

    /// The acknowledgements before a cut.
    pub(crate) fn acks(&self, cut: usize) -> impl Iterator<Item = &Ack> {
        self.ops.iter().take_while(move |op| op.begin < cut).filter_map(|op| match &op.act {
            Act::Ack(ack) => Some(ack),
            Act::Write { .. }
            | Act::Resize { .. }
            | Act::Sync { .. }
            | Act::Create { .. }
            | Act::Remove { .. }
            | Act::SyncFolder
            | Act::Effect(_) => None,
        })
    }
}

#[derive(Default)]
struct Builder {
    /// Folder of the store, with a separator at its end.
    folder: String,
    ops: Vec<Op>,
    files: usize,
    /// The file of each name now, or at last.
    names: HashMap<String, FileId>,
    /// Names that exist now.
    existing: HashSet<String>,
    /// Where the next plain write of a descriptor goes to.
    positions: HashMap<u32, usize>,
}

impl Builder {
    fn add(&mut self, call: &Call) -> Result<(), String> {
        if call.result.is_some_and(|result| result < 0) {
            return Ok(());
        }
        let unknown = || {
            let args: String = call.args.join(", ").chars().take(200).collect();
            format!("the recorded call {}({args}) is not understood", call.name)
        };
        match call.name.as_str() {
            // The process ended meanwhile: nothing follows from the call.
            "openat" | "lseek" | "fsync" | "fdatasync" if call.result.is_none() => Ok(()),
            "openat" => self.open(call).ok_or_else(unknown),
            "unlink" => self.remove(call, 0).ok_or_else(unknown),
            "unlinkat" => self.remove(call, 1).ok_or_else(unknown),
            "write" | "pwrite64" => self.write(call).ok_or_else(unknown),
            "lseek" => self.seek(call).ok_or_else(unknown),
            "ftruncate" => self.resize(call).ok_or_else(unknown),
            "fsync" | "fdatasync" => self.sync(call).ok_or_else(unknown),
            // Nothing else may change the store, or the recording would be incomplete.
            _other if self.concerns_store(call) => Err(unknown()),
            _other => Ok(()),
        }
    }

    fn push(&mut self, call: &Call, act: Act) {
        self.ops.push(Op { begin: call.begin, end: call.end, act });
    }

    /// The name within the folder of the store.
    fn name(&self, path: &str) -> Option<String> {
        path.strip_prefix(&self.folder).map(str::to_owned)
    }

    fn concerns_store(&self, call: &Call) -> bool {
        let named = call.args.iter().filter_map(|arg| {
            let descriptor = descriptor(arg).map(|descriptor| descriptor.path);
            descriptor.or_else(|| String::from_utf8(bytes(arg)?).ok())
        });
        named.into_iter().any(|path| self.name(&path).is_some())
    }

    fn open(&mut self, call: &Call) -> Option<()> {
        let path = String::from_utf8(bytes(call.args.get(1)?)?).ok()?;
        let flags = call.args.get(2)?;
        let opened = u32::try_from(call.result?).ok()?;
        self.positions.insert(opened, 0);
        let Some(name) = self.name(&path) else { return Some(()) };
        if !self.existing.contains(&name) && flags.contains("O_CREAT") {
            let file = self.files;
            self.files += 1;
            self.names.insert(name.clone(), file);
            self.existing.insert(name.clone());
            self.push(call, Act::Create { name: name.clone(), file });
        }
        if flags.contains("O_TRUNC") {
            let file = *self.names.get(&name)?;
            self.push(call, Act::Resize { file, length: 0 });
        }
        Some(())
    }

    fn remove(&mut self, call: &Call, path: usize) -> Option<()> {
        let path = String::from_utf8(bytes(call.args.get(path)?)?).ok()?;
        let Some(name) = self.name(&path) else { return Some(()) };
        self.existing.remove(&name);
        self.push(call, Act::Remove { name });
        Some(())
    }

    fn write(&mut self, call: &Call) -> Option<()> {
        let descriptor = descriptor(call.args.first()?)?;
        let name = self.name(&descriptor.path);
        if descriptor.number != 1 && name.is_none() {
            return Some(());
        }
        let mut data = bytes(call.args.get(1)?)?;
        if let Some(written) = call.result {
            data.truncate(usize::try_from(written).ok()?);
        }
        let Some(name) = name else {
            let ack = Ack::parse(std::str::from_utf8(&data).ok()?)?;
            self.push(call, Act::Ack(ack));
            return Some(());
        };
        if name == EFFECTS {
            self.push(call, Act::Effect(data));
            return Some(());
        }
        let file = *self.names.get(&name)?;
        let offset = match call.args.get(3) {
            Some(offset) => offset.parse().ok()?,
            None => {
                let position = self.positions.get_mut(&descriptor.number)?;
                let offset = *position;
                *position += data.len();
                offset
            }
        };
        self.push(call, Act::Write { file, offset, data });
        Some(())
    }

    fn seek(&mut self, call: &Call) -> Option<()> {
        let number = call.args.first()?.split('<').next()?.parse().ok()?;
        self.positions.insert(number, usize::try_from(call.result?).ok()?);
        Some(())
    }

    fn resize(&mut self, call: &Call) -> Option<()> {
        let descriptor = descriptor(call.args.first()?)?;
        let Some(name) = self.name(&descriptor.path) else { return Some(()) };
        let file = *self.names.get(&name)?;
        let length = call.args.get(1)?.parse().ok()?;
        self.push(call, Act::Resize { file, length });
        Some(())
    }

    fn sync(&mut self, call: &Call) -> Option<()> {
        let descriptor = descriptor(call.args.first()?)?;
        if format!("{}/", descriptor.path) == self.folder {
            self.push(call, Act::SyncFolder);
        } else if let Some(name) = self.name(&descriptor.path) {
            let file = *self.names.get(&name)?;
            self.push(call, Act::Sync { file });
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::{Kind, Workflow};

    fn hex(text: &str) -> String {
        text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
    }

    #[test]
    fn calls_become_acts() {
        let (folder, db) = (hex("/f"), hex("/f/a.db"));
        let (ack, effects) = (hex("started Chain-3\n"), hex("/f/effects.txt"));
        let trace = format!(
            "1 openat(AT_FDCWD<{folder}>, \"{db}\", O_RDWR|O_CREAT, 0600) = 4<{db}>\n\
             1 lseek(4<{db}>, 512, SEEK_SET) = 512\n\
             1 write(4<{db}>, \"\\x61\\x62\", 2) = 1\n\
             1 pwrite64(4<{db}>, \"\\x63\", 1, 7) = 1\n\
             1 fsync(4<{db}>) = 0\n\
             2 fsync(5<{folder}>) = 0\n\
             2 write(1<{}>, \"{ack}\", 16) = 16\n\
             2 write(6<{effects}>, \"\\x64\", 1) = 1\n\
             2 write(9<{}>, \"\\x64\", 1) = 1\n\
             1 unlink(\"{db}\") = 0",
            hex("/dev/null"),
            hex("anon_inode"),
        );
        let log = DiskLog::read(trace.as_bytes(), Path::new("/f")).unwrap();
        let acts: Vec<Act> = log.ops.into_iter().map(|op| op.act).collect();
        let name = "a.db".to_owned();
        let workflow = Workflow { kind: Kind::Chain, number: 3 };
        assert_eq!(
            acts,
            vec![
                Act::Create { name: name.clone(), file: 0 },
                Act::Write { file: 0, offset: 512, data: b"a".to_vec() },
                Act::Write { file: 0, offset: 7, data: b"c".to_vec() },
                Act::Sync { file: 0 },
                Act::SyncFolder,
                Act::Ack(Ack::Started(workflow)),
                Act::Effect(b"d".to_vec()),
                Act::Remove { name },
            ]
        );
    }

    #[test]
    fn a_call_that_the_log_cannot_express_is_an_error() {
        let trace = format!("1 rename(\"{}\", \"{}\") = 0", hex("/f/a"), hex("/f/b"));
        assert!(DiskLog::read(trace.as_bytes(), Path::new("/f")).is_err());
    }
}
