//! The functions that an orchestration calls, as far as its own tokens show.
//!
//! Found are `ctx.call(path, …)`, `ctx.child(path, …)` and `ctx.child_with_id(path, …)`, inside of
//! macros too, if `ctx` is the name of the first parameter and the path begins with no name that
//! the code itself introduces.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::Block;

use crate::function::Function;
use crate::options::Options;

/// Entries of `Orchestration::calls`.
pub(crate) fn called_functions(
    options: &Options,
    function: &Function,
    block: &Block,
) -> TokenStream {
    let krate = options.krate();
    let body = block.to_token_stream();
    let mut locals: BTreeSet<String> = function.names.iter().map(ToString::to_string).collect();
    let context = function.names.first().map(ToString::to_string).unwrap_or_default();
    collect_locals(body.clone(), &mut locals);
    let mut found = Found { context, locals, seen: BTreeSet::new(), entries: TokenStream::new() };
    found.scan(body, &krate);
    let Options { calls, children, .. } = options;
    let mut entries = found.entries;
    entries.extend(quote! {
        #(#krate::typed::called(#calls),)*
        #(#krate::typed::child(#children),)*
    });
    entries
}

struct Found {
    context: String,
    locals: BTreeSet<String>,
    seen: BTreeSet<String>,
    entries: TokenStream,
}

impl Found {
    fn scan(&mut self, tokens: TokenStream, krate: &TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (index, token) in tokens.iter().enumerate() {
            let TokenTree::Group(group) = token else { continue };
            if let Some(entry) = entry_of(&tokens[..index], &self.context)
                && group.delimiter() == Delimiter::Parenthesis
                && let Some(path) = first_path(group.stream(), &self.locals)
                && self.seen.insert(format!("{entry} {path}"))
            {
                self.entries.extend(match entry {
                    Entry::Call => quote!(#krate::typed::called(#path),),
                    Entry::Child => quote!(#krate::typed::child(#path),),
                });
            }
            self.scan(group.stream(), krate);
        }
    }
}

#[derive(Clone, Copy)]
enum Entry {
    Call,
    Child,
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Call => "call",
            Self::Child => "child",
        })
    }
}

/// Which method of the context the tokens before a group name.
fn entry_of(before: &[TokenTree], context: &str) -> Option<Entry> {
    let [.., TokenTree::Ident(receiver), TokenTree::Punct(dot), TokenTree::Ident(method)] = before
    else {
        return None;
    };
    if receiver != context || dot.as_char() != '.' {
        return None;
    }
    // `self.ctx` is another context.
    if let [.., TokenTree::Punct(dot), _, _, _] = before
        && dot.as_char() == '.'
    {
        return None;
    }
    match method.to_string().as_str() {
        "call" => Some(Entry::Call),
        "child" | "child_with_id" => Some(Entry::Child),
        _ => None,
    }
}

/// The path before the first comma, unless it begins with a local name.
fn first_path(arguments: TokenStream, locals: &BTreeSet<String>) -> Option<TokenStream> {
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ',');
    let first: TokenStream = arguments.into_iter().take_while(|token| !is_comma(token)).collect();
    let path: syn::Path = syn::parse2(first).ok()?;
    let leading = path.segments.first()?.ident.to_string();
    (!locals.contains(&leading)).then(|| path.into_token_stream())
}

/// Names that the code introduces: by `let`, `for`, closures, match arms, `use` and items. Names
/// that only look so are left out of the check, which does no harm.
fn collect_locals(tokens: TokenStream, locals: &mut BTreeSet<String>) {
    let mut until = None;
    let mut arm = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Ident(ident) => {
                let word = ident.to_string();
                match word.as_str() {
                    "let" => until = Some('='),
                    "for" | "fn" | "const" | "static" | "use" | "struct" | "enum" | "mod" => {
                        until = Some(';');
                    }
                    "in" => until = None,
                    _ => {
                        if until.is_some() {
                            locals.insert(word.clone());
                        }
                        arm.push(word);
                    }
                }
            }
            TokenTree::Punct(punct) => {
                let mark = punct.as_char();
                let next = tokens.peek();
                let is_arm =
                    mark == '=' && matches!(next, Some(TokenTree::Punct(p)) if p.as_char() == '>');
                if is_arm {
                    locals.extend(arm.drain(..));
                } else if until == Some(mark) || mark == ';' {
                    until = None;
                }
                match mark {
                    // Between two of them stand the parameters of a closure.
                    '|' => until = if until == Some('|') { None } else { Some('|') },
                    ',' | ';' => arm.clear(),
                    _ => {}
                }
            }
            TokenTree::Group(group) => {
                if until.is_some() && group.delimiter() == Delimiter::Brace {
                    until = None;
                }
                if until.is_some() || group.delimiter() != Delimiter::Brace {
                    let names = words(group.stream());
                    if until.is_some() {
                        locals.extend(names.iter().cloned());
                    }
                    arm.extend(names);
                }
                collect_locals(group.stream(), locals);
                if group.delimiter() == Delimiter::Brace {
                    arm.clear();
                }
            }
            TokenTree::Literal(_) => {}
        }
    }
}

fn words(tokens: TokenStream) -> Vec<String> {
    let mut words = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => words.push(ident.to_string()),
            TokenTree::Group(group) => words.extend(self::words(group.stream())),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    words
}
