import { expect, test } from 'vitest';
import { numericOf } from './columns';
import { makeRun } from './make_run';
import { queryFor } from './project_pages';

const run = makeRun({
  project: 'p',
  id: 'a',
  labels: { team: '7' },
  config: { lr: 0.1, name: 'adam' },
  summary: { verdict: { last: 'good' } },
});

test('a column of numbers is told by its values', () => {
  const columns = ['config.lr', 'config.name', 'summary.verdict', 'label.team', 'created', 'user'];
  expect([...numericOf(columns, [{ ...run, config: {} }, run])]).toEqual(['config.lr', 'created']);
  expect([...numericOf(['summary.loss', 'config.x'], [])]).toEqual(['summary.loss']);
});

test('the filter and the choice go along between table and comparison, and nowhere else', () => {
  const query = new URLSearchParams('f=loss<1&sel=a,b&s=0.5&k=bars');
  expect(queryFor('compare', 'runs', query).toString()).toBe('f=loss%3C1&sel=a%2Cb');
  expect(queryFor('alerts', 'runs', query).toString()).toBe('');
});
