//! Does what it is told, a line each, and remembers it. What a dead client sent before it died was sent.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

pub(super) struct Server {
    pub(super) address: String,
    kept: Arc<Kept>,
}

#[derive(Default)]
struct Kept {
    now: Mutex<Now>,
    changed: Condvar,
}

#[derive(Default)]
struct Now {
    clients: usize,
    effects: Vec<String>,
}

impl Server {
    pub(super) fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        let kept = Arc::new(Kept::default());
        let shared = Arc::clone(&kept);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                shared.now().clients += 1;
                let kept = Arc::clone(&shared);
                std::thread::spawn(move || {
                    serve(&stream, &kept);
                    kept.now().clients -= 1;
                    kept.changed.notify_all();
                });
            }
        });
        Ok(Self { address, kept })
    }

    /// Everything that was ever sent. All clients must be dead: it waits until the last of them has been heard out.
    pub(super) fn effects(&self) -> io::Result<Vec<String>> {
        // Connections are taken in their order: once this one is, all before it have been.
        let mut last = TcpStream::connect(&self.address)?;
        last.write_all(b"last\n")?;
        last.read_exact(&mut [0; 5])?;
        drop(last);
        let now = self.kept.now();
        let waited = self.kept.changed.wait_while(now, |now| now.clients > 0);
        let now = waited.unwrap_or_else(PoisonError::into_inner);
        let real = now.effects.iter().filter(|effect| *effect != "last");
        Ok(real.cloned().collect())
    }
}

impl Kept {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn serve(stream: &TcpStream, kept: &Kept) {
    let mut lines = BufReader::new(stream);
    let mut line = String::new();
    while lines.read_line(&mut line).is_ok_and(|read| read > 0) {
        // Half a line has not changed anything.
        if let Some(whole) = line.strip_suffix('\n') {
            kept.now().effects.push(whole.to_owned());
        }
        line.clear();
        let _ = { stream }.write_all(b"done\n");
    }
}
