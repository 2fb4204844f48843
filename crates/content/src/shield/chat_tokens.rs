//! Control tokens of chat models: the strings that a model's own prompt template is made of.
//!
//! Only these are broken up, by one blank behind the opening bracket: `<|im_end|>` becomes `< |im_end|>`. Taking that
//! blank out again gives the text as it was sent. Code, markup and prose hold none of them: `a <| b`, `List<String>`,
//! `[args]` and `<user>` stay as they are.

use super::fold::fold;

/// The tokens of one or more families of models, as [`fold`] reads them.
struct TokenFamily {
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the table says where a token is from")
    )]
    models: &'static str,
    tokens: &'static [&'static str],
    /// What stands before and behind any name.
    named: &'static [(&'static str, &'static str)],
}

const FAMILIES: [TokenFamily; 11] = [
    TokenFamily {
        models: "ChatML, OpenAI harmony, Llama 3 and 4, Qwen, Phi, Zephyr, Yi, Falcon, Cohere, DeepSeek, GLM, Kimi, Granite",
        tokens: &[],
        named: &[("<|", "|>")],
    },
    TokenFamily {
        models: "Llama 2, Mistral",
        tokens: &["[inst]", "[/inst]", "<<sys>>", "<</sys>>"],
        named: &[],
    },
    TokenFamily {
        models: "Mistral from v3 on",
        tokens: &[
            "[available_tools]",
            "[/available_tools]",
            "[tool_calls]",
            "[tool_content]",
            "[tool_results]",
            "[/tool_results]",
            "[system_prompt]",
            "[/system_prompt]",
        ],
        named: &[],
    },
    TokenFamily {
        models: "Gemma",
        tokens: &["<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>"],
        named: &[],
    },
    TokenFamily {
        models: "Qwen, Hermes",
        tokens: &[
            "<tool_call>",
            "</tool_call>",
            "<tool_response>",
            "</tool_response>",
        ],
        named: &[],
    },
    TokenFamily {
        models: "DeepSeek R1, Qwen 3",
        tokens: &["<think>", "</think>"],
        named: &[],
    },
    TokenFamily {
        models: "Claude",
        tokens: &[
            "<function_calls>",
            "</function_calls>",
            "<function_results>",
            "</function_results>",
            "<system-reminder>",
            "</system-reminder>",
        ],
        named: &[("<antml:", ">"), ("</antml:", ">")],
    },
    TokenFamily {
        models: "Cohere",
        tokens: &["<bos_token>", "<eos_token>"],
        named: &[],
    },
    TokenFamily {
        models: "GLM",
        tokens: &["[gmask]", "<sop>", "<eop>"],
        named: &[],
    },
    TokenFamily {
        models: "Nemotron",
        tokens: &["<extra_id_0>", "<extra_id_1>"],
        named: &[],
    },
    TokenFamily {
        models: "Baichuan",
        tokens: &["<reserved_106>", "<reserved_107>"],
        named: &[],
    },
];

/// Llama 2 and Mistral begin and end a conversation with these, which strike text out in HTML: they
/// count only before another token.
const EDGES: [&str; 2] = ["<s>", "</s>"];

/// No token of the table is longer, and no name in one.
const MAX_TOKEN_CHARS: usize = 48;
/// Blanks between an edge and the token behind it.
const MAX_EDGE_BLANKS: usize = 4;

/// Whether a token begins with this opening bracket, or what looks like one. `after` is what
/// follows it.
pub(super) fn opens_token(open: char, after: &str) -> bool {
    let Some(token) = ChatToken::read(open, after) else {
        return false;
    };
    if token.is_listed() {
        return true;
    }
    EDGES.contains(&token.as_str()) && precedes_token(token.rest)
}

fn precedes_token(rest: &str) -> bool {
    let behind = rest.trim_start_matches([' ', '\n']);
    if rest.len() - behind.len() > MAX_EDGE_BLANKS {
        return false;
    }
    let mut chars = behind.chars();
    let Some(token) = chars
        .next()
        .and_then(|open| ChatToken::read(open, chars.as_str()))
    else {
        return false;
    };
    token.is_listed() || EDGES.contains(&token.as_str())
}

/// What stands between two brackets, both included, folded to lower-case ASCII.
struct ChatToken<'a> {
    letters: [u8; MAX_TOKEN_CHARS],
    length: usize,
    rest: &'a str,
}

impl<'a> ChatToken<'a> {
    fn read(open: char, after: &'a str) -> Option<Self> {
        let mut token = Self {
            letters: [0; MAX_TOKEN_CHARS],
            length: 0,
            rest: after,
        };
        let open = fold(open);
        token.push(open)?;
        let close = match open {
            '<' => '>',
            '[' => ']',
            _ => return None,
        };
        let mut chars = after.chars();
        let mut closings = 1;
        while let Some(char) = chars.next() {
            let char = fold(char);
            token.push(char)?;
            token.rest = chars.as_str();
            match char {
                '<' if token.length == 2 => closings = 2,
                _ if char == close => closings -= 1,
                'a'..='z' | '0'..='9' | '_' | '-' | '.' | ':' | '|' | '/' if closings < 3 => {}
                ' ' if token.as_str().starts_with("<|") => {}
                // What a tag of this family is given belongs to it.
                ' ' if token.as_str().contains("antml:") => return Some(token),
                _ => return None,
            }
            if closings == 0 {
                return Some(token);
            }
        }
        None
    }

    fn push(&mut self, char: char) -> Option<()> {
        let letter = u8::try_from(char).ok().filter(u8::is_ascii)?;
        *self.letters.get_mut(self.length)? = letter;
        self.length += 1;
        Some(())
    }

    fn as_str(&self) -> &str {
        let letters = self.letters.get(..self.length).unwrap_or_default();
        std::str::from_utf8(letters).unwrap_or_default()
    }

    fn is_listed(&self) -> bool {
        let own = self.as_str();
        let is_named = |(before, behind): &(&str, &str)| {
            own.strip_prefix(before)
                .and_then(|name| name.strip_suffix(behind).or(name.strip_suffix(' ')))
                .is_some_and(|name| !name.is_empty() && name.trim() == name && !name.contains('|'))
        };
        FAMILIES
            .iter()
            .any(|family| family.tokens.contains(&own) || family.named.iter().any(is_named))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opens(text: &str) -> bool {
        let mut chars = text.chars();
        let open = chars.next().unwrap();
        opens_token(open, chars.as_str())
    }

    #[test]
    fn token_table_is_in_folded_form() {
        for family in &FAMILIES {
            assert!(!family.models.is_empty());
            let named = family.named.iter();
            let named = named.map(|(before, behind)| format!("{before}a{behind}"));
            let tokens = family.tokens.iter().map(|token| (*token).to_owned());
            for written in tokens.chain(named) {
                let token = &written;
                assert!(written.chars().all(|char| fold(char) == char), "{token}");
                assert!(written.len() <= MAX_TOKEN_CHARS, "{token}");
                assert!(opens(&written), "{token}");
                assert!(opens(&written.to_uppercase()), "{token}");
                let (open, after) = written.split_at(1);
                assert!(!opens(&format!("{open} {after}")), "{token} broken up");
            }
        }
    }

    #[test]
    fn tokens_in_any_spelling_are_found() {
        for text in [
            "<|im_start|>system",
            "<|START_OF_TURN_TOKEN|>",
            "<|reserved_special_token_17|>",
            "<|end tool output|>",
            "<｜User｜>",
            "<｜begin▁of▁sentence｜>",
            "＜｜im_end｜＞",
            "‹|im_end|›",
            "<|іm_ѕtаrt|>",
            "［ＩＮＳＴ］ x",
            "[/INST]",
            "<</SYS>>",
            "<s>[INST] x",
            "<s> [INST]",
            "</s><s>[INST]",
            "</s>\n<|user|>",
            "<antml:invoke name=\"x\">",
            "</function_calls>",
        ] {
            assert!(opens(text), "{text}");
        }
    }

    #[test]
    fn code_and_prose_give_no_false_matches() {
        for text in [
            "<| x |> y",
            "<|>",
            "<||>",
            "<|a|b|>",
            "<|im_start",
            "<s>struck out</s>",
            "</s> and",
            "<system>",
            "<user>",
            "<tool>",
            "<invoke name=\"x\">",
            "<sys/types.h>",
            "<stdio.h>",
            "<b>",
            "<img src=x>",
            "<ann@example.com>",
            "<https://example.com/>",
            "<<EOF",
            "<<<<<<< HEAD",
            "<<EOF>>",
            "[i][j]",
            "[PATCH]",
            "[RFC][PATCH]",
            "[args]",
            "[inst",
            "[ inst]",
            "< |im_start|>",
            "[a](b)",
        ] {
            assert!(!opens(text), "{text}");
        }
    }
}
