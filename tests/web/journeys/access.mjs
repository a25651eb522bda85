// Who may come in.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addRun, PROJECT } from '../seed.mjs';
import { logIn, pageApi, rootOf, until } from '../steps.mjs';

async function loginRefused({ page, guarded, password }) {
  await logIn(page, guarded, 'admin', 'not the password');
  await page.getByRole('alert').getByText('wrong').waitFor();
  await logIn(page, guarded, 'admin', password);
  await page.getByText('An empty server').waitFor();
}

async function shareLink({ page, newContext, guarded, password }) {
  await logIn(page, guarded, 'admin', password);
  await page.getByText('An empty server').waitFor();
  const api = pageApi(page);
  await addRun(api, { id: 'shown', optimizer: 'sgd', lr: 1e-3, seed: 1 });
  await page.goto(`${rootOf(guarded)}/#/settings`);
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
  const refused = await fetch(`${rootOf(guarded)}/api/v1/runs/${PROJECT}/shown?share=${token}`, {
    method: 'DELETE',
  });
  assert.equal(refused.status, 403);
  await context.close();
}

async function ownersLink({ page, newContext, owned }) {
  await page.goto(owned.address);
  await page.getByText('kedge server link').waitFor();
  const link = owned.run('server', 'link', '--server', owned.address);
  await page.goto(link);
  await page.getByText('An empty server').waitFor();
  await page.getByRole('link', { name: 'Admin' }).waitFor();

  const context = await newContext();
  const second = await context.newPage();
  await second.goto(link);
  await second.getByText('was used').waitFor();
  await second.goto(owned.address);
  await second.getByRole('button', { name: 'With a key' }).click();
  await second.getByLabel('Key', { exact: true }).fill('kedge_wrong');
  await second.getByRole('button', { name: 'Log in' }).click();
  await second.getByRole('alert').getByText('wrong').waitFor();
  await second.getByLabel('Key', { exact: true }).fill(readFileSync(join(owned.data, 'owner-key'), 'utf8'));
  await second.getByRole('button', { name: 'Log in' }).click();
  await second.getByText('An empty server').waitFor();
  await context.close();
}

const SECRET = 'only-for-vera-7';

async function usersAndAudit({ page, newContext, guarded, password }) {
  await logIn(page, guarded, 'admin', password);
  await page.getByRole('link', { name: 'Admin' }).click();
  const form = page.getByRole('form', { name: 'New user' });
  await form.getByLabel('Name').fill('vera');
  await form.getByLabel('Password').fill(SECRET);
  await form.getByLabel('Role').selectOption('view');
  await form.getByRole('button', { name: 'Add the user' }).click();
  await page.getByRole('cell', { name: 'vera', exact: true }).waitFor();

  const context = await newContext();
  const guest = await context.newPage();
  await logIn(guest, guarded, 'vera', SECRET);
  await guest.getByRole('link', { name: PROJECT }).click();
  await guest.getByRole('link', { name: 'shown', exact: true }).click();
  await guest.getByRole('heading', { name: 'shown' }).waitFor();
  assert.equal(await guest.getByLabel('Add a tag').count(), 0, 'a viewer is offered no change');
  assert.equal(await guest.getByRole('link', { name: 'Admin' }).count(), 0);
  await guest.goto(`${rootOf(guarded)}/#/admin`);
  await guest.getByText('Only for admins').waitFor();

  await page.getByLabel('Role of vera').selectOption('write');
  await page.getByText('vera may write').waitFor();
  await guest.goto(`${rootOf(guarded)}/#/p/${PROJECT}/run/shown`);
  await guest.reload();
  await guest.getByLabel('Add a tag').waitFor();
  await context.close();

  await page.getByRole('link', { name: 'audit' }).click();
  // The table of users, which is there until the audit's comes, names her too.
  const changes = page.getByRole('row').filter({ hasText: 'user.put' });
  const line = changes.filter({ hasText: 'vera' }).first();
  assert.match(await line.innerText(), /admin\s+user\.put\s+vera\s+role: write/);
  await page.getByRole('row').filter({ hasText: 'login.refused' }).first().waitFor();
  await page.getByLabel('Find audit lines').fill('share.make');
  await until(async () => (await page.locator('tbody tr').count()) === 1, 'one line is left');
  await page.getByRole('link', { name: 'users' }).click();
  await page
    .getByRole('row')
    .filter({ hasText: 'vera' })
    .getByRole('button', { name: 'Remove' })
    .click();
  await page
    .getByRole('dialog', { name: 'Remove vera?' })
    .getByRole('button', { name: 'Remove' })
    .click();
  await page.getByRole('cell', { name: 'vera', exact: true }).waitFor({ state: 'detached' });
}

async function tokens({ page, guarded, password }) {
  await logIn(page, guarded, 'admin', password);
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByLabel('Name').fill('the cluster');
  await page.getByLabel('What it may do').selectOption('view');
  await page.getByRole('button', { name: 'Make a token' }).click();
  const token = await page.getByRole('status').locator('code').innerText();
  const ask = async (method) => {
    const headers = { Authorization: `Bearer ${token}` };
    const path = `api/v1/runs/${PROJECT}/shown`;
    return (await fetch(`${rootOf(guarded)}/${path}`, { method, headers })).status;
  };
  assert.equal(await ask('GET'), 200);
  assert.equal(await ask('DELETE'), 403, 'it may look and no more');
  await page
    .getByRole('row')
    .filter({ hasText: 'the cluster' })
    .getByRole('button', { name: 'Revoke' })
    .click();
  await page
    .getByRole('dialog', { name: 'Revoke this token?' })
    .getByRole('button', { name: 'Revoke' })
    .click();
  await until(async () => (await ask('GET')) === 401, 'a revoked token opens nothing');
}

export const access = {
  'login refused': loginRefused,
  'share link': shareLink,
  "owner's link": ownersLink,
  'users and audit': usersAndAudit,
  tokens,
};
