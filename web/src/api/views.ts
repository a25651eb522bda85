import { callApi } from './client';

export interface SavedView {
  id: string;
  name: string;
  project: string;
  view: { query: string };
}

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
