//! A way to the server that can lose answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Forwards connections. Once told to, it takes the next request with a given word to the server,
/// waits for the answer and cuts the connection instead of passing it on.
pub(crate) struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    server: String,
    armed: AtomicBool,
    lost: AtomicUsize,
    /// What a request must hold to have its answer lost.
    word: &'static str,
}

impl Proxy {
    /// Listens in front of a server, given as `host:port`.
    pub(crate) async fn start(server: String, word: &'static str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            server,
            armed: AtomicBool::new(false),
            lost: AtomicUsize::new(0),
            word,
        });
        let accepting = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, Arc::clone(&accepting)));
            }
        });
        Self { port, shared }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The next answer to a fitting request is lost.
    pub(crate) fn lose_next_answer(&self) {
        self.shared.armed.store(true, Ordering::SeqCst);
    }

    pub(crate) fn answers_lost(&self) -> usize {
        self.shared.lost.load(Ordering::SeqCst)
    }
}

async fn forward(mut client: TcpStream, shared: Arc<Shared>) {
    let mut server = TcpStream::connect(&shared.server).await.unwrap();
    let (mut asked, mut answered) = (vec![0; 65536], vec![0; 65536]);
    let mut losing = false;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                let holds = asked[..length].windows(shared.word.len())
                    .any(|part| part == shared.word.as_bytes());
                losing |= holds && shared.armed.swap(false, Ordering::SeqCst);
                if server.write_all(&asked[..length]).await.is_err() {
                    return;
                }
            }
            read = server.read(&mut answered) => {
                let Ok(length @ 1..) = read else { return };
                if losing {
                    // The server has done it; nobody hears of that.
                    shared.lost.fetch_add(1, Ordering::SeqCst);
                    return;
                }
                if client.write_all(&answered[..length]).await.is_err() {
                    return;
                }
            }
        }
    }
}
