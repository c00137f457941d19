//! What the included files know of activities.

pub(crate) mod activities {
    //! A finished activity.

    /// The result of an activity of an instance.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct FinishedActivity {
        pub(crate) number: usize,
    }

    impl FinishedActivity {
        pub(crate) fn instance(&self) -> &str {
            "order"
        }
    }
}
