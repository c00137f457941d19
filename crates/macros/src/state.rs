//! An `impl` block whose methods are activities with a state.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{
    Error, FnArg, Ident, ImplItem, ImplItemFn, ItemImpl, Meta, Pat, ReceiverKind, Result, Type,
};

use crate::function::{Function, Split, split};
use crate::handle::Handle;
use crate::options::{Kind, Options};

const ATTRIBUTE: &str = "activity";

/// Expands `#[activity]` on an `impl` block.
pub(crate) fn expand(options: &Options, mut block: ItemImpl) -> Result<TokenStream> {
    let state = state_name(&block)?;
    if options.name.is_some() {
        let message = "each method has a name of its own: put `name` on the method";
        return Err(Error::new_spanned(&options.name, message));
    }
    let krate = options.krate();
    let (mut handles, mut registered) = (TokenStream::new(), TokenStream::new());
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        let Some(own) = own_options(method, options)? else { continue };
        let method_name = &method.sig.ident;
        registered.extend(quote_spanned! {method_name.span()=>
            let registry = registry
                .register_method(Self::#method_name, ::std::sync::Arc::clone(&state));
        });
        handles.extend(expand_method(&state, &own, method)?);
    }
    if registered.is_empty() {
        let message = "this block has no activity: add an `async fn` that takes `&self` and an \
                       `ActivityContext`";
        return Err(Error::new_spanned(&block.self_ty, message));
    }
    let self_ty = &block.self_ty;
    Ok(quote! {
        #block

        #handles

        #[automatically_derived]
        impl #krate::runtime::registry::ActivityState for #self_ty {
            fn register(
                state: ::std::sync::Arc<Self>,
                registry: #krate::runtime::registry::ActivityRegistryBuilder,
            ) -> #krate::runtime::registry::ActivityRegistryBuilder {
                #registered
                registry
            }
        }
    })
}

fn state_name(block: &ItemImpl) -> Result<Ident> {
    if let Some((path, _)) = &block.trait_ {
        return Err(Error::new_spanned(path, "#[activity] belongs on an inherent `impl` block"));
    }
    if !block.generics.params.is_empty() {
        let message = "the state of activities cannot be generic: their names stand for one type";
        return Err(Error::new_spanned(&block.generics, message));
    }
    if let Type::Path(path) = &*block.self_ty
        && let Some(segment) = path.path.segments.last()
    {
        return Ok(segment.ident.clone());
    }
    Err(Error::new_spanned(&block.self_ty, "expected the name of a type"))
}

/// The options of a method that is an activity; `None` for other functions of the block.
fn own_options(method: &mut ImplItemFn, block: &Options) -> Result<Option<Options>> {
    let marked = method.attrs.iter().position(|attribute| {
        attribute.path().segments.last().is_some_and(|segment| segment.ident == ATTRIBUTE)
    });
    let attribute = marked.map(|index| method.attrs.remove(index));
    let has_context = method.sig.inputs.iter().nth(1).is_some_and(is_activity_context);
    if attribute.is_none() && !(method.sig.asyncness.is_some() && has_context) {
        return Ok(None);
    }
    let tokens = match attribute.map(|attribute| attribute.meta) {
        Some(Meta::List(list)) => list.tokens,
        Some(Meta::Path(_) | Meta::NameValue(_)) | None => TokenStream::new(),
    };
    Ok(Some(Options::parse(Kind::Activity, tokens)?.with_krate_of(block)))
}

fn is_activity_context(parameter: &FnArg) -> bool {
    let FnArg::Typed(parameter) = parameter else { return false };
    let Type::Path(path) = &*parameter.ty else { return false };
    let last = path.path.segments.last();
    last.is_some_and(|segment| segment.ident == Kind::Activity.context())
}

/// Replaces a method by one that names its handle, and returns the handle.
fn expand_method(state: &Ident, options: &Options, method: &mut ImplItemFn) -> Result<TokenStream> {
    let kind = Kind::Activity;
    check_receiver(method)?;
    let function = Function::read(kind, &method.sig, method.sig.inputs.iter().skip(1))?;
    let krate = options.krate();
    let name = method.sig.ident.clone();
    let ident = format_ident!("{}_{}", state, name, span = name.span());
    let Split { everywhere: cfg, outer, inner } = split(std::mem::take(&mut method.attrs));
    if let Some(attribute) = inner.first() {
        let message = "put this attribute on a plain function that the method calls";
        return Err(Error::new_spanned(attribute, message));
    }
    let parts = Handle {
        kind,
        options,
        function: &function,
        cfg: &cfg,
        vis: &method.vis,
        ident: &ident,
        name: &name,
        calls: TokenStream::new(),
    };
    let handle = parts.items();
    let (vis, block, output) = (&method.vis, &method.block, &function.output);
    let bound = method.sig.inputs.iter().filter_map(bound_name).collect::<Vec<_>>();
    let (receiver, parameters) = {
        let mut inputs = method.sig.inputs.iter();
        (inputs.next().cloned(), inputs.cloned().collect::<Vec<_>>())
    };
    *method = syn::parse_quote_spanned! {name.span()=>
        #(#cfg)*
        #(#outer)*
        #vis fn #name(#receiver, #(#parameters),*) -> #krate::typed::Recorded<'_, #ident> {
            #krate::typed::Recorded::new(async move {
                // Says the type of the result, by which `?` converts errors.
                #[allow(unreachable_code, clippy::diverging_sub_expression, clippy::empty_loop)]
                if false {
                    let _unreached: #output = loop {};
                    return _unreached;
                }
                // The future owns all parameters, like that of an `async fn`.
                #(let _ = &#bound;)*
                #block
            })
        }
    };
    Ok(handle)
}

fn bound_name(parameter: &FnArg) -> Option<Ident> {
    let FnArg::Typed(parameter) = parameter else { return None };
    let Pat::Ident(pattern) = &*parameter.pat else { return None };
    Some(pattern.ident.clone())
}

fn check_receiver(method: &ImplItemFn) -> Result<()> {
    let message = "an activity with state takes `&self`: several calls run at the same time";
    if let Some(receiver) = method.sig.receiver()
        && let ReceiverKind::Reference(_, None, None) = &receiver.kind
    {
        return Ok(());
    }
    Err(Error::new_spanned(&method.sig, message))
}
