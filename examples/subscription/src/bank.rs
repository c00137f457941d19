//! The bank: a file with one line for each payment.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use duroxide::prelude::*;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

/// A demand for one period.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bill {
    /// Who pays.
    pub customer: String,
    /// The same for every attempt to charge it, so that a repeated attempt charges nothing.
    pub key: String,
    /// The amount.
    pub cents: u32,
}

/// Why a charge failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize)]
pub enum PayError {
    /// The customer must do something.
    #[error("the card is declined")]
    Declined,
    /// The bank does not respond.
    #[error("no answer from the bank: {0}")]
    NoAnswer(String),
}

impl Retryable for PayError {
    fn retry_hint(&self) -> RetryHint {
        match self {
            // Another attempt in a second does not help: the dunning waits for days.
            Self::Declined => RetryHint::Never,
            Self::NoAnswer(_) => RetryHint::Policy,
        }
    }
}

impl From<io::Error> for PayError {
    fn from(error: io::Error) -> Self {
        Self::NoAnswer(error.to_string())
    }
}

/// The bank and the post, which keep their files in one folder.
#[derive(Debug)]
pub struct Bank {
    folder: PathBuf,
    /// One payment at a time.
    counter: Mutex<()>,
}

#[activity]
impl Bank {
    /// Charges a bill, once for each key.
    #[activity(name = "Charge", timeout = "30s", retry(attempts = 5, backoff = "1s", timeouts))]
    pub async fn charge(&self, _ctx: ActivityContext, bill: Bill) -> Result<(), PayError> {
        let _counter = self.counter.lock().await;
        let Bill { customer, key, cents } = bill;
        if self.declined(&customer).exists() {
            return Err(PayError::Declined);
        }
        let payments = fs::read_to_string(self.folder.join("payments")).unwrap_or_default();
        if payments.lines().any(|line| line.split(' ').next() == Some(&key)) {
            return Ok(());
        }
        self.append("payments", &format!("{key} {customer} {cents}"))?;
        println!("charged {customer}: {cents} cents for {key}");
        Ok(())
    }

    /// Reminds a customer of a bill.
    #[activity(name = "Remind", retry(attempts = 5, backoff = "1s"))]
    pub async fn remind(&self, _ctx: ActivityContext, bill: Bill) -> Result<(), String> {
        let Bill { customer, key, .. } = bill;
        self.append("letters", &format!("{customer} {key}")).map_err(|error| error.to_string())?;
        println!("reminded {customer} of {key}");
        Ok(())
    }
}

impl Bank {
    /// A bank in this folder.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), counter: Mutex::new(()) }
    }

    /// Says whether the card of a customer is good.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn set_card(&self, customer: &str, is_good: bool) -> io::Result<()> {
        let declined = self.declined(customer);
        match is_good {
            true if declined.exists() => fs::remove_file(declined),
            true => Ok(()),
            false => File::create(declined).map(drop),
        }
    }

    fn declined(&self, customer: &str) -> PathBuf {
        self.folder.join(format!("{customer}.declined"))
    }

    fn append(&self, file: &str, line: &str) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(self.folder.join(file))?;
        file.write_all(format!("{line}\n").as_bytes())?;
        file.sync_data()
    }
}
