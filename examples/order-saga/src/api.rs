//! The HTTP API. It talks to the store only, so that it can run in another process than the node.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use duroxide::client::{StartRequest, Started};
use duroxide::prelude::*;
use serde::{Deserialize, Serialize};

use crate::shop::Parcel;
use crate::workflow::{Order, fulfil};

/// How long a withdrawn order may take to undo its steps. Then it is cancelled as it is.
const GRACE: Duration = Duration::from_secs(24 * 3600);

/// The routes.
pub fn router(client: Client) -> Router {
    Router::new()
        .route("/orders", post(place))
        .route("/orders/{id}", get(show))
        .route("/orders/{id}/cancel", post(cancel))
        .with_state(client)
}

/// The customer chooses the id, so that a request whose response was lost can be repeated.
#[derive(Deserialize)]
struct NewOrder {
    id: String,
    #[serde(flatten)]
    order: Order,
}

#[derive(Deserialize)]
struct Withdrawal {
    reason: String,
}

/// What is known of an order.
#[derive(Default, Serialize)]
struct View {
    id: String,
    state: &'static str,
    step: Option<String>,
    parcel: Option<Parcel>,
    error: Option<String>,
}

async fn place(
    State(client): State<Client>,
    Json(new): Json<NewOrder>,
) -> Result<(StatusCode, Json<View>), ApiError> {
    let start = StartRequest::of(fulfil, &new.id, &new.order)?;
    let code = match client.start_if_new(start).await? {
        Started::New => StatusCode::CREATED,
        Started::Existing => StatusCode::OK,
    };
    Ok((code, Json(view(&client, new.id).await?)))
}

async fn show(
    State(client): State<Client>,
    Path(id): Path<String>,
) -> Result<Json<View>, ApiError> {
    Ok(Json(view(&client, id).await?))
}

async fn cancel(
    State(client): State<Client>,
    Path(id): Path<String>,
    Json(withdrawal): Json<Withdrawal>,
) -> Result<(StatusCode, Json<View>), ApiError> {
    let order = client.attach(fulfil, &id);
    order.request_cancellation(withdrawal.reason, GRACE).await?;
    Ok((StatusCode::ACCEPTED, Json(view(&client, id).await?)))
}

async fn view(client: &Client, id: String) -> Result<View, ApiError> {
    // Before the status, which is `NotFound` until a node has run the first turn.
    if client.explain_unstarted(&id).await?.is_some() {
        return Ok(View { id, state: "queued", ..View::default() });
    }
    let order = client.attach(fulfil, &id);
    match order.status().await? {
        OrchestrationStatus::NotFound => {
            Err(ClientError::InstanceNotFound { instance_id: id }.into())
        }
        OrchestrationStatus::Running { custom_status: step, .. } => {
            Ok(View { id, state: "running", step, ..View::default() })
        }
        OrchestrationStatus::Completed { custom_status: step, .. }
        | OrchestrationStatus::Failed { custom_status: step, .. } => {
            // It has ended, so this does not wait.
            match order.result().await {
                Ok(parcel) => {
                    Ok(View { id, state: "shipped", step, parcel: Some(parcel), error: None })
                }
                Err(error) => {
                    let error = Some(error.to_string());
                    Ok(View { id, state: "failed", step, parcel: None, error })
                }
            }
        }
    }
}

#[derive(Serialize)]
struct Problem {
    error: String,
}

struct ApiError(ClientError);

impl From<ClientError> for ApiError {
    fn from(error: ClientError) -> Self {
        Self(error)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let code = match self.0 {
            ClientError::InstanceNotFound { .. } => StatusCode::NOT_FOUND,
            ClientError::InvalidInput { .. } => StatusCode::BAD_REQUEST,
            ClientError::Provider(_)
            | ClientError::ManagementNotAvailable
            | ClientError::Timeout
            | ClientError::InstanceStillRunning { .. }
            | ClientError::CannotDeleteSubOrchestration { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (code, Json(Problem { error: self.0.to_string() })).into_response()
    }
}
