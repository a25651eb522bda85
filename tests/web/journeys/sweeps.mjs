// A sweep: what was found when, what matters, and which values led there.
import assert from 'node:assert/strict';
import { PROJECT } from '../seed.mjs';
import { at, drag, rootOf } from '../steps.mjs';

const ID = 'swell123';
const TEXT = `method: random
metric: {name: loss}
run_cap: 40
parameters:
  lr: {distribution: log_uniform_values, min: 1.0e-5, max: 0.1}
  batch: {values: [32, 64]}
  optimizer: {values: [sgd, adamw]}
`;

/** The loss depends on the learning rate above all. */
function planned() {
  return Array.from({ length: 40 }, (_, i) => {
    const lr = 10 ** (-5 + (4 * ((i * 17) % 40)) / 39);
    const optimizer = i % 3 === 0 ? 'sgd' : 'adamw';
    const batch = i % 2 === 0 ? 32 : 64;
    const loss = (Math.log10(lr) + 3) ** 2 + (optimizer === 'sgd' ? 0.3 : 0) + 0.1;
    return { number: i + 1, values: { lr, batch, optimizer }, loss };
  });
}

async function addSweep(api) {
  const facts = {
    format: 'kedge-sweep',
    id: ID,
    name: 'swell',
    file: 'sweep.yaml',
  };
  await api.call('PUT', `sweeps/${PROJECT}/${ID}`, { text: TEXT, facts });
  for (const { number, values, loss } of planned()) {
    const minute = String(number).padStart(2, '0');
    await api.call('POST', `sweeps/${PROJECT}/${ID}/trials`, {
      number,
      values,
      run: `${ID}-${String(number).padStart(4, '0')}`,
      attempts: 1,
      result: {
        state: 'finished',
        metric: loss,
        seconds: 90,
        ended: `2026-11-15T10:${minute}:30Z`,
        host: 'node1',
      },
    });
  }
}

async function lookAtSweep({ page, server }) {
  await addSweep(server.api);
  await page.goto(at(server, 'sweeps'));
  await page.getByRole('link', { name: 'swell' }).click();
  await page.getByText('random, finished; 40 of 40 trials').waitFor();
  const best = planned().toSorted((a, b) => a.loss - b.loss)[0];
  const stair = page.getByRole('img', { name: /Best loss so far over time/ });
  assert.match(await stair.getAttribute('aria-label'), new RegExp(`by trial ${best.number}$`));
  await page.getByRole('button', { name: 'over cost' }).click();
  await page.getByRole('img', { name: /so far over cost/ }).waitFor();
  const importance = page.locator('.importance tbody tr');
  await importance.first().waitFor();
  assert.equal(await importance.first().locator('td').first().innerText(), 'lr');
  const first = page.locator('.trials tbody tr').first();
  assert.equal(await first.locator('td').first().innerText(), String(best.number));
  assert.equal(await page.locator('.trials tbody tr').count(), 40);
  const slider = page.getByRole('slider', { name: 'Range of loss' });
  await slider.scrollIntoViewIfNeeded();
  await drag(page, await slider.boundingBox(), [0.5, 0.99], [0.5, 0.8]);
  await page.getByText('inside the brushes').waitFor();
  const kept = await page.locator('.trials tbody tr').count();
  assert(kept > 3 && kept < 40, `${kept} trials are inside the brush`);
  await page.getByText(`${kept} of 40 runs`).waitFor();
}

/** Nothing, then a trial that failed: no empty axes, but what to do; then a result. */
async function waitForResults({ page, server }) {
  const id = 'calm1234';
  const facts = { format: 'kedge-sweep', id, name: 'calm', file: 'sweep.yaml' };
  const addTrial = (number, result) =>
    server.api.call('POST', `sweeps/${PROJECT}/${id}/trials`, {
      number,
      values: { lr: 0.01 / number, batch: 32, optimizer: 'sgd' },
      run: `${id}-000${number}`,
      attempts: 1,
      result: {
        seconds: 90,
        ended: `2026-11-15T10:0${number}:30Z`,
        host: 'node1',
        ...result,
      },
    });
  const axes = page.getByRole('group', { name: 'Parallel coordinates' });
  await server.api.call('PUT', `sweeps/${PROJECT}/${id}`, {
    text: TEXT,
    facts,
  });
  await page.goto(at(server, `sweeps/${id}`));
  await page.getByRole('heading', { name: 'No trial has finished yet' }).waitFor();
  await page.getByText(`kedge agent ${PROJECT}/${id} --server ${rootOf(server)}`).waitFor();
  assert.equal(await axes.count(), 0);
  assert.equal(await page.locator('.trials').count(), 0);
  await addTrial(1, { state: 'failed', message: 'the program ended with 3' });
  await page.reload();
  await page.getByText('the program ended with 3').waitFor();
  await page.getByRole('heading', { name: 'No trial has finished yet' }).waitFor();
  assert.equal(await axes.count(), 0);
  await addTrial(2, { state: 'finished', metric: 0.5 });
  await page.getByRole('img', { name: /Best loss so far over time/ }).waitFor();
  assert.equal(await page.getByText('No trial has finished').count(), 0);
  assert.equal(await axes.count(), 1);
}

async function holdSweep({ page, server }) {
  const id = 'ebb12345';
  const facts = { format: 'kedge-sweep', id, name: 'ebb', file: 'sweep.yaml' };
  const stateOf = async () => (await server.api.call('GET', `sweeps/${PROJECT}/${id}`)).state;
  const press = (name) => page.getByRole('button', { name, exact: true }).click();
  await server.api.call('PUT', `sweeps/${PROJECT}/${id}`, {
    text: TEXT,
    facts,
  });
  await page.goto(at(server, `sweeps/${id}`));
  await press('pause');
  await page.getByText('random, paused').waitFor();
  assert.equal(await stateOf(), 'paused');
  await press('go on');
  await page.getByText('random, running').waitFor();
  assert.equal(await stateOf(), 'running');
  await press('stop');
  await page.getByText('random, stopped').waitFor();
  assert.equal(await stateOf(), 'stopped');
  assert.equal(await page.getByRole('button', { name: 'pause' }).count(), 0);
}

export const sweeps = {
  'look at a sweep': lookAtSweep,
  'see what a sweep without results waits for': waitForResults,
  'pause, go on and stop a sweep': holdSweep,
};
