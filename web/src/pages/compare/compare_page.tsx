import { useMemo } from 'preact/hooks';
import { fieldsOf, loadFields } from '../../api/fields';
import type { Run } from '../../api/types';
import { useResource } from '../../lib/resource';
import { linkTo, route, setQuery } from '../../lib/router';
import { Button } from '../../ui/button';
import { Empty } from '../../ui/empty';
import { ErrorNote } from '../../ui/error_note';
import { FilterBar } from '../filter_bar';
import { searchView } from '../use_runs';
import { carriedQuery } from '../../lib/view';
import { useView } from '../use_view';
import { ViewsMenu } from '../views_menu';
import { Bars } from './bars';
import { ConfigDiff } from './config_diff';
import { Parallel } from './parallel';
import { Scatter } from './scatter';

const KINDS = ['parallel', 'scatter', 'bars', 'config'] as const;
const TITLES: Record<string, string> = {
  parallel: 'Parallel coordinates',
  scatter: 'Scatter',
  bars: 'Bars',
  config: 'Config and results',
};
const MAX_RUNS = 10000;

export interface CompareProps {
  runs: Run[];
  config: string[]; // columns of config that differ
  summary: string[]; // columns of metrics
}

/** Many runs at once, over anything they were told and anything they said. */
export function ComparePage({ project }: { project: string }) {
  const [view, setView] = useView();
  const kind = route.value.query.get('k') ?? 'parallel';
  const fields = useResource(project, (signal) => loadFields(project, signal));
  const key = JSON.stringify([project, view.filter, view.archived, view.order]);
  const found = useResource(key, (signal) =>
    searchView(view, { project, order: [view.order], limit: MAX_RUNS }, signal),
  );
  const chosen = view.selected;
  const runs = useMemo(() => {
    const all = found.data?.runs ?? [];
    return chosen.length > 0 ? all.filter((run) => chosen.includes(run.id)) : all;
  }, [found.data, chosen]);
  const columns = useMemo(() => {
    const { config, differing, summary } = fieldsOf(runs);
    return {
      config: config.slice(0, differing).map((key) => `config.${key}`),
      summary: summary.map((key) => `summary.${key}`),
    };
  }, [runs]);
  if (found.error && !found.data && found.error.status >= 500) {
    return <ErrorNote error={found.error} onRetry={found.reload} />;
  }
  return (
    <div class="work">
      <div class="work-head">
        <FilterBar
          value={view.filter}
          fields={fields.data}
          error={found.error}
          warnings={found.data?.warnings ?? []}
          onChange={(text) => setView({ filter: text })}
        />
        <ViewsMenu project={project} page="compare" />
      </div>
      <div class="pane charts">
        <div class="toolbar">
          <span class="joined">
            {KINDS.map((name) => (
              <Button key={name} pressed={kind === name} onClick={() => setQuery({ k: name })}>
                {TITLES[name]}
              </Button>
            ))}
          </span>
          <span class="muted">
            {runs.length} runs{chosen.length > 0 ? ', chosen in the table' : ''}
          </span>
          {chosen.length > 0 && (
            <Button kind="plain" onClick={() => setView({ selected: [] })}>
              all runs of the filter
            </Button>
          )}
          <a class="push" href={linkTo(['p', project, 'runs'], carriedQuery(route.value.query))}>
            their curves
          </a>
        </div>
        <div class="under compare">
          {found.data && runs.length === 0 && (
            <Empty title="No runs to compare">
              <p>The filter leaves none. Clear it, or choose runs in the table.</p>
            </Empty>
          )}
          {runs.length > 0 && kind === 'parallel' && <Parallel runs={runs} {...columns} />}
          {runs.length > 0 && kind === 'scatter' && <Scatter runs={runs} {...columns} />}
          {runs.length > 0 && kind === 'bars' && <Bars runs={runs} {...columns} />}
          {runs.length > 0 && kind === 'config' && <ConfigDiff runs={runs} />}
        </div>
      </div>
    </div>
  );
}
