//! How a database is opened.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use duroxide_core::clock::Clock;

use crate::connect::steady_clock::SteadyClock;
use crate::connect::url;
use crate::write::flush::OpenLog;
use crate::{SqliteError, SqliteProvider, limits};

/// Options of [`SqliteProvider::new`]. There are none; see [`SqliteProvider::builder`] for more.
#[derive(Debug, Clone, Default)]
pub struct SqliteOptions {}

/// What a commit survives once its call has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// Power loss.
    #[default]
    Full,
    /// A crash of the process. The last commits before a power loss may be missing; the file stays
    /// consistent.
    Normal,
}

/// What opening a database does about missing tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Migrations {
    /// Creates them, and the file. Any number of processes may do this at once.
    #[default]
    Run,
    /// Fails unless everything is in place, and changes nothing. A missing file is not created.
    Verify,
}

/// What a connection is opened with.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) migrations: Migrations,
    pub(crate) read_only: bool,
    pub(crate) upkeep: bool,
    pub(crate) synchronous: Synchronous,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) readers: usize,
    pub(crate) busy_timeout: Duration,
    pub(crate) cross_process_poll: Duration,
    pub(crate) pages_max: Option<u32>,
    pub(crate) statement_counter: Option<Arc<AtomicU64>>,
    pub(crate) open_log: OpenLog,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            migrations: Migrations::default(),
            read_only: false,
            upkeep: true,
            synchronous: Synchronous::default(),
            clock: Arc::new(SteadyClock::of_machine()),
            readers: limits::READERS,
            busy_timeout: limits::BUSY_TIMEOUT,
            cross_process_poll: limits::CROSS_PROCESS_POLL,
            pages_max: None,
            statement_counter: None,
            open_log: OpenLog::default(),
        }
    }
}

/// Opens a database with chosen settings.
#[derive(Clone)]
pub struct SqliteProviderBuilder {
    url: String,
    settings: Settings,
}

impl std::fmt::Debug for SqliteProviderBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URL of another database may hold a password.
        f.debug_struct("SqliteProviderBuilder")
            .field("url", &url::printable(&self.url))
            .field("settings", &self.settings)
            .finish()
    }
}

impl SqliteProviderBuilder {
    pub(crate) fn new(url: &str) -> Self {
        Self { url: url.to_owned(), settings: Settings::default() }
    }

    /// What a commit survives once its call has returned.
    #[must_use = "returns the changed options"]
    pub fn with_synchronous(mut self, level: Synchronous) -> Self {
        self.settings.synchronous = level;
        self
    }

    /// What to do about missing tables.
    #[must_use = "returns the changed options"]
    pub fn with_migrations(mut self, migrations: Migrations) -> Self {
        self.settings.migrations = migrations;
        self
    }

    /// Opens the file for reading, as `?mode=ro` does: nothing is created or migrated, and every
    /// change fails. A database in memory is not affected.
    #[must_use = "returns the changed options"]
    pub fn with_read_only(mut self, read_only: bool) -> Self {
        self.settings.read_only = read_only;
        self
    }

    /// Whether this provider looks after the store: it shows other processes that it is alive,
    /// releases the leases of dead ones, continues their deletions, and corrects times that are in
    /// the future. On by default; off for programs that run no turns and no activities and end
    /// soon, such as commands.
    #[must_use = "returns the changed options"]
    pub fn with_upkeep(mut self, enabled: bool) -> Self {
        self.settings.upkeep = enabled;
        self
    }

    /// The clock that decides about leases and visibility. If it is set back, the provider goes on
    /// with a time of its own, so that nothing waits for the time that was lost.
    #[must_use = "returns the changed options"]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.settings.clock = Arc::new(SteadyClock::over(clock));
        self
    }

    /// Number of threads for reads; at least one.
    #[must_use = "returns the changed options"]
    pub fn with_readers(mut self, count: usize) -> Self {
        self.settings.readers = count.max(1);
        self
    }

    /// How long to wait for another process before a call fails with "Database locked".
    #[must_use = "returns the changed options"]
    pub fn with_busy_timeout(mut self, timeout: Duration) -> Self {
        self.settings.busy_timeout = timeout;
        self
    }

    /// How often the provider polls for commits of other processes while a caller waits; five times
    /// less often when nothing has happened for a while.
    #[must_use = "returns the changed options"]
    pub fn with_cross_process_poll_interval(mut self, interval: Duration) -> Self {
        self.settings.cross_process_poll = interval.max(Duration::from_millis(1));
        self
    }

    /// The file never grows beyond this many pages; writes then fail as on a full disk.
    #[must_use = "returns the changed options"]
    pub fn with_pages_max(mut self, pages: u32) -> Self {
        self.settings.pages_max = Some(pages);
        self
    }

    /// Counts every statement that runs, to measure what a step costs.
    #[must_use = "returns the changed options"]
    pub fn with_statement_counter(mut self, counter: Arc<AtomicU64>) -> Self {
        self.settings.statement_counter = Some(counter);
        self
    }

    /// Opens the database, creates or migrates its tables and starts the threads.
    ///
    /// # Errors
    /// When the file cannot be used; the error says what to do.
    pub async fn open(self) -> Result<SqliteProvider, SqliteError> {
        let location = url::parse(&self.url)?.restricted(&self.settings);
        SqliteProvider::open(location, self.settings).await
    }
}
