//! Installing a log subscriber, for programs that ask for one.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

use super::{LogFormat, ObservabilityConfig};

/// Installs a global subscriber that writes to standard output.
///
/// - `RUST_LOG` decides what is logged if it is set, else `log_level`.
/// - An error if the program has a subscriber already.
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

/// User code at the chosen level, everything else from WARN.
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
