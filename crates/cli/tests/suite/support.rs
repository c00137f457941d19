//! Stores with instances of all kinds, and the command that runs on them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::Provider;
use duroxide::providers::postgres::PostgresProvider;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry};
use serde_json::Value;

/// How long a test waits for what must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Runs a test on both stores.
macro_rules! on_both_stores {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[test] fn $name() { super::$name(&crate::support::Fixture::sqlite()); })*
        }
        mod postgres {
            $(#[test] fn $name() { super::$name(&crate::support::Fixture::postgres()); })*
        }
    };
}
pub(crate) use on_both_stores;

/// A store of its own, and an executor for what the test itself does to it.
pub(crate) struct Fixture {
    pub(crate) url: String,
    pub(crate) schema: Option<String>,
    pub(crate) folder: tempfile::TempDir,
    executor: tokio::runtime::Runtime,
}

/// What a run of the command left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The output of a run that must succeed.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    /// The JSON of a run that must succeed.
    #[track_caller]
    pub(crate) fn json(self) -> Value {
        let out = self.ok();
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }

    /// The one line of a run that must end with this code.
    #[track_caller]
    pub(crate) fn refused(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:?}");
        let lines: Vec<&str> = self.err.lines().collect();
        assert_eq!(lines.len(), 1, "{self:?}");
        assert!(lines[0].starts_with("duroxide: "), "{self:?}");
        lines[0].to_owned()
    }
}

impl Fixture {
    /// An empty store in a file.
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("orders.db").display());
        Self { url, schema: None, folder, executor: executor() }.created()
    }

    /// An empty store in a schema of the shared server.
    pub(crate) fn postgres() -> Self {
        let url = duroxide_pg_server::shared_url().unwrap();
        let schema = format!("cli_{}", uuid::Uuid::new_v4().simple());
        let folder = tempfile::tempdir().unwrap();
        Self { url, schema: Some(schema), folder, executor: executor() }.created()
    }

    fn created(self) -> Self {
        self.on_store(async |_| {});
        self
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("orders.db")
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        self.schema.is_none()
    }

    async fn open(&self) -> Arc<dyn Provider> {
        match &self.schema {
            None => Arc::new(SqliteProvider::new(&self.url, None).await.unwrap()),
            Some(schema) => {
                let builder = PostgresProvider::builder(&self.url).with_schema(schema);
                Arc::new(builder.open().await.unwrap())
            }
        }
    }

    /// Does something with the store, without a node.
    pub(crate) fn on_store<T>(&self, work: impl AsyncFnOnce(Client) -> T) -> T {
        self.executor.block_on(async {
            let provider = self.open().await;
            let done = work(Client::new(Arc::clone(&provider))).await;
            provider.close().await.unwrap();
            done
        })
    }

    /// Does something while a node runs.
    pub(crate) fn with_node<T>(&self, work: impl AsyncFnOnce(Client) -> T) -> T {
        self.executor.block_on(async {
            let provider = self.open().await;
            let node =
                Runtime::start_with_store(Arc::clone(&provider), activities(), orchestrations())
                    .await;
            let done = work(Client::new(Arc::clone(&provider))).await;
            node.shutdown(None).await;
            provider.close().await.unwrap();
            done
        })
    }

    /// Makes instances of all kinds: see [`orchestrations`].
    pub(crate) fn seeded(&self) -> &Self {
        self.with_node(async |client| {
            for (id, name, input) in [
                ("done-1", "Greet", "\"Ada\""),
                ("failed-1", "Fail", "\"no money\""),
                ("loop-1", "Loop", "3"),
                ("waiting-1", "Wait", "\"order\""),
                ("parent-1", "Parent", "\"x\""),
            ] {
                client.start_orchestration(id, name, input).await.unwrap();
            }
            for ended in ["done-1", "failed-1", "loop-1"] {
                client.wait_for_orchestration(ended, PATIENCE).await.unwrap();
            }
            for waiting in ["waiting-1", "parent-1", "child-1"] {
                client.wait_for_kv_value(waiting, "step", PATIENCE).await.unwrap();
            }
        });
        self.on_store(async |client| {
            client.start_orchestration("unstarted-1", "NoSuchCode", "").await.unwrap();
        });
        self
    }

    /// Runs statements on the server; `{schema}` is the schema of this store.
    pub(crate) fn sql(&self, text: &str) {
        let schema = self.schema.as_deref().expect("only a server runs them");
        let text = text.replace("{schema}", schema);
        self.executor.block_on(async {
            let (client, connection) =
                tokio_postgres::connect(&self.url, tokio_postgres::NoTls).await.unwrap();
            let connection = tokio::spawn(connection);
            client.batch_execute(&text).await.unwrap();
            drop(client);
            connection.await.unwrap().unwrap();
        });
    }

    /// The command on this store.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = plain_command(arguments);
        command.env("DUROXIDE_STORE", &self.url);
        if let Some(schema) = &self.schema {
            command.args(["--schema", schema]);
        }
        command
    }

    /// Runs the command without input.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        finish(self.command(arguments), None)
    }

    /// Runs the command with this input.
    pub(crate) fn run_with(&self, input: &str, arguments: &[&str]) -> Ran {
        finish(self.command(arguments), Some(input))
    }

    /// The ids that match a filter, sorted.
    pub(crate) fn ids(&self, filter: &str) -> Vec<String> {
        let listed = self.run(&["list", filter, "--sort", "id", "--ascending", "-o", "ids"]).ok();
        listed.lines().map(str::to_owned).collect()
    }

    /// Everything that the store holds of its instances.
    pub(crate) fn content(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for id in self.ids("") {
            all.push(self.run(&["history", &id, "-o", "json"]).json());
            all.push(self.run(&["kv", &id, "-o", "json"]).json());
        }
        all
    }
}

/// The command without a store of its own.
pub(crate) fn plain_command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_duroxide"));
    command
        .args(arguments)
        .env_remove("DUROXIDE_STORE")
        .env_remove("NO_COLOR")
        .env("TERM", "xterm");
    command.env_remove("COLUMNS").env_remove("RUST_BACKTRACE");
    command
}

/// Runs a command to its end.
pub(crate) fn finish(mut command: Command, input: Option<&str>) -> Ran {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    if let Some(input) = input {
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A file with a content.
pub(crate) fn written(folder: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn executor() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn activities() -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("Pay", |_: ActivityContext, bank: String| async move {
            match Path::new(&bank).exists() {
                true => Ok("paid".to_owned()),
                false => Err("the bank is closed".to_owned()),
            }
        })
        .register("Echo", |_: ActivityContext, input: String| async move { Ok(input) })
        .register(
            "Charge",
            |_: ActivityContext, input: String| async move { Err::<String, _>(input) },
        )
        .build()
}

fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Greet", |ctx: OrchestrationContext, name: String| async move {
            let echoed = ctx.schedule_activity("Echo", name).await?;
            ctx.schedule_timer(Duration::from_millis(1)).await;
            Ok(format!("hello {echoed}"))
        })
        .register("Order", |ctx: OrchestrationContext, bank: String| async move {
            ctx.schedule_activity("Echo", "order").await?;
            ctx.schedule_activity("Pay", bank).await
        })
        .register("Fail", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Charge", input).await
        })
        .register("Loop", |ctx: OrchestrationContext, input: String| async move {
            match input.parse::<u32>() {
                Ok(left) if left > 1 => ctx.continue_as_new((left - 1).to_string()).await,
                _ => Ok("looped".to_owned()),
            }
        })
        .register("Wait", |ctx: OrchestrationContext, _: String| async move {
            ctx.set_custom_status("asking");
            ctx.set_kv_value("step", "asked");
            ctx.set_kv_value("price", "12");
            let by = ctx.schedule_wait("approved").await;
            let note = ctx.dequeue_event("notes").await;
            Ok(format!("approved by {by}, {note}"))
        })
        .register("Parent", |ctx: OrchestrationContext, input: String| async move {
            let child = ctx.schedule_sub_orchestration_with_id("Wait", "child-1", input);
            ctx.set_kv_value("step", "asked");
            child.await
        })
        .build()
}
