import { useMemo, useState } from 'preact/hooks';
import type { Run } from '../../api/types';
import { flatten, plain } from '../../lib/flatten';
import { formatNumber, fromWire } from '../../lib/numbers';
import { linkTo } from '../../lib/router';
import { RunMark } from '../../ui/run_mark';

const MAX_RUNS = 40;

/** Keys down, runs across: what is different between many runs. */
export function ConfigDiff({ runs }: { runs: Run[] }) {
  const [onlyDifferent, setOnlyDifferent] = useState(true);
  const shown = runs.slice(0, MAX_RUNS);
  const rows = useMemo(() => diffRows(shown), [runs]);
  const differing = rows.filter((row) => row.differs);
  return (
    <>
      <div class="row">
        <label class="pair">
          <input
            type="checkbox"
            checked={onlyDifferent}
            onChange={() => setOnlyDifferent(!onlyDifferent)}
          />
          only what differs ({differing.length} of {rows.length})
        </label>
        {runs.length > MAX_RUNS && (
          <span class="faint">
            the first {MAX_RUNS} of {runs.length} runs
          </span>
        )}
      </div>
      <div style={{ overflow: 'auto' }}>
        <table class="plain-table wide">
          <thead>
            <tr>
              <th>key</th>
              {shown.map((run) => (
                <th key={run.id}>
                  <RunMark id={run.id} />
                  <a href={linkTo(['p', run.project, 'run', run.id])}>{run.name || run.id}</a>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {(onlyDifferent ? differing : rows).map((row) => (
              <tr key={row.key}>
                <td class="muted">{row.key}</td>
                {row.values.map((value, i) => (
                  <td
                    key={i}
                    class={`mono ${row.most !== null && value !== row.most ? 'odd' : ''}`}
                  >
                    {value ?? <span class="faint">-</span>}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

interface DiffRow {
  key: string;
  values: (string | undefined)[];
  differs: boolean;
  most: string | undefined | null; // what more than half of the runs have; null: nothing is
}

export function diffRows(runs: readonly Run[]): DiffRow[] {
  const configs = runs.map((run) => flatten(run.config));
  const keys = [...new Set(configs.flatMap((c) => Object.keys(c)))].sort();
  const config = keys.map((key) =>
    diffRow(
      key,
      configs.map((c) => (key in c ? String(plain(c[key])) : undefined)),
    ),
  );
  const metrics = [...new Set(runs.flatMap((run) => Object.keys(run.summary)))].sort();
  const summary = metrics.map((key) =>
    diffRow(
      key,
      runs.map((run) => run.summary[key] && formatNumber(fromWire(run.summary[key].last))),
    ),
  );
  return [...config, ...summary];
}

function diffRow(key: string, values: (string | undefined)[]): DiffRow {
  const counts = new Map<string | undefined, number>();
  values.forEach((value) => counts.set(value, (counts.get(value) ?? 0) + 1));
  const [most, count] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [undefined, 0];
  const isUsual = count > values.length / 2;
  return { key, values, differs: counts.size > 1, most: isUsual ? most : null };
}
