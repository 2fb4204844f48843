//! The properties that are harmless whatever their value is.
//!
//! Each group says why. The names are those that Chromium 156 knows, and those of other WebKit
//! browsers that mail holds. `-webkit-` before a name of the list is another name for it.

/// A reason with its source, and the names that it holds for.
const GROUPS: &[(&str, &str)] = &[
    (
        "choose a glyph of about the same size (CSS Fonts 4); fonts of the page itself are \
                 judged by `@font-face`",
        "font-family font-feature-settings font-kerning font-language-override \
                font-optical-sizing font-smoothing font-stretch font-style font-synthesis \
                font-synthesis-small-caps font-synthesis-style font-synthesis-weight \
                font-variant font-variant-alternates font-variant-caps font-variant-east-asian \
                font-variant-emoji font-variant-ligatures font-variant-numeric \
                font-variant-position font-variation-settings font-weight locale math-depth \
                math-shift math-style text-rendering text-transform",
    ),
    (
        "choose where a line breaks and how it is filled (CSS Text 4); widths are bounded \
                 without breaks",
        "hyphenate-limit-chars hyphens line-break nbsp-mode overflow-wrap \
                rtl-ordering text-autospace text-justify text-spacing-trim text-wrap-style \
                word-break word-wrap",
    ),
    (
        "color and style of lines and marks whose width is judged by itself (CSS \
                 Backgrounds 3, CSS Text Decoration 4)",
        "border-after-color border-after-style border-before-color border-before-style \
                border-block-color border-block-end-color border-block-end-style \
                border-block-start-color border-block-start-style border-block-style \
                border-bottom-color border-bottom-style border-collapse border-color \
                border-end-color border-end-style border-inline-color border-inline-end-color \
                border-inline-end-style border-inline-start-color border-inline-start-style \
                border-inline-style border-left-color border-left-style border-right-color \
                border-right-style border-start-color border-start-style border-style \
                border-top-color border-top-style box-decoration-break empty-cells \
                outline-color outline-style paint-order text-decoration-color \
                text-decoration-line text-decoration-skip text-decoration-skip-ink \
                text-decoration-style text-decorations-in-effect text-emphasis-color \
                text-emphasis-position text-stroke-color text-underline-offset \
                text-underline-position",
    ),
    (
        "say how something works that another property switches on, and that is not \
                 understood then: images of borders, masks, columns, shapes, transforms, paths, \
                 filters, fragments",
        "animation-composition animation-delay animation-direction animation-duration \
                animation-fill-mode animation-iteration-count animation-play-state \
                animation-range animation-range-end animation-range-start animation-timeline \
                animation-timing-function animation-trigger anchor-name anchor-scope \
                border-image-outset border-image-repeat \
                border-image-slice border-image-width break-after break-before break-inside \
                column-break-after column-break-before column-break-inside column-fill \
                column-rule-break column-rule-color column-rule-inset-cap \
                column-rule-inset-cap-end column-rule-inset-cap-start column-rule-inset-end \
                column-rule-inset-junction column-rule-inset-junction-end \
                column-rule-inset-junction-start column-rule-inset-start column-rule-style \
                column-rule-visibility-items column-span contain-intrinsic-block-size \
                contain-intrinsic-height contain-intrinsic-inline-size contain-intrinsic-size \
                contain-intrinsic-width container-name grid-auto-flow \
                mask-box-image-outset mask-box-image-repeat mask-box-image-slice \
                mask-box-image-width mask-clip mask-composite mask-mode mask-origin \
                mask-position mask-position-x mask-position-y mask-repeat mask-size mask-type \
                offset-anchor offset-distance offset-position offset-rotate orphans \
                overflow-clip-margin page page-break-after page-break-before \
                page-break-inside page-margin-safety perspective-origin \
                perspective-origin-x perspective-origin-y position-anchor position-try-order \
                row-rule-break row-rule-color row-rule-inset-cap row-rule-inset-cap-end \
                row-rule-inset-cap-start row-rule-inset-end row-rule-inset-junction \
                row-rule-inset-junction-end row-rule-inset-junction-start \
                row-rule-inset-start row-rule-style row-rule-visibility-items rule-break \
                rule-color rule-inset-cap rule-inset-end rule-inset-junction \
                rule-inset-start rule-overlap rule-style rule-visibility-items \
                shape-image-threshold shape-margin size text-box-edge text-orientation \
                text-overflow timeline-scope timeline-trigger \
                timeline-trigger-activation-range timeline-trigger-activation-range-end \
                timeline-trigger-activation-range-start timeline-trigger-active-range \
                timeline-trigger-active-range-end timeline-trigger-active-range-start \
                timeline-trigger-name timeline-trigger-source transform-box transform-origin \
                transform-origin-x transform-origin-y transform-origin-z \
                trigger-scope view-timeline view-timeline-axis view-timeline-inset \
                view-timeline-name widows",
    ),
    (
        "sizes and order of boxes within bounds that hold for every value of theirs (CSS \
                 Sizing 3, CSS Flexbox 1, CSS Tables 3)",
        "box-flex box-orient box-sizing caption-side clear field-sizing flex-grow \
                flex-shrink interpolate-size list-style-position margin-after-collapse \
                margin-before-collapse margin-bottom-collapse margin-collapse \
                margin-top-collapse resize ruby-align ruby-position",
    ),
    (
        "what happens when a person does something; nothing happens in the pages judged \
                 (CSS UI 4, CSS Transitions 1)",
        "app-region caret-animation caret-color caret-shape cursor interactivity \
                interest-delay interest-delay-end interest-delay-start overscroll-behavior \
                overscroll-behavior-block overscroll-behavior-inline overscroll-behavior-x \
                overscroll-behavior-y overflow-scrolling pointer-events reading-flow \
                reading-order scroll-axis-lock scroll-behavior \
                scroll-margin scroll-margin-block scroll-margin-block-end \
                scroll-margin-block-start scroll-margin-bottom scroll-margin-inline \
                scroll-margin-inline-end scroll-margin-inline-start scroll-margin-left \
                scroll-margin-right scroll-margin-top scroll-padding scroll-padding-block \
                scroll-padding-block-end scroll-padding-block-start scroll-padding-bottom \
                scroll-padding-inline scroll-padding-inline-end scroll-padding-inline-start \
                scroll-padding-left scroll-padding-right scroll-padding-top scroll-snap-align \
                scroll-snap-stop scroll-target-group scroll-timeline scroll-timeline-axis \
                scroll-timeline-name speak tap-highlight-color touch-action touch-callout \
                transition transition-behavior transition-delay transition-duration \
                transition-property transition-timing-function user-drag user-modify \
                user-select window-drag",
    ),
    (
        "looks of controls, scroll bars and pictures, and hints to the browser (CSS UI 4, \
                 CSS Images 3); what paints besides letters is judged by its place",
        "accent-color appearance dynamic-range-limit forced-color-adjust \
                image-orientation image-rendering object-fit object-position \
                object-view-box overflow-anchor print-color-adjust scrollbar-color \
                scrollbar-width view-transition-class view-transition-group \
                view-transition-scope ",
    ),
    (
        "counters of lists, which are figures",
        "counter-increment counter-reset counter-set",
    ),
    (
        "only of drawings (SVG 2), whose texts are uncertain and whose shapes stay in \
                 their box",
        "buffered-rendering clip-rule color-interpolation color-interpolation-filters \
                color-rendering cx cy d dominant-baseline fill fill-opacity fill-rule \
                flood-color flood-opacity lighting-color marker marker-end marker-mid \
                marker-start r rx ry shape-rendering stop-color stop-opacity stroke \
                stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin \
                stroke-miterlimit stroke-opacity stroke-width text-anchor vector-effect x y",
    ),
];

/// Whether a property, in lower case, is harmless with every value.
pub(crate) fn is_harmless(name: &str) -> bool {
    let name = name.strip_prefix("-webkit-").unwrap_or(name);
    let mut groups = GROUPS.iter();
    groups.any(|(_, names)| names.split_ascii_whitespace().any(|one| one == name))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::properties::Property;

    #[test]
    fn every_property_of_chromium_is_in_one_table() {
        let known = include_str!("../tests/chromium-properties.txt");
        for name in known.lines() {
            let elsewhere = Property::named(name).is_some();
            assert_ne!(elsewhere, is_harmless(name), "{name}");
        }
    }

    #[test]
    fn groups_have_reasons_and_share_no_name() {
        let mut seen = HashSet::new();
        for (reason, names) in GROUPS {
            assert!(reason.len() > 20, "{names}");
            for name in names.split_ascii_whitespace() {
                assert!(seen.insert(name), "{name}");
            }
        }
    }
}
