//! One query over all instances.

use super::{Client, ClientError};
use crate::limits::{COUNT_CALLS_MAX, COUNTED_INSTANCES_MAX, QUERY_CALLS_MAX};
use crate::providers::{
    CountedInstances, InstanceCount, InstanceCountQuery, InstancePage, InstanceQuery, PagePlace,
    ProviderCapability, ProviderError, count_by_listing, query_by_listing,
};
use crate::query::{Filter, FilterError, InstanceRow};

impl From<FilterError> for ClientError {
    fn from(error: FilterError) -> Self {
        Self::InvalidInput { message: error.to_string() }
    }
}

impl Client {
    /// A page of the instances that a filter selects, newest first unless the query sorts
    /// otherwise.
    ///
    /// Instances whose start is still queued are not stored yet and do not appear:
    /// [`list_unstarted_instances`](Self::list_unstarted_instances) lists them. A page that is
    /// [partial](InstancePage::is_partial) has examined its share of instances and may be short;
    /// its cursor goes on.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::providers::InstanceQuery;
    /// use duroxide::query::Filter;
    ///
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let filter = Filter::parse("status:failed name:Order* created>-1d error~timeout")?;
    /// let mut query = InstanceQuery::new(filter).with_limit(50);
    /// loop {
    ///     let page = client.query_instances(query.clone()).await?;
    ///     for row in &page.rows {
    ///         println!("{} {} {:?}", row.instance_id, row.status, row.error);
    ///     }
    ///     let Some(next) = page.next else { break };
    ///     query = query.with_after(next);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store failed or has no management side, or the cursor is of another order.
    pub async fn query_instances(&self, query: InstanceQuery) -> Result<InstancePage, ClientError> {
        let mut page = self.query_once(query.clone()).await?;
        let wanted = query.limit();
        for _call in 1..QUERY_CALLS_MAX {
            // A full page is no partial one, whatever was examined.
            page.is_partial &= page.rows.len() < wanted;
            let Some(rest) = rest_of(&query, &page).filter(|_| page.is_partial) else { break };
            let missing = u32::try_from(wanted.saturating_sub(page.rows.len())).unwrap_or(1);
            let more = self.query_once(rest.with_limit(missing)).await?;
            join(&query, &mut page, more);
        }
        if query.with_waiting {
            self.add_waiting(&mut page.rows).await?;
        }
        Ok(page)
    }

    /// One instance as a row; `None` if it is unknown.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// if let Some(row) = client.get_instance_row("order-7").await? {
    ///     println!("{} since {} ms", row.status, row.duration_ms);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get_instance_row(
        &self,
        instance: &str,
    ) -> Result<Option<InstanceRow>, ClientError> {
        let query = InstanceQuery::new(Filter::of_id(instance)).with_limit(1).with_waiting();
        Ok(self.query_instances(query).await?.rows.pop())
    }

    /// How many instances a filter selects: exactly, up to 10 000.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::query::Filter;
    ///
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let failed = client.count_instances(&Filter::parse("status:failed")?).await?;
    /// println!("{failed} failed"); // Such as: 17 failed, or: more than 10000 failed
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store failed or has no management side.
    pub async fn count_instances(&self, filter: &Filter) -> Result<InstanceCount, ClientError> {
        self.count_instances_up_to(filter, COUNTED_INSTANCES_MAX).await
    }

    /// Like [`count_instances`](Self::count_instances): exactly, up to `limit`. A count that has to
    /// examine very many instances may stop before.
    ///
    /// # Errors
    /// The store failed or has no management side.
    pub async fn count_instances_up_to(
        &self,
        filter: &Filter,
        limit: u64,
    ) -> Result<InstanceCount, ClientError> {
        let mut count = 0;
        let mut after = None;
        for _call in 0..COUNT_CALLS_MAX {
            // One more than the limit shows that there are more.
            let left = limit.saturating_add(1) - count;
            let mut query = InstanceCountQuery::new(filter.clone(), left);
            query.after = after;
            let part = self.count_once(query).await?;
            count += part.count;
            match part.next {
                Some(next) if count <= limit => after = Some(next),
                _complete if count <= limit => return Ok(InstanceCount::Exactly(count)),
                _limit => return Ok(InstanceCount::AtLeast(limit.saturating_add(1))),
            }
        }
        Ok(InstanceCount::AtLeast(count))
    }

    async fn query_once(&self, query: InstanceQuery) -> Result<InstancePage, ClientError> {
        let admin = self.admin()?;
        let answered = match self.answers_queries() {
            true => admin.query_instances(query).await,
            false => query_by_listing(self.provider(), &query).await,
        };
        Ok(answered?)
    }

    async fn count_once(
        &self,
        query: InstanceCountQuery,
    ) -> Result<CountedInstances, ProviderError> {
        match self.provider().as_management_capability() {
            Some(admin) if self.answers_queries() => admin.count_instances(query).await,
            Some(_) | None => count_by_listing(self.provider(), &query).await,
        }
    }

    fn answers_queries(&self) -> bool {
        self.provider().capabilities().has(ProviderCapability::Queries)
    }
}

/// The query for what a partial page lacks.
fn rest_of(query: &InstanceQuery, page: &InstancePage) -> Option<InstanceQuery> {
    match query.place {
        None | Some(PagePlace::After(_)) => {
            page.next.clone().map(|next| query.clone().with_after(next))
        }
        Some(PagePlace::Before(_)) => {
            page.previous.clone().map(|previous| query.clone().with_before(previous))
        }
    }
}

/// Adds the rows behind a page, or before it, to the page.
fn join(query: &InstanceQuery, page: &mut InstancePage, more: InstancePage) {
    let InstancePage { mut rows, next, previous, is_partial } = more;
    page.is_partial = is_partial;
    match query.place {
        None | Some(PagePlace::After(_)) => {
            page.rows.append(&mut rows);
            page.next = next;
        }
        Some(PagePlace::Before(_)) => {
            rows.append(&mut page.rows);
            page.rows = rows;
            page.previous = previous;
        }
    }
}
