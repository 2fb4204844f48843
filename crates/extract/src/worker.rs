//! The child: it locks itself in, reads one request from stdin, answers on stdout and ends.

use std::io::{self, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use mail::ExtractFault;

use crate::formats::{self, MAX_BYTES};
use crate::frame::{Probe, Reply, Request};
use crate::protections::Protection;
use crate::sandbox;

/// The whole life of the child. To be called before anything else is started or read: no runtime, no log, no
/// configuration.
pub fn run() -> ExitCode {
    // A panic's message may quote the attachment; nobody is to read it.
    std::panic::set_hook(Box::new(|_| {}));
    let applied = sandbox::lock_in();
    let Ok(reply) = answer(applied) else {
        return ExitCode::FAILURE;
    };
    let mut out = io::stdout().lock();
    if reply.write(&mut out).and_then(|()| out.flush()).is_err() {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn answer(applied: Vec<Protection>) -> io::Result<Reply> {
    let mut input = io::stdin().lock();
    let (format, max_chars, length) = match Request::read(&mut input)? {
        Request::Extract {
            format,
            max_chars,
            length,
        } => (format, max_chars, length),
        Request::Probe(Probe::Report) => return Ok(Reply::Probed(applied)),
        Request::Probe(probe) => {
            let state = sandbox::try_out(probe);
            let name = String::from("tried");
            return Ok(Reply::Probed(vec![Protection { name, state }]));
        }
    };
    if length > MAX_BYTES {
        return Ok(Reply::Fault(ExtractFault::TooLarge));
    }
    let mut bytes = vec![0; length];
    // A parent that is gone closes the pipe: half an attachment is none.
    input.read_exact(&mut bytes)?;
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        formats::extract(format, &bytes, max_chars)
    }));
    Ok(match outcome {
        Ok(Ok(text)) => Reply::Text(text),
        Ok(Err(fault)) => Reply::Fault(fault),
        Err(_) => Reply::Fault(ExtractFault::Crashed),
    })
}
