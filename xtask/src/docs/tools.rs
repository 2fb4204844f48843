//! `docs/tools.md`: every tool, from the one list of them and from the schemas that clients see.

use gateway::{ALL, AnyTool, TEMPLATES};
use serde_json::{Map, Value};

use super::NOTE;
use super::markdown::{Table, grouped};

const ENVELOPE: &str = "\
## Every answer

An answer is one envelope, as `structuredContent` and, shorter, as text. With `MAILWARDEN_TEXT=json` the text is the
same JSON.

```json
{ \"success\": true, \"summary\": \"…\", \"data\": {}, \"error\": null,
  \"meta\": { \"version\": \"response-v2\", \"request_id\": \"req_…\", \"now_utc\": \"…Z\", \"duration_ms\": 12, \"warnings\": [],
            \"telemetry\": { \"duration_ms\": 12, \"imap_round_trips\": 1, \"cache_hit\": false },
            \"receipt\": { \"log_id\": \"…\", \"seq\": 17, \"leaf_hash\": \"…\" } } }
```

- The tables below show what stands in `data`. An optional field is absent, never null.
- `data.status` is `ok`, `partial` (see `data.issues`) or `failed`. A mail server that fails is told there; `success` is
  true unless the status is `failed`.
- An entry of `data.issues` is `{ code, stage, message, retryable, uid?, message_id? }`; `data.next_action`, what a caller
  would usually do next, is `{ instruction, tool, arguments }`.
- `meta.warnings` says what was left out, guessed or cut. `meta.pagination` stands beside results that come in pages.
- Wrong arguments, ids of nothing and worn-out cursors are JSON-RPC errors with `data.code` = `invalid_input`,
  `not_found`, `auth_failed`, `conflict`, `timeout` or `internal`. With `MAIL_IMAP_ERRORS=result` they are tool results
  with `isError` instead.
- Every call is recorded in the [audit log](audit.md) before it is answered; `meta.receipt` says where. When that cannot be
  done, the call is refused with `audit_unavailable`.
- While the ledger that changes are written down in does not answer, changes are refused with `timeout`; nothing is done, and
  `data.details.retry_after_seconds` says when to come back. Reading goes on.
- Callers with [limits](limits.md) find where they stand in `meta.rate_limit`. Excess is refused with `rate_limited`, and with
  `overloaded` where there is more to do than can be done; `data.details.retry_after_seconds` says when to come back.
- A policy's refusal is a tool result with `isError`, `success: false` and `data.decision: DENY` with a `reason`. Calling a
  tool of one's own toolsets that the policy could never allow is refused in the same way; a name outside of them is an
  unknown tool. Answers of the `gateway` set carry `data.decision: ALLOW`.
- Unknown arguments are refused. Tools of the `gateway` set also accept the names that clients of `imap-mcp` send:
  `account` (`account_id`), `source` with `account`, `folder` and `uid`, `target` with `account` and `folder`
  (`target_account_id`, `target_folder`), `mode` (`action`), `tx_id` (`transaction_id`), a file name as `part_id`, and
  `rfc822` of `create_draft`. An argument and another name of it together are refused.
- `data.untrusted` names the fields of `data` that strangers wrote. In the text they stand last, between two lines with a
  number that is made for the call, in a fenced code block: Markdown in mail stays inert. Longer texts stand in lines that begin
  with `| `; behind it each line is what was sent. A line with characters that a person may not see begins with `?` and the first
  four digits of that number.

What an answer says about a message, beside the message:

| field | what it says |
|---|---|
| `changes` | how many `invisible` characters were removed and how many control tokens of chat models (`markers`) were broken up, each by one blank behind its opening bracket; in lists also how many characters were left out because they are `hidden`, or may be |
| `hidden_text` | how much text a person would not have seen, and why. A preheader and comments of five words or more stand here and in no warning |
| `uncertain_text` | which characters of the text beside it a person may not see: `start` and `end` (exclusive) in code points, and the reason. In the text block their lines have a mark of their own, in `body_html` they stand in `<mark>` |
| `suspicious` | `shown -> real`: a link whose text names another host, a name that holds another address; or an address or host that imitates another, or an address that programs read in different ways |
| `date_basis` | `zone_assumed`: the Date field names no certain zone, UTC is assumed where it names none; `arrival`: the field is missing or cannot be read, and `date` is when the message arrived |
| `authentication` | SPF, DKIM and DMARC as the receiving server judged them. `could_be_forged` is false where `MAIL_IMAP_<ACCOUNT>_AUTHSERV_ID` names the server or only the last server can have written them, true where headers contradict each other; otherwise `verified` is false |
| `body_next_offset`, `body_chars_left` | the `body_offset` that goes on, and how much is known to follow |
| `detected_type` | what an attachment is by its bytes, where it says something else or nothing |
";

pub(super) fn page() -> String {
    let mut page = format!("# Tools\n\n{NOTE}\n\n");
    page.push_str(&overview());
    page.push('\n');
    page.push_str(ENVELOPE);
    for tool in ALL {
        page.push('\n');
        page.push_str(&section(*tool));
    }
    page.push('\n');
    page.push_str(&resources());
    page
}

fn overview() -> String {
    let mut table = Table::new(&["tool", "toolset", "what it is", "definition"]);
    let mut total = 0;
    for tool in ALL {
        let size = tool.definition().to_string().len();
        total += size;
        let link = format!("[`{0}`](#{0})", tool.name());
        let size = format!("{} bytes", grouped(size));
        table.row(&[&link, tool.toolset().name(), tool.title(), &size]);
    }
    let average = total.checked_div(ALL.len()).unwrap_or(0);
    format!(
        "{}\n{} tools. Their definitions, which a client loads before the first call, are {} bytes of JSON together, {} on average.\n",
        table.into_text(),
        ALL.len(),
        grouped(total),
        grouped(average)
    )
}

fn section(tool: &dyn AnyTool) -> String {
    let mut out = format!(
        "## {}\n\n**{}.** {}\n\n",
        tool.name(),
        tool.title(),
        tool.summary()
    );
    out.push_str(&format!("{}.\n\n", hints(tool)));
    out.push_str(&input(&tool.input_schema()));
    out.push('\n');
    out.push_str(&output(&tool.output_schema()));
    out
}

fn hints(tool: &dyn AnyTool) -> String {
    let hints = tool.annotations();
    let word = |is: bool, yes: &'static str, no: &'static str| if is { yes } else { no };
    let words = [
        word(hints.read_only, "Read only", "Writes"),
        word(hints.destructive, "destructive", "not destructive"),
        word(hints.idempotent, "idempotent", "not idempotent"),
        word(
            hints.open_world,
            "talks to a mail store",
            "answers from configuration alone",
        ),
    ];
    words.join(", ")
}

fn input(schema: &Map<String, Value>) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return "It takes no arguments.\n".to_owned();
    };
    if properties.is_empty() {
        return "It takes no arguments.\n".to_owned();
    }
    let mut table = Table::new(&["argument", "type", "bounds", "default", "meaning"]);
    for (name, property) in properties {
        let default = match property.get("default") {
            Some(value) => format!("`{value}`"),
            None if is_required(schema, name) => "required".to_owned(),
            None => String::new(),
        };
        let meaning = property
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        table.row(&[
            &format!("`{name}`"),
            &kind(property),
            &bounds(property),
            &default,
            meaning,
        ]);
    }
    table.into_text()
}

fn output(schema: &Map<String, Value>) -> String {
    let mut table = Table::new(&["field of `data`", "type", "present"]);
    if let Some(data) = schema
        .get("properties")
        .and_then(|properties| properties.get("data"))
    {
        fields(&mut table, "", data);
    }
    table.into_text()
}

/// One row per field, those of inner objects behind a dot and those of list items behind `[]`.
fn fields(table: &mut Table, prefix: &str, schema: &Value) {
    let Some(object) = schema.as_object() else {
        return;
    };
    let properties = object.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let path = format!("{prefix}{name}");
        let present = if is_required(object, name) {
            "always"
        } else {
            "optional"
        };
        let words = match bounds(property) {
            limits if limits.is_empty() => kind(property),
            limits => format!("{}: {limits}", kind(property)),
        };
        table.row(&[&format!("`{path}`"), &words, present]);
        match property.get("items") {
            Some(items) => fields(table, &format!("{path}[]."), items),
            None => fields(table, &format!("{path}."), property),
        }
    }
}

fn is_required(schema: &Map<String, Value>, name: &str) -> bool {
    let is_in = |list: &Value| {
        let list = list.as_array();
        list.is_some_and(|list| list.iter().any(|one| one == name))
    };
    // Who has the first of an answer's data has all of it; a refusal has none.
    let beside = schema.get("dependentRequired").and_then(Value::as_object);
    let mut beside = beside.into_iter().flatten();
    beside.any(|(first, rest)| first == name || is_in(rest))
        || schema.get("required").is_some_and(is_in)
}

fn kind(schema: &Value) -> String {
    let words = match schema.get("type") {
        Some(Value::String(one)) => one.clone(),
        Some(Value::Array(several)) => {
            let words: Vec<&str> = several.iter().filter_map(Value::as_str).collect();
            words.join(" or ")
        }
        _ => "any".to_owned(),
    };
    match schema.get("items") {
        Some(items) if words == "array" => format!("array of {}", kind(items)),
        _ => words,
    }
}

fn bounds(schema: &Value) -> String {
    let number = |key: &str| schema.get(key).and_then(Value::as_u64);
    let mut words = Vec::new();
    words.extend(range(number("minimum"), number("maximum"), ""));
    words.extend(range(
        number("minLength"),
        number("maxLength"),
        " characters",
    ));
    words.extend(range(number("minItems"), number("maxItems"), " items"));
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        words.push(format!("`{pattern}`"));
    }
    if schema.get("format").and_then(Value::as_str) == Some("date") {
        words.push("`YYYY-MM-DD`".to_owned());
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        words.push(values.join(", "));
    }
    if let Some(value) = schema.get("const") {
        words.push(format!("`{value}`"));
    }
    words.join("; ")
}

fn range(low: Option<u64>, high: Option<u64>, of: &str) -> Option<String> {
    match (low, high) {
        (Some(low), Some(high)) => Some(format!("{low} to {high}{of}")),
        (Some(low), None) => Some(format!("{low}{of} or more")),
        (None, Some(high)) => Some(format!("up to {high}{of}")),
        (None, None) => None,
    }
}

fn resources() -> String {
    let mut out = "## Resources\n\nMessages are resources too. A search gives the URI of each (`message_uri`, \
        `message_raw_uri`); account and mailbox are completed. \
        A caller with the `gateway` set and without `imap` is not served sources (`…/raw`).\n\n"
        .to_owned();
    let mut table = Table::new(&["template", "type", "what it is"]);
    for template in TEMPLATES {
        table.row(&[
            &format!("`{}`", template.uri),
            template.mime_type,
            template.description,
        ]);
    }
    out.push_str(&table.into_text());
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bounds_are_said() {
        for (schema, want) in [
            (json!({ "minimum": 1, "maximum": 50 }), "1 to 50"),
            (
                json!({ "minLength": 1, "maxLength": 256 }),
                "1 to 256 characters",
            ),
            (json!({ "minItems": 1, "maxItems": 20 }), "1 to 20 items"),
            (json!({ "format": "date" }), "`YYYY-MM-DD`"),
            (json!({ "pattern": "^a|b$" }), "`^a|b$`"),
            (
                json!({ "enum": ["ok", "failed"] }),
                "`\"ok\"`, `\"failed\"`",
            ),
            (json!({ "const": true }), "`true`"),
            (json!({ "maximum": 9 }), "up to 9"),
            (json!({}), ""),
        ] {
            assert_eq!(bounds(&schema), want, "{schema}");
        }
    }

    #[test]
    fn inner_fields_are_listed_behind_their_outer() {
        let schema = json!({
            "properties": { "data": {
                "type": "object",
                "required": ["list"],
                "properties": { "list": { "type": "array", "items": {
                    "type": "object", "properties": { "uid": { "type": "integer" } } } } }
            } }
        });
        let text = output(schema.as_object().unwrap());
        assert!(
            text.contains("| `list` | array of object | always |"),
            "{text}"
        );
        assert!(
            text.contains("| `list[].uid` | integer | optional |"),
            "{text}"
        );
    }

    #[test]
    fn every_tool_and_argument_is_on_the_page() {
        let page = page();
        for tool in ALL {
            assert!(page.contains(&format!("\n## {}\n", tool.name())));
            let schema = tool.input_schema();
            for name in schema["properties"].as_object().unwrap().keys() {
                assert!(page.contains(&format!("| `{name}` |")), "{name}");
            }
        }
    }
}
