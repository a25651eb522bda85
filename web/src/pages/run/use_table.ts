import { artifactFileUrl } from '../../api/artifacts';
import { ApiError } from '../../api/client';
import type { Json, LogRecord, Run } from '../../api/types';
import { findClientArtifact } from '../../api/wandb';
import { isObject } from '../../lib/flatten';
import { useResource } from '../../lib/resource';
import type { Resource } from '../../lib/resource';
import { parseTable } from '../../lib/tables';
import type { Table } from '../../lib/tables';
import { fileUrl } from './files';

export interface LoadedTable {
  table: Table;
  urlOf: (path: string) => string; // of the files that its cells name
}

/**
 * A table that a wandb client logged. It is there twice: as a file of the run, in which a picture
 * is only the word "Image", and in an artifact with the pictures beside it.
 */
export function useTable(run: Run, { body, step, key }: LogRecord): Resource<LoadedTable> {
  const path = String(body['path'] ?? '');
  const source = String(body['artifact_path'] ?? '');
  return useResource(`${run.project}/${run.id}/${key}/${step}/${path}`, async (signal) => {
    const fromArtifact = await loadFromArtifact(run, source, step, signal);
    if (fromArtifact) return fromArtifact;
    const text = await loadText(fileUrl(run, path), signal);
    return { table: parseTableFile(text), urlOf: (file: string) => fileUrl(run, file) };
  });
}

async function loadFromArtifact(
  run: Run,
  source: string,
  step: number,
  signal: AbortSignal,
): Promise<LoadedTable | undefined> {
  const [, client, file] = /^wandb-client-artifact:\/\/([^/]+)\/(.+)$/.exec(source) ?? [];
  if (!client || !file) return undefined;
  try {
    const query = { project: run.project, run: run.id, file, step: String(step) };
    const found = await findClientArtifact(client, query, signal);
    const urlOf = (path: string) => artifactFileUrl(found.project, found, path);
    return { table: parseTableFile(await loadText(urlOf(file), signal)), urlOf };
  } catch (error) {
    // It has not come yet, or was deleted.
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

export async function loadText(url: string, signal: AbortSignal): Promise<string> {
  const answer = await fetch(url, { signal });
  if (!answer.ok) throw new ApiError(answer.status, 'file', 'The file has not come yet.');
  return answer.text();
}

// Python writes NaN and infinities bare, which is no JSON.
function parseTableFile(text: string): Table {
  const strict = text.replace(/(?<=[[,:]\s*)(-?Infinity|NaN)(?=\s*[\],}])/g, '"$1"');
  let file: Json;
  try {
    file = JSON.parse(strict) as Json;
  } catch {
    return parseTable({});
  }
  const { columns = [], data = [] } = isObject(file) ? file : {};
  return parseTable({ columns, rows: data });
}
