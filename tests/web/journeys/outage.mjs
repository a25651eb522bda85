// The server goes away and comes back, as when its machine is restarted.
import assert from 'node:assert/strict';
import { addRun } from '../seed.mjs';
import { at, rowOf } from '../steps.mjs';

async function serverWentAway({ page, server }) {
  await page.goto(at(server, 'runs'));
  await rowOf(page, 'lion-2-3').waitFor();
  await page.getByText('live', { exact: true }).waitFor();
  await server.pause();
  const banner = page.getByRole('alert').filter({ hasText: 'The server does not answer' });
  await banner.waitFor();
  assert(await rowOf(page, 'lion-2-3').isVisible(), 'what was there stays');
  await server.resume();
  await addRun(server.api, {
    id: 'after-it',
    optimizer: 'sgd',
    lr: 1e-3,
    seed: 2,
  });
  await banner.waitFor({ state: 'detached', timeout: 30000 });
  await rowOf(page, 'after-it').waitFor();
  await page.getByText('live', { exact: true }).waitFor();
}

export const outage = { 'server went away': serverWentAway };
