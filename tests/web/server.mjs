// A real kedge server for the journeys, on a free port with a store of its own, and short ways to
// its API.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

// Everybody may do everything there, unless the options say otherwise.
export async function startServer(kedge, options = ['--auth', 'none'], env = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'kedge-web-'));
  const data = join(folder, 'data');
  const variables = { ...process.env, XDG_CONFIG_HOME: join(folder, 'config'), ...env };
  let child;
  const start = async (port) => {
    child = spawn(kedge, ['server', '--data', data, '--port', port, '--json', ...options], {
      env: variables,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout });
    const first = await Promise.race([
      once(lines, 'line').then(([line]) => line),
      once(child, 'exit').then(([code]) => {
        throw new Error(`kedge server ended with ${code}`);
      }),
    ]);
    return JSON.parse(first).address;
  };
  const end = async () => {
    if (child.exitCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  const address = await start('0');
  return {
    address,
    data,
    api: makeApi(address),
    // What `kedge WORDS` prints, as the one who started the server.
    run: (...words) => execFileSync(kedge, words, { env: variables, encoding: 'utf8' }).trim(),
    pause: end, // until resume(), which brings it back where it was
    resume: () => start(new URL(address).port),
    async stop() {
      await end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function makeApi(address, headers = {}) {
  const call = async (method, path, body, type = 'application/json') => {
    const init = { method, headers: { ...headers } };
    if (body !== undefined) {
      init.headers['Content-Type'] = type;
      init.body = type === 'application/json' ? JSON.stringify(body) : body;
    }
    const answer = await fetch(`${address.replace(/\/$/, '')}/api/v1/${path}`, init);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  };
  return {
    call,
    get: (path) => call('GET', path),
    post: (path, body) => call('POST', path, body),
    put: (path, body, type) => call('PUT', path, body, type),
  };
}
