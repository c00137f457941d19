//! The program as a process: its HTTP API, and orders that survive `kill -9`.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Far longer than any step takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The server as a child. It is killed when this is dropped.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_example-order-saga"))
            .args(["--port", "0", "--store"])
            .arg(folder.join("orders.db"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").expect("its address");
        Self { address: address.to_owned(), process }
    }

    /// One request. Returns the code and the body.
    fn send(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let code = head.split(' ').nth(1).unwrap().parse().unwrap();
        (code, body.to_owned())
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let (code, body) = self.send("POST", path, &body.to_string());
        (code, serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    fn order(&self, id: &str) -> Value {
        let (code, body) = self.send("GET", &format!("/orders/{id}"), "");
        assert_eq!(code, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Polls an order until this key has this value.
    fn wait(&self, id: &str, key: &str, value: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let order = self.order(id);
            if order[key] == value {
                return order;
            }
            assert!(Instant::now() < deadline, "{id} is still {order}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// `kill -9`.
    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn order(id: &str, packing_seconds: u64) -> Value {
    json!({
        "id": id,
        "item": "chair",
        "cents": 12_000,
        "card": "4711",
        "city": "Lisbon",
        "packing_seconds": packing_seconds,
    })
}

/// The effects of an order, each of which must exist once.
fn effects(folder: &Path, id: &str) -> BTreeSet<String> {
    let ledger = std::fs::read_to_string(folder.join("orders.ledger")).unwrap();
    let keys = ledger.lines().filter_map(|line| line.split(' ').next());
    let mut effects = BTreeSet::new();
    for effect in keys.filter_map(|key| key.strip_prefix(&format!("{id}/"))) {
        assert!(effects.insert(effect.to_owned()), "{effect} happened twice: {ledger}");
    }
    effects
}

fn set(effects: &[&str]) -> BTreeSet<String> {
    effects.iter().map(|effect| (*effect).to_owned()).collect()
}

#[test]
fn orders_survive_kill_9_and_can_be_withdrawn_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    assert_eq!(server.post("/orders", &order("o-1", 3600)).0, 201);
    assert_eq!(server.post("/orders", &order("o-2", 1)).0, 201);
    server.wait("o-1", "step", "packing");
    server.kill();

    let server = Server::start(folder.path());
    assert_eq!(server.order("o-1")["step"], "packing");
    let (code, _view) = server.post("/orders/o-1/cancel", &json!({ "reason": "too late" }));
    assert_eq!(code, 202);
    let withdrawn = server.wait("o-1", "state", "failed");
    assert_eq!(withdrawn["error"], "withdrawn: too late");
    assert_eq!(withdrawn["step"], "undone");
    assert_eq!(server.wait("o-2", "state", "shipped")["parcel"]["tracking"], "o-2/ship");
    assert_eq!(effects(folder.path(), "o-1"), set(&["charge", "refund", "release", "reserve"]));
    assert_eq!(effects(folder.path(), "o-2"), set(&["charge", "reserve", "ship"]));
}

#[test]
fn the_api_reports_failed_orders_and_refuses_wrong_requests() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let mut atlantis = order("o-3", 0);
    atlantis["city"] = json!("Atlantis");
    assert_eq!(server.post("/orders", &atlantis).0, 201);
    let failed = server.wait("o-3", "state", "failed");
    assert_eq!(failed["error"], "no carrier goes to Atlantis");
    let undone = set(&["charge", "refund", "release", "reserve"]);
    assert_eq!(effects(folder.path(), "o-3"), undone);

    let (code, repeated) = server.post("/orders", &atlantis);
    assert_eq!((code, &repeated["state"]), (200, &json!("failed")));
    assert_eq!(server.send("GET", "/orders/o-4", "").0, 404);
    assert_eq!(server.post("/orders/o-4/cancel", &json!({ "reason": "no" })).0, 404);
    assert_eq!(server.post("/orders", &json!({ "id": "o-5" })).0, 422);
    assert_eq!(server.send("POST", "/orders", "{").0, 400);
}
