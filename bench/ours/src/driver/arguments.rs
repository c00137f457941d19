//! The command line of the driver.

use std::path::PathBuf;

use bench_harness::options::Options;

use super::stores::Store;

/// The text for `--help`.
pub(crate) const HELP: &str = "\
bench [options]                 run everything and compare: under 15 minutes, and first some
                                minutes of building
  --quick                       the main rows on SQLite, under 3 minutes once all is built;
                                with --store postgres the main rows there
  --only chain,latency          cases or workloads by prefix of the name; also growth
  --engines ours,durare         engines; ours on the same store is always included
  --store sqlite                the store: sqlite, postgres, for which a server is started, or both
  --rounds N                    rounds of each case, without a time limit
  --json PATH                   the file for the figures
  --strict                      a missed target fails the command
bench run --engine E --workload W --size N      one run, printed as a line of JSON
bench heavy --case C --size N --store S         one large case: messages, restart, results, children
                                or session; time, memory, and the wait of a small workflow beside
bench many --instances N --store S [--only queries,command,retention] [--folder F]
                                a store with very many instances: pages of queries, the command
                                duroxide, and their deletion by a retention policy; F keeps it
bench list                                      names of engines and workloads";

/// The choices of the user.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) quick: bool,
    pub(crate) strict: bool,
    pub(crate) rounds: Option<usize>,
    pub(crate) json: PathBuf,
    only: Option<Vec<String>>,
    stores: Option<Vec<Store>>,
    engines: Option<Vec<String>>,
}

impl Arguments {
    /// Reads the command line.
    pub(crate) fn read(arguments: Vec<String>) -> Result<Self, String> {
        let mut options = Options::new(arguments);
        let rounds = options.number("--rounds")?;
        let json = options.value("--json")?;
        let arguments = Self {
            quick: options.flag("--quick"),
            strict: options.flag("--strict"),
            only: options.list("--only")?,
            stores: options.value("--store")?.map(|name| stores(&name)).transpose()?,
            engines: options.list("--engines")?,
            rounds: rounds.map(|rounds| usize::try_from(rounds).unwrap_or(usize::MAX)),
            json: json.map_or_else(default_json, PathBuf::from),
        };
        options.done()?;
        arguments.check()?;
        Ok(arguments)
    }

    fn check(&self) -> Result<(), String> {
        let (Some(stores), Some(engines)) = (&self.stores, &self.engines) else { return Ok(()) };
        let elsewhere = engines.iter().find(|engine| !stores.contains(&Store::of(engine)));
        elsewhere
            .map_or(Ok(()), |engine| Err(format!("{engine} does not run on the selected store")))
    }

    /// Whether the user selects or excludes a store; `None` without a choice.
    pub(crate) fn selects(&self, store: Store) -> Option<bool> {
        if let Some(stores) = &self.stores {
            return Some(stores.contains(&store));
        }
        let engines = self.engines.as_ref()?;
        Some(engines.iter().any(|engine| Store::of(engine) == store))
    }

    /// The engines to compare on a store: ours first.
    pub(crate) fn engines_on(&self, store: Store) -> Vec<String> {
        let Some(chosen) = &self.engines else {
            return store.engines().iter().map(|engine| (*engine).to_owned()).collect();
        };
        let others =
            chosen.iter().filter(|engine| Store::of(engine) == store && *engine != store.ours());
        [store.ours().to_owned()].into_iter().chain(others.cloned()).collect()
    }

    /// Whether the user selects a case of this name.
    pub(crate) fn selects_case(&self, name: &str) -> bool {
        let Some(only) = &self.only else { return true };
        only.iter().any(|prefix| name.starts_with(prefix.as_str()))
    }
}

fn stores(name: &str) -> Result<Vec<Store>, String> {
    if name == "both" {
        return Ok(Store::ALL.to_vec());
    }
    let found = Store::ALL.iter().find(|store| store.name() == name);
    found.map(|store| vec![*store]).ok_or_else(|| format!("no engines for the store {name}"))
}

fn default_json() -> PathBuf {
    super::programs::target_folder().join("bench.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, String> {
        Arguments::read(line.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn ours_is_always_one_of_the_engines() {
        let arguments = read("--engines durare,dbos").unwrap();
        assert_eq!(arguments.engines_on(Store::Sqlite), ["ours", "durare"]);
        assert_eq!(arguments.engines_on(Store::Postgres), ["ours-pg", "dbos"]);
        assert_eq!(read("--engines ours").unwrap().engines_on(Store::Sqlite), ["ours"]);
    }

    #[test]
    fn a_choice_of_engines_is_a_choice_of_stores() {
        let arguments = read("--engines ours,durare").unwrap();
        assert_eq!(arguments.selects(Store::Sqlite), Some(true));
        assert_eq!(arguments.selects(Store::Postgres), Some(false));
        assert_eq!(read("--store both").unwrap().selects(Store::Postgres), Some(true));
        assert_eq!(read("--quick").unwrap().selects(Store::Postgres), None);
    }

    #[test]
    fn an_engine_of_another_store_is_refused() {
        assert!(read("--store postgres --engines durare").is_err());
        assert!(read("--store nowhere").is_err());
    }
}
