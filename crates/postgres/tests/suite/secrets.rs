//! The password of the database appears in nothing that this crate prints.

use std::io::Write;
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
