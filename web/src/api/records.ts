import { callApi, runPath } from './client';
import type { ConsoleAnswer, RecordAnswer, RecordKey, RunRef } from './types';

export type { ConsoleAnswer, RecordAnswer, RecordKey } from './types';

export interface RecordQuery {
  type: string;
  key?: string;
  from_step?: number;
  to_step?: number;
  limit?: number;
  offset?: number; // from this one on; without it the newest
}

export async function loadRecordKeys(run: RunRef, signal?: AbortSignal): Promise<RecordKey[]> {
  const path = runPath(run, 'records/keys');
  return (await callApi<{ keys: RecordKey[] }>(path, { signal })).keys;
}

export async function loadRecords(
  run: RunRef,
  query: RecordQuery,
  signal?: AbortSignal,
): Promise<RecordAnswer> {
  const params = new URLSearchParams();
  Object.entries(query).forEach(([key, value]) => params.set(key, String(value)));
  return callApi<RecordAnswer>(runPath(run, `records?${params.toString()}`), { signal });
}

export async function loadConsole(
  run: RunRef,
  from: number,
  limit: number,
  signal?: AbortSignal,
): Promise<ConsoleAnswer> {
  return callApi<ConsoleAnswer>(runPath(run, `console?from=${from}&limit=${limit}`), { signal });
}
