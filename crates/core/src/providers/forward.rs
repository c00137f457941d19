//! Decorators: a provider that wraps another one and changes some of its calls.
//!
//! A decorator returns the wrapped provider from [`Provider::inner`](super::Provider::inner); every
//! method with a default then forwards to it, also one that a later version adds. The methods
//! without a default are those of 0.1.x. A decorator implements those that it changes and lists the
//! others in [`forward_provider!`](crate::forward_provider); the compiler reports one that is
//! missing. One that changes none of them lists nothing.

/// Forwards methods of [`Provider`](crate::providers::Provider) that have no default: those that
/// are listed, or without a list all of them.
///
/// ```
/// use std::sync::Arc;
///
/// use async_trait::async_trait;
/// use duroxide_core::Event;
/// use duroxide_core::providers::{Provider, ProviderError};
///
/// /// Logs every read of a history.
/// struct LoggedReads {
///     inner: Arc<dyn Provider>,
/// }
///
/// #[async_trait]
/// impl Provider for LoggedReads {
///     fn inner(&self) -> Option<&dyn Provider> {
///         Some(self.inner.as_ref())
///     }
///
///     async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
///         println!("reading {instance}");
///         self.inner.read(instance).await
///     }
///
///     duroxide_core::forward_provider! { this => this.inner;
///         fetch_orchestration_item, ack_orchestration_item, abandon_orchestration_item,
///         read_with_execution, append_with_execution, enqueue_for_worker, fetch_work_item,
///         ack_work_item, renew_work_item_lock, renew_session_lock, cleanup_orphaned_sessions,
///         abandon_work_item, renew_orchestration_item_lock, enqueue_for_orchestrator,
///         get_custom_status, get_kv_value, get_kv_all_values, get_instance_stats,
///     }
/// }
/// ```
#[macro_export]
macro_rules! forward_provider {
    ($this:ident => $inner:expr) => {
        $crate::forward_provider! { $this => $inner;
            fetch_orchestration_item, ack_orchestration_item, abandon_orchestration_item, read,
            read_with_execution, append_with_execution, enqueue_for_worker, fetch_work_item,
            ack_work_item, renew_work_item_lock, renew_session_lock, cleanup_orphaned_sessions,
            abandon_work_item, renew_orchestration_item_lock, enqueue_for_orchestrator,
            get_custom_status, get_kv_value, get_kv_all_values, get_instance_stats,
        }
    };
    ($this:ident => $inner:expr; $($method:ident),+ $(,)?) => {
        $($crate::__forward_method! { $this, $inner, $method })+
    };
}

/// Forwards methods of [`ProviderAdmin`](crate::providers::ProviderAdmin) that have no default, as
/// [`forward_provider!`](crate::forward_provider) does for the other trait. The hook for the others
/// is [`ProviderAdmin::inner_admin`](crate::providers::ProviderAdmin::inner_admin).
#[macro_export]
macro_rules! forward_provider_admin {
    ($this:ident => $inner:expr; $($method:ident),+ $(,)?) => {
        $($crate::__forward_admin_method! { $this, $inner, $method })+
    };
}

/// One method, in the form that `async_trait` gives it: the attribute has expanded by now. The
/// future of the wrapped provider is returned as it is.
#[doc(hidden)]
#[macro_export]
macro_rules! __forward_fn {
    (
        $this:ident, $inner:expr,
        $name:ident [$($life:lifetime)*] ($($arg:ident: $type:ty),* $(,)?) -> $output:ty
    ) => {
        fn $name<'life0, $($life,)* 'async_trait>(
            &'life0 self,
            $($arg: $type),*
        ) -> ::std::pin::Pin<::std::boxed::Box<
            dyn ::std::future::Future<
                    Output = ::std::result::Result<$output, $crate::providers::ProviderError>,
                > + ::std::marker::Send + 'async_trait,
        >>
        where
            'life0: 'async_trait,
            $($life: 'async_trait,)*
            Self: 'async_trait,
        {
            let $this = self;
            $inner.$name($($arg),*)
        }
    };
}

/// The signatures of the methods of `Provider` without a default.
#[doc(hidden)]
#[macro_export]
macro_rules! __forward_method {
    ($this:ident, $inner:expr, fetch_orchestration_item) => {
        $crate::__forward_fn! { $this, $inner, fetch_orchestration_item ['life1] (
            lock_timeout: ::std::time::Duration,
            poll_timeout: ::std::time::Duration,
            filter: Option<&'life1 $crate::providers::DispatcherCapabilityFilter>,
        ) -> Option<($crate::providers::OrchestrationItem, String, u32)> }
    };
    ($this:ident, $inner:expr, ack_orchestration_item) => {
        $crate::__forward_fn! { $this, $inner, ack_orchestration_item ['life1] (
            lock_token: &'life1 str,
            execution_id: u64,
            history_delta: Vec<$crate::Event>,
            worker_items: Vec<$crate::providers::WorkItem>,
            orchestrator_items: Vec<$crate::providers::WorkItem>,
            metadata: $crate::providers::ExecutionMetadata,
            cancelled_activities: Vec<$crate::providers::ScheduledActivityIdentifier>,
        ) -> () }
    };
    ($this:ident, $inner:expr, abandon_orchestration_item) => {
        $crate::__forward_fn! { $this, $inner, abandon_orchestration_item ['life1] (
            lock_token: &'life1 str, delay: Option<::std::time::Duration>, ignore_attempt: bool,
        ) -> () }
    };
    ($this:ident, $inner:expr, read) => {
        $crate::__forward_fn! { $this, $inner, read ['life1] (
            instance: &'life1 str,
        ) -> Vec<$crate::Event> }
    };
    ($this:ident, $inner:expr, read_with_execution) => {
        $crate::__forward_fn! { $this, $inner, read_with_execution ['life1] (
            instance: &'life1 str, execution_id: u64,
        ) -> Vec<$crate::Event> }
    };
    ($this:ident, $inner:expr, append_with_execution) => {
        $crate::__forward_fn! { $this, $inner, append_with_execution ['life1] (
            instance: &'life1 str, execution_id: u64, new_events: Vec<$crate::Event>,
        ) -> () }
    };
    ($this:ident, $inner:expr, enqueue_for_worker) => {
        $crate::__forward_fn! { $this, $inner, enqueue_for_worker [] (
            item: $crate::providers::WorkItem,
        ) -> () }
    };
    ($this:ident, $inner:expr, fetch_work_item) => {
        $crate::__forward_fn! { $this, $inner, fetch_work_item ['life1 'life2] (
            lock_timeout: ::std::time::Duration,
            poll_timeout: ::std::time::Duration,
            session: Option<&'life1 $crate::providers::SessionFetchConfig>,
            tag_filter: &'life2 $crate::providers::TagFilter,
        ) -> Option<($crate::providers::WorkItem, String, u32)> }
    };
    ($this:ident, $inner:expr, ack_work_item) => {
        $crate::__forward_fn! { $this, $inner, ack_work_item ['life1] (
            token: &'life1 str, completion: Option<$crate::providers::WorkItem>,
        ) -> () }
    };
    ($this:ident, $inner:expr, renew_work_item_lock) => {
        $crate::__forward_fn! { $this, $inner, renew_work_item_lock ['life1] (
            token: &'life1 str, extend_for: ::std::time::Duration,
        ) -> () }
    };
    ($this:ident, $inner:expr, renew_session_lock) => {
        $crate::__forward_fn! { $this, $inner, renew_session_lock ['life1 'life2] (
            owner_ids: &'life1 [&'life2 str],
            extend_for: ::std::time::Duration,
            idle_timeout: ::std::time::Duration,
        ) -> usize }
    };
    ($this:ident, $inner:expr, cleanup_orphaned_sessions) => {
        $crate::__forward_fn! { $this, $inner, cleanup_orphaned_sessions [] (
            idle_timeout: ::std::time::Duration,
        ) -> usize }
    };
    ($this:ident, $inner:expr, abandon_work_item) => {
        $crate::__forward_fn! { $this, $inner, abandon_work_item ['life1] (
            token: &'life1 str, delay: Option<::std::time::Duration>, ignore_attempt: bool,
        ) -> () }
    };
    ($this:ident, $inner:expr, renew_orchestration_item_lock) => {
        $crate::__forward_fn! { $this, $inner, renew_orchestration_item_lock ['life1] (
            token: &'life1 str, extend_for: ::std::time::Duration,
        ) -> () }
    };
    ($this:ident, $inner:expr, enqueue_for_orchestrator) => {
        $crate::__forward_fn! { $this, $inner, enqueue_for_orchestrator [] (
            item: $crate::providers::WorkItem, delay: Option<::std::time::Duration>,
        ) -> () }
    };
    ($this:ident, $inner:expr, get_custom_status) => {
        $crate::__forward_fn! { $this, $inner, get_custom_status ['life1] (
            instance: &'life1 str, last_seen_version: u64,
        ) -> Option<(Option<String>, u64)> }
    };
    ($this:ident, $inner:expr, get_kv_value) => {
        $crate::__forward_fn! { $this, $inner, get_kv_value ['life1 'life2] (
            instance: &'life1 str, key: &'life2 str,
        ) -> Option<String> }
    };
    ($this:ident, $inner:expr, get_kv_all_values) => {
        $crate::__forward_fn! { $this, $inner, get_kv_all_values ['life1] (
            instance: &'life1 str,
        ) -> ::std::collections::HashMap<String, String> }
    };
    ($this:ident, $inner:expr, get_instance_stats) => {
        $crate::__forward_fn! { $this, $inner, get_instance_stats ['life1] (
            instance: &'life1 str,
        ) -> Option<$crate::SystemStats> }
    };
}

/// The signatures of the methods of `ProviderAdmin` without a default.
#[doc(hidden)]
#[macro_export]
macro_rules! __forward_admin_method {
    ($this:ident, $inner:expr, list_instances) => {
        $crate::__forward_fn! { $this, $inner, list_instances [] () -> Vec<String> }
    };
    ($this:ident, $inner:expr, list_instances_by_status) => {
        $crate::__forward_fn! { $this, $inner, list_instances_by_status ['life1] (
            status: &'life1 str,
        ) -> Vec<String> }
    };
    ($this:ident, $inner:expr, list_executions) => {
        $crate::__forward_fn! { $this, $inner, list_executions ['life1] (
            instance: &'life1 str,
        ) -> Vec<u64> }
    };
    ($this:ident, $inner:expr, read_history_with_execution_id) => {
        $crate::__forward_fn! { $this, $inner, read_history_with_execution_id ['life1] (
            instance: &'life1 str, execution_id: u64,
        ) -> Vec<$crate::Event> }
    };
    ($this:ident, $inner:expr, read_history) => {
        $crate::__forward_fn! { $this, $inner, read_history ['life1] (
            instance: &'life1 str,
        ) -> Vec<$crate::Event> }
    };
    ($this:ident, $inner:expr, latest_execution_id) => {
        $crate::__forward_fn! { $this, $inner, latest_execution_id ['life1] (
            instance: &'life1 str,
        ) -> u64 }
    };
    ($this:ident, $inner:expr, get_instance_info) => {
        $crate::__forward_fn! { $this, $inner, get_instance_info ['life1] (
            instance: &'life1 str,
        ) -> $crate::providers::InstanceInfo }
    };
    ($this:ident, $inner:expr, get_execution_info) => {
        $crate::__forward_fn! { $this, $inner, get_execution_info ['life1] (
            instance: &'life1 str, execution_id: u64,
        ) -> $crate::providers::ExecutionInfo }
    };
    ($this:ident, $inner:expr, get_system_metrics) => {
        $crate::__forward_fn! { $this, $inner, get_system_metrics [] (
        ) -> $crate::providers::SystemMetrics }
    };
    ($this:ident, $inner:expr, get_queue_depths) => {
        $crate::__forward_fn! { $this, $inner, get_queue_depths [] (
        ) -> $crate::providers::QueueDepths }
    };
    ($this:ident, $inner:expr, list_children) => {
        $crate::__forward_fn! { $this, $inner, list_children ['life1] (
            instance_id: &'life1 str,
        ) -> Vec<String> }
    };
    ($this:ident, $inner:expr, get_parent_id) => {
        $crate::__forward_fn! { $this, $inner, get_parent_id ['life1] (
            instance_id: &'life1 str,
        ) -> Option<String> }
    };
    ($this:ident, $inner:expr, delete_instances_atomic) => {
        $crate::__forward_fn! { $this, $inner, delete_instances_atomic ['life1] (
            ids: &'life1 [String], force: bool,
        ) -> $crate::providers::DeleteInstanceResult }
    };
    ($this:ident, $inner:expr, delete_instance_bulk) => {
        $crate::__forward_fn! { $this, $inner, delete_instance_bulk [] (
            filter: $crate::providers::InstanceFilter,
        ) -> $crate::providers::DeleteInstanceResult }
    };
    ($this:ident, $inner:expr, prune_executions) => {
        $crate::__forward_fn! { $this, $inner, prune_executions ['life1] (
            instance_id: &'life1 str, options: $crate::providers::PruneOptions,
        ) -> $crate::providers::PruneResult }
    };
    ($this:ident, $inner:expr, prune_executions_bulk) => {
        $crate::__forward_fn! { $this, $inner, prune_executions_bulk [] (
            filter: $crate::providers::InstanceFilter,
            options: $crate::providers::PruneOptions,
        ) -> $crate::providers::PruneResult }
    };
}

#[cfg(test)]
mod tests {
    /// Every method with a default begins with the forwarding. A decorator would otherwise hide the
    /// wrapped provider's own version of a method that is added later.
    #[test]
    fn every_default_forwards_to_the_decorated_provider() {
        let checked = |source: &str, owner: &str, hook: &str| {
            let start = source.find(owner).expect("the trait is in this file");
            let end = source[start..].find("\n}\n").expect("the trait ends") + start;
            let mut defaults = 0;
            for method in source[start..end]
                .split("\n    async fn ")
                .flat_map(|part| part.split("\n    fn "))
                .skip(1)
            {
                let name = method.split('(').next().unwrap_or_default();
                let (signature, body) = match (method.find('{'), method.find(';')) {
                    (Some(open), semicolon) if semicolon.is_none_or(|it| open < it) => {
                        method.split_at(open + 1)
                    }
                    _without_a_default => continue,
                };
                assert!(signature.contains("&self"), "{name}");
                if name == hook {
                    continue;
                }
                let forwards = [
                    format!("if let Some(inner) = self.{hook}() {{ return inner.{name}("),
                    format!("match self.{hook}() {{ Some(inner) => inner.{name}("),
                ];
                let text = body.split_whitespace().collect::<Vec<_>>().join(" ");
                let is_first = forwards.iter().any(|form| text.starts_with(form));
                assert!(is_first, "{name} does not forward first: {text}");
                defaults += 1;
            }
            defaults
        };
        assert!(checked(include_str!("provider.rs"), "pub trait Provider:", "inner") >= 20);
        assert!(checked(include_str!("admin.rs"), "pub trait ProviderAdmin:", "inner_admin") >= 7);
    }
}
