import { apiUrl, callApi, filePath, runPath } from './client';
import type {
  ArtifactFacts,
  ArtifactVersion,
  Lineage,
  RunArtifacts,
  RunRef,
  VersionsAnswer,
} from './types';

export type {
  ArtifactFacts,
  ArtifactLink,
  ArtifactVersion,
  Lineage,
  LineageNode,
  RunArtifacts,
} from './types';

/** Where a file of a version is downloaded. */
export function artifactFileUrl(
  project: string,
  version: { name: string; version: string },
  file: string,
): string {
  return apiUrl(`${path(project, version.name, version.version)}/files/${filePath(file)}`);
}

function path(project: string, ...rest: string[]): string {
  return ['artifacts', project, ...rest].map(encodeURIComponent).join('/');
}

export async function loadArtifacts(
  project: string,
  signal?: AbortSignal,
): Promise<ArtifactFacts[]> {
  return (await callApi<{ artifacts: ArtifactFacts[] }>(path(project), { signal })).artifacts;
}

export async function loadVersions(
  project: string,
  name: string,
  signal?: AbortSignal,
): Promise<VersionsAnswer> {
  return callApi<VersionsAnswer>(path(project, name), { signal });
}

export async function loadRunArtifacts(run: RunRef, signal?: AbortSignal): Promise<RunArtifacts> {
  return callApi<RunArtifacts>(runPath(run, 'artifacts'), { signal });
}

export async function loadVersion(
  project: string,
  name: string,
  version: string,
  signal?: AbortSignal,
): Promise<ArtifactVersion> {
  return callApi<ArtifactVersion>(path(project, name, version), { signal });
}

export async function loadLineage(
  project: string,
  name: string,
  version: string,
  signal?: AbortSignal,
): Promise<Lineage> {
  return callApi<Lineage>(path(project, name, version, 'lineage'), { signal });
}

export async function patchVersion(
  project: string,
  version: ArtifactVersion,
  body: { description: string },
): Promise<void> {
  await callApi(path(project, version.name, version.version), { method: 'PATCH', body });
}

/** Returns how many bytes nothing else needed. */
export async function deleteVersion(project: string, version: ArtifactVersion): Promise<number> {
  const address = path(project, version.name, version.version);
  return (await callApi<{ freed_bytes: number }>(address, { method: 'DELETE' })).freed_bytes;
}

export async function putAlias(
  project: string,
  version: ArtifactVersion,
  alias: string,
): Promise<void> {
  const address = path(project, version.name, version.version, 'aliases', alias);
  await callApi(address, { method: 'PUT', body: {} });
}

export async function deleteAlias(
  project: string,
  version: ArtifactVersion,
  alias: string,
): Promise<void> {
  const address = path(project, version.name, version.version, 'aliases', alias);
  await callApi(address, { method: 'DELETE' });
}
