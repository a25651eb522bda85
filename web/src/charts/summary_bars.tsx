import type { Run } from '../api/types';
import { cellOf } from '../lib/flatten';
import { formatNumber } from '../lib/numbers';
import { linkTo } from '../lib/router';
import { RunMark } from '../ui/run_mark';
import { litRun } from './hover';

interface Props {
  runs: Run[];
  column: string;
  isFalling: boolean;
}

const MAX_BARS = 60;

/** One value of many runs side by side, longest bars first or last. */
export function SummaryBars({ runs, column, isFalling }: Props) {
  const rows = runs
    .map((run) => ({ run, value: cellOf(run, column) }))
    .filter((r): r is { run: Run; value: number } => Number.isFinite(r.value))
    .sort((a, b) => (isFalling ? b.value - a.value : a.value - b.value));
  const shown = rows.slice(0, MAX_BARS);
  const high = Math.max(0, ...shown.map((r) => r.value));
  const low = Math.min(0, ...shown.map((r) => r.value));
  const span = high - low || 1;
  return (
    <div class="bars" role="table" aria-label={column}>
      {shown.map(({ run, value }) => (
        <div
          key={run.id}
          class={`bar-row ${litRun.value === run.id ? 'lit' : ''}`}
          role="row"
          onMouseEnter={() => (litRun.value = run.id)}
          onMouseLeave={() => (litRun.value = '')}
        >
          <a class="clip" role="rowheader" href={linkTo(['p', run.project, 'run', run.id])}>
            <RunMark id={run.id} />
            {run.name || run.id}
          </a>
          <span class="bar">
            <i
              style={{
                left: `${((Math.min(value, 0) - low) / span) * 100}%`,
                width: `${(Math.abs(value) / span) * 100}%`,
              }}
            />
          </span>
          <span class="num" role="cell">
            {formatNumber(value)}
          </span>
        </div>
      ))}
      {rows.length > shown.length && (
        <p class="faint">{rows.length - shown.length} more runs are not shown.</p>
      )}
      {rows.length === 0 && <p class="faint">No run has a number there.</p>}
    </div>
  );
}
