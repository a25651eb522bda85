import type { Role } from './access';
import { callApi } from './client';
import type { Json } from './types';

export interface User {
  name: string;
  role: Role;
  created_us: number;
}

export async function loadUsers(signal?: AbortSignal): Promise<User[]> {
  return (await callApi<{ users: User[] }>('users', { signal })).users;
}

/** Makes the user, or changes what is given. */
export async function putUser(
  name: string,
  body: { role: Role; password?: string },
): Promise<void> {
  await callApi(`users/${encodeURIComponent(name)}`, { method: 'PUT', body });
}

export async function deleteUser(name: string): Promise<void> {
  await callApi(`users/${encodeURIComponent(name)}`, { method: 'DELETE' });
}

export interface AuditLine {
  time_us: number;
  who: string;
  what: string; // "run.delete"
  target: string;
  detail: { [key: string]: Json };
}

export async function loadAudit(limit: number, signal?: AbortSignal): Promise<AuditLine[]> {
  return (await callApi<{ audit: AuditLine[] }>(`audit?limit=${limit}`, { signal })).audit;
}
