//! Reads the case files.
//!
//! ```text
//! # signal-early: a title names the rules that the case proves, then the fact
//! run sample input=x pin=0.1.30
//! history 2 activity A(1); 3 done 2 x
//! in done 2 x; signal go y
//! ev 3 done 2 x; 4 signal go y
//! work 5 B(x)
//! out fired 6 @1500
//! cancel 2
//! = waiting
//! ```
//!
//! A turn is everything from `in` to `=`. A missing line means an empty list, `ev *` matches any
//! events, and `…` within an item matches any text. `code other` deploys other code before the next
//! turn; `next` in place of the first message starts the execution that the last turn continued as.

use super::notation::word;
use super::render::RenderedTurn;

#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) file: &'static str,
    pub(crate) title: String,
    pub(crate) rules: Vec<String>,
    pub(crate) text: String,
    pub(crate) sample: String,
    /// `key=value` settings of the `run` line.
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) history: Vec<String>,
    pub(crate) turns: Vec<Step>,
}

/// One turn of a case.
#[derive(Debug, Clone, Default)]
pub(crate) struct Step {
    /// The sample that runs from this turn on, if another one is deployed.
    pub(crate) code: Option<String>,
    pub(crate) now_ms: Option<u64>,
    pub(crate) inbox: Vec<String>,
    pub(crate) expected: RenderedTurn,
}

impl Case {
    pub(crate) fn setting(&self, key: &str) -> Option<&str> {
        self.settings.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

/// Parses all cases of one file.
pub(crate) fn parse(file: &'static str, text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut code = None;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (verb, rest) = word(line);
        if verb == "#" {
            assert!(code.is_none(), "{file}: code without a turn before {rest:?}");
            cases.push(titled(file, rest));
            continue;
        }
        let case = cases.last_mut().unwrap_or_else(|| panic!("{file}: {line:?} before a title"));
        case.text += line;
        case.text += "\n";
        read_line(case, &mut code, verb, rest);
    }
    cases
}

fn read_line(case: &mut Case, code: &mut Option<String>, verb: &str, rest: &str) {
    match verb {
        "run" => {
            let (sample, settings) = word(rest);
            case.sample = sample.to_owned();
            case.settings = settings.split_whitespace().map(setting).collect();
        }
        "history" => case.history.extend(items(rest)),
        "code" => *code = Some(rest.to_owned()),
        "in" => {
            let mut step = Step { code: code.take(), ..Step::default() };
            let mut inbox = rest;
            if let Some(timed) = rest.strip_prefix('@') {
                let (now, others) = word(timed);
                step.now_ms = Some(now.parse().expect("@milliseconds"));
                inbox = others;
            }
            step.inbox = items(inbox);
            case.turns.push(step);
        }
        _expectation => {
            let title = &case.title;
            let step = case.turns.last_mut().unwrap_or_else(|| panic!("{title}: {verb} before in"));
            let expected = &mut step.expected;
            match verb {
                "ev" => expected.events.extend(items(rest)),
                "work" => expected.work.extend(items(rest)),
                "out" => expected.out.extend(items(rest)),
                "cancel" => expected.cancelled.extend(rest.split_whitespace().map(str::to_owned)),
                "=" => rest.clone_into(&mut expected.result),
                other => panic!("{title}: unknown line {other:?}"),
            }
        }
    }
}

fn titled(file: &'static str, rest: &str) -> Case {
    let (rules, _fact) =
        rest.split_once(": ").unwrap_or_else(|| panic!("{file}: no rule in title {rest:?}"));
    Case {
        file,
        title: rest.to_owned(),
        rules: rules.split(", ").map(str::to_owned).collect(),
        text: format!("# {rest}\n"),
        sample: String::new(),
        settings: Vec::new(),
        history: Vec::new(),
        turns: Vec::new(),
    }
}

fn setting(text: &str) -> (String, String) {
    let (key, value) = text.split_once('=').unwrap_or_else(|| panic!("not a setting: {text:?}"));
    (key.to_owned(), value.to_owned())
}

/// Splits items at semicolons; `3* message q x` repeats an item three times.
fn items(text: &str) -> Vec<String> {
    let repeated = text.split(';').map(str::trim).filter(|item| !item.is_empty()).map(|item| {
        match word(item).0.strip_suffix('*').and_then(|count| count.parse::<usize>().ok()) {
            Some(count) => vec![word(item).1.to_owned(); count],
            None => vec![item.to_owned()],
        }
    });
    repeated.flatten().collect()
}
