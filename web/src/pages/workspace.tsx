import { useMemo, useState } from 'preact/hooks';
import { loadFields } from '../api/fields';
import type { Run } from '../api/types';
import { ChartPane } from '../charts/chart_pane';
import { ChartToolbar } from '../charts/chart_toolbar';
import { useResource } from '../lib/resource';
import type { Layout } from '../lib/view';
import { Button } from '../ui/button';
import { ErrorNote } from '../ui/error_note';
import { Icon } from '../ui/icon';
import type { IconName } from '../ui/icon';
import { Splitter } from '../ui/splitter';
import { FilterBar } from './filter_bar';
import { togglePlotted } from './plot_choice';
import { RunMenu } from './run_menu';
import { RunsTable } from './runs_table';
import { TableToolbar } from './table_toolbar';
import { usePlottedMetrics } from './use_plotted';
import { shownColumns } from './use_runs';
import { useScene } from './use_scene';
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
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [menu, setMenu] = useState<{ run: Run; at: HTMLElement } | null>(null);
  const [width, setWidth] = useState(Number(localStorage.getItem(STORED_WIDTH)) || 560);
  const scene = useScene(project, view, Boolean(fields.data ?? fields.error), open);
  const { rows, table, runs, groups, summed, colours } = scene;
  const metrics = usePlottedMetrics(project, view, summed ? undefined : scene.ids, scene.turn);
  const plot = (some: string[]) => {
    // Where groups are summed up, a chosen run leaves only chosen ones in them.
    const now = summed ? view.selected : scene.ids;
    setView({ selected: togglePlotted(now, some) });
  };
  const plotGroup = (name: string) =>
    setView({
      groups: togglePlotted(
        groups.map((group) => group.name),
        [name],
      ),
    });
  const fold = (name: string) => setOpen(toggled(open, name));
  const cursor = useTableKeys({ rows, view, setView, plot, plotGroup, fold });

  if (
    table.error &&
    !table.isFirstLoad &&
    rows.length === 0 &&
    table.error.status !== 422 &&
    table.error.status !== 400
  ) {
    return <ErrorNote error={table.error} onRetry={table.reload} />;
  }
  const isBare = !table.isFirstLoad && rows.length === 0 && !view.filter && !table.error;
  const isFilteredOut = !table.isFirstLoad && rows.length === 0 && view.filter !== '';
  return (
    <div class="work">
      <div class="work-head">
        <FilterBar
          value={view.filter}
          fields={fields.data}
          error={table.error}
          warnings={table.warnings}
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
              count={table.total}
              groups={scene.groupTotal}
              plotted={(summed?.groups ?? runs).length}
              isLoading={table.isFirstLoad}
            />
            {isBare && <NoRuns project={project} />}
            {isFilteredOut && <NoMatch onClear={() => setView({ filter: '' })} />}
            {!isBare && !isFilteredOut && (
              <RunsTable
                {...{ rows, view, setView, cursor, colours, onShow: scene.show }}
                actions={{
                  plot,
                  plotGroup,
                  open: fold,
                  menu: (run, at) => setMenu({ run, at }),
                }}
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
              {!table.isFirstLoad && rows.length > 0 && (
                <ChartPane
                  runs={runs}
                  summed={summed}
                  metrics={metrics}
                  view={view}
                  turn={scene.turn}
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
          onChanged={table.reload}
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
