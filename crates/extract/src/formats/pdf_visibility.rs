//! Whether the text of a PDF page is seen: its content is followed as a viewer follows it, without
//! drawing anything.
//!
//! What is followed: positions, sizes, plain colours, opacity, rectangles as clips and as
//! backgrounds, layers. All else (patterns, masks, curved clips, pictures) makes what it touches
//! uncertain (ISO 32000-1 chapters 8 and 9).

use std::collections::HashSet;

use mail::HidingReason;
use unpdf::parser::backend::{
    ContentOp, FormXObject, ImageColorSpace, ObjectId, PageId, PaintedXObject, PdfBackend,
    PdfValue, RawBackend, ResourceScope, SoftMaskEntry, get_number_from_value,
};
use unpdf::parser::raw::tokenizer::dict_get;
use unpdf::parser::raw::{PdfDict, PdfObject, RawDocument};

use super::colour::{BLACK, Colours, Rgb, WHITE};
use super::verdict::Verdict;

/// Of one page, forms and all.
const MAX_OPS: usize = 1_000_000;
const MAX_RUNS: usize = 20_000;
const MAX_AREAS: usize = 2_000;
const MAX_SAVED: usize = 500;
const MAX_FORMS: usize = 12;

/// A piece of text as it is drawn.
#[derive(Clone, Debug)]
pub(super) struct DrawnRun {
    pub(super) text: String,
    pub(super) verdict: Verdict,
    /// An operator that begins a line stands before it.
    pub(super) starts_line: bool,
}

/// What is known of the text of a page.
#[derive(Debug, Default)]
pub(super) struct DrawnPage {
    pub(super) runs: Vec<DrawnRun>,
    /// Not all of it could be followed.
    pub(super) is_cut: bool,
}

/// Reads pages once more, beside the library that takes their text out.
pub(super) struct PageReader {
    backend: RawBackend,
    layers: OptionalContent,
}

/// OptionalContent that are switched off at first, by the objects that stand for them.
struct OptionalContent {
    document: Option<RawDocument>,
    off: HashSet<ObjectId>,
    /// Without layers nothing is switched.
    exist: bool,
    /// All but those are on, whatever the page is shown for.
    others_are_on: bool,
}

impl OptionalContent {
    fn read(bytes: &[u8]) -> Self {
        let document = RawDocument::load(bytes).ok();
        let mut layers = Self {
            document: None,
            off: HashSet::new(),
            exist: false,
            others_are_on: false,
        };
        if let Some(document) = &document
            && let Ok(catalog) = document.catalog()
            && let Some(properties) = entry(document, catalog, b"OCProperties")
        {
            layers.exist = true;
            let usual = entry(document, properties, b"D");
            let off = usual.and_then(|usual| dict_get(usual, b"OFF"));
            let off = off
                .map(|off| document.resolve(off))
                .and_then(PdfObject::as_array);
            let references = off.unwrap_or_default().iter();
            layers.off = references.filter_map(PdfObject::as_reference).collect();
            let has = |name: &[u8]| usual.is_some_and(|usual| dict_get(usual, name).is_some());
            layers.others_are_on = usual.is_some() && !has(b"BaseState") && !has(b"AS");
        }
        layers.document = document;
        layers
    }

    fn verdict(&self, layer: Option<&PdfObject>) -> Verdict {
        match layer.and_then(PdfObject::as_reference) {
            _ if !self.exist => Verdict::Visible,
            Some(layer) if self.off.contains(&layer) => Verdict::Hidden(HidingReason::Layer),
            Some(layer) if self.others_are_on && self.is_single(layer) => Verdict::Visible,
            _ => Verdict::Uncertain(HidingReason::Layer),
        }
    }

    /// Whether it is one layer, and no condition over several.
    fn is_single(&self, layer: ObjectId) -> bool {
        let document = self.document.as_ref();
        let found = document.and_then(|document| document.get_dict(layer).ok());
        let kind = found.and_then(|layer| dict_get(layer, b"Type"));
        kind.and_then(PdfObject::as_name) == Some(b"OCG")
    }

    /// The layer that the properties of a page call by this name.
    fn named(&self, page: PageId, form: Option<ObjectId>, name: &[u8]) -> Verdict {
        let Some(document) = &self.document else {
            return Verdict::Uncertain(HidingReason::Layer);
        };
        let owner = document.get_dict(form.unwrap_or(page)).ok();
        let resources = owner.and_then(|owner| entry(document, owner, b"Resources"));
        let properties = resources.and_then(|resources| entry(document, resources, b"Properties"));
        self.verdict(properties.and_then(|properties| dict_get(properties, name)))
    }

    fn of_object(&self, object: ObjectId) -> Verdict {
        let found = self.document.as_ref().and_then(|document| {
            let dict = match document.get_object(object)? {
                PdfObject::Stream(stream) => &stream.dict,
                other => other.as_dict()?,
            };
            dict_get(dict, b"OC")
        });
        match found {
            Some(layer) => self.verdict(Some(layer)),
            None => Verdict::Visible,
        }
    }
}

fn entry<'a>(document: &'a RawDocument, dict: &'a PdfDict, name: &[u8]) -> Option<&'a PdfDict> {
    document.resolve(dict_get(dict, name)?).as_dict()
}

type Matrix = [f32; 6];

const IDENTITY: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

fn multiply(one: &Matrix, other: &Matrix) -> Matrix {
    let [a, b, c, d, e, f] = *one;
    let [g, h, i, j, k, l] = *other;
    [
        a * g + b * i,
        a * h + b * j,
        c * g + d * i,
        c * h + d * j,
        e * g + f * i + k,
        e * h + f * j + l,
    ]
}

fn apply(matrix: &Matrix, x: f32, y: f32) -> (f32, f32) {
    let [a, b, c, d, e, f] = *matrix;
    (a * x + c * y + e, b * x + d * y + f)
}

/// A rectangle on the page.
#[derive(Clone, Copy, Debug)]
struct PageArea {
    left: f32,
    bottom: f32,
    right: f32,
    top: f32,
}

impl PageArea {
    fn around(points: &[(f32, f32)]) -> Option<Self> {
        let (x, y) = *points.first()?;
        let mut area = Self {
            left: x,
            bottom: y,
            right: x,
            top: y,
        };
        for (x, y) in points {
            area.left = area.left.min(*x);
            area.right = area.right.max(*x);
            area.bottom = area.bottom.min(*y);
            area.top = area.top.max(*y);
        }
        let sides = [area.left, area.right, area.bottom, area.top];
        sides.iter().all(|side| side.is_finite()).then_some(area)
    }

    /// The share of this that lies in the other; a line has a length alone.
    fn share_in(&self, other: &Self) -> f32 {
        let share = |from: f32, to: f32, low: f32, high: f32| {
            let length = (to - from).max(0.01);
            ((to.max(from + 0.01).min(high) - from.max(low)) / length).clamp(0.0, 1.0)
        };
        share(self.left, self.right, other.left, other.right)
            * share(self.bottom, self.top, other.bottom, other.top)
    }

    fn cut_to(&self, other: &Self) -> Self {
        Self {
            left: self.left.max(other.left),
            bottom: self.bottom.max(other.bottom),
            right: self.right.min(other.right),
            top: self.top.min(other.top),
        }
    }
}

/// Something that is painted over a part of the page.
struct Painted {
    area: PageArea,
    colours: Colours,
    /// It covers all of its area, and nothing shows through.
    is_solid: bool,
    is_picture: bool,
    /// How many runs were drawn before.
    after: usize,
}

#[derive(Clone)]
struct GraphicsState {
    matrix: Matrix,
    fill: Colours,
    stroke: Colours,
    fill_space: Option<ImageColorSpace>,
    stroke_space: Option<ImageColorSpace>,
    fill_alpha: f32,
    stroke_alpha: f32,
    /// A mask or a way of mixing colours is in force.
    is_masked: bool,
    clip: PageArea,
    /// The clip may be smaller than its area.
    clip_is_odd: bool,
    font: Vec<u8>,
    size: f32,
    mode: i64,
    leading: f32,
    stretch: f32,
    rise: f32,
    char_space: f32,
}

struct OpenRun {
    text: String,
    area: Option<PageArea>,
    verdict: Verdict,
    /// The colours of the letters; nothing where they leave none.
    ink: Option<Colours>,
    scan: bool,
    starts_line: bool,
}

struct ContentInterpreter<'a> {
    look: &'a PageReader,
    page: PageId,
    crop: PageArea,
    state: GraphicsState,
    saved: Vec<GraphicsState>,
    text: Matrix,
    line: Matrix,
    /// Of the path that is being made: its points, and whether it is one rectangle along the axes.
    points: Vec<(f32, f32)>,
    is_plain: bool,
    wants_clip: bool,
    /// An operator that begins a line came, and no text since.
    line_began: bool,
    marks: Vec<Verdict>,
    runs: Vec<OpenRun>,
    painted: Vec<Painted>,
    ops: usize,
    is_cut: bool,
}

impl PageReader {
    pub(super) fn open(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            backend: RawBackend::load_bytes(bytes).ok()?,
            layers: OptionalContent::read(bytes),
        })
    }

    pub(super) fn page(&self, number: u32) -> Option<DrawnPage> {
        let page = *self.backend.pages().get(&number)?;
        let content = self.backend.page_content(page).ok()?;
        let crop = self.backend.crop_box(page);
        let crop = PageArea {
            left: crop.llx,
            bottom: crop.lly,
            right: crop.urx,
            top: crop.ury,
        };
        let mut follower = ContentInterpreter {
            look: self,
            page,
            crop,
            state: GraphicsState {
                matrix: IDENTITY,
                fill: Colours::one(BLACK),
                stroke: Colours::one(BLACK),
                fill_space: Some(ImageColorSpace::Gray),
                stroke_space: Some(ImageColorSpace::Gray),
                fill_alpha: 1.0,
                stroke_alpha: 1.0,
                is_masked: false,
                clip: crop,
                clip_is_odd: false,
                font: Vec::new(),
                size: 0.0,
                mode: 0,
                leading: 0.0,
                stretch: 1.0,
                rise: 0.0,
                char_space: 0.0,
            },
            saved: Vec::new(),
            text: IDENTITY,
            line: IDENTITY,
            points: Vec::new(),
            is_plain: true,
            wants_clip: false,
            line_began: false,
            marks: Vec::new(),
            runs: Vec::new(),
            painted: Vec::new(),
            ops: 0,
            is_cut: false,
        };
        follower.follow(&content, None, 0);
        Some(follower.finish())
    }
}

impl ContentInterpreter<'_> {
    fn follow(&mut self, content: &[u8], form: Option<ObjectId>, depth: usize) {
        let Ok(ops) = self.look.backend.decode_content(content) else {
            self.is_cut = true;
            return;
        };
        for op in &ops {
            self.ops += 1;
            if self.ops > MAX_OPS || self.runs.len() >= MAX_RUNS {
                self.is_cut = true;
                return;
            }
            self.op(op, form, depth);
        }
    }

    fn op(&mut self, op: &ContentOp, form: Option<ObjectId>, depth: usize) {
        let numbers: Vec<f32> = op
            .operands
            .iter()
            .filter_map(get_number_from_value)
            .collect();
        let scope = ResourceScope {
            page: self.page,
            form,
        };
        let name = op.operands.iter().rev().find_map(|operand| match operand {
            PdfValue::Name(name) => Some(name.as_slice()),
            _ => None,
        });
        let state = &mut self.state;
        match (op.operator.as_str(), numbers.as_slice()) {
            ("q", _) => {
                if self.saved.len() < MAX_SAVED {
                    self.saved.push(self.state.clone());
                } else {
                    self.is_cut = true;
                }
            }
            ("Q", _) => {
                if let Some(saved) = self.saved.pop() {
                    self.state = saved;
                }
            }
            ("cm", [a, b, c, d, e, f]) => {
                state.matrix = multiply(&[*a, *b, *c, *d, *e, *f], &state.matrix);
            }
            ("g", [gray]) => set(
                &mut state.fill,
                &mut state.fill_space,
                ImageColorSpace::Gray,
                &[*gray],
            ),
            ("G", [gray]) => {
                set(
                    &mut state.stroke,
                    &mut state.stroke_space,
                    ImageColorSpace::Gray,
                    &[*gray],
                );
            }
            ("rg", rgb @ [_, _, _]) => {
                set(
                    &mut state.fill,
                    &mut state.fill_space,
                    ImageColorSpace::Rgb,
                    rgb,
                );
            }
            ("RG", rgb @ [_, _, _]) => {
                set(
                    &mut state.stroke,
                    &mut state.stroke_space,
                    ImageColorSpace::Rgb,
                    rgb,
                );
            }
            ("k", cmyk @ [_, _, _, _]) => {
                set(
                    &mut state.fill,
                    &mut state.fill_space,
                    ImageColorSpace::Cmyk,
                    cmyk,
                );
            }
            ("K", cmyk @ [_, _, _, _]) => {
                set(
                    &mut state.stroke,
                    &mut state.stroke_space,
                    ImageColorSpace::Cmyk,
                    cmyk,
                );
            }
            ("cs" | "CS", _) => {
                let space = name.and_then(|name| self.space(scope, name));
                // The first colour of a space: black, or full ink.
                let first = match &space {
                    Some(ImageColorSpace::Gray | ImageColorSpace::Rgb | ImageColorSpace::Cmyk) => {
                        Colours::one(BLACK)
                    }
                    _ => Colours::any(),
                };
                if op.operator == "cs" {
                    (self.state.fill, self.state.fill_space) = (first, space);
                } else {
                    (self.state.stroke, self.state.stroke_space) = (first, space);
                }
            }
            ("sc" | "scn", values) => {
                state.fill = match (name, &state.fill_space) {
                    (None, Some(space)) => colours(space, values),
                    _ => Colours::any(),
                };
            }
            ("SC" | "SCN", values) => {
                state.stroke = match (name, &state.stroke_space) {
                    (None, Some(space)) => colours(space, values),
                    _ => Colours::any(),
                };
            }
            ("gs", _) => self.graphics_state(scope, name),
            ("m" | "l", [x, y]) => {
                self.points.push(apply(&state.matrix, *x, *y));
                self.is_plain = false;
            }
            ("c", [a, b, c, d, e, f]) => {
                let points = [(*a, *b), (*c, *d), (*e, *f)];
                self.points
                    .extend(points.map(|(x, y)| apply(&state.matrix, x, y)));
                self.is_plain = false;
            }
            ("v" | "y", [a, b, c, d]) => {
                let points = [(*a, *b), (*c, *d)];
                self.points
                    .extend(points.map(|(x, y)| apply(&state.matrix, x, y)));
                self.is_plain = false;
            }
            ("re", [x, y, width, height]) => {
                let corners = [
                    (*x, *y),
                    (x + width, *y),
                    (x + width, y + height),
                    (*x, y + height),
                ];
                let [a, b, c, d, _, _] = state.matrix;
                let along = (a == 0.0 && d == 0.0) || (b == 0.0 && c == 0.0);
                self.is_plain = self.points.is_empty() && along;
                self.points
                    .extend(corners.map(|(x, y)| apply(&state.matrix, x, y)));
            }
            ("W" | "W*", _) => self.wants_clip = true,
            ("f" | "F" | "f*" | "B" | "B*" | "b" | "b*", _) => self.fill_path(),
            ("S" | "s" | "n", _) => self.end_path(),
            ("sh" | "BI" | "EI", _) => self.picture(),
            ("Do", _) => self.paint(scope, name, depth),
            ("BT", _) => (self.text, self.line) = (IDENTITY, IDENTITY),
            ("Tf", [size]) => {
                state.size = *size;
                state.font = name.unwrap_or_default().to_vec();
            }
            ("Tr", [mode]) => state.mode = *mode as i64,
            ("TL", [leading]) => state.leading = *leading,
            ("Tz", [share]) => state.stretch = share / 100.0,
            ("Ts", [rise]) => state.rise = *rise,
            ("Tc", [space]) => state.char_space = *space,
            ("Tm", [a, b, c, d, e, f]) => {
                self.line = [*a, *b, *c, *d, *e, *f];
                self.text = self.line;
            }
            ("Td", [x, y]) => self.next_line(*x, *y),
            ("TD", [x, y]) => {
                state.leading = -y;
                self.next_line(*x, *y);
            }
            ("T*", _) => {
                self.next_line(0.0, -self.state.leading);
                self.line_began = true;
            }
            ("Tj" | "TJ", _) => self.show(scope, &op.operands),
            ("'" | "\"", values) => {
                if let [_, space] = values {
                    self.state.char_space = *space;
                }
                self.next_line(0.0, -self.state.leading);
                self.line_began = true;
                self.show(scope, &op.operands);
            }
            ("BMC", _) => self.marks.push(Verdict::Visible),
            ("BDC", _) => {
                let layer = match op.operands.as_slice() {
                    [PdfValue::Name(tag), PdfValue::Name(layer)] if tag == b"OC" => {
                        self.look.layers.named(self.page, form, layer)
                    }
                    [PdfValue::Name(tag), ..] if tag == b"OC" => {
                        Verdict::Uncertain(HidingReason::Layer)
                    }
                    _ => Verdict::Visible,
                };
                self.marks.push(layer);
            }
            ("EMC", _) => {
                self.marks.pop();
            }
            _ => {}
        }
    }

    fn space(&self, scope: ResourceScope, name: &[u8]) -> Option<ImageColorSpace> {
        match name {
            b"DeviceGray" | b"G" | b"CalGray" => Some(ImageColorSpace::Gray),
            b"DeviceRGB" | b"RGB" | b"CalRGB" => Some(ImageColorSpace::Rgb),
            b"DeviceCMYK" | b"CMYK" => Some(ImageColorSpace::Cmyk),
            name => self.look.backend.named_color_space(scope, name),
        }
    }

    fn graphics_state(&mut self, scope: ResourceScope, name: Option<&[u8]>) {
        let found = name.and_then(|name| self.look.backend.ext_gstate(scope, name));
        let Some(found) = found else {
            self.state.is_masked = true;
            return;
        };
        self.state.fill_alpha = found.fill_alpha.unwrap_or(self.state.fill_alpha);
        self.state.stroke_alpha = found.stroke_alpha.unwrap_or(self.state.stroke_alpha);
        match found.soft_mask {
            Some(SoftMaskEntry::Mask(_)) => self.state.is_masked = true,
            Some(SoftMaskEntry::None) => self.state.is_masked = false,
            None => {}
        }
        let is_plain = found.blend_mode.is_none_or(|mode| {
            Some(mode) == unpdf::parser::backend::BlendMode::from_name(b"Normal")
        });
        self.state.is_masked |= !is_plain;
    }

    fn next_line(&mut self, x: f32, y: f32) {
        self.line_began |= y.abs() >= 0.6 * self.state.size.abs().max(0.1);
        self.line = multiply(&[1.0, 0.0, 0.0, 1.0, x, y], &self.line);
        self.text = self.line;
    }

    fn fill_path(&mut self) {
        if let Some(area) = PageArea::around(&self.points) {
            let (state, plain) = (&self.state, self.is_plain);
            let painted = Painted {
                area: area.cut_to(&state.clip),
                colours: state.fill.clone(),
                is_solid: plain
                    && state.fill_alpha >= 0.99
                    && !state.is_masked
                    && !state.clip_is_odd,
                is_picture: false,
                after: self.runs.len(),
            };
            let shows = state.fill_alpha > 0.02 && self.is_shown();
            self.add(painted, shows);
        }
        self.end_path();
    }

    fn is_shown(&self) -> bool {
        !self
            .marks
            .iter()
            .any(|mark| matches!(mark, Verdict::Hidden(_)))
    }

    fn add(&mut self, painted: Painted, shows: bool) {
        let empty =
            painted.area.left >= painted.area.right || painted.area.bottom >= painted.area.top;
        if !shows || empty {
            return;
        }
        if self.painted.len() >= MAX_AREAS {
            self.is_cut = true;
            return;
        }
        self.painted.push(painted);
    }

    fn end_path(&mut self) {
        if std::mem::take(&mut self.wants_clip) {
            match PageArea::around(&self.points) {
                Some(area) => {
                    self.state.clip = self.state.clip.cut_to(&area);
                    self.state.clip_is_odd |= !self.is_plain;
                }
                None => self.state.clip_is_odd = true,
            }
        }
        self.points.clear();
        self.is_plain = true;
    }

    /// A picture or a shading: what its colours are is not looked at.
    fn picture(&mut self) {
        let corners = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)];
        let corners = corners.map(|(x, y)| apply(&self.state.matrix, x, y));
        let Some(area) = PageArea::around(&corners) else {
            return;
        };
        let painted = Painted {
            area: area.cut_to(&self.state.clip),
            colours: Colours::any(),
            is_solid: false,
            is_picture: true,
            after: self.runs.len(),
        };
        let shows = self.state.fill_alpha > 0.02 && self.is_shown();
        self.add(painted, shows);
    }

    fn paint(&mut self, scope: ResourceScope, name: Option<&[u8]>, depth: usize) {
        let found = name.and_then(|name| self.look.backend.xobject(scope, name));
        match found {
            Some(PaintedXObject::Form(form)) if depth < MAX_FORMS => self.form(&form, depth),
            Some(PaintedXObject::Form(_)) => self.is_cut = true,
            _ => self.picture(),
        }
    }

    fn form(&mut self, form: &FormXObject, depth: usize) {
        let Some(content) = &form.content else {
            self.is_cut = true;
            return;
        };
        let saved = self.state.clone();
        let outer = std::mem::take(&mut self.saved);
        let marks = self.marks.len();
        self.marks.push(self.look.layers.of_object(form.id));
        self.state.matrix = multiply(&form.matrix, &self.state.matrix);
        if let Some(bbox) = form.bbox {
            let corners = [
                (bbox.llx, bbox.lly),
                (bbox.urx, bbox.lly),
                (bbox.urx, bbox.ury),
                (bbox.llx, bbox.ury),
            ];
            let corners = corners.map(|(x, y)| apply(&self.state.matrix, x, y));
            if let Some(area) = PageArea::around(&corners) {
                self.state.clip = self.state.clip.cut_to(&area);
            }
        }
        self.follow(content, Some(form.id), depth + 1);
        self.marks.truncate(marks);
        self.saved = outer;
        self.state = saved;
    }

    fn show(&mut self, scope: ResourceScope, operands: &[PdfValue]) {
        for operand in operands {
            match operand {
                PdfValue::Str(bytes) => self.show_bytes(scope, bytes),
                PdfValue::Array(pieces) => {
                    for piece in pieces {
                        match piece {
                            PdfValue::Str(bytes) => self.show_bytes(scope, bytes),
                            other => {
                                let by = get_number_from_value(other).unwrap_or(0.0);
                                let state = &self.state;
                                self.advance(-by / 1_000.0 * state.size * state.stretch);
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn advance(&mut self, by: f32) {
        self.text = multiply(&[1.0, 0.0, 0.0, 1.0, by, 0.0], &self.text);
    }

    fn show_bytes(&mut self, scope: ResourceScope, bytes: &[u8]) {
        let backend = &self.look.backend;
        let font = self.state.font.clone();
        let text = backend.decode_text(scope, &font, bytes).text;
        let state = &self.state;
        let advances = backend.glyph_advances(scope, &font, bytes);
        let count = text.chars().count().max(1) as f32;
        let thousandths = advances.map_or(count * 500.0, |advances| {
            advances.iter().map(|glyph| glyph.width).sum::<f32>()
        });
        let length =
            (thousandths / 1_000.0 * state.size + count * state.char_space) * state.stretch;
        let on_page = multiply(&self.text, &state.matrix);
        let (low, high) = (state.rise - 0.2 * state.size, state.rise + 0.8 * state.size);
        let corners = [(0.0, low), (length, low), (length, high), (0.0, high)];
        let area = PageArea::around(&corners.map(|(x, y)| apply(&on_page, x, y)));
        let [a, b, c, d, _, _] = on_page;
        let height = state.size.abs() * c.hypot(d);
        let width = state.size.abs() * a.hypot(b) * state.stretch.abs();
        let is_drawn = backend.type3_font(scope, &font).is_some();
        let mut verdict = match is_drawn {
            // Each letter is a drawing of its own.
            true => Verdict::Uncertain(HidingReason::NotUnderstood),
            false => Verdict::of_size(height.min(width * 3.0)),
        };
        for mark in &self.marks {
            verdict = verdict.and(*mark);
        }
        if state.is_masked {
            verdict = verdict.and(Verdict::Uncertain(HidingReason::NotUnderstood));
        }
        let (ink, alpha) = match state.mode {
            0 | 4 => (Some(state.fill.clone()), state.fill_alpha),
            1 | 5 => (Some(state.stroke.clone()), state.stroke_alpha),
            2 | 6 => {
                let mut both = state.fill.clone();
                both.add_all(&state.stroke);
                (Some(both), state.fill_alpha.max(state.stroke_alpha))
            }
            _ => (None, 1.0),
        };
        verdict = verdict.and(match alpha {
            ..0.1 => Verdict::Hidden(HidingReason::Transparent),
            ..0.6 => Verdict::Uncertain(HidingReason::Transparent),
            _ => Verdict::Visible,
        });
        if state.mode >= 4 {
            // Its letters become the clip.
            verdict = verdict.and(Verdict::Uncertain(HidingReason::Clipped));
        }
        match &area {
            Some(area) => {
                verdict = verdict.and(inside(area.share_in(&self.crop), HidingReason::OffPage));
                verdict = verdict.and(inside(area.share_in(&state.clip), HidingReason::Clipped));
                if state.clip_is_odd {
                    verdict = verdict.and(Verdict::Uncertain(HidingReason::Clipped));
                }
            }
            None => verdict = verdict.and(Verdict::Uncertain(HidingReason::NotUnderstood)),
        }
        if !text.trim().is_empty() {
            self.runs.push(OpenRun {
                text,
                area,
                verdict,
                ink,
                scan: state.mode == 3,
                starts_line: std::mem::take(&mut self.line_began),
            });
        }
        self.advance(length);
    }

    fn finish(self) -> DrawnPage {
        let runs = self.runs.iter().enumerate().map(|(number, run)| DrawnRun {
            text: run.text.clone(),
            verdict: self.judge(number, run),
            starts_line: run.starts_line,
        });
        DrawnPage {
            runs: runs.collect(),
            is_cut: self.is_cut,
        }
    }

    fn judge(&self, number: usize, run: &OpenRun) -> Verdict {
        const TOUCHED: f32 = 0.02;
        const WHOLE: f32 = 0.98;
        if let Verdict::Hidden(_) = run.verdict {
            return run.verdict;
        }
        let Some(area) = &run.area else {
            return run.verdict;
        };
        let mut behind = Colours::one(WHITE);
        let mut on_picture = false;
        let mut verdict = run.verdict;
        for painted in &self.painted {
            let share = area.share_in(&painted.area);
            if share <= TOUCHED {
                continue;
            }
            if painted.after <= number {
                on_picture |= painted.is_picture && share > 0.5;
                if painted.is_solid && share > WHOLE {
                    behind = painted.colours.clone();
                } else {
                    behind.add_all(&painted.colours);
                }
            } else if share > 0.2 {
                on_picture |= painted.is_picture;
                verdict = verdict.and(match painted.is_solid && share > WHOLE {
                    true => Verdict::Hidden(HidingReason::Covered),
                    false => Verdict::Uncertain(HidingReason::Covered),
                });
            }
        }
        match &run.ink {
            // What scanners put under the picture of a page; nothing proves that it says the same.
            None if run.scan && on_picture => Verdict::Uncertain(HidingReason::ScanLayer),
            None => Verdict::Hidden(HidingReason::Transparent),
            Some(ink) => verdict.and(Verdict::of_colours(ink, &behind)),
        }
    }
}

fn inside(share: f32, reason: HidingReason) -> Verdict {
    if share <= 0.0 {
        Verdict::Hidden(reason)
    } else if share < 0.5 {
        Verdict::Uncertain(reason)
    } else {
        Verdict::Visible
    }
}

fn set(
    colours_of: &mut Colours,
    space_of: &mut Option<ImageColorSpace>,
    space: ImageColorSpace,
    values: &[f32],
) {
    *colours_of = colours(&space, values);
    *space_of = Some(space);
}

fn colours(space: &ImageColorSpace, values: &[f32]) -> Colours {
    let level = |value: f32| (value.clamp(0.0, 1.0) * 255.0).round() as u8;
    match (space, values) {
        (ImageColorSpace::Gray, [gray]) => {
            let gray = level(*gray);
            Colours::one(Rgb(gray, gray, gray))
        }
        (ImageColorSpace::Rgb, [red, green, blue]) => {
            Colours::one(Rgb(level(*red), level(*green), level(*blue)))
        }
        (ImageColorSpace::Cmyk, [cyan, magenta, yellow, black]) => {
            let mix = |ink: f32| level((1.0 - ink.clamp(0.0, 1.0)) * (1.0 - black.clamp(0.0, 1.0)));
            Colours::one(Rgb(mix(*cyan), mix(*magenta), mix(*yellow)))
        }
        _ => Colours::any(),
    }
}
