import { callApi } from './client';
import type { AuditLine, Role, User } from './types';

export type { AuditLine, User } from './types';

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

export async function loadAudit(limit: number, signal?: AbortSignal): Promise<AuditLine[]> {
  return (await callApi<{ audit: AuditLine[] }>(`audit?limit=${limit}`, { signal })).audit;
}
