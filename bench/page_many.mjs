// What does a page with 10,000 runs fetch, and how long does a line take to light up among 170? A
// real server and a real Chromium; bytes are those on the wire.
//   node bench/page_many.mjs build/bin/kedge [RUNS]     KEDGE_PAGE=web/dist: the page from there
import { loadavg } from 'node:os';
import { openBrowser } from '../tests/web/browser.mjs';
import { startServer } from '../tests/web/server.mjs';

const [kedge, wanted = '10000'] = process.argv.slice(2);
const RUNS = Number(wanted);
const PROJECT = 'many';
const CALLS_AT_ONCE = 32;
const LINES = 170;
const POINTS = 400;
const NEW_RUNS = 8;
const METRICS = ['loss', 'val/accuracy', 'val/loss', ...Array.from({ length: 9 }, (_, i) => `m${i}`)];

const idOf = (i) => `run-${String(i).padStart(5, '0')}`;

/** The first LINES runs have long curves, and no two of them a step in common. */
async function addRun(api, i) {
  await api.post(`runs/${PROJECT}`, {
    id: idOf(i),
    name: `${['steady', 'lucky', 'brisk'][i % 3]}-lantern-${i}`,
    user: ['ann', 'bo', 'cem'][i % 3],
    config: {
      optimizer: { name: ['adamw', 'sgd', 'lion', 'rmsprop'][i % 4], lr: 10 ** -(1 + (i % 4)) },
      model: { depth: 18 + (i % 3), width: 64 },
      seed: i,
    },
  });
  const count = i < LINES ? POINTS : 10;
  const points = Array.from({ length: count }, (_, k) => {
    const step = k * LINES + i;
    const value = 1 / (1 + step / 500) + (i % 97) / 97;
    return METRICS.slice(0, i < LINES ? METRICS.length : 3).map((key) => ({ key, step, value }));
  });
  await api.post(`runs/${PROJECT}/${idOf(i)}/log`, { points: points.flat() });
}

async function fill(api, from, to) {
  let next = from;
  const worker = async () => {
    while (next < to) await addRun(api, next++);
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, worker));
}

/** Counts what comes over the wire, in kilobytes, since the last call of take(). */
async function countBytes(context, page) {
  const cdp = await context.newCDPSession(page);
  await cdp.send('Network.enable');
  let bytes = 0;
  let requests = 0;
  cdp.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
    requests += 1;
  });
  return () => {
    const text = `${(bytes / 1e3).toFixed(0)} kB in ${requests} answers`;
    [bytes, requests] = [0, 0];
    return text;
  };
}

function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}

/** From a move of the pointer to the frame that shows it, along a diagonal of the chart. */
async function hover(page) {
  const box = await page.locator('.chart .u-over').first().boundingBox();
  const times = [];
  for (let k = 0; k < 25; k += 1) {
    const at = 0.1 + (0.8 * k) / 25;
    const begun = Date.now();
    await page.mouse.move(box.x + box.width * at, box.y + box.height * at);
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
    times.push(Date.now() - begun);
  }
  return times;
}

const server = await startServer(kedge);
const browser = await openBrowser(process.env.KEDGE_PAGE);
try {
  await fill(server.api, 0, RUNS);
  const root = `${server.address.replace(/\/$/, '')}/#/p/${PROJECT}/runs`;
  const context = await browser.newContext();
  const page = await context.newPage();
  const take = await countBytes(context, page);
  const opened = Date.now();
  await page.goto(root);
  await page.getByText(RUNS.toLocaleString('en'), { exact: true }).waitFor();
  await page.locator('.runs .line').nth(5).waitFor();
  console.log(`opened after ${Date.now() - opened} ms`);
  await page.waitForTimeout(3000);
  console.log(`opening the table: ${take()}`);
  for (let i = 0; i < NEW_RUNS; i += 1) {
    await addRun(server.api, RUNS + i);
    await page.waitForTimeout(1500);
  }
  await page
    .getByText((RUNS + NEW_RUNS).toLocaleString('en'))
    .first()
    .waitFor();
  console.log(`${NEW_RUNS} new runs, one after the other: ${take()}`);
  await page.goto(`${root}?g=config.optimizer.name&q=val/accuracy`);
  await page.locator('.line.group').nth(3).waitFor();
  await page.locator('.chart canvas').first().waitFor();
  await page.waitForTimeout(3000);
  console.log(`grouped by one key: ${take()}`);
  const group = ['config.optimizer.name'];
  const asked = Date.now();
  await server.api.post('groups/series', { project: PROJECT, group, key: 'loss', limit: 12 });
  console.log(`one curve for each of 4 groups of ${RUNS} runs: ${Date.now() - asked} ms`);
  const chosen = Array.from({ length: LINES }, (_, i) => idOf(i)).join(',');
  await page.goto(`${root}?l=charts&sel=${chosen}`);
  await page.reload();
  await page.locator('.chart canvas').first().waitFor();
  await page.waitForTimeout(4000);
  await hover(page); // the first move makes what the others use
  const times = await hover(page);
  const shown = [0.5, 0.95, 1].map((q) => quantile(times, q));
  console.log(
    `hover over ${LINES} lines, ms: median ${shown[0]}, p95 ${shown[1]}, worst ${shown[2]}`,
  );
  console.log(`load ${loadavg().map((x) => x.toFixed(1))}`);
} finally {
  await browser.close();
  await server.stop();
}
