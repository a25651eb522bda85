// Runs of the real wandb client: what the page says of them is what they were.
import assert from 'node:assert/strict';
import { hasClients, runClient, SKIPPED } from '../client.mjs';
import { rootOf } from '../steps.mjs';

async function finished({ page, server }) {
  if (!hasClients()) return SKIPPED;
  await runClient(server, 'wandb_finished');
  const run = `${rootOf(server)}/#/p/whole/run/whole1`;
  await page.goto(`${run}/attempts`);
  const attempts = page.locator('.attempts > li');
  await attempts.first().waitFor();
  assert.deepEqual(await attempts.locator('.state').allInnerTexts(), ['finished']);
  const rows = page.getByRole('table', { name: 'Artifacts' }).locator('tbody tr');
  await rows.first().waitFor();
  const told = (await rows.allInnerTexts()).map((row) => row.split(/\s+/).slice(0, 2).join(' '));
  assert.deepEqual(told, ['used pictures:v0', 'made network:v0']);
  const { attempts: states } = await server.api.get('runs/whole/whole1/attempts');
  assert.deepEqual(
    states.map(({ state }) => state),
    ['finished'],
  );
  assert(states[0].ended_us > states[0].started_us, 'it has an end');

  await page.goto(run);
  const environment = page.locator('section', {
    has: page.getByRole('heading', { name: 'Environment' }),
  });
  await environment.getByText('program', { exact: true }).waitFor();
  await environment.getByText(/wandb_finished\.py/).first().waitFor();
  await environment.getByText(/^\d+ packages$/).click();
  await environment.getByText('wandb', { exact: true }).waitFor();
  await environment.getByText('0.31.0', { exact: true }).first().waitFor();

  await page.goto(`${rootOf(server)}/#/p/whole/alerts`);
  const alerts = page.locator('.alert');
  await alerts.nth(1).waitFor();
  assert.match(await alerts.filter({ hasText: 'late' }).innerText(), /at step 29$/);
  assert.match(await alerts.filter({ hasText: 'early' }).innerText(), /before the first step$/);
}

export const wandbRuns = { 'a finished run of wandb': finished };
