// The shapes of the server's JSON (docs: /api/v1/openapi.json). Golden examples:
// tests/fixtures/api.

/** JSON has no NaN and no infinities: the server writes them as these strings. */
export type WireNumber = number | 'NaN' | 'Infinity' | '-Infinity';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export const RUN_STATES = [
  'running',
  'finished',
  'failed',
  'crashed',
  'preempted',
  'pending',
  'stopped',
] as const;

export type RunState = (typeof RUN_STATES)[number];

export interface MetricSummary {
  last: Json; // a number (WireNumber), or whatever was set by hand
  min?: WireNumber;
  max?: WireNumber;
  last_step?: number;
  count?: number;
}

export interface Run {
  project: string;
  id: string;
  name: string;
  state: RunState;
  created_us: number;
  ended_us?: number | null;
  heartbeat_us?: number | null;
  user?: string;
  host?: string;
  group?: string;
  job_type?: string;
  notes?: string;
  tags: string[];
  source?: string; // kedge, wandb, mlflow
  labels?: { [name: string]: string }; // texts by name: what MLflow calls tags
  attempt?: number;
  last_step?: number;
  archived?: boolean;
  deleted_us?: number | null; // since when it is in the trash
  config: { [key: string]: Json };
  summary: { [key: string]: MetricSummary };
  environment?: { [key: string]: Json };
  parent?: string | null;
  sweep?: string | null;
}

export interface Project {
  id: number; // MLflow's experiment_id
  name: string;
  run_count: number;
  running_count: number;
  last_us: number;
}

export interface MetricFacts {
  key: string;
  kind: 'metric' | 'system';
  count: number;
  last: WireNumber;
  last_step: number;
  min?: WireNumber;
  max?: WireNumber;
  first_us?: number;
  last_us?: number;
}

export interface WireSeries {
  project: string;
  id: string;
  key: string;
  x: WireNumber[];
  y: WireNumber[];
  count: number;
  sampled: boolean;
}

export interface LogRecord {
  type: string;
  key: string;
  step: number;
  time_us: number;
  attempt?: number;
  body: { [key: string]: Json };
}

export interface ConsoleLine {
  n: number;
  time_us: number;
  text: string;
}

export interface ConfigChange {
  key: string;
  before: Json;
  after: Json;
}

export interface Attempt {
  number: number;
  host?: string;
  started_us: number;
  ended_us?: number | null;
  state: string;
  from_step: number | null;
  changes?: ConfigChange[];
}

export interface RunFile {
  path: string;
  size: number;
  digest?: string;
}

export interface RunRef {
  project: string;
  id: string;
}
