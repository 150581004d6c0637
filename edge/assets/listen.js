// The listen page: plays one recording by the signed link in the address's fragment, which no server ever sees in a log.
import Hls from "./hls.js";

const POLL_MS = 1000;
const POLL_QUARANTINED_MS = 15_000;
const ENDED = ["completed", "failed", "cancelled"];
const STATES = {
  queued: "Waiting for a free worker",
  offered: "Waiting for a free worker",
  running: "Restoring",
  completed: "Restored",
  failed: "Could not be restored",
  quarantined: "Could not be restored; the operator looks into it",
  cancelled: "Cancelled",
};
const PHASES = {
  downloading: "Fetching the recording",
  preparing_audio: "Preparing the audio",
  restoring: "Restoring",
  publishing: "Saving the results",
};
const FORMATS = { wav: "WAV, lossless", flac: "FLAC, lossless and smaller", mp3: "MP3, smallest" };

const page = Object.fromEntries([...document.querySelectorAll("[id]")].map((element) => [element.id, element]));
const ticket = location.hash.slice(1);
const base = `/v1/play/${encodeURIComponent(ticket)}/`;

const tracks = { restored: page["restored-audio"], original: page["original-audio"] };
let chosen = "restored";
let restoredIsLoaded = false;
let originalIsLoaded = false;
let latest;
let seeking = false;

const track = () => tracks[chosen];

function clock(seconds) {
  if (!Number.isFinite(seconds)) return "–:––";
  const whole = Math.floor(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const text = parts.map((part) => String(part).padStart(2, "0")).join(":");
  return text.replace(/^00:0?/, "").replace(/^0(\d:\d\d:)/, "$1");
}

function size(bytes) {
  const units = ["B", "kB", "MB", "GB"];
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  return `${(bytes / 1000 ** step).toLocaleString(undefined, { maximumFractionDigits: step ? 1 : 0 })} ${units[step]}`;
}

function fail(text) {
  page.message.textContent = text;
  page.message.hidden = false;
}

function note(text) {
  page.note.textContent = text;
  page.note.hidden = !text;
}

/** Seconds of the recording, as far as they are known. */
function duration() {
  const known = latest?.audioSeconds;
  if (known) return known;
  const own = track().duration;
  return Number.isFinite(own) ? own : latest?.publishedSeconds ?? 0;
}

/** Seconds that can be heard of the chosen version. */
function ready() {
  if (chosen === "original" || latest?.state === "completed") return duration();
  return latest?.publishedSeconds ?? 0;
}

function showPosition() {
  const total = duration();
  const at = seeking ? Number(page.seek.value) : track().currentTime;
  page.seek.max = total;
  if (!seeking) page.seek.value = at;
  page.seek.style.setProperty("--played", `${total ? (100 * at) / total : 0}%`);
  page.seek.style.setProperty("--ready", `${total ? (100 * ready()) / total : 0}%`);
  page.seek.setAttribute("aria-valuetext", `${clock(at)} of ${clock(total || NaN)}`);
  page.position.textContent = clock(at);
  page.duration.textContent = clock(total || NaN);
}

function showPlaying() {
  const playing = !track().paused && !track().ended;
  page.play.toggleAttribute("data-playing", playing);
  page.play.setAttribute("aria-label", playing ? "Pause" : "Play");
}

async function play() {
  try {
    await track().play();
    note("");
  } catch (error) {
    if (error.name !== "AbortError") note("Playback could not be started. Press play again.");
  }
}

/** Restored audio: HLS while it grows and after, or a final file when the job made no HLS. */
function loadRestored() {
  if (restoredIsLoaded) return;
  const audio = tracks.restored;
  if (latest.playable) {
    const playlist = `${base}index.m3u8`;
    if (Hls.isSupported()) {
      const hls = new Hls({ startPosition: 0, enableWorker: false, maxBufferLength: 60, backBufferLength: 300 });
      hls.on(Hls.Events.ERROR, (_event, { fatal, type }) => {
        if (!fatal) return;
        if (type === Hls.ErrorTypes.MEDIA_ERROR) hls.recoverMediaError();
        else setTimeout(() => hls.startLoad(), 2 * POLL_MS);
      });
      hls.loadSource(playlist);
      hls.attachMedia(audio);
    } else if (audio.canPlayType("application/vnd.apple.mpegurl")) {
      audio.src = playlist;
    } else {
      return note("This browser plays no streams. The files below can be saved once the recording is restored.");
    }
  } else {
    const file = ["mp3", "wav", "flac"].map((kind) => latest.files.find((f) => f.kind === kind)).find(Boolean);
    if (!file) return;
    audio.src = base + file.url;
  }
  restoredIsLoaded = true;
  page.play.disabled = false;
  page.seek.disabled = false;
}

function loadOriginal() {
  if (originalIsLoaded) return;
  originalIsLoaded = true;
  tracks.original.src = `${base}original`;
  tracks.original.load();
}

function choose(version) {
  if (version === chosen) return;
  const before = track();
  const at = before.currentTime;
  const playing = !before.paused;
  before.pause();
  chosen = version;
  if (version === "original") loadOriginal();
  const after = track();
  const go = () => {
    after.currentTime = version === "restored" ? Math.min(at, Math.max(ready() - 0.1, 0)) : at;
    if (playing) play();
  };
  if (after.readyState > 0) go();
  else after.addEventListener("loadedmetadata", go, { once: true });
  page.play.disabled = version === "restored" && !restoredIsLoaded;
  page.seek.disabled = page.play.disabled;
  showPlaying();
  showPosition();
}

function show(state) {
  latest = state;
  document.title = `${state.name} · minifleet`;
  page.name.textContent = state.name;
  page.player.hidden = false;
  page.player.dataset.state = state.state;
  const running = state.state === "running";
  page.state.textContent = (running && PHASES[state.phase]) || STATES[state.state] || state.state;
  page.percent.textContent = running ? `${Math.floor(state.progress * 100)} %` : "";
  page.progress.hidden = !["queued", "offered", "running"].includes(state.state);
  page.progress.value = state.progress;
  if (state.failure) fail(`${state.failure.message}. ${state.failure.advice}`.replace(/\.\. /, ". "));

  if (state.playable || state.files.length) loadRestored();
  else if (running && state.streams) {
    note("The first seconds can be heard in a moment, while the rest is still being restored.");
  } else if (running) note("The recording can be heard once all of it is restored.");
  if (restoredIsLoaded && running) note("You can listen already; the rest follows.");
  if (restoredIsLoaded && ENDED.includes(state.state)) note("");

  if (state.files.length && !page.files.childElementCount) {
    page.files.replaceChildren(...state.files.map(fileItem));
    page.downloads.hidden = false;
  }
  showPosition();
}

function fileItem(file) {
  const link = document.createElement("a");
  link.href = base + file.url;
  link.download = "";
  const label = document.createElement("span");
  label.textContent = FORMATS[file.kind] ?? file.name;
  const bytes = document.createElement("span");
  bytes.className = "quiet number";
  bytes.textContent = size(file.size);
  link.append(label, bytes);
  const item = document.createElement("li");
  item.append(link);
  return item;
}

async function poll() {
  let state;
  try {
    const answer = await fetch(`${base}state`);
    const body = await answer.json();
    if (answer.ok) {
      page.message.hidden = true;
      show(body);
      state = body.state;
    } else if (answer.status < 500) {
      return fail(
        body.code === "ticket_expired"
          ? "This link has expired. Ask whoever sent it for a new one."
          : "This link does not work. Check that it was copied whole.",
      );
    }
  } catch {
    fail("The connection is lost. Trying again …");
  }
  if (!ENDED.includes(state)) setTimeout(poll, state === "quarantined" ? POLL_QUARANTINED_MS : POLL_MS);
}

for (const audio of Object.values(tracks)) {
  audio.addEventListener("timeupdate", showPosition);
  audio.addEventListener("durationchange", showPosition);
  for (const event of ["play", "playing", "pause", "ended"]) audio.addEventListener(event, showPlaying);
}
tracks.original.addEventListener("error", () => {
  page.original.disabled = true;
  page.restored.checked = true;
  choose("restored");
  note("This browser cannot play the original file.");
});
page.play.addEventListener("click", () => (track().paused ? play() : track().pause()));
page.seek.addEventListener("input", () => {
  seeking = true;
  showPosition();
});
page.seek.addEventListener("change", () => {
  seeking = false;
  track().currentTime = Math.min(Number(page.seek.value), Math.max(ready() - 0.1, 0));
  showPosition();
});
for (const radio of [page.original, page.restored]) radio.addEventListener("change", () => choose(radio.value));
// A fragment changes without a new page.
addEventListener("hashchange", () => location.reload());

if (ticket) poll();
else fail("This page plays a recording by its link, and this address has none. Open the link that you were sent.");
