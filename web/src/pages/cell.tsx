import type { ComponentChildren } from 'preact';
import { durationOf } from '../lib/flatten';
import type { Cell } from '../lib/flatten';
import type { GroupFacts } from '../api/groups';
import type { Run } from '../api/types';
import { now } from '../lib/clock';
import { cellOf } from '../lib/flatten';
import { quoteField } from '../lib/groups';
import { formatAgo, formatDate, formatDuration, formatNumber } from '../lib/numbers';
import { StateMark } from '../ui/state_mark';
import { groupCell } from './run_rows';

export function formatCell(value: Cell, column: string): string {
  if (value === undefined || value === null) return '';
  if (column === 'created' && typeof value === 'number') return formatAgo(value, now.value);
  if (column === 'duration' && typeof value === 'number') return formatDuration(value);
  return typeof value === 'number' ? formatNumber(value) : String(value);
}

/**
 * What a run shows in a column. A function and no component: scrolling fills a hundred of these
 * in a frame, and only those that tell the time have to be drawn again by themselves.
 */
export function runCell(run: Run, column: string): ComponentChildren {
  if (column === 'state') return <StateMark state={run.state} word />;
  if (column === 'tags') {
    return (
      <span class="tags">
        {run.tags.map((tag) => (
          <span key={tag} class="tag">
            {tag}
          </span>
        ))}
      </span>
    );
  }
  if (column === 'created') return <Age run={run} />;
  if (column === 'duration' && run.state === 'running') return <Elapsed run={run} />;
  return formatCell(cellOf(run, column), column);
}

function Age({ run }: { run: Run }) {
  return <span title={formatDate(run.created_us)}>{formatAgo(run.created_us, now.value)}</span>;
}

function Elapsed({ run }: { run: Run }) {
  const seconds = now.value / 1000 - run.created_us / 1e6;
  return <>{formatDuration(Math.max(durationOf(run) ?? 0, seconds))}</>;
}

export function GroupCellView({ facts, column }: { facts: GroupFacts; column: string }) {
  if (column === 'state') return <StateCounts states={facts.states} />;
  const cell = groupCell(facts.fields[quoteField(column)], facts.runs);
  switch (cell.kind) {
    case 'none':
      return null;
    case 'same':
      return <>{formatCell(cell.value, column)}</>;
    case 'numbers':
      return (
        <span title={`mean and standard deviation of ${cell.count.toLocaleString('en')} runs`}>
          {formatCell(cell.mean, column)}
          {cell.count > 1 && (
            <span class="faint"> &plusmn;{formatCell(round2(cell.std), column)}</span>
          )}
          {cell.count < facts.runs && (
            <span class="faint"> n = {cell.count.toLocaleString('en')}</span>
          )}
        </span>
      );
    case 'various':
      return <span class="faint">{cell.count} values</span>;
  }
}

function round2(value: number): number {
  return Number(value.toPrecision(2));
}

function StateCounts({ states }: { states: GroupFacts['states'] }) {
  return (
    <span class="tags">
      {Object.entries(states).map(([state, count]) => (
        <span key={state} class="row" style={{ gap: 3 }}>
          <StateMark state={state} />
          {count}
        </span>
      ))}
    </span>
  );
}
