import assert from 'node:assert/strict';
import { addRun, finalAccuracy, logCurves, plannedRuns, PROJECT, RICH } from './seed.mjs';

const at = (server, path) => `${server.address.replace(/\/$/, '')}/#/p/${PROJECT}/${path}`;
const rowOf = (page, name) =>
  page.locator('.runs .line', { has: page.getByRole('link', { name, exact: true }) });
const count = async (page) => (await page.locator('.pane.list .toolbar b').innerText()).trim();

async function until(check, what, limit = 10000) {
  const end = Date.now() + limit;
  for (;;) {
    if (await check()) return;
    if (Date.now() > end) throw new Error(`did not happen in ${limit} ms: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

async function drag(page, box, from, to) {
  await page.mouse.move(box.x + box.width * from[0], box.y + box.height * from[1]);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to[0], box.y + box.height * to[1], { steps: 6 });
  await page.mouse.up();
}

async function liveRunAppears({ page, server }) {
  await page.goto(at(server, 'runs'));
  await page.getByText('live', { exact: true }).waitFor();
  await rowOf(page, 'lion-2-3').waitFor();
  const before = Number(await count(page));
  const plan = { id: 'just-now', optimizer: 'sgd', lr: 1e-3, seed: 2 };
  await addRun(server.api, plan, 'running');
  await rowOf(page, plan.id).waitFor();
  await until(async () => Number(await count(page)) === before + 1, 'the count goes up');
  await rowOf(page, plan.id).locator('[role=checkbox][aria-checked=true]').waitFor();
  await logCurves(server.api, plan, 2002, 4000);
  await until(
    async () => (await rowOf(page, plan.id).innerText()).includes('4,001'),
    'the new step shows',
  );
  await server.api.call('DELETE', `runs/${PROJECT}/${plan.id}`);
  await rowOf(page, plan.id).waitFor({ state: 'detached' });
}

async function filter({ page, server }) {
  await page.goto(at(server, 'runs'));
  await rowOf(page, 'lion-2-3').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('optimizer.na');
  await page.getByRole('option', { name: 'config.optimizer.name' }).waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.type('= sgd and val/accuracy > 0.7');
  const wanted = plannedRuns().filter((p) => p.optimizer === 'sgd' && finalAccuracy(p) > 0.7);
  await until(
    async () => Number(await count(page)) === wanted.length,
    `${wanted.length} runs are left`,
  );
  assert.match(page.url(), /f=/);
  await page.locator('#filter').fill('val/accuracy >');
  await page.locator('.problem').waitFor();
  assert.match(await page.locator('.problem').innerText(), /column \d+/);
}

async function compare({ page, server }) {
  await page.goto(at(server, 'runs?l=table&o=name'));
  await rowOf(page, 'adamw-0-1').waitFor();
  for (const key of ['X', 'j', 'x', 'j', 'j', 'j', 'x']) await page.keyboard.press(key);
  await until(
    async () => /sel=adamw-0-1%2Cadamw-1-1/.test(page.url()),
    'two runs are in the address',
  );
  await page.goto(page.url().replace('/runs?', '/compare?k=config&'));
  const row = page.locator('tr', {
    has: page.getByRole('cell', { name: 'optimizer.lr', exact: true }),
  });
  await row.waitFor();
  assert.deepEqual((await row.locator('td').allInnerTexts()).slice(1), ['0.0001', '0.001']);
  assert.equal(
    await page.getByRole('cell', { name: 'data.name', exact: true }).count(),
    0,
    'what is the same is left out',
  );
}

async function zoom({ page, server }) {
  await page.goto(at(server, 'runs'));
  const chart = page.getByRole('figure', { name: 'Chart of train/loss' });
  await chart.locator('canvas').waitFor();
  await page.waitForTimeout(500);
  const asked = page.waitForRequest(
    (r) => r.url().endsWith('/series') && /"from":/.test(r.postData() ?? ''),
  );
  await drag(page, await chart.locator('.u-over').boundingBox(), [0.25, 0.5], [0.5, 0.5]);
  const request = await asked;
  const body = request.postDataJSON();
  const answer = await (await request.response()).json();
  assert(body.from > 300 && body.to < 1300, `the range ${body.from} to ${body.to}`);
  const first = answer.series.find((s) => s.key === 'train/loss');
  assert.equal(first.sampled, false, 'near enough, every point comes');
  assert.equal(first.x.length, first.count);
  const link = page.url();
  assert.match(link, /r=\d/);
  const copy = await page.context().newPage();
  await copy.goto(link);
  await copy.getByRole('button', { name: 'zoom' }).waitFor();
  await copy.close();
  await page.goBack();
  await page.getByRole('button', { name: 'zoom' }).waitFor({ state: 'detached' });
}

async function parallelBrush({ page, server }) {
  await page.goto(
    at(
      server,
      'compare?ax=config.optimizer.name|config.optimizer.lr|summary.val/accuracy&f=exists+config.seed',
    ),
  );
  const all = plannedRuns();
  await page.getByText(`${all.length} of ${all.length} runs`).waitFor();
  const grip = await page.getByRole('slider', { name: 'Range of val/accuracy' }).boundingBox();
  await drag(page, grip, [0.5, 0.01], [0.5, 0.5]);
  await page.getByText('inside the brushes').waitFor();
  const values = all.map(finalAccuracy);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const place = (v) => (v - low) / (high - low);
  const [, from, to] = /accuracy:([\d.]+)~([\d.]+)/.exec(
    decodeURIComponent(decodeURIComponent(page.url())),
  );
  const wanted = values.filter(
    (v) => place(v) >= from - 1e-3 && place(v) <= Number(to) + 1e-3,
  ).length;
  assert(wanted > 3 && wanted < all.length, `${wanted} runs pass`);
  await page.getByText(`${wanted} of ${all.length} runs`).waitFor();
  assert.equal(await page.locator('.compare tbody tr').count(), wanted);
}

async function table({ page, server }) {
  await page.goto(at(server, `run/${RICH}/media`));
  const figure = page.getByRole('figure', { name: 'table val/mistakes' });
  await figure.scrollIntoViewIfNeeded();
  await figure.getByText('300 of 300 rows').waitFor();
  await until(
    () =>
      figure
        .locator('img')
        .first()
        .evaluate((img) => img.naturalWidth === 16),
    'its images load',
  );
  await figure.getByRole('button', { name: 'confidence' }).click();
  await figure.getByRole('button', { name: 'confidence' }).click();
  assert.match(await figure.locator('.line:not(.head)').first().innerText(), /0\.99667/);
  await figure.getByRole('searchbox').fill('ship');
  await figure.getByText('200 of 300 rows').waitFor();
  await page.getByRole('figure', { name: 'html report' }).scrollIntoViewIfNeeded();
  await page.locator('iframe').waitFor();
  assert.equal(await page.title(), 'kedge', 'a logged page cannot reach this one');
}

async function consoleJourney({ page, server }) {
  await page.goto(at(server, `run/${RICH}/console`));
  await page.getByText('step 2999 loss').waitFor();
  assert((await page.locator('.console-line').count()) < 200, 'only lines in view are drawn');
  await server.api.post(`runs/${PROJECT}/${RICH}/console`, {
    lines: ['\u001b[31mand one more\u001b[0m'],
  });
  await page.locator('.ansi-red', { hasText: 'and one more' }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('fell behind');
  await page.getByText('60 of 3001 lines').waitFor();
  await page.locator('.ansi-yellow').first().waitFor();
}

async function lineage({ page, server }) {
  await page.goto(at(server, 'artifacts'));
  await page.getByRole('link', { name: 'resnet', exact: true }).click();
  await page.getByRole('link', { name: /^v0/ }).click();
  await page.locator('.lineage .node.current', { hasText: 'resnet:v0' }).waitFor();
  const names = await page.locator('.lineage .node text').allTextContents();
  const wanted = ['adamw-0-1', 'cifar-packed:v0', 'resnet:v0', 'resnet:v1', 'sgd-1-2'];
  assert.deepEqual(names.sort(), wanted, 'both ways: what went in, and what else was made of it');
  const place = async (name) =>
    (await page.locator('.lineage .node', { hasText: name }).boundingBox()).x;
  assert((await place('cifar-packed:v0')) < (await place('adamw-0-1')));
  assert((await place('adamw-0-1')) < (await place('resnet:v0')));
  await page.locator('.lineage a', { hasText: 'adamw-0-1' }).click();
  await page.getByRole('heading', { name: 'adamw-0-1' }).waitFor();
}

async function loginRefused({ page, guarded, password }) {
  await page.goto(guarded.address);
  const log = async (word) => {
    await page.getByLabel('User').fill('admin');
    await page.getByLabel('Password').fill(word);
    await page.getByRole('button', { name: 'Log in' }).click();
  };
  await log('not the password');
  await page.getByRole('alert').getByText('wrong').waitFor();
  await log(password);
  await page.getByText('An empty server').waitFor();
}

async function shareLink({ page, newContext, guarded, password }) {
  await page.goto(guarded.address);
  await page.getByLabel('User').fill('admin');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('An empty server').waitFor();
  const api = pageApi(page);
  await addRun(api, { id: 'shown', optimizer: 'sgd', lr: 1e-3, seed: 1 });
  await page.goto(`${guarded.address.replace(/\/$/, '')}/#/settings`);
  await page.getByRole('button', { name: 'Make a link' }).click();
  const link = await page.locator('#share-link').getAttribute('href');
  const context = await newContext();
  const guest = await context.newPage();
  await guest.goto(link);
  await guest.getByText('A shared view').waitFor();
  await guest.getByRole('link', { name: 'shown', exact: true }).click();
  await guest.getByRole('heading', { name: 'shown' }).waitFor();
  assert.equal(await guest.getByLabel('Add a tag').count(), 0, 'nothing to change');
  const token = new URL(link).searchParams.get('share');
  const root = guarded.address.replace(/\/$/, '');
  const refused = await fetch(`${root}/api/v1/runs/${PROJECT}/shown?share=${token}`, {
    method: 'DELETE',
  });
  assert.equal(refused.status, 403);
  await context.close();
}

/** The API with the session of a page. */
function pageApi(page) {
  const call = (method, path, body) =>
    page.evaluate(
      async ([m, p, b]) => {
        const headers = { 'Content-Type': 'application/json', 'X-Kedge-Page': '1' };
        const answer = await fetch(`api/v1/${p}`, { method: m, headers, body: JSON.stringify(b) });
        if (!answer.ok) throw new Error(`${m} ${p}: ${answer.status} ${await answer.text()}`);
      },
      [method, path, body],
    );
  return { call, post: (path, body) => call('POST', path, body) };
}

export const journeys = {
  'live run appears': liveRunAppears,
  filter,
  compare,
  zoom,
  'parallel coordinates brush': parallelBrush,
  table,
  console: consoleJourney,
  lineage,
  'login refused': loginRefused,
  'share link': shareLink,
};
