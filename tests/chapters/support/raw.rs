//! A server for what cannot be said in HTTP: half a body, a closed connection.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Serves these bytes, one connection each, closing after them. Returns the
/// address.
pub async fn serve(answers: Vec<Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            // The whole request has to be read, or closing would reset the
            // connection before the answer is out.
            let mut request = vec![];
            while !is_whole(&request) {
                let mut piece = [0; 4096];
                let length = stream.read(&mut piece).await.unwrap();
                request.extend(&piece[..length]);
            }
            stream.write_all(&answer).await.unwrap();
        }
    });
    format!("http://{address}")
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.split("content-length:").nth(1).unwrap_or("0");
    let length: usize = length.lines().next().unwrap().trim().parse().unwrap();
    body.len() >= length
}
