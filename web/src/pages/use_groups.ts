// The groups of the table and their open members, summed up by the server.
import { useMemo, useState } from 'preact/hooks';
import { loadGroups } from '../api/groups';
import type { GroupFacts, GroupsAnswer } from '../api/groups';
import { searchRuns } from '../api/runs';
import type { Run } from '../api/types';
import { groupCondition, nameOfGroup, quoteField } from '../lib/groups';
import { useLive } from '../lib/live';
import { withCondition } from '../lib/query_words';
import { useResource } from '../lib/resource';
import type { Resource } from '../lib/resource';
import type { View } from '../lib/view';
import { fullFilter, neededFields, orderOf } from './use_runs';

const MAX_GROUPS = 1000;
const MAX_MEMBERS = 200;
/** What a group has no value for: its states are counted, and times and tags are its runs' own. */
const OWN = new Set(['state', 'created', 'tags', 'name']);

export function groupFields(view: View): string[] {
  return view.group ? view.group.split(',').map(quoteField) : [];
}

export interface LoadedGroups extends Resource<GroupsAnswer> {
  turn: number; // goes up when runs have changed
}

/** Nothing when the table is not grouped. */
export function useGroups(project: string, view: View, isReady: boolean): LoadedGroups {
  const [turn, setTurn] = useState(0);
  const request = {
    project,
    filter: fullFilter(view),
    group: groupFields(view),
    order: orderOf(view),
    fields: view.columns.filter((column) => !OWN.has(column)).map(quoteField),
    limit: MAX_GROUPS,
  };
  const isOn = isReady && request.group.length > 0;
  const found = useResource(isOn ? JSON.stringify(request) : '', (signal) =>
    loadGroups(request, signal),
  );
  useLive(isOn ? project : '', () => {
    setTurn((n) => n + 1);
    found.reload();
  });
  return isOn ? { ...found, turn } : { ...found, turn, data: undefined, error: undefined };
}

/** The first members of each open group, in the order of the table. */
export function useMembers(
  project: string,
  view: View,
  groups: readonly GroupFacts[],
  open: ReadonlySet<string>,
): ReadonlyMap<string, Run[]> {
  const shown = groups.filter((group) => open.has(nameOfGroup(group.values)));
  const by = view.group.split(',');
  const searches = shown.map((group) => ({
    project,
    filter: withCondition(fullFilter(view), groupCondition(by, group.values)),
    order: orderOf(view),
    fields: neededFields(view),
    limit: MAX_MEMBERS,
  }));
  const counts = shown.map((group) => [group.runs, group.states]);
  const key = shown.length > 0 ? JSON.stringify([searches, counts]) : '';
  const found = useResource(key, async (signal) => {
    const answers = await Promise.all(searches.map((search) => searchRuns(search, signal)));
    return new Map(
      shown.map((group, i) => [nameOfGroup(group.values), answers[i]?.runs ?? []] as const),
    );
  });
  return useMemo(() => found.data ?? new Map<string, Run[]>(), [found.data]);
}
