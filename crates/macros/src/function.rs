//! What a function must look like, and its parts.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, FnArg, Ident, Pat, PatType, Result, ReturnType, Safety, Signature, Type,
};

use crate::options::Kind;

/// Parameters after the context: as many as the traits of the core know.
const PARAMETERS_MAX: usize = 6;

/// The parts of a function that the code around it needs.
pub(crate) struct Function {
    /// Names of all parameters, the context first, for the function around it.
    pub(crate) names: Vec<Ident>,
    /// Their types.
    pub(crate) types: Vec<Type>,
    /// The declared result.
    pub(crate) output: Type,
}

impl Function {
    /// Checks a signature; `parameters` are those without a receiver.
    pub(crate) fn read<'a>(
        kind: Kind,
        signature: &Signature,
        parameters: impl Iterator<Item = &'a FnArg>,
    ) -> Result<Self> {
        check_signature(kind, signature)?;
        let mut typed = Vec::new();
        for parameter in parameters {
            match parameter {
                FnArg::Typed(parameter) => typed.push(parameter),
                FnArg::Receiver(receiver) => {
                    let message = format!(
                        "a method is an {} only with its state: put #[{}] on the `impl` block",
                        kind.word(),
                        kind.word()
                    );
                    return Err(Error::new_spanned(receiver, message));
                }
            }
        }
        check_context(kind, signature, typed.first().copied())?;
        if typed.len() > PARAMETERS_MAX + 1 {
            let message = format!(
                "at most {PARAMETERS_MAX} parameters after the context: use a struct for more"
            );
            return Err(Error::new_spanned(typed[PARAMETERS_MAX + 1], message));
        }
        for parameter in &typed[1..] {
            check_owned(&parameter.ty)?;
        }
        let name_of = |(n, parameter): (usize, &&PatType)| name_of(signature, n, parameter);
        let names = typed.iter().enumerate().map(name_of).collect();
        let types = typed.iter().map(|parameter| (*parameter.ty).clone()).collect();
        Ok(Self { names, types, output: output(kind, signature)? })
    }

    /// The type of the input: one parameter as it is, several as a tuple, none as `()`.
    pub(crate) fn input(&self) -> TokenStream {
        match &self.types[1..] {
            [one] => one.to_token_stream(),
            several => quote!((#(#several),*)),
        }
    }
}

fn check_signature(kind: Kind, signature: &Signature) -> Result<()> {
    let word = kind.word();
    if signature.asyncness.is_none() {
        let message = format!("an {word} is an `async fn`: add `async`");
        return Err(Error::new(signature.fn_token.span(), message));
    }
    if !signature.generics.params.is_empty() {
        let message = format!(
            "an {word} cannot be generic: its recorded name stands for one input and one output"
        );
        return Err(Error::new_spanned(&signature.generics, message));
    }
    if let Safety::Unsafe(unsafety) = &signature.safety {
        return Err(Error::new_spanned(unsafety, format!("an {word} cannot be unsafe")));
    }
    if let Some(abi) = &signature.abi {
        return Err(Error::new_spanned(abi, format!("an {word} cannot be extern")));
    }
    Ok(())
}

fn check_context(kind: Kind, signature: &Signature, first: Option<&PatType>) -> Result<()> {
    let (word, context) = (kind.word(), kind.context());
    let Some(first) = first else {
        let message = format!("an {word} takes a context: add `ctx: {context}`");
        return Err(Error::new(signature.paren_token.span.join(), message));
    };
    let other = match kind {
        Kind::Activity => Kind::Orchestration.context(),
        Kind::Orchestration => Kind::Activity.context(),
    };
    // Any other name may be an alias; the compiler checks its type.
    if let Type::Path(path) = &*first.ty
        && path.path.segments.last().is_some_and(|segment| segment.ident != other)
    {
        return Ok(());
    }
    let message = format!("the first parameter of an {word} is `{context}`, by value");
    Err(Error::new_spanned(&first.ty, message))
}

/// Inputs are read from a store, so they borrow from nothing.
fn check_owned(ty: &Type) -> Result<()> {
    if let Type::Reference(reference) = ty {
        let inner = reference.elem.to_token_stream().to_string();
        let owned = if inner == "str" { "String".to_owned() } else { inner };
        let message = format!("an input is owned, because it is read from a store: `{owned}`");
        return Err(Error::new_spanned(ty, message));
    }
    if let Type::ImplTrait(_) = ty {
        let message = "an input has one type, because it is read from a store";
        return Err(Error::new_spanned(ty, message));
    }
    if names_self(ty.to_token_stream()) {
        return Err(Error::new_spanned(ty, "write the name of the type instead of `Self`"));
    }
    Ok(())
}

fn names_self(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == "Self",
        TokenTree::Group(group) => names_self(group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

fn output(kind: Kind, signature: &Signature) -> Result<Type> {
    match &signature.output {
        ReturnType::Type(_, ty) if names_self(ty.to_token_stream()) => {
            Err(Error::new_spanned(ty, "write the name of the type instead of `Self`"))
        }
        ReturnType::Type(_, ty) => Ok((**ty).clone()),
        ReturnType::Default => {
            let message = format!(
                "an {} returns a `Result`: add `-> Result<(), String>`, or an error of your own",
                kind.word()
            );
            Err(Error::new(signature.paren_token.span.close(), message))
        }
    }
}

/// The name of a parameter of the function around the code. The code is a function of the same
/// name, which would hide a parameter that has this name.
fn name_of(signature: &Signature, position: usize, parameter: &PatType) -> Ident {
    if let Pat::Ident(pattern) = &*parameter.pat
        && pattern.ident != signature.ident
    {
        return Ident::new(&pattern.ident.to_string(), Span::mixed_site());
    }
    format_ident!("parameter_{}", position, span = Span::mixed_site())
}

/// Attributes of the function around the code, and of the code itself.
pub(crate) struct Split {
    /// Those that belong to all items: `cfg`.
    pub(crate) everywhere: Vec<Attribute>,
    pub(crate) outer: Vec<Attribute>,
    pub(crate) inner: Vec<Attribute>,
}

/// Attributes that describe the function, in contrast to those that change its code.
const OUTER: &[&str] =
    &["doc", "deprecated", "must_use", "allow", "expect", "warn", "deny", "forbid"];

/// Sorts the attributes of a function.
pub(crate) fn split(attributes: Vec<Attribute>) -> Split {
    let is_named = |attribute: &Attribute, names: &[&str]| {
        names.iter().any(|name| attribute.path().is_ident(name))
    };
    let (everywhere, rest): (Vec<_>, Vec<_>) =
        attributes.into_iter().partition(|attribute| is_named(attribute, &["cfg"]));
    let (outer, inner) = rest.into_iter().partition(|attribute| is_named(attribute, OUTER));
    Split { everywhere, outer, inner }
}
