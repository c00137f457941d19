//! A recorded name stands for one function.

use duroxide::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

#[activity]
async fn store<T>(_ctx: ActivityContext, _value: T) -> Result<(), String>
where
    T: Serialize + DeserializeOwned + Send + 'static,
{
    Ok(())
}

fn main() {}
