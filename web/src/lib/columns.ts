// Columns are named as fields of a search are: facts, config.KEY, summary.KEY, label.NAME.
import type { Run } from '../api/types';
import { cellOf } from './flatten';

/** What a reader calls it. */
export function columnTitle(column: string): string {
  return column.replace(/^(config|summary|label)\./, '').replace('last_step', 'step');
}

const TEXT = new Set([
  'state',
  'tags',
  'user',
  'host',
  'group',
  'job_type',
  'notes',
  'id',
  'name',
  'source',
  'sweep',
]);
const NUMBERS = new Set(['created', 'duration', 'last_step', 'attempt']);
const LOOKED_AT = 200; // runs; a column is of one kind

/** Those that hold numbers, which stand at the right so that their digits are below each other. */
export function numericOf(columns: readonly string[], runs: readonly Run[]): ReadonlySet<string> {
  const some = runs.slice(0, LOOKED_AT);
  const isNumber = (column: string) => {
    if (TEXT.has(column)) return false;
    if (NUMBERS.has(column)) return true;
    const known = some.map((run) => cellOf(run, column)).find((c) => c !== undefined && c !== null);
    return known === undefined ? column.startsWith('summary.') : typeof known === 'number';
  };
  return new Set(columns.filter(isNumber));
}
