// Sweeps that the server keeps, and what their trials found.
import { callApi } from './client';
import type { Importance, Sweep, SweepSummary, Trial } from './types';

export type { Estimate, Importance, Sweep, SweepAxis, SweepSummary, Trial } from './types';

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
