import { useMemo } from 'preact/hooks';
import type { MetricFacts, Run } from '../../api/types';
import { ChartPane } from '../../charts/chart_pane';
import { ChartToolbar } from '../../charts/chart_toolbar';
import { assignColours, colourAt } from '../../lib/colours';
import { useKeys } from '../../lib/keys';
import { isDark } from '../../lib/theme';
import { useView } from '../use_view';

interface Props {
  run: Run;
  metrics: MetricFacts[];
  kind: 'metric' | 'system';
  turn: number;
}

export function RunCharts({ run, metrics, kind, turn }: Props) {
  const [view, setView] = useView();
  const own = useMemo(
    () => metrics.filter((m) => m.kind === kind).map((m) => m.key),
    [metrics, kind],
  );
  const dark = isDark.value;
  const runs = useMemo(() => {
    const slot = assignColours([run.id]).get(run.id) ?? 0;
    const { project, id, name } = run;
    return [{ project, id, name: name || id, colour: colourAt(slot, dark), group: '' }];
  }, [run.project, run.id, run.name, dark]);
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
      <ChartToolbar view={shown} metrics={kind === 'metric' ? own : []} onView={setView} />
      <div class="under">
        <ChartPane {...{ runs, metrics: own, kind, view: shown, turn, onView: setView }} />
      </div>
    </div>
  );
}
