// Many runs beside each other.
import assert from 'node:assert/strict';
import { finalAccuracy, plannedRuns } from '../seed.mjs';
import { at, drag, rowOf, until } from '../steps.mjs';

async function compareTwo({ page, server }) {
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
  const other = await page.getByRole('slider', { name: 'Range of optimizer.lr' }).boundingBox();
  await drag(page, other, [0.5, 0.01], [0.5, 0.2]);
  const both = all.filter(
    (plan) => plan.lr === 1e-2 && place(finalAccuracy(plan)) >= from - 1e-3,
  ).length;
  assert(both > 0 && both < wanted, `${both} runs pass both brushes`);
  await page.getByText(`${both} of ${all.length} runs`).waitFor();
  await page.goBack();
  await page.getByText(`${wanted} of ${all.length} runs`).waitFor();
  await page.getByRole('link', { name: 'plot these runs' }).click();
  await page.getByText(`runs, ${wanted} plotted`).waitFor();
  await page.goBack();
  await page.getByRole('button', { name: 'brushes' }).click();
  await page.getByText(`${all.length} of ${all.length} runs`).waitFor();
}

export const compare = {
  compare: compareTwo,
  'parallel coordinates brush': parallelBrush,
};
