import { fromWire } from '../lib/numbers';
import { callApi } from './client';
import type { RunRef, WireSeries } from './types';

/** A run's curve, or only what one of its attempts logged. */
export interface LineRef extends RunRef {
  attempt?: number;
}

/** Which line of a chart it is. */
export function lineKey({ id, attempt }: { id: string; attempt?: number }): string {
  return attempt === undefined ? id : `${id}@${attempt}`;
}

export interface Series {
  id: string; // of the run
  attempt?: number;
  key: string;
  x: number[];
  y: number[];
  count: number; // of all points in the range, shown or not
  isSampled: boolean;
}

export interface SeriesRequest {
  runs: readonly LineRef[];
  keys: readonly string[];
  kind: 'metric' | 'system';
  x: string;
  points: number;
  range: [number, number] | null;
}

export async function loadSeries(want: SeriesRequest, signal?: AbortSignal): Promise<Series[]> {
  if (want.runs.length === 0 || want.keys.length === 0) return [];
  const attempts = [...new Set(want.runs.map((run) => run.attempt))];
  const parts = attempts.map((attempt) =>
    loadOf(attempt, { ...want, runs: want.runs.filter((run) => run.attempt === attempt) }, signal),
  );
  return (await Promise.all(parts)).flat();
}

/** The API takes one attempt for all runs of a request. */
async function loadOf(
  attempt: number | undefined,
  want: SeriesRequest,
  signal?: AbortSignal,
): Promise<Series[]> {
  // The API counts times in microseconds, charts in seconds.
  const scale = want.x === 'time' ? 1e6 : 1;
  const body: Record<string, unknown> = {
    runs: want.runs.map(({ project, id }) => ({ project, id })),
    keys: want.keys,
    kind: want.kind,
    x: want.x,
    points: want.points,
  };
  if (attempt !== undefined) body['attempt'] = attempt;
  if (want.range) {
    body['from'] = want.range[0] * scale;
    body['to'] = want.range[1] * scale;
  }
  const answer = await callApi<{ series: WireSeries[] }>('series', {
    method: 'POST',
    body,
    signal,
  });
  return answer.series.map((s) => ({
    id: s.id,
    key: s.key,
    x: s.x.map((v) => fromWire(v) / scale),
    y: s.y.map(fromWire),
    count: s.count,
    isSampled: s.sampled,
    ...(attempt === undefined ? {} : { attempt }),
  }));
}
