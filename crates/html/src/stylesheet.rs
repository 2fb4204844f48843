//! Style sheets: which rules there are, under which conditions, and what they declare.
//!
//! Only properties that can hide text are kept. The syntax is cssparser's business.

use std::collections::HashMap;
use std::rc::Rc;

use cssparser::{
    AtRuleParser, BasicParseErrorKind, CowRcStr, DeclarationParser, ParseError, Parser,
    ParserState, QualifiedRuleParser, RuleBodyItemParser, RuleBodyParser, StyleSheetParser,
    parse_important,
};

use crate::conditions::{self, Truth};
use crate::properties::Property;
use crate::selector::parser::{self, Prelude};
use crate::world::{Doubt, World};

/// Of all rules of a page together.
const MOST_SELECTORS: usize = 200_000;
/// Blocks in blocks.
const MOST_NESTING: usize = 24;

pub(crate) struct Sheet {
    world: World,
    /// Another world may read it differently.
    pub differs: bool,
    /// Selectors met so far, those that `&` stands for included.
    selectors: usize,
    depth: usize,
    /// In the order in which they stand.
    pub rules: Vec<Rule>,
    /// By their names in lower case.
    pub frames: HashMap<String, Frames>,
    /// Custom properties that `@property` has given rules of their own.
    pub registered: Vec<Rc<str>>,
    /// Cascade layers by the layer around them and their name, numbered by their first mention.
    layers: HashMap<(Option<usize>, String), usize>,
}

pub(crate) struct Rule {
    pub prelude: Prelude,
    pub declarations: Rc<[Declaration]>,
    pub layer: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Declaration {
    pub property: Property,
    pub value: String,
    pub important: bool,
}

impl Sheet {
    pub(crate) fn new(world: World) -> Self {
        Self {
            world,
            differs: false,
            selectors: 0,
            depth: 0,
            rules: Vec::new(),
            frames: HashMap::new(),
            registered: Vec::new(),
            layers: HashMap::new(),
        }
    }

    /// There are more rules than anybody needs.
    pub(crate) fn is_too_much(&self) -> bool {
        self.selectors > MOST_SELECTORS
    }

    /// What cannot be judged: whether it applies in this world.
    fn doubt(&mut self) -> bool {
        self.differs = true;
        self.world.doubt == Doubt::Applies
    }

    /// Adds what one `<style>` element says.
    pub(crate) fn read(&mut self, css: &str) {
        let mut input = Parser::new(css);
        let mut reader = Reader::outside(self, None);
        // Rules that make no sense are skipped one by one, as browsers do.
        for _ in StyleSheetParser::new(&mut input, &mut Inside(&mut reader)) {}
    }

    fn layer(&mut self, name: &str, within: Option<usize>) -> usize {
        let next = self.layers.len();
        let name = match name {
            "" => format!("\u{0}{next}"),
            name => name.to_owned(),
        };
        *self.layers.entry((within, name)).or_insert(next)
    }
}

/// The declarations of a `style` attribute.
pub(crate) fn inline(style: &str) -> Vec<Declaration> {
    let mut sheet = Sheet::new(World::FIRST);
    let mut reader = Reader::outside(&mut sheet, None);
    let mut input = Parser::new(style);
    for _ in RuleBodyParser::<_, (), ()>::new(&mut input, &mut Inside(&mut reader)) {}
    reader.found
}

/// Reads rules and declarations on one level.
struct Reader<'s> {
    sheet: &'s mut Sheet,
    within: Option<Prelude>,
    layer: Option<usize>,
    found: Vec<Declaration>,
    /// Selectors may be meant for another namespace than HTML's.
    foreign: bool,
}

impl<'s> Reader<'s> {
    fn outside(sheet: &'s mut Sheet, layer: Option<usize>) -> Self {
        Self {
            sheet,
            within: None,
            layer,
            found: Vec::new(),
            foreign: false,
        }
    }

    /// A block of declarations and further rules.
    fn block(&mut self, input: &mut Parser<'_>, prelude: Option<Prelude>, layer: Option<usize>) {
        let met = |prelude: Option<&Prelude>| {
            prelude.map_or(0, |prelude| prelude.selectors.slice().len())
        };
        self.sheet.selectors += 1 + met(prelude.as_ref()) + met(self.within.as_ref());
        if self.sheet.is_too_much() || self.sheet.depth >= MOST_NESTING {
            self.sheet.selectors = MOST_SELECTORS + 1;
            while input.next().is_ok() {}
            return;
        }
        if prelude.as_ref().is_some_and(|prelude| prelude.doubt) {
            self.sheet.differs = true;
        }
        if self.foreign && !self.sheet.doubt() {
            while input.next().is_ok() {}
            return;
        }
        let place = prelude.as_ref().map(|prelude| {
            // Set aside here: what is nested inside stands behind it.
            self.sheet.rules.push(Rule {
                prelude: prelude.clone(),
                declarations: Rc::from([]),
                layer,
            });
            self.sheet.rules.len() - 1
        });
        let mut inner = Reader {
            foreign: self.foreign,
            sheet: self.sheet,
            within: prelude,
            layer,
            found: Vec::new(),
        };
        inner.sheet.depth += 1;
        for _ in RuleBodyParser::<_, (), ()>::new(input, &mut Inside(&mut inner)) {}
        inner.sheet.depth -= 1;
        let found = inner.found;
        let Some(place) = place else {
            return;
        };
        if found.is_empty() && place + 1 == self.sheet.rules.len() {
            self.sheet.rules.pop();
        } else if let Some(rule) = self.sheet.rules.get_mut(place) {
            rule.declarations = found.into();
        }
    }
}

/// What an at-rule's block is.
enum At {
    /// Rules that apply.
    Rules {
        layer: Option<usize>,
    },
    Frames(String),
    Registered(String),
    /// Rules that do not apply, or say nothing about text.
    Nothing,
}

fn rest<'i>(input: &mut Parser<'i>) -> &'i str {
    let start = input.position();
    while input.next().is_ok() {}
    input.slice_from(start).trim()
}

impl Reader<'_> {
    fn at(&mut self, name: &str, input: &mut Parser<'_>) -> At {
        let prelude = rest(input);
        let applies = match name.to_ascii_lowercase().as_str() {
            "media" => {
                self.sheet.differs |= conditions::depends_on_window(prelude);
                conditions::applies(prelude, self.sheet.world.window)
            }
            "supports" => match conditions::supports(prelude) {
                Truth::Yes => true,
                Truth::No => false,
                Truth::Unknown => self.sheet.doubt(),
            },
            "container" | "scope" | "document" | "-moz-document" | "starting-style" => {
                self.sheet.doubt()
            }
            "layer" => return self.layers(prelude),
            "keyframes" | "-webkit-keyframes" => {
                self.sheet.differs = true;
                return At::Frames(prelude.trim_matches(['"', '\'']).to_owned());
            }
            "property" if self.sheet.doubt() => return At::Registered(prelude.to_owned()),
            "namespace" => {
                self.foreign = true;
                false
            }
            _ => false,
        };
        if applies {
            At::Rules { layer: self.layer }
        } else {
            At::Nothing
        }
    }

    /// Layers within layers have an order of their own, which is not followed here.
    fn layers(&mut self, prelude: &str) -> At {
        let mut last = None;
        for one in prelude.split(',') {
            last = Some(self.sheet.layer(one.trim(), self.layer));
        }
        let nested = self.layer.is_some() || prelude.contains('.');
        if nested && !self.sheet.doubt() {
            return At::Nothing;
        }
        At::Rules { layer: last }
    }

    fn at_block(&mut self, at: At, input: &mut Parser<'_>) {
        match at {
            At::Rules { layer } => self.block(input, self.within.clone(), layer),
            At::Frames(name) => {
                let mut frames = Frames::default();
                for _ in RuleBodyParser::<_, (), ()>::new(input, &mut frames) {}
                // Names tell cases apart here, but words of values are lowered.
                let known = self
                    .sheet
                    .frames
                    .entry(name.to_ascii_lowercase())
                    .or_default();
                known.first.extend(frames.first);
                known.last.extend(frames.last);
            }
            At::Registered(name) => {
                while input.next().is_ok() {}
                self.sheet.registered.push(Rc::from(name));
            }
            At::Nothing => while input.next().is_ok() {},
        }
    }
}

/// A block: declarations may stand in it as well as rules.
struct Inside<'r, 's>(&'r mut Reader<'s>);

impl<'i> DeclarationParser<'i> for Inside<'_, '_> {
    type Declaration = ();
    type Error = ();

    fn parse_value(
        &mut self,
        name: CowRcStr<'i>,
        input: &mut Parser<'i>,
        _: &ParserState,
    ) -> Result<(), ParseError<()>> {
        if let Some(property) = Property::named(&name) {
            self.0.found.push(declaration(property, rest(input)));
        }
        while input.next().is_ok() {}
        Ok(())
    }
}

fn declaration(property: Property, value: &str) -> Declaration {
    let bang = value.rfind('!').map(|at| value.split_at(at));
    let important = bang.filter(|(_, mark)| {
        let mut mark = Parser::new(mark);
        parse_important(&mut mark).is_ok() && mark.is_exhausted()
    });
    Declaration {
        property,
        value: important
            .map_or(value, |(value, _)| value.trim_end())
            .to_owned(),
        important: important.is_some(),
    }
}

impl<'i> AtRuleParser<'i> for Inside<'_, '_> {
    type Prelude = At;
    type AtRule = ();
    type Error = ();

    fn parse_prelude(
        &mut self,
        name: CowRcStr<'i>,
        input: &mut Parser<'i>,
    ) -> Result<At, ParseError<()>> {
        Ok(self.0.at(&name, input))
    }

    fn rule_without_block(&mut self, _: At, _: &ParserState) -> Result<(), ()> {
        Ok(())
    }

    fn parse_block(
        &mut self,
        at: At,
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), ParseError<()>> {
        self.0.at_block(at, input);
        Ok(())
    }
}

impl<'i> QualifiedRuleParser<'i> for Inside<'_, '_> {
    type Prelude = Prelude;
    type QualifiedRule = ();
    type Error = ();

    fn parse_prelude(&mut self, input: &mut Parser<'i>) -> Result<Prelude, ParseError<()>> {
        if self.0.sheet.is_too_much() {
            return Err(ParseError::from_basic_kind(
                BasicParseErrorKind::QualifiedRuleInvalid,
            ));
        }
        parser::parse(input, self.0.within.as_ref())
            .ok_or_else(|| ParseError::from_basic_kind(BasicParseErrorKind::QualifiedRuleInvalid))
    }

    fn parse_block(
        &mut self,
        prelude: Prelude,
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), ParseError<()>> {
        self.0.block(input, Some(prelude), self.0.layer);
        Ok(())
    }
}

impl RuleBodyItemParser<'_, (), ()> for Inside<'_, '_> {
    fn parse_declarations(&self) -> bool {
        true
    }

    fn parse_qualified(&self) -> bool {
        true
    }
}

/// How an animation begins and ends.
#[derive(Default)]
pub(crate) struct Frames {
    pub first: Vec<Declaration>,
    pub last: Vec<Declaration>,
}

impl<'i> QualifiedRuleParser<'i> for Frames {
    type Prelude = String;
    type QualifiedRule = ();
    type Error = ();

    fn parse_prelude(&mut self, input: &mut Parser<'i>) -> Result<String, ParseError<()>> {
        Ok(rest(input).to_ascii_lowercase())
    }

    fn parse_block(
        &mut self,
        when: String,
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), ParseError<()>> {
        let text = rest(input);
        for at in when.split(',') {
            match at.trim() {
                "from" | "0%" => self.first.extend(inline(text)),
                "to" | "100%" => self.last.extend(inline(text)),
                _ => {}
            }
        }
        Ok(())
    }
}

impl<'i> DeclarationParser<'i> for Frames {
    type Declaration = ();
    type Error = ();
}

impl<'i> AtRuleParser<'i> for Frames {
    type Prelude = ();
    type AtRule = ();
    type Error = ();
}

impl RuleBodyItemParser<'_, (), ()> for Frames {
    fn parse_declarations(&self) -> bool {
        false
    }

    fn parse_qualified(&self) -> bool {
        true
    }
}
