//! Workers' sockets. They hibernate: each carries what has to outlive the object's memory.

use shared_protocol::{ProtocolError, SchedulerMessage, encode, encode_batch};
use worker::{Response, Result, State, WebSocket, WebSocketPair, console_error, console_warn};

use crate::api::close::{sendable_code, sendable_reason};
use crate::records::socket_attachment::{self, SocketAttachment};
use crate::scheduler::{CloseReason, ConnectionId, WorkerSnapshot};

/// `readyState` of an open socket.
const OPEN: u16 = 1;

/// Closes a worker whose `hello` is too large to be kept.
const UNKEEPABLE_CODE: u16 = 4003;

/// Takes a new connection and answers the request that asked for it.
pub fn accept(state: &State, connection: ConnectionId, key_id: &str) -> Result<Response> {
    let pair = WebSocketPair::new()?;
    state.accept_websocket_with_tags(&pair.server, &[&connection_tag(connection), &key_tag(key_id)]);
    attach(&pair.server, &SocketAttachment { connection, key_id: key_id.to_owned(), snapshot: None })?;
    Response::from_websocket(pair.client)
}

/// What is kept with a socket.
pub fn attachment(socket: &WebSocket) -> Result<Option<SocketAttachment>> {
    let Some(text) = socket.deserialize_attachment::<String>()? else { return Ok(None) };
    socket_attachment::decode(&text).map(Some).map_err(|error| worker::Error::RustError(error.to_string()))
}

/// The workers whose sockets are open, as they were last remembered.
pub fn connected_workers(state: &State) -> Vec<(ConnectionId, WorkerSnapshot)> {
    let remembered = |socket: &WebSocket| match attachment(socket) {
        Ok(attachment) => attachment.and_then(|a| Some((a.connection, a.snapshot?))),
        Err(error) => {
            console_error!("a socket's attachment cannot be read: {error}");
            None
        }
    };
    let is_open = |socket: &&WebSocket| socket.as_ref().ready_state() == OPEN;
    state.get_websockets().iter().filter(is_open).filter_map(remembered).collect()
}

/// The open sockets that have not said whose they are.
pub fn strangers(state: &State) -> Vec<ConnectionId> {
    let is_open = |socket: &&WebSocket| socket.as_ref().ready_state() == OPEN;
    let stranger = |socket: &WebSocket| {
        let attachment = attachment(socket).ok().flatten()?;
        attachment.snapshot.is_none().then_some(attachment.connection)
    };
    state.get_websockets().iter().filter(is_open).filter_map(stranger).collect()
}

/// Keeps what is known of a worker with its socket.
pub fn remember(state: &State, connection: ConnectionId, snapshot: WorkerSnapshot) -> Result<()> {
    for socket in of_connection(state, connection) {
        let Some(old) = attachment(&socket)? else { continue };
        let kept = attach(&socket, &SocketAttachment { snapshot: Some(snapshot.clone()), ..old });
        if let Err(error) = kept {
            console_warn!("{}: {error}", snapshot.worker_id);
            close_socket(&socket, UNKEEPABLE_CODE, "hello is too large");
        }
    }
    Ok(())
}

/// Sends messages in their order; returns how many frames that took. A socket that is gone takes none; its close event is on
/// its way.
pub fn send(state: &State, connection: ConnectionId, messages: &[SchedulerMessage]) -> u64 {
    let mut frames = 0;
    for socket in of_connection(state, connection) {
        for frame in encode_batch(messages) {
            if let Err(error) = socket.send_with_str(frame) {
                console_warn!("connection {}: nothing can be sent: {error}", connection.0);
                return frames;
            }
            frames += 1;
        }
    }
    frames
}

/// Answers something that could not be read.
pub fn refuse(socket: &WebSocket, error: ProtocolError) {
    let frame = encode(&SchedulerMessage::Error(error));
    if let Err(error) = socket.send_with_str(frame) {
        console_warn!("nothing can be sent: {error}");
    }
}

/// Closes a connection for the scheduler's own reason.
pub fn close(state: &State, connection: ConnectionId, reason: CloseReason) {
    for socket in of_connection(state, connection) {
        close_socket(&socket, reason.code(), reason.text());
    }
}

/// Answers a peer's close; nobody else does.
pub fn answer_close(socket: &WebSocket, code: usize, reason: &str) {
    close_socket(socket, sendable_code(u32::try_from(code).unwrap_or(0)), reason);
}

fn close_socket(socket: &WebSocket, code: u16, reason: &str) {
    // A socket that is closed already throws, and is what we want.
    if let Err(error) = socket.close(Some(code), Some(sendable_reason(reason))) {
        console_warn!("a socket was closed already: {error}");
    }
}

fn attach(socket: &WebSocket, attachment: &SocketAttachment) -> Result<()> {
    let text =
        socket_attachment::encode(attachment).map_err(|error| worker::Error::RustError(error.to_string()))?;
    socket.serialize_attachment(text)
}

fn of_connection(state: &State, connection: ConnectionId) -> Vec<WebSocket> {
    state.get_websockets_with_tag(&connection_tag(connection))
}

fn connection_tag(connection: ConnectionId) -> String {
    format!("connection:{}", connection.0)
}

/// By this tag the sockets of a revoked key can be told.
fn key_tag(key_id: &str) -> String {
    format!("key:{key_id}")
}
