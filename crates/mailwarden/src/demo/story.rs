//! What the demo tells: a chapter for each thing worth seeing, a few calls and their results.

use anyhow::Context as _;
use serde_json::json;

use super::client::{Answer, Client};
use super::naive;
use super::page::{Column, Page, list, text};
use super::teller::{Teller, pick};

const SEARCH: &str = "imap_search_messages";
const READ: &str = "imap_get_message";
const BODY: &str = "/data/message/body_text";

pub(super) async fn tell(client: &Client, page: &Page) -> anyhow::Result<()> {
    let teller = Teller { client, page };
    mailboxes(&teller).await?;
    let newest = newest(&teller).await?;
    let orders = search(&teller).await?;
    newsletter(&teller).await?;
    attachment(&teller, &orders).await?;
    conversation(&teller).await?;
    trap(&teller, &newest).await?;
    disguise(&teller).await?;
    refused(&teller).await
}

async fn mailboxes(teller: &Teller<'_>) -> anyhow::Result<()> {
    let page = teller.page;
    page.heading("Which accounts and mailboxes there are");
    let accounts = teller.call("imap_list_accounts", &[]).await?;
    for account in list(&accounts.value, "/data/accounts") {
        let place = match text(account, "/port").as_str() {
            "0" => "a Maildir on this machine".to_owned(),
            port => format!("{}:{port}", text(account, "/host")),
        };
        page.note(&format!("{}  {place}", text(account, "/account_id")));
    }
    page.end_of(&accounts);

    let arguments = [("account_id", json!("demo"))];
    let mailboxes = teller.call("imap_list_mailboxes", &arguments).await?;
    let mut rows = vec![["mailbox", "purpose", "messages", "unread"].map(str::to_owned)];
    rows.extend(list(&mailboxes.value, "/data/mailboxes").iter().map(|one| {
        ["/name", "/special_use", "/messages", "/unread"].map(|field| text(one, field))
    }));
    let left = Column::Left(40);
    let columns = [left, left, Column::Right, Column::Right];
    for (number, line) in page.aligned(&columns, &rows).iter().enumerate() {
        match number {
            0 => page.tinted(line, |text| page.screen.dim(text)),
            _ => page.note(line),
        }
    }
    page.end_of(&mailboxes);
    Ok(())
}

async fn newest(teller: &Teller<'_>) -> anyhow::Result<Answer> {
    teller
        .page
        .heading("The newest mail, and how each begins (● unread)");
    let arguments = [
        ("mailbox", json!("INBOX")),
        ("limit", json!(5)),
        ("include_snippet", json!(true)),
        ("account_id", json!("demo")),
    ];
    teller.messages(SEARCH, &arguments).await
}

async fn search(teller: &Teller<'_>) -> anyhow::Result<Answer> {
    teller.page.heading("Searching: by page, and in any script");
    let arguments = [
        ("mailbox", json!("INBOX")),
        ("from", json!("bell")),
        ("start_date", json!("2026-10-01")),
        ("limit", json!(3)),
        ("account_id", json!("demo")),
    ];
    let found = teller.messages(SEARCH, &arguments).await?;
    let cursor = found.value.pointer("/data/next_cursor");
    let arguments = [
        ("mailbox", json!("INBOX")),
        ("account_id", json!("demo")),
        (
            "cursor",
            cursor.cloned().context("the search has no second page")?,
        ),
    ];
    teller.messages(SEARCH, &arguments).await?;
    let arguments = [
        ("mailbox", json!("INBOX")),
        ("query", json!("велопроката")),
        ("account_id", json!("demo")),
    ];
    teller.messages(SEARCH, &arguments).await?;
    Ok(found)
}

async fn newsletter(teller: &Teller<'_>) -> anyhow::Result<()> {
    let page = teller.page;
    page.heading("A newsletter that is nothing but HTML, as text");
    let arguments = [
        ("mailbox", json!("INBOX")),
        ("subject", json!("🤫")),
        ("account_id", json!("demo")),
    ];
    let found = teller.messages(SEARCH, &arguments).await?;
    let arguments = [("message_id", pick(&found, "")?)];
    let letter = teller.call(READ, &arguments).await?;
    page.quote(&text(&letter.value, BODY), 16);
    page.end_of(&letter);
    Ok(())
}

async fn attachment(teller: &Teller<'_>, orders: &Answer) -> anyhow::Result<()> {
    let page = teller.page;
    page.heading("An order, and what is in its attachment");
    let arguments = [
        ("message_id", pick(orders, "ORDER")?),
        ("extract_attachment_text", json!(true)),
    ];
    let order = teller.call(READ, &arguments).await?;
    page.quote(&text(&order.value, BODY), 3);
    for attached in list(&order.value, "/data/message/attachments") {
        page.note(&format!(
            "part {}: {}, {}, {} bytes",
            text(attached, "/part_id"),
            text(attached, "/filename"),
            text(attached, "/content_type"),
            text(attached, "/size_bytes"),
        ));
        page.quote(&text(attached, "/extracted_text"), 8);
    }
    page.end_of(&order);
    Ok(())
}

async fn conversation(teller: &Teller<'_>) -> anyhow::Result<()> {
    let page = teller.page;
    page.heading("A whole conversation, from all folders: everything said, once, in order");
    let arguments = [
        ("message_id", json!("1754-siobhan-b@post.example.net")),
        ("account_id", json!("demo")),
    ];
    let thread = teller.call("read_thread", &arguments).await?;
    for email in list(&thread.value, "/data/emails") {
        let from = text(email, "/from");
        let name = from.split(" <").next().unwrap_or_default();
        page.note(&format!(
            "#{} {}, in {}",
            text(email, "/n"),
            name.trim_matches('"'),
            text(email, "/mailbox")
        ));
        page.quote(&text(email, "/body_text"), 4);
    }
    page.end_of(&thread);
    Ok(())
}

/// The same mail twice: its source as a careless program reads it, then the answer.
async fn trap(teller: &Teller<'_>, newest: &Answer) -> anyhow::Result<()> {
    let page = teller.page;
    page.heading("A mail that speaks to the assistant behind the reader's back");
    let arguments = [("message_id", pick(newest, "limited today")?)];
    let source = teller.call("imap_get_message_raw", &arguments).await?;
    let swallowed = naive::read(&text(&source.value, "/data/raw_source_base64"));
    let title = "its HTML with the tags cut out, as a careless program would pass it on:";
    page.tinted(title, |text| page.screen.bad(text));
    page.quote(&swallowed.join("\n"), 12);
    page.end_of(&source);

    let read = teller.call(READ, &arguments).await?;
    let title = "what mailwarden passes on:";
    page.tinted(title, |text| page.screen.good(text));
    page.quote(&text(&read.value, BODY), 8);
    page.end_of(&read);
    Ok(())
}

async fn disguise(teller: &Teller<'_>) -> anyhow::Result<()> {
    let page = teller.page;
    page.heading("Words in disguise: what is taken out is said");
    let arguments = [
        ("mailbox", json!("Junk")),
        ("from", json!("offersea")),
        ("account_id", json!("demo")),
    ];
    let found = teller.messages(SEARCH, &arguments).await?;
    let arguments = [("message_id", pick(&found, "")?)];
    let spam = teller.call(READ, &arguments).await?;
    page.quote(&text(&spam.value, BODY), 3);
    page.end_of(&spam);
    Ok(())
}

async fn refused(teller: &Teller<'_>) -> anyhow::Result<()> {
    let page = teller.page;
    page.heading("A call that asks for too much is refused, and told why");
    let arguments = [
        ("mailbox", json!("INBOX")),
        ("limit", json!(500)),
        ("account_id", json!("demo")),
    ];
    let refusal = teller.refused(SEARCH, &arguments).await?;
    page.tinted(&refusal.message, |text| page.screen.bad(text));
    let code = format!("error {} {}", refusal.number, refusal.code);
    page.cost(&code, refusal.cost);
    Ok(())
}
