//! The password of the database appears in nothing that this crate prints.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use duroxide_core::providers::Provider;
use duroxide_pg::{PostgresError, PostgresProvider, SslMode};
use duroxide_pg_server::{Server, Setup};

use crate::support::*;

/// Keeps what is written to it.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn printed(error: &PostgresError) -> String {
    use std::error::Error;
    let mut text = format!("{error} {error:?} {error:#?}");
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(&format!(" {error} {error:?}"));
        source = error.source();
    }
    text
}

#[tokio::test]
async fn nothing_that_is_printed_contains_the_password() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    // With a single subscriber, a test on another thread that logs first, and has none, would
    // silence the same line here.
    let _second = tracing::Dispatch::new(
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).finish(),
    );
    let _logging = tracing::subscriber::set_default(subscriber);
    let mut server = Server::start(&Setup::default()).unwrap();
    let url = server.url();
    let password = url.split(['@', ':']).nth(2).unwrap().to_owned();
    assert_eq!(password.len(), 32);

    let builder = PostgresProvider::builder(&url);
    let mut text = format!("{builder:?} {builder:#?}");
    let node = builder.open().await.unwrap();
    text.push_str(&format!("{node:?} {node:#?}"));
    create(&node, "a").await;
    // Broken connections, and a server that does not know the user.
    server.restart().unwrap();
    until_done(|| node.read("a")).await;
    for url in [
        url.replace("duroxide:", "other:"),
        url.replace("127.0.0.1:", "127.0.0.1:1,127.0.0.1:"),
        url.replace("127.0.0.1:", "@127.0.0.1:"),
        url.replace("127.0.0.1:", "no.such.host.invalid:"),
        url.replace("postgres:", "mysql:"),
        url.replace("@", "?sslmode=require@"),
        format!("{url}?sslmode=maybe"),
        format!(" {url}?sslmode=require"),
        format!("{url}?sslrootcert=/nowhere"),
        format!("host=127.0.0.1 port=1 user=u password={password}"),
        format!("host=127.0.0.1 port=1 user=u password='{password}"),
    ] {
        let builder = PostgresProvider::builder(&url).with_ssl_mode(SslMode::VerifyFull);
        text.push_str(&format!("{builder:?}"));
        text.push_str(&printed(&builder.open().await.unwrap_err()));
    }
    drop(server);
    let error = node.read("a").await.unwrap_err();
    text.push_str(&format!("{error} {error:?}"));
    text.push_str(&String::from_utf8_lossy(&log.0.lock().unwrap()));
    let at = text.find(&password);
    assert_eq!(at.map(|at| text[at.saturating_sub(200)..at].to_owned()), None);
    assert!(text.contains("duroxide::providers::postgres"), "something was logged");
}

#[tokio::test]
async fn each_new_connection_gets_the_password_of_the_moment() {
    let store = Store::live();
    let role = format!("r{}", store.schema);
    let sql = store.sql().await;
    sql.run(&format!("CREATE ROLE {role} LOGIN SUPERUSER PASSWORD 'first'")).await;
    let (_, host) = store.url.rsplit_once('@').unwrap();
    let current = Arc::new(Mutex::new("first".to_owned()));
    let (source, asked) = (Arc::clone(&current), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&asked);
    let node = PostgresProvider::builder(&format!("postgres://{role}@{host}"))
        .with_schema(&store.schema)
        .with_password_source(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            let password = source.lock().unwrap().clone();
            async move { Ok::<_, std::io::Error>(password) }
        })
        .open()
        .await
        .unwrap();
    create(&node, "a").await;
    sql.run(&format!("ALTER ROLE {role} PASSWORD 'second'")).await;
    *current.lock().unwrap() = "second".to_owned();
    let before = asked.load(Ordering::SeqCst);
    let ended = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = '{role}'"
    );
    assert!(sql.count(&ended).await > 0);
    // Calls on connections that were ended report trouble that passes.
    while let Err(error) = node.read("a").await {
        assert!(error.is_retryable(), "{error}");
    }
    assert!(asked.load(Ordering::SeqCst) > before);
}

#[tokio::test]
async fn a_failing_source_of_passwords_is_reported() {
    let store = Store::live();
    let failing = || async { Err::<String, _>(std::io::Error::other("the vault is sealed")) };
    let builder = store.builder().with_password_source(failing);
    let error = builder.open().await.unwrap_err();
    assert!(error.to_string().contains("the vault is sealed"), "{error}");
}
