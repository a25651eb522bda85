// Runs to look at: curves that differ by their config, and one run with everything a run can log.
import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';

export const PROJECT = 'voyage';
export const RICH = 'rich-run';
export const RESUMED = 'resumed-run';
const OPTIMIZERS = ['adamw', 'sgd', 'lion'];
const RATES = [1e-4, 1e-3, 1e-2];
const SEEDS = [1, 2, 3];
const STEPS = 2000;

/** The accuracy a run ends with; the journeys know which runs a brush must keep. */
export function finalAccuracy({ optimizer, lr, seed }) {
  return 0.6 + 0.1 * OPTIMIZERS.indexOf(optimizer) + 0.03 * RATES.indexOf(lr) + 0.005 * seed;
}

export function plannedRuns() {
  return OPTIMIZERS.flatMap((optimizer) =>
    RATES.flatMap((lr) =>
      SEEDS.map((seed) => ({
        id: `${optimizer}-${RATES.indexOf(lr)}-${seed}`,
        optimizer,
        lr,
        seed,
      })),
    ),
  );
}

export async function seed(api) {
  for (const plan of plannedRuns()) await addRun(api, plan);
  await addRich(api);
  await addResumed(api);
  await addArtifacts(api);
}

export async function addRun(api, plan, state = 'finished') {
  const { id, optimizer, lr, seed: number } = plan;
  await api.post(`runs/${PROJECT}`, {
    id,
    name: id,
    tags: number === 1 ? ['paper'] : [],
    group: `${optimizer}-${lr}`,
    config: {
      optimizer: { name: optimizer, lr },
      seed: number,
      data: { name: 'cifar10' },
    },
  });
  await logCurves(api, plan);
  if (state !== 'running') await api.call('PATCH', `runs/${PROJECT}/${id}`, { state });
}

export async function logCurves(api, plan, from = 0, to = STEPS) {
  const end = finalAccuracy(plan);
  const points = [];
  for (let step = from; step <= to; step += 2) {
    const noise = Math.sin(step * 12.9898 + plan.seed) * 0.04;
    const decay = Math.exp(-step / 500);
    points.push({ key: 'train/loss', step, value: 2.3 * decay + 0.3 + noise });
    if (step % 100 === 0) {
      const value = end * (1 - decay) + (step === STEPS ? end * decay : 0);
      points.push({ key: 'val/accuracy', step, value });
    }
  }
  points.push({ key: 'train/loss', step: to + 1, value: 'NaN' });
  await api.post(`runs/${PROJECT}/${plan.id}/log`, { points });
}

async function addRich(api) {
  await api.post(`runs/${PROJECT}`, {
    id: RICH,
    name: RICH,
    config: { optimizer: { name: 'adamw', lr: 0.5 } },
  });
  const run = `runs/${PROJECT}/${RICH}`;
  await logCurves(api, { optimizer: 'adamw', lr: 1e-4, seed: 1, id: RICH });
  await api.put(`${run}/files/media/sample.png`, png(16, 16), 'image/png');
  const classes = ['cat', 'dog', 'ship'];
  const records = [];
  for (const step of [500, 1000, 1500]) {
    const right = 50 + step / 50;
    records.push(
      {
        type: 'confusion',
        key: 'val/confusion',
        step,
        body: {
          classes,
          counts: [
            [right, 9, 1],
            [12, right, 0],
            [2, 1, right],
          ],
        },
      },
      {
        type: 'histogram',
        key: 'weights/fc',
        step,
        body: {
          edges: [-1, -0.5, 0, 0.5, 1],
          counts: [1, 30, 40 + step / 100, 3],
        },
      },
      {
        type: 'image',
        key: 'val/sample',
        step,
        body: { name: 'val/sample', path: 'media/sample.png' },
      },
      {
        type: 'text',
        key: 'val/caption',
        step,
        body: { text: `a caption at ${step}` },
      },
    );
  }
  const rows = Array.from({ length: 300 }, (_, i) => [
    { image: 'media/sample.png' },
    classes[i % 3],
    classes[(i + 1) % 3],
    i / 300,
  ]);
  records.push(
    {
      type: 'table',
      key: 'val/mistakes',
      step: 1500,
      body: { columns: ['image', 'truth', 'guess', 'confidence'], rows },
    },
    {
      type: 'html',
      key: 'report',
      step: 1500,
      body: {
        html: '<h1>Report</h1><script>parent.document.title = "broken out"</script>',
      },
    },
    {
      type: 'plot',
      key: 'val/roc',
      step: 1500,
      body: {
        kind: 'line',
        x: 'fpr',
        y: 'tpr',
        columns: ['fpr', 'tpr'],
        rows: [
          [0, 0],
          [0.1, 0.7],
          [1, 1],
        ],
      },
    },
    {
      type: 'alert',
      key: 'loss is NaN',
      step: 1500,
      body: { title: 'loss is NaN', text: 'for 200 steps', level: 'error' },
    },
  );
  await api.post(`${run}/records`, { records });
  const lines = Array.from({ length: 3000 }, (_, i) =>
    i % 50 === 7
      ? `\u001b[33mwarning:\u001b[0m loader fell behind at ${i}`
      : `step ${i} loss ${(2 / (i + 1)).toFixed(4)}`,
  );
  await api.post(`${run}/console`, { lines });
}

/** Two attempts: the first to step 400, the second from 200 on. */
async function addResumed(api) {
  const run = `runs/${PROJECT}/${RESUMED}`;
  const log = (from, to, value) => {
    const steps = Array.from({ length: (to - from) / 10 + 1 }, (_, i) => from + 10 * i);
    return api.post(`${run}/log`, {
      points: steps.map((step) => ({ key: 'train/loss', step, value })),
    });
  };
  await api.post(`runs/${PROJECT}`, { id: RESUMED, name: RESUMED });
  await log(0, 400, 1);
  await api.put(
    `ingest/${PROJECT}/${RESUMED}`,
    {
      state: 'running',
      attempts: [
        {
          number: 1,
          state: 'interrupted',
          started_us: 1,
          ended_us: 2,
          host: 'node1',
        },
        {
          number: 2,
          state: 'running',
          started_us: 3,
          from_step: 200,
          host: 'node2',
        },
      ],
    },
    'application/json',
  );
  await log(200, 600, 2);
  await api.call('PATCH', run, { state: 'finished', tags: ['archived'] });
}

/** A data set that two runs used, and the model that each of them made of it. */
async function addArtifacts(api) {
  await addVersion(api, 'cifar-packed', 'dataset', 'all the pictures');
  for (const run of ['adamw-0-1', 'sgd-1-2']) {
    await api.post(`artifacts/${PROJECT}/cifar-packed/v0/use`, { run });
    await addVersion(api, 'resnet', 'model', `weights of ${run}`, run);
  }
  await api.call('PUT', `artifacts/${PROJECT}/resnet/v0/aliases/best`);
  await api.post('models', {
    name: 'classifier',
    description: 'what the demo serves',
  });
  await api.post('models/classifier/versions', {
    source: `artifact:${PROJECT}/resnet:v0`,
  });
}

async function addVersion(api, name, type, text, run) {
  const digest = createHash('sha256').update(text).digest('hex');
  await api.put(`blobs/${digest}`, Buffer.from(text), 'application/octet-stream');
  const files = [{ path: 'data.bin', digest, size: text.length }];
  await api.post(`artifacts/${PROJECT}/${name}`, {
    type,
    files,
    metadata: { text },
    ...(run ? { run } : {}),
  });
}

/** A small picture: a gradient, as PNG. */
export function png(width, height) {
  const rows = Buffer.alloc(height * (1 + width * 3));
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = y * (1 + width * 3) + 1 + x * 3;
      rows[at] = (x / width) * 255;
      rows[at + 1] = 110;
      rows[at + 2] = (y / height) * 255;
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
  const parts = [
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ];
  return Buffer.concat([signature, ...parts]);
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), body.length + 4);
  return out;
}

function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let k = 0; k < 8; k += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
