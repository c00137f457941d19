//! Settings of a provider.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::clock::Clock;

use crate::connect::password::PasswordSource;
use crate::connect::url::{self, SslMode};
use crate::{PostgresError, PostgresProvider, limits};

/// What opening a database does about missing tables and functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Migrations {
    /// Creates them. Any number of nodes may do this at once.
    #[default]
    Run,
    /// Fails unless everything is in place, and changes nothing.
    Verify,
}

/// What a provider is opened with.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// `None` if the program names none.
    pub(crate) schema: Option<String>,
    pub(crate) migrations: Migrations,
    pub(crate) read_only: bool,
    pub(crate) upkeep: bool,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) connections: usize,
    pub(crate) writers: usize,
    pub(crate) pool_wait: Duration,
    pub(crate) statement_timeout: Duration,
    pub(crate) safety_poll: Duration,
    pub(crate) greeting_interval: Duration,
    pub(crate) warm_grace: Duration,
    pub(crate) ssl_mode: Option<SslMode>,
    pub(crate) password: Option<PasswordSource>,
    pub(crate) fast_path: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            schema: None,
            migrations: Migrations::default(),
            read_only: false,
            upkeep: true,
            clock: None,
            connections: limits::CONNECTIONS,
            writers: limits::WRITERS,
            pool_wait: limits::POOL_WAIT,
            statement_timeout: limits::STATEMENT_TIMEOUT,
            safety_poll: limits::SAFETY_POLL,
            greeting_interval: limits::GREETING_INTERVAL,
            warm_grace: limits::WARM_GRACE,
            ssl_mode: None,
            password: None,
            fast_path: true,
        }
    }
}

impl Settings {
    /// How long a call waits for its response. The server reports a slow statement before that; a
    /// server that is stopped or out of reach reports nothing.
    pub(crate) fn response_within(&self) -> Duration {
        let slack =
            self.statement_timeout.clamp(limits::RESPONSE_SLACK_MIN, limits::RESPONSE_SLACK_MAX);
        self.statement_timeout.saturating_add(slack)
    }

    /// How long a listener works without receiving a greeting of its own node.
    pub(crate) fn deaf_after(&self) -> Duration {
        self.greeting_interval + self.greeting_interval / 4
    }
}

/// Opens a database with chosen settings.
#[derive(Clone)]
pub struct PostgresProviderBuilder {
    url: String,
    settings: Settings,
}

impl std::fmt::Debug for PostgresProviderBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The URL may hold a password, which the driver leaves out of its own form.
        let location = url::parse(&self.url);
        f.debug_struct("PostgresProviderBuilder")
            .field("location", &location)
            .field("settings", &self.settings)
            .finish()
    }
}

impl PostgresProviderBuilder {
    pub(crate) fn new(url: &str) -> Self {
        Self { url: url.to_owned(), settings: Settings::default() }
    }

    /// The schema that holds the tables, one for each tenant. Any name works: it is quoted.
    ///
    /// Without it the schema is `duroxide`, or `public` if that holds a store of duroxide-pg 0.1.
    #[must_use = "returns the changed options"]
    pub fn with_schema(mut self, name: &str) -> Self {
        self.settings.schema = Some(name.to_owned());
        self
    }

    /// What to do about missing tables and functions.
    #[must_use = "returns the changed options"]
    pub fn with_migrations(mut self, migrations: Migrations) -> Self {
        self.settings.migrations = migrations;
        self
    }

    /// Uses transactions that only read: nothing is created or migrated, and every change fails.
    #[must_use = "returns the changed options"]
    pub fn with_read_only(mut self, read_only: bool) -> Self {
        self.settings.read_only = read_only;
        self
    }

    /// Whether this provider looks after the store: it warms up its connections, listens to other
    /// nodes from the start, continues deletions of callers that died, and corrects times that are
    /// in the future. On by default; off for programs that run no turns and no activities and end
    /// soon, such as commands.
    #[must_use = "returns the changed options"]
    pub fn with_upkeep(mut self, enabled: bool) -> Self {
        self.settings.upkeep = enabled;
        self
    }

    /// Connections for fetches and reads; at least one. Each writer and the listener have one more,
    /// and renewals of leases up to four, but no more than this.
    #[must_use = "returns the changed options"]
    pub fn with_connections(mut self, count: usize) -> Self {
        self.settings.connections = count.max(1);
        self
    }

    /// Commits under way at once; at least one. Jobs that wait meanwhile share the next one.
    #[must_use = "returns the changed options"]
    pub fn with_writers(mut self, count: usize) -> Self {
        self.settings.writers = count.max(1);
        self
    }

    /// How long a call waits for a free connection before it fails with "pool exhausted".
    #[must_use = "returns the changed options"]
    pub fn with_pool_wait(mut self, wait: Duration) -> Self {
        self.settings.pool_wait = wait;
        self
    }

    /// The server cancels statements that take longer, and the provider retries them.
    #[must_use = "returns the changed options"]
    pub fn with_statement_timeout(mut self, timeout: Duration) -> Self {
        self.settings.statement_timeout = timeout.max(Duration::from_millis(1));
        self
    }

    /// How often a waiting fetch polls although no notification came.
    #[must_use = "returns the changed options"]
    pub fn with_safety_poll_interval(mut self, interval: Duration) -> Self {
        self.settings.safety_poll = interval.max(Duration::from_millis(1));
        self
    }

    /// How often a node that has nothing else to send greets the others, at most every 20 seconds.
    /// If it does not receive its own greeting, it replaces its listening connection.
    #[must_use = "returns the changed options"]
    pub fn with_greeting_interval(mut self, interval: Duration) -> Self {
        self.settings.greeting_interval =
            interval.clamp(Duration::from_millis(1), limits::GREETING_INTERVAL);
        self
    }

    /// How long other nodes leave an instance to the node that committed its last turn and has its
    /// history in memory. Zero lets any node lease it at once.
    #[must_use = "returns the changed options"]
    pub fn with_warm_grace(mut self, grace: Duration) -> Self {
        self.settings.warm_grace = grace;
        self
    }

    /// Asks for the password whenever a connection is opened, in place of the one in the URL: for
    /// tokens that expire (Entra, RDS, Cloud SQL) and for secrets that are rotated. Open
    /// connections stay open. A source that fails, or takes longer than connecting may, is trouble
    /// of the store: calls are retried. It may be called on a thread of the provider, which renews
    /// leases while user code blocks the executor of the program.
    ///
    /// ```no_run
    /// # async fn token() -> Result<String, std::io::Error> { Ok(String::new()) }
    /// # async fn open() -> Result<(), duroxide_pg::PostgresError> {
    /// let provider = duroxide_pg::PostgresProvider::builder("postgres://app@db.example/orders")
    ///     .with_password_source(token)
    ///     .open()
    ///     .await?;
    /// # drop(provider);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "returns the changed options"]
    pub fn with_password_source<F, P, E>(mut self, source: F) -> Self
    where
        F: Fn() -> P + Send + Sync + 'static,
        P: Future<Output = Result<String, E>> + Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.settings.password = Some(PasswordSource::new(source));
        self
    }

    /// How much TLS protects connections; overrides `sslmode` in the URL.
    #[must_use = "returns the changed options"]
    pub fn with_ssl_mode(mut self, mode: SslMode) -> Self {
        self.settings.ssl_mode = Some(mode);
        self
    }

    /// Uses this clock for leases and visibility instead of the server's. For tests: all nodes of a
    /// schema must share it.
    #[must_use = "returns the changed options"]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.settings.clock = Some(clock);
        self
    }

    /// Whether shortcuts are tried: storing an instance together with its first turn, and
    /// committing a step of a chain by a statement of its own. Off, everything takes the plain
    /// path, with the same results and more round trips. For tests and diagnosis.
    #[must_use = "returns the changed options"]
    pub fn with_fast_path(mut self, enabled: bool) -> Self {
        self.settings.fast_path = enabled;
        self
    }

    /// Connects, creates or checks the schema and starts the background tasks.
    ///
    /// # Errors
    /// When the database cannot be used; the error says what to do.
    pub async fn open(self) -> Result<PostgresProvider, PostgresError> {
        let mut location = url::parse(&self.url)?;
        if let Some(mode) = self.settings.ssl_mode {
            location.tls.mode = mode;
        }
        location.tls.check()?;
        PostgresProvider::open(location, self.settings).await
    }
}
