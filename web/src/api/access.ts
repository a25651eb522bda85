import { callApi, loginNeeded } from './client';

const DAY_S = 86400;

export interface Me {
  user: string;
  role: 'view' | 'write' | 'admin';
  auth: boolean; // false: the server asks nobody to log in
  project?: string; // set: the caller sees only this project
  shared?: boolean; // through a read-only link
}

export interface Token {
  id: string;
  name: string;
  scopes: string[];
  created_us: number;
  expires_us?: number | null;
}

export async function loadMe(signal?: AbortSignal): Promise<Me> {
  return callApi<Me>('me', { signal });
}

export async function login(user: string, password: string): Promise<void> {
  await callApi('login', { method: 'POST', body: { user, password } });
  loginNeeded.value = false;
}

export async function logout(): Promise<void> {
  await callApi('logout', { method: 'POST', body: {} });
  loginNeeded.value = true;
}

export async function loadTokens(signal?: AbortSignal): Promise<Token[]> {
  return (await callApi<{ tokens: Token[] }>('tokens', { signal })).tokens;
}

/** The token itself is in this answer and nowhere else: the server keeps only its hash. */
export async function createToken(
  name: string,
  scope: string,
  days: number,
): Promise<{ id: string; token: string }> {
  const body = { name, scopes: [scope], expires_in_s: days * DAY_S };
  return callApi('tokens', { method: 'POST', body });
}

export async function deleteToken(id: string): Promise<void> {
  await callApi(`tokens/${encodeURIComponent(id)}`, { method: 'DELETE' });
}

export interface Share {
  id: string;
  project: string;
  expires_us?: number | null;
}

export async function loadShares(signal?: AbortSignal): Promise<Share[]> {
  return (await callApi<{ shares: Share[] }>('shares', { signal })).shares;
}

export async function createShare(
  project: string,
  days: number,
): Promise<Share & { token: string }> {
  return callApi('shares', { method: 'POST', body: { project, expires_in_s: days * DAY_S } });
}

export async function deleteShare(id: string): Promise<void> {
  await callApi(`shares/${encodeURIComponent(id)}`, { method: 'DELETE' });
}
