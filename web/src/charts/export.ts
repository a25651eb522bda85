import type { Drawing } from './drawing';
import { chartSvg } from './chart_svg';
import type { SvgAxes } from './chart_svg';

/** Saves what the chart shows as a file. */
export async function saveDrawing(
  drawing: Drawing,
  axes: SvgAxes,
  type: 'svg' | 'png',
): Promise<void> {
  await saveSvg(chartSvg(drawing, axes), axes.metric, type);
}

export async function saveSvg(svg: string, name: string, type: 'svg' | 'png'): Promise<void> {
  const blob = new Blob([svg], { type: 'image/svg+xml' });
  saveBlob(type === 'svg' ? blob : await rasterize(blob), `${fileName(name)}.${type}`);
}

export function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

function fileName(text: string): string {
  return text.replace(/[^\w.-]+/g, '-');
}

const PIXELS_PER_UNIT = 2;

async function rasterize(svg: Blob): Promise<Blob> {
  const url = URL.createObjectURL(svg);
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = image.width * PIXELS_PER_UNIT;
    canvas.height = image.height * PIXELS_PER_UNIT;
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, fail) =>
      canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error('no picture'))), 'image/png'),
    );
  } finally {
    URL.revokeObjectURL(url);
  }
}
