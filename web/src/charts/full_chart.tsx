import { useRef } from 'preact/hooks';
import { lineKey } from '../api/series';
import { useKeys } from '../lib/keys';
import type { View } from '../lib/view';
import { ChartToolbar } from './chart_toolbar';
import type { PlotRun } from './drawing';
import { useSize } from './element_size';
import { litRun } from './hover';
import { MetricChart } from './metric_chart';
import type { SummedRuns } from './use_drawing';

interface Props {
  metric: string;
  metrics: string[];
  runs: PlotRun[];
  summed?: SummedRuns | undefined;
  kind: 'metric' | 'system';
  view: View;
  turn: number;
  onView: (patch: Partial<View>, push?: boolean) => void;
}

const CAPTION = 34;

/** One chart over the whole page, with the names of its runs beside it. */
export function FullChart(props: Props) {
  const { metric, metrics, runs, summed, view, onView } = props;
  const stage = useRef<HTMLDivElement>(null);
  const { height } = useSize(stage);
  const step = (by: number) => {
    const next = metrics[metrics.indexOf(metric) + by];
    if (next) onView({ full: next });
  };
  useKeys([
    { keys: 'Escape', does: 'close the large chart', run: () => onView({ full: '' }) },
    { keys: 'ArrowRight', does: 'next chart', run: () => step(1) },
    { keys: 'ArrowLeft', does: 'chart before', run: () => step(-1) },
  ]);
  return (
    <div class="full-sheet" role="dialog" aria-label={`Large chart of ${metric}`}>
      <ChartToolbar view={view} metrics={metrics} onView={onView} isFull />
      <div class="full-body">
        <div ref={stage} class="stage">
          {height > 0 && (
            <MetricChart {...props} title={metric} height={height - CAPTION} isFull key={metric} />
          )}
        </div>
        <ul class="full-names" aria-label="Runs in this chart">
          {namesOf(runs, summed).map(({ id, name, colour }) => (
            <li
              key={id}
              class={litRun.value === id ? 'lit' : ''}
              onMouseEnter={() => (litRun.value = id)}
              onMouseLeave={() => (litRun.value = '')}
            >
              <i style={{ background: colour }} />
              <span class="clip">{name}</span>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

function namesOf(runs: PlotRun[], summed: SummedRuns | undefined) {
  return summed
    ? summed.groups.map(({ name, runs: n, colour }) => ({
        id: name,
        name: `${name} (n = ${n.toLocaleString('en')})`,
        colour,
      }))
    : runs.map((run) => ({ id: lineKey(run), name: run.name, colour: run.colour }));
}
