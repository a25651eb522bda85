// Sweeps that the server keeps, and what their trials found.
import { callApi } from './client';
import type { Json } from './types';

export interface SweepSummary {
  id: string;
  project: string;
  name: string;
  method: string;
  metric: { name: string; goal: 'minimize' | 'maximize' };
  state: string;
  reason: string;
  origin: 'kedge' | 'wandb'; // whose agents work on it
  trials: number;
  best: number | null;
  expected_runs: number | null;
  created: string;
}

export interface SweepAxis {
  name: string;
  kind: 'choice' | 'log' | 'linear';
  values?: Json[];
}

export interface Sweep extends SweepSummary {
  text: string;
  axes: SweepAxis[];
}

export interface TrialResult {
  state: string;
  metric?: number | null;
  seconds: number;
  ended: string;
  host: string;
  message?: string;
  reused?: string;
}

export interface Trial {
  number: number;
  state: string;
  values: { [key: string]: Json };
  run: string;
  attempts: number;
  metric: number | null;
  result: TrialResult | null;
}

export interface Estimate {
  value: number;
  low: number;
  high: number;
}

export interface Importance {
  trials: number;
  explained: number;
  parameters: {
    name: string;
    correlation: Estimate;
    permutation: Estimate;
    variance_share: Estimate;
  }[];
}

function path(project: string, id: string, rest = ''): string {
  return `sweeps/${encodeURIComponent(project)}/${encodeURIComponent(id)}${rest}`;
}

export async function loadSweeps(project: string, signal?: AbortSignal): Promise<SweepSummary[]> {
  const query = `sweeps?project=${encodeURIComponent(project)}`;
  return (await callApi<{ sweeps: SweepSummary[] }>(query, { signal })).sweeps;
}

export async function loadSweep(project: string, id: string, signal?: AbortSignal) {
  const [sweep, { trials }] = await Promise.all([
    callApi<Sweep>(path(project, id), { signal }),
    callApi<{ trials: Trial[] }>(path(project, id, '/trials'), { signal }),
  ]);
  return { sweep, trials };
}

export async function loadImportance(
  project: string,
  id: string,
  signal?: AbortSignal,
): Promise<Importance> {
  return callApi<Importance>(path(project, id, '/importance'), { signal });
}

export async function setSweepState(project: string, id: string, state: string): Promise<void> {
  const reason = state === 'running' ? '' : 'by a user of the page';
  await callApi(path(project, id, '/control'), { method: 'PUT', body: { state, reason } });
}
