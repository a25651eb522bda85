// What a chart draws: the curves of its runs, or one curve for each group, summed up by the server.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { loadGroupCurves } from '../api/groups';
import type { GroupCurve } from '../api/groups';
import type { ApiError } from '../api/client';
import { lineKey, loadSeries } from '../api/series';
import type { Series } from '../api/series';
import { useResource } from '../lib/resource';
import type { View } from '../lib/view';
import { draw, drawGroups } from './drawing';
import type { Drawing, PlotGroup, PlotRun } from './drawing';

/** Groups of all runs that match a filter. */
export interface SummedRuns {
  project: string;
  filter: string;
  by: string[];
  groups: PlotGroup[];
}

interface Wanted {
  metric: string;
  kind: 'metric' | 'system';
  runs: PlotRun[];
  summed: SummedRuns | undefined;
  view: View;
  turn: number;
  points: number;
  isNeeded: boolean;
}

type Loaded = { series: Series[] } | { curves: GroupCurve[] };

export interface ChartDrawing {
  drawing: Drawing;
  isLoaded: boolean;
  isSampled: boolean; // of groups: read as charts are, so that the mean is about right
  error: ApiError | undefined;
}

/** The sum over thousands of curves is not worth more than a tenth of the server's time. */
const SUM_SHARE = 10;
const SUM_EVERY_MS = 3000;

export function useDrawing(wanted: Wanted): ChartDrawing {
  const { metric, kind, runs, summed, view, turn, points, isNeeded } = wanted;
  const what = useMemo(
    () => (summed ? JSON.stringify(summed) : runs.map(lineKey).join(' ')),
    [runs, summed],
  );
  const key = isNeeded ? JSON.stringify([metric, what, view.x, view.range, points]) : '';
  const took = useRef(0);
  const loaded = useResource<Loaded>(key, async (signal) => {
    const common = { kind, x: view.x, range: wider(view.range) };
    if (!summed) {
      return { series: await loadSeries({ ...common, runs, keys: [metric], points }, signal) };
    }
    const { groups, by, ...search } = summed;
    const only = groups.map((group) => group.values);
    const begun = Date.now();
    const places = Math.min(points, 1000);
    const request = { ...common, ...search, group: by, only, limit: groups.length, key: metric };
    const curves = await loadGroupCurves({ ...request, points: places }, signal);
    took.current = Date.now() - begun;
    return { curves };
  });
  useEffect(() => {
    if (!key || turn === 0) return undefined;
    if (!summed) {
      loaded.reload();
      return undefined;
    }
    const timer = setTimeout(loaded.reload, Math.max(SUM_EVERY_MS, SUM_SHARE * took.current));
    return () => clearTimeout(timer);
  }, [turn]);
  const { data, error } = loaded;
  const drawing = useMemo(() => {
    if (data && 'curves' in data) return drawGroups(data.curves, summed?.groups ?? [], view);
    return draw(data?.series ?? [], runs, view);
  }, [data, runs, summed, view.smooth, view.spread, view.logX, view.logY]);
  const isSampled = data !== undefined && 'curves' in data && data.curves.some((c) => c.sampled);
  return { drawing, isLoaded: data !== undefined, isSampled, error };
}

/** A little more than what is shown, so that lines run to the edge. */
function wider(range: [number, number] | null): [number, number] | null {
  if (!range) return null;
  const pad = (range[1] - range[0]) * 0.02;
  return [range[0] - pad, range[1] + pad];
}
