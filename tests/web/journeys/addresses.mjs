// Every address that a client prints leads to what it names.
import assert from 'node:assert/strict';
import { hasClients, runClient, SKIPPED } from '../client.mjs';
import { rootOf, until } from '../steps.mjs';

/** All addresses of the server in a text, without colours and what ends a sentence. */
function addressesIn(said, server) {
  const plain = said.replace(/\u001b\[[0-9;]*m/g, '');
  const found = [...plain.matchAll(/https?:\/\/[^\s'"<>]+/g)].map(([address]) => address);
  return [...new Set(found)].filter((address) => address.startsWith(`${rootOf(server)}/`));
}

/** What is the heading of a page, or else the project in whose table of runs one is. */
async function headingOf(page) {
  const face = page.locator('main h1, main .pane.list .toolbar b').first();
  await face.waitFor({ timeout: 5000 });
  const isHeading = (await page.locator('main h1').count()) > 0;
  if (isHeading) return page.locator('main h1').first().innerText();
  return `runs of ${await page.getByRole('button', { name: 'Choose a project' }).innerText()}`;
}

/** `kinds`: [pattern of an address, heading of its page]. Each must have been printed. */
async function openAll(page, server, addresses, kinds) {
  const seen = new Set();
  for (const address of addresses) {
    const path = address.slice(rootOf(server).length);
    const kind = kinds.find(([pattern]) => pattern.test(path));
    assert(kind, `what should ${path} show?`);
    await page.goto('about:blank');
    await page.goto(address);
    const heading = await headingOf(page).catch(() => 'nothing');
    assert.equal(heading.trim(), kind[1], `heading of ${path}`);
    seen.add(kind);
  }
  for (const kind of kinds) assert(seen.has(kind), `no client printed ${kind[0]}`);
}

async function wandb({ page, server }) {
  if (!hasClients()) return SKIPPED;
  const addresses = addressesIn(await runClient(server, 'wandb_addresses'), server);
  const trial = (await server.api.post('runs/search', { project: 'addresses' })).runs.find(
    ({ name }) => name === 'printed trial',
  );
  assert(trial, 'the agent has made a run');
  await openAll(page, server, addresses, [
    [new RegExp(`/runs/${trial.id}$`), 'printed trial'],
    [/^\/[^/]+\/addresses\/runs\/[^/]+$/, 'printed run'],
    [/^\/[^/]+\/addresses$/, 'runs of addresses'],
    [/^\/[^/]+\/addresses\/workspace$/, 'runs of addresses'],
    [/\/addresses\/sweeps\/[^/]+$/, 'printed sweep'],
    [/\/addresses\/artifacts\/checkpoint\/weights\/v0$/, 'weights'],
    [/\/addresses\/artifacts\/checkpoint\/best%20weights\/v0$/, 'best weights'],
  ]);
  await page.goto(`${rootOf(server)}/kedge/addresses/groups/a%20pair/workspace`);
  await page.getByRole('link', { name: 'printed run' }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'printed trial' }).count(), 0);
  await page.goto(`${rootOf(server)}/authorize?ref=models`);
  await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  await page.goBack();
  await until(() => page.url().includes('/addresses'), 'back leads to the page before');
}

async function mlflow({ page, server }) {
  if (!hasClients()) return SKIPPED;
  const addresses = addressesIn(await runClient(server, 'mlflow_addresses'), server);
  await openAll(page, server, addresses, [
    [/^\/#\/experiments\/\d+\/runs\/[0-9a-f]{32}$/, 'printed by mlflow'],
    [/^\/#\/experiments\/\d+$/, 'runs of printed / experiment'],
  ]);
  for (const path of ['models/printed%20model', 'models/printed%20model/versions/1']) {
    await page.goto('about:blank');
    await page.goto(`${rootOf(server)}/#/${path}`);
    assert.equal(await headingOf(page), 'printed model');
  }
  await page.goto(`${rootOf(server)}/#/experiments/4711`);
  await page.getByText('No such experiment').waitFor();
}

export const addresses = {
  'addresses that wandb prints': wandb,
  'addresses that mlflow prints': mlflow,
};
