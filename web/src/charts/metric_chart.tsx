import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { lineKey, loadSeries } from '../api/series';
import { useResource } from '../lib/resource';
import type { View } from '../lib/view';
import { Button } from '../ui/button';
import { Icon } from '../ui/icon';
import { Item, Menu } from '../ui/menu';
import { formatX, formatY } from './axis_format';
import { draw } from './drawing';
import type { PlotRun } from './drawing';
import { saveDrawing } from './export';
import { litRun } from './hover';
import type { Readout } from './hover';
import { LinePlot } from './line_plot';
import type { Place } from './line_plot';
import { ReadoutBox } from './readout_box';
import { useSize, useVisible } from './element_size';

interface Hover extends Place {
  readout: Readout;
  isOwn: boolean;
}

export interface ChartProps {
  metric: string;
  title: string;
  kind: 'metric' | 'system';
  runs: PlotRun[];
  view: View;
  turn: number; // goes up when there is something new to load
  height: number;
  isFull?: boolean;
  onView: (patch: Partial<View>, push?: boolean) => void;
}

export function MetricChart(props: ChartProps) {
  const { metric, runs, view, kind, turn, onView, isFull = false } = props;
  const figure = useRef<HTMLElement>(null);
  const isVisible = useVisible(figure);
  const { width } = useSize(figure);
  // The least and the greatest of every pixel column.
  const points = Math.max(400, Math.min(4000, Math.ceil(width / 50) * 100));
  const key = useSeriesKey(props, points, isVisible && width > 0);
  const loaded = useResource(key, (signal) =>
    loadSeries({ runs, keys: [metric], kind, x: view.x, points, range: wider(view.range) }, signal),
  );
  useEffect(() => {
    if (key && turn > 0) loaded.reload();
  }, [turn]);

  const isGrouped = view.group !== '' && runs.some((run) => run.group !== '');
  const drawing = useMemo(
    () => draw(loaded.data ?? [], runs, { ...view, isGrouped }),
    [loaded.data, runs, view.smooth, view.spread, view.logX, view.logY, isGrouped],
  );
  const [hover, setHover] = useState<Hover>();
  const lit = hover?.readout.rows.find((row) => row.id === litRun.value) ?? hover?.readout.rows[0];
  const isEmpty = loaded.data !== undefined && drawing.strokes.length === 0;

  return (
    <figure ref={figure} class={`chart ${isFull ? 'full' : ''}`} aria-label={`Chart of ${metric}`}>
      <figcaption>
        <span class="title clip" title={metric}>
          {props.title}
        </span>
        {hover && lit && !hover.isOwn && (
          <span class="glance">
            <i style={{ background: lit.colour }} />
            {formatY(lit.value ?? NaN, metric)}
          </span>
        )}
        {loaded.error && <span class="bad clip">{loaded.error.message}</span>}
        <span class="tools">
          <Menu label={`Save a picture of ${metric}`} plain face={<Icon name="save" />}>
            {(close) =>
              (['svg', 'png'] as const).map((type) => (
                <Item
                  key={type}
                  onPick={() => {
                    void saveDrawing(drawing, { metric, ...viewAxes(view) }, type);
                    close();
                  }}
                >
                  Save as {type.toUpperCase()}
                </Item>
              ))
            }
          </Menu>
          <Button
            kind="plain"
            label={isFull ? 'Close the large chart' : `Show ${metric} large`}
            onClick={() => onView({ full: isFull ? '' : metric }, !isFull)}
          >
            <Icon name={isFull ? 'close' : 'full'} />
          </Button>
        </span>
      </figcaption>
      <div class="body" style={{ height: props.height }}>
        {isEmpty && <p class="faint nothing">no values for the chosen runs</p>}
        {width > 0 && isVisible && !isEmpty && (
          <LinePlot
            drawing={drawing}
            settings={{ ...viewAxes(view), metric, width, height: props.height }}
            onRead={(readout, isOwn, place) =>
              setHover(readout ? { readout, isOwn, ...place } : undefined)
            }
            onZoom={(range) => onView({ range }, true)}
          />
        )}
        {hover?.isOwn && (
          <ReadoutBox
            readout={hover.readout}
            place={hover}
            width={width}
            xText={formatX(hover.readout.x, view.x)}
            metric={metric}
          />
        )}
      </div>
    </figure>
  );
}

function viewAxes(view: View) {
  const { logX, logY, range, outliers } = view;
  return { xAxis: view.x, logX, logY, range, outliers };
}

/** A little more than what is shown, so that lines run to the edge. */
function wider(range: [number, number] | null): [number, number] | null {
  if (!range) return null;
  const pad = (range[1] - range[0]) * 0.02;
  return [range[0] - pad, range[1] + pad];
}

/** What the loaded data depends on; empty while the chart is out of sight. */
function useSeriesKey(
  { metric, runs, view }: ChartProps,
  points: number,
  isNeeded: boolean,
): string {
  const ids = useMemo(() => runs.map(lineKey).join(' '), [runs]);
  return isNeeded ? JSON.stringify([metric, ids, view.x, view.range, points]) : '';
}
