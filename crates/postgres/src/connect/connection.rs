//! Connections: one pool for fetches and reads, some for commits, one for renewals, and one
//! connection that listens.

use std::sync::Arc;
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{self, Manager, Metrics, QueueMode, RecycleError, RecycleResult};
use tokio_postgres::types::ToSql;

use crate::connect::dial::{ConnectError, Dialer};
use crate::connect::options::Settings;
use crate::connect::session::Session;
use crate::connect::tls;
use crate::connect::url::Location;
use crate::{PostgresError, limits};

/// The oldest server that supports everything this crate uses.
const SERVER_VERSION_MIN: i32 = 130_000;

/// The parameters of a statement.
pub(crate) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Sessions that are used by one call at a time.
pub(crate) type Pool = managed::Pool<Sessions>;

/// A session that returns to its pool.
pub(crate) type PooledSession = managed::Object<Sessions>;

/// Makes connections.
#[derive(Debug)]
pub(crate) struct Connections {
    pub(crate) dialer: Arc<Dialer>,
    /// For fetches, reads and changes outside of group commit.
    pub(crate) pool: Pool,
    /// For commits, so that they never wait for reads.
    pub(crate) writers: Pool,
    /// For jobs that are written by themselves, so that commits never wait for them, and for
    /// statements in the background.
    pub(crate) single_writers: Pool,
    /// For calls on the store's own thread, which opens them.
    pub(crate) own: Pool,
}

impl Connections {
    /// Creates the pools; connects nothing yet.
    pub(crate) fn new(mut location: Location, settings: &Settings) -> Result<Self, PostgresError> {
        let config = &mut location.config;
        if config.get_application_name().is_none() {
            config.application_name("duroxide");
        }
        // A server that vanished silently must not block a call for hours.
        config.keepalives_idle(Duration::from_secs(30));
        config.tcp_user_timeout(Duration::from_secs(30));
        config.ssl_mode(tls::driver_mode(location.tls.mode));
        let options = options(config.get_options().unwrap_or_default(), settings);
        config.options(options);
        let dialer = Arc::new(Dialer::new(&location, settings.password.clone())?);
        let pool = make_pool(&dialer, settings, settings.connections)?;
        let writers = make_pool(&dialer, settings, settings.writers)?;
        let single_writers = make_pool(&dialer, settings, limits::SINGLE_WRITERS)?;
        let own = make_pool(&dialer, settings, settings.connections.min(limits::OWN_CONNECTIONS))?;
        Ok(Self { dialer, pool, writers, single_writers, own })
    }

    /// Closes idle connections now and the others when they are returned; makes no new ones.
    pub(crate) fn close(&self) {
        self.pool.close();
        self.writers.close();
        self.single_writers.close();
        self.own.close();
    }
}

/// Opens sessions for a pool.
#[derive(Debug)]
pub(crate) struct Sessions {
    dialer: Arc<Dialer>,
    response_within: Duration,
}

impl Manager for Sessions {
    type Type = Session;
    type Error = ConnectError;

    async fn create(&self) -> Result<Session, ConnectError> {
        let connected = self.dialer.dial().await?;
        Ok(Session::new(connected, Arc::clone(&self.dialer), self.response_within))
    }

    async fn recycle(&self, session: &mut Session, _: &Metrics) -> RecycleResult<ConnectError> {
        match session.is_usable() {
            true => Ok(()),
            false => Err(RecycleError::message("the connection was given up")),
        }
    }
}

/// The server settings of a connection. Those of the URL override the limits in front of them. The
/// functions rely on the isolation level: each statement sees what was committed before it.
fn options(of_url: &str, settings: &Settings) -> String {
    let access = if settings.read_only { " -c default_transaction_read_only=on" } else { "" };
    format!(
        "-c lock_timeout={} -c idle_in_transaction_session_timeout={} -c tcp_keepalives_idle={} \
         -c tcp_keepalives_interval={} {of_url} -c statement_timeout={} \
         -c client_min_messages=warning -c default_transaction_isolation=read\\ committed{access}",
        limits::LOCK_WAIT_MAX.as_millis(),
        limits::SILENCE_IN_TRANSACTION_MAX.as_millis(),
        limits::SERVER_KEEPALIVE_IDLE.as_secs(),
        limits::SERVER_KEEPALIVE_INTERVAL.as_secs(),
        settings.statement_timeout.as_millis()
    )
}

fn make_pool(
    dialer: &Arc<Dialer>,
    settings: &Settings,
    size: usize,
) -> Result<Pool, PostgresError> {
    let sessions =
        Sessions { dialer: Arc::clone(dialer), response_within: settings.response_within() };
    Pool::builder(sessions)
        .max_size(size)
        // The connection that was used last has its plans cached.
        .queue_mode(QueueMode::Lifo)
        .wait_timeout(Some(settings.pool_wait))
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|error| PostgresError::cannot_connect(error.to_string()))
}

/// Refuses a server that lacks a requirement.
pub(crate) fn suitable(version: i32, encoding: &str) -> Result<(), PostgresError> {
    let reason = if version < SERVER_VERSION_MIN {
        format!("PostgreSQL 13 or newer is needed, this is {}", version / 10_000)
    } else if encoding != "UTF8" {
        format!("its encoding is {encoding}; make one with ENCODING 'UTF8'")
    } else {
        return Ok(());
    };
    Err(PostgresError::Unsuitable { reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_that_only_reads_says_so_on_every_connection() {
        let read_only = "-c default_transaction_read_only=on";
        let settings = Settings::default();
        assert!(!options("", &settings).contains(read_only));
        let settings = Settings { read_only: true, ..settings };
        // Behind those of the URL, which therefore cannot switch it off.
        assert!(options("-c default_transaction_read_only=off", &settings).ends_with(read_only));
    }

    #[test]
    fn the_url_overrides_the_limits_for_silent_nodes() {
        let settings = Settings::default();
        let ours = "-c idle_in_transaction_session_timeout=10000 ";
        assert!(options("", &settings).contains(ours));
        let of_url = "-c idle_in_transaction_session_timeout=300";
        let both = options(of_url, &settings);
        assert!(both.find(ours) < both.find(of_url), "{both}");
    }
}
