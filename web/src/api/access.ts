import { callApi, loginNeeded } from './client';

export interface Me {
  user: string;
  role: 'view' | 'write' | 'admin';
  auth: boolean; // false: the server asks nobody to log in
  shared?: boolean;
}

export interface Token {
  id: string;
  name: string;
  role: string;
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
  role: string,
  days: number,
): Promise<{ id: string; token: string }> {
  return callApi('tokens', { method: 'POST', body: { name, role, days } });
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
  return callApi('shares', { method: 'POST', body: { project, days } });
}

export async function deleteShare(id: string): Promise<void> {
  await callApi(`shares/${encodeURIComponent(id)}`, { method: 'DELETE' });
}
