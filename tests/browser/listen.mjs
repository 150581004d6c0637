// Opens a listen page in a real browser, presses play as soon as it can be pressed, and reports what is heard.
//
//   node listen.mjs CHROMIUM PAGE
//
// One JSON object a line on standard output, five a second: where the player is, and what went wrong if anything did.
// Ends when standard input does.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [executablePath, address] = process.argv.slice(2);
if (!address) {
  console.error("usage: node listen.mjs CHROMIUM PAGE");
  process.exit(2);
}

const profile = await mkdtemp(join(tmpdir(), "minifleet-browser-"));
const context = await chromium.launchPersistentContext(profile, {
  executablePath,
  headless: true,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--autoplay-policy=no-user-gesture-required",
  ],
});
let finished = false;
async function finish(code) {
  if (finished) return;
  finished = true;
  await context.close().catch(() => {});
  await rm(profile, { recursive: true, force: true });
  process.exit(code);
}
process.stdin.on("end", () => finish(0));
process.stdin.resume();

const page = await context.newPage();
const problems = [];
page.on("pageerror", (error) => problems.push(String(error)));
page.on("requestfailed", (request) => problems.push(`${request.url()}: ${request.failure()?.errorText}`));
page.on("response", (answer) => {
  // Before the first segment there is no playlist; a poll then is no problem.
  if (answer.status() >= 400 && answer.status() !== 404) problems.push(`${answer.url()}: ${answer.status()}`);
});

let pressed = false;
try {
  await page.goto(address);
  while (!finished) {
    const state = await page.evaluate((press) => {
      const audio = document.querySelector("#restored-audio");
      const button = document.querySelector("#play");
      const canPress = button && !button.disabled;
      if (press && canPress) button.click();
      return {
        pressed: Boolean(canPress),
        currentTime: audio?.currentTime ?? 0,
        duration: Number.isFinite(audio?.duration) ? audio.duration : null,
        ended: audio?.ended ?? false,
        buffered: audio?.buffered.length ? audio.buffered.end(audio.buffered.length - 1) : 0,
        mediaError: audio?.error?.message ?? null,
        message: document.querySelector("#message:not([hidden])")?.textContent ?? null,
      };
    }, !pressed);
    pressed ||= state.pressed;
    console.log(JSON.stringify({ ...state, pressed, problems }));
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
} catch (error) {
  if (!finished) {
    console.error(error);
    await finish(1);
  }
}
