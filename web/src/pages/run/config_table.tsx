import { useMemo, useState } from 'preact/hooks';
import { loadRun, searchRuns } from '../../api/runs';
import type { Run } from '../../api/types';
import { flatten, plain } from '../../lib/flatten';
import { useResource } from '../../lib/resource';
import { route, setQuery } from '../../lib/router';

export interface ConfigRow {
  key: string;
  own: string | undefined;
  other: string | undefined;
}

export function configRows(run: Run, other: Run | undefined): ConfigRow[] {
  const own = flatten(run.config);
  const theirs = other ? flatten(other.config) : {};
  const text = (value: unknown) => (value === undefined ? undefined : String(value));
  return [...new Set([...Object.keys(own), ...Object.keys(theirs)])].sort().map((key) => ({
    key,
    own: text(key in own ? (plain(own[key]) ?? 'null') : undefined),
    other: text(key in theirs ? (plain(theirs[key]) ?? 'null') : undefined),
  }));
}

const RECENT = 200;

/** The config with a box to search it, beside that of another run when one is chosen. */
export function ConfigTable({ run }: { run: Run }) {
  const otherId = route.value.query.get('with') ?? '';
  const [find, setFind] = useState('');
  const [onlyDifferent, setOnlyDifferent] = useState(true);
  const others = useResource(run.project, (signal) =>
    searchRuns({ project: run.project, order: ['-created'], limit: RECENT, fields: [] }, signal),
  );
  const other = useResource(otherId, (signal) =>
    loadRun({ project: run.project, id: otherId }, signal),
  );
  const otherRun = otherId ? other.data : undefined;
  const rows = useMemo(() => configRows(run, otherRun), [run, otherRun]);
  const word = find.toLowerCase();
  const shown = rows.filter(
    (row) =>
      (!otherRun || !onlyDifferent || row.own !== row.other) &&
      `${row.key} ${row.own ?? ''} ${row.other ?? ''}`.toLowerCase().includes(word),
  );
  return (
    <>
      <div class="row wrap">
        <h2>Config</h2>
        <input
          class="field push"
          type="search"
          placeholder="Keys and values"
          aria-label="Search the config"
          value={find}
          onInput={(event) => setFind(event.currentTarget.value)}
        />
        <select
          class="field"
          aria-label="Compare with another run"
          style={{ maxWidth: 200 }}
          value={otherId}
          onChange={(event) => setQuery({ with: event.currentTarget.value })}
        >
          <option value="">compare with...</option>
          {others.data?.runs
            .filter((r) => r.id !== run.id)
            .map((r) => (
              <option key={r.id} value={r.id}>
                {r.name || r.id}
              </option>
            ))}
        </select>
      </div>
      {otherRun && (
        <label class="pair">
          <input
            type="checkbox"
            checked={onlyDifferent}
            onChange={() => setOnlyDifferent(!onlyDifferent)}
          />
          only what differs ({rows.filter((row) => row.own !== row.other).length} of {rows.length})
        </label>
      )}
      <table class="plain-table config">
        {otherRun && (
          <thead>
            <tr>
              <th>key</th>
              <th>{run.name}</th>
              <th>{otherRun.name}</th>
            </tr>
          </thead>
        )}
        <tbody>
          {shown.map((row) => (
            <tr key={row.key} class={otherRun && row.own !== row.other ? 'differs' : ''}>
              <td class="muted">{row.key}</td>
              <td class="mono">{row.own ?? <span class="faint">not there</span>}</td>
              {otherRun && (
                <td class="mono">{row.other ?? <span class="faint">not there</span>}</td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p class="faint">This run came without a config.</p>}
      {otherRun && shown.length === 0 && <p class="faint">The two configs are the same.</p>}
    </>
  );
}
