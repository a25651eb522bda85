import { useMemo, useRef } from 'preact/hooks';
import type { View } from '../lib/view';
import { Empty } from '../ui/empty';
import { Icon } from '../ui/icon';
import type { PlotRun } from './drawing';
import { useSize } from './element_size';
import { FullChart } from './full_chart';
import { MetricChart } from './metric_chart';
import type { SummedRuns } from './use_drawing';
import { sectionOf, sectionsOf } from './sections';

interface Props {
  runs: PlotRun[];
  summed?: SummedRuns | undefined; // in place of runs
  metrics: string[];
  kind?: 'metric' | 'system';
  view: View;
  turn: number;
  onView: (patch: Partial<View>, push?: boolean) => void;
}

const MIN_WIDTH = 280;
const HEIGHT = 200;

/** One chart for each metric, in sections by prefix. */
export function ChartPane(props: Props) {
  const { runs, summed, metrics, kind = 'metric', view, turn, onView } = props;
  const sections = useMemo(() => sectionsOf(metrics, view.find), [metrics, view.find]);
  const pane = useRef<HTMLDivElement>(null);
  const { width } = useSize(pane);
  // The same columns in every section, and no more than the fullest of them has charts for.
  const most = Math.max(1, ...sections.map((section) => section.metrics.length));
  const fitting = Math.max(1, Math.min(most, Math.floor(width / MIN_WIDTH)));
  const hasLines = (summed?.groups ?? runs).length > 0;
  const shown = hasLines && width > 0 ? sections : [];
  const columns = `repeat(${view.perRow || fitting}, minmax(0, 1fr))`;
  const shared = { runs, summed, kind, view, turn, onView };
  return (
    <div ref={pane}>
      {shown.map((section) => {
        const isClosed = view.closed.includes(section.name || '-');
        return (
          <section key={section.name} class="section" aria-label={section.name || 'metrics'}>
            <button
              type="button"
              class={`section-head ${isClosed ? '' : 'open'}`}
              aria-expanded={!isClosed}
              onClick={() => onView({ closed: toggle(view.closed, section.name || '-') })}
            >
              <Icon name="chevron" size={12} />
              <h2>{section.name || 'metrics'}</h2>
              <span class="faint">{section.metrics.length}</span>
            </button>
            {!isClosed && (
              <div class="grid" style={{ gridTemplateColumns: columns }}>
                {section.metrics.map((metric) => (
                  <MetricChart
                    key={metric}
                    metric={metric}
                    title={sectionOf(metric) ? metric.slice(metric.indexOf('/') + 1) : metric}
                    height={HEIGHT}
                    {...shared}
                  />
                ))}
              </div>
            )}
          </section>
        );
      })}
      {!hasLines && <NoRun />}
      {hasLines && sections.length === 0 && <NoCharts find={view.find} />}
      {view.full && <FullChart metric={view.full} metrics={metrics} {...shared} />}
    </div>
  );
}

function NoRun() {
  return (
    <Empty title="No run chosen">
      <p>
        Choose runs in the table (a click on the mark at their left, or <kbd>x</kbd>) and their
        curves appear here.
      </p>
    </Empty>
  );
}

function NoCharts({ find }: { find: string }) {
  return find ? (
    <Empty title="No chart by that name">
      <p>
        Nothing matches <code>{find}</code>. Words are looked for anywhere in a name; between
        slashes it is a regular expression.
      </p>
    </Empty>
  ) : (
    <Empty title="No values yet">
      <p>The first logged value makes the first chart.</p>
    </Empty>
  );
}

function toggle(list: string[], name: string): string[] {
  return list.includes(name) ? list.filter((n) => n !== name) : [...list, name];
}
