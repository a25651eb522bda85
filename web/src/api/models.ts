import { callApi } from './client';
import type { Model, ModelPatch, ModelVersion } from './types';

export type { Model, ModelPatch, ModelVersion } from './types';

/** Those that MLflow's clients know. */
export const STAGES = ['None', 'Staging', 'Production', 'Archived'];

function path(...parts: (string | number)[]): string {
  return ['models', ...parts].map((part) => encodeURIComponent(part)).join('/');
}

export async function loadModels(signal?: AbortSignal): Promise<Model[]> {
  return (await callApi<{ models: Model[] }>(path(), { signal })).models;
}

export async function loadModel(name: string, signal?: AbortSignal): Promise<Model> {
  return callApi<Model>(path(name), { signal });
}

export async function createModel(name: string): Promise<void> {
  await callApi(path(), { method: 'POST', body: { name } });
}

export async function patchModel(name: string, body: ModelPatch): Promise<void> {
  await callApi(path(name), { method: 'PATCH', body });
}

export async function deleteModel(name: string): Promise<void> {
  await callApi(path(name), { method: 'DELETE' });
}

export async function addModelVersion(
  name: string,
  body: { source: string; run_id?: string; description?: string },
): Promise<ModelVersion> {
  return callApi<ModelVersion>(path(name, 'versions'), { method: 'POST', body });
}

export async function patchModelVersion(
  name: string,
  version: number,
  body: ModelPatch & { stage?: string },
): Promise<void> {
  await callApi(path(name, 'versions', version), { method: 'PATCH', body });
}

export async function deleteModelVersion(name: string, version: number): Promise<void> {
  await callApi(path(name, 'versions', version), { method: 'DELETE' });
}

export async function putModelAlias(name: string, alias: string, version: number): Promise<void> {
  await callApi(path(name, 'aliases', alias), { method: 'PUT', body: { version } });
}

export async function deleteModelAlias(name: string, alias: string): Promise<void> {
  await callApi(path(name, 'aliases', alias), { method: 'DELETE' });
}
