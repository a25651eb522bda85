// Scripts of the real clients, run by the Python that KEDGE_PEER_PYTHON names.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const python = process.env.KEDGE_PEER_PYTHON;

/** What a journey returns where there are no clients. */
export const SKIPPED = 'skipped (KEDGE_PEER_PYTHON names no Python)';

export const hasClients = () => Boolean(python);

/** Runs tests/web/clients/NAME.py against the server; returns all that it printed. */
export async function runClient(server, name) {
  const home = mkdtempSync(join(tmpdir(), 'kedge-client-'));
  const script = fileURLToPath(new URL(`clients/${name}.py`, import.meta.url));
  const address = server.address.replace(/\/$/, '');
  const child = spawn(python, [script], {
    cwd: home,
    env: {
      ...process.env,
      HOME: home,
      WANDB_BASE_URL: address,
      WANDB_API_KEY: 'k'.repeat(40),
      WANDB_DIR: home,
      WANDB_CACHE_DIR: home,
      WANDB_CONFIG_DIR: home,
      WANDB_DATA_DIR: home,
      MLFLOW_TRACKING_URI: address,
      MLFLOW_DISABLE_TELEMETRY: 'true',
      PYTHONIOENCODING: 'utf-8',
      PYTHONWARNINGS: 'ignore',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  child.stdout.on('data', (text) => (said += text));
  child.stderr.on('data', (text) => (said += text));
  const [code] = await once(child, 'close');
  rmSync(home, { recursive: true, force: true });
  if (code !== 0) throw new Error(`${name}.py ended with ${code}: ${said.slice(-2000)}`);
  return said;
}
