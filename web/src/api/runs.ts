import { callApi, runPath } from './client';
import type { Attempt, MetricFacts, Project, Run, RunFile, RunRef } from './types';

export interface SearchRequest {
  project: string;
  filter?: string;
  order?: string[];
  limit?: number;
  offset?: number;
  fields?: string[];
}

export interface SearchAnswer {
  runs: Run[];
  total: number;
  warnings: string[]; // about names in the filter that no run has
}

export const ARCHIVED = 'archived';

export async function loadProjects(signal?: AbortSignal): Promise<Project[]> {
  return (await callApi<{ projects: Project[] }>('projects', { signal })).projects;
}

export async function searchRuns(body: SearchRequest, signal?: AbortSignal): Promise<SearchAnswer> {
  return callApi<SearchAnswer>('runs/search', { method: 'POST', body, signal });
}

export async function loadRun(run: RunRef, signal?: AbortSignal): Promise<Run> {
  return callApi<Run>(runPath(run), { signal });
}

/** A filter has a limited length, so that ids go in parts. */
const IDS_AT_ONCE = 500;

/** These runs with all their config and summary. */
export async function loadRuns(
  project: string,
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<Run[]> {
  const runs: Run[] = [];
  for (let at = 0; at < ids.length; at += IDS_AT_ONCE) {
    const part = ids.slice(at, at + IDS_AT_ONCE);
    const filter = `id in [${part.map((id) => JSON.stringify(id)).join(', ')}]`;
    runs.push(...(await searchRuns({ project, filter, limit: part.length }, signal)).runs);
  }
  const byId = new Map(runs.map((run) => [run.id, run]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** A label that is null is taken away. */
export type RunPatch = Partial<Pick<Run, 'name' | 'notes' | 'tags' | 'group' | 'job_type'>> & {
  labels?: { [name: string]: string | null };
};

export async function patchRun(run: RunRef, body: RunPatch): Promise<Run> {
  return callApi<Run>(runPath(run), { method: 'PATCH', body });
}

export async function deleteRun(run: RunRef): Promise<void> {
  await callApi(runPath(run), { method: 'DELETE' });
}

export async function loadMetrics(run: RunRef, signal?: AbortSignal): Promise<MetricFacts[]> {
  return (await callApi<{ metrics: MetricFacts[] }>(runPath(run, 'metrics'), { signal })).metrics;
}

export async function loadAttempts(run: RunRef, signal?: AbortSignal): Promise<Attempt[]> {
  return (await callApi<{ attempts: Attempt[] }>(runPath(run, 'attempts'), { signal })).attempts;
}

export async function loadFiles(run: RunRef, signal?: AbortSignal): Promise<RunFile[]> {
  return (await callApi<{ files: RunFile[] }>(runPath(run, 'files'), { signal })).files;
}
