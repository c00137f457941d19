//! Opening a database: checks, migrations, warm connections and background tasks.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use duroxide_core::providers::LeaseHolders;
use tokio::sync::{Notify, OnceCell};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::clock::DatabaseClock;
use crate::connect::connection::{self, Connections};
use crate::connect::options::{Migrations, Settings};
use crate::connect::own_thread::OwnThread;
use crate::connect::session::Session;
use crate::connect::url::Location;
use crate::error::JobError;
use crate::fast_path::switch::FastPath;
use crate::fast_path::warm_up;
use crate::fetch::empty_poll::EmptyPoll;
use crate::fetch::isolation::SetAside;
use crate::fetch::undo::DroppedFetches;
use crate::notify::notifier::Notifier;
use crate::notify::{listener, outbox};
use crate::queues::set_back;
use crate::read::reader::Reader;
use crate::schema::namespace::Schema;
use crate::schema::number::from_db;
use crate::schema::{choose, migrations};
use crate::store::Store;
use crate::write::writer::Writer;
use crate::{PostgresError, PostgresProvider, deletion_slices, limits};

/// Tasks that stop with the provider.
#[derive(Debug)]
pub(crate) struct Background(Vec<AbortHandle>);

impl Background {
    fn stop(&self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}

const SERVER_SQL: &str = "SELECT current_setting('server_version_num')::INTEGER AS version,
     current_setting('server_encoding') AS encoding";

const STORED_SQL: &str =
    "SELECT {schema}.now_ms() AS now, name AS channel FROM {schema}.notification_channel";

fn only_row(mut rows: Vec<Row>) -> Result<Row, JobError> {
    rows.pop().ok_or_else(|| JobError::Broken("the server returned no row".to_owned()))
}

/// Creates or checks the tables and functions.
pub(crate) async fn migrate(
    session: &mut Session,
    schema: &Schema,
    migrations: Migrations,
) -> Result<(), PostgresError> {
    let server = session.server();
    let client = session.client_mut();
    let migrated = async {
        match migrations {
            Migrations::Run => migrations::run(client, schema).await,
            Migrations::Verify => migrations::check(client, schema).await,
        }
    };
    match timeout(limits::MIGRATION_MAX, migrated).await {
        Ok(migrated) => migrated,
        Err(_) => Err(JobError::no_response(limits::MIGRATION_MAX).at(&server).into()),
    }
}

impl PostgresProvider {
    pub(crate) async fn open(
        location: Location,
        settings: Settings,
    ) -> Result<Self, PostgresError> {
        let connections = Connections::new(location, &settings)?;
        let mut session = connections.pool.get().await?;
        let row = only_row(session.query(SERVER_SQL, &[]).await?)?;
        connection::suitable(row.get("version"), row.get("encoding"))?;
        let schema = choose::choose(session.client_mut(), settings.schema.as_deref()).await?;
        let migrations = if settings.read_only { Migrations::Verify } else { settings.migrations };
        migrate(&mut session, &schema, migrations).await?;
        let requested = Instant::now();
        let stored = only_row(session.query(&schema.sql(STORED_SQL), &[]).await?)?;
        drop(session);
        let fast_path = FastPath::new(settings.fast_path);
        let (random, _) = Uuid::new_v4().as_u64_pair();
        let store = Arc::new(Store {
            connections,
            own_thread: OwnThread::default(),
            own_opened: OnceCell::new(),
            schema,
            settings,
            node: random.cast_signed(),
            notifier: Notifier::default(),
            channel: stored.get("channel"),
            holders: LeaseHolders::default(),
            dropped_fetches: DroppedFetches::default(),
            empty_poll: EmptyPoll::default(),
            set_aside: SetAside::default(),
            fast_path,
            database_clock: Arc::new(DatabaseClock::new(requested, from_db(stored.get("now")))),
            latest_now: AtomicI64::new(0),
            clock_set_back: Notify::new(),
            listening_wanted: Notify::new(),
        });
        let upkeep = store.settings.upkeep && !store.settings.read_only;
        if upkeep && store.settings.clock.is_none() {
            // It may have been set back while no node ran.
            store.clock_set_back.notify_one();
        }
        if upkeep {
            warm_up::warm_up(&store).await;
            store.listening_wanted.notify_one();
        }
        let writer = Writer::start(&store);
        let reader = Reader::start(&store);
        let mut tasks = vec![
            tokio::spawn(listener::listen(Arc::clone(&store))).abort_handle(),
            tokio::spawn(outbox::send(Arc::clone(&store))).abort_handle(),
        ];
        if upkeep {
            tasks.push(tokio::spawn(set_back::repair(Arc::clone(&store))).abort_handle());
            let deletions = deletion_slices::continue_abandoned(Arc::clone(&store));
            tasks.push(tokio::spawn(deletions).abort_handle());
        }
        let background = Background(tasks);
        Ok(Self { store, writer, reader, background })
    }

    /// Completes what was requested, ends the tasks and closes all connections. Later calls fail.
    /// Stop the runtimes that use the provider first.
    ///
    /// May be called again, and by several callers at once.
    pub async fn close(&self) {
        self.writer.close().await;
        if !self.store.settings.upkeep {
            // It may end before its background task runs.
            outbox::flush(&self.store).await;
        }
        self.background.stop();
        self.store.connections.close();
        self.store.own_thread.close().await;
        // Callers that wait for a change poll again and get the error.
        self.store.notifier.hub.notify_all();
    }
}
