import { callApi } from './client';
import type { SavedView as WireView } from './types';

/** What the page keeps of a view is its query. */
export type SavedView = WireView & { view: { query: string } };

export async function loadViews(project: string, signal?: AbortSignal): Promise<SavedView[]> {
  const path = `views?project=${encodeURIComponent(project)}`;
  return (await callApi<{ views: SavedView[] }>(path, { signal })).views;
}

export async function saveView(view: SavedView): Promise<void> {
  await callApi(`views/${encodeURIComponent(view.id)}`, { method: 'PUT', body: view });
}

export async function deleteView(id: string): Promise<void> {
  await callApi(`views/${encodeURIComponent(id)}`, { method: 'DELETE' });
}
