//! What the parser says of values, beside what Chromium does with them.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use super::*;
use crate::properties::Property;

/// Written by the page `chromium-values.html`, which stands beside it. Each line has columns: the
/// values that were tried; or a mode, the properties, and the values that they accept. The lines of
/// quirks mode have what is accepted there alone.
const RECORD: &str = include_str!("../../tests/chromium-values.txt");

fn context(quirks: bool) -> UnitContext {
    UnitContext {
        fonts: Some(vec![16.0]),
        parent_absolute: false,
        root_font: 16.0,
        quirks,
    }
}

fn columns(first: &str) -> impl Iterator<Item = std::str::Split<'static, char>> {
    let lines = RECORD.lines().map(|line| line.split('\t'));
    lines.filter_map(move |mut line| (line.next() == Some(first)).then_some(line))
}

/// The values that each property accepts.
fn accepted(mode: &str) -> HashMap<&'static str, HashSet<&'static str>> {
    let mut found = HashMap::new();
    for mut line in columns(mode) {
        let values: HashSet<&str> = line.clone().skip(1).collect();
        for name in line.next().unwrap().split(' ') {
            found.insert(name, values.clone());
        }
    }
    found
}

/// Properties whose value `On` is all that they may be: an animation that may run or not, and marks
/// that text may be cut off, replaced or thick.
const ALL_THAT_MAY_BE: &[L] = &[L::Animation, L::Clip, L::Content, L::TextStroke];

/// Why a verdict on a value is wrong.
fn fault(name: &str, value: &str, is_accepted: bool, context: &UnitContext) -> Option<String> {
    match Property::named(name) {
        Some(Property::Sets(all)) => all.iter().find_map(|longhand| {
            // Declarations of this one add to each other: none ends the walk.
            if *longhand == L::BackgroundArea && all.len() == 1 {
                return None;
            }
            let parsed = parse(*longhand, all.len(), Syntax::of(name), value, context);
            let is_anything = ALL_THAT_MAY_BE.contains(longhand);
            let is_fault = match &parsed {
                Values(all) if is_anything && *all == [Value::On] => false,
                Values(_) => !is_accepted,
                Invalid => is_accepted,
                Any => false,
            };
            is_fault.then(|| format!("{longhand:?} {parsed:?}"))
        }),
        Some(Property::PartlyHarmless(index)) => {
            let (ignored, harmless) = (is_ignored(index, value), is_harmless(index, value));
            let is_fault = if is_accepted {
                ignored
            } else {
                harmless && !ignored
            };
            is_fault.then(|| format!("ignored {ignored}, harmless {harmless}"))
        }
        // It is any value, whatever it says.
        Some(Property::Unknown(_)) => None,
        _ => Some("not read".to_owned()),
    }
}

#[test]
fn values_are_understood_only_where_chromium_accepts_them() {
    let values: Vec<&str> = columns("values").flatten().collect();
    assert!(values.len() > 2_000);
    let (standards, quirks) = (accepted("standards"), accepted("quirks"));
    let (mut faults, mut count) = (String::new(), 0);
    for (name, accepted) in &standards {
        let in_quirks = quirks.get(name);
        let is_quirky = in_quirks.is_some() || Syntax::of(name) == Syntax::Quirky;
        let modes: &[bool] = if is_quirky { &[false, true] } else { &[false] };
        for value in &values {
            let is_wide = |word: String| values::is_wide(&word);
            if values::keyword(value).is_some_and(is_wide) {
                continue;
            }
            for mode in modes {
                let also = *mode && in_quirks.is_some_and(|all| all.contains(value));
                let is_accepted = accepted.contains(value) || also;
                if let Some(fault) = fault(name, value, is_accepted, &context(*mode)) {
                    count += 1;
                    let quirks = if *mode { "quirks" } else { "" };
                    let accepts = if is_accepted { "accepts" } else { "ignores" };
                    let _ = writeln!(faults, "{name}: {value} | {quirks} {fault}, {accepts}");
                    break;
                }
            }
        }
    }
    assert!(faults.is_empty(), "{count} faults:\n{faults}");
}

#[test]
fn every_property_read_is_in_the_record() {
    let standards = accepted("standards");
    let known = include_str!("../../tests/chromium-properties.txt");
    for name in known.lines() {
        let is_read = matches!(
            Property::named(name),
            Some(Property::Sets(_) | Property::PartlyHarmless(_))
        );
        let is_unknown = columns("unknown")
            .flatten()
            .any(|all| all.split(' ').any(|one| one == name));
        assert!(
            !is_read || is_unknown || standards.contains_key(name),
            "{name}"
        );
    }
}

#[test]
fn color_without_hash_in_quirks_mode_is_padded() {
    for (value, want) in [
        ("fff", "#ffffff"),
        ("\\66 ff", "#ffffff"),
        ("ffffff", "#ffffff"),
        ("999", "#000999"),
        ("123456", "#123456"),
        ("0", "#000000"),
        ("-0", "#000000"),
        ("+1", "#000001"),
        ("012", "#000012"),
        ("0000999", "#000999"),
        ("9ff", "#0009ff"),
        ("0f0", "#0000f0"),
        ("00ff00", "#00ff00"),
        ("12ab34", "#12ab34"),
        ("20e", "#00020e"),
        ("0F0F0F", "#0f0f0f"),
    ] {
        let parsed = parse(L::Color, 1, Syntax::Quirky, value, &context(true));
        assert_eq!(parsed, color(want, false), "{value}");
        assert!(matches!(parsed, Values(_)), "{value}");
    }
    for value in [
        "abcd", "ffffffff", "1e3", "1.0", "1234567", "-1", "12E4a", "fff fff",
    ] {
        let parsed = parse(L::Color, 1, Syntax::Quirky, value, &context(true));
        assert_eq!(parsed, Invalid, "{value}");
    }
    assert_eq!(
        parse(L::TextFill, 1, Syntax::Plain, "fff", &context(true)),
        Invalid
    );
}

#[test]
fn values_common_in_mail_are_understood() {
    let quirky = "width:600; height:20; margin:0 0 10; padding:10; font-size:12; color:333333; \
                  color:ffffff; border-width:1; letter-spacing:1; max-width:600";
    for (mode, list) in [
        (true, COMMON_IN_MAIL),
        (false, COMMON_IN_MAIL),
        (true, quirky),
    ] {
        for (name, value) in list
            .split(';')
            .map(|one| one.trim().split_once(':').unwrap())
        {
            let Some(Property::Sets(all)) = Property::named(name) else {
                panic!("{name}");
            };
            for longhand in all {
                let parsed = parse(
                    *longhand,
                    all.len(),
                    Syntax::of(name),
                    value,
                    &context(mode),
                );
                assert!(matches!(parsed, Values(_)), "{name}: {value} | {parsed:?}");
            }
        }
    }
}

const COMMON_IN_MAIL: &str = "border:0; border:none; border:0px; border:1px solid #ccc; \
    border:solid #CCCCCC 1.0pt; border:none windowtext 1.0pt; border:medium none; border:0 none; \
    border-top:1px dashed rgba(0,0,0,.2); border-left:solid #1010FF 1.5pt; border-width:0 0 1px; \
    border-width:thin; border-bottom:1px solid; border-inline:none; outline:none; outline:0; \
    text-decoration:none; text-decoration:underline; text-decoration:underline #00f; \
    text-decoration:line-through; margin:0 auto; margin:0; margin:0 0 1em; margin:0px auto 10px auto; \
    margin-left:.5in; margin:auto; margin-inline:0 auto; padding:0; padding:10px 20px; padding:0in; \
    padding:0cm 5.4pt 0cm 5.4pt; padding-top:12px; width:100%; width:600px; width:auto; \
    width:fit-content; max-width:none; max-width:100%; min-width:0; min-width:100%; height:1px; \
    height:auto; font:12px/1.5 Arial,sans-serif; font:bold 14px 'Segoe UI',Helvetica,Arial; \
    font:italic small-caps 700 10pt Georgia; font-size:0; font-size:medium; font-size:1.2em; \
    line-height:0; line-height:1.5; line-height:100%; line-height:normal; line-height:20px; \
    letter-spacing:normal; letter-spacing:-.5px; word-spacing:0; white-space:nowrap; \
    text-align:center; text-indent:0; text-indent:-.25in; text-shadow:none; \
    text-shadow:0 1px 0 #fff; box-shadow:none; box-shadow:0 2px 4px rgba(0,0,0,0.1); \
    vertical-align:top; vertical-align:middle; vertical-align:baseline; display:block; \
    display:none; display:inline-block; display:table-cell; display:inline-flex; float:left; \
    float:none; position:relative; top:0; left:auto; inset:0; overflow:hidden; overflow:visible; \
    overflow:hidden auto; opacity:0; opacity:.5; visibility:hidden; color:#333; color:#FFFFFF; \
    color:rgb(0, 0, 0); color:windowtext; color:black; background:#fff; \
    background:none; background:transparent; background-color:transparent; \
    background:url(https://example.com/a.png) no-repeat center top; \
    background:#fff url('https://example.com/a.png') repeat-x; \
    background-image:url(https://example.com/a.png); z-index:0; z-index:-1; z-index:auto; zoom:1; \
    flex:1; flex:1 1 auto; flex:0 0 100%; flex:none; flex-basis:0; table-layout:fixed; clip:auto; \
    content:none; animation:none; -webkit-text-stroke:0; outline-offset:0; zoom:100%";
