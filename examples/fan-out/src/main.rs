//! `example-fan-out [FOLDER] [PHOTOS]`: makes thumbnails, or goes on where it was killed.

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use duroxide::prelude::*;
use example_fan_out::{Catalogue, Job, shrink_all, shrink_page};

const INSTANCE: &str = "thumbnails";
/// How often the program reads the progress, if the store does not notify it.
const POLL: Duration = Duration::from_millis(100);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().map_or(std::env::temp_dir().join("thumbnails"), PathBuf::from);
    let photos: u32 = args.next().map_or(Ok(50_000), |photos| photos.parse())?;
    std::fs::create_dir_all(&folder)?;

    let catalogue = Arc::new(Catalogue::open(&folder.join("photos.db"), photos)?);
    let workflows = folder.join("workflows.db");
    let store = Arc::new(SqliteProvider::new(&workflows.display().to_string(), None).await?);
    let runtime = DuroxideRuntime::builder()
        .with_provider(store.clone())
        .register(shrink_all)
        .register(shrink_page)
        .register_state(Arc::clone(&catalogue))
        .build()
        .await?;

    println!("{photos} photos in {}; kill this and run it again", folder.display());
    let started = Instant::now();
    let client = Client::new(store);
    // An instance that exists goes on: this start changes nothing then.
    let thumbnails = client.start(shrink_all, INSTANCE, Job::default()).await?;
    show_progress(&client).await?;
    let report = thumbnails.result().await?;
    for failure in &report.failures {
        println!("photo {}: {}", failure.photo, failure.reason);
    }
    println!("{report} in {:.1} s", started.elapsed().as_secs_f64());
    runtime.shutdown(None).await;
    Ok(())
}

/// Prints each custom status until the instance ends.
async fn show_progress(client: &Client) -> Result<(), ClientError> {
    let mut version = 0;
    loop {
        match client.wait_for_status_change(INSTANCE, version, POLL, Duration::MAX).await? {
            OrchestrationStatus::Running { custom_status, custom_status_version, .. } => {
                version = custom_status_version;
                println!("{}", custom_status.unwrap_or_default());
            }
            OrchestrationStatus::Completed { .. }
            | OrchestrationStatus::Failed { .. }
            | OrchestrationStatus::NotFound => return Ok(()),
        }
    }
}
