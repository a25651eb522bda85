import { useState } from 'preact/hooks';
import { loadMetrics, loadRun, restoreRun } from '../../api/runs';
import type { Run } from '../../api/types';
import { attempt } from '../../lib/attempt';
import { now } from '../../lib/clock';
import { durationOf } from '../../lib/flatten';
import { useLive } from '../../lib/live';
import { formatAgo, formatDuration } from '../../lib/numbers';
import { useResource } from '../../lib/resource';
import { linkTo } from '../../lib/router';
import { mayWrite } from '../../lib/session';
import { Button } from '../../ui/button';
import { ErrorNote } from '../../ui/error_note';
import { StateMark } from '../../ui/state_mark';
import { Tabs } from '../../ui/tabs';
import { Attempts } from './attempts';
import { ConsoleView } from './console_view';
import { Files } from './files';
import { Media } from './media';
import { Overview } from './overview';
import { RunCharts } from './run_charts';

const TABS = ['overview', 'charts', 'system', 'console', 'media', 'files', 'attempts'];

interface Props {
  project: string;
  id: string;
  tab: string;
}

export function RunPage({ project, id, tab }: Props) {
  const ref = { project, id };
  const run = useResource(`${project}/${id}`, (signal) => loadRun(ref, signal));
  const metrics = useResource(`${project}/${id}`, (signal) => loadMetrics(ref, signal));
  const [turn, setTurn] = useState(0);
  useLive(
    project,
    () => {
      run.reload();
      metrics.reload();
      setTurn((n) => n + 1);
    },
    id,
  );
  if (run.error && !run.data) return <ErrorNote error={run.error} onRetry={run.reload} />;
  if (!run.data) return null;
  const href = (name: string) =>
    linkTo(['p', project, 'run', id, ...(name === 'overview' ? [] : [name])]);
  return (
    <div class="run-page">
      <div>
        <RunHead run={run.data} />
        {Boolean(run.data.deleted_us) && (
          <div class="banner note" role="status">
            This run is in the <a href={linkTo(['p', project, 'trash'])}>trash</a>
            {mayWrite.value && (
              <>
                {'. '}
                <Button onClick={() => void attempt(() => restoreRun(ref)).then(run.reload)}>
                  Restore
                </Button>
              </>
            )}
          </div>
        )}
      </div>
      <Tabs
        label="Parts of the run"
        current={tab}
        tabs={TABS.map((name) => ({ name, href: href(name) }))}
      />
      <div class="run-body">
        {tab === 'overview' && <Overview run={run.data} onChanged={run.reload} />}
        {(tab === 'charts' || tab === 'system') && (
          <RunCharts
            run={run.data}
            metrics={metrics.data ?? []}
            kind={tab === 'system' ? 'system' : 'metric'}
            turn={turn}
          />
        )}
        {tab === 'console' && <ConsoleView run={run.data} turn={turn} />}
        {tab === 'media' && <Media run={run.data} turn={turn} />}
        {tab === 'files' && <Files run={run.data} />}
        {tab === 'attempts' && <Attempts run={run.data} turn={turn} />}
      </div>
    </div>
  );
}

function RunHead({ run }: { run: Run }) {
  const seconds =
    run.state === 'running' ? now.value / 1000 - run.created_us / 1e6 : (durationOf(run) ?? 0);
  return (
    <div class="run-head">
      <h1 class="clip">{run.name || run.id}</h1>
      <StateMark state={run.state} word />
      <span class="muted">
        step {run.last_step ?? 0}, {formatDuration(seconds)}, started{' '}
        {formatAgo(run.created_us, now.value)}
      </span>
      <span class="faint mono push clip">{run.id}</span>
    </div>
  );
}
