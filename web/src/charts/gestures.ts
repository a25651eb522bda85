import type uPlot from 'uplot';

type SetRange = (range: [number, number] | null) => void;

/**
 * Beside dragging, which uPlot does: double click shows all, shift or middle drag moves along x,
 * ctrl + wheel zooms around the pointer.
 */
export function bindGestures(plot: uPlot, onRange: SetRange): () => void {
  const over = plot.over;
  const scale = () => {
    const { min, max } = plot.scales['x'] ?? {};
    return min === undefined || max === undefined || min === null || max === null
      ? undefined
      : { min, max };
  };
  const onDouble = () => onRange(null);
  const onWheel = (event: WheelEvent) => {
    const now = scale();
    if (!now || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    const at = plot.posToVal(event.offsetX, 'x');
    const factor = event.deltaY > 0 ? 1.25 : 0.8;
    onRange([at - (at - now.min) * factor, at + (now.max - at) * factor]);
  };
  const onDown = (event: MouseEvent) => {
    const now = scale();
    if (!now || !(event.shiftKey || event.button === 1)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const perPixel = (now.max - now.min) / over.clientWidth;
    let shift = 0;
    const onMove = (move: MouseEvent) => {
      shift = (event.clientX - move.clientX) * perPixel;
      plot.setScale('x', { min: now.min + shift, max: now.max + shift });
    };
    const onUp = () => {
      removeEventListener('mousemove', onMove);
      removeEventListener('mouseup', onUp);
      if (shift !== 0) onRange([now.min + shift, now.max + shift]);
    };
    addEventListener('mousemove', onMove);
    addEventListener('mouseup', onUp);
  };
  over.addEventListener('dblclick', onDouble);
  over.addEventListener('wheel', onWheel, { passive: false });
  over.addEventListener('mousedown', onDown, { capture: true });
  return () => {
    over.removeEventListener('dblclick', onDouble);
    over.removeEventListener('wheel', onWheel);
    over.removeEventListener('mousedown', onDown, { capture: true });
  };
}
