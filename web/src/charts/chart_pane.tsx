import { useMemo } from 'preact/hooks';
import type { View } from '../lib/view';
import { Empty } from '../ui/empty';
import { Icon } from '../ui/icon';
import type { PlotRun } from './drawing';
import { FullChart } from './full_chart';
import { MetricChart } from './metric_chart';
import { sectionOf, sectionsOf } from './sections';

interface Props {
  runs: PlotRun[];
  metrics: string[];
  kind?: 'metric' | 'system';
  view: View;
  turn: number;
  onView: (patch: Partial<View>, push?: boolean) => void;
}

const MIN_WIDTH = 265;
const HEIGHT = 200;

/** One chart for each metric, in sections by prefix. */
export function ChartPane({ runs, metrics, kind = 'metric', view, turn, onView }: Props) {
  const sections = useMemo(() => sectionsOf(metrics, view.find), [metrics, view.find]);
  if (runs.length === 0) {
    return (
      <Empty title="No run chosen">
        <p>
          Choose runs in the table (a click on the mark at their left, or <kbd>x</kbd>) and their
          curves appear here.
        </p>
      </Empty>
    );
  }
  const columns =
    view.perRow > 0
      ? `repeat(${view.perRow}, minmax(0, 1fr))`
      : `repeat(auto-fill, minmax(min(${MIN_WIDTH}px, 100%), 1fr))`;
  const shared = { runs, kind, view, turn, onView };
  return (
    <>
      {sections.map((section) => {
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
      {sections.length === 0 && <NoCharts find={view.find} />}
      {view.full && <FullChart metric={view.full} metrics={metrics} {...shared} />}
    </>
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
