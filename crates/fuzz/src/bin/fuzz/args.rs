//! The arguments.

use std::time::Duration;

/// What the command line asks for.
pub(crate) struct Args {
    pub(crate) time: Duration,
    pub(crate) first_seed: u64,
    /// Only this seed.
    pub(crate) seed: Option<u64>,
    /// Only this target.
    target: Option<String>,
    pub(crate) grow: bool,
    /// A PostgreSQL server for stored rows.
    pub(crate) postgres: Option<String>,
}

impl Args {
    pub(crate) fn read(mut given: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut args = Self {
            time: Duration::from_secs(60),
            first_seed: 1,
            seed: None,
            target: None,
            grow: false,
            postgres: None,
        };
        while let Some(name) = given.next() {
            if name == "--grow" {
                args.grow = true;
                continue;
            }
            let value = given.next().ok_or_else(|| format!("{name} needs a value"))?;
            let number = || value.parse::<u64>().map_err(|error| format!("{name}: {error}"));
            match name.as_str() {
                "--seconds" => args.time = Duration::from_secs(number()?),
                "--first-seed" => args.first_seed = number()?,
                "--seed" => args.seed = Some(number()?),
                "--target" => args.target = Some(value),
                "--postgres" => args.postgres = Some(value),
                _ => return Err(format!("unknown argument '{name}'")),
            }
        }
        Ok(args)
    }

    pub(crate) fn wants(&self, target: &str) -> bool {
        self.target.as_deref().is_none_or(|only| only == target)
    }
}
