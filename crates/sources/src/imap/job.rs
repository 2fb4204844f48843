//! A job: one read that a session carries out, and that may be begun again on another session.

use mail::{Cx, Fault, FolderName};

use super::session::Session;

pub(super) trait Job: Send + Sync {
    type Out: Send;

    /// The folder it works in, so that a session which has it open can be chosen.
    fn folder(&self) -> Option<&FolderName>;

    fn run(
        &self,
        session: &mut Session,
        cx: &Cx,
    ) -> impl Future<Output = Result<Self::Out, Fault>> + Send;
}
