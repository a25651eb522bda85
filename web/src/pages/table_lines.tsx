import { computed } from '@preact/signals';
import { memo } from 'preact/compat';
import { useMemo } from 'preact/hooks';
import type { Run } from '../api/types';
import { litRun } from '../charts/hover';
import { linkTo } from '../lib/router';
import { Icon } from '../ui/icon';
import { StateMark } from '../ui/state_mark';
import { GroupCellView, runCell } from './cell';
import type { GroupRow, RunRow } from './run_rows';

export interface LineActions {
  plot: (ids: string[]) => void; // into the charts, or out of them
  plotGroup: (name: string) => void;
  open: (group: string) => void;
  menu: (run: Run, at: HTMLElement) => void;
}

interface Shared {
  columns: string[];
  numbers: ReadonlySet<string>; // columns
  top: number; // of the line in the table
  number: number; // of the row, from 1
  colour: string | undefined; // of the lines in the charts; undefined: not plotted
  isAtCursor: boolean;
  actions: LineActions;
}

/** True while the line or group of this name is lit; the others are not drawn again for it. */
function useLit(name: string): boolean {
  return useMemo(() => computed(() => litRun.value === name), [name]).value;
}

function RunLineView({
  row,
  columns,
  numbers,
  number,
  top,
  colour,
  isAtCursor,
  actions,
}: Shared & { row: RunRow }) {
  const { run } = row;
  const isLit = useLit(run.id);
  return (
    <div
      class={`line ${isAtCursor ? 'at' : ''} ${isLit ? 'lit' : ''} ${row.isPinned ? 'pinned' : ''}`}
      role="row"
      aria-rowindex={number}
      aria-selected={isAtCursor}
      style={{ top }}
      onMouseEnter={() => colour && (litRun.value = run.id)}
      onMouseLeave={() => (litRun.value = '')}
      onContextMenu={(event) => {
        event.preventDefault();
        actions.menu(run, event.currentTarget);
      }}
    >
      <div class={`cell name ${row.isInGroup ? 'inner' : ''}`} role="rowheader">
        <PlotButton colour={colour} name={run.name} onClick={() => actions.plot([run.id])} />
        {!columns.includes('state') && <StateMark state={run.state} />}
        <a
          class="clip"
          href={linkTo(['p', run.project, 'run', run.id])}
          title={`${run.name} (${run.id})`}
        >
          {run.name || run.id}
        </a>
        {row.isPinned && (
          <span class="faint" title="Kept at the top">
            <Icon name="pin" size={12} />
          </span>
        )}
        <button
          type="button"
          class="more"
          aria-label={`More for ${run.name}`}
          onClick={(event) => actions.menu(run, event.currentTarget)}
        >
          &#8943;
        </button>
      </div>
      {columns.map((column) => (
        <div key={column} class={`cell clip ${numbers.has(column) ? 'num' : ''}`} role="gridcell">
          {runCell(run, column)}
        </div>
      ))}
    </div>
  );
}

export const RunLine = memo(RunLineView);

function GroupLineView({
  row,
  columns,
  numbers,
  number,
  top,
  colour,
  isAtCursor,
  actions,
}: Shared & { row: GroupRow }) {
  return (
    <div
      class={`line group ${isAtCursor ? 'at' : ''} ${useLit(row.name) ? 'lit' : ''}`}
      role="row"
      aria-rowindex={number}
      aria-selected={isAtCursor}
      style={{ top }}
      onMouseEnter={() => colour && (litRun.value = row.name)}
      onMouseLeave={() => (litRun.value = '')}
    >
      <div class="cell name" role="rowheader">
        <PlotButton colour={colour} name={row.name} onClick={() => actions.plotGroup(row.name)} />
        <button
          type="button"
          class={`fold ${row.isOpen ? 'open' : ''}`}
          aria-expanded={row.isOpen}
          onClick={() => actions.open(row.name)}
        >
          <Icon name="chevron" size={11} />
          <span class="clip">{row.name}</span>
          <span class="faint">{row.facts.runs.toLocaleString('en')}</span>
        </button>
      </div>
      {columns.map((column) => (
        <div key={column} class={`cell clip ${numbers.has(column) ? 'num' : ''}`} role="gridcell">
          <GroupCellView facts={row.facts} column={column} />
        </div>
      ))}
    </div>
  );
}

export const GroupLine = memo(GroupLineView);

/** A row that is on its way, or that says why there are no more. */
export function NoteLine({ text, top, number }: { text: string; top: number; number: number }) {
  return (
    <div class="line note" role="row" aria-rowindex={number} aria-busy={!text} style={{ top }}>
      <div class="cell name inner faint" role="rowheader">
        {text}
      </div>
    </div>
  );
}

interface PlotButtonProps {
  colour: string | undefined;
  name: string;
  onClick: () => void;
}

function PlotButton({ colour, name, onClick }: PlotButtonProps) {
  return (
    <button
      type="button"
      class="swatch"
      role="checkbox"
      aria-checked={colour !== undefined}
      aria-label={`Plot ${name}`}
      style={colour ? { '--line': colour } : {}}
      onClick={onClick}
    />
  );
}
