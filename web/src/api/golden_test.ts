// The page reads what the server says: tests/fixtures/api are answers of a real one.
import { readFileSync } from 'node:fs';
import { afterEach, expect, test, vi } from 'vitest';
import { parseConfusion } from '../charts/confusion_matrix';
import { cellOf } from '../lib/flatten';
import { parseTable } from '../lib/tables';
import { loadAlerts } from './alerts';
import { ApiError } from './client';
import { loadConsole, loadRecords } from './records';
import { loadLineage, loadVersion } from './artifacts';
import { fieldsOf, loadFields } from './fields';
import { loadGroupCurves, loadGroups } from './groups';
import { loadModels } from './models';
import { loadMetrics, loadProjects, loadRun, searchRuns } from './runs';
import { loadSeries } from './series';
import type { Run } from './types';

const RUN = { project: 'golden', id: 'first' };

/** Answers the next request with a golden file; the real fetch has a server in its own tests. */
function answerWith(name: string, status = 200): void {
  const file = new URL(`../../../tests/fixtures/api/${name}.json`, import.meta.url);
  const body = name ? readFileSync(file, 'utf8') : '<html>bad gateway</html>';
  vi.stubGlobal('document', { baseURI: 'http://127.0.0.1/' });
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(body, { status })));
}

afterEach(() => vi.unstubAllGlobals());

test('a run has its config by path and its summary by metric', async () => {
  answerWith('run');
  const run = await loadRun(RUN);
  expect(cellOf(run, 'config.optimizer.lr')).toBe(0.001);
  expect(cellOf(run, 'config.sizes')).toBe('[1,2]');
  expect(cellOf(run, 'summary.val/loss')).toBe(Infinity);
  expect(cellOf(run, 'summary.val/loss.min')).toBe(0.5);
  expect(cellOf(run, 'tags')).toBe('paper');
});

test('a search for named fields gives flat names, which the table finds', async () => {
  answerWith('runs_search_fields');
  const { runs, total } = await searchRuns({ project: 'golden' });
  expect(total).toBe(1);
  expect(runs.map((run) => cellOf(run, 'config.optimizer.lr'))).toEqual([0.001]);
});

test('names and values to choose from are the fields of the project', async () => {
  answerWith('fields');
  expect(await loadFields('golden')).toEqual({
    config: ['optimizer.lr', 'optimizer.name', 'sizes'],
    differing: 0,
    summary: ['val/loss'],
    frequent: 1,
    labels: ['mlflow.user'],
    values: new Map([
      ['config.optimizer.lr', ['0.001']],
      ['config.optimizer.name', ['adamw']],
      ['config.sizes', ['[1,2]']],
      ['tag', ['paper']],
    ]),
  });
});

test('a search says which names no run has', async () => {
  answerWith('runs_search');
  const { runs, warnings } = await searchRuns({ project: 'golden' });
  expect(warnings).toEqual(["no run has the metric 'val/los'; did you mean 'val/loss'?"]);
  expect(cellOf(runs[0] as Run, 'label.mlflow.user')).toBe('ann');
  expect(fieldsOf(runs)).toEqual({
    config: ['optimizer.lr', 'optimizer.name', 'sizes'],
    differing: 0,
    summary: ['val/loss'],
  });
});

test('NaN and infinities of a series are numbers again', async () => {
  answerWith('series');
  const request = { runs: [RUN], keys: ['val/loss'], kind: 'metric', x: 'step' } as const;
  const [series] = await loadSeries({ ...request, points: 100, range: null });
  expect(series?.x).toEqual([0, 1, 2, 3]);
  expect(series?.y).toEqual([1, 0.5, NaN, Infinity]);
  expect(series?.isSampled).toBe(false);
});

test('groups have their values, how many runs, and numbers over all of them', async () => {
  answerWith('groups');
  const request = { project: 'golden', filter: '', group: ['config.optimizer.name'] };
  const { groups, runs } = await loadGroups({ ...request, order: [], fields: [], limit: 10 });
  expect(runs).toBe(1);
  expect(groups[0]).toMatchObject({ values: ['adamw'], runs: 1, states: { running: 1 } });
  expect(groups[0]?.fields['config.optimizer.lr']).toMatchObject({ count: 1, mean: 0.001, sd: 0 });
  answerWith('groups_series');
  const curve = { key: 'val/loss', kind: 'metric', x: 'step', points: 100, range: null } as const;
  const [first] = await loadGroupCurves({ ...request, ...curve, only: [], limit: 1 });
  expect(first).toMatchObject({ curves: 1, x: [0, 1], n: [1, 1], mean: [1, 0.5], sd: [0, 0] });
});

test('metrics, projects, console and alerts', async () => {
  answerWith('metrics');
  expect((await loadMetrics(RUN))[0]).toMatchObject({ key: 'val/loss', kind: 'metric', count: 4 });
  answerWith('projects');
  expect((await loadProjects())[0]).toMatchObject({ name: 'golden', run_count: 1 });
  answerWith('console');
  const { lines, total } = await loadConsole(RUN, 0, 10);
  expect([total, lines.map((line) => line.n)]).toEqual([2, [0, 1]]);
  answerWith('alerts');
  expect((await loadAlerts('golden'))[0]).toMatchObject({
    name: 'first',
    body: { title: 'a', level: 'warning' },
  });
});

test('a table has its images and its NaN, a confusion matrix its classes', async () => {
  answerWith('records_table');
  const [table] = (await loadRecords(RUN, { type: 'table' })).records;
  expect(parseTable(table?.body ?? {}).rows).toEqual([[{ image: 'media/a.png' }, { value: NaN }]]);
  answerWith('records_confusion');
  const [confusion] = (await loadRecords(RUN, { type: 'confusion' })).records;
  expect(parseConfusion(confusion?.body ?? {})).toEqual({
    classes: ['a', 'b'],
    counts: [
      [3, 1],
      [0, 4],
    ],
  });
});

test('an artifact, its lineage, and the model that was made of it', async () => {
  answerWith('artifact_version');
  expect(await loadVersion('golden', 'resnet', 'best')).toMatchObject({
    version: 'v0',
    description: 'the small one',
    metadata: { depth: 18 },
    made_by: RUN,
  });
  answerWith('lineage');
  expect((await loadLineage('golden', 'resnet', 'v0')).edges).toEqual([
    { from: 'run:golden/first', to: 'artifact:golden/resnet:v0' },
  ]);
  answerWith('models');
  expect((await loadModels())[0]).toMatchObject({
    name: 'classifier',
    aliases: { champion: 1 },
    versions: [
      {
        version: 1,
        stage: 'Production',
        aliases: ['champion'],
        source: { project: 'golden', artifact: 'resnet', version: 'v0' },
        tags: { reviewed: 'yes' },
      },
    ],
  });
});

test('an answer that is no JSON is still an error with its status', async () => {
  answerWith('', 502);
  await expect(loadProjects()).rejects.toMatchObject(
    new ApiError(502, 'error', 'The server answered 502.'),
  );
});
