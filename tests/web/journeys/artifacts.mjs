// Artifacts and models.
import assert from 'node:assert/strict';
import { PROJECT } from '../seed.mjs';
import { at, until } from '../steps.mjs';

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

async function versionsAreChanged({ page, server }) {
  const version = (name) => server.api.get(`artifacts/${PROJECT}/resnet/${name}`);
  await page.goto(at(server, 'artifacts/resnet/v1'));
  await page.getByLabel('Add an alias').fill('reviewed');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Take away the alias reviewed' }).waitFor();
  assert.equal((await version('reviewed')).version, 'v1');
  await page.getByLabel('Description').fill('trained twice as long');
  await page.getByRole('button', { name: 'Save' }).click();
  await until(
    async () => (await version('v1')).description === 'trained twice as long',
    'the description is kept',
  );
  await page.getByRole('button', { name: 'Register as a model' }).click();
  const dialog = page.getByRole('dialog', { name: 'Register resnet:v1' });
  await dialog.getByLabel('Model, a known one').fill('classifier');
  await dialog.getByLabel('What is new').fill('longer schedule');
  await dialog.getByRole('button', { name: 'Register' }).click();
  await page.getByRole('heading', { name: 'classifier' }).waitFor();
  const news = page.getByLabel('What is new in version 2');
  await news.waitFor();
  assert.equal(await news.inputValue(), 'longer schedule');
}

async function models({ page, server }) {
  const model = () => server.api.get('models/classifier');
  await page.goto(at(server, 'models'));
  await page.getByRole('link', { name: 'classifier' }).click();
  await page.getByLabel('Stage of version 1').selectOption('Production');
  await until(
    async () => (await model()).versions.some((v) => v.stage === 'Production' && v.version === 1),
    'version 1 is in production',
  );
  const first = page.getByRole('listitem', { name: 'Version 1' });
  await first.getByLabel('Add an alias').fill('champion');
  await page.keyboard.press('Enter');
  await until(async () => (await model()).aliases.champion === 1, 'it is the champion');
  await first.getByLabel('Add a tag').fill('reviewed=yes');
  await page.keyboard.press('Enter');
  await until(
    async () => (await model()).versions.some((v) => v.tags.reviewed === 'yes'),
    'it has a tag',
  );
  await first.getByRole('button', { name: 'Take away the tag reviewed=yes' }).click();
  await until(async () => !JSON.stringify(await model()).includes('reviewed'), 'and has it not');
  const count = (await model()).versions.length;
  await page.getByRole('button', { name: 'Delete version 2' }).click();
  const question = page.getByRole('dialog', {
    name: 'Delete version 2 of classifier?',
  });
  await question.getByRole('button', { name: 'Keep it' }).click();
  assert.equal((await model()).versions.length, count, 'asked, and kept');
  await page.getByRole('button', { name: 'Delete version 2' }).click();
  await question.getByRole('button', { name: 'Delete version 2' }).click();
  await until(async () => (await model()).versions.length === count - 1, 'version 2 is gone');
  await page.goto(at(server, 'artifacts/resnet/v1'));
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page
    .getByRole('dialog', { name: 'Delete resnet:v1?' })
    .getByRole('button', { name: 'Delete v1' })
    .click();
  await page.getByText('resnet:v1 is deleted').waitFor();
  await page.getByRole('heading', { name: 'resnet:v0' }).waitFor();
}

export const artifacts = {
  lineage,
  'versions are changed': versionsAreChanged,
  models,
};
