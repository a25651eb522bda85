import { useState } from 'preact/hooks';
import { loadRecords } from '../../api/records';
import type { RecordAnswer } from '../../api/records';
import type { LogRecord, Run } from '../../api/types';
import { useResource } from '../../lib/resource';
import type { ApiError } from '../../api/client';

const AT_ONCE = 100;

export interface StepRecord {
  newest: LogRecord[];
  total: number;
  index: number; // of the one that is shown; the oldest is 0
  record: LogRecord | undefined; // undefined: on its way
  choose: (index: number) => void;
  error: ApiError | undefined;
}

/**
 * All records under one name, of which one is looked at: the newest come at once, older ones in
 * pages when somebody goes there. Who looks at the newest goes on to look at the newest.
 */
export function useStepRecord(run: Run, type: string, name: string, turn: string): StepRecord {
  const [at, setAt] = useState(Infinity);
  const load = (offset: number | undefined, signal: AbortSignal): Promise<RecordAnswer> =>
    loadRecords(
      run,
      { type, key: name, limit: AT_ONCE, ...(offset === undefined ? {} : { offset }) },
      signal,
    );
  const newest = useResource(turn, (signal) => load(undefined, signal));
  const records = newest.data?.records ?? [];
  const total = newest.data?.total ?? 0;
  const index = Math.min(at, total - 1);
  const first = total - records.length;
  const offset = Math.floor(index / AT_ONCE) * AT_ONCE;
  const isOlder = index >= 0 && index < first;
  const older = useResource(isOlder ? `${turn}/${offset}` : '', async (signal) => ({
    offset,
    records: (await load(offset, signal)).records,
  }));
  const page = older.data?.offset === offset ? older.data.records : [];
  return {
    newest: records,
    total,
    index,
    record: isOlder ? page[index - offset] : records[index - first],
    choose: (next) => setAt(next >= total - 1 ? Infinity : next),
    error: newest.error ?? (isOlder ? older.error : undefined),
  };
}
