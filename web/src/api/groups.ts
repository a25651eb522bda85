// Groups of runs, summed up by the server over all runs that match: what the page shows of them
// does not depend on which runs it has loaded.
import { fromWire } from '../lib/numbers';
import { callApi } from './client';
import type { GroupsAnswer, GroupValue, WireGroupCurve, WireNumber } from './types';

export type { FieldSpread, GroupFacts, GroupsAnswer, GroupValue } from './types';

export interface GroupsRequest {
  project: string;
  filter: string;
  group: string[];
  order: string[];
  fields: string[];
  limit: number;
}

export async function loadGroups(body: GroupsRequest, signal?: AbortSignal): Promise<GroupsAnswer> {
  return callApi<GroupsAnswer>('groups/runs', { method: 'POST', body, signal });
}

/** With plain numbers. */
export type GroupCurve = Omit<WireGroupCurve, 'x' | 'mean' | 'sd' | 'min' | 'max'> &
  Record<'x' | 'mean' | 'sd' | 'min' | 'max', number[]>;

export interface GroupCurvesRequest {
  project: string;
  filter: string;
  group: readonly string[];
  only: readonly GroupValue[][]; // empty: the largest
  limit: number;
  key: string;
  kind: 'metric' | 'system';
  x: string;
  points: number;
  range: [number, number] | null;
}

export async function loadGroupCurves(
  want: GroupCurvesRequest,
  signal?: AbortSignal,
): Promise<GroupCurve[]> {
  const { range, only, ...rest } = want;
  // The API counts times in microseconds, charts in seconds.
  const scale = want.x === 'time' ? 1e6 : 1;
  const body = {
    ...rest,
    ...(only.length > 0 ? { only } : {}),
    ...(range ? { from: range[0] * scale, to: range[1] * scale } : {}),
  };
  const answer = await callApi<{ groups: WireGroupCurve[] }>('groups/series', {
    method: 'POST',
    body,
    signal,
  });
  const plain = (numbers: WireNumber[]) => numbers.map(fromWire);
  return answer.groups.map((curve) => ({
    ...curve,
    x: plain(curve.x).map((x) => x / scale),
    mean: plain(curve.mean),
    sd: plain(curve.sd),
    min: plain(curve.min),
    max: plain(curve.max),
  }));
}
