//! What the properties of Word text say about whether it is seen, and the styles that they come
//! from.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use mail::{ExtractFault, HidingReason};

use super::colour::{BLACK, Colours, Rgb};
use super::drawing::{self, Fill, Paint, Theme, signed};
use super::verdict::Verdict;
use super::xml::{Node, Tag, Xml};

/// Styles based on styles: Word stops at 11.
const MAX_CHAIN: usize = 11;
const MAX_STYLES: usize = 10_000;
/// Twentieths of a point: the smallest line and row that letters of a readable size fit in.
const MIN_LINE: f64 = 80.0;
/// Twentieths of a point: further than this from its place, text may leave the page.
const FAR: f64 = 2_880.0;

/// What colours the letters.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum TextColour {
    /// Word takes black or white, whichever shows on the shading.
    Auto,
    Paint(Paint),
}

/// What one set of properties says; nothing said leaves it to what is around.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct RunFormat {
    pub(super) vanish: Option<bool>,
    spec_vanish: Option<bool>,
    pub(super) ink: Option<TextColour>,
    text_fill: Option<TextColour>,
    half_points: Option<usize>,
    /// Width of the letters in hundredths.
    scale: Option<usize>,
    raised: Option<f64>,
    spacing: Option<f64>,
    fits: Option<bool>,
    highlight: Option<Fill>,
    run_fill: Option<Fill>,
    pub(super) paragraph_fill: Option<Fill>,
    pub(super) cell_fill: Option<Fill>,
    line: Option<Verdict>,
    indent: Option<Verdict>,
    frame: Option<Verdict>,
}

/// What the properties belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PropertyLevel {
    Run,
    Paragraph,
    Cell,
}

impl RunFormat {
    /// One property of a run, a paragraph, a cell or a style. Its element may be read to its end.
    pub(super) fn read(
        &mut self,
        level: PropertyLevel,
        tag: &Tag<'_>,
        xml: &mut Xml<'_>,
        theme: &Theme,
    ) -> Result<(), ExtractFault> {
        match (level, tag.name()) {
            // `webHidden` is not among them: it hides from browsers alone, and every table of contents has it.
            (PropertyLevel::Run, "vanish") => self.vanish = Some(is_on(tag)),
            (PropertyLevel::Run, "specVanish") => self.spec_vanish = Some(is_on(tag)),
            (PropertyLevel::Run, "color") => self.ink = Some(ink(tag, theme)),
            (PropertyLevel::Run, "textFill") => {
                self.text_fill = Some(TextColour::Paint(text_fill(xml, theme)?));
            }
            (PropertyLevel::Run, "sz") => self.half_points = tag.number("val").or(self.half_points),
            (PropertyLevel::Run, "w") => self.scale = tag.number("val"),
            (PropertyLevel::Run, "position") => self.raised = signed(tag, "val"),
            (PropertyLevel::Run, "spacing") => self.spacing = signed(tag, "val"),
            (PropertyLevel::Run, "fitText") => self.fits = Some(!tag.is("val", "0")),
            (PropertyLevel::Run, "highlight") => {
                let name = tag.attribute("val").unwrap_or_default();
                self.highlight = Some(match &*name {
                    "none" => Fill::Nothing,
                    name => Fill::Paint(Paint::opaque(
                        highlight(name).map_or_else(Colours::any, Colours::one),
                    )),
                });
            }
            (PropertyLevel::Run, "shd") => self.run_fill = Some(shading(tag, theme)),
            (PropertyLevel::Paragraph, "shd") => self.paragraph_fill = Some(shading(tag, theme)),
            (PropertyLevel::Cell, "shd") => self.cell_fill = Some(shading(tag, theme)),
            (PropertyLevel::Paragraph, "spacing") if tag.attribute("line").is_some() => {
                let line = signed(tag, "line").unwrap_or(0.0);
                self.line = Some(match tag.is("lineRule", "exact") {
                    true => of_height(line),
                    false => Verdict::Visible,
                });
            }
            (PropertyLevel::Paragraph, "ind") => {
                let far = ["left", "start", "right", "end", "firstLine", "hanging"]
                    .iter()
                    .filter_map(|name| signed(tag, name))
                    .any(|by| !(-FAR..=3.0 * FAR).contains(&by));
                self.indent = Some(moved(far));
            }
            (PropertyLevel::Paragraph, "framePr") => {
                let far = ["x", "y"]
                    .iter()
                    .filter_map(|name| signed(tag, name))
                    .any(|at| !(-FAR / 2.0..=6.0 * FAR).contains(&at));
                let height = signed(tag, "h").filter(|_| tag.is("hRule", "exact"));
                let room = height.map_or(Verdict::Visible, of_height);
                self.frame = Some(moved(far).and(room));
            }
            _ => {}
        }
        Ok(())
    }

    /// This over that: what this leaves open, that decides.
    pub(super) fn over(self, under: &Self) -> Self {
        Self {
            vanish: self.vanish.or(under.vanish),
            spec_vanish: self.spec_vanish.or(under.spec_vanish),
            ink: self.ink.or_else(|| under.ink.clone()),
            text_fill: self.text_fill.or_else(|| under.text_fill.clone()),
            half_points: self.half_points.or(under.half_points),
            scale: self.scale.or(under.scale),
            raised: self.raised.or(under.raised),
            spacing: self.spacing.or(under.spacing),
            fits: self.fits.or(under.fits),
            highlight: self.highlight.or_else(|| under.highlight.clone()),
            run_fill: self.run_fill.or_else(|| under.run_fill.clone()),
            paragraph_fill: self.paragraph_fill.or_else(|| under.paragraph_fill.clone()),
            cell_fill: self.cell_fill.or_else(|| under.cell_fill.clone()),
            line: self.line.or(under.line),
            indent: self.indent.or(under.indent),
            frame: self.frame.or(under.frame),
        }
    }

    /// All but vanishing, which styles switch on and off again, on a background of one of these
    /// colours.
    pub(super) fn verdict_on(&self, behind: &Colours) -> Verdict {
        let points = self.half_points.map_or(10.0, |half| half as f32 / 2.0);
        let mut verdict = Verdict::of_size(points);
        verdict = verdict.and(match self.scale {
            Some(0..=5) => Verdict::Hidden(HidingReason::ZeroSize),
            Some(6..=32) => Verdict::Uncertain(HidingReason::ZeroSize),
            _ => Verdict::Visible,
        });
        let raised = self.raised.is_some_and(|half| half.abs() > 72.0);
        let squeezed = self.spacing.is_some_and(|by| by < -40.0) || self.fits == Some(true);
        verdict = verdict.and(moved(raised));
        if squeezed {
            verdict = verdict.and(Verdict::Uncertain(HidingReason::ZeroSize));
        }
        for place in [self.line, self.indent, self.frame].into_iter().flatten() {
            verdict = verdict.and(place);
        }
        let shaded = [&self.paragraph_fill, &self.run_fill]
            .into_iter()
            .flatten()
            .fold(behind.clone(), |behind, fill| fill.on(&behind));
        let lit = self.highlight.as_ref().unwrap_or(&Fill::Unset);
        let background = lit.on(&shaded);
        match self.text_fill.as_ref().or(self.ink.as_ref()) {
            Some(TextColour::Paint(paint)) => verdict.and(paint.verdict_on(&background)),
            // Whether it heeds a highlighter depends on the program.
            Some(TextColour::Auto) | None if lit.is_opaque() => {
                let black = Colours::one(BLACK);
                verdict.and(Verdict::of_colours(&black, &background).doubted())
            }
            Some(TextColour::Auto) | None => verdict,
        }
    }
}

/// A style that is set on the mark of a paragraph hides nothing by `specVanish`; on text it is for
/// programs to know.
pub(super) fn vanishing(
    direct: &RunFormat,
    styles: &[&RunFormat],
    defaults: &RunFormat,
) -> Verdict {
    let spec = std::iter::once(direct)
        .chain(styles.iter().copied())
        .any(|look| look.spec_vanish == Some(true));
    if let Some(vanish) = direct.vanish {
        return match vanish {
            true => Verdict::Hidden(HidingReason::Marked),
            false => Verdict::Visible,
        };
    }
    // ECMA-376 part 1, 17.7.3: a property that styles of several kinds switch is on when an odd
    // number of them does.
    let on = styles
        .iter()
        .filter(|look| look.vanish == Some(true))
        .count();
    match (on, defaults.vanish == Some(true)) {
        (0, false) if spec => Verdict::Uncertain(HidingReason::Marked),
        (0, false) => Verdict::Visible,
        (0, true) | (1, false) => Verdict::Hidden(HidingReason::Marked),
        _ => Verdict::Uncertain(HidingReason::Marked),
    }
}

/// Room of so many twentieths of a point, and nothing beyond it shows.
pub(super) fn of_height(twentieths: f64) -> Verdict {
    if twentieths <= 20.0 {
        Verdict::Hidden(HidingReason::ZeroSize)
    } else if twentieths < MIN_LINE {
        Verdict::Uncertain(HidingReason::Clipped)
    } else {
        Verdict::Visible
    }
}

fn moved(far: bool) -> Verdict {
    match far {
        true => Verdict::Uncertain(HidingReason::OffPage),
        false => Verdict::Visible,
    }
}

fn ink(tag: &Tag<'_>, theme: &Theme) -> TextColour {
    let value = tag.attribute("val").unwrap_or_default();
    let themed = tag
        .attribute("themeColor")
        .filter(|name| &**name != "none")
        .map(|name| themed(tag, &name, ["themeTint", "themeShade"], theme));
    match (themed, Rgb::parse(&value)) {
        (None, None) if matches!(&*value, "auto" | "") => TextColour::Auto,
        (themed, plain) => TextColour::Paint(Paint::opaque(either(themed, plain))),
    }
}

/// Word takes the colour of the theme, other programs the one that was written beside it.
fn either(themed: Option<Colours>, plain: Option<Rgb>) -> Colours {
    match (themed, plain) {
        (Some(mut colours), Some(plain)) => {
            colours.add(plain);
            colours
        }
        (None, Some(plain)) => Colours::one(plain),
        (Some(themed), None) => themed,
        (None, None) => Colours::any(),
    }
}

fn themed(tag: &Tag<'_>, name: &str, [tint, shade]: [&str; 2], theme: &Theme) -> Colours {
    let share = |name: &str| {
        let value = tag.attribute(name)?;
        Some(f32::from(u8::from_str_radix(&value, 16).ok()?) / 255.0)
    };
    let colours = theme.colour(name);
    match (share(tint), share(shade)) {
        (Some(tint), _) => colours.map(|one| one.relit(|light| light * tint + 1.0 - tint)),
        (None, Some(shade)) => colours.map(|one| one.relit(|light| light * shade)),
        (None, None) => colours,
    }
}

pub(super) fn shading(tag: &Tag<'_>, theme: &Theme) -> Fill {
    let colour = |name: &str, theme_name: &str, changes: [&str; 2]| {
        let themed = tag
            .attribute(theme_name)
            .map(|name| themed(tag, &name, changes, theme));
        let value = tag.attribute(name).unwrap_or_default();
        let plain = Rgb::parse(&value);
        let is_auto = themed.is_none() && plain.is_none() && matches!(&*value, "auto" | "");
        (!is_auto).then(|| either(themed, plain))
    };
    let fill = || colour("fill", "themeFill", ["themeFillTint", "themeFillShade"]);
    let painted = |colours: Option<Colours>, auto: Fill| {
        colours.map_or(auto, |colours| Fill::Paint(Paint::opaque(colours)))
    };
    let pattern = tag.attribute("val").unwrap_or_default();
    match &*pattern {
        "clear" | "" => painted(fill(), Fill::Nothing),
        "nil" => Fill::Nothing,
        "solid" => {
            let colours = colour("color", "themeColor", ["themeTint", "themeShade"]);
            painted(colours, Fill::Paint(Paint::opaque(Colours::one(BLACK))))
        }
        _ => Fill::Paint(Paint::any()),
    }
}

fn highlight(name: &str) -> Option<Rgb> {
    Some(match name {
        "green" => Rgb(0, 255, 0),
        "darkYellow" => Rgb(128, 128, 0),
        name => Rgb::named(name)?,
    })
}

/// Word 2010 paints letters with it, whatever their colour says. Its alpha says how much shows
/// through.
fn text_fill(xml: &mut Xml<'_>, theme: &Theme) -> Result<Paint, ExtractFault> {
    let mut paint = Paint::any();
    let mut open = 1usize;
    while open > 0 {
        match xml.next()?.ok_or(ExtractFault::Malformed)? {
            Node::Open(tag) if drawing::is_fill(tag.name()) => {
                let name = tag.name().to_owned();
                paint = match drawing::fill(xml, &name, theme)? {
                    Fill::Paint(paint) if paint.alpha < 1.0 => Paint {
                        alpha: 1.0 - paint.alpha,
                        ..paint
                    },
                    Fill::Paint(paint) => paint,
                    Fill::Unset | Fill::Nothing => Paint {
                        colours: Colours::any(),
                        alpha: 0.0,
                    },
                };
            }
            Node::Open(_) => open += 1,
            Node::Close(_) => open -= 1,
            Node::Text(_) => {}
        }
    }
    Ok(paint)
}

/// A switch is on unless it says otherwise.
pub(super) fn is_on(tag: &Tag<'_>) -> bool {
    !["0", "false", "off", "none"]
        .iter()
        .any(|off| tag.is("val", off))
}

/// A style, and what its parts that hold for some cells only may change.
#[derive(Clone, Default, Debug)]
struct WordStyle {
    kind: String,
    look: RunFormat,
    based_on: Option<String>,
    sometimes: Vec<RunFormat>,
}

#[derive(Default)]
pub(super) struct Styles {
    named: HashMap<String, WordStyle>,
    pub(super) defaults: RunFormat,
    /// The style of each kind that holds where none is named.
    usual: HashMap<String, String>,
    /// Text has few styles and many runs.
    resolved: RefCell<HashMap<String, Rc<ResolvedStyle>>>,
}

/// What a style says, with all that it is based on.
#[derive(Clone, Default, Debug)]
pub(super) struct ResolvedStyle {
    pub(super) look: RunFormat,
    pub(super) sometimes: Vec<RunFormat>,
    /// It is based on itself.
    pub(super) is_unknown: bool,
    /// It is not there: programs may know one of this name.
    pub(super) is_missing: bool,
}

impl Styles {
    pub(super) fn read(text: &str, theme: &Theme) -> Result<Self, ExtractFault> {
        let mut styles = Self::default();
        let mut xml = Xml::new(text);
        let mut open: Option<(String, WordStyle)> = None;
        let mut in_defaults = false;
        let mut sometimes: Option<RunFormat> = None;
        let mut level: Option<PropertyLevel> = None;
        while let Some(node) = xml.next()? {
            match node {
                Node::Open(tag) => match tag.name() {
                    "style" => {
                        let text =
                            |name: &str| tag.attribute(name).unwrap_or_default().into_owned();
                        let style = WordStyle {
                            kind: text("type"),
                            ..WordStyle::default()
                        };
                        if ["1", "true", "on"].iter().any(|on| tag.is("default", on)) {
                            styles.usual.insert(style.kind.clone(), text("styleId"));
                        }
                        open = Some((text("styleId"), style));
                    }
                    "rPrDefault" | "pPrDefault" => in_defaults = true,
                    "rPr" => level = Some(PropertyLevel::Run),
                    "pPr" => level = Some(PropertyLevel::Paragraph),
                    "tcPr" | "tblPr" => level = Some(PropertyLevel::Cell),
                    "tblStylePr" => sometimes = Some(RunFormat::default()),
                    "basedOn" => {
                        if let Some((_, style)) = &mut open {
                            style.based_on = tag.attribute("val").map(|id| id.into_owned());
                        }
                    }
                    _ => {
                        let look = match (&mut sometimes, &mut open) {
                            (Some(look), _) => look,
                            (None, Some((_, style))) => &mut style.look,
                            (None, None) if in_defaults => &mut styles.defaults,
                            (None, None) => continue,
                        };
                        if let Some(level) = level {
                            look.read(level, &tag, &mut xml, theme)?;
                        }
                    }
                },
                Node::Close(name) => match &*name {
                    "style" => {
                        if let Some((id, style)) = open.take()
                            && styles.named.len() < MAX_STYLES
                        {
                            styles.named.insert(id, style);
                        }
                    }
                    "tblStylePr" => {
                        if let (Some(look), Some((_, style))) = (sometimes.take(), &mut open) {
                            style.sometimes.push(look);
                        }
                    }
                    "rPrDefault" | "pPrDefault" => in_defaults = false,
                    "rPr" | "pPr" | "tcPr" | "tblPr" => level = None,
                    _ => {}
                },
                Node::Text(_) => {}
            }
        }
        Ok(styles)
    }

    /// The style of this name; where none is named, the usual one of its kind.
    pub(super) fn resolve(&self, kind: &str, id: Option<&str>) -> Rc<ResolvedStyle> {
        let key = format!("{kind} {}", id.unwrap_or("\0"));
        if let Some(known) = self.resolved.borrow().get(&key) {
            return Rc::clone(known);
        }
        let found = Rc::new(self.chain(kind, id));
        let mut resolved = self.resolved.borrow_mut();
        if resolved.len() < MAX_STYLES {
            resolved.insert(key, Rc::clone(&found));
        }
        found
    }

    fn chain(&self, kind: &str, id: Option<&str>) -> ResolvedStyle {
        let usual = || self.usual.get(kind).map(String::as_str);
        let mut resolved = ResolvedStyle::default();
        // QUIRK: Word takes the usual style for one that is not there.
        let known = id.filter(|id| self.named.contains_key(*id));
        resolved.is_missing = id.is_some() && known.is_none();
        let mut next = known.or_else(usual);
        for _ in 0..MAX_CHAIN {
            let Some(style) = next.and_then(|id| self.named.get(id)) else {
                return resolved;
            };
            resolved.look = std::mem::take(&mut resolved.look).over(&style.look);
            resolved.sometimes.extend(style.sometimes.iter().cloned());
            next = style.based_on.as_deref();
        }
        resolved.is_unknown = next.is_some();
        resolved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_inherit_and_loops_end() {
        let styles = Styles::read(
            "<w:styles>\
             <w:style w:type='paragraph' w:default='1' w:styleId='N'><w:rPr><w:sz w:val='2'/></w:rPr></w:style>\
             <w:style w:styleId='A'><w:rPr><w:vanish/></w:rPr></w:style>\
             <w:style w:styleId='B'><w:basedOn w:val='A'/></w:style>\
             <w:style w:styleId='C'><w:basedOn w:val='A'/><w:rPr><w:vanish w:val='0'/></w:rPr></w:style>\
             <w:style w:styleId='L'><w:basedOn w:val='L'/></w:style>\
             <w:style w:styleId='T'><w:tblStylePr><w:rPr><w:vanish/></w:rPr></w:tblStylePr></w:style>\
             </w:styles>",
            &Theme::default(),
        )
        .expect("styles");
        for (id, vanish) in [
            ("A", Some(true)),
            ("B", Some(true)),
            ("C", Some(false)),
            ("L", None),
            ("T", None),
            ("?", None),
        ] {
            let found = styles.resolve("character", Some(id));
            assert_eq!(found.look.vanish, vanish, "{id}");
        }
        assert!(styles.resolve("character", Some("L")).is_unknown);
        let usual = styles.resolve("paragraph", None);
        assert_eq!(usual.look.half_points, Some(2));
    }
}
