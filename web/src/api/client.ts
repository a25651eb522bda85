// One door to the server: JSON in and out, errors as ApiError, and two signals that the whole page
// watches (is the server there, does it want a login).
import { signal } from '@preact/signals';

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint = '',
  ) {
    super(message);
  }
}

/** False while requests do not reach the server. */
export const reachable = signal(true);
/** True after a 401: the page shows the login form. */
export const loginNeeded = signal(false);

const shareToken = new URLSearchParams(globalThis.location?.search ?? '').get('share');

/** Set when the page was opened through a read-only share link. */
export const isShared = shareToken !== null;

export function apiUrl(path: string): string {
  return serverUrl(`api/v1/${path}`);
}

/** An address of this server, with the right that a share link gives. */
export function serverUrl(path: string): string {
  const url = new URL(path, new URL('.', document.baseURI));
  if (shareToken) url.searchParams.set('share', shareToken);
  return url.toString();
}

export interface CallOptions {
  method?: string;
  body?: unknown;
  signal?: AbortSignal | undefined;
}

export async function callApi<T>(path: string, options: CallOptions = {}): Promise<T> {
  const answer = await fetchApi(path, options);
  if (answer.status === 204) return undefined as T;
  return (await answer.json()) as T;
}

export async function fetchApi(path: string, options: CallOptions = {}): Promise<Response> {
  const headers: Record<string, string> = { 'X-Kedge-Page': '1' };
  const init: RequestInit = {
    method: options.method ?? 'GET',
    headers,
    credentials: 'same-origin',
  };
  if (options.body !== undefined) {
    headers['Content-Type'] = 'application/json';
    init.body = JSON.stringify(options.body);
  }
  if (options.signal) init.signal = options.signal;
  let answer: Response;
  try {
    answer = await fetch(apiUrl(path), init);
  } catch (cause) {
    if (options.signal?.aborted) throw cause;
    reachable.value = false;
    throw new ApiError(0, 'unreachable', 'The server does not answer.');
  }
  reachable.value = answer.status !== 502 && answer.status !== 504;
  if (!answer.ok) throw await errorOf(answer);
  return answer;
}

async function errorOf(answer: Response): Promise<ApiError> {
  if (answer.status === 401) loginNeeded.value = true;
  let message = `The server answered ${answer.status}.`;
  let code = 'error';
  let hint = '';
  try {
    const body = (await answer.json()) as {
      error?: { code?: string; message?: string; hint?: string };
    };
    message = body.error?.message ?? message;
    code = body.error?.code ?? code;
    hint = body.error?.hint ?? '';
  } catch {
    // A proxy's HTML page, say: the status is all there is.
  }
  return new ApiError(answer.status, code, message, hint);
}

/** A path below runs/, with each part escaped. */
export function runPath(run: { project: string; id: string }, rest = ''): string {
  const tail = rest ? `/${rest}` : '';
  return `runs/${encodeURIComponent(run.project)}/${encodeURIComponent(run.id)}${tail}`;
}

export function filePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}
