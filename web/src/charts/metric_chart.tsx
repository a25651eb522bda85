import { useRef, useState } from 'preact/hooks';
import type { View } from '../lib/view';
import { Button } from '../ui/button';
import { Icon } from '../ui/icon';
import { Item, Menu } from '../ui/menu';
import { formatX, formatY } from './axis_format';
import type { PlotRun } from './drawing';
import { saveDrawing } from './export';
import { litRun } from './hover';
import type { Readout } from './hover';
import { LinePlot } from './line_plot';
import type { Place } from './line_plot';
import { ReadoutBox } from './readout_box';
import { useSize, useVisible } from './element_size';
import { useDrawing } from './use_drawing';
import type { SummedRuns } from './use_drawing';

interface Hover extends Place {
  readout: Readout;
  isOwn: boolean;
}

export interface ChartProps {
  metric: string;
  title: string;
  kind: 'metric' | 'system';
  runs: PlotRun[];
  summed?: SummedRuns | undefined; // in place of runs
  view: View;
  turn: number; // goes up when there is something new to load
  height: number;
  isFull?: boolean;
  onView: (patch: Partial<View>, push?: boolean) => void;
}

export function MetricChart(props: ChartProps) {
  const { metric, runs, summed, view, kind, turn, onView, isFull = false } = props;
  const figure = useRef<HTMLElement>(null);
  const isVisible = useVisible(figure);
  const { width } = useSize(figure);
  // The least and the greatest of every pixel column.
  const points = Math.max(400, Math.min(4000, Math.ceil(width / 50) * 100));
  const isNeeded = isVisible && width > 0;
  const wanted = { metric, kind, runs, summed, view, turn, points, isNeeded };
  const { drawing, isLoaded, isSampled, error } = useDrawing(wanted);
  const [hover, setHover] = useState<Hover>();
  const lit = hover?.readout.rows.find((row) => row.id === litRun.value) ?? hover?.readout.rows[0];
  const isEmpty = isLoaded && drawing.strokes.length === 0;

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
        {isSampled && <span class="faint">sampled</span>}
        {error && <span class="bad clip">{error.message}</span>}
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
