import { flatten, plain } from '../lib/flatten';
import { callApi } from './client';
import type { FieldsAnswer, Run } from './types';

export interface Fields {
  config: string[]; // those that differ between runs first
  differing: number; // how many of them differ
  summary: string[]; // the most frequent first
  frequent: number; // how many of them at least half of the runs have
  labels: string[];
  values: ReadonlyMap<string, string[]>; // of config keys with a few, and of "tag"
}

/** More names than anybody scrolls through; the most frequent ones come first. */
const MOST = 5000;

/** The names of config keys, metrics and tags that the project's runs have. */
export async function loadFields(project: string, signal?: AbortSignal): Promise<Fields> {
  const path = `projects/${encodeURIComponent(project)}/fields?limit=${MOST}`;
  const { run_count, config, metrics, tags, labels } = await callApi<FieldsAnswer>(path, {
    signal,
  });
  const differing = config.names.filter((key) => key.value_count > 1);
  const same = config.names.filter((key) => key.value_count <= 1);
  return {
    config: [...differing, ...same].map(({ name }) => name),
    differing: differing.length,
    summary: metrics.names.map(({ name }) => name),
    frequent: metrics.names.filter((key) => 2 * key.run_count >= run_count).length,
    labels: labels.names.map(({ name }) => name),
    values: new Map([
      ...config.names
        .filter(({ values }) => values.length > 0)
        .map(({ name, values }): [string, string[]] => [
          `config.${name}`,
          values.map((value) => String(plain(value))),
        ]),
      ['tag', tags.names.map(({ name }) => name)],
    ]),
  };
}

/** The same of some runs alone: what differs between just these. */
export function fieldsOf(runs: readonly Run[]): Pick<Fields, 'config' | 'differing' | 'summary'> {
  const values = new Map<string, Set<string>>();
  const summary = new Set<string>();
  for (const run of runs) {
    for (const [key, value] of Object.entries(flatten(run.config))) {
      const seen = values.get(key) ?? new Set<string>();
      values.set(key, seen.add(String(plain(value))));
    }
    Object.keys(run.summary).forEach((key) => summary.add(key));
  }
  const names = [...values.keys()].sort();
  const differs = (key: string) => (values.get(key)?.size ?? 0) > 1;
  const first = names.filter(differs);
  return {
    config: [...first, ...names.filter((key) => !differs(key))],
    differing: first.length,
    summary: [...summary].sort(),
  };
}
