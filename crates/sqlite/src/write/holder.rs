//! Who holds the leases that a provider acquires.

use std::cell::Cell;

use uuid::Uuid;

/// The name of an open provider, which all its leases carry.
#[derive(Debug)]
pub(crate) struct Holder {
    id: String,
    /// What all its marks begin with.
    marks: String,
    leases: Cell<u64>,
}

impl Holder {
    /// A holder whose death other processes can find out by this id.
    pub(crate) fn new(id: &str) -> Self {
        Self { id: id.to_owned(), marks: marks_of(id), leases: Cell::new(0) }
    }

    /// A holder whose death other processes cannot find out.
    pub(crate) fn unknown() -> Self {
        Self::new(&Uuid::new_v4().simple().to_string())
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// A mark for a new lease. No other lease has it, because ids are random.
    pub(crate) fn new_mark(&self) -> String {
        self.leases.set(self.leases.get() + 1);
        // Every lease needs one, and formatting costs a multiple of this.
        [self.marks.as_str(), &self.leases.get().to_string()].concat()
    }
}

/// What all marks of a holder begin with.
pub(crate) fn marks_of(id: &str) -> String {
    format!("lock_{id}_")
}
