//! A walk through the queues for work that no live node can run, a limited part at a time.

use serde::{Deserialize, Serialize};

use super::live_nodes::LiveNodes;
use super::stranded::{StrandedItem, StrandedWork};
use crate::limits::{STRANDED_SCAN_READS_MAX, UNSERVED_SCAN_MAX, UNSERVED_SCAN_PAGE};
use crate::providers::{
    ListCursor, ProviderAdmin, ProviderError, StrandedTurnQuery, WaitingWorkQuery,
};

/// Where the walk goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Place {
    /// Among the turns.
    Turns(Option<String>),
    /// At the first activities of the tag behind this one; `None` is before all tags, and
    /// `Some(None)` behind the activities without a tag.
    Tag(Option<Option<String>>),
    /// Among the activities of a tag, of which some were examined.
    Activities { tag: Option<String>, after: Option<String>, examined: u32 },
}

impl Place {
    /// The beginning.
    pub(crate) const START: Self = Self::Turns(None);

    /// Behind all turns.
    pub(crate) const FIRST_ACTIVITY: Self = Self::Tag(None);

    /// The cursor of this place.
    pub(crate) fn cursor(&self) -> ListCursor {
        let text = serde_json::to_string(self);
        ListCursor::new(text.expect("texts and numbers have a JSON form"))
    }

    /// The place behind a cursor, or the refusal of one that is none of ours.
    pub(crate) fn behind(after: Option<&ListCursor>) -> Result<Self, String> {
        let Some(cursor) = after else { return Ok(Self::START) };
        serde_json::from_str(cursor.as_str())
            .map_err(|_| format!("cursor `{cursor}` was not returned by this list"))
    }
}

/// A part of the walk.
pub(crate) struct Found {
    pub(crate) work: Vec<StrandedWork>,
    /// Where it goes on; `None` at the end of both queues.
    pub(crate) next: Option<Place>,
}

/// Walks on from a place until it has found `limit` items or has read enough.
pub(crate) async fn scan(
    admin: &dyn ProviderAdmin,
    nodes: &LiveNodes,
    place: Place,
    limit: u32,
) -> Result<Found, ProviderError> {
    let mut walk = Walk { admin, nodes, limit: limit as usize, work: Vec::new() };
    let mut next = Some(place);
    for _ in 0..STRANDED_SCAN_READS_MAX {
        let Some(place) = next.take_if(|_| walk.work.len() < walk.limit) else { break };
        next = match place {
            Place::Turns(after) => walk.turns(after).await?,
            Place::Tag(behind) => walk.next_tag(behind).await?,
            Place::Activities { tag, after, examined } => {
                walk.activities(tag, after, examined).await?
            }
        };
    }
    Ok(Found { work: walk.work, next })
}

struct Walk<'a> {
    admin: &'a dyn ProviderAdmin,
    nodes: &'a LiveNodes,
    limit: usize,
    work: Vec<StrandedWork>,
}

impl Walk<'_> {
    fn room(&self) -> usize {
        self.limit - self.work.len()
    }

    async fn turns(&mut self, after: Option<String>) -> Result<Option<Place>, ProviderError> {
        let limit = u32::try_from(self.room()).unwrap_or(u32::MAX).min(UNSERVED_SCAN_PAGE);
        let mut query = StrandedTurnQuery::new(self.nodes.filters(), limit);
        query.after = after.map(ListCursor::new);
        let found = self.admin.list_stranded_turns(query).await?;
        for turn in found.turns {
            if let Some(reason) = self.nodes.why_turn(&turn) {
                self.work.push(StrandedWork::new(StrandedItem::Turn(turn), reason));
            }
        }
        let next = found.next.map(|next| Place::Turns(Some(next.as_str().to_owned())));
        Ok(Some(next.unwrap_or(Place::FIRST_ACTIVITY)))
    }

    async fn next_tag(
        &self,
        behind: Option<Option<String>>,
    ) -> Result<Option<Place>, ProviderError> {
        // The list of tags begins with those without one, which no cursor is behind.
        let after = behind.as_ref().and_then(Option::as_deref);
        let tags = self.admin.list_waiting_tags(after, 2).await?;
        let is_behind = |tag: &Option<String>| behind.as_ref().is_none_or(|behind| tag > behind);
        let tag = tags.into_iter().find(is_behind);
        Ok(tag.map(|tag| Place::Activities { tag, after: None, examined: 0 }))
    }

    async fn activities(
        &mut self,
        tag: Option<String>,
        mut after: Option<String>,
        mut examined: u32,
    ) -> Result<Option<Place>, ProviderError> {
        let serving = self.nodes.serving(tag.as_deref());
        let mut query = WaitingWorkQuery::new(tag.clone(), UNSERVED_SCAN_PAGE);
        query.after = after.clone().map(ListCursor::new);
        let page = self.admin.list_waiting_work(query).await?;
        let is_last = page.is_empty();
        for work in page {
            if self.room() == 0 {
                return Ok(Some(Place::Activities { tag, after, examined }));
            }
            after = Some(work.cursor.as_str().to_owned());
            // A cursor of a client may contain any number.
            examined = examined.saturating_add(1);
            if let Some(reason) = serving.why(&work) {
                self.work.push(StrandedWork::new(StrandedItem::Activity(work), reason));
            }
        }
        let is_enough = serving.is_served && examined >= UNSERVED_SCAN_MAX;
        Ok(Some(match is_last || is_enough {
            true => Place::Tag(Some(tag)),
            false => Place::Activities { tag, after, examined },
        }))
    }
}
