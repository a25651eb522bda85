// Journeys of users through the page, in a real Chromium against a real server.
//   node tests/web/journeys.mjs build/bin/kedge [name ...]
// KEDGE_SHOTS=DIR keeps a picture of each; KEDGE_CHROMIUM names the browser; KEDGE_PAGE=web/dist takes
// the page from there instead of out of the binary.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { findChromium, openBrowser } from './browser.mjs';
import { journeys } from './journey_list.mjs';
import { seed } from './seed.mjs';
import { startServer } from './server.mjs';

const [kedge, ...only] = process.argv.slice(2);
assert(kedge, 'usage: node tests/web/journeys.mjs KEDGE [journey ...]');
const shots = process.env.KEDGE_SHOTS;
if (shots) mkdirSync(shots, { recursive: true });

if (!findChromium()) {
  console.log('skipped: no Chromium (apt install chromium)');
  process.exit(77);
}

const PASSWORD = 'fathoms-deep-9';
const open = await startServer(kedge);
const guarded = await startServer(kedge, ['--auth'], {
  KEDGE_ADMIN_PASSWORD: PASSWORD,
});
const owned = await startServer(kedge, []);
const browser = await openBrowser(process.env.KEDGE_PAGE);
const { newContext } = browser;
let failed = 0;
try {
  await seed(open.api);
  for (const [name, walk] of Object.entries(journeys)) {
    if (only.length > 0 && !only.includes(name)) continue;
    const context = await newContext();
    const page = await context.newPage();
    const problems = [];
    const foreign = [];
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('request', (request) => {
      const { protocol, hostname } = new URL(request.url());
      if (protocol.startsWith('http') && hostname !== '127.0.0.1') foreign.push(request.url());
    });
    const started = Date.now();
    try {
      const said = await walk({
        page,
        newContext,
        server: open,
        guarded,
        owned,
        password: PASSWORD,
      });
      assert.deepEqual(problems, [], 'the page threw');
      assert.deepEqual(foreign, [], 'the page asked an outside address');
      console.log(`${said ?? 'ok'}  ${name}  ${Date.now() - started} ms`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED  ${name}: ${error.message}${problems.length ? ` [${problems}]` : ''}`);
    }
    if (shots)
      await page.screenshot({
        path: `${shots}/${name.replaceAll(' ', '-')}.png`,
      });
    await context.close();
  }
} finally {
  await browser.close();
  await open.stop();
  await guarded.stop();
  await owned.stop();
}
process.exit(failed ? 1 : 0);
