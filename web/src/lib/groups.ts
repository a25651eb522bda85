// Names of groups, and the condition that picks a group's runs.
import type { GroupValue } from '../api/groups';
import { quoteName, quoteValue } from './query_words';

function textOf(value: GroupValue): string {
  return value === null ? '(none)' : String(value);
}

export function nameOfGroup(values: readonly GroupValue[]): string {
  return values.map(textOf).join(' / ');
}

const PARTS = /^(config\.|summary\.|label\.)?(.*?)(\.(?:min|max|last|count|last_step))?$/;

/** A column as filters and orders write it: only its key may need quotes. */
export function quoteField(column: string): string {
  const [, kind = '', key = column, part = ''] = PARTS.exec(column) ?? [];
  return kind === 'summary.' || !part ? kind + quoteName(key) + part : kind + quoteName(key + part);
}

function conditionOn(field: string, value: GroupValue): string {
  const name = quoteField(field);
  if (value === null) return `(not exists ${name} or ${name} = null or ${name} = "")`;
  if (typeof value === 'string') return `${name} = ${JSON.stringify(value)}`;
  return `${name} = ${quoteValue(String(value))}`;
}

export function groupCondition(by: readonly string[], values: readonly GroupValue[]): string {
  return by.map((field, i) => conditionOn(field, values[i] ?? null)).join(' and ');
}
