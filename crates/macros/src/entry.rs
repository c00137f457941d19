//! The two attributes, from tokens to tokens.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Item, ItemFn};

use crate::options::{Kind, Options};
use crate::{item, state};

/// `#[activity]`.
pub(crate) fn activity(options: TokenStream, item: TokenStream) -> TokenStream {
    expand(Kind::Activity, options, item)
}

/// `#[orchestration]`.
pub(crate) fn orchestration(options: TokenStream, item: TokenStream) -> TokenStream {
    expand(Kind::Orchestration, options, item)
}

fn expand(kind: Kind, options: TokenStream, item: TokenStream) -> TokenStream {
    let expanded = Options::parse(kind, options)
        .and_then(|options| expand_item(kind, &options, syn::parse2(item.clone())?));
    expanded.unwrap_or_else(|error| {
        let errors = error.into_compile_error();
        // The function itself stays, so that a mistake here does not hide its name.
        let kept = syn::parse2::<ItemFn>(item).map(|function| quote!(#function));
        let kept = kept.unwrap_or_default();
        quote! { #errors #kept }
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the items of Rust are many")]
fn expand_item(kind: Kind, options: &Options, item: Item) -> syn::Result<TokenStream> {
    match item {
        Item::Fn(function) => item::expand(kind, options, function),
        Item::Impl(block) if kind == Kind::Activity => state::expand(options, block),
        other => Err(syn::Error::new_spanned(other, kind.wrong_item())),
    }
}
