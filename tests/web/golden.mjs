// Writes tests/fixtures/api: answers of a real server, small, with times that do not change. The page's
// unit tests read them.
//   node tests/web/golden.mjs build/bin/kedge
import { mkdirSync, writeFileSync } from 'node:fs';
import { startServer } from './server.mjs';

const TIME_US = 1794719617490327;
const folder = new URL('../fixtures/api/', import.meta.url);

function fixed(value) {
  if (Array.isArray(value)) return value.map(fixed);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const isTime = key.endsWith('_us') && typeof inner === 'number' && inner > 0;
      return [key, isTime ? TIME_US : fixed(inner)];
    }),
  );
}

const server = await startServer(process.argv[2]);
try {
  const { api } = server;
  const run = 'runs/golden/first';
  await api.post('runs/golden', {
    id: 'first',
    name: 'first',
    tags: ['paper'],
    config: { optimizer: { name: 'adamw', lr: 0.001 }, sizes: [1, 2] },
  });
  const points = [1, 0.5, 'NaN', 'Infinity'].map((value, step) => ({
    key: 'val/loss',
    step,
    value,
  }));
  await api.post(`${run}/log`, { points });
  await api.post(`${run}/records`, {
    records: [
      {
        type: 'table',
        key: 't',
        step: 3,
        body: { columns: ['i', 'v'], rows: [[{ image: 'media/a.png' }, 'NaN']] },
      },
      {
        type: 'confusion',
        key: 'c',
        step: 3,
        body: {
          classes: ['a', 'b'],
          counts: [
            [3, 1],
            [0, 4],
          ],
        },
      },
      { type: 'alert', key: 'a', step: 3, body: { title: 'a', text: 'b', level: 'warning' } },
    ],
  });
  await api.post(`${run}/console`, { lines: ['plain', '\u001b[31mred\u001b[0m'] });
  const asked = { runs: [{ project: 'golden', id: 'first' }], keys: ['val/loss'] };
  const answers = {
    projects: await api.get('projects'),
    runs_search: await api.post('runs/search', {
      project: 'golden',
      filter: 'val/los < 1 or tag = paper',
    }),
    runs_search_fields: await api.post('runs/search', {
      project: 'golden',
      fields: ['config.optimizer.lr', 'summary.val/loss'],
    }),
    run: await api.get(run),
    metrics: await api.get(`${run}/metrics`),
    series: await api.post('series', asked),
    records_table: await api.get(`${run}/records?type=table`),
    records_confusion: await api.get(`${run}/records?type=confusion`),
    console: await api.get(`${run}/console?from=0&limit=10`),
    attempts: await api.get(`${run}/attempts`),
    files: await api.get(`${run}/files`),
    alerts: await api.get('alerts?project=golden'),
    me: await api.get('me'),
  };
  mkdirSync(folder, { recursive: true });
  for (const [name, answer] of Object.entries(answers)) {
    writeFileSync(new URL(`${name}.json`, folder), `${JSON.stringify(fixed(answer), null, 2)}\n`);
  }
} finally {
  await server.stop();
}
