// Runs of the real wandb client: what the page says of them is what they were.
import assert from 'node:assert/strict';
import { hasClients, runClient, SKIPPED } from '../client.mjs';
import { rootOf, until } from '../steps.mjs';

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

/** The figure of one key, when it is in view and no longer empty. */
async function figureOf(page, name) {
  const figure = page.getByRole('figure', { name, exact: true });
  await figure.scrollIntoViewIfNeeded();
  await figure.getByText('step 1', { exact: true }).waitFor();
  return figure;
}

const isLoaded = (media) => media.evaluate((e) => e.naturalWidth > 0 || e.duration > 0);

async function media({ page, server }) {
  if (!hasClients()) return SKIPPED;
  await runClient(server, 'wandb_media');
  await page.goto(`${rootOf(server)}/#/p/shown/run/media1/media`);

  const one = await figureOf(page, 'image one');
  await one.getByText('one at 1', { exact: true }).waitFor();
  await one.getByRole('slider').fill('0');
  await one.getByText('one at 0', { exact: true }).waitFor();
  await until(() => isLoaded(one.locator('img')), 'the picture is shown');
  for (const i of [0, 1, 2]) {
    const figure = await figureOf(page, `image many/${i}`);
    await figure.getByText(`number ${i}`, { exact: true }).waitFor();
  }
  await (await figureOf(page, 'image boxed')).getByText(/Logged with boxes/).waitFor();

  const html = await figureOf(page, 'html page');
  await html.frameLocator('iframe').getByText('A report').waitFor();
  assert.equal(await page.title(), 'kedge', 'a logged page runs no script');

  const table = await figureOf(page, 'table mistakes');
  await table.getByText('10 of 10 rows').waitFor();
  await until(() => isLoaded(table.locator('img.thumb').first()), 'pictures in tables are shown');
  assert.equal(await table.locator('img.thumb').first().getAttribute('title'), 'row 0');

  await plots(page);

  const tone = await figureOf(page, 'audio-file tone');
  await until(() => isLoaded(tone.locator('audio')), 'the sound can be played');
  await tone.getByText('an A', { exact: true }).waitFor();
  const film = await figureOf(page, 'video-file film');
  await film.locator('video').waitFor();
  await film.getByText('a film', { exact: true }).waitFor();
  for (const [name, word] of [
    ['object3D-file points', 'A 3-D object'],
    ['molecule-file water', 'A molecule'],
  ]) {
    const figure = await figureOf(page, name);
    await figure.getByText(`${word}, which this page does not draw`).waitFor();
    assert.match(await figure.getByRole('link').getAttribute('href'), /\/files\/media\//);
  }
}

/** wandb.plot: each is drawn as what it is. The numbers are those of clients/wandb_media.py. */
async function plots(page) {
  const confusion = await figureOf(page, 'plot confusion');
  await confusion.getByText('Who is who').waitFor();
  await confusion.getByText('80 % of 10 right').waitFor(); // 8 of the 10 guesses are true
  await confusion.getByTitle('cat taken for dog: 1').waitFor();
  const roc = await figureOf(page, 'plot roc');
  await roc.getByText('The ROC').waitFor();
  await roc.getByText('False positive rate').waitFor();
  assert.equal(await roc.locator('svg path[stroke-width]').count(), 3, 'a curve for each class');
  const pr = await figureOf(page, 'plot pr');
  await pr.getByText('Recall', { exact: true }).waitFor();
  const bar = await figureOf(page, 'plot bar');
  assert.equal(await bar.locator('svg rect').count(), 3);
  await bar.getByText('ship').first().waitFor();
  assert.equal(await (await figureOf(page, 'plot line')).locator('svg path[stroke-width]').count(), 1);
  assert.equal(await (await figureOf(page, 'plot scatter')).locator('svg circle').count(), 10);
  assert.equal(
    await (await figureOf(page, 'plot series')).locator('svg path[stroke-width]').count(),
    2,
  );
  const histogram = await figureOf(page, 'plot histogram');
  const counts = (await histogram.locator('svg rect title').allTextContents()).map((text) =>
    Number(text.split(': ')[1]),
  );
  assert.equal(
    counts.reduce((a, b) => a + b, 0),
    200,
    'every score is in a bin',
  );
  const own = await figureOf(page, 'plot own');
  await own.getByText('me/mine is a drawing of your own').waitFor();
  await own.getByRole('button', { name: 'table' }).click();
  await own.getByText('10 of 10 rows').waitFor();
}

/** A name under which more was logged than one page holds: the slider reaches the first. */
async function slider({ page, server }) {
  const run = 'runs/long/slides';
  await server.api.post('runs/long', { id: 'slides', name: 'slides' });
  const records = Array.from({ length: 350 }, (_, i) => [
    { type: 'text', key: 'said', step: 10 * i, body: { text: `words at ${10 * i}` } },
    { type: 'histogram', key: 'h', step: i, body: { edges: [0, 1, 2], counts: [i, 1] } },
  ]).flat();
  await server.api.post(`${run}/records`, { records });
  await page.goto(`${rootOf(server)}/#/p/long/run/slides/media`);
  const figure = page.getByRole('figure', { name: 'text said' });
  await figure.getByText('words at 3490').waitFor();
  await figure.getByText('350 of 350').waitFor();
  for (const [place, step] of [
    [0, 0],
    [149, 1490],
    [249, 2490],
    [250, 2500],
    [349, 3490],
  ]) {
    await figure.getByRole('slider').fill(String(place));
    await figure.getByText(`words at ${step}`, { exact: true }).waitFor();
    await figure.getByText(`${place + 1} of 350`).waitFor();
  }
  await page.getByRole('figure', { name: 'histogram h' }).scrollIntoViewIfNeeded();
  await page.getByText('the newest 100 of 350 steps').waitFor();
}

export const wandbRuns = {
  'a finished run of wandb': finished,
  'media and plots of wandb': media,
  'all steps of one name': slider,
};
