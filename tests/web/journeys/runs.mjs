// The table of runs.
import assert from 'node:assert/strict';
import { addRun, finalAccuracy, logCurves, plannedRuns, PROJECT, RICH } from '../seed.mjs';
import { at, count, drag, rowOf, until } from '../steps.mjs';

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
  const problem = page.locator('.problem');
  await problem.waitFor();
  assert.match(await problem.innerText(), /column 15/, 'it counts in what was typed');
  await page.locator('#filter').fill('val/acuracy > 0.7');
  await problem.getByText("did you mean 'val/accuracy'").waitFor();
  await page.locator('#filter').fill('config.optimizer.name = ');
  const offer = page.getByRole('listbox').getByRole('option');
  await offer.first().waitFor();
  assert.deepEqual(
    (await offer.allInnerTexts()).sort(),
    ['adamw', 'lion', 'sgd'],
    'the values that runs have',
  );
}

async function columnWidths({ page, server }) {
  await page.goto(at(server, 'runs?l=table&c=created,config.optimizer.name'));
  await rowOf(page, 'lion-2-3').waitFor();
  const head = page.getByRole('columnheader', { name: 'optimizer.name' });
  const edge = page.getByRole('separator', { name: 'Width of created' });
  const widthOf = async () =>
    (await page.getByRole('columnheader', { name: 'created' }).boundingBox()).width;
  const usual = await widthOf();
  const left = (await head.boundingBox()).x;
  const grip = await edge.boundingBox();
  const half = [0.5, 0.5];
  await drag(page, grip, half, [0.5 - 160 / grip.width, 0.5]);
  const set = await widthOf();
  assert(Math.abs(usual - 160 - set) < 2, `${usual} became ${set}`);
  assert((await head.boundingBox()).x < left, 'the next column moves along');
  assert.match(page.url(), /w=created%3A\d+/);
  const copy = await page.context().newPage();
  await copy.goto(page.url());
  await rowOf(copy, 'lion-2-3').waitFor();
  const there = await copy.getByRole('columnheader', { name: 'created' }).boundingBox();
  assert(Math.abs(there.width - set) < 2, 'the link restores it');
  await copy.close();
  await edge.focus();
  await page.keyboard.press('ArrowRight');
  await until(async () => Math.abs((await widthOf()) - set - 16) < 2, 'the arrow key widens it');
  await edge.dblclick();
  await until(async () => Math.abs((await widthOf()) - usual) < 2, 'and it is as it was');
  assert.doesNotMatch(page.url(), /w=/);
}

async function pinned({ page, server }) {
  await page.goto(at(server, 'runs?l=table&f=config.optimizer.name+%3D+lion'));
  await rowOf(page, 'lion-2-3').waitFor();
  await rowOf(page, 'lion-0-1').hover();
  await page.getByRole('button', { name: 'More for lion-0-1' }).click();
  await page.getByRole('button', { name: 'Keep at the top' }).click();
  const first = page.locator('.strip .line').first();
  await first.getByRole('link', { name: 'lion-0-1' }).waitFor();
  assert.match(page.url(), /pin=lion-0-1/);
  await page.locator('#filter').fill('config.optimizer.name = sgd');
  await rowOf(page, 'sgd-2-3').waitFor();
  await rowOf(page, 'lion-2-3').waitFor({ state: 'detached' });
  await first.getByRole('link', { name: 'lion-0-1' }).waitFor();
  const wanted = plannedRuns().filter((plan) => plan.optimizer === 'sgd').length;
  assert.equal(Number(await count(page)), wanted, 'it is not one of the filter');
  await first.hover();
  await page.getByRole('button', { name: 'More for lion-0-1' }).click();
  await page.getByRole('button', { name: 'Let go from the top' }).click();
  await rowOf(page, 'lion-0-1').waitFor({ state: 'detached' });
}

async function savedViews({ page, server }) {
  await page.goto(at(server, 'runs?f=tag+%3D+paper&s=0.6&l=split'));
  const papers = plannedRuns().filter((plan) => plan.seed === 1).length;
  await until(async () => Number(await count(page)) === papers, 'the filter is taken');
  await page.getByRole('button', { name: 'Saved views' }).click();
  await page.getByLabel('Name of the view').fill('for the paper');
  await page.keyboard.press('Enter');
  await page.getByText('View for the paper saved').waitFor();
  await page.keyboard.press('Escape');
  await page.goto(at(server, 'runs'));
  await until(async () => Number(await count(page)) > papers, 'all runs');
  await page.getByRole('button', { name: 'Saved views' }).click();
  await page.getByRole('link', { name: 'for the paper' }).click();
  await until(async () => Number(await count(page)) === papers, 'the view is back');
  assert.equal(await page.locator('#filter').inputValue(), 'tag = paper');
  assert.equal(await page.locator('.toolbar output').innerText(), '0.60');
  await page.getByRole('button', { name: 'Saved views' }).click();
  await page.getByRole('button', { name: 'Delete the view for the paper' }).click();
  await page.getByText('No view has been saved here yet').waitFor();
}

async function keyboard({ page, server }) {
  await page.goto(at(server, 'runs?o=name'));
  await rowOf(page, 'adamw-0-1').waitFor();
  const cursor = page.locator('.line.at');
  await page.keyboard.press('j');
  await cursor.getByRole('link', { name: 'adamw-0-1' }).waitFor();
  await page.keyboard.press('J');
  await page.keyboard.press('k');
  await cursor
    .getByRole('link', {
      name: plannedRuns()
        .map((p) => p.id)
        .sort()[14],
    })
    .waitFor();
  await page.keyboard.press('X');
  await page.keyboard.press('x');
  await page.getByText(/runs, 1 plotted/).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).getByText('open the run').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor({ state: 'detached' });
  await page.keyboard.press('Enter');
  await page.getByRole('navigation', { name: 'Parts of the run' }).waitFor();
  for (const [keys, title] of [
    ['ga', 'Artifacts'],
    ['gm', 'Models'],
    ['gl', 'Alerts'],
  ]) {
    for (const key of keys) await page.keyboard.press(key);
    await page.getByRole('heading', { name: title, exact: true }).waitFor();
  }
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await rowOf(page, 'lion-2-3').waitFor();
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'filter');
}

async function alerts({ page, server }) {
  await page.goto(at(server, 'alerts'));
  const line = page.getByRole('listitem').filter({ hasText: 'loss is NaN' });
  await line.getByRole('link', { name: RICH }).click();
  await page.getByRole('heading', { name: RICH }).waitFor();
}

export const runs = {
  'live run appears': liveRunAppears,
  filter,
  'column widths': columnWidths,
  'pinned runs': pinned,
  'saved views': savedViews,
  keyboard,
  alerts,
};
