//! One connection: statements that are prepared once, and flights of several that cost one round trip.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use tokio::task::AbortHandle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};

use super::trouble::Trouble;

pub(super) struct Conn {
    client: Client,
    statements: RefCell<HashMap<&'static str, Statement>>,
    wire: AbortHandle,
}

type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// A statement and its values.
pub(super) struct Sentence<'a> {
    pub(super) sql: &'static str,
    pub(super) values: Vec<&'a (dyn ToSql + Sync)>,
}

impl<'a> Sentence<'a> {
    pub(super) fn new(sql: &'static str, values: &[&'a (dyn ToSql + Sync)]) -> Self {
        Self {
            sql,
            values: values.to_vec(),
        }
    }
}

impl Conn {
    pub(super) fn new(client: Client, wire: AbortHandle) -> Self {
        Self {
            client,
            statements: RefCell::default(),
            wire,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        !self.client.is_closed()
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// A transaction of its own; one round trip, once it is prepared.
    pub(super) async fn query(
        &self,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Trouble> {
        let statement = self.prepared(sql).await?;
        Ok(self.client.query(&statement, values).await?)
    }

    pub(super) async fn execute(
        &self,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, Trouble> {
        let statement = self.prepared(sql).await?;
        Ok(self.client.execute(&statement, values).await?)
    }

    /// All of them in one transaction: written at once, answered together. All hold, or none.
    ///
    /// INVARIANT: when this returns an answer of the server's, no transaction is open on this connection.
    pub(super) async fn flight(
        &self,
        sentences: &[Sentence<'_>],
    ) -> Result<Vec<Vec<Row>>, Trouble> {
        let mut statements = Vec::with_capacity(sentences.len());
        for sentence in sentences {
            statements.push(self.prepared(sentence.sql).await?);
        }
        let begin = async {
            self.client
                .batch_execute("BEGIN")
                .await
                .map(|()| Vec::new())
        };
        let commit = async {
            self.client
                .batch_execute("COMMIT")
                .await
                .map(|()| Vec::new())
        };
        let mut all: Vec<Pending<'_, Result<Vec<Row>, Error>>> = vec![Box::pin(begin)];
        for (statement, sentence) in statements.iter().zip(sentences) {
            all.push(Box::pin(self.client.query(statement, &sentence.values)));
        }
        all.push(Box::pin(commit));
        // Where one fails, the server refuses all that follow, and takes COMMIT for ROLLBACK: the first error is the reason.
        let mut answers = together(all)
            .await
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?;
        answers.pop();
        answers.remove(0);
        Ok(answers)
    }

    async fn prepared(&self, sql: &'static str) -> Result<Statement, Trouble> {
        if let Some(known) = self.statements.borrow().get(sql) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(sql).await?;
        let mut statements = self.statements.borrow_mut();
        Ok(statements.entry(sql).or_insert(statement).clone())
    }
}

impl Drop for Conn {
    /// The server takes back what is not committed when the connection ends.
    fn drop(&mut self) {
        self.wire.abort();
    }
}

/// Each is begun in its turn before any is waited for, so that they are written in this order.
async fn together<T>(mut all: Vec<Pending<'_, T>>) -> Vec<T> {
    let mut done: Vec<Option<T>> = all.iter().map(|_| None).collect();
    poll_fn(move |cx| {
        let mut waiting = false;
        for (future, slot) in all.iter_mut().zip(&mut done) {
            if slot.is_none() {
                match future.as_mut().poll(cx) {
                    Poll::Ready(answer) => *slot = Some(answer),
                    Poll::Pending => waiting = true,
                }
            }
        }
        match waiting {
            true => Poll::Pending,
            false => Poll::Ready(done.drain(..).flatten().collect()),
        }
    })
    .await
}
