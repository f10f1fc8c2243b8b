//! Tokenizers from what a GGUF file says of its vocabulary.

use std::collections::HashSet;

use caldera::formats::gguf::{Gguf, Value};
use caldera::{Result, bail, ensure, error};
use tokenizers::models::bpe::{BPE, Merges, Vocab};
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::{BertNormalizer, Prepend, Replace, Sequence as Normalizers};
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence as PreTokenizers;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::{AddedToken, SplitDelimiterBehavior, Tokenizer as Engine};
use tokenizers::{decoders, normalizers};

/// Kinds of tokens, by their number in the file.
mod kind {
    pub const NORMAL: i64 = 1;
    pub const UNKNOWN: i64 = 2;
    pub const CONTROL: i64 = 3;
    pub const USER_DEFINED: i64 = 4;
}

/// How SentencePiece writes a space.
const SPACE: &str = "\u{2581}";

/// Tokens that end a turn of a conversation, where the file only names the end of a text.
const ENDS: [&str; 8] =
    ["<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "</s>"];

/// How texts are cut before pairs are merged, by the names in `tokenizer.ggml.pre`.
const SPLITS: [(&[&str], &str); 4] = [
    (&["default", "gpt-2", "olmo", "phi-2", "mpt"], r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
    (
        &["llama3", "llama-v3", "llama-bpe", "dbrx", "smaug-bpe"],
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    (
        &["qwen2", "deepseek-r1-qwen", "stablelm2", "megrez"],
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    (
        &["gpt-4o", "llama4"],
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
];

/// Texts to tokens and back.
pub struct Tokenizer {
    /// None: tokens are bytes.
    engine: Option<Box<Engine>>,
    before: Option<i64>,
    after: Option<i64>,
    ends: HashSet<i64>,
}

/// The vocabulary of a file.
struct Words {
    tokens: Vec<String>,
    kinds: Vec<i64>,
}

fn failed(e: tokenizers::Error) -> caldera::Error {
    error!(File, "the tokenizer of the file: {e}")
}

impl Words {
    fn read(gguf: &Gguf) -> Result<Self> {
        let key = "tokenizer.ggml.tokens";
        let tokens: Vec<String> = gguf.array(key)?.ok_or_else(|| error!(File, "the file has no {key}"))?.texts().collect();
        ensure!(u32::try_from(tokens.len()).is_ok(), File, "{} tokens", tokens.len());
        let number = |v: Value| match v {
            Value::Int(v) => v,
            Value::Uint(v) => v as i64,
            _ => kind::NORMAL,
        };
        let kinds: Vec<i64> = match gguf.array("tokenizer.ggml.token_type")? {
            Some(list) => list.values().map(number).collect(),
            None => vec![kind::NORMAL; tokens.len()],
        };
        ensure!(kinds.len() == tokens.len(), File, "{} kinds of {} tokens", kinds.len(), tokens.len());
        Ok(Self { tokens, kinds })
    }

    fn vocabulary(&self) -> Vocab {
        self.tokens.iter().cloned().zip(0..).collect()
    }

    fn of_kind(&self, kind: i64) -> impl Iterator<Item = &String> {
        self.tokens.iter().zip(&self.kinds).filter(move |&(_, &k)| k == kind).map(|(t, _)| t)
    }

    /// Tokens that are found in a text as a whole, before it is cut.
    fn add_to(&self, engine: &mut Engine) -> Result<()> {
        let control = self.of_kind(kind::CONTROL).map(|t| AddedToken::from(t.as_str(), true).normalized(false));
        engine.add_special_tokens(control.collect::<Vec<_>>()).map_err(failed)?;
        let own = self.of_kind(kind::USER_DEFINED).map(|t| AddedToken::from(t.as_str(), false).normalized(false));
        engine.add_tokens(own.collect::<Vec<_>>()).map_err(failed)?;
        Ok(())
    }
}

impl Tokenizer {
    pub fn from_gguf(gguf: &Gguf) -> Result<Self> {
        let model = gguf.text("tokenizer.ggml.model")?.unwrap_or("none");
        if model == "byte" {
            return Ok(Self { engine: None, before: None, after: None, ends: HashSet::new() });
        }
        let words = Words::read(gguf)?;
        let mut engine = match model {
            "llama" => sentence_pieces(gguf, &words)?,
            "gpt2" => byte_pairs(gguf, &words)?,
            "bert" => word_pieces(&words)?,
            other => bail!(Unsupported, "the tokenizer \"{other}\" is not known; known are: byte, llama, gpt2, bert"),
        };
        words.add_to(&mut engine)?;
        let id = |name: &str| -> Result<Option<i64>> {
            let id = gguf.uint(&format!("tokenizer.ggml.{name}_token_id"))?;
            let Some(id) = id else { return Ok(None) };
            let count = words.tokens.len();
            ensure!(id < count as u64, File, "tokenizer.ggml.{name}_token_id is {id}, of {count} tokens");
            Ok(Some(id as i64))
        };
        let flag =
            |name: &str, default: bool| Ok::<_, caldera::Error>(gguf.flag(&format!("tokenizer.ggml.{name}"))?.unwrap_or(default));
        let bert = model == "bert";
        let starts = bert || model == "llama" || gguf.text("tokenizer.ggml.pre")?.is_some_and(|p| p.starts_with("llama"));
        let before = id("bos")?.or(id("cls")?).filter(|_| bert || flag("add_bos_token", starts).unwrap_or(starts));
        let end = if bert { id("seperator")?.or(id("eos")?) } else { id("eos")? };
        let after = end.filter(|_| bert || flag("add_eos_token", false).unwrap_or(false));
        let mut ends: HashSet<i64> = [id("eos")?, id("eot")?, id("eom")?].into_iter().flatten().collect();
        let named = |t: &&String| ENDS.contains(&t.as_str());
        ends.extend(words.of_kind(kind::CONTROL).filter(named).filter_map(|t| engine.token_to_id(t)).map(i64::from));
        Ok(Self { engine: Some(Box::new(engine)), before, after, ends })
    }

    /// The tokens of a text, with those that the model wants before and after it.
    pub fn encode(&self, text: &str) -> Result<Vec<i64>> {
        let Some(engine) = &self.engine else { return Ok(text.bytes().map(i64::from).collect()) };
        let encoding = engine.encode_fast(text, false).map_err(failed)?;
        let own = encoding.get_ids().iter().map(|&id| i64::from(id));
        Ok(self.before.into_iter().chain(own).chain(self.after).collect())
    }

    /// The token that texts start with.
    pub fn start(&self) -> Option<i64> {
        self.before
    }

    /// True for a token that ends a text or a turn.
    pub fn is_end(&self, token: i64) -> bool {
        self.ends.contains(&token)
    }

    /// Turns tokens into text one by one: each call gives what has become sure.
    pub fn stream(&self) -> Box<dyn FnMut(i64) -> Result<Vec<u8>> + '_> {
        let Some(engine) = &self.engine else { return Box::new(|token| Ok(vec![token as u8])) };
        let mut stream = engine.decode_stream(true);
        Box::new(move |token| {
            let id = u32::try_from(token).map_err(|_| error!(Internal, "token {token}"))?;
            Ok(stream.step(id).map_err(failed)?.unwrap_or_default().into_bytes())
        })
    }
}

/// SentencePiece: adjacent pieces are merged, those first whose whole has the highest score; what is left over becomes bytes.
fn sentence_pieces(gguf: &Gguf, words: &Words) -> Result<Engine> {
    let number = |v: Value| if let Value::Float(v) = v { v } else { 0.0 };
    let scores: Vec<f64> = match gguf.array("tokenizer.ggml.scores")? {
        Some(list) => list.values().map(number).collect(),
        None => bail!(File, "the file has no tokenizer.ggml.scores"),
    };
    ensure!(scores.len() == words.tokens.len(), File, "{} scores of {} tokens", scores.len(), words.tokens.len());
    let vocabulary = words.vocabulary();
    let merges = merges_by_score(words, &vocabulary, &scores);
    let mut builder = BPE::builder().vocab_and_merges(vocabulary, merges).byte_fallback(true).fuse_unk(true);
    if let Some(unknown) = words.of_kind(kind::UNKNOWN).next().or(words.tokens.iter().find(|t| *t == "<unk>")) {
        builder = builder.unk_token(unknown.clone());
    }
    let mut engine = Engine::new(builder.build().map_err(failed)?);
    let prefix = gguf.flag("tokenizer.ggml.add_space_prefix")?.unwrap_or(true);
    let mut steps: Vec<normalizers::NormalizerWrapper> = Vec::new();
    if prefix {
        steps.push(Prepend::new(SPACE.into()).into());
    }
    steps.push(Replace::new(" ", SPACE).map_err(failed)?.into());
    engine.with_normalizer(Some(Normalizers::new(steps))).map_err(failed)?;
    let mut back: Vec<decoders::DecoderWrapper> = vec![
        Replace::new(SPACE, " ").map_err(failed)?.into(),
        decoders::byte_fallback::ByteFallback::new().into(),
        decoders::fuse::Fuse::new().into(),
    ];
    if prefix {
        back.push(decoders::strip::Strip::new(' ', 1, 0).into());
    }
    engine.with_decoder(Some(decoders::sequence::Sequence::new(back)));
    Ok(engine)
}

/// Every pair of tokens that together are a token, the best wholes first.
fn merges_by_score(words: &Words, vocabulary: &Vocab, scores: &[f64]) -> Merges {
    let is_piece = |t: &str| vocabulary.get(t).is_some_and(|&id| words.kinds[id as usize] == kind::NORMAL);
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (id, token) in words.tokens.iter().enumerate().filter(|(id, _)| words.kinds[*id] == kind::NORMAL) {
        let cuts = token.char_indices().skip(1).map(|(at, _)| at);
        found.extend(cuts.filter(|&at| is_piece(&token[..at]) && is_piece(&token[at..])).map(|at| (id, at)));
    }
    found.sort_by(|a, b| scores[b.0].total_cmp(&scores[a.0]).then(a.cmp(b)));
    found.into_iter().map(|(id, at)| (words.tokens[id][..at].to_string(), words.tokens[id][at..].to_string())).collect()
}

/// Pairs of bytes, merged in the order of the file's list.
fn byte_pairs(gguf: &Gguf, words: &Words) -> Result<Engine> {
    let pre = gguf.text("tokenizer.ggml.pre")?.unwrap_or("default");
    let Some((_, pattern)) = SPLITS.iter().find(|(names, _)| names.contains(&pre)) else {
        let known: Vec<&str> = SPLITS.iter().flat_map(|(names, _)| names.iter().copied()).collect();
        bail!(Unsupported, "the pre-tokenizer \"{pre}\" is not known; known are: {}", known.join(", "))
    };
    let list = gguf.array("tokenizer.ggml.merges")?.ok_or_else(|| error!(File, "the file has no tokenizer.ggml.merges"))?;
    let pair = |line: String| match line.split_once(' ') {
        Some((a, b)) => Ok((a.to_string(), b.to_string())),
        None => Err(error!(File, "the merge \"{line}\" is no pair")),
    };
    let merges = list.texts().map(pair).collect::<Result<Merges>>()?;
    // Llama 3 takes a whole word that is a token as it is.
    let whole = pre.starts_with("llama");
    let model = BPE::builder().vocab_and_merges(words.vocabulary(), merges).ignore_merges(whole).build().map_err(failed)?;
    let mut engine = Engine::new(model);
    let cut = Split::new(SplitPattern::Regex((*pattern).into()), SplitDelimiterBehavior::Isolated, false).map_err(failed)?;
    let bytes = ByteLevel::new(false, false, false);
    engine.with_pre_tokenizer(Some(PreTokenizers::new(vec![cut.into(), bytes.into()])));
    engine.with_decoder(Some(bytes));
    Ok(engine)
}

/// BERT's pieces. Files mark the beginning of a word, BERT what goes on.
fn word_pieces(words: &Words) -> Result<Engine> {
    let named = |(token, kind): (&String, &i64)| match token.strip_prefix(SPACE) {
        Some(word) => word.to_string(),
        None if *kind == kind::NORMAL => format!("##{token}"),
        None => token.clone(),
    };
    let vocabulary: Vocab = words.tokens.iter().zip(&words.kinds).map(named).zip(0..).collect();
    let unknown = words.of_kind(kind::UNKNOWN).next().cloned().unwrap_or_else(|| "[UNK]".into());
    let model = WordPiece::builder().vocab(vocabulary).unk_token(unknown).build().map_err(failed)?;
    let mut engine = Engine::new(model);
    engine.with_normalizer(Some(BertNormalizer::new(true, true, Some(true), true))).map_err(failed)?;
    engine.with_pre_tokenizer(Some(BertPreTokenizer));
    engine.with_decoder(Some(decoders::wordpiece::WordPiece::new("##".into(), true)));
    Ok(engine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    fn gguf(path: &Path) -> Gguf {
        Gguf::open(path).expect("the file opens")
    }

    /// What decoding one by one gives, the start left out.
    fn decoded(tokenizer: &Tokenizer, ids: &[i64]) -> String {
        let mut step = tokenizer.stream();
        let bytes: Vec<u8> = ids.iter().flat_map(|&id| step(id).expect("decodes")).collect();
        String::from_utf8(bytes).expect("whole characters")
    }

    /// Vocabularies that tests/models/make_tokenizers.py has trained, and the ids that the Python packages give.
    #[test]
    fn ids_are_those_of_other_programs() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/tokenizers");
        let text = std::fs::read_to_string(folder.join("expected.json")).expect("expected.json is there");
        let json: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        let mut count = 0;
        for (name, cases) in json.as_object().expect("names") {
            let tokenizer = Tokenizer::from_gguf(&gguf(&folder.join(format!("{name}.gguf")))).expect("a tokenizer");
            for case in cases.as_array().expect("cases") {
                let text = case["text"].as_str().expect("a text");
                let want: Vec<i64> = case["ids"].as_array().expect("ids").iter().map(|v| v.as_i64().expect("an id")).collect();
                assert_eq!(tokenizer.encode(text).expect("encodes"), want, "{name}: {text:?}");
                if let Some(back) = case["decoded"].as_str() {
                    assert_eq!(decoded(&tokenizer, &want), back, "{name}");
                }
                count += 1;
            }
        }
        assert!(count > 30, "{count} cases");
    }

    /// Where CALDERA_GEMMA names the folder of Gemma 3 270M: the prompts' ids.
    #[test]
    fn gemma_prompts() {
        let Some(folder) = std::env::var_os("CALDERA_GEMMA").map(PathBuf::from) else { return };
        let tokenizer = Tokenizer::from_gguf(&gguf(&folder.join("model.gguf"))).expect("a tokenizer");
        let text = std::fs::read_to_string(folder.join("expected.json")).expect("expected.json is there");
        let json: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        for prompt in json["prompts"].as_array().expect("prompts") {
            let ids = |key: &str| -> Vec<i64> {
                prompt[key].as_array().expect("ids").iter().map(|v| v.as_i64().expect("an id")).collect()
            };
            let text = prompt["text"].as_str().expect("a text");
            assert_eq!(tokenizer.encode(text).expect("encodes"), ids("ids"));
            assert_eq!(decoded(&tokenizer, &ids("ids")), text);
            assert_eq!(decoded(&tokenizer, &ids("greedy")), prompt["greedy_text"].as_str().expect("a text"));
        }
    }
}
