//! Serves a [`Demo`] over HTTP on loopback.

use super::Demo;
use anyhow::{Context, Result};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};

/// Starts the server on a free port and returns its base URL.
///
/// It lives as long as the async runtime, which is as long as the program.
pub async fn serve(demo: Demo) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.context("cannot open a port on 127.0.0.1")?;
    let base = format!("http://{}/v1", listener.local_addr()?);
    let demo = Arc::new(demo);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(connection(stream, demo.clone()));
        }
    });
    Ok(base)
}

async fn connection(stream: TcpStream, demo: Arc<Demo>) {
    let service = service_fn(|request| respond(request, demo.clone()));
    let connection = http1::Builder::new();
    // A client that hangs up ends its own connection, nothing else.
    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
}

async fn respond(
    request: Request<Incoming>,
    demo: Arc<Demo>,
) -> Result<Response<Full<Bytes>>> {
    let body = request.into_body().collect().await?.to_bytes();
    let answer = demo.answer(&serde_json::from_slice(&body)?);
    Ok(Response::new(Full::from(answer.to_string())))
}
