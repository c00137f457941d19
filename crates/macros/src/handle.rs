//! The handle: the type that carries what is known about a function.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Ident, LitStr, Visibility};

use crate::function::Function;
use crate::options::{Kind, Options};

/// A handle to write.
pub(crate) struct Handle<'a> {
    pub(crate) kind: Kind,
    pub(crate) options: &'a Options,
    pub(crate) function: &'a Function,
    pub(crate) cfg: &'a [Attribute],
    pub(crate) vis: &'a Visibility,
    /// The name of the type.
    pub(crate) ident: &'a Ident,
    /// The name of the function.
    pub(crate) name: &'a Ident,
    /// The body of `Orchestration::calls`.
    pub(crate) calls: TokenStream,
}

impl Handle<'_> {
    /// The type and what it implements.
    pub(crate) fn items(&self) -> TokenStream {
        let Self { kind, options, function, cfg, vis, ident, .. } = self;
        let (krate, input, output) = (options.krate(), function.input(), &function.output);
        let name = self.recorded_name();
        let doc = format!("The handle of the {} `{}`.", kind.word(), name.value());
        // In the span of the result: errors about it point there.
        let krate_there = options.krate_at(output.span());
        let results = quote_spanned! {output.span()=>
            type Output = <#output as #krate_there::typed::Outcome>::Ok;
            type Error = <#output as #krate_there::typed::Outcome>::Error;
        };
        let error_codec = self.error_codec();
        let is_context = self.context_check();
        let kind = self.kind_impl();
        quote! {
            #(#cfg)*
            #[doc = #doc]
            #[allow(non_camel_case_types, dead_code)]
            #[derive(Debug, Clone, Copy)]
            #vis struct #ident {}

            #(#cfg)*
            #[automatically_derived]
            impl #krate::typed::Callable for #ident {
                const NAME: &'static str = #name;
                type Input = #input;
                #results
                #error_codec
            }

            #is_context

            #kind
        }
    }

    /// Demands that the first parameter is a context. Without it, a function that lacks its context
    /// would compile until it is called or registered, and be reported there.
    fn context_check(&self) -> TokenStream {
        let Self { options, function, cfg, .. } = self;
        let (krate, context) = (options.krate(), &function.types[0]);
        let check = quote_spanned!(context.span()=> #krate::typed::assert_context::<#context>());
        quote! {
            #(#cfg)*
            const _: () = #check;
        }
    }

    fn recorded_name(&self) -> LitStr {
        let own = || {
            let name = self.name.to_string();
            LitStr::new(name.trim_start_matches("r#"), self.name.span())
        };
        self.options.name.clone().unwrap_or_else(own)
    }

    fn error_codec(&self) -> TokenStream {
        let span = self.function.output.span();
        let krate = self.options.krate_at(span);
        quote_spanned! {span=>
            fn encode_error(error: &Self::Error) -> ::std::string::String {
                #[allow(unused_imports)]
                use #krate::typed::DefaultHint as _;
                let hint = #krate::typed::HintOf(error).retry_hint();
                #krate::typed::encode_error(error, hint)
            }

            fn decode_error(text: &str) -> ::core::option::Option<Self::Error> {
                #krate::typed::decode_error(text)
            }
        }
    }

    fn kind_impl(&self) -> TokenStream {
        let Self { kind, options, cfg, ident, calls, .. } = self;
        let krate = options.krate();
        match kind {
            Kind::Activity => {
                let (defaults, elsewhere) = (options.call_options(), options.elsewhere);
                quote! {
                    #(#cfg)*
                    #[automatically_derived]
                    impl #krate::typed::Activity for #ident {
                        const OPTIONS: #krate::typed::CallOptions = #defaults;
                        const ELSEWHERE: bool = #elsewhere;
                    }
                }
            }
            Kind::Orchestration => {
                let version = match &options.version {
                    Some(version) => quote!(::core::option::Option::Some(#version)),
                    None => quote!(::core::option::Option::None),
                };
                quote! {
                    #(#cfg)*
                    #[automatically_derived]
                    impl #krate::typed::Orchestration for #ident {
                        const VERSION: ::core::option::Option<&'static str> = #version;
                        #[allow(deprecated)]
                        fn calls() -> ::std::vec::Vec<#krate::typed::Called> {
                            ::std::vec![#calls]
                        }
                    }
                }
            }
        }
    }
}
