//! Colours and shapes of DrawingML, which Word, Excel and PowerPoint share (ECMA-376 part 1,
//! chapter 20).

use std::collections::HashMap;

use mail::{ExtractFault, HidingReason};

use super::colour::{BLACK, Colours, Rgb, WHITE};
use super::package::Package;
use super::verdict::Verdict;
use super::xml::{Node, Tag, Xml};

/// EMU: a twentieth of a point is 635 of them.
pub(super) const EMU_PER_POINT: f64 = 12_700.0;
/// Alpha below this shows nothing, and above the other one hides nothing.
const FAINT: f32 = 0.1;
const OPAQUE: f32 = 0.6;

/// The colours of a theme by their names, and what names stand for others.
#[derive(Clone, Debug, Default)]
pub(super) struct Theme {
    colours: HashMap<String, Rgb>,
    map: HashMap<String, String>,
}

impl Theme {
    pub(super) fn load(package: &mut Package<'_>, part: &str) -> Result<Self, ExtractFault> {
        match package.text(part)? {
            Some(text) => Self::read(&text),
            None => Ok(Self::default()),
        }
    }

    pub(super) fn read(text: &str) -> Result<Self, ExtractFault> {
        const NAMES: [&str; 12] = [
            "dk1", "lt1", "dk2", "lt2", "accent1", "accent2", "accent3", "accent4", "accent5",
            "accent6", "hlink", "folHlink",
        ];
        let mut theme = Self::default();
        let mut xml = Xml::new(text);
        let mut open: Option<String> = None;
        while let Some(node) = xml.next()? {
            let Node::Open(tag) = node else { continue };
            match tag.name() {
                name if NAMES.contains(&name) => open = Some(name.to_owned()),
                "fmtScheme" => break,
                "srgbClr" | "sysClr" => {
                    let value = tag.attribute("lastClr").or_else(|| tag.attribute("val"));
                    if let (Some(name), Some(colour)) =
                        (open.take(), value.and_then(|value| Rgb::parse(&value)))
                    {
                        theme.colours.insert(name, colour);
                    }
                }
                _ => {}
            }
        }
        Ok(theme)
    }

    /// `bg1="lt1"` and so on, as a master or the settings of a document say.
    pub(super) fn map(&mut self, tag: &Tag<'_>) {
        for name in ["bg1", "tx1", "bg2", "tx2"] {
            let long = match name {
                "bg1" => "background1",
                "tx1" => "text1",
                "bg2" => "background2",
                _ => "text2",
            };
            if let Some(target) = tag.attribute(name) {
                self.map
                    .insert(name.to_owned(), target.clone().into_owned());
                self.map.insert(long.to_owned(), target.into_owned());
            }
        }
    }

    pub(super) fn colour(&self, name: &str) -> Colours {
        let mapped = self.map.get(name).map_or(name, String::as_str);
        let name = match mapped {
            "bg1" | "background1" | "light1" => "lt1",
            "tx1" | "text1" | "dark1" => "dk1",
            "bg2" | "background2" | "light2" => "lt2",
            "tx2" | "text2" | "dark2" => "dk2",
            "hyperlink" => "hlink",
            "followedHyperlink" => "folHlink",
            other => other,
        };
        let usual = match name {
            "lt1" => Some(WHITE),
            "dk1" => Some(BLACK),
            _ => None,
        };
        let found = self.colours.get(name).copied().or(usual);
        found.map_or_else(Colours::any, Colours::one)
    }

    /// By the number that spreadsheets use: light and dark are exchanged.
    pub(super) fn numbered(&self, number: usize) -> Colours {
        const ORDER: [&str; 12] = [
            "lt1", "dk1", "lt2", "dk2", "accent1", "accent2", "accent3", "accent4", "accent5",
            "accent6", "hlink", "folHlink",
        ];
        ORDER
            .get(number)
            .map_or_else(Colours::any, |name| self.colour(name))
    }
}

/// A colour and how much of it covers what is behind.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Paint {
    pub(super) colours: Colours,
    pub(super) alpha: f32,
}

impl Paint {
    pub(super) fn opaque(colours: Colours) -> Self {
        Self {
            colours,
            alpha: 1.0,
        }
    }

    pub(super) fn any() -> Self {
        Self::opaque(Colours::any())
    }

    /// Text of this paint on a background.
    pub(super) fn verdict_on(&self, background: &Colours) -> Verdict {
        if self.alpha < FAINT {
            return Verdict::Hidden(HidingReason::Transparent);
        }
        if self.alpha < OPAQUE {
            return Verdict::Uncertain(HidingReason::Transparent);
        }
        Verdict::of_colours(&self.colours, background)
    }
}

/// What a shape is filled with.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Fill {
    /// Nothing is said.
    #[default]
    Unset,
    Nothing,
    Paint(Paint),
}

impl Fill {
    /// The colours behind text in it, when it lies on these.
    pub(super) fn on(&self, behind: &Colours) -> Colours {
        match self {
            Self::Unset | Self::Nothing => behind.clone(),
            Self::Paint(paint) if paint.alpha > 0.99 => paint.colours.clone(),
            Self::Paint(paint) => {
                let mut blended = Colours::none();
                for back in behind.known() {
                    blended.add_all(&paint.colours.map(|colour| colour.over(back, paint.alpha)));
                }
                if !behind.is_complete() {
                    blended.add_all(&Colours::any());
                }
                blended
            }
        }
    }

    pub(super) fn is_opaque(&self) -> bool {
        matches!(self, Self::Paint(paint) if paint.alpha > 0.9)
    }
}

/// Whether an element fills a shape, a background or letters.
pub(super) fn is_fill(name: &str) -> bool {
    matches!(
        name,
        "solidFill" | "noFill" | "gradFill" | "blipFill" | "pattFill" | "grpFill"
    )
}

/// The fill whose element was opened last, up to its end.
pub(super) fn fill(xml: &mut Xml<'_>, name: &str, theme: &Theme) -> Result<Fill, ExtractFault> {
    if name == "solidFill" {
        return Ok(Fill::Paint(paint(xml, theme)?));
    }
    if name == "gradFill" {
        let mut all = Paint::opaque(Colours::none());
        let mut open = 1usize;
        while open > 0 {
            match xml.next()?.ok_or(ExtractFault::Malformed)? {
                Node::Open(tag) if tag.name() == "gs" => {
                    let stop = paint(xml, theme)?;
                    all.colours.add_all(&stop.colours);
                    all.alpha = all.alpha.min(stop.alpha);
                }
                Node::Open(_) => open += 1,
                Node::Close(_) => open -= 1,
                Node::Text(_) => {}
            }
        }
        if all.colours.known().next().is_none() {
            return Ok(Fill::Paint(Paint::any()));
        }
        return Ok(Fill::Paint(all));
    }
    xml.skip()?;
    Ok(match name {
        "noFill" => Fill::Nothing,
        _ => Fill::Paint(Paint::any()),
    })
}

/// The colour inside the element that was opened last, up to that element's end.
pub(super) fn paint(xml: &mut Xml<'_>, theme: &Theme) -> Result<Paint, ExtractFault> {
    let mut paint = Paint::any();
    let mut open = 1usize;
    while open > 0 {
        let tag = match xml.next()?.ok_or(ExtractFault::Malformed)? {
            Node::Open(tag) => tag,
            Node::Close(_) => {
                open -= 1;
                continue;
            }
            Node::Text(_) => continue,
        };
        open += 1;
        let value = tag.attribute("val").unwrap_or_default();
        let share = value.trim().parse::<f32>().map(|number| number / 100_000.0);
        let known = |colour: Option<Rgb>| colour.map_or_else(Colours::any, Colours::one);
        match tag.name() {
            "srgbClr" => paint.colours = known(Rgb::parse(&value)),
            "sysClr" => {
                let last = tag.attribute("lastClr");
                paint.colours = known(last.and_then(|last| Rgb::parse(&last)));
            }
            "schemeClr" => paint.colours = theme.colour(&value),
            "prstClr" => paint.colours = known(Rgb::named(&value)),
            "alpha" => paint.alpha = share.unwrap_or(f32::NAN),
            "lumMod" | "shade" => relight(&mut paint, share, |light, share| light * share),
            "lumOff" => relight(&mut paint, share, |light, share| light + share),
            "tint" => relight(&mut paint, share, |light, share| {
                light * share + 1.0 - share
            }),
            // They change how strong a colour is, hardly how light.
            "satMod" | "satOff" | "sat" => {}
            _ => paint.colours = Colours::any(),
        }
    }
    if paint.alpha.is_nan() {
        return Ok(Paint {
            colours: Colours::any(),
            alpha: OPAQUE,
        });
    }
    Ok(paint)
}

fn relight<E>(paint: &mut Paint, share: Result<f32, E>, change: impl Fn(f32, f32) -> f32) {
    paint.colours = match share {
        Ok(share) => paint
            .colours
            .map(|colour| colour.relit(|light| change(light, share))),
        Err(_) => Colours::any(),
    };
}

/// Where a shape lies, in EMU: x, y, width, height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Area {
    /// Whether text in it can be seen on a page of this size.
    pub(super) fn verdict_on_page(&self, width: f64, height: f64) -> Verdict {
        let outside = self.x >= width
            || self.y >= height
            || self.x + self.width <= 0.0
            || self.y + self.height <= 0.0;
        let partly = self.x < -0.1 * self.width
            || self.y < -0.1 * self.height
            || self.x + 0.9 * self.width > width
            || self.y + 0.9 * self.height > height;
        if self.is_tiny() {
            // Text may flow out of its shape.
            Verdict::Uncertain(HidingReason::ZeroSize)
        } else if outside {
            Verdict::Hidden(HidingReason::OffPage)
        } else if partly {
            Verdict::Uncertain(HidingReason::OffPage)
        } else {
            Verdict::Visible
        }
    }

    pub(super) fn is_tiny(&self) -> bool {
        self.width < 2.0 * EMU_PER_POINT || self.height < 2.0 * EMU_PER_POINT
    }

    /// Whether this may hide some of what lies in the other.
    pub(super) fn touches(&self, other: &Self) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }
}

/// What a shape's properties say, from its opened `spPr` to that element's end.
#[derive(Clone, Debug, Default)]
pub(super) struct ShapeProperties {
    pub(super) fill: Fill,
    pub(super) area: Option<Area>,
    /// Turned, mirrored or bent: where its text lies is not known.
    pub(super) is_turned: bool,
}

pub(super) fn shape_properties(
    xml: &mut Xml<'_>,
    theme: &Theme,
) -> Result<ShapeProperties, ExtractFault> {
    let mut found = ShapeProperties::default();
    let mut origin = None;
    let mut extent = None;
    let mut open = 1usize;
    while open > 0 {
        let tag = match xml.next()?.ok_or(ExtractFault::Malformed)? {
            Node::Open(tag) => tag,
            Node::Close(_) => {
                open -= 1;
                continue;
            }
            Node::Text(_) => continue,
        };
        match tag.name() {
            name if is_fill(name) && open == 1 => {
                found.fill = fill(xml, name, theme)?;
                continue;
            }
            "ln" | "effectLst" | "scene3d" | "sp3d" => {
                xml.skip()?;
                continue;
            }
            "xfrm" => found.is_turned = tag.attribute("rot").is_some_and(|rot| &*rot != "0"),
            "off" => origin = signed(&tag, "x").zip(signed(&tag, "y")),
            "ext" => extent = signed(&tag, "cx").zip(signed(&tag, "cy")),
            _ => {}
        }
        open += 1;
    }
    if let (Some((x, y)), Some((width, height))) = (origin, extent) {
        found.area = Some(Area {
            x,
            y,
            width,
            height,
        });
    }
    Ok(found)
}

pub(super) fn signed(tag: &Tag<'_>, name: &str) -> Option<f64> {
    let number: f64 = tag.attribute(name)?.trim().parse().ok()?;
    number.is_finite().then_some(number)
}
