//! The program that is killed: callers at once, each of which records what it is about to do, changes something at a
//! server, records how it came out, and only then says so.

use std::io::{self, Write as _};
use std::path::PathBuf;

use audit::{Asked, Decision, Ended, Log, Settings, Summary};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// Each caller has a connection of its own, so that what it sends is a system call of its own.
pub(crate) fn run(dir: &str, server: &str, callers: usize, calls: usize) -> Result<String, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let log = Log::open(Settings::new(Some(PathBuf::from(dir))));
        let callers = (0..callers)
            .map(|caller| tokio::spawn(call(log.clone(), server.to_owned(), caller, calls)));
        for caller in callers.collect::<Vec<_>>() {
            caller
                .await
                .map_err(|error| error.to_string())?
                .map_err(|error| error.to_string())?;
        }
        log.close("done").await;
        Ok(String::new())
    })
}

async fn call(log: Log, server: String, caller: usize, calls: usize) -> io::Result<()> {
    let mut server = BufReader::new(TcpStream::connect(server).await?);
    for number in 0..calls {
        let name = format!("{}-{caller}-{number}", std::process::id());
        let entry = log.changing(asked(&name)).await.map_err(io::Error::other)?;
        server.write_all(format!("{name}\n").as_bytes()).await?;
        let mut done = String::new();
        server.read_line(&mut done).await?;
        let receipt = entry
            .close(Ended::of("ok"))
            .await
            .map_err(io::Error::other)?;
        let told = format!("{name} {} {}\n", receipt.seq, receipt.leaf_hash);
        io::stdout().write_all(told.as_bytes())?;
    }
    Ok(())
}

fn asked(name: &str) -> Asked {
    Asked {
        caller_id: "worker".to_owned(),
        caller_addr: "crash".to_owned(),
        request_id: name.to_owned(),
        tool: "change".to_owned(),
        arguments: Summary::new(),
        decision: Decision::Allow,
        reason: "folder_default_applied",
        level: None,
        rule: None,
        missing_capability: None,
    }
}
