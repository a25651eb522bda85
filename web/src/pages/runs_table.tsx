import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { View } from '../lib/view';
import { Strip, useWindow } from '../ui/virtual_list';
import { columnTitle, isNumeric } from './cell';
import type { Row } from './run_rows';
import { GroupLine, RunLine } from './table_lines';
import type { LineActions } from './table_lines';

interface Props {
  rows: Row[];
  view: View;
  cursor: number;
  colours: ReadonlyMap<string, string>; // by run id: those that are plotted
  now: number;
  actions: LineActions;
  onOrder: (column: string) => void;
}

export const ROW = 26;
const NAME_WIDTH = 250;
const POOL = 128; // more than the rows in view
const NARROW_NAME = 170;

const WIDTHS: Record<string, number> = {
  state: 96,
  created: 88,
  duration: 84,
  last_step: 78,
  tags: 150,
  notes: 220,
  user: 84,
  host: 110,
};

function widthOf(column: string, isGrouped: boolean): number {
  const least = isGrouped ? 132 : 86;
  return WIDTHS[column] ?? Math.max(least, Math.min(190, columnTitle(column).length * 7 + 26));
}

/** Ten thousand rows, of which only those in view are drawn. */
export function RunsTable({ rows, view, cursor, colours, now, actions, onOrder }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const { first, last, top } = useWindow(box, ROW, rows.length, ROW);
  const columns = view.columns;
  const isGrouped = view.group !== '';
  const nameWidth = innerWidth < 760 ? NARROW_NAME : NAME_WIDTH;
  const widths = columns.map((column) => widthOf(column, isGrouped));
  const rest = widths.map((w) => `minmax(${w}px, 1fr)`).join(' ');
  const template = `minmax(${nameWidth}px, 1.6fr) ${rest}`;
  const minWidth = nameWidth + widths.reduce((sum, w) => sum + w, 0);
  useKeepInView(box, cursor);
  const layout = useMemo(() => ({ gridTemplateColumns: template }), [template]);
  return (
    <div ref={box} class="runs" role="grid" aria-label="Runs" aria-rowcount={rows.length}>
      <div style={{ minWidth }}>
        <div class="line head" role="row" style={layout}>
          {['name', ...columns].map((column) => (
            <HeadCell key={column} column={column} order={view.order} onOrder={onOrder} />
          ))}
        </div>
        <Strip height={rows.length * ROW} top={top}>
          {rows.slice(first, last).map((row, i) => {
            // Keys go round, so that scrolling fills the same elements anew.
            const key = (first + i) % POOL;
            const shared = { columns, layout, now, actions, isAtCursor: first + i === cursor };
            return row.kind === 'group' ? (
              <GroupLine
                key={key}
                row={row}
                colour={colours.get(row.runs[0]?.id ?? '')}
                {...shared}
              />
            ) : (
              <RunLine key={key} row={row} colour={colours.get(row.run.id)} {...shared} />
            );
          })}
        </Strip>
      </div>
    </div>
  );
}

function useKeepInView(box: { current: HTMLElement | null }, cursor: number): void {
  useEffect(() => {
    const element = box.current;
    if (!element || cursor < 0) return;
    const top = cursor * ROW;
    if (top < element.scrollTop) element.scrollTop = top;
    const room = element.clientHeight - 2 * ROW;
    if (top > element.scrollTop + room) element.scrollTop = top - room;
  }, [cursor]);
}

interface HeadProps {
  column: string;
  order: string;
  onOrder: (column: string) => void;
}

function HeadCell({ column, order, onOrder }: HeadProps) {
  const isSorted = order.replace(/^-/, '') === column;
  const isFalling = order.startsWith('-');
  const sort = isSorted ? (isFalling ? 'descending' : 'ascending') : 'none';
  return (
    <div class="cell" role="columnheader" aria-sort={sort}>
      <button
        type="button"
        class={isNumeric(column) && column !== 'name' ? 'num' : ''}
        title={`${column}: sort`}
        onClick={() => onOrder(column)}
      >
        <span class="clip">{columnTitle(column)}</span>
        {isSorted && <span aria-hidden="true">{isFalling ? '\u2193' : '\u2191'}</span>}
      </button>
    </div>
  );
}
