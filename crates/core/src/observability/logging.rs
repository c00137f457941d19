//! Installs a log subscriber, for programs that request one.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

use super::{LogFormat, ObservabilityConfig};

/// Installs a global subscriber that writes to standard output.
///
/// - `RUST_LOG` selects the log lines if it is set, otherwise `log_level` does.
/// - Fails if the program already has a subscriber.
pub fn init_logging(config: &ObservabilityConfig) -> Result<(), String> {
    let filter = EnvFilter::try_from_default_env()
        .or_else(|_not_set_or_not_valid| EnvFilter::try_new(directives(config)))
        .map_err(|error| format!("log level '{}' is not valid: {error}", config.log_level))?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter);
    match config.log_format {
        LogFormat::Json => lines.json().finish().try_init(),
        LogFormat::Pretty => lines.finish().try_init(),
        LogFormat::Compact => lines.compact().finish().try_init(),
    }
    .map_err(|error| error.to_string())
}

/// Log lines of user code from the chosen level, all others from WARN.
fn directives(config: &ObservabilityConfig) -> String {
    let level = &config.log_level;
    format!("warn,duroxide::orchestration={level},duroxide::activity={level}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_user_code_logs_at_the_chosen_level() {
        let config =
            ObservabilityConfig { log_level: "debug".to_owned(), ..ObservabilityConfig::default() };
        assert_eq!(
            directives(&config),
            "warn,duroxide::orchestration=debug,duroxide::activity=debug"
        );
    }
}
