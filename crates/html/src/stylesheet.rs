//! Style sheets: which rules there are, whether they apply, and what they declare.
//!
//! Harmless properties are not kept. The syntax is cssparser's business.

use std::collections::HashMap;
use std::rc::Rc;

use cssparser::{
    AtRuleParser, BasicParseErrorKind, CowRcStr, DeclarationParser, ParseError, Parser,
    ParserState, QualifiedRuleParser, RuleBodyItemParser, RuleBodyParser, StyleSheetParser, Token,
    parse_important,
};

use crate::conditions;
use crate::custom_properties;
use crate::declared::keeps_white_space;
use crate::elements;
use crate::properties::{Property, Syntax};
use crate::selector::parser::{self, Prelude};
use crate::truth::Truth;

/// Of all rules of a page together.
const MAX_SELECTORS: usize = 200_000;
/// Blocks in blocks.
const MAX_NESTING: usize = 24;

/// All style sheets of a page.
#[derive(Default)]
pub(crate) struct StyleSheet {
    /// Selectors met so far, those that `&` stands for included.
    selectors: usize,
    depth: usize,
    /// Declarations met so far.
    declarations: usize,
    pub rules: Vec<Rule>,
    /// What the keyframes of all animations declare.
    pub keyframes: Vec<Declaration>,
    /// Custom properties that `@property` has given rules of their own.
    pub registered: Vec<Rc<str>>,
    /// A font whose letters may have no shape.
    pub odd_font: bool,
    /// A style sheet that is written into an address, and is not read.
    pub unread_sheet: bool,
    /// Some controls are disabled by what stands around them.
    pub dims_controls: bool,
    /// The page asks for dark colors.
    pub dark: bool,
    /// The order of the layers is not known.
    pub layers_unknown: bool,
    /// Cascade layers by the layer around them and their name, numbered by their first mention.
    layers: HashMap<(Option<usize>, String), usize>,
}

pub(crate) struct Rule {
    pub prelude: Prelude,
    pub declarations: Rc<[Declaration]>,
    pub scope: Scope,
}

/// Where a rule stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    /// Whether its conditions hold.
    pub holds: Truth,
    pub layer: Option<usize>,
    /// Its rank among other rules is not known.
    pub unranked: bool,
}

impl Default for Scope {
    fn default() -> Self {
        Self {
            holds: Truth::Yes,
            layer: None,
            unranked: false,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Declaration {
    pub property: Property,
    pub syntax: Syntax,
    pub value: String,
    pub important: bool,
    /// Its place among all declarations of the page.
    pub order: usize,
}

impl Declaration {
    /// Whether it has a number, which animations change step by step.
    pub(crate) fn has_number(&self) -> bool {
        self.value.contains(|char: char| char.is_ascii_digit())
    }

    /// Whether it is for white space, and keeps it.
    pub(crate) fn keeps_white_space(&self) -> bool {
        keeps_white_space(&self.value)
    }
}

impl StyleSheet {
    /// There are more rules than a mail needs.
    pub(crate) fn is_too_much(&self) -> bool {
        self.selectors > MAX_SELECTORS
    }

    /// Adds what one `<style>` element says.
    pub(crate) fn read(&mut self, css: &str, holds: Truth) {
        let mut input = Parser::new(css);
        let scope = Scope {
            holds,
            ..Scope::default()
        };
        let mut reader = Reader::new(self, scope);
        // Rules that make no sense are skipped one by one, as browsers do.
        for _ in StyleSheetParser::new(&mut input, &mut RuleBlock(&mut reader)) {}
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
    let mut sheet = StyleSheet::default();
    let mut reader = Reader::new(&mut sheet, Scope::default());
    reader.is_attribute = true;
    let mut input = Parser::new(style);
    for _ in RuleBodyParser::<_, (), ()>::new(&mut input, &mut RuleBlock(&mut reader)) {}
    reader.found
}

/// Reads rules and declarations on one level.
struct Reader<'s> {
    sheet: &'s mut StyleSheet,
    within: Option<Prelude>,
    scope: Scope,
    found: Vec<Declaration>,
    /// Selectors may be meant for another namespace than HTML's.
    foreign: bool,
    /// It reads a `style` attribute.
    is_attribute: bool,
}

impl<'s> Reader<'s> {
    fn new(sheet: &'s mut StyleSheet, scope: Scope) -> Self {
        Self {
            sheet,
            within: None,
            scope,
            found: Vec::new(),
            foreign: false,
            is_attribute: false,
        }
    }

    /// A block of declarations and further rules.
    fn block(&mut self, input: &mut Parser<'_>, prelude: Option<Prelude>, scope: Scope) {
        let count = |prelude: Option<&Prelude>| {
            prelude.map_or(0, |prelude| prelude.selectors.slice().len())
        };
        self.sheet.selectors += 1 + count(prelude.as_ref()) + count(self.within.as_ref());
        if self.sheet.is_too_much() || self.sheet.depth >= MAX_NESTING {
            self.sheet.selectors = MAX_SELECTORS + 1;
            while input.next().is_ok() {}
            return;
        }
        let mut inner = Reader {
            foreign: self.foreign,
            sheet: self.sheet,
            within: prelude,
            scope,
            found: Vec::new(),
            is_attribute: false,
        };
        inner.sheet.depth += 1;
        for _ in RuleBodyParser::<_, (), ()>::new(input, &mut RuleBlock(&mut inner)) {}
        inner.sheet.depth -= 1;
        if let Some(prelude) = inner.within
            && !inner.found.is_empty()
        {
            inner.sheet.rules.push(Rule {
                prelude,
                declarations: inner.found.into(),
                scope: Scope {
                    holds: scope.holds.and(if inner.foreign {
                        Truth::Unknown
                    } else {
                        Truth::Yes
                    }),
                    ..scope
                },
            });
        }
    }
}

/// What an at-rule's block is.
enum AtBlock {
    Rules(Scope),
    Layers(Vec<String>),
    Keyframes,
    Registered(String),
    FontFace,
    /// It says nothing about text.
    Nothing,
}

fn rest<'i>(input: &mut Parser<'i>) -> &'i str {
    let start = input.position();
    while input.next().is_ok() {}
    input.slice_from(start).trim()
}

impl Reader<'_> {
    fn at(&mut self, name: &str, input: &mut Parser<'_>) -> AtBlock {
        let prelude = rest(input);
        let holds = match name.to_ascii_lowercase().as_str() {
            "media" => conditions::media(prelude),
            "supports" => conditions::supports(prelude),
            "layer" => return layer_names(prelude).map_or(AtBlock::Nothing, AtBlock::Layers),
            // What stands in it without a selector, or begins with a combinator, is not read.
            "scope" => {
                self.sheet.unread_sheet = true;
                return AtBlock::Rules(Scope {
                    holds: Truth::Unknown,
                    unranked: true,
                    ..self.scope
                });
            }
            "keyframes" | "-webkit-keyframes" => return AtBlock::Keyframes,
            "property" => return AtBlock::Registered(prelude.to_owned()),
            "font-face" => return AtBlock::FontFace,
            "import" => {
                let mut parser = Parser::new(prelude);
                let url = parser.expect_url_or_string();
                self.sheet.unread_sheet |= url.map_or(true, |url| elements::is_embedded(&url));
                // It may name a layer.
                self.sheet.layers_unknown |= !parser.is_exhausted();
                return AtBlock::Nothing;
            }
            // Marks of lists may be any text.
            "counter-style" => {
                self.sheet.unread_sheet = true;
                return AtBlock::Nothing;
            }
            "namespace" => {
                self.foreign = true;
                return AtBlock::Nothing;
            }
            // None of these holds rules for text on a screen.
            "charset"
            | "page"
            | "font-feature-values"
            | "font-palette-values"
            | "view-transition"
            | "position-try"
            | "color-profile"
            | "viewport"
            | "-ms-viewport"
            | "-o-viewport"
            | "-moz-document"
            | "document"
            | "-moz-keyframes"
            | "-o-keyframes"
            | "-ms-keyframes"
            | "function" => {
                return AtBlock::Nothing;
            }
            _ => Truth::Unknown,
        };
        AtBlock::Rules(Scope {
            holds: self.scope.holds.and(holds),
            ..self.scope
        })
    }

    /// Layers within layers have an order of their own, which is not followed here.
    fn layer(&mut self, name: &str) -> Scope {
        self.sheet.layers_unknown |= !self.scope.holds.is_certain();
        if let Some((outer, _)) = name.split_once('.') {
            self.sheet.layer(outer, self.scope.layer);
        }
        Scope {
            holds: self.scope.holds,
            layer: Some(self.sheet.layer(name, self.scope.layer)),
            unranked: self.scope.unranked || self.scope.layer.is_some() || name.contains('.'),
        }
    }

    fn at_block(&mut self, at: AtBlock, input: &mut Parser<'_>) {
        match at {
            AtBlock::Rules(scope) => self.block(input, self.within.clone(), scope),
            AtBlock::Layers(names) if names.len() < 2 => {
                let name = names.first().map_or("", String::as_str);
                let scope = self.layer(name);
                self.block(input, self.within.clone(), scope);
            }
            AtBlock::Keyframes => {
                let mut frames = Keyframes(Vec::new());
                for _ in RuleBodyParser::<_, (), ()>::new(input, &mut frames) {}
                self.sheet.keyframes.extend(frames.0);
            }
            AtBlock::Registered(name) => {
                while input.next().is_ok() {}
                let name = custom_properties::plain(&name);
                self.sheet.registered.push(Rc::from(name.trim()));
            }
            AtBlock::FontFace => {
                let mut text = rest(input).to_ascii_lowercase();
                // Browsers take these out of addresses.
                text.retain(|char| !matches!(char, '\t' | '\n' | '\r'));
                let odd = ["data:", "size-adjust", "-override", "\\", "var("];
                self.sheet.odd_font |= odd.iter().any(|odd| text.contains(odd));
            }
            AtBlock::Layers(_) | AtBlock::Nothing => while input.next().is_ok() {},
        }
    }
}

/// The names of `@layer a, b.c`; none for a layer without a name. `None` when browsers ignore the
/// rule.
fn layer_names(prelude: &str) -> Option<Vec<String>> {
    let mut parser = Parser::new(prelude);
    if parser.is_exhausted() {
        return Some(Vec::new());
    }
    let name = |parser: &mut Parser<'_>| {
        // Dots that stand in a name part nothing.
        let mut name = parser.expect_ident()?.replace('.', "\0");
        while !parser.is_exhausted() {
            match (
                parser.next_including_whitespace()?.clone(),
                parser.next_including_whitespace()?,
            ) {
                (Token::Delim('.'), Token::Ident(part)) => {
                    name.push('.');
                    name.push_str(&part.replace('.', "\0"));
                }
                _ => return Err(ParseError::<()>::custom(())),
            }
        }
        Ok(name)
    };
    parser.parse_comma_separated(name).ok()
}

/// A block: declarations may stand in it as well as rules.
struct RuleBlock<'r, 's>(&'r mut Reader<'s>);

impl<'i> DeclarationParser<'i> for RuleBlock<'_, '_> {
    type Declaration = ();
    type Error = ();

    fn parse_value(
        &mut self,
        name: CowRcStr<'i>,
        input: &mut Parser<'i>,
        _: &ParserState,
    ) -> Result<(), ParseError<()>> {
        let start = input.position();
        let custom = name.starts_with("--");
        let mut is_broken = false;
        while let Ok(token) = input.next() {
            is_broken |= token.is_parse_error();
            // `a:hover { … }` begins like a declaration.
            if *token == Token::CurlyBracketBlock && !custom {
                return Err(ParseError::custom(()));
            }
        }
        if let Some(property) = Property::named(&name) {
            self.0.sheet.declarations += 1;
            let order = self.0.sheet.declarations;
            let syntax = Syntax::of(&name);
            let found = declaration(
                property,
                syntax,
                input.slice_from(start).trim_ascii(),
                order,
            );
            let is_value = || !is_broken && custom_properties::is_custom_value(&found.value);
            if !custom || name.len() > 2 && is_value() {
                self.0.found.push(found);
            }
        }
        Ok(())
    }
}

fn declaration(property: Property, syntax: Syntax, value: &str, order: usize) -> Declaration {
    let bang = value.rfind('!').map(|at| value.split_at(at));
    let important = bang.filter(|(_, mark)| {
        let mut mark = Parser::new(mark);
        parse_important(&mut mark).is_ok() && mark.is_exhausted()
    });
    Declaration {
        property,
        syntax,
        value: important
            .map_or(value, |(value, _)| value.trim_ascii_end())
            .to_owned(),
        important: important.is_some(),
        order,
    }
}

impl<'i> AtRuleParser<'i> for RuleBlock<'_, '_> {
    type Prelude = AtBlock;
    type AtRule = ();
    type Error = ();

    fn parse_prelude(
        &mut self,
        name: CowRcStr<'i>,
        input: &mut Parser<'i>,
    ) -> Result<AtBlock, ParseError<()>> {
        Ok(self.0.at(&name, input))
    }

    fn rule_without_block(&mut self, at: AtBlock, _: &ParserState) -> Result<(), ()> {
        if let AtBlock::Layers(names) = at {
            for name in names {
                self.0.layer(&name);
            }
        }
        Ok(())
    }

    fn parse_block(
        &mut self,
        at: AtBlock,
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), ParseError<()>> {
        self.0.at_block(at, input);
        Ok(())
    }
}

impl<'i> QualifiedRuleParser<'i> for RuleBlock<'_, '_> {
    type Prelude = Prelude;
    type QualifiedRule = ();
    type Error = ();

    fn parse_prelude(&mut self, input: &mut Parser<'i>) -> Result<Prelude, ParseError<()>> {
        let invalid = || ParseError::from_basic_kind(BasicParseErrorKind::QualifiedRuleInvalid);
        if self.0.sheet.is_too_much() {
            return Err(invalid());
        }
        parser::parse(input, self.0.within.as_ref(), self.0.foreign).ok_or_else(invalid)
    }

    fn parse_block(
        &mut self,
        prelude: Prelude,
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), ParseError<()>> {
        self.0.block(input, Some(prelude), self.0.scope);
        Ok(())
    }
}

impl RuleBodyItemParser<'_, (), ()> for RuleBlock<'_, '_> {
    fn parse_declarations(&self) -> bool {
        self.0.within.is_some() || self.0.is_attribute
    }

    fn parse_qualified(&self) -> bool {
        !self.0.is_attribute
    }
}

/// What the frames of an animation declare, whenever it is.
struct Keyframes(Vec<Declaration>);

impl<'i> QualifiedRuleParser<'i> for Keyframes {
    type Prelude = ();
    type QualifiedRule = ();
    type Error = ();

    fn parse_prelude(&mut self, input: &mut Parser<'i>) -> Result<(), ParseError<()>> {
        rest(input);
        Ok(())
    }

    fn parse_block(
        &mut self,
        (): (),
        _: &ParserState,
        input: &mut Parser<'i>,
    ) -> Result<(), ParseError<()>> {
        self.0.extend(inline(rest(input)));
        Ok(())
    }
}

impl<'i> DeclarationParser<'i> for Keyframes {
    type Declaration = ();
    type Error = ();
}

impl<'i> AtRuleParser<'i> for Keyframes {
    type Prelude = ();
    type AtRule = ();
    type Error = ();
}

impl RuleBodyItemParser<'_, (), ()> for Keyframes {
    fn parse_declarations(&self) -> bool {
        false
    }

    fn parse_qualified(&self) -> bool {
        true
    }
}
