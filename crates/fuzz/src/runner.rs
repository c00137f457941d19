//! Runs a target on the inputs of seeds.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::mutation::mutate;
use crate::target::Target;
use crate::{Rng, corpus};

/// How long one input may take. The slowest takes milliseconds.
const INPUT_TIME_MAX: Duration = Duration::from_secs(20);

/// An input that a target did not read as it must.
#[derive(Debug)]
pub struct Failure {
    /// The target.
    pub target: &'static str,
    /// The seed; `None` for an input of the corpus.
    pub seed: Option<u64>,
    /// The input.
    pub input: Vec<u8>,
    /// The rule that is broken, or the text of the panic.
    pub reason: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { target, seed, input, reason } = self;
        let input = String::from_utf8_lossy(input);
        let shown: String = input.chars().take(400).collect();
        match seed {
            Some(seed) => write!(f, "{target}, seed {seed}: {reason}\ninput: {shown:?}"),
            None => write!(f, "{target}, corpus: {reason}\ninput: {shown:?}"),
        }
    }
}

/// What a run has done.
#[derive(Debug, Default)]
pub struct Run {
    /// Inputs that were read.
    pub inputs: u64,
    /// The seed behind the last one.
    pub next_seed: u64,
    /// Inputs that led to an answer that none before had, with their seeds.
    pub new: Vec<(u64, Vec<u8>)>,
    /// Different answers.
    pub answers: usize,
}

/// One target with its inputs.
pub struct Runner {
    target: &'static Target,
    inputs: Vec<Vec<u8>>,
    answers: BTreeSet<String>,
    current: Arc<Mutex<Option<(u64, Instant)>>>,
}

impl Runner {
    /// Loads the inputs and reads each of them once.
    ///
    /// # Errors
    /// When there are none, or one of them fails.
    pub fn new(target: &'static Target) -> Result<Self, String> {
        let inputs = corpus::inputs(target)?;
        if inputs.is_empty() {
            return Err(format!("{} has no inputs", target.name));
        }
        let current = Arc::new(Mutex::new(None));
        watch(target.name, Arc::downgrade(&current));
        let mut runner = Self { target, inputs, answers: BTreeSet::new(), current };
        for input in runner.inputs.clone() {
            let answer = runner.read(0, &input).map_err(|reason| {
                Failure { target: target.name, seed: None, input, reason }.to_string()
            })?;
            runner.answers.insert(answer);
        }
        Ok(runner)
    }

    /// The inputs of the corpus.
    pub fn corpus_size(&self) -> usize {
        self.inputs.len()
    }

    /// Reads the inputs of seeds, from the first one on, until the time is over or the seeds are
    /// used up.
    ///
    /// # Errors
    /// The first input that is not read as it must be.
    pub fn run(&mut self, first: u64, seeds: u64, time: Duration) -> Result<Run, Box<Failure>> {
        let started = Instant::now();
        let mut run = Run { next_seed: first, ..Run::default() };
        while run.inputs < seeds && started.elapsed() < time {
            let seed = run.next_seed;
            let input = self.input(seed);
            match self.read(seed, &input) {
                Ok(answer) => {
                    if self.answers.insert(answer) {
                        run.new.push((seed, input));
                    }
                }
                Err(reason) => {
                    let (target, seed) = (self.target.name, Some(seed));
                    return Err(Box::new(Failure { target, seed, input, reason }));
                }
            }
            run.inputs += 1;
            run.next_seed += 1;
        }
        run.answers = self.answers.len();
        Ok(run)
    }

    /// The input of a seed.
    pub fn input(&self, seed: u64) -> Vec<u8> {
        let mut rng = Rng::new(seed);
        let start = rng.below(self.inputs.len());
        mutate(&mut rng, &self.inputs[start], &self.inputs)
    }

    fn read(&self, seed: u64, input: &[u8]) -> Result<String, String> {
        let set = |value| *self.current.lock().unwrap_or_else(PoisonError::into_inner) = value;
        set(Some((seed, Instant::now())));
        let verdict = catch_unwind(AssertUnwindSafe(|| (self.target.read)(input)));
        set(None);
        verdict.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("it panics: {}", text.unwrap_or("without a text")))
        })
    }
}

/// Ends the process if an input takes too long: a thread that hangs cannot be stopped.
fn watch(name: &'static str, current: std::sync::Weak<Mutex<Option<(u64, Instant)>>>) {
    std::thread::spawn(move || {
        while let Some(current) = current.upgrade() {
            let now = *current.lock().unwrap_or_else(PoisonError::into_inner);
            drop(current);
            if let Some((seed, _)) = now.filter(|(_, since)| since.elapsed() > INPUT_TIME_MAX) {
                eprintln!("fuzz: {name}, seed {seed}: it hangs");
                std::process::exit(1);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    });
}
