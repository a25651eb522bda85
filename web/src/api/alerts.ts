import { callApi } from './client';
import type { LogRecord, RunRef } from './types';

/** An alert is a record with a body of title, text and level. */
export type Alert = LogRecord & RunRef & { name: string };

export async function loadAlerts(project: string, signal?: AbortSignal): Promise<Alert[]> {
  const query = `alerts?project=${encodeURIComponent(project)}`;
  return (await callApi<{ alerts: Alert[] }>(query, { signal })).alerts;
}
