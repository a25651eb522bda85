import { fromWire } from '../lib/numbers';
import { callApi } from './client';
import type { RunRef, WireSeries } from './types';

export interface Series {
  id: string; // of the run
  key: string;
  x: number[];
  y: number[];
  count: number; // of all points in the range, shown or not
  isSampled: boolean;
}

export interface SeriesRequest {
  runs: readonly RunRef[];
  keys: readonly string[];
  kind: 'metric' | 'system';
  x: string;
  points: number;
  range: [number, number] | null;
}

export async function loadSeries(want: SeriesRequest, signal?: AbortSignal): Promise<Series[]> {
  if (want.runs.length === 0 || want.keys.length === 0) return [];
  // The API counts times in microseconds, charts in seconds.
  const scale = want.x === 'time' ? 1e6 : 1;
  const body: Record<string, unknown> = {
    runs: want.runs.map(({ project, id }) => ({ project, id })),
    keys: want.keys,
    kind: want.kind,
    x: want.x,
    points: want.points,
  };
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
  }));
}
