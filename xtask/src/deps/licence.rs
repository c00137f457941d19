//! Licence expressions, as packages state them: `MIT OR (Apache-2.0 AND BSD-3-Clause)`.

/// Whether the expression can be satisfied by allowed licences alone.
pub(super) fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    // Old manifests write a slash for OR.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = Words { words: spaced.split_whitespace().collect(), at: 0, allowed };
    words.either() == Some(true) && words.at == words.words.len()
}

struct Words<'a> {
    words: Vec<&'a str>,
    at: usize,
    allowed: &'a [String],
}

// Each part returns `None` where the text is not an expression.
impl Words<'_> {
    fn either(&mut self) -> Option<bool> {
        let mut satisfied = self.both()?;
        while self.next_is("OR") {
            satisfied |= self.both()?;
        }
        Some(satisfied)
    }

    fn both(&mut self) -> Option<bool> {
        let mut satisfied = self.one()?;
        while self.next_is("AND") {
            satisfied &= self.one()?;
        }
        Some(satisfied)
    }

    fn one(&mut self) -> Option<bool> {
        if self.next_is("(") {
            let inner = self.either()?;
            return self.next_is(")").then_some(inner);
        }
        let mut licence = (*self.words.get(self.at)?).to_owned();
        self.at += 1;
        if self.next_is("WITH") {
            licence = format!("{licence} WITH {}", self.words.get(self.at)?);
            self.at += 1;
        }
        Some(self.allowed.contains(&licence))
    }

    fn next_is(&mut self, word: &str) -> bool {
        let found = self.words.get(self.at) == Some(&word);
        self.at += usize::from(found);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_allowed_alternative_is_enough_and_a_conjunction_needs_all() {
        let allowed = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
        for good in [
            "MIT",
            "Unlicense/MIT",
            "GPL-3.0 OR MIT",
            "MIT AND ISC",
            "(GPL-3.0 OR ISC) AND MIT",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(is_allowed(good, &allowed), "{good}");
        }
        for bad in ["GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "", "MIT OR", "(MIT", "MIT ISC"] {
            assert!(!is_allowed(bad, &allowed), "{bad}");
        }
    }
}
