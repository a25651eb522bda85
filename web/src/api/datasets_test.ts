import { expect, test } from 'vitest';
import { readInput } from './datasets';

// As mlflow 3.17's log_input() sent it for a pandas data set and for a file.
test('an input says what it was for, where it came from and how large it is', () => {
  const input = readInput({
    tags: [{ key: 'mlflow.data.context', value: 'training' }],
    dataset: {
      name: 'wine',
      digest: '9f1a2b3c',
      source_type: 'http',
      source: '{"url": "https://example.org/wine.csv"}',
      profile: '{"num_rows": 4898, "num_elements": 58776}',
    },
  });
  expect(input).toEqual({
    name: 'wine',
    digest: '9f1a2b3c',
    context: 'training',
    sourceType: 'http',
    source: 'https://example.org/wine.csv',
    rows: '4898',
  });
});

test('what is not there is left empty', () => {
  const input = readInput({ dataset: { name: 'd', digest: 'x', source: '{"tags": {}}' } });
  expect(input).toEqual({
    name: 'd',
    digest: 'x',
    context: '',
    sourceType: '',
    source: '',
    rows: '',
  });
  expect(readInput({ dataset: { name: 'd', digest: 'x', source: 's3://b/k' } }).source).toBe(
    's3://b/k',
  );
});
