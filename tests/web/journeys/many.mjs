// More runs than the page loads: groups, colours and lines must not depend on which it has.
import assert from 'node:assert/strict';
import { rootOf, rowOf, until } from '../steps.mjs';

const PROJECT = 'crowd';
const RUNS = 330;
const nameOf = (i) => `crowd-${String(i).padStart(3, '0')}`;
const kindOf = (i) => (i % 3 === 0 ? 'adam' : 'sgd');
const lossOf = (i) => i / 100;
const where = (server, path) => `${rootOf(server)}/#/p/${PROJECT}/${path}`;

async function addOne(api, i) {
  const config = { optimizer: kindOf(i), seed: i };
  await api.post(`runs/${PROJECT}`, { id: nameOf(i), name: nameOf(i), config });
  const points = [0, 10, 20].map((step) => ({
    key: 'loss',
    step,
    value: lossOf(i) + step,
  }));
  await api.post(`runs/${PROJECT}/${nameOf(i)}/log`, { points });
}

let filled;
async function fill(server) {
  filled ??= (async () => {
    for (let i = 0; i < RUNS; i += 1) await addOne(server.api, i);
  })();
  await filled;
}

/** Mean and deviation (n - 1) at the last step, of the runs themselves. */
function expected(kind) {
  const values = Array.from({ length: RUNS }, (_, i) => i)
    .filter((i) => kindOf(i) === kind)
    .map((i) => lossOf(i) + 20);
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const square = values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (values.length - 1);
  return { n: values.length, mean, sd: Math.sqrt(square) };
}

async function groupStatistics({ page, server }) {
  await fill(server);
  const orders = ['-created', 'summary.loss', '-summary.loss', '-name'];
  for (const order of orders) {
    const asked = page.waitForResponse((r) => r.url().endsWith('/groups/series'));
    await page.goto('about:blank');
    await page.goto(where(server, `runs?g=config.optimizer&o=${order}&c=summary.loss`));
    const { groups } = await (await asked).json();
    for (const kind of ['adam', 'sgd']) {
      const { n, mean, sd } = expected(kind);
      const curve = groups.find(({ values }) => values[0] === kind);
      assert.equal(curve.n.at(-1), n, `${kind} in order ${order}`);
      assert(Math.abs(curve.mean.at(-1) - mean) < 1e-9, `${curve.mean.at(-1)} is not ${mean}`);
      assert(Math.abs(curve.sd.at(-1) - sd) < 1e-9);
      const row = page.locator('.line.group', { hasText: kind });
      const text = await row.innerText();
      assert(text.includes(String(n)), text);
      assert(text.includes(mean.toPrecision(4)), `${text} has no ${mean}`);
    }
  }
  const chart = page.getByRole('figure', { name: 'Chart of loss' });
  const over = await chart.locator('.u-over').boundingBox();
  await page.mouse.move(over.x + over.width - 3, over.y + over.height / 2);
  await chart.locator('.readout').getByText('n = 220', { exact: true }).waitFor();
  await chart.locator('.readout').getByText('n = 110', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'sgd' }).click();
  await rowOf(page, nameOf(RUNS - 2)).waitFor();
}

async function groupsInCharts({ page, server }) {
  await fill(server);
  await page.goto(where(server, 'runs?g=config.optimizer&f=config.seed+<+30'));
  await page.getByText('30', { exact: true }).first().waitFor();
  await page.getByText('runs in 2 groups, 2 plotted').waitFor();
  // The answer to the first question, for both groups, may still be on its way.
  const isForOne = (r) => /"sgd"/.test(r.postData()) && !/"adam"/.test(r.postData());
  const asked = page.waitForResponse(
    (r) => r.url().endsWith('/groups/series') && isForOne(r.request()),
  );
  await page.getByRole('checkbox', { name: 'Plot adam' }).click();
  const { groups } = await (await asked).json();
  assert.deepEqual(
    groups.map(({ values, curves }) => [values[0], curves]),
    [['sgd', 20]],
  );
  assert.match(page.url(), /gs=sgd/);
}

async function onlyWhatIsShown({ page, server }) {
  await fill(server);
  const seen = [];
  page.on('response', async (response) => {
    if (!response.url().endsWith('/runs/search')) return;
    const { offset = 0 } = response.request().postDataJSON();
    seen.push({ offset, runs: (await response.json()).runs.length });
  });
  await page.goto(where(server, 'runs?o=name&l=table'));
  await rowOf(page, nameOf(0)).waitFor();
  await page.waitForTimeout(500);
  const isFirstBlock = ({ offset, runs }) => offset === 0 && runs <= 100;
  assert(seen.length > 0 && seen.every(isFirstBlock), JSON.stringify(seen));
  await page.locator('.runs').evaluate((box) => box.scrollTo(0, box.scrollHeight));
  await rowOf(page, nameOf(RUNS - 1)).waitFor();
  seen.length = 0;
  await addOne(server.api, RUNS);
  await rowOf(page, nameOf(RUNS)).waitFor();
  await page.waitForTimeout(1200);
  assert(
    seen.length > 0 && seen.every(({ runs }) => runs <= 100),
    'a new run costs what is in view',
  );
  await server.api.call('DELETE', `runs/${PROJECT}/${nameOf(RUNS)}`);
  await rowOf(page, nameOf(RUNS)).waitFor({ state: 'detached' });
}

async function coloursStay({ page, server }) {
  await fill(server);
  const name = nameOf(5);
  const colourIn = async (path) => {
    await page.goto('about:blank');
    await page.goto(where(server, path));
    const swatch = rowOf(page, name).locator('.swatch[aria-checked=true]');
    await swatch.waitFor();
    return swatch.evaluate((element) => getComputedStyle(element, '::after').backgroundColor);
  };
  const first = await colourIn('runs?o=name');
  assert.equal(await colourIn('runs?o=-summary.loss&f=config.seed+<+9'), first);
  assert.equal(await colourIn(`runs?o=-name&sel=${name},${nameOf(7)}&f=config.seed+<+9`), first);
  assert.equal(await colourIn('runs?o=summary.loss&f=config.seed+in+[5,50,51]'), first);
  await page.goto(where(server, 'compare?k=bars&f=config.seed+<+9'));
  const mark = page.locator('.bar-row', { hasText: name }).locator('.run-mark');
  await mark.waitFor();
  assert.equal(await mark.evaluate((m) => getComputedStyle(m).backgroundColor), first);
}

async function litLine({ page, server }) {
  await fill(server);
  await page.goto(where(server, 'runs?o=name&l=charts'));
  const chart = page.getByRole('figure', { name: 'Chart of loss' });
  const lines = chart.locator('canvas:not(.highlight)');
  await lines.waitFor();
  await page.waitForTimeout(500);
  const drawn = () => lines.evaluate((canvas) => canvas.toDataURL());
  const before = await drawn();
  const over = await chart.locator('.u-over').boundingBox();
  const lit = chart.locator('canvas.highlight');
  await until(async () => {
    for (let part = 0.1; part < 1 && (await lit.count()) === 0; part += 0.05) {
      await page.mouse.move(over.x + over.width * part, over.y + over.height * (1 - part));
    }
    return (await lit.count()) === 1;
  }, 'a line lights up');
  assert.equal(await drawn(), before, 'the lines below are not drawn again');
  await page.mouse.move(over.x, over.y - 40);
  await until(async () => (await lit.count()) === 0, 'and nothing is lit any more');
}

export const many = {
  'group statistics': groupStatistics,
  'groups in charts': groupsInCharts,
  'only what is shown is loaded': onlyWhatIsShown,
  'colours stay': coloursStay,
  'lit line': litLine,
};
