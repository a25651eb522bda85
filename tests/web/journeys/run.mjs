// One run.
import assert from 'node:assert/strict';
import { PROJECT, RICH } from '../seed.mjs';
import { at, until } from '../steps.mjs';

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

export const run = { table, console: consoleJourney };
