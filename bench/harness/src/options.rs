//! Parses `--name value` and `--flag` on the command line. Each call consumes what it returns.

/// The arguments that are not consumed yet.
#[derive(Debug)]
pub struct Options {
    rest: Vec<String>,
}

impl Options {
    /// Starts with these arguments.
    pub fn new(arguments: impl IntoIterator<Item = String>) -> Self {
        Self { rest: arguments.into_iter().collect() }
    }

    /// Whether the flag is present.
    pub fn flag(&mut self, name: &str) -> bool {
        let found = self.rest.iter().position(|argument| argument == name);
        found.map(|at| self.rest.remove(at)).is_some()
    }

    /// The value of an option.
    pub fn value(&mut self, name: &str) -> Result<Option<String>, String> {
        let Some(at) = self.rest.iter().position(|argument| argument == name) else {
            return Ok(None);
        };
        if at + 1 >= self.rest.len() {
            return Err(format!("{name} needs a value"));
        }
        self.rest.remove(at);
        Ok(Some(self.rest.remove(at)))
    }

    /// The value of a required option.
    pub fn required(&mut self, name: &str) -> Result<String, String> {
        self.value(name)?.ok_or_else(|| format!("{name} is missing"))
    }

    /// The value of an option as a number.
    pub fn number(&mut self, name: &str) -> Result<Option<u64>, String> {
        let text = self.value(name)?;
        let parse = |text: String| text.parse().map_err(|_| format!("{name}: not a number"));
        text.map(parse).transpose()
    }

    /// The value of an option as a comma-separated list.
    pub fn list(&mut self, name: &str) -> Result<Option<Vec<String>>, String> {
        Ok(self.value(name)?.map(|text| text.split(',').map(str::to_owned).collect()))
    }

    /// Fails if an argument was not consumed.
    pub fn done(self) -> Result<(), String> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(format!("unknown: {}", self.rest.join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Options {
        Options::new(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn each_option_is_consumed_once() {
        let mut options = options("--quick --only a,b --size 7");
        assert!(options.flag("--quick"));
        assert!(!options.flag("--quick"));
        assert_eq!(options.list("--only"), Ok(Some(vec!["a".to_owned(), "b".to_owned()])));
        assert_eq!(options.number("--size"), Ok(Some(7)));
        assert_eq!(options.done(), Ok(()));
    }

    #[test]
    fn unknown_and_malformed_options_are_refused() {
        assert!(options("--what").done().is_err());
        assert!(options("--size").number("--size").is_err());
        assert!(options("--size x").number("--size").is_err());
    }
}
