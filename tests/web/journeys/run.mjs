// One run.
import assert from 'node:assert/strict';
import { PROJECT, RICH } from '../seed.mjs';
import { at, rootOf, until } from '../steps.mjs';

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

/** A run as an MLflow client leaves it, in a project whose name is no word. */
async function labels({ page, server }) {
  const project = 'An experiment / 2';
  const path = `runs/${encodeURIComponent(project)}`;
  await server.api.post(path, {
    id: 'owl',
    name: 'bold-owl-12',
    source: 'mlflow',
    labels: { 'mlflow.user': 'ann', team: 'vision' },
    summary: { verdict: 'good' },
  });
  await page.goto(`${rootOf(server)}/#/p/${encodeURIComponent(project)}/runs`);
  await page.getByRole('button', { name: 'Choose columns' }).click();
  await page.getByRole('checkbox', { name: 'mlflow.user' }).click();
  await page.getByRole('checkbox', { name: 'source' }).click();
  await page.keyboard.press('Escape');
  const row = page.getByRole('row').filter({ hasText: 'bold-owl-12' });
  assert.deepEqual((await row.getByRole('gridcell').allInnerTexts()).slice(-2), ['ann', 'mlflow']);
  await page.locator('#filter').fill('label.team = vision and source = mlflow');
  await until(async () => /label.team/.test(decodeURIComponent(page.url())), 'it is asked for');
  await row.getByRole('link', { name: 'bold-owl-12' }).click();
  await page.getByRole('cell', { name: 'good' }).waitFor();
  await page.getByRole('button', { name: 'Take away the label team=vision' }).click();
  await page.getByLabel('Add a label').fill('reviewed=yes');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Take away the label reviewed=yes' }).waitFor();
  assert.deepEqual((await server.api.get(`${path}/owl`)).labels, {
    'mlflow.user': 'ann',
    reviewed: 'yes',
  });
}

export const run = { table, console: consoleJourney, labels };
