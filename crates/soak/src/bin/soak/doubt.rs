//! Finds out what became of a call that failed because its server was killed.

use std::time::{Duration, Instant};

use crate::power::Held;

/// A server is back within this time.
const BACK_MAX: Duration = Duration::from_secs(60);
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Whether a call that fails may have had its effect.
#[derive(Debug, Clone)]
pub(crate) enum Doubt {
    None,
    /// The server may have been killed between the commit and its response.
    Server {
        url: String,
        schema: String,
    },
}

impl Doubt {
    /// Whether a text that a failed call sent is in the store.
    pub(crate) async fn was_sent(&self, instance: &str, text: &str) -> Result<bool, String> {
        let Self::Server { url, schema } = self else { return Ok(false) };
        let held = held_when_up(url, schema, &[instance.to_owned()]).await?;
        Ok(held.has_text(instance, text))
    }
}

/// Reads what a server holds about instances; waits until it is up.
pub(crate) async fn held_when_up(
    url: &str,
    schema: &str,
    instances: &[String],
) -> Result<Held, String> {
    let since = Instant::now();
    loop {
        match Held::on_server(url, schema, instances).await {
            Err(reason) if since.elapsed() > BACK_MAX => return Err(reason),
            Err(_not_up) => tokio::time::sleep(RETRY_PAUSE).await,
            held => return held,
        }
    }
}
