import { useMemo, useState } from 'preact/hooks';
import { loadFields } from '../api/fields';
import { loadRuns } from '../api/runs';
import type { Run } from '../api/types';
import { ChartPane } from '../charts/chart_pane';
import { ChartToolbar } from '../charts/chart_toolbar';
import { useResource } from '../lib/resource';
import { isDark } from '../lib/theme';
import type { Layout } from '../lib/view';
import { Button } from '../ui/button';
import { ErrorNote } from '../ui/error_note';
import { Icon } from '../ui/icon';
import type { IconName } from '../ui/icon';
import { Splitter } from '../ui/splitter';
import { FilterBar } from './filter_bar';
import { curveNames, plotRuns, togglePlotted } from './plot_choice';
import { RunMenu } from './run_menu';
import { rowsOf, withPinned } from './run_rows';
import { RunsTable } from './runs_table';
import { TableToolbar } from './table_toolbar';
import { usePinned } from './use_pinned';
import { shownColumns, useRuns } from './use_runs';
import { useView } from './use_view';
import { ViewsMenu } from './views_menu';
import { NoMatch, NoRuns } from './workspace_empty';
import { useTableKeys } from './workspace_keys';

const LAYOUTS: { layout: Layout; icon: IconName; label: string }[] = [
  { layout: 'table', icon: 'table', label: 'Only the table' },
  { layout: 'split', icon: 'split', label: 'Table and charts' },
  { layout: 'charts', icon: 'chart', label: 'Only the charts' },
];
const STORED_WIDTH = 'kedge.table-width';

/** A project: its runs as a table, and the curves of the chosen ones beside it. */
export function Workspace({ project }: { project: string }) {
  const [chosen, setView] = useView();
  const fields = useResource(project, (signal) => loadFields(project, signal));
  const view = useMemo(
    () => ({ ...chosen, columns: shownColumns(chosen.columns, fields.data) }),
    [chosen, fields.data],
  );
  // The columns are chosen from the fields, and one search of ten thousand runs is enough.
  const loaded = useRuns(project, view, Boolean(fields.data ?? fields.error));
  const { runs } = loaded;
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [menu, setMenu] = useState<{ run: Run; at: HTMLElement } | null>(null);
  const [width, setWidth] = useState(Number(localStorage.getItem(STORED_WIDTH)) || 560);
  const dark = isDark.value;

  const pinned = usePinned(project, view.pinned, runs);
  const rows = useMemo(
    () => withPinned(pinned, rowsOf(runs, view.group, open)),
    [pinned, runs, view.group, open],
  );
  const plotted = useMemo(
    () => plotRuns([...new Set([...pinned, ...runs])], view, dark),
    [pinned, runs, view, dark],
  );
  const stable = useStable(plotted);
  const colours = useMemo(() => new Map(stable.map((run) => [run.id, run.colour])), [stable]);
  const ids = stable.map((run) => run.id);
  const metrics = usePlottedMetrics(project, ids, loaded.turn);
  const plot = (some: string[]) => setView({ selected: togglePlotted(ids, some) });
  const fold = (name: string) => setOpen(toggled(open, name));
  const cursor = useTableKeys({ rows, view, setView, plot, fold });

  if (
    loaded.error &&
    !loaded.isFirstLoad &&
    runs.length === 0 &&
    loaded.error.status !== 422 &&
    loaded.error.status !== 400
  ) {
    return <ErrorNote error={loaded.error} onRetry={loaded.reload} />;
  }
  const isBare = !loaded.isFirstLoad && runs.length === 0 && !view.filter && !loaded.error;
  const isFilteredOut = !loaded.isFirstLoad && rows.length === 0 && view.filter !== '';
  return (
    <div class="work">
      <div class="work-head">
        <FilterBar
          value={view.filter}
          fields={fields.data}
          error={loaded.error}
          warnings={loaded.warnings}
          onChange={(filter) => setView({ filter })}
        />
        <ViewsMenu project={project} page="runs" />
        <span class="joined">
          {LAYOUTS.map(({ layout, icon, label }) => (
            <Button
              key={layout}
              label={label}
              pressed={view.layout === layout}
              onClick={() => setView({ layout })}
            >
              <Icon name={icon} />
            </Button>
          ))}
        </span>
      </div>
      <div class={`panes ${view.layout}`}>
        {view.layout !== 'charts' && (
          <div class="pane list" style={view.layout === 'split' ? { width } : { flex: 1 }}>
            <TableToolbar
              {...{ view, setView, fields: fields.data }}
              count={runs.length}
              total={loaded.total}
              plotted={stable.length}
              isLoading={loaded.isFirstLoad}
            />
            {isBare && <NoRuns project={project} />}
            {isFilteredOut && <NoMatch onClear={() => setView({ filter: '' })} />}
            {!isBare && !isFilteredOut && (
              <RunsTable
                {...{ rows, view, setView, cursor, colours }}
                actions={{ plot, open: fold, menu: (run, at) => setMenu({ run, at }) }}
              />
            )}
          </div>
        )}
        {view.layout === 'split' && (
          <Splitter
            value={width}
            onChange={(value) => {
              setWidth(value);
              localStorage.setItem(STORED_WIDTH, String(value));
            }}
          />
        )}
        {view.layout !== 'table' && (
          <div class="pane charts">
            <ChartToolbar view={view} metrics={metrics} onView={setView} />
            <div class="under">
              {!loaded.isFirstLoad && rows.length > 0 && (
                <ChartPane
                  runs={stable}
                  metrics={metrics}
                  view={view}
                  turn={loaded.turn}
                  onView={setView}
                />
              )}
            </div>
          </div>
        )}
      </div>
      {menu && (
        <RunMenu
          run={menu.run}
          anchor={menu.at}
          isPinned={view.pinned.includes(menu.run.id)}
          onPin={() => setView({ pinned: toggleName(view.pinned, menu.run.id) })}
          onClose={() => setMenu(null)}
          onChanged={loaded.reload}
        />
      )}
    </div>
  );
}

function toggled(set: ReadonlySet<string>, name: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(name)) next.add(name);
  return next;
}

function toggleName(list: readonly string[], name: string): string[] {
  return list.includes(name) ? list.filter((n) => n !== name) : [...list, name];
}

/** The same array as before while it says the same, so that charts are not drawn again. */
function useStable<T>(value: T): T {
  const [kept, setKept] = useState(value);
  const isSame = JSON.stringify(kept) === JSON.stringify(value);
  if (!isSame) setKept(value);
  return isSame ? kept : value;
}

/** The names of all metrics that the plotted runs have. */
function usePlottedMetrics(project: string, ids: string[], turn: number): string[] {
  const key =
    ids.length > 0 ? JSON.stringify([project, ids, Math.min(turn, 1), Math.floor(turn / 5)]) : '';
  const full = useResource(key, (signal) => loadRuns(project, ids, signal));
  const names = useMemo(() => curveNames(full.data ?? []), [full.data]);
  return useStable(names);
}
