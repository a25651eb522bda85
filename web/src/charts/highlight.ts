// The lit run or group of a chart, on a canvas of its own above the others: what is below is
// veiled, not drawn again, so that lighting up one of hundreds of lines costs as much as one line.
import type uPlot from 'uplot';
import { withAlpha } from '../lib/colours';
import { token } from '../lib/theme';
import type { Drawing, Stroke } from './drawing';

const VEIL = 0.84;
const DOT = 2.5;
const FEW_POINTS = 15;

export class Highlight {
  private readonly canvas = document.createElement('canvas');

  constructor(private readonly plot: uPlot) {
    this.canvas.className = 'highlight';
  }

  /** Nothing when the chart has no line of this name. */
  draw(drawing: Drawing, id: string): void {
    const strokes = drawing.strokes.map((stroke, i) => ({ stroke, column: i + 1 }));
    const lit = id === '' ? [] : strokes.filter(({ stroke }) => stroke.id === id);
    const context = this.canvas.getContext('2d');
    if (!context || lit.length === 0) {
      this.canvas.remove();
      return;
    }
    const { clientWidth: width, clientHeight: height } = this.plot.over;
    this.canvas.width = width * devicePixelRatio;
    this.canvas.height = height * devicePixelRatio;
    if (!this.canvas.isConnected) this.plot.over.prepend(this.canvas);
    context.scale(devicePixelRatio, devicePixelRatio);
    context.fillStyle = withAlpha(token('sheet'), VEIL);
    context.fillRect(0, 0, width, height);
    for (const band of drawing.bands) {
      if (lit.some(({ column }) => column === band.high)) this.fillBand(context, band);
    }
    for (const { stroke, column } of lit) this.drawLine(context, stroke, column);
  }

  /** The points of a column in pixels; null where the line has a gap. */
  private pointsOf(column: number): ([number, number] | null)[] {
    const { data } = this.plot;
    const points: ([number, number] | null)[] = [];
    (data[column] ?? []).forEach((value, i) => {
      if (value === undefined) return; // another line's x
      const x = data[0][i] ?? NaN;
      points.push(
        value === null ? null : [this.plot.valToPos(x, 'x'), this.plot.valToPos(value, 'y')],
      );
    });
    return points;
  }

  private fillBand(context: CanvasRenderingContext2D, band: Drawing['bands'][number]): void {
    const isPoint = (p: [number, number] | null): p is [number, number] => p !== null;
    const above = this.pointsOf(band.high).filter(isPoint);
    const below = this.pointsOf(band.low).filter(isPoint).reverse();
    context.beginPath();
    [...above, ...below].forEach(([x, y]) => context.lineTo(x, y));
    context.fillStyle = withAlpha(band.colour, 0.22);
    context.fill();
  }

  private drawLine(context: CanvasRenderingContext2D, stroke: Stroke, column: number): void {
    if (stroke.role === 'low' || stroke.role === 'high') return;
    const isLine = stroke.role === 'line';
    const points = this.pointsOf(column);
    context.strokeStyle = isLine ? stroke.colour : withAlpha(stroke.colour, 0.28);
    context.fillStyle = stroke.colour;
    context.lineWidth = isLine ? 2.2 : 1;
    context.lineJoin = 'round';
    context.beginPath();
    let isDown = false;
    for (const point of points) {
      if (point && isDown) context.lineTo(...point);
      else if (point) context.moveTo(...point);
      isDown = point !== null;
    }
    context.stroke();
    if (!isLine || stroke.length > FEW_POINTS) return;
    for (const point of points) {
      if (!point) continue;
      context.beginPath();
      context.arc(point[0], point[1], DOT, 0, 7);
      context.fill();
    }
  }
}
