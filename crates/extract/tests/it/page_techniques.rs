//! Ways to hide text on slides, in OpenDocument files and on pages of PDFs.

use extract::formats::{MAX_CHARS, extract};
use mail::Format;

use crate::built::{self, package};
use crate::techniques::Expected::{Hidden, Uncertain, Visible};
use crate::techniques::{PLAIN, SECRET, check, verdict};

const WHOLE: &str = "<a:off x='0' y='0'/><a:ext cx='9144000' cy='6858000'/>";

fn slides(background: &str, shapes: &str, layout: &str) -> Vec<u8> {
    let slide =
        format!("<p:sld><p:cSld>{background}<p:spTree>{shapes}</p:spTree></p:cSld></p:sld>");
    let layout =
        format!("<p:sldLayout><p:cSld><p:spTree>{layout}</p:spTree></p:cSld></p:sldLayout>");
    let relations = |kind: &str, target: &str| {
        format!(
            "<Relationships><Relationship Id='r1' Type='x/{kind}' Target='{target}'/></Relationships>"
        )
    };
    let of_main = relations("slide", "slides/slide1.xml");
    let of_slide = relations("slideLayout", "../slideLayouts/l1.xml");
    let of_layout = relations("slideMaster", "../slideMasters/m1.xml");
    package(&[
        (
            "ppt/presentation.xml",
            b"<p:presentation><p:sldIdLst><p:sldId id='256' r:id='r1'/></p:sldIdLst><p:sldSz cx='9144000' cy='6858000'/></p:presentation>".as_slice(),
        ),
        ("ppt/_rels/presentation.xml.rels", of_main.as_bytes()),
        ("ppt/slides/slide1.xml", slide.as_bytes()),
        ("ppt/slides/_rels/slide1.xml.rels", of_slide.as_bytes()),
        ("ppt/slideLayouts/l1.xml", layout.as_bytes()),
        ("ppt/slideLayouts/_rels/l1.xml.rels", of_layout.as_bytes()),
        (
            "ppt/slideMasters/m1.xml",
            b"<p:sldMaster><p:cSld><p:spTree/></p:cSld><p:clrMap bg1='lt1' tx1='dk1' bg2='lt2' tx2='dk2'/></p:sldMaster>",
        ),
    ])
}

fn shape(place: &str, fill: &str, placeholder: &str, properties: &str, text: &str) -> String {
    format!(
        "<p:sp><p:nvSpPr><p:cNvPr id='1'/><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr><p:spPr><a:xfrm>{place}</a:xfrm>{fill}</p:spPr>\
         <p:txBody><a:bodyPr/><a:p><a:r><a:rPr>{properties}</a:rPr><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
    )
}

#[test]
fn slide_layers_determine_visibility() {
    let here = "<a:off x='914400' y='914400'/><a:ext cx='3000000' cy='500000'/>";
    let below = "<a:off x='914400' y='4000000'/><a:ext cx='3000000' cy='500000'/>";
    let solid = |colour: &str| format!("<a:solidFill><a:srgbClr val='{colour}'/></a:solidFill>");
    let dark = "<p:bg><p:bgPr><a:solidFill><a:srgbClr val='101010'/></a:solidFill></p:bgPr></p:bg>";
    let one =
        |place: &str, fill: &str, properties: &str| shape(place, fill, "", properties, SECRET);
    let cover =
        |fill: &str| format!("<p:sp><p:spPr><a:xfrm>{WHOLE}</a:xfrm>{fill}</p:spPr></p:sp>");
    let in_layout = format!(
        "<p:sp><p:nvSpPr><p:nvPr><p:ph type='body' idx='7'/></p:nvPr></p:nvSpPr><p:spPr><a:xfrm>{here}</a:xfrm></p:spPr>\
         <p:txBody><a:lstStyle><a:lvl1pPr><a:defRPr>{}</a:defRPr></a:lvl1pPr></a:lstStyle></p:txBody></p:sp>",
        solid("FFFFFF")
    );
    let filled = "<p:sp><p:nvSpPr><p:nvPr><p:ph type='body' idx='7'/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:p><a:r><a:t>SECRET</a:t></a:r></a:p></p:txBody></p:sp>";
    for (what, background, shapes, layout, secret) in [
        ("ordinary", "", one(here, "", ""), "", Visible),
        ("white", "", one(here, "", &solid("FFFFFF")), "", Hidden),
        (
            "near white",
            "",
            one(here, "", &solid("FAFAFA")),
            "",
            Hidden,
        ),
        (
            "colour of the theme",
            "",
            one(
                here,
                "",
                "<a:solidFill><a:schemeClr val='bg1'/></a:solidFill>",
            ),
            "",
            Hidden,
        ),
        (
            "white on dark",
            dark,
            one(here, "", &solid("FFFFFF")),
            "",
            Visible,
        ),
        ("black on dark", dark, one(here, "", ""), "", Hidden),
        (
            "black in a black shape",
            "",
            one(here, &solid("000000"), ""),
            "",
            Hidden,
        ),
        (
            "white in a dark shape",
            "",
            one(here, &solid("203040"), &solid("FFFFFF")),
            "",
            Visible,
        ),
        (
            "transparent",
            "",
            one(
                here,
                "",
                "<a:solidFill><a:srgbClr val='000000'><a:alpha val='0'/></a:srgbClr></a:solidFill>",
            ),
            "",
            Hidden,
        ),
        (
            "without a fill",
            "",
            one(here, "", "<a:noFill/>"),
            "",
            Hidden,
        ),
        (
            "off the slide",
            "",
            one(
                "<a:off x='-9000000' y='0'/><a:ext cx='3000000' cy='500000'/>",
                "",
                "",
            ),
            "",
            Hidden,
        ),
        (
            "half off the slide",
            "",
            one(
                "<a:off x='-1500000' y='0'/><a:ext cx='3000000' cy='500000'/>",
                "",
                "",
            ),
            "",
            Uncertain,
        ),
        (
            "no room",
            "",
            one("<a:off x='10' y='10'/><a:ext cx='0' cy='0'/>", "", ""),
            "",
            Uncertain,
        ),
        (
            "covered",
            "",
            one(here, "", "") + &cover(&solid("FFFFFF")),
            "",
            Uncertain,
        ),
        (
            "on a picture",
            "",
            format!("<p:pic><p:spPr><a:xfrm>{WHOLE}</a:xfrm></p:spPr></p:pic>")
                + &one(here, "", ""),
            "",
            Uncertain,
        ),
        (
            "white from the layout",
            "",
            filled.to_owned(),
            in_layout.as_str(),
            Hidden,
        ),
        (
            "white from the layout on dark",
            dark,
            filled.to_owned(),
            in_layout.as_str(),
            Visible,
        ),
    ] {
        let plain = match background {
            "" => shape(below, "", "", "", PLAIN),
            _ => shape(below, "", "", &solid("FFFF00"), PLAIN),
        };
        // What covers all of the slide covers the rest of it, too.
        let file = match what {
            "covered" | "on a picture" => slides(background, &shapes, layout),
            _ => slides(background, &(plain + &shapes), layout),
        };
        check(what, Format::Pptx, &file, secret);
    }
}

fn open_document(styles: &str, body: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content><office:automatic-styles>{styles}</office:automatic-styles><office:body>{body}</office:body></office:document-content>"
    );
    package(&[("content.xml", content.as_bytes())])
}

#[test]
fn open_document_styles_determine_visibility() {
    for (properties, secret) in [
        ("text:display='none'", Hidden),
        ("text:display='condition'", Uncertain),
        ("fo:color='#ffffff'", Hidden),
        ("fo:color='#fafafa'", Hidden),
        ("fo:color='#000000' fo:background-color='#000000'", Hidden),
        ("fo:color='#ff0000' fo:background-color='#ff0000'", Hidden),
        ("fo:font-size='1pt'", Hidden),
        ("fo:font-size='3%'", Hidden),
        ("style:text-scale='1%'", Hidden),
        ("style:text-position='super 5%'", Hidden),
        ("loext:opacity='0%'", Hidden),
        ("fo:letter-spacing='-0.2in'", Uncertain),
        ("fo:color='strange'", Uncertain),
        ("fo:color='#ff0000'", Visible),
        ("fo:color='#ffffff' fo:background-color='#203040'", Visible),
        ("fo:font-size='10pt' fo:font-weight='bold'", Visible),
    ] {
        let styles = format!(
            "<style:style style:name='B' style:family='text'><style:text-properties {properties}/></style:style>\
             <style:style style:name='S' style:family='text' style:parent-style-name='B'/>"
        );
        let body =
            format!("<text:p>{PLAIN} <text:span text:style-name='S'>{SECRET}</text:span></text:p>");
        check(
            properties,
            Format::Odt,
            &open_document(&styles, &body),
            secret,
        );
    }
    let sheet = |columns: &str, row: &str, cell: &str| {
        format!(
            "<office:spreadsheet><table:table table:name='S'>{columns}<table:table-row {row}>{cell}<text:p>{SECRET}</text:p></table:table-cell></table:table-row>\
             <table:table-row><table:table-cell/><table:table-cell><text:p>{PLAIN}</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>"
        )
    };
    let styles = "<number:text-style style:name='N0'/><number:number-style style:name='N1'><number:number/></number:number-style>\
        <style:style style:name='none' style:family='table-cell' style:data-style-name='N0'/>\
        <style:style style:name='some' style:family='table-cell' style:data-style-name='N1'/>\
        <style:style style:name='white' style:family='table-cell'><style:text-properties fo:color='#ffffff'/></style:style>\
        <style:style style:name='black' style:family='table-cell'><style:table-cell-properties fo:background-color='#000000'/><style:text-properties fo:color='#000000'/></style:style>\
        <style:style style:name='maybe' style:family='table-cell'><style:map style:condition='x' style:apply-style-name='white'/></style:style>\
        <style:style style:name='thin' style:family='table-column'><style:table-column-properties style:column-width='0in'/></style:style>\
        <style:style style:name='low' style:family='table-row'><style:table-row-properties style:row-height='0in'/></style:style>";
    let cell = |style: &str| format!("<table:table-cell table:style-name='{style}'>");
    for (what, body, secret) in [
        ("a plain cell", sheet("", "", &cell("some")), Visible),
        (
            "a format of nothing",
            sheet("", "", &cell("none")),
            Uncertain,
        ),
        ("a white cell", sheet("", "", &cell("white")), Hidden),
        ("black on black", sheet("", "", &cell("black")), Hidden),
        (
            "white under a condition",
            sheet("", "", &cell("maybe")),
            Uncertain,
        ),
        (
            "a hidden column",
            sheet(
                "<table:table-column table:visibility='collapse'/>",
                "",
                &cell(""),
            ),
            Hidden,
        ),
        (
            "a thin column",
            sheet(
                "<table:table-column table:style-name='thin'/>",
                "",
                &cell(""),
            ),
            Hidden,
        ),
        (
            "a low row",
            sheet("", "table:style-name='low'", &cell("")),
            Hidden,
        ),
        (
            "a filtered row",
            sheet("", "table:visibility='filter'", &cell("")),
            Hidden,
        ),
    ] {
        check(what, Format::Ods, &open_document(styles, &body), secret);
    }
}

/// Shows the word with these operators before it, and others behind the whole.
fn page(before: &str, after: &str) -> String {
    format!(
        "BT /F1 12 Tf 72 720 Td ({PLAIN}) Tj ET q {before} BT /F1 12 Tf 72 600 Td ({SECRET}) Tj ET Q {after}"
    )
}

#[test]
fn pdf_page_content_determines_visibility() {
    for (what, content, secret) in [
        ("ordinary", page("", ""), Visible),
        ("invisible", page("3 Tr", ""), Hidden),
        ("white", page("1 g", ""), Hidden),
        ("near white", page("0.97 0.97 0.98 rg", ""), Hidden),
        ("no ink", page("0 0 0 0 k", ""), Hidden),
        ("red", page("1 0 0 rg", ""), Visible),
        ("a pattern", page("/Pattern cs /P1 scn", ""), Uncertain),
        ("black on black", page("0 g 50 580 300 40 re f", ""), Hidden),
        (
            "white on black",
            page("0 g 50 580 300 40 re f 1 g", ""),
            Visible,
        ),
        ("covered", page("", "1 g 50 580 300 40 re f"), Hidden),
        (
            "partly covered",
            page("", "1 g 80 590 20 40 re f"),
            Uncertain,
        ),
        ("clipped away", page("0 0 10 10 re W n", ""), Hidden),
        (
            "an odd clip",
            page("0 0 m 500 0 l 500 700 l h W n", ""),
            Uncertain,
        ),
        ("a roomy clip", page("0 0 612 792 re W n", ""), Visible),
        ("tiny", page("0.05 0 0 0.05 68 570 cm", ""), Hidden),
        ("off the page", page("1 0 0 1 -2000 0 cm", ""), Hidden),
        ("an unknown state", page("/G9 gs", ""), Uncertain),
        ("a layer", page("/OC /M1 BDC", "EMC"), Visible),
    ] {
        check(what, Format::Pdf, &built::pdf_pages(&[&content]), secret);
    }
}

#[test]
fn pdf_opacity_and_layers_determine_visibility() {
    let file = |catalog: &str, resources: &str, before: &str, after: &str| {
        let content = page(before, after);
        let mut objects = built::page_objects(&[&content]);
        objects[0] = format!("<< /Type /Catalog /Pages 2 0 R {catalog} >>").into_bytes();
        objects[3] = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> {resources} >> /Contents 5 0 R >>"
        )
        .into_bytes();
        objects.push(b"<< /Type /OCG /Name (x) >>".to_vec());
        built::pdf(&objects)
    };
    let state = |alpha: &str| format!("/ExtGState << /G1 << /ca {alpha} >> >>");
    let layers = |usual: &str| format!("/OCProperties << /OCGs [6 0 R] /D << {usual} >> >>");
    let property = "/Properties << /M1 6 0 R >>";
    for (what, catalog, resources, before, after, secret) in [
        (
            "no opacity",
            String::new(),
            state("0"),
            "/G1 gs",
            "",
            Hidden,
        ),
        (
            "little opacity",
            String::new(),
            state("0.3"),
            "/G1 gs",
            "",
            Uncertain,
        ),
        ("opacity", String::new(), state("1"), "/G1 gs", "", Visible),
        (
            "layer off",
            layers("/OFF [6 0 R]"),
            property.to_owned(),
            "/OC /M1 BDC",
            "EMC",
            Hidden,
        ),
        (
            "layer on",
            layers(""),
            property.to_owned(),
            "/OC /M1 BDC",
            "EMC",
            Visible,
        ),
        (
            "layer by use",
            layers("/AS []"),
            property.to_owned(),
            "/OC /M1 BDC",
            "EMC",
            Uncertain,
        ),
    ] {
        check(
            what,
            Format::Pdf,
            &file(&catalog, &resources, before, after),
            secret,
        );
    }
}

#[test]
fn pdf_words_that_are_also_visible_are_not_removed() {
    let content = format!(
        "BT /F1 12 Tf 72 720 Td ({PLAIN}) Tj 0 -40 Td ({SECRET}) Tj ET 1 g BT /F1 12 Tf 72 600 Td ({SECRET}) Tj ET"
    );
    let done = extract(Format::Pdf, &built::pdf_pages(&[&content]), MAX_CHARS).expect("text");
    let text = String::from_utf8_lossy(done.text.bytes()).into_owned();
    assert_eq!(verdict(&done, SECRET), Uncertain, "{text}");
    assert_eq!(done.hidden_chars(), SECRET.len());
}
