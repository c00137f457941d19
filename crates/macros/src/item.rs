//! A plain function: its handle, and the function that names the handle in its type.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Ident, ItemFn, Result};

use crate::calls::called_functions;
use crate::function::{Function, Split, split};
use crate::handle::Handle;
use crate::options::{Kind, Options};

/// Expands an attribute on a function.
///
/// The tokens of the function stay as they are, inside a function of the same name and parameters
/// that only puts its future into the type that names the handle. Code that mentions the function
/// itself, to continue as new or to start a child of its own kind, means the outer one: then the
/// inner one has another name, so that it does not hide it.
pub(crate) fn expand(kind: Kind, options: &Options, item: ItemFn) -> Result<TokenStream> {
    let function = Function::read(kind, &item.sig, item.sig.inputs.iter())?;
    let krate = options.krate();
    let calls = match kind {
        Kind::Activity => TokenStream::new(),
        Kind::Orchestration => called_functions(options, &function, &item.block),
    };
    let ItemFn { attrs, vis, mut sig, block, .. } = item;
    let Split { everywhere: cfg, outer, inner } = split(attrs);
    let ident = &sig.ident.clone();
    if mentions(block.to_token_stream(), ident) {
        sig.ident = format_ident!("__{}_code", ident, span = ident.span());
    }
    let code = &sig.ident;
    let parts = Handle {
        kind,
        options,
        function: &function,
        cfg: &cfg,
        vis: &vis,
        ident,
        name: ident,
        calls,
    };
    let handle = parts.items();
    let (names, types) = (&function.names, &function.types);
    // In the span of the name: a future that cannot be sent is reported there.
    let started = quote_spanned! {ident.span()=> #krate::typed::Recorded::new(#code(#(#names),*)) };
    Ok(quote! {
        #handle

        #(#cfg)*
        #(#outer)*
        #[allow(clippy::used_underscore_binding)]
        #vis fn #ident(#(#names: #types),*) -> #krate::typed::Recorded<'static, #ident> {
            #(#inner)*
            #sig #block
            #started
        }
    })
}

fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
