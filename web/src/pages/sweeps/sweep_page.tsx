import { useEffect, useMemo } from 'preact/hooks';
import { loadImportance, loadSweep, setSweepState } from '../../api/sweeps';
import type { Sweep, Trial } from '../../api/sweeps';
import { BestSoFar } from '../../charts/best_so_far';
import { ImportanceBars } from '../../charts/importance_bars';
import { attempt } from '../../lib/attempt';
import { makeAxis, passes, readBrushes } from '../../lib/axes';
import { useResource } from '../../lib/resource';
import { linkTo, route, setQuery } from '../../lib/router';
import { mayWrite } from '../../lib/session';
import { bestSoFar, trialsAsRuns } from '../../lib/trials';
import { Button } from '../../ui/button';
import { ErrorNote } from '../../ui/error_note';
import { Parallel } from '../compare/parallel';
import { Scatter } from '../compare/scatter';
import { NoResults } from './no_results';
import { TrialsTable } from './trials_table';

const LOOK_EVERY_MS = 4000;

/** One sweep: what was found when, what matters, and which values led there. */
export function SweepPage({ project, id }: { project: string; id: string }) {
  const found = useResource(`${project}/${id}`, (signal) => loadSweep(project, id, signal));
  const ended = found.data?.trials.filter((trial) => trial.result !== null).length ?? 0;
  const importance = useResource(ended > 3 ? `${project}/${id}/${ended}` : '', (signal) =>
    loadImportance(project, id, signal),
  );
  const isRunning = found.data?.sweep.state === 'running';
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(found.reload, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [isRunning, found.reload]);
  if (!found.data) {
    return found.error ? <ErrorNote error={found.error} onRetry={found.reload} /> : null;
  }
  const { sweep, trials } = found.data;
  return (
    <div class="scroll">
      <div class="leaf sweep">
        <Head sweep={sweep} onChange={found.reload} />
        {trials.some((trial) => trial.metric !== null) ? (
          <>
            <Progress sweep={sweep} trials={trials} />
            <h2>What matters</h2>
            {importance.data ? (
              <ImportanceBars report={importance.data} />
            ) : (
              <p class="faint">{importance.error?.message ?? 'Known after a few trials.'}</p>
            )}
            <Plots sweep={sweep} trials={trials} />
          </>
        ) : (
          <NoResults sweep={sweep} trials={trials} />
        )}
      </div>
    </div>
  );
}

function Head({ sweep, onChange }: { sweep: Sweep; onChange: () => void }) {
  const { project, id, state } = sweep;
  const isOpen = state === 'running' || state === 'paused';
  const change = (next: string) => () =>
    void attempt(() => setSweepState(project, id, next)).then(onChange);
  return (
    <>
      <h1>{sweep.name || `Sweep ${id}`}</h1>
      <div class="row wrap">
        <span class="muted" role="status">
          {sweep.method}, {state}; {sweep.trials}
          {sweep.expected_runs !== null && ` of ${sweep.expected_runs}`} trials; {sweep.metric.goal}{' '}
          {sweep.metric.name}
          {sweep.reason && `; ${sweep.reason}`}
        </span>
        {isOpen && mayWrite.value && (
          <>
            {state === 'running' ? (
              <Button onClick={change('paused')}>pause</Button>
            ) : (
              <Button onClick={change('running')}>go on</Button>
            )}
            <Button onClick={change('stopped')}>stop</Button>
            <Button onClick={change('cancelled')}>cancel</Button>
          </>
        )}
        <a class="push" href={linkTo(['p', project, 'sweeps'])}>
          all sweeps
        </a>
      </div>
    </>
  );
}

function Progress({ sweep, trials }: { sweep: Sweep; trials: readonly Trial[] }) {
  const steps = useMemo(() => bestSoFar(sweep, trials), [sweep, trials]);
  const x = route.value.query.get('over') === 'cost' ? 'cost' : 'time';
  if (steps.length === 0) return <p class="faint">No trial has ended yet.</p>;
  return (
    <>
      <div class="row">
        <h2>Best so far</h2>
        <Button pressed={x === 'time'} onClick={() => setQuery({ over: null })}>
          over time
        </Button>
        <Button pressed={x === 'cost'} onClick={() => setQuery({ over: 'cost' })}>
          over cost
        </Button>
      </div>
      <BestSoFar steps={steps} x={x} metric={sweep.metric.name} />
    </>
  );
}

function Plots({ sweep, trials }: { sweep: Sweep; trials: Trial[] }) {
  const runs = useMemo(() => trialsAsRuns(sweep, trials), [sweep, trials]);
  const config = useMemo(() => sweep.axes.map((axis) => `config.${axis.name}`), [sweep]);
  const summary = useMemo(() => [`summary.${sweep.metric.name}`], [sweep]);
  const brushes = readBrushes(route.value.query.get('br') ?? '');
  const axes = Object.keys(brushes).map((column) => makeAxis(runs, column));
  const inside = trials.filter((_, i) => {
    const run = runs[i];
    return run !== undefined && passes(run, axes, brushes);
  });
  const props = { runs, config, summary };
  return (
    <>
      <h2>Values and results</h2>
      <Parallel {...props} hasTable={false} axesMax={12} />
      <h2>Any two</h2>
      <Scatter {...props} />
      <h2>
        Trials <span class="faint">{inside.length}</span>
      </h2>
      <TrialsTable sweep={sweep} trials={inside} />
    </>
  );
}
