//! Ways to hide text in documents: none of them is shown as if a reader saw it, and ordinary text
//! stays as it is.

use extract::formats::{MAX_CHARS, extract};
use mail::{ExtractedText, Format};

use crate::built::package;

/// What each document hides, and what it shows.
pub(crate) const SECRET: &str = "SECRET";
pub(crate) const PLAIN: &str = "PLAIN";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expected {
    Visible,
    Uncertain,
    Hidden,
}
use Expected::{Hidden, Uncertain, Visible};

pub(crate) fn verdict(done: &ExtractedText, word: &str) -> Expected {
    let text = String::from_utf8_lossy(done.text.bytes()).into_owned();
    let Some((before, _)) = text.split_once(word) else {
        return Hidden;
    };
    let start = before.chars().count();
    let end = start + word.chars().count();
    let marked = done
        .uncertain
        .iter()
        .any(|run| run.start <= start && end <= run.end);
    let touched = done
        .uncertain
        .iter()
        .any(|run| run.start < end && start < run.end);
    match (marked, touched) {
        (true, _) => Uncertain,
        (false, false) => Visible,
        (false, true) => panic!("partly marked: {text}"),
    }
}

pub(crate) fn check(what: &str, format: Format, bytes: &[u8], secret: Expected) {
    let done = extract(format, bytes, MAX_CHARS).unwrap_or_else(|fault| panic!("{what}: {fault}"));
    let text = String::from_utf8_lossy(done.text.bytes()).into_owned();
    assert_eq!(verdict(&done, SECRET), secret, "{what}: {text}");
    if secret == Hidden {
        assert!(done.hidden_chars() >= SECRET.len(), "{what}: not counted");
    }
    if text.contains(PLAIN) || secret == Visible {
        assert_eq!(verdict(&done, PLAIN), Visible, "{what}: {text}");
    }
}

fn word(body: &str, styles: &str, theme: &str) -> Vec<u8> {
    let document = format!("<w:document><w:body>{body}</w:body></w:document>");
    let styles = format!("<w:styles>{styles}</w:styles>");
    let theme = format!("<a:theme><a:clrScheme>{theme}</a:clrScheme></a:theme>");
    package(&[
        ("word/document.xml", document.as_bytes()),
        ("word/styles.xml", styles.as_bytes()),
        ("word/theme/theme1.xml", theme.as_bytes()),
    ])
}

fn run(properties: &str, text: &str) -> String {
    format!("<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>")
}

fn paragraph(properties: &str, runs: &str) -> String {
    format!("<w:p><w:pPr>{properties}</w:pPr>{runs}</w:p>")
}

#[test]
fn word_run_properties_determine_visibility() {
    for (properties, secret) in [
        ("<w:vanish/>", Hidden),
        ("<w:color w:val='FFFFFF'/>", Hidden),
        ("<w:color w:val='FDFDFD'/>", Hidden),
        ("<w:color w:val='F2F2F2'/>", Hidden),
        (
            "<w:color w:themeColor='background1' w:val='FFFFFF'/>",
            Hidden,
        ),
        (
            "<w:color w:themeColor='background1' w:val='000000'/>",
            Uncertain,
        ),
        (
            "<w:color w:themeColor='background1' w:themeShade='F2'/>",
            Hidden,
        ),
        (
            "<w:color w:val='000000'/><w:shd w:val='clear' w:fill='000000'/>",
            Hidden,
        ),
        (
            "<w:color w:val='000000'/><w:highlight w:val='black'/>",
            Hidden,
        ),
        (
            "<w:color w:val='FFFF00'/><w:highlight w:val='yellow'/>",
            Hidden,
        ),
        (
            "<w:color w:val='112233'/><w:shd w:val='solid' w:color='112233'/>",
            Hidden,
        ),
        ("<w:highlight w:val='black'/>", Uncertain),
        (
            "<w:color w:val='FF0000'/><w:shd w:val='pct50' w:fill='FFFFFF'/>",
            Uncertain,
        ),
        ("<w:sz w:val='1'/>", Hidden),
        ("<w:sz w:val='5'/>", Uncertain),
        ("<w:w w:val='1'/>", Hidden),
        ("<w:position w:val='3000'/>", Uncertain),
        ("<w:spacing w:val='-200'/>", Uncertain),
        ("<w14:textFill><w14:noFill/></w14:textFill>", Hidden),
        (
            "<w14:textFill><w14:solidFill><w14:srgbClr w14:val='FFFFFF'/></w14:solidFill></w14:textFill>",
            Hidden,
        ),
        ("<w:color w:val='nonsense'/>", Uncertain),
        ("<w:rStyle w:val='Based'/>", Hidden),
        ("<w:b/><w:i/>", Visible),
        ("<w:color w:val='auto'/>", Visible),
        ("<w:color w:val='FF0000'/>", Visible),
        (
            "<w:color w:val='FFFFFF'/><w:shd w:val='clear' w:fill='1F3864'/>",
            Visible,
        ),
        ("<w:color w:themeColor='text1'/>", Visible),
        ("<w:highlight w:val='yellow'/>", Visible),
        ("<w:sz w:val='16'/><w:webHidden/>", Visible),
    ] {
        let body = paragraph("", &(run("", PLAIN) + &run(properties, SECRET)));
        let styles = "<w:style w:type='character' w:styleId='White'><w:rPr><w:color w:val='FFFFFF'/></w:rPr></w:style>\
                      <w:style w:type='character' w:styleId='Based'><w:basedOn w:val='White'/></w:style>";
        check(properties, Format::Docx, &word(&body, styles, ""), secret);
    }
}

#[test]
fn word_styles_determine_visibility() {
    let default = |inner: &str| {
        format!("<w:style w:type='paragraph' w:default='1' w:styleId='N'>{inner}</w:style>")
    };
    let vanish = "<w:rPr><w:vanish/></w:rPr>";
    let marked = run("", SECRET);
    for (what, body, styles, secret) in [
        (
            "default style",
            paragraph("", &marked),
            default(vanish),
            Hidden,
        ),
        (
            "document defaults",
            paragraph("", &marked),
            format!("<w:docDefaults><w:rPrDefault>{vanish}</w:rPrDefault></w:docDefaults>"),
            Hidden,
        ),
        (
            "tiny by default",
            paragraph("", &marked),
            default("<w:rPr><w:sz w:val='2'/></w:rPr>"),
            Hidden,
        ),
        (
            "default character style",
            paragraph("", &marked),
            format!("<w:style w:type='character' w:default='1' w:styleId='C'>{vanish}</w:style>"),
            Hidden,
        ),
        (
            "switched on twice",
            paragraph(
                "<w:pStyle w:val='P'/>",
                &run("<w:rStyle w:val='C'/>", SECRET),
            ),
            format!(
                "<w:style w:type='paragraph' w:styleId='P'>{vanish}</w:style>\
                 <w:style w:type='character' w:styleId='C'>{vanish}</w:style>"
            ),
            Uncertain,
        ),
        (
            "black on a black paragraph",
            paragraph(
                "<w:shd w:val='clear' w:fill='000000'/>",
                &run("<w:color w:val='000000'/>", SECRET),
            ),
            String::new(),
            Hidden,
        ),
        (
            "a line one point high",
            paragraph("<w:spacing w:line='20' w:lineRule='exact'/>", &marked),
            String::new(),
            Hidden,
        ),
        (
            "an indent beyond the page",
            paragraph("<w:ind w:left='-20000'/>", &marked),
            String::new(),
            Uncertain,
        ),
        (
            "a frame beyond the page",
            paragraph("<w:framePr w:x='-20000' w:y='1'/>", &marked),
            String::new(),
            Uncertain,
        ),
        (
            "margins beyond the page",
            paragraph("", &marked)
                + "<w:sectPr><w:pgSz w:w='12240' w:h='15840'/><w:pgMar w:left='20000' w:right='0'/></w:sectPr>",
            String::new(),
            Uncertain,
        ),
        (
            "a table's style",
            format!(
                "<w:tbl><w:tblPr><w:tblStyle w:val='T'/></w:tblPr><w:tr><w:tc>{}</w:tc></w:tr></w:tbl>",
                paragraph("", &marked)
            ),
            format!("<w:style w:type='table' w:styleId='T'>{vanish}</w:style>"),
            Hidden,
        ),
        (
            "a row of no height",
            format!(
                "<w:tbl><w:tr><w:trPr><w:trHeight w:val='1' w:hRule='exact'/></w:trPr><w:tc>{}</w:tc></w:tr></w:tbl>",
                paragraph("", &marked)
            ),
            String::new(),
            Hidden,
        ),
        (
            "a hidden row",
            format!(
                "<w:tbl><w:tr><w:trPr><w:hidden/></w:trPr><w:tc>{}</w:tc></w:tr></w:tbl>",
                paragraph("", &marked)
            ),
            String::new(),
            Hidden,
        ),
        (
            "black in a black cell",
            format!(
                "<w:tbl><w:tr><w:tc><w:tcPr><w:shd w:val='clear' w:fill='000000'/></w:tcPr>{}</w:tc></w:tr></w:tbl>",
                paragraph("", &run("<w:color w:val='0A0A0A'/>", SECRET))
            ),
            String::new(),
            Hidden,
        ),
        (
            "a field's code",
            paragraph(
                "",
                &format!(
                    "<w:r><w:fldChar w:fldCharType='begin'/></w:r>{marked}<w:r><w:fldChar w:fldCharType='separate'/></w:r>{}<w:r><w:fldChar w:fldCharType='end'/></w:r>",
                    run("", PLAIN)
                ),
            ),
            String::new(),
            Hidden,
        ),
        (
            "a box far off the page",
            paragraph(
                "",
                &format!(
                    "<w:r><w:drawing><wp:anchor><wp:positionH><wp:posOffset>-99999999</wp:posOffset></wp:positionH><wps:wsp><wps:txbx><w:txbxContent>{}</w:txbxContent></wps:txbx></wps:wsp></wp:anchor></w:drawing></w:r>",
                    paragraph("", &marked)
                ),
            ),
            String::new(),
            Hidden,
        ),
        (
            "a hidden shape of old",
            paragraph(
                "",
                &format!(
                    "<w:r><w:pict><v:shape style='width:100pt;visibility:hidden'><v:textbox><w:txbxContent>{}</w:txbxContent></v:textbox></v:shape></w:pict></w:r>",
                    paragraph("", &marked)
                ),
            ),
            String::new(),
            Hidden,
        ),
        (
            "white in a box that may be dark",
            paragraph(
                "",
                &format!(
                    "<w:r><w:drawing><wps:wsp><wps:spPr><a:blipFill/></wps:spPr><wps:txbx><w:txbxContent>{}</w:txbxContent></wps:txbx></wps:wsp></w:drawing></w:r>",
                    paragraph("", &run("<w:color w:val='FFFFFF'/>", SECRET))
                ),
            ),
            String::new(),
            Uncertain,
        ),
        (
            "white in a dark box",
            paragraph("", &run("", PLAIN))
                + &paragraph(
                    "",
                    &format!(
                        "<w:r><w:drawing><wps:wsp><wps:spPr><a:solidFill><a:srgbClr val='203040'/></a:solidFill></wps:spPr><wps:txbx><w:txbxContent>{}</w:txbxContent></wps:txbx></wps:wsp></w:drawing></w:r>",
                        paragraph("", &run("<w:color w:val='FFFFFF'/>", SECRET))
                    ),
                ),
            String::new(),
            Visible,
        ),
        (
            "an ordinary document",
            paragraph("<w:pStyle w:val='H'/>", &run("", PLAIN)) + &paragraph("", &marked),
            default("<w:rPr><w:sz w:val='22'/><w:color w:themeColor='text1'/></w:rPr>")
                + "<w:style w:type='paragraph' w:styleId='H'><w:basedOn w:val='N'/><w:rPr><w:color w:val='1F3864'/></w:rPr></w:style>",
            Visible,
        ),
    ] {
        check(what, Format::Docx, &word(&body, &styles, ""), secret);
    }
}

const BOOK_RELATIONS: &str = "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>\
    <Relationship Id='r1' Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet' Target='worksheets/sheet1.xml'/>\
    <Relationship Id='r2' Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles' Target='styles.xml'/></Relationships>";

/// A sheet whose first cell has the style 1, on column A.
fn workbook(styles: &str, before: &str, row: &str, cell: &str, after: &str) -> Vec<u8> {
    let sheet = format!(
        "<worksheet>{before}<sheetData><row r='1' {row}><c r='A1' s='1' t='inlineStr'>{cell}</c></row>\
         <row r='2'><c r='B2' t='inlineStr'><is><t>{PLAIN}</t></is></c></row></sheetData>{after}</worksheet>"
    );
    let styles = format!("<styleSheet>{styles}</styleSheet>");
    package(&[
        ("[Content_Types].xml", b"<Types/>".as_slice()),
        (
            "_rels/.rels",
            b"<Relationships><Relationship Id='d' Type='http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument' Target='xl/workbook.xml'/></Relationships>",
        ),
        (
            "xl/workbook.xml",
            b"<workbook xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'><sheets><sheet name='S' sheetId='1' r:id='r1'/></sheets></workbook>",
        ),
        ("xl/_rels/workbook.xml.rels", BOOK_RELATIONS.as_bytes()),
        ("xl/styles.xml", styles.as_bytes()),
        ("xl/worksheets/sheet1.xml", sheet.as_bytes()),
    ])
}

fn cell_styles(font: &str, fill: &str, format: &str) -> String {
    format!(
        "<numFmts><numFmt numFmtId='164' formatCode='{format}'/></numFmts>\
         <fonts><font><sz val='11'/></font><font><sz val='11'/>{font}</font></fonts>\
         <fills><fill><patternFill patternType='none'/></fill><fill>{fill}</fill></fills>\
         <cellXfs><xf/><xf numFmtId='164' fontId='1' fillId='1'/></cellXfs>\
         <dxfs><dxf><font><color rgb='FFFFFFFF'/></font></dxf><dxf><fill><patternFill><bgColor rgb='FFFFFF00'/></patternFill></fill></dxf></dxfs>"
    )
}

#[test]
fn excel_styles_and_places_determine_visibility() {
    let solid = |colour: &str| {
        format!("<patternFill patternType='solid'><fgColor {colour}/></patternFill>")
    };
    let rule = |dxf: usize| {
        format!(
            "<conditionalFormatting sqref='A1:A9'><cfRule type='expression' dxfId='{dxf}'><formula>TRUE</formula></cfRule></conditionalFormatting>"
        )
    };
    let plain = format!("<is><t>{SECRET}</t></is>");
    let none = "<patternFill patternType='none'/>";
    let cases: Vec<(&str, String, &str, &str, String, String, Expected)> = vec![
        (
            "ordinary",
            cell_styles("", none, "General"),
            "",
            "",
            plain.clone(),
            String::new(),
            Visible,
        ),
        (
            "white on none",
            cell_styles("<color rgb='FFFFFFFF'/>", none, "General"),
            "",
            "",
            plain.clone(),
            String::new(),
            Hidden,
        ),
        (
            "theme white",
            cell_styles("<color theme='0'/>", none, "General"),
            "",
            "",
            plain.clone(),
            String::new(),
            Hidden,
        ),
        (
            "indexed white",
            cell_styles("<color indexed='9'/>", none, "General"),
            "",
            "",
            plain.clone(),
            String::new(),
            Hidden,
        ),
        (
            "tinted to white",
            cell_styles("<color theme='1' tint='0.98'/>", none, "General"),
            "",
            "",
            plain.clone(),
            String::new(),
            Hidden,
        ),
        (
            "black on black",
            cell_styles("", &solid("rgb='FF000000'"), "General"),
            "",
            "",
            plain.clone(),
            String::new(),
            Hidden,
        ),
        (
            "the same red",
            cell_styles(
                "<color rgb='FFFF0000'/>",
                &solid("rgb='FFFA0505'"),
                "General",
            ),
            "",
            "",
            plain.clone(),
            String::new(),
            Hidden,
        ),
        (
            "white on blue",
            cell_styles(
                "<color rgb='FFFFFFFF'/>",
                &solid("rgb='FF203080'"),
                "General",
            ),
            "",
            "",
            plain.clone(),
            String::new(),
            Visible,
        ),
        (
            "on an unknown fill",
            cell_styles("", &solid("theme='7'"), "General"),
            "",
            "",
            plain.clone(),
            String::new(),
            Uncertain,
        ),
        (
            "format of nothing",
            cell_styles("", none, ";;;"),
            "",
            "",
            plain.clone(),
            String::new(),
            Hidden,
        ),
        (
            "format of a blank",
            cell_styles("", none, "0;0;0;\" \""),
            "",
            "",
            plain.clone(),
            String::new(),
            Hidden,
        ),
        (
            "format in white",
            cell_styles("", none, "0;0;0;[White]@"),
            "",
            "",
            plain.clone(),
            String::new(),
            Hidden,
        ),
        (
            "format with a condition",
            cell_styles("", none, "[>5]0;;;"),
            "",
            "",
            plain.clone(),
            String::new(),
            Uncertain,
        ),
        (
            "tiny",
            cell_styles("<sz val='1'/>", none, "General"),
            "",
            "",
            plain.clone(),
            String::new(),
            Hidden,
        ),
        (
            "hidden row",
            cell_styles("", none, "General"),
            "",
            "hidden='1'",
            plain.clone(),
            String::new(),
            Hidden,
        ),
        (
            "row of no height",
            cell_styles("", none, "General"),
            "",
            "ht='0' customHeight='1'",
            plain.clone(),
            String::new(),
            Hidden,
        ),
        (
            "hidden column",
            cell_styles("", none, "General"),
            "<cols><col min='1' max='1' hidden='1'/></cols>",
            "",
            plain.clone(),
            String::new(),
            Hidden,
        ),
        (
            "column of no width",
            cell_styles("", none, "General"),
            "<cols><col min='1' max='1' width='0' customWidth='1'/></cols>",
            "",
            plain.clone(),
            String::new(),
            Hidden,
        ),
        (
            "narrow column",
            cell_styles("", none, "General"),
            "<cols><col min='1' max='1' width='0.5' customWidth='1'/></cols>",
            "",
            plain.clone(),
            String::new(),
            Uncertain,
        ),
        (
            "white under a condition",
            cell_styles("", none, "General"),
            "",
            "",
            plain.clone(),
            rule(0),
            Uncertain,
        ),
        (
            "yellow under a condition",
            cell_styles("", none, "General"),
            "",
            "",
            plain.clone(),
            rule(1),
            Visible,
        ),
        (
            "in white letters",
            cell_styles("", none, "General"),
            "",
            "",
            format!(
                "<is><r><t>x</t></r><r><rPr><color rgb='FFFFFFFF'/></rPr><t>{SECRET}</t></r></is>"
            ),
            String::new(),
            Hidden,
        ),
        (
            "under a merged cell",
            cell_styles("", none, "General"),
            "",
            "",
            plain.clone(),
            "<mergeCells><mergeCell ref='A1:A1'/></mergeCells>".to_owned(),
            Visible,
        ),
    ];
    for (what, styles, before, row, cell, after, secret) in cases {
        let file = workbook(&styles, before, row, &cell, &after);
        check(what, Format::Xlsx, &file, secret);
    }
}

#[test]
fn rtf_control_words_determine_visibility() {
    let table = r"{\colortbl;\red255\green255\blue255;\red0\green0\blue0;\red250\green250\blue250;\red200\green0\blue0;}";
    for (words, secret) in [
        (r"\v", Hidden),
        (r"\cf1", Hidden),
        (r"\cf3", Hidden),
        (r"\cf2\highlight2", Hidden),
        (r"\cf2\chcbpat2", Hidden),
        (r"\cf2\cb2", Uncertain),
        (r"\cf2\cbpat2", Hidden),
        (r"\highlight2", Uncertain),
        (r"\cf99", Uncertain),
        (r"\fs2", Hidden),
        (r"\fs6", Uncertain),
        (r"\charscalex1", Hidden),
        (r"\up400", Uncertain),
        (r"\sl-20", Hidden),
        (r"\li-30000", Uncertain),
        (r"\cs5", Uncertain),
        (r"\cf4", Visible),
        (r"\cf1\chcbpat4", Visible),
        (r"\b\i\fs18", Visible),
    ] {
        let rtf = format!(
            r"{{\rtf1{table}{{\stylesheet{{\s0 Normal;}}{{\*\cs5\v Secret;}}}}\pard {PLAIN} {{{words} {SECRET}}}}}"
        );
        check(words, Format::Rtf, rtf.as_bytes(), secret);
    }
    for (what, properties, secret) in [
        ("hidden shape", r"{\sp{\sn fHidden}{\sv 1}}", Hidden),
        ("shape far away", r"\shpleft-90000", Hidden),
        ("shape", r"\shpleft100{\sp{\sn fFlipH}{\sv 0}}", Visible),
    ] {
        let rtf = format!(
            r"{{\rtf1{table} {PLAIN} {{\shp{{\*\shpinst{properties}{{\shptxt {SECRET}}}}}}}}}"
        );
        check(what, Format::Rtf, rtf.as_bytes(), secret);
    }
}
