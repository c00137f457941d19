//! Reads the output of `strace -f -y -xx`: one system call after another, with its data.
//!
//! All texts are in hexadecimal form, so that no comma and no bracket belongs to one.

use std::collections::HashMap;

/// A call that has returned, or that never did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) thread: u32,
    pub(crate) name: String,
    pub(crate) args: Vec<String>,
    /// `None` if the process ended before the call returned.
    pub(crate) result: Option<i64>,
    /// Numbers of the lines at which the call was entered and left.
    pub(crate) begin: usize,
    pub(crate) end: usize,
}

/// A call that was entered.
struct Entered {
    text: String,
    begin: usize,
}

/// Collects calls line by line.
#[derive(Default)]
pub(crate) struct TraceReader {
    entered: HashMap<u32, Entered>,
    lines: usize,
}

const UNFINISHED: &str = "<unfinished ...>";
const RESUMED: &str = " resumed>";

impl TraceReader {
    /// Reads the next line; returns the call that ends with it.
    pub(crate) fn line(&mut self, line: &str) -> Result<Option<Call>, String> {
        let number = self.lines;
        self.lines += 1;
        let shown = || line.chars().take(120).collect::<String>();
        let not_understood = || format!("line {number} is not understood: {}", shown());
        let (thread, text) = line.split_once(' ').ok_or_else(not_understood)?;
        let thread: u32 = thread.parse().map_err(|_| not_understood())?;
        let text = text.trim_start();
        if text.starts_with("+++") || text.starts_with("---") {
            return Ok(None);
        }
        if let Some(entered) = text.strip_suffix(UNFINISHED) {
            let entered = Entered { text: entered.trim_end().to_owned(), begin: number };
            self.entered.insert(thread, entered);
            return Ok(None);
        }
        let resumed = text.strip_prefix("<... ").and_then(|text| text.split_once(RESUMED));
        let (text, begin) = match resumed {
            Some((_name, rest)) => {
                let entered = self.entered.remove(&thread).ok_or_else(not_understood)?;
                (format!("{}{rest}", entered.text), entered.begin)
            }
            None => (text.to_owned(), number),
        };
        let call = call(&text).ok_or_else(not_understood)?;
        Ok(Some(Call { thread, begin, end: number, ..call }))
    }

    /// The calls that never returned.
    pub(crate) fn left(self) -> Vec<Call> {
        let left = self.entered.into_iter().filter_map(|(thread, entered)| {
            let call = call(&format!("{}) = ?", entered.text))?;
            Some(Call { thread, begin: entered.begin, end: usize::MAX, ..call })
        });
        left.collect()
    }

    /// Number of lines so far.
    pub(crate) fn lines(&self) -> usize {
        self.lines
    }
}

/// `name(arguments) = result`, without its place.
fn call(text: &str) -> Option<Call> {
    let (name, rest) = text.split_once('(')?;
    // Behind the result there may be an explanation in brackets, but no such sign.
    let (args, result) = rest.rsplit_once(" = ")?;
    let args = args.trim_end().strip_suffix(')')?;
    let digits = result.split(['<', ' ']).next()?;
    let args = args.split(", ").map(str::to_owned).collect();
    Some(Call {
        thread: 0,
        name: name.to_owned(),
        args,
        result: digits.parse().ok(),
        begin: 0,
        end: 0,
    })
}

/// A file descriptor with the path of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub(crate) number: u32,
    pub(crate) path: String,
}

/// Reads `4<path>`; the file may have been removed.
pub(crate) fn descriptor(arg: &str) -> Option<Descriptor> {
    let (number, path) = arg.split_once('<')?;
    let path = path.strip_suffix("(deleted)").unwrap_or(path);
    let path = String::from_utf8(unhex(path.strip_suffix('>')?)?).ok()?;
    Some(Descriptor { number: number.parse().ok()?, path })
}

/// Reads `"text"`; `None` also if the recorder shortened it.
pub(crate) fn bytes(arg: &str) -> Option<Vec<u8>> {
    unhex(arg.strip_prefix('"')?.strip_suffix('"')?)
}

/// Reads `\x41\x42`.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let text = text.as_bytes();
    let mut bytes = Vec::with_capacity(text.len() / 4);
    for code in text.chunks(4) {
        let [b'\\', b'x', high, low] = code else { return None };
        bytes.push(digit(*high)? * 16 + digit(*low)?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Call>, Vec<Call>) {
        let mut reader = TraceReader::default();
        let calls = text.lines().filter_map(|line| reader.line(line).unwrap()).collect();
        (calls, reader.left())
    }

    #[test]
    fn a_call_is_read_with_its_data() {
        let (calls, left) = read(r#"89  pwrite64(4<\x2f\x61>(deleted), "\x00\x22", 2, 512) = 2"#);
        let [call] = &calls[..] else { panic!("{calls:?}") };
        assert_eq!((call.thread, call.name.as_str(), call.result), (89, "pwrite64", Some(2)));
        let descriptor = descriptor(&call.args[0]).unwrap();
        assert_eq!(descriptor, Descriptor { number: 4, path: "/a".to_owned() });
        assert_eq!(bytes(&call.args[1]), Some(vec![0, 0x22]));
        assert_eq!(call.args[3], "512");
        assert_eq!(left, vec![]);
    }

    #[test]
    fn a_call_that_others_interrupt_has_two_places() {
        let text = "7 fsync(4<\\x61> <unfinished ...>\n\
                    8 fsync(5<\\x62>) = 0\n\
                    9 fsync(6<\\x63> <unfinished ...>\n\
                    7 <... fsync resumed>) = 0\n\
                    7 +++ killed by SIGKILL +++";
        let (calls, left) = read(text);
        let places: Vec<_> = calls.iter().map(|call| (call.thread, call.begin, call.end)).collect();
        assert_eq!(places, vec![(8, 1, 1), (7, 0, 3)]);
        let [never] = &left[..] else { panic!("{left:?}") };
        assert_eq!((never.thread, never.begin, never.end), (9, 2, usize::MAX));
        assert_eq!(never.result, None);
    }

    #[test]
    fn a_failure_and_an_opened_file_have_their_results() {
        let text = "7 openat(AT_FDCWD<\\x2f>, \"\\x61\", O_RDONLY) = -1 ENOENT (No such file)\n\
                    7 openat(AT_FDCWD<\\x2f>, \"\\x61\", O_RDWR|O_CREAT, 0644) = 5<\\x61>";
        let (calls, _) = read(text);
        assert_eq!(calls[0].result, Some(-1));
        assert_eq!(calls[1].result, Some(5));
    }

    #[test]
    fn a_shortened_text_is_refused() {
        assert_eq!(bytes("\"\\x61\"..."), None);
        assert!(TraceReader::default().line("nonsense").is_err());
    }
}
