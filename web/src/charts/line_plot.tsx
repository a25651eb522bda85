import uPlot from 'uplot';
import { useEffect, useRef } from 'preact/hooks';
import { effect } from '@preact/signals';
import { isDark } from '../lib/theme';
import type { Drawing } from './drawing';
import { litRun } from './hover';
import type { Readout } from './hover';
import { bindGestures } from './gestures';
import { Highlight } from './highlight';
import { plotOptions } from './plot_options';
import type { PlotSettings } from './plot_options';
import { readAt } from './readout';

/** Where the pointer is: inside the chart, and from the left of the page. */
export interface Place {
  left: number;
  pageLeft: number;
}

interface Props {
  drawing: Drawing;
  settings: PlotSettings;
  /** Null when the pointer has left all charts. */
  onRead: (readout: Readout | null, isOwn: boolean, place: Place) => void;
  onZoom: (range: [number, number] | null) => void;
}

/** uPlot in the page: made again when its structure changes, fed when only the data does. */
export function LinePlot({ drawing, settings, onRead, onZoom }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const state = useRef({ drawing, onRead, onZoom });
  state.current = { drawing, onRead, onZoom };
  const structure = JSON.stringify([
    { ...settings, width: 0, height: 0 },
    drawing.strokes,
    drawing.bands,
    isDark.value,
    settings.outliers || drawing.data[0].length,
  ]);

  useEffect(() => {
    if (!box.current) return undefined;
    let hasLit = false;
    const report = (u: uPlot) => {
      const isOwn = u.cursor.event !== undefined && u.over.matches(':hover');
      const { left = -1 } = u.cursor;
      const readout = left < 0 ? null : readAt(u, state.current.drawing);
      if (isOwn && readout) lightNearest(u, state.current.drawing);
      else if (hasLit && left < 0) litRun.value = '';
      hasLit = isOwn && readout !== null;
      const pageLeft = u.over.getBoundingClientRect().left + left;
      state.current.onRead(readout, isOwn, { left, pageLeft });
    };
    // Charts that follow this one's pointer see the end of its drag too; only one may zoom.
    let isDragged = false;
    const select = (u: uPlot) => {
      const { left, width } = u.select;
      if (isDragged && width >= MIN_DRAG_PX) {
        state.current.onZoom(tidy(u.posToVal(left, 'x'), u.posToVal(left + width, 'x')));
      }
      isDragged = false;
      if (width > 0) u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    };
    const overlay: { current?: Highlight } = {};
    const made = new uPlot(
      plotOptions(settings, () => state.current.drawing, {
        setCursor: [(u) => report(u)],
        setSelect: [(u) => select(u)],
        draw: [() => overlay.current?.draw(state.current.drawing, litRun.peek())],
      }),
      state.current.drawing.data,
      box.current,
    );
    plot.current = made;
    overlay.current = new Highlight(made);
    made.over.addEventListener('mousedown', () => (isDragged = true));
    const unbind = bindGestures(made, (range) => state.current.onZoom(range));
    const stopLight = effect(() => overlay.current?.draw(state.current.drawing, litRun.value));
    return () => {
      stopLight();
      unbind();
      made.destroy();
      plot.current = undefined;
    };
  }, [structure]);

  useEffect(() => {
    plot.current?.setData(drawing.data);
  }, [drawing]);

  useEffect(() => {
    plot.current?.setSize({ width: settings.width, height: settings.height });
  }, [settings.width, settings.height]);

  return <div ref={box} class="plot" />;
}

const MIN_DRAG_PX = 4;

/** Digits that matter at this zoom, for a short address. */
function tidy(from: number, to: number): [number, number] {
  const unit = 10 ** (Math.floor(Math.log10(to - from)) - 3);
  const round = (v: number) => Number((Math.round(v / unit) * unit).toPrecision(15));
  return [round(from), round(to)];
}

const NEAR_PX = 24;

function lightNearest(plot: uPlot, drawing: Drawing): void {
  let best = NEAR_PX;
  let id = '';
  drawing.strokes.forEach((stroke, i) => {
    if (stroke.role !== 'line') return;
    const value = plot.data[i + 1]?.[plot.cursor.idxs?.[i + 1] ?? -1];
    if (typeof value !== 'number') return;
    const distance = Math.abs(plot.valToPos(value, 'y') - (plot.cursor.top ?? 0));
    if (distance < best) {
      best = distance;
      id = stroke.id;
    }
  });
  litRun.value = id;
}
