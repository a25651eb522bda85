// Curves.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { RESUMED } from '../seed.mjs';
import { at, drag, rowOf, until } from '../steps.mjs';

async function zoom({ page, server }) {
  await page.goto(at(server, 'runs'));
  const chart = page.getByRole('figure', { name: 'Chart of train/loss' });
  await chart.locator('canvas').waitFor();
  await page.waitForTimeout(500);
  const asked = page.waitForRequest(
    (r) => r.url().endsWith('/series') && /"from":/.test(r.postData() ?? ''),
  );
  await drag(page, await chart.locator('.u-over').boundingBox(), [0.25, 0.5], [0.5, 0.5]);
  const request = await asked;
  const body = request.postDataJSON();
  const answer = await (await request.response()).json();
  assert(body.from > 300 && body.to < 1300, `the range ${body.from} to ${body.to}`);
  const first = answer.series.find((s) => s.key === 'train/loss');
  assert.equal(first.sampled, false, 'near enough, every point comes');
  assert.equal(first.x.length, first.count);
  const link = page.url();
  assert.match(link, /r=\d/);
  const copy = await page.context().newPage();
  await copy.goto(link);
  await copy.getByRole('button', { name: 'zoom' }).waitFor();
  await copy.close();
  await page.goBack();
  await page.getByRole('button', { name: 'zoom' }).waitFor({ state: 'detached' });
}

async function pictures({ page, server }) {
  await page.goto(at(server, 'runs?sel=adamw-0-1,sgd-1-2'));
  const chart = page.getByRole('figure', { name: 'Chart of val/accuracy' });
  await chart.locator('canvas').waitFor();
  const save = async (type) => {
    await chart.hover();
    await chart.getByRole('button', { name: 'Save a picture of val/accuracy' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: `Save as ${type}` }).click(),
    ]);
    assert.equal(download.suggestedFilename(), `val-accuracy.${type.toLowerCase()}`);
    return readFileSync(await download.path());
  };
  const svg = (await save('SVG')).toString();
  assert.match(svg, /^<svg /);
  assert.match(svg, /val\/accuracy/);
  assert.match(svg, /adamw-0-1/, 'the picture names its lines');
  assert((svg.match(/<path /g) ?? []).length >= 2, 'a line for each run');
  const png = await save('PNG');
  assert.deepEqual([...png.subarray(0, 8)], [137, 80, 78, 71, 13, 10, 26, 10]);
  const [, width, height] = /width="(\d+)" height="(\d+)"/.exec(svg);
  assert.equal(png.readUInt32BE(16), 2 * width, 'twice as fine as on the screen');
  assert.equal(png.readUInt32BE(20), 2 * height);
}

/** Attempt 1 went to step 400; attempt 2 went on from 200, with other values. */
async function attempts({ page, server }) {
  await page.goto(at(server, `run/${RESUMED}/charts`));
  const chart = page.getByRole('figure', { name: 'Chart of train/loss' });
  await chart.locator('canvas').waitFor();
  const choose = async (choice, answers) => {
    const seen = [];
    const note = async (response) => {
      if (response.url().endsWith('/series')) seen.push((await response.json()).series[0]);
    };
    page.on('response', note);
    await page.getByLabel('Which attempt').selectOption(choice);
    await until(() => seen.length === answers, `${answers} curves come`);
    page.off('response', note);
    return seen.map(({ x, y }) => [x.at(-1), y.at(-1)]).sort((a, b) => a[0] - b[0]);
  };
  assert.deepEqual(await choose('1', 1), [[400, 1]]);
  assert.match(page.url(), /at=1/);
  assert.deepEqual(await choose('each', 2), [
    [400, 1],
    [600, 2],
  ]);
  await page.getByRole('button', { name: 'Show train/loss large' }).click();
  await page.getByRole('list', { name: 'Runs in this chart' }).getByText('attempt 2').waitFor();
}

async function darkAndLight({ page, newContext, server }) {
  const paper = (where) => where.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const ink = (where) =>
    where
      .locator('.chart canvas')
      .first()
      .evaluate((canvas) => {
        // The darkest and the lightest pixel of a drawn chart say which ink its axes have.
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let [low, high] = [255, 0];
        for (let i = 0; i < data.length; i += 4) {
          if (data[i + 3] < 255) continue;
          const light = (data[i] + data[i + 1] + data[i + 2]) / 3;
          [low, high] = [Math.min(low, light), Math.max(high, light)];
        }
        return { low, high };
      });
  await page.goto(at(server, 'runs?sel=adamw-0-1'));
  await page.locator('.chart canvas').first().waitFor();
  assert.equal(await paper(page), 'rgb(245, 244, 238)');
  await page.getByRole('button', { name: 'Dark theme' }).click();
  assert.equal(await paper(page), 'rgb(10, 16, 21)');
  await until(async () => (await ink(page)).high > 120, 'the chart is drawn with light ink');
  await page.reload();
  await page.locator('.chart canvas').first().waitFor();
  assert.equal(await paper(page), 'rgb(10, 16, 21)', 'the choice stays');
  const context = await newContext({ colorScheme: 'dark' });
  const guest = await context.newPage();
  await guest.goto(at(server, 'runs'));
  await rowOf(guest, 'lion-2-3').waitFor();
  assert.equal(await paper(guest), 'rgb(10, 16, 21)', 'without a choice, as the system has it');
  await guest.emulateMedia({ colorScheme: 'light' });
  await until(async () => (await paper(guest)) === 'rgb(245, 244, 238)', 'it follows the system');
  await context.close();
}

export const charts = {
  zoom,
  pictures,
  attempts,
  'dark and light': darkAndLight,
};
