// What only runs of wandb clients have: see src/wandb/page_calls.cc.
import { ApiError, serverUrl } from './client';
import type { Json, RunRef } from './types';

async function load<T>(path: string, signal: AbortSignal): Promise<T> {
  const answer = await fetch(serverUrl(path), { signal, headers: { 'X-Kedge-Page': '1' } });
  if (!answer.ok) throw new ApiError(answer.status, 'wandb', `The server has no ${path}.`);
  return (await answer.json()) as T;
}

/** How the run wants its plots drawn: by their names, as wandb.plot describes them. */
export async function loadPanels(
  { project, id }: RunRef,
  signal: AbortSignal,
): Promise<{ [key: string]: Json }> {
  const path = `wandb/panels/${encodeURIComponent(project)}/${encodeURIComponent(id)}`;
  return (await load<{ panels: { [key: string]: Json } }>(path, signal)).panels;
}

/**
 * The version that a client calls "wandb-client-artifact://CLIENT", or else the table of the run
 * that was the newest at the step and has the file.
 */
export async function findClientArtifact(
  client: string,
  query: { project: string; run: string; file: string; step: string },
  signal: AbortSignal,
): Promise<{ project: string; name: string; version: string }> {
  const tail = new URLSearchParams(query).toString();
  return load(`wandb/artifacts/${encodeURIComponent(client)}?${tail}`, signal);
}
