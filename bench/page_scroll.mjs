// How smoothly does the runs table scroll through 10,000 runs? A real server, a real Chromium that
// scrolls as a wheel does; the times between frames, and what the main thread spent them on.
//   node bench/page_scroll.mjs build/bin/kedge [RUNS]     KEDGE_PAGE=web/dist: the page from there
import { loadavg } from 'node:os';
import { openBrowser } from '../tests/web/browser.mjs';
import { startServer } from '../tests/web/server.mjs';

const [kedge, wanted = '10000'] = process.argv.slice(2);
const RUNS = Number(wanted);
const PROJECT = 'many';
const CALLS_AT_ONCE = 32;
const SCROLL_MS = 5000;
const WHEEL_PX = 300; // a quick turn of the wheel
const WHEEL_EVERY_MS = 16;

async function addRun(api, i) {
  const id = `run-${String(i).padStart(5, '0')}`;
  await api.post(`runs/${PROJECT}`, {
    id,
    name: `${['steady', 'lucky', 'brisk'][i % 3]}-lantern-${i}`,
    tags: i % 5 === 0 ? ['paper'] : [],
    user: ['ann', 'bo', 'cem'][i % 3],
    config: {
      optimizer: {
        name: ['adamw', 'sgd'][i % 2],
        lr: 10 ** -(1 + (i % 4)),
        weight_decay: 0.01,
      },
      model: { depth: 18 + (i % 3), width: 64 },
      seed: i,
    },
    summary: {
      'val/accuracy': ((i * 37) % 1000) / 1000,
      'val/loss': 1 / (1 + (i % 77)),
      'train/loss': 0.5,
    },
  });
}

async function fill(api) {
  let next = 0;
  const worker = async () => {
    while (next < RUNS) await addRun(api, next++);
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, worker));
}

/** Times between animation frames while the wheel turns. */
async function scroll(page) {
  const box = await page.locator('.runs').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.evaluate(() => {
    globalThis.frames_ms = [];
    let last = performance.now();
    const tick = (now) => {
      globalThis.frames_ms.push(now - last);
      last = now;
      globalThis.frame = requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  const end = Date.now() + SCROLL_MS;
  while (Date.now() < end) {
    await page.mouse.wheel(0, WHEEL_PX);
    await new Promise((done) => setTimeout(done, WHEEL_EVERY_MS));
  }
  return page.evaluate(() => {
    cancelAnimationFrame(globalThis.frame);
    return {
      frames: globalThis.frames_ms.slice(1),
      reached: document.querySelector('.runs').scrollTop,
    };
  });
}

/** Milliseconds of processor time by kind, out of a trace: other programs do not count. */
function costsOf(events) {
  const costs = new Map();
  const kinds = [
    'FunctionCall',
    'Layout',
    'UpdateLayoutTree',
    'PrePaint',
    'Paint',
    'Layerize',
    'Commit',
    'HitTest',
    'MinorGC',
    'MajorGC',
    'EventDispatch',
  ];
  for (const { name, ph, tdur = 0 } of events) {
    if (ph === 'X' && kinds.includes(name)) costs.set(name, (costs.get(name) ?? 0) + tdur / 1000);
  }
  return [...costs].sort((a, b) => b[1] - a[1]);
}

function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}

const server = await startServer(kedge);
const browser = await openBrowser(process.env.KEDGE_PAGE);
try {
  await fill(server.api);
  const context = await browser.newContext();
  const page = await context.newPage();
  const opened = Date.now();
  await page.goto(`${server.address.replace(/\/$/, '')}/#/p/${PROJECT}/runs`);
  await page.getByText(RUNS.toLocaleString('en'), { exact: true }).waitFor();
  await page.locator('.runs .line').nth(5).waitFor();
  console.log(`${RUNS} runs on the page after ${Date.now() - opened} ms`);
  await page.waitForTimeout(1500);
  const cdp = await context.newCDPSession(page);
  const events = [];
  cdp.on('Tracing.dataCollected', ({ value }) => events.push(...value));
  await cdp.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: {
      includedCategories: ['devtools.timeline', 'v8', 'blink.user_timing'],
    },
  });
  const { frames, reached } = await scroll(page);
  const traced = new Promise((done) => cdp.once('Tracing.tracingComplete', done));
  await cdp.send('Tracing.end');
  await traced;
  const shown = [0.5, 0.95, 0.99, 1].map((q) => quantile(frames, q).toFixed(1));
  console.log(`${frames.length} frames, ${Math.round(reached / 26)} rows scrolled`);
  console.log(
    `frame ms: median ${shown[0]}, p95 ${shown[1]}, p99 ${shown[2]}, longest ${shown[3]}`,
  );
  console.log(`main thread, processor ms per frame:`);
  for (const [kind, ms] of costsOf(events)) {
    console.log(`  ${kind.padEnd(18)} ${(ms / frames.length).toFixed(2)}`);
  }
  console.log(
    `load ${loadavg()
      .map((x) => x.toFixed(1))
      .join(' ')}`,
  );
} finally {
  await browser.close();
  await server.stop();
}
