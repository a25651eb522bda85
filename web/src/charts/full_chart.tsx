import { useRef } from 'preact/hooks';
import { lineKey } from '../api/series';
import { useKeys } from '../lib/keys';
import type { View } from '../lib/view';
import { ChartToolbar } from './chart_toolbar';
import type { PlotRun } from './drawing';
import { useSize } from './element_size';
import { litRun } from './hover';
import { MetricChart } from './metric_chart';

interface Props {
  metric: string;
  metrics: string[];
  runs: PlotRun[];
  kind: 'metric' | 'system';
  view: View;
  turn: number;
  onView: (patch: Partial<View>, push?: boolean) => void;
}

const CAPTION = 34;

/** One chart over the whole page, with the names of its runs beside it. */
export function FullChart(props: Props) {
  const { metric, metrics, runs, view, onView } = props;
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
          {runs.map((run) => (
            <li
              key={lineKey(run)}
              class={litRun.value === lineKey(run) ? 'lit' : ''}
              onMouseEnter={() => (litRun.value = (view.group && run.group) || lineKey(run))}
              onMouseLeave={() => (litRun.value = '')}
            >
              <i style={{ background: run.colour }} />
              <span class="clip">{run.name}</span>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
