import { callApi } from './client';
import type { Alert } from './types';

export type { Alert } from './types';

export async function loadAlerts(project: string, signal?: AbortSignal): Promise<Alert[]> {
  const query = `alerts?project=${encodeURIComponent(project)}`;
  return (await callApi<{ alerts: Alert[] }>(query, { signal })).alerts;
}
