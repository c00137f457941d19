//! Orders without a pause, while nodes are replaced.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::cluster::Cluster;

/// Orders that run at the same time.
const WIDTH: usize = 6;

/// Long enough for one order from its start to its end, on a busy machine too.
const ORDER_MAX: Duration = Duration::from_secs(90);

pub(crate) struct Load {
    cluster: Arc<Cluster>,
    ending: Arc<AtomicBool>,
    /// Every order belongs to the phase in which it is started.
    phase: Arc<AtomicU64>,
    customers: Vec<Customer>,
}

/// Places one order after the other.
struct Customer {
    /// The phase of the last order that is delivered.
    delivered: watch::Receiver<u64>,
    orders: JoinHandle<Vec<Order>>,
}

/// A delivered order.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) id: String,
    /// The version of the code that ran it.
    pub(crate) version: String,
    /// The phase in which it was placed and delivered; `None` if another one began meanwhile.
    pub(crate) phase: Option<u64>,
}

impl Load {
    pub(crate) fn start(cluster: &Arc<Cluster>) -> Self {
        let cluster = Arc::clone(cluster);
        let (ending, phase) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let customers = (0..WIDTH).map(|number| {
            let (cluster, ending, phase) =
                (Arc::clone(&cluster), Arc::clone(&ending), Arc::clone(&phase));
            let (report, delivered) = watch::channel(0);
            let orders = tokio::spawn(async move {
                let mut orders = Vec::new();
                while !ending.load(Ordering::SeqCst) {
                    let placed = phase.load(Ordering::SeqCst);
                    let id = format!("order-{number}-{}", orders.len());
                    let version = deliver(&cluster, &id).await;
                    let phase = Some(placed).filter(|it| *it == phase.load(Ordering::SeqCst));
                    orders.push(Order { id, version, phase });
                    report.send_replace(placed);
                }
                orders
            });
            Customer { delivered, orders }
        });
        let customers = customers.collect();
        Self { cluster, ending, phase, customers }
    }

    /// Begins a phase.
    pub(crate) fn next_phase(&self) -> u64 {
        self.phase.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Begins a phase, and waits until every customer has got an order that was placed in it.
    pub(crate) async fn flows(&mut self) -> u64 {
        let phase = self.next_phase();
        for customer in &mut self.customers {
            let delivered = customer.delivered.wait_for(|delivered| *delivered >= phase);
            match tokio::time::timeout(ORDER_MAX, delivered).await {
                Ok(Ok(_)) => {}
                Ok(Err(_)) => panic!("an order failed"),
                Err(_) => panic!("no work flows; {:?}", self.cluster.journal.read()),
            }
        }
        phase
    }

    /// Waits for all orders that are placed.
    pub(crate) async fn end(self) -> Vec<Order> {
        self.ending.store(true, Ordering::SeqCst);
        let mut orders = Vec::new();
        for customer in self.customers {
            orders.extend(customer.orders.await.unwrap());
        }
        orders
    }
}

/// Places an order and approves it. Returns the version of the code that ran it.
async fn deliver(cluster: &Cluster, id: &str) -> String {
    cluster.start(id, "Order", id).await;
    let (version, _) = cluster.next_status(id, 0).await;
    let approved = match version.as_str() {
        "1.0.0" => cluster.client.raise_event(id, "Approval", "yes").await,
        "2.0.0" => cluster.client.raise_event2(id, "Approval", "manager", "yes").await,
        _ => panic!("{id} has version {version}"),
    };
    approved.unwrap();
    assert_eq!(cluster.output(id).await, format!("yes {version}"));
    version
}
