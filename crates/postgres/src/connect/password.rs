//! Passwords that change while a program runs: tokens of a cloud, or a secret that is rotated.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::error::Source;

type Pending = Pin<Box<dyn Future<Output = Result<String, Source>> + Send>>;

/// Returns the password for a new connection.
#[derive(Clone)]
pub(crate) struct PasswordSource(Arc<dyn Fn() -> Pending + Send + Sync>);

impl PasswordSource {
    pub(crate) fn new<F, P, E>(source: F) -> Self
    where
        F: Fn() -> P + Send + Sync + 'static,
        P: Future<Output = Result<String, E>> + Send + 'static,
        E: Into<Source>,
    {
        Self(Arc::new(move || {
            let password = source();
            Box::pin(async move { password.await.map_err(Into::into) })
        }))
    }

    pub(crate) async fn password(&self) -> Result<String, Source> {
        (self.0)().await
    }
}

impl fmt::Debug for PasswordSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordSource")
    }
}
