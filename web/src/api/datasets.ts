// The data sets that an MLflow client has logged as a run's inputs: only its own call tells them.
import { callApi } from './client';

export interface DatasetInput {
  name: string;
  digest: string;
  context: string; // what it was used for: "training"
  sourceType: string;
  source: string;
  rows: string;
}

interface WireInput {
  tags?: { key: string; value: string }[];
  dataset: {
    name: string;
    digest: string;
    source_type?: string;
    source?: string;
    profile?: string;
  };
}

interface WireRun {
  run: { inputs?: { dataset_inputs?: WireInput[] } };
}

export async function loadDatasets(id: string, signal?: AbortSignal): Promise<DatasetInput[]> {
  const path = `../2.0/mlflow/runs/get?run_id=${encodeURIComponent(id)}`;
  const answer = await callApi<WireRun>(path, { signal });
  return (answer.run.inputs?.dataset_inputs ?? []).map(readInput);
}

export function readInput({ tags = [], dataset }: WireInput): DatasetInput {
  return {
    name: dataset.name,
    digest: dataset.digest,
    context: tags.find((tag) => tag.key === 'mlflow.data.context')?.value ?? '',
    sourceType: dataset.source_type ?? '',
    source: placeOf(dataset.source ?? ''),
    rows: rowsOf(dataset.profile ?? ''),
  };
}

/** Clients send {"uri": ...}, {"url": ...}, {"tags": ...}: the place is what a reader wants. */
function placeOf(source: string): string {
  const parsed = parse(source);
  for (const key of ['uri', 'url', 'path']) {
    const value = parsed[key];
    if (typeof value === 'string') return value;
  }
  return Object.keys(parsed).length > 0 ? '' : source;
}

function rowsOf(profile: string): string {
  const count = parse(profile)['num_rows'];
  return typeof count === 'number' ? String(count) : '';
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
