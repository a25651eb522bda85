// Which records are media, and under which heading they stand. A type that ends in "-file" is one
// of wandb's: its bytes are a file of the run.
import type { Json } from '../api/types';
import { isObject } from './flatten';

export const SECTIONS = [
  { name: 'image', title: 'images', types: ['image'] },
  { name: 'plot', title: 'plots', types: ['plot'] },
  { name: 'table', title: 'tables', types: ['table', 'incremental-table-file'] },
  { name: 'confusion', title: 'confusion matrices', types: ['confusion'] },
  { name: 'histogram', title: 'histograms', types: ['histogram'] },
  { name: 'text', title: 'texts', types: ['text'] },
  { name: 'html', title: 'pages', types: ['html'] },
  { name: 'audio', title: 'sounds', types: ['audio-file', 'audio'] },
  { name: 'video', title: 'films', types: ['video-file', 'videos'] },
] as const;

const OTHER_LISTS = ['object3D', 'molecule'];

/** The section of a type; undefined: it is no media. */
export function sectionOf(type: string): string | undefined {
  const section = SECTIONS.find(({ types }) => (types as readonly string[]).includes(type));
  if (section) return section.name;
  return type.endsWith('-file') || OTHER_LISTS.includes(type) ? 'other' : undefined;
}

export interface MediaItem {
  type: string;
  path: string;
  caption: string;
  size?: number;
}

/** The files of a record: one, or those of a list that was logged at once. */
export function mediaItems(type: string, body: { [key: string]: Json }): MediaItem[] {
  const captions = Array.isArray(body['captions']) ? body['captions'] : [];
  const list = ['audio', 'videos', 'html', 'objects'].map((name) => body[name]).find(Array.isArray);
  if (list) {
    return list.filter(isObject).map((item, i) => itemOf(type, item, captions[i]));
  }
  if (Array.isArray(body['filenames'])) {
    return body['filenames'].map((path, i) => itemOf(type, { path }, captions[i]));
  }
  return [itemOf(type, body, undefined)];
}

const FILE_TYPES: Record<string, string> = {
  audio: 'audio-file',
  videos: 'video-file',
  object3D: 'object3D-file',
  molecule: 'molecule-file',
};

function itemOf(type: string, body: { [key: string]: Json }, caption: Json | undefined): MediaItem {
  const text = body['caption'] ?? caption;
  return {
    type: FILE_TYPES[type] ?? type,
    path: String(body['path'] ?? ''),
    caption: typeof text === 'string' ? text : '',
    ...(typeof body['size'] === 'number' ? { size: body['size'] } : {}),
  };
}
