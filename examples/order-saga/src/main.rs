//! Runs the node and the HTTP server in one process.

use std::error::Error;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use clap::Parser;
use duroxide::prelude::*;
use example_order_saga::api::router;
use example_order_saga::shop::Shop;
use example_order_saga::workflow::fulfil;
use tokio::net::TcpListener;

/// An order saga behind an HTTP API.
#[derive(Parser)]
struct Args {
    /// Port on the loopback interface; 0 chooses a free one
    #[arg(long, default_value_t = 3000)]
    port: u16,
    /// Database of the orders; what the shop does is noted beside it
    #[arg(long, default_value = "orders.db")]
    store: PathBuf,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    let store = Arc::new(SqliteProvider::new(&args.store.display().to_string(), None).await?);
    let shop = Shop::new(args.store.with_extension("ledger"));
    let node = DuroxideRuntime::builder()
        .with_provider(store.clone())
        .register(fulfil)
        .register_state(shop)
        .build()
        .await?;

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, router(Client::new(store)))
        .with_graceful_shutdown(async {
            if let Err(error) = tokio::signal::ctrl_c().await {
                eprintln!("only kill stops this process: {error}");
                std::future::pending().await
            }
        })
        .await?;
    node.shutdown(None).await;
    Ok(())
}
