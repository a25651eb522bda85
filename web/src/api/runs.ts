import { withCondition } from '../lib/query_words';
import { callApi, runPath } from './client';
import type {
  Attempt,
  MetricFacts,
  Project,
  Run,
  RunFile,
  RunPatch,
  RunRef,
  SearchAnswer,
} from './types';

export type { RunPatch, SearchAnswer } from './types';

export interface SearchRequest {
  project: string;
  filter?: string;
  order?: string[];
  limit?: number;
  offset?: number;
  fields?: string[];
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

export interface RunChoice {
  fields?: string[]; // without: all of config and summary
  filter?: string; // leaves out those that do not match
}

/** These runs, in this order. */
export async function loadRuns(
  project: string,
  ids: readonly string[],
  signal?: AbortSignal,
  { fields, filter = '' }: RunChoice = {},
): Promise<Run[]> {
  const runs: Run[] = [];
  for (let at = 0; at < ids.length; at += IDS_AT_ONCE) {
    const part = ids.slice(at, at + IDS_AT_ONCE);
    const chosen = `id in [${part.map((id) => JSON.stringify(id)).join(', ')}]`;
    const request: SearchRequest = {
      project,
      filter: withCondition(filter, chosen),
      limit: part.length,
      ...(fields ? { fields } : {}),
    };
    runs.push(...(await searchRuns(request, signal)).runs);
  }
  const byId = new Map(runs.map((run) => [run.id, run]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

export async function patchRun(run: RunRef, body: RunPatch): Promise<Run> {
  return callApi<Run>(runPath(run), { method: 'PATCH', body });
}

/** Into the trash. */
export async function deleteRun(run: RunRef): Promise<void> {
  await callApi(runPath(run), { method: 'DELETE' });
}

export async function removeRun(run: RunRef): Promise<void> {
  await callApi(`${runPath(run)}?for_good=1`, { method: 'DELETE' });
}

export async function restoreRun(run: RunRef): Promise<void> {
  await callApi(runPath(run), { method: 'PATCH', body: { deleted_us: 0 } });
}

/** With how long they can be restored. */
export type Trash = Required<SearchAnswer>;

export async function loadTrash(project: string, signal?: AbortSignal): Promise<Trash> {
  const body = { project, trash: true, fields: [], limit: 1000 };
  return callApi<Trash>('runs/search', { method: 'POST', body, signal });
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
