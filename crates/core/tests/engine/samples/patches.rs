//! One orchestration in the states of a change: before it, with it, with the old code deleted.

use duroxide_core::OrchestrationContext;
use duroxide_core::limits::MAX_PATCH_ID_BYTES;

async fn call(ctx: &OrchestrationContext, name: &str) -> Result<String, String> {
    ctx.schedule_activity(name, "1").await
}

super::samples! {
    unpatched(ctx, _input) {
        call(&ctx, "A").await?;
        call(&ctx, "B").await
    }
    patched(ctx, _input) {
        call(&ctx, "A").await?;
        if ctx.patched("p") {
            call(&ctx, "New").await?;
        }
        call(&ctx, "B").await
    }
    patch_deprecated(ctx, _input) {
        call(&ctx, "A").await?;
        ctx.deprecate_patch("p");
        call(&ctx, "New").await?;
        call(&ctx, "B").await
    }
    patch_removed(ctx, _input) {
        call(&ctx, "A").await?;
        call(&ctx, "New").await?;
        call(&ctx, "B").await
    }

    unpatched_at_end(ctx, _input) {
        let go = ctx.schedule_wait("go");
        call(&ctx, "A").await?;
        Ok(go.await)
    }
    patched_at_end(ctx, _input) {
        let go = ctx.schedule_wait("go");
        call(&ctx, "A").await?;
        if ctx.patched("p") {
            call(&ctx, "New").await?;
        }
        Ok(go.await)
    }

    unpatched_loop(ctx, _input) {
        for _time in 0..3 {
            call(&ctx, "A").await?;
        }
        Ok("end".to_owned())
    }
    patched_loop(ctx, _input) {
        for _time in 0..3 {
            call(&ctx, if ctx.patched("p") { "New" } else { "A" }).await?;
        }
        Ok("end".to_owned())
    }

    unpatched_branches(ctx, _input) {
        let _results = ctx.join2(call(&ctx, "A"), call(&ctx, "B")).await;
        Ok("end".to_owned())
    }
    patched_branches(ctx, _input) {
        let branch = async |name: &str| {
            let _result = call(&ctx, name).await;
            if ctx.patched("p") {
                let _result = call(&ctx, "New").await;
            }
        };
        ctx.join2(branch("A"), branch("B")).await;
        Ok("end".to_owned())
    }

    unpatched_round(ctx, _input) {
        call(&ctx, "A").await?;
        ctx.continue_as_new("again").await
    }
    patched_round(ctx, _input) {
        call(&ctx, if ctx.patched("p") { "New" } else { "A" }).await?;
        ctx.continue_as_new("again").await
    }

    two_patches(ctx, _input) {
        let (first, second) = (ctx.patched("one"), ctx.patched("two"));
        call(&ctx, &format!("{first} {second} {}", ctx.patched("one"))).await
    }
    patch_with_long_id(ctx, input) {
        let long = MAX_PATCH_ID_BYTES + usize::from(!input.is_empty());
        call(&ctx, &ctx.patched("i".repeat(long)).to_string()).await
    }
    waits_for_a_marker(ctx, _input) {
        let marker = ctx.schedule_wait("__duroxide_syscall:patched");
        ctx.patched("p");
        ctx.select2(marker, ctx.schedule_wait("go")).await;
        Ok("end".to_owned())
    }
}
