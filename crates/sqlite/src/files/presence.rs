//! Shows which processes that use the database are alive.
//!
//! Each open provider has an empty file beside the database and keeps it locked. The operating
//! system releases the lock when the process ends, however it ends, so a file that can be locked
//! belongs to a process that is dead. The name of the file is part of every lease that the provider
//! acquires.
//!
//! All of this only speeds things up: without it leases last until they expire.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::files::private;
use crate::limits;

/// Where the files of one database are.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    database: PathBuf,
    folder: PathBuf,
    /// What the names of the files begin with.
    prefix: String,
}

impl Place {
    /// Beside the database itself, also if it was opened by a link.
    fn of(database: &Path) -> io::Result<Self> {
        let database = fs::canonicalize(database)?;
        let (Some(folder), Some(name)) = (database.parent(), database.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let name = name.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        let (folder, prefix) = (folder.to_owned(), format!("{name}-node-"));
        Ok(Self { database, folder, prefix })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The ids of all files.
    pub(crate) fn list(&self) -> io::Result<Vec<String>> {
        let mut ids = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let id = name.to_str().and_then(|name| name.strip_prefix(&self.prefix));
            // A database may have such a name, too; its own files end differently.
            ids.extend(id.filter(|id| Uuid::try_parse(id).is_ok()).map(str::to_owned));
        }
        Ok(ids)
    }

    /// Finds out whether the owner of a file is alive.
    pub(crate) fn examine(&self, id: &str) -> Owner {
        let path = self.path_of(id);
        let file = match open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Owner::Gone,
            // Nothing is known, so nothing may be taken from it.
            Err(_) => return Owner::Alive,
            Ok(file) => file,
        };
        if file.try_lock().is_err() {
            return Owner::Alive;
        }
        // A provider that closes removes its file before it releases the lock. It may be alive.
        if !path.exists() {
            return Owner::Gone;
        }
        Owner::Dead(DeadOwner { id: id.to_owned(), path, _lock: file })
    }

    fn path_of(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{}{id}", self.prefix))
    }
}

/// The owner of a file.
#[derive(Debug)]
pub(crate) enum Owner {
    Alive,
    Dead(DeadOwner),
    /// There is no such file any more.
    Gone,
}

/// An owner whose process has ended. While this exists, no other process finds it.
#[derive(Debug)]
pub(crate) struct DeadOwner {
    pub(crate) id: String,
    path: PathBuf,
    _lock: File,
}

impl DeadOwner {
    /// Removes its file: nothing of it is left.
    pub(crate) fn remove(self) {
        // If this fails, the next check finds the file again, and no leases.
        drop(fs::remove_file(&self.path));
    }
}

/// The locked file of an open provider. Dropping it removes the file.
#[derive(Debug)]
pub(crate) struct Presence {
    pub(crate) place: Place,
    id: String,
    path: PathBuf,
    lock: File,
}

impl Presence {
    /// Creates the file; `None` where that is impossible or locks do not work.
    pub(crate) fn announce(database: &Path) -> Option<Self> {
        let mut failure = None;
        for _ in 0..limits::PRESENCE_TRIES {
            match Place::of(database).and_then(Self::create) {
                Ok(presence) => return Some(presence),
                // Another process may have found the file before it was locked.
                Err(error) => failure = Some(error),
            }
        }
        tracing::debug!(
            target: "duroxide::providers::sqlite",
            path = %database.display(),
            error = failure.map(tracing::field::display),
            "cannot lock a file beside the database; if this process is killed, its leases last \
             until they expire"
        );
        None
    }

    fn create(place: Place) -> io::Result<Self> {
        let id = Uuid::new_v4().simple().to_string();
        let path = place.path_of(&id);
        let lock = private::create(&path)?;
        // From here on the file is removed when this fails.
        let presence = Self { place, id, path, lock };
        presence.lock.try_lock()?;
        // Who may use the database may check the file, as with SQLite's own files.
        let permissions = fs::metadata(&presence.place.database)?.permissions();
        presence.lock.set_permissions(permissions)?;
        // Some file systems grant every lock. This also fails if the file is gone.
        match open(&presence.path)?.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(presence),
            Err(TryLockError::Error(error)) => Err(error),
            Ok(()) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        // The lock is released after this, when the file is closed. Leases stay as they are: the
        // process goes on, and may still run what it leased.
        drop(fs::remove_file(&self.path));
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        fs::write(&path, "").unwrap();
        (folder, path)
    }

    #[test]
    fn an_open_provider_is_alive_and_a_closed_one_is_gone() {
        let (_folder, path) = database();
        let [first, second] = [(); 2].map(|()| Presence::announce(&path).unwrap());
        for _ in 0..3 {
            for seen in [&first, &second] {
                assert!(matches!(first.place.examine(seen.id()), Owner::Alive));
                assert!(matches!(second.place.examine(seen.id()), Owner::Alive));
            }
        }
        assert_eq!(second.place.list().unwrap().len(), 2);
        let id = first.id().to_owned();
        drop(first);
        assert!(matches!(second.place.examine(&id), Owner::Gone));
        assert_eq!(second.place.list().unwrap(), [second.id()]);
    }

    /// A process that was killed leaves its file without the lock.
    #[test]
    fn a_file_without_its_lock_is_dead_once() {
        let (_folder, path) = database();
        let presence = Presence::announce(&path).unwrap();
        let place = &presence.place;
        let id = Uuid::new_v4().simple().to_string();
        fs::write(place.path_of(&id), "").unwrap();
        let Owner::Dead(dead) = place.examine(&id) else { panic!() };
        assert!(matches!(place.examine(&id), Owner::Alive), "another process takes over already");
        drop(dead);
        let Owner::Dead(dead) = place.examine(&id) else { panic!() };
        dead.remove();
        assert!(matches!(place.examine(&id), Owner::Gone));
    }

    #[test]
    fn files_of_other_databases_are_not_listed() {
        let (folder, path) = database();
        let presence = Presence::announce(&path).unwrap();
        for name in ["store.db-node-", "store.db-node-1", "other.db-node-1", "store.db-nodes"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let other = format!("other.db-node-{}", Uuid::new_v4().simple());
        fs::write(folder.path().join(other), "").unwrap();
        assert_eq!(presence.place.list().unwrap(), [presence.id()]);
    }

    #[test]
    fn without_a_place_there_is_no_presence() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Presence::announce(&folder.path().join("missing.db")).is_none());
    }
}
