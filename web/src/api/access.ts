import { callApi, loginNeeded } from './client';
import type { Grant, Me, NewGrant } from './types';

export type { Grant, Me, Role } from './types';

export async function loadMe(signal?: AbortSignal): Promise<Me> {
  return callApi<Me>('me', { signal });
}

/** Who somebody is: a user with a password, or whoever holds a key. */
export type Credentials = { user: string; password: string } | { key: string };

export async function login(credentials: Credentials): Promise<void> {
  await callApi('login', { method: 'POST', body: { ...credentials } });
  loginNeeded.value = false;
}

export async function logout(): Promise<void> {
  await callApi('logout', { method: 'POST', body: {} });
  loginNeeded.value = true;
}

/** Tokens are for programs, shares are links for people; the server keeps them alike. */
export type GrantKind = 'tokens' | 'shares';

export async function loadGrants(kind: GrantKind, signal?: AbortSignal): Promise<Grant[]> {
  return (await callApi<Record<string, Grant[]>>(kind, { signal }))[kind] ?? [];
}

/** The secret is in this answer and nowhere else: the server keeps only its hash. */
export async function createGrant(
  kind: GrantKind,
  body: NewGrant,
): Promise<Grant & { token: string }> {
  return callApi(kind, { method: 'POST', body });
}

export async function deleteGrant(kind: GrantKind, id: string): Promise<void> {
  await callApi(`${kind}/${encodeURIComponent(id)}`, { method: 'DELETE' });
}
