import { useEffect, useState } from 'preact/hooks';
import { useKeys } from '../lib/keys';
import { go } from '../lib/router';
import type { View } from '../lib/view';
import { NONE } from './plot_choice';
import type { Row } from './run_rows';
import type { SetView } from './use_view';

interface Scene {
  rows: Row[];
  view: View;
  setView: SetView;
  plot: (ids: string[]) => void;
  plotGroup: (name: string) => void;
  fold: (group: string) => void;
}

const PAGE = 15;

/** The keys of the runs table; returns the row the cursor is on (-1: none yet). */
export function useTableKeys({ rows, view, setView, plot, plotGroup, fold }: Scene): number {
  const [cursor, setCursor] = useState(-1);
  useEffect(() => {
    if (cursor >= rows.length) setCursor(rows.length - 1);
  }, [rows.length]);
  const move = (by: number) => setCursor(Math.max(0, Math.min(rows.length - 1, cursor + by)));
  const row = rows[cursor];
  const open = () => {
    if (row?.kind === 'run') go(['p', row.run.project, 'run', row.run.id]);
    if (row?.kind === 'group') fold(row.name);
  };
  const focus = (id: string) => document.getElementById(id)?.focus();
  const nextLayout = { split: 'table', table: 'charts', charts: 'split' } as const;
  useKeys([
    { keys: 'j', does: 'next row', run: () => move(1) },
    { keys: 'k', does: 'row before', run: () => move(-1) },
    { keys: 'J', does: 'a page down', run: () => move(PAGE) },
    { keys: 'K', does: 'a page up', run: () => move(-PAGE) },
    {
      keys: 'x',
      does: 'plot the row, or take it out',
      run: () => {
        if (row?.kind === 'run') plot([row.run.id]);
        if (row?.kind === 'group') plotGroup(row.name);
      },
    },
    {
      keys: 'X',
      does: 'plot none',
      run: () => setView(view.group ? { groups: [NONE] } : { selected: [NONE] }),
    },
    { keys: 'Enter', does: 'open the run', run: open },
    { keys: '/', does: 'filter runs', run: () => focus('filter') },
    { keys: 'e', does: 'find charts', run: () => focus('find-charts') },
    {
      keys: 'v',
      does: 'table, charts or both',
      run: () => setView({ layout: nextLayout[view.layout] }),
    },
    { keys: 'z', does: 'show all of the x axis', run: () => setView({ range: null }, true) },
    { keys: 'y', does: 'logarithmic y', run: () => setView({ logY: !view.logY }) },
  ]);
  return cursor;
}
