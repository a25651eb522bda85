import { callApi, loginNeeded } from './client';

export type Role = 'view' | 'write' | 'admin';

export interface Me {
  user: string;
  role: Role;
  auth: boolean; // false: the server asks nobody to log in
  project?: string; // set: the caller sees only this project
  shared?: boolean; // through a read-only link
}

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

export interface Grant {
  id: string;
  name: string;
  user: string; // who made it
  scopes: string[];
  project: string;
  created_us: number;
  expires_us: number | null;
}

export interface GrantBody {
  name?: string;
  scopes?: string[];
  project?: string;
  expires_in_s: number;
}

export async function loadGrants(kind: GrantKind, signal?: AbortSignal): Promise<Grant[]> {
  return (await callApi<Record<string, Grant[]>>(kind, { signal }))[kind] ?? [];
}

/** The secret is in this answer and nowhere else: the server keeps only its hash. */
export async function createGrant(
  kind: GrantKind,
  body: GrantBody,
): Promise<Grant & { token: string }> {
  return callApi(kind, { method: 'POST', body });
}

export async function deleteGrant(kind: GrantKind, id: string): Promise<void> {
  await callApi(`${kind}/${encodeURIComponent(id)}`, { method: 'DELETE' });
}
