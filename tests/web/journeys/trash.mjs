// Deleting a run, thinking again, and meaning it.
import assert from 'node:assert/strict';
import { addRun } from '../seed.mjs';
import { at, rowOf, until } from '../steps.mjs';

const NAME = 'thrown-away';

async function deleteFromTable(page) {
  await rowOf(page, NAME).click({ button: 'right' });
  await page.getByRole('menu').getByText('Delete', { exact: true }).click();
  await until(async () => (await rowOf(page, NAME).count()) === 0, 'it leaves the table');
}

async function trash({ page, server }) {
  await addRun(server.api, { id: NAME, optimizer: 'adamw', lr: 1e-3, seed: 9 });
  await page.goto(at(server, `runs?f=id+%3D+${NAME}`));
  await rowOf(page, NAME).waitFor();
  await deleteFromTable(page);
  await page.getByRole('button', { name: 'Restore' }).click();
  await rowOf(page, NAME).waitFor();

  await deleteFromTable(page);
  await page.getByRole('link', { name: 'Trash' }).click();
  const row = page.getByRole('table', { name: 'Deleted runs' }).getByRole('row', { name: NAME });
  assert.match(await row.innerText(), /in 30 days/);
  await row.getByRole('link', { name: NAME }).click();
  await page.getByText('This run is in the trash').waitFor();
  await page.getByRole('status').getByRole('button', { name: 'Restore' }).click();
  await until(async () => (await page.getByText('is in the trash').count()) === 0, 'it is back');

  await server.api.call('DELETE', `runs/voyage/${NAME}`);
  await page.goto(at(server, 'trash'));
  await row.getByRole('button', { name: 'Remove for good' }).click();
  await page
    .getByRole('dialog', { name: `Remove ${NAME} for good?` })
    .getByRole('button', { name: 'Remove for good' })
    .click();
  await until(async () => (await row.count()) === 0, 'it leaves the trash');
  await assert.rejects(server.api.get(`runs/voyage/${NAME}`), /404/);
}

export const trashJourneys = { 'the trash': trash };
