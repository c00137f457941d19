//! Runs the commands.

use duroxide::Client;
use duroxide::runtime::bulk;

use super::acts::{ActRow, BulkCommand};
use crate::bulk::Acted;
use crate::failure::Result;
use crate::limits;
use crate::output::List;
use crate::recorded::{Unfinished, follow, verdict};
use crate::session::Session;
use crate::store::Access;

/// The word for what was done, if the act does not say more.
const DONE: &str = "done";

pub(crate) async fn run(command: BulkCommand, session: &mut Session) -> Result<()> {
    match command {
        BulkCommand::List { limit } => {
            let acts = session.reader().await?.list_bulk_acts(limit).await?;
            let rows: Vec<ActRow> = acts.into_iter().map(ActRow::from).collect();
            List::write(&mut session.out, &rows)
        }
        BulkCommand::Outcomes { id } => outcomes(session, &id).await,
        BulkCommand::Resume { id } => resume(session, id).await,
    }
}

async fn outcomes(session: &mut Session, id: &str) -> Result<()> {
    let client = session.reader().await?;
    let mut list = List::of::<Acted>(&session.out);
    let mut place = Some(0);
    while let Some(from) = place {
        let part = client.read_bulk_outcomes(id, from).await?;
        let rows: Vec<Acted> =
            part.outcomes.iter().map(|outcome| Acted::of(outcome, DONE)).collect();
        list.page(&mut session.out, &rows)?;
        place = part.next;
    }
    list.finish(&mut session.out)
}

async fn resume(session: &mut Session, id: Option<String>) -> Result<()> {
    let store = session.open(Access::Write).await?;
    let client = store.client();
    let ids = match id {
        Some(id) => vec![client.get_bulk(&id).await?.id],
        None => unfinished(&client).await?,
    };
    if ids.is_empty() {
        List::write::<ActRow>(&mut session.out, &[])?;
        return session.out.note("nothing to resume: every act is over");
    }
    let host = bulk::host(store.provider()).await;
    let mut rows = Vec::new();
    let mut failure = Ok(());
    for id in ids {
        let unfinished = Unfinished::new(&id);
        match follow(&client, &id, |_page| {}).await {
            Ok(progress) => {
                unfinished.end();
                failure = failure.and(verdict(&progress));
                rows.push(ActRow::from(progress));
            }
            Err(error) => failure = failure.and(Err(error)),
        }
    }
    host.shutdown(None).await;
    List::write(&mut session.out, &rows)?;
    failure
}

async fn unfinished(client: &Client) -> Result<Vec<String>> {
    let acts = client.list_bulk_acts(limits::PAGE).await?;
    let open = acts.into_iter().filter(|act| !act.phase.is_over());
    Ok(open.map(|act| act.id).collect())
}
