import { useMemo } from 'preact/hooks';
import type { MetricFacts, Run } from '../../api/types';
import { ChartPane } from '../../charts/chart_pane';
import { ChartToolbar } from '../../charts/chart_toolbar';
import type { PlotRun } from '../../charts/drawing';
import { colourOf } from '../../lib/colours';
import { useKeys } from '../../lib/keys';
import { isDark } from '../../lib/theme';
import { useView } from '../use_view';
import { AttemptChoice, EACH } from './attempt_choice';

interface Props {
  run: Run;
  metrics: MetricFacts[];
  kind: 'metric' | 'system';
  turn: number;
}

/** The run as it counts, one attempt of it, or every attempt as a line of its own. */
function linesOf(run: Run, choice: string, isDark: boolean): PlotRun[] {
  const { project, id } = run;
  // The run's own colour, and others for its other attempts.
  const line = (by: number) => ({
    project,
    id,
    colour: colourOf(by > 0 ? `${id}@${by}` : id, isDark),
  });
  const name = run.name || id;
  if (choice === EACH) {
    return Array.from({ length: run.attempt ?? 1 }, (_, i) => ({
      ...line(i),
      attempt: i + 1,
      name: `attempt ${i + 1}`,
    }));
  }
  const attempt = Number(choice);
  return attempt > 0
    ? [{ ...line(0), attempt, name: `${name}, attempt ${attempt}` }]
    : [{ ...line(0), name }];
}

export function RunCharts({ run, metrics, kind, turn }: Props) {
  const [view, setView] = useView();
  const own = useMemo(
    () => metrics.filter((m) => m.kind === kind).map((m) => m.key),
    [metrics, kind],
  );
  const dark = isDark.value;
  const count = run.attempt ?? 1;
  const runs = useMemo(
    () => linesOf(run, view.attempt, dark),
    [run.project, run.id, run.name, count, view.attempt, dark],
  );
  // Samples of the machine have no step of their own.
  const shown = kind === 'system' && view.x === 'step' ? { ...view, x: 'relative' } : view;
  useKeys([
    {
      keys: 'e',
      does: 'find charts',
      run: () => document.getElementById('find-charts')?.focus(),
    },
    { keys: 'z', does: 'show all of the x axis', run: () => setView({ range: null }, true) },
  ]);
  return (
    <div class="pane charts" style={{ height: '100%' }}>
      <ChartToolbar view={shown} metrics={kind === 'metric' ? own : []} onView={setView}>
        {count > 1 && (
          <AttemptChoice
            count={count}
            value={view.attempt}
            onPick={(attempt) => setView({ attempt })}
          />
        )}
      </ChartToolbar>
      <div class="under">
        <ChartPane {...{ runs, metrics: own, kind, view: shown, turn, onView: setView }} />
      </div>
    </div>
  );
}
