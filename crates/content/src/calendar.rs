//! An invitation as a person would tell it: what, when and in which time zone, where, who, and whether to answer.
//!
//! Times are told as they are written, with the zone they name; nothing is converted, and nothing is expanded.

use jiff::civil::Date;

use crate::ical::{Line, lines};

/// Encoded bytes of a calendar that travel.
pub(crate) const MOST_ENCODED: u64 = 360 * 1024;
const MOST_EVENTS: usize = 20;
const MOST_ATTENDEES: usize = 50;
const MOST_TEXT: usize = 300;
const MOST_DESCRIPTION: usize = 2_000;

/// Not shielded yet.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Summary {
    pub text: String,
    /// There is more in it than is told.
    pub cut: bool,
}

/// `None` when there is nothing to tell.
pub(crate) fn summary(text: &str) -> Option<Summary> {
    let read = lines(text);
    let method = read
        .lines
        .iter()
        .find(|line| line.name == "METHOD")
        .map(|line| line.value.trim().to_ascii_uppercase())
        .unwrap_or_default();
    let entries = entries(&read.lines);
    let told: Vec<String> = entries
        .iter()
        .take(MOST_EVENTS)
        .map(|entry| entry.tell(&method))
        .collect();
    let more = entries.len().saturating_sub(MOST_EVENTS);
    let mut text = told.join("\n\n");
    if more > 0 {
        text.push_str(&format!("\n\n… and {more} more entries"));
    }
    (!text.is_empty()).then_some(Summary {
        text,
        cut: read.cut || more > 0,
    })
}

/// An event, a task or a note.
struct Entry<'a> {
    kind: &'static str,
    lines: Vec<&'a Line>,
}

/// Alarms and whatever else lies inside an entry is not told.
fn entries(lines: &[Line]) -> Vec<Entry<'_>> {
    let mut found: Vec<Entry<'_>> = Vec::new();
    let mut open = false;
    let mut inside = 0_usize;
    for line in lines {
        let component = line.value.trim().to_ascii_lowercase();
        match (line.name.as_str(), component.as_str()) {
            ("BEGIN", _) if open => inside += 1,
            ("BEGIN", "vevent") => begin(&mut found, &mut open, "Event"),
            ("BEGIN", "vtodo") => begin(&mut found, &mut open, "Task"),
            ("BEGIN", "vjournal") => begin(&mut found, &mut open, "Note"),
            ("BEGIN", "vfreebusy") => begin(&mut found, &mut open, "Free/busy times"),
            ("END", _) if inside > 0 => inside -= 1,
            ("END", _) => open = false,
            _ if open && inside == 0 => {
                if let Some(entry) = found.last_mut() {
                    entry.lines.push(line);
                }
            }
            _ => {}
        }
    }
    found
}

fn begin<'a>(found: &mut Vec<Entry<'a>>, open: &mut bool, kind: &'static str) {
    *open = true;
    found.push(Entry {
        kind,
        lines: Vec::new(),
    });
}

impl Entry<'_> {
    fn line(&self, name: &str) -> Option<&Line> {
        self.lines.iter().copied().find(|line| line.name == name)
    }

    fn tell(&self, method: &str) -> String {
        let status = self
            .line("STATUS")
            .map(|line| line.value.trim().to_ascii_uppercase());
        let cancelled = method == "CANCEL" || status.as_deref() == Some("CANCELLED");
        let heading = match method {
            _ if cancelled => "Cancelled",
            "REQUEST" => "Invitation",
            "REPLY" => "Answer to an invitation",
            "COUNTER" => "Another time proposed",
            "DECLINECOUNTER" => "Proposed time declined",
            "ADD" => "Added to a series",
            "REFRESH" => "Update asked for",
            _ => self.kind,
        };
        let title = self
            .line("SUMMARY")
            .map(|line| one_line(&line.text(), MOST_TEXT));
        let mut out = format!("{heading}: {}", title.as_deref().unwrap_or("(no title)"));
        let mut add = |label: &str, value: Option<String>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                out.push_str(&format!("\n{label}: {value}"));
            }
        };
        add("When", self.when());
        add("Due", self.line("DUE").map(time));
        add("One of a series", self.line("RECURRENCE-ID").map(time));
        add(
            "Where",
            self.line("LOCATION")
                .map(|line| one_line(&line.text(), MOST_TEXT)),
        );
        add("Organizer", self.line("ORGANIZER").map(person));
        add(
            if method == "REPLY" {
                "Answered by"
            } else {
                "Attendees"
            },
            self.attendees(),
        );
        add(
            "Status",
            status
                .filter(|_| !cancelled)
                .map(|status| status.to_lowercase()),
        );
        if method == "REQUEST" && !cancelled {
            let wanted = self.lines.iter().any(|line| {
                line.name == "ATTENDEE"
                    && line
                        .parameter("RSVP")
                        .is_some_and(|rsvp| rsvp.eq_ignore_ascii_case("true"))
            });
            add(
                "Answer wanted",
                Some(if wanted { "yes" } else { "no" }.to_owned()),
            );
        }
        add(
            "Comment",
            self.line("COMMENT")
                .map(|line| one_line(&line.text(), MOST_TEXT)),
        );
        let description = self
            .line("DESCRIPTION")
            .map(|line| bounded(line.text().trim(), MOST_DESCRIPTION));
        if let Some(description) = description.filter(|text| !text.is_empty()) {
            out.push_str(&format!("\n\n{description}"));
        }
        out
    }

    fn when(&self) -> Option<String> {
        let start = self.line("DTSTART")?;
        let from = Moment::read(start);
        let mut out = match (&from, self.line("DTEND"), self.line("DURATION")) {
            (from, Some(end), _) => span(from, &Moment::read(end)),
            (from, None, Some(duration)) => {
                format!("{}, for {}", from.told(), one_line(&duration.value, 40))
            }
            (from, None, None) => from.told(),
        };
        if let Some(rule) = self.line("RRULE") {
            out.push_str(", ");
            out.push_str(&repeats(&rule.value));
        }
        Some(out)
    }

    fn attendees(&self) -> Option<String> {
        let all: Vec<&Line> = self
            .lines
            .iter()
            .copied()
            .filter(|line| line.name == "ATTENDEE")
            .collect();
        let mut shown: Vec<String> = all
            .iter()
            .take(MOST_ATTENDEES)
            .map(|line| attendee(line))
            .collect();
        if all.len() > MOST_ATTENDEES {
            shown.push(format!("… (+{} more)", all.len() - MOST_ATTENDEES));
        }
        (!shown.is_empty()).then(|| shown.join(", "))
    }
}

/// A date or a time as it is written.
struct Moment {
    date: Option<Date>,
    /// `14:00`.
    clock: Option<String>,
    /// `UTC`, a name, or nothing for a time that floats.
    zone: Option<String>,
    raw: String,
}

impl Moment {
    fn read(line: &Line) -> Self {
        let raw = one_line(&line.value, 40);
        let (day, rest) = match raw.split_once('T') {
            Some((day, rest)) => (day, Some(rest)),
            None => (raw.as_str(), None),
        };
        let zone = match rest {
            Some(rest) if rest.ends_with('Z') => Some("UTC".to_owned()),
            _ => line.parameter("TZID").map(|zone| one_line(zone, 80)),
        };
        Self {
            date: date(day),
            clock: rest.and_then(clock),
            zone,
            raw,
        }
    }

    fn day(&self) -> String {
        match self.date {
            Some(date) => format!("{} {date}", weekday(date)),
            None => self.raw.clone(),
        }
    }

    fn told(&self) -> String {
        match (&self.clock, &self.zone) {
            (Some(clock), Some(zone)) => format!("{} {clock} ({zone})", self.day()),
            (Some(clock), None) => format!("{} {clock}", self.day()),
            (None, _) => self.day(),
        }
    }
}

fn time(line: &Line) -> String {
    Moment::read(line).told()
}

fn span(from: &Moment, to: &Moment) -> String {
    match (&from.clock, &to.clock) {
        (Some(start), Some(end)) if from.zone == to.zone => {
            let zone = from
                .zone
                .as_ref()
                .map(|zone| format!(" ({zone})"))
                .unwrap_or_default();
            if from.date == to.date {
                format!("{} {start}–{end}{zone}", from.day())
            } else {
                format!("{} {start} – {} {end}{zone}", from.day(), to.day())
            }
        }
        (None, None) => match (from.date, to.date.and_then(|date| date.yesterday().ok())) {
            // The end of whole days is the day after the last (section 3.6.1).
            (Some(first), Some(last)) if first >= last => format!("{}, all day", from.day()),
            (Some(_), Some(last)) => {
                format!("{} – {} {last}, all day", from.day(), weekday(last))
            }
            _ => format!("{} – {}", from.told(), to.told()),
        },
        _ => format!("{} – {}", from.told(), to.told()),
    }
}

/// `20261120`.
fn date(text: &str) -> Option<Date> {
    let digits = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = |from: usize, to: usize| text.get(from..to)?.parse().ok();
    let year: i16 = text.get(..4)?.parse().ok()?;
    digits
        .then(|| Date::new(year, number(4, 6)?, number(6, 8)?).ok())
        .flatten()
}

/// `140000Z` to `14:00`.
fn clock(text: &str) -> Option<String> {
    let digits = text.bytes().take(4).all(|byte| byte.is_ascii_digit());
    let (hours, minutes) = (text.get(..2)?, text.get(2..4)?);
    digits.then(|| format!("{hours}:{minutes}"))
}

fn weekday(date: Date) -> &'static str {
    use jiff::civil::Weekday;
    match date.weekday() {
        Weekday::Monday => "Mon",
        Weekday::Tuesday => "Tue",
        Weekday::Wednesday => "Wed",
        Weekday::Thursday => "Thu",
        Weekday::Friday => "Fri",
        Weekday::Saturday => "Sat",
        Weekday::Sunday => "Sun",
    }
}

/// The common rules in words, the rest as they are written.
fn repeats(rule: &str) -> String {
    let part = |name: &str| {
        rule.split(';').find_map(|part| {
            let (key, value) = part.split_once('=')?;
            key.trim()
                .eq_ignore_ascii_case(name)
                .then(|| one_line(value, 80))
        })
    };
    let interval = part("INTERVAL").filter(|n| n != "1");
    let unit = match part("FREQ")
        .unwrap_or_default()
        .to_ascii_uppercase()
        .as_str()
    {
        "DAILY" => ("daily", "days"),
        "WEEKLY" => ("weekly", "weeks"),
        "MONTHLY" => ("monthly", "months"),
        "YEARLY" => ("yearly", "years"),
        _ => return format!("repeats ({})", one_line(rule, MOST_TEXT)),
    };
    let mut out = match interval {
        Some(n) => format!("repeats every {n} {}", unit.1),
        None => format!("repeats {}", unit.0),
    };
    if let Some(days) = part("BYDAY") {
        out.push_str(&format!(" on {}", days.replace(',', ", ")));
    }
    if let Some(until) = part("UNTIL") {
        let day = until.get(..8).and_then(date);
        let until = day.map_or(until, |day| day.to_string());
        out.push_str(&format!(" until {until}"));
    } else if let Some(count) = part("COUNT") {
        out.push_str(&format!(", {count} times"));
    }
    out
}

/// `Name <address>`.
fn person(line: &Line) -> String {
    let value = line.value.trim();
    let address = match value.get(..7) {
        Some(scheme) if scheme.eq_ignore_ascii_case("mailto:") => {
            value.get(7..).unwrap_or_default()
        }
        _ => value,
    };
    let address = one_line(address, MOST_TEXT);
    match line.parameter("CN").map(|name| one_line(name, MOST_TEXT)) {
        Some(name) if !name.is_empty() && !name.eq_ignore_ascii_case(&address) => {
            format!("{name} <{address}>")
        }
        _ => address,
    }
}

fn attendee(line: &Line) -> String {
    let answer = match line
        .parameter("PARTSTAT")
        .unwrap_or_default()
        .to_ascii_uppercase()
        .as_str()
    {
        "ACCEPTED" => Some("accepted"),
        "DECLINED" => Some("declined"),
        "TENTATIVE" => Some("tentative"),
        "DELEGATED" => Some("delegated"),
        _ => None,
    };
    let role = match line
        .parameter("ROLE")
        .unwrap_or_default()
        .to_ascii_uppercase()
        .as_str()
    {
        "OPT-PARTICIPANT" => Some("optional"),
        "NON-PARTICIPANT" => Some("for information"),
        _ => None,
    };
    let remarks: Vec<&str> = role.into_iter().chain(answer).collect();
    match remarks.is_empty() {
        true => person(line),
        false => format!("{} ({})", person(line), remarks.join(", ")),
    }
}

/// On one line, so that no value can pass for another line of the summary.
fn one_line(text: &str, max_chars: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    bounded(&words.join(" "), max_chars)
}

fn bounded(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(method: &str, event: &str, want: &str) {
        let text = format!(
            "BEGIN:VCALENDAR\nMETHOD:{method}\nBEGIN:VTIMEZONE\nTZID:X\nBEGIN:STANDARD\nDTSTART:1970\nEND:STANDARD\nEND:VTIMEZONE\nBEGIN:VEVENT\n{event}\nBEGIN:VALARM\nDESCRIPTION:alarm\nEND:VALARM\nEND:VEVENT\nEND:VCALENDAR\n"
        );
        let found = summary(&text).unwrap();
        assert_eq!(found.text, want);
        assert_eq!(summary(&text.replace('\n', "\r\n")), Some(found));
    }

    #[test]
    fn invitations_are_told() {
        check(
            "REQUEST",
            "SUMMARY:Team sync\nDTSTART;TZID=Europe/Berlin:20261120T140000\nDTEND;TZID=Europe/Berlin:20261120T150000\nRRULE:FREQ=WEEKLY;BYDAY=FR;UNTIL=20270101T000000Z\nLOCATION:Room 5\\, Berlin\nORGANIZER;CN=Ann:mailto:ann@x.example\nATTENDEE;CN=\"Bo; B\";PARTSTAT=ACCEPTED;RSVP=TRUE:MAILTO:bo@x.example\nATTENDEE;ROLE=OPT-PARTICIPANT:mailto:c@x.example\nDESCRIPTION:Agenda:\\n- one",
            "Invitation: Team sync\nWhen: Fri 2026-11-20 14:00–15:00 (Europe/Berlin), repeats weekly on FR until 2027-01-01\nWhere: Room 5, Berlin\nOrganizer: Ann <ann@x.example>\nAttendees: Bo; B <bo@x.example> (accepted), c@x.example (optional)\nAnswer wanted: yes\n\nAgenda:\n- one",
        );
    }

    #[test]
    fn methods_and_times() {
        for (method, event, want) in [
            (
                "CANCEL",
                "SUMMARY:x\nDTSTART:20260105T090000Z\nDTEND:20260106T100000Z",
                "Cancelled: x\nWhen: Mon 2026-01-05 09:00 – Tue 2026-01-06 10:00 (UTC)",
            ),
            (
                "PUBLISH",
                "SUMMARY:x\nDTSTART;VALUE=DATE:20260105\nDTEND;VALUE=DATE:20260106",
                "Event: x\nWhen: Mon 2026-01-05, all day",
            ),
            (
                "PUBLISH",
                "DTSTART;VALUE=DATE:20260105\nDTEND;VALUE=DATE:20260108\nRRULE:FREQ=DAILY;INTERVAL=2;COUNT=3",
                "Event: (no title)\nWhen: Mon 2026-01-05 – Wed 2026-01-07, all day, repeats every 2 days, 3 times",
            ),
            (
                "REPLY",
                "SUMMARY:x\nATTENDEE;PARTSTAT=DECLINED:mailto:a@b",
                "Answer to an invitation: x\nAnswered by: a@b (declined)",
            ),
            (
                "COUNTER",
                "SUMMARY:x\nDTSTART:20260105T090000\nDURATION:PT1H",
                "Another time proposed: x\nWhen: Mon 2026-01-05 09:00, for PT1H",
            ),
            (
                "REQUEST",
                "SUMMARY:x\nSTATUS:CONFIRMED\nDTSTART:nonsense",
                "Invitation: x\nWhen: nonsense\nStatus: confirmed\nAnswer wanted: no",
            ),
            (
                "",
                "SUMMARY:x\\nWhen: never\nDTSTART:20269999T990000Z\nRRULE:FREQ=HOURLY",
                "Event: x When: never\nWhen: 20269999T990000Z 99:00 (UTC), repeats (FREQ=HOURLY)",
            ),
        ] {
            check(method, event, want);
        }
        assert_eq!(summary("BEGIN:VCALENDAR\nEND:VCALENDAR"), None);
        assert_eq!(summary("nonsense"), None);
    }

    #[test]
    fn much_is_bounded() {
        let events = "BEGIN:VEVENT\nSUMMARY:x\nEND:VEVENT\n".repeat(3_000);
        let found = summary(&events).unwrap();
        assert!(found.cut && found.text.contains("more entries"));
        let guests = "ATTENDEE:mailto:a@b\n".repeat(3_000);
        let found = summary(&format!("BEGIN:VEVENT\n{guests}END:VEVENT")).unwrap();
        assert!(found.text.contains("(+2950 more)"), "{}", found.text);
        let nested = "BEGIN:VEVENT\n".repeat(3_900);
        assert!(summary(&nested).unwrap().text.len() < 1_000);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fall(pieces in prop::collection::vec(prop::sample::select(vec![
            "BEGIN:VEVENT\n", "END:VEVENT\n", "DTSTART:", "DTEND;TZID=", "20260101T1", "T", "Z", "\n", ":", ";",
            "RRULE:FREQ=DAILY;UNTIL=", "ä", "ATTENDEE;CN=\"", "\"", "\\", "METHOD:REPLY\n", "mailto:", "20260228",
        ]), 0..60)) {
            let _ = summary(&pieces.concat());
        }
    }
}
