//! The relations between the parts of an Office package: which part is the document, which slide comes when.

use mail::ExtractFault;

use super::package::Package;
use super::xml::{Node, Xml};

pub(super) struct Relation {
    pub(super) id: String,
    /// The last word of its type: `officeDocument`, `slide`, `notesSlide`.
    pub(super) kind: String,
    /// The part it leads to; empty when it leads out of the package.
    pub(super) target: String,
}

/// More than any document has.
const MAX: usize = 10_000;

/// The relations of a part; `""` is the package itself.
pub(super) fn of(package: &mut Package<'_>, part: &str) -> Result<Vec<Relation>, ExtractFault> {
    let (folder, file) = part.rsplit_once('/').unwrap_or(("", part));
    let place = match folder {
        "" => format!("_rels/{file}.rels"),
        folder => format!("{folder}/_rels/{file}.rels"),
    };
    let mut relations = Vec::new();
    let Some(text) = package.text(&place)? else {
        return Ok(relations);
    };
    let mut xml = Xml::new(&text);
    while let Some(node) = xml.next()? {
        let Node::Open(tag) = node else { continue };
        if tag.name() != "Relationship" || relations.len() >= MAX {
            continue;
        }
        let text = |name: &str| tag.attribute(name).unwrap_or_default().into_owned();
        let kind = text("Type");
        relations.push(Relation {
            id: text("Id"),
            kind: kind.rsplit('/').next().unwrap_or_default().to_owned(),
            target: if tag.is("TargetMode", "External") {
                String::new()
            } else {
                resolve(folder, &text("Target"))
            },
        });
    }
    Ok(relations)
}

/// The part that the package is about.
pub(super) fn document(package: &mut Package<'_>, usual: &str) -> Result<String, ExtractFault> {
    let named = of(package, "")?
        .into_iter()
        .find(|relation| relation.kind == "officeDocument" && !relation.target.is_empty());
    Ok(named.map_or_else(|| usual.to_owned(), |relation| relation.target))
}

fn resolve(folder: &str, target: &str) -> String {
    if let Some(absolute) = target.strip_prefix('/') {
        return absolute.to_owned();
    }
    let mut steps: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
    for step in target.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    steps.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_paths_from_their_part() {
        for (folder, target, path) in [
            ("", "word/document.xml", "word/document.xml"),
            ("ppt", "slides/slide1.xml", "ppt/slides/slide1.xml"),
            (
                "ppt/slides",
                "../notesSlides/n1.xml",
                "ppt/notesSlides/n1.xml",
            ),
            ("ppt", "/ppt/slides/slide1.xml", "ppt/slides/slide1.xml"),
            ("a", "../../../b", "b"),
        ] {
            assert_eq!(resolve(folder, target), path);
        }
    }
}
