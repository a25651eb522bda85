import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Run } from '../api/types';
import { numericOf } from '../lib/columns';
import { quoteField } from '../lib/groups';
import type { View } from '../lib/view';
import { useWindow } from '../ui/virtual_list';
import { layoutOf, NAME } from './column_widths';
import { HeadCell } from './head_cell';
import type { Row } from './run_rows';
import { GroupLine, NoteLine, RunLine } from './table_lines';
import type { LineActions } from './table_lines';
import type { SetView } from './use_view';

interface Props {
  rows: Row[];
  view: View;
  setView: SetView;
  cursor: number;
  colours: ReadonlyMap<string, string>; // by run id or group: those that are plotted
  actions: LineActions;
  onShow: (first: number, last: number) => void; // these rows are in view
}

const ROW = 26;

/** Ten thousand rows, of which only those in view are drawn. */
export function RunsTable(props: Props) {
  const { rows, view, setView, cursor, colours, actions, onShow } = props;
  const box = useRef<HTMLDivElement>(null);
  const { first, last, pool } = useWindow(box, ROW, rows.length, ROW);
  useEffect(() => onShow(first, last), [first, last]);
  // A row that comes takes the element of one that goes, and no element changes its place among
  // the others: scrolling writes texts and moves no nodes.
  const places = Array.from({ length: last - first }, (_, i) => first + i).sort(
    (a, b) => (a % pool) - (b % pool),
  );
  const { columns } = view;
  // The address is written when the drag ends: browsers refuse to have it changed at every move.
  const [dragged, setDragged] = useState<Record<string, number> | null>(null);
  const all = [NAME, ...columns];
  const layout = layoutOf(all, dragged ?? view.widths, view.group !== '');
  const numbers = useMemo(
    () => new Set([...numericOf(columns, runsOf(rows)), ...numericGroups(columns, rows)]),
    [columns, rows],
  );
  const stable = useStableActions(actions);
  useKeepInView(box, cursor);
  useAside(box);
  const onWidth = (column: string, width: number, isDone: boolean) => {
    const others = Object.entries(view.widths).filter(([name]) => name !== column);
    const widths = Object.fromEntries(width > 0 ? [...others, [column, width]] : others);
    setDragged(isDone ? null : widths);
    if (isDone) setView({ widths });
  };
  return (
    <div ref={box} class="runs" role="grid" aria-label="Runs" aria-rowcount={rows.length}>
      <div style={{ minWidth: layout.least, '--columns': layout.template }}>
        <div class="line head" role="row">
          {all.map((column) => (
            <HeadCell
              key={column}
              column={column}
              isNumber={numbers.has(column)}
              order={view.order}
              onOrder={() => setView({ order: view.order === column ? `-${column}` : column })}
              onWidth={onWidth}
            />
          ))}
        </div>
        <div class="strip" style={{ height: rows.length * ROW }}>
          {places.map((at) => {
            const row = rows[at];
            if (!row) return null;
            const shared = {
              columns,
              numbers,
              actions: stable,
              top: at * ROW,
              number: at + 1,
              isAtCursor: at === cursor,
            };
            if (row.kind === 'note') {
              return <NoteLine key={at % pool} text={row.text} top={at * ROW} number={at + 1} />;
            }
            return row.kind === 'group' ? (
              <GroupLine key={at % pool} row={row} colour={colours.get(row.name)} {...shared} />
            ) : (
              <RunLine key={at % pool} row={row} colour={colours.get(row.run.id)} {...shared} />
            );
          })}
        </div>
      </div>
    </div>
  );
}

function runsOf(rows: readonly Row[]): Run[] {
  return rows.slice(0, 200).flatMap((row) => (row.kind === 'run' ? row.run : []));
}

/** Columns that groups have a mean of. */
function numericGroups(columns: readonly string[], rows: readonly Row[]): string[] {
  const groups = rows.slice(0, 200).flatMap((row) => (row.kind === 'group' ? row.facts : []));
  return columns.filter((column) => groups.some((g) => g.fields[quoteField(column)]?.count));
}

/** The same functions for as long as the table lives: a line is drawn again only for its data. */
function useStableActions(actions: LineActions): LineActions {
  const current = useRef(actions);
  current.current = actions;
  return useMemo(
    () => ({
      plot: (ids) => current.current.plot(ids),
      plotGroup: (name) => current.current.plotGroup(name),
      open: (group) => current.current.open(group),
      menu: (run, at) => current.current.menu(run, at),
    }),
    [],
  );
}

/** Says in a class that the table is scrolled sideways, and the names have to stay. */
function useAside(box: { current: HTMLElement | null }): void {
  useEffect(() => {
    const element = box.current;
    const note = () => element?.classList.toggle('aside', element.scrollLeft > 0);
    element?.addEventListener('scroll', note, { passive: true });
    return () => element?.removeEventListener('scroll', note);
  }, []);
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
