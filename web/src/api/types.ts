// Made by tools/api_types.py of what the server declares: do not change.
// Golden examples: tests/fixtures/api. Fields that end in _us are Unix times in microseconds; 0:
// not known.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export type WireNumber = 'NaN' | 'Infinity' | '-Infinity' | number;

export interface ErrorAnswer {
  error: {
    code: string;
    message: string;
    hint?: string;
  };
  next_seq?: number; // of a gap in a log, with offset and digest: how far it is taken in
  offset?: number;
  digest?: string;
}

export interface RunRef {
  project: string;
  id: string;
}

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
  last: Json; // a number, or what was set by hand
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
  ended_us: number | null;
  heartbeat_us: number;
  user: string;
  host: string;
  group: string;
  job_type: string;
  notes: string;
  tags: string[];
  source: string; // kedge, wandb, mlflow
  attempt: number;
  last_step: number | null;
  parent: string;
  sweep: string;
  deleted_us: number | null; // since when it is in the trash
  config: { [key: string]: Json }; // flat names ("optimizer.lr") where a search named its fields
  labels: { [key: string]: string }; // texts by name: what MLflow calls tags
  summary: { [key: string]: MetricSummary };
  environment?: { [key: string]: Json }; // of one run that was asked for
}

export interface RunPatch {
  name?: string;
  state?: 'interrupted' | 'killed' | RunState; // the last two: as run folders have it
  created_us?: number;
  ended_us?: number;
  user?: string;
  host?: string;
  group?: string;
  job_type?: string;
  notes?: string;
  tags?: string[];
  source?: string;
  parent?: string;
  sweep?: string;
  config_hash?: string;
  config?: { [key: string]: Json }; // merged, as RFC 7396 says
  summary?: { [key: string]: Json }; // merged
  labels?: { [key: string]: string | null }; // merged: null removes one
  deleted_us?: number; // not 0: in the trash
  environment?: { [key: string]: Json };
}

export interface ConfigChange {
  key: string;
  before: Json;
  after: Json;
}

export interface Attempt {
  number: number;
  host: string;
  started_us: number;
  ended_us: number;
  state: string;
  from_step: number | null;
  changes: ConfigChange[];
}

export interface SearchAnswer {
  runs: Run[];
  total: number;
  warnings: string[]; // names in the filter that no run has, with the nearest one
  trash_days?: number; // of runs in the trash: how long they can be restored
}

export interface Search {
  project?: string;
  filter?: string; // docs/reference/query.md
  order?: string[];
  limit?: number;
  offset?: number;
  trash?: boolean; // the runs in the trash instead
}

export interface Source {
  next_seq: number;
  offset: number;
  digest: string;
}

export const METRIC_KINDS = ['metric', 'system'] as const;

export type MetricKind = (typeof METRIC_KINDS)[number];

export interface CurveRequest {
  kind?: MetricKind;
  x?: string; // step, time (Unix microseconds), relative (seconds), epoch, or a metric
  points?: number;
  from?: number; // in units of x
  to?: number;
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

export interface MetricFacts {
  key: string;
  kind: MetricKind;
  count: number;
  last_step: number;
  first_us: number;
  last_us: number;
  last: WireNumber;
  min: WireNumber;
  max: WireNumber;
}

export interface HistoryPoint {
  key: string;
  step: number;
  value: WireNumber;
  time_us: number;
  attempt: number;
  replaced?: boolean; // by a later attempt
}

export type GroupValue = string | number | boolean | null;

export interface FieldSpread {
  runs: number; // that have it
  values: number; // different ones
  value?: GroupValue; // where there is only one
  count?: number; // of numbers; this and the rest only where all are numbers
  mean?: WireNumber;
  sd?: WireNumber; // n - 1
  min?: WireNumber;
  max?: WireNumber;
}

export interface GroupFacts {
  values: GroupValue[]; // one for each field of group
  runs: number;
  states: { [key: string]: number };
  fields: { [key: string]: FieldSpread };
}

export interface GroupsAnswer {
  groups: GroupFacts[];
  total: number; // groups
  runs: number; // that match
  warnings: string[];
}

export interface WireGroupCurve {
  values: GroupValue[];
  runs: number;
  curves: number; // of these runs, that have points in the range
  binned: boolean;
  sampled: boolean;
  x: WireNumber[];
  n: number[]; // runs that count there
  mean: WireNumber[];
  sd: WireNumber[];
  min: WireNumber[];
  max: WireNumber[];
}

export interface Project {
  id: number; // a number that stays when the name changes; MLflow's experiment_id
  name: string;
  run_count: number;
  running_count: number;
  last_us: number;
  labels: { [key: string]: string };
}

export interface NameCount {
  name: string;
  run_count: number; // how many runs have it
}

export interface ConfigCount {
  name: string;
  run_count: number; // how many runs have it
  value_count: number; // different values
  values: Json[]; // all of them, where they are few and short; else none
}

export interface NameCounts {
  names: NameCount[];
  total: number; // also those beyond the limit
}

export interface FieldsAnswer {
  run_count: number;
  config: {
    names: ConfigCount[];
    total: number;
  };
  metrics: NameCounts;
  tags: NameCounts;
  labels: NameCounts;
}

export interface LogRecord {
  type: string; // histogram, table, image, ...
  key: string;
  step: number;
  time_us: number;
  attempt: number;
  body: { [key: string]: Json };
}

export interface RecordAnswer {
  records: LogRecord[];
  cut: boolean; // the answer was full: older ones were left out
  keys: string[];
  total: number; // that match, whatever the limit
}

export interface RecordKey {
  type: string;
  key: string;
  count: number;
}

export interface ConsoleLine {
  n: number;
  time_us: number;
  text: string;
}

export interface ConsoleAnswer {
  lines: ConsoleLine[];
  total: number;
}

export interface Alert {
  type: string; // histogram, table, image, ...
  key: string;
  step: number;
  time_us: number;
  attempt: number;
  body: { [key: string]: Json };
  project: string;
  id: string;
  name: string; // the run's
}

export interface RunFile {
  path: string;
  size: number;
  digest: string; // SHA-256
}

export interface ArtifactFacts {
  name: string;
  type: string;
  description: string;
  version_count: number;
  latest: string;
  size: number;
  created_us: number;
  last_us: number;
}

export interface ArtifactFile {
  path: string;
  size: number;
  digest: string; // SHA-256
  reference?: string; // a URI: the bytes stay there
}

export interface ArtifactVersion {
  project: string;
  name: string;
  type: string;
  version: string;
  aliases: string[];
  digest: string;
  description: string;
  metadata: { [key: string]: Json };
  size: number;
  file_count: number;
  created_us: number;
  made_by: RunRef | null;
  files?: ArtifactFile[]; // of one version that was asked for
  used_by?: RunRef[];
}

export interface ArtifactLink {
  version: string;
  aliases: string[];
  source: {
    project: string;
    name: string;
    version: string;
  };
}

export interface VersionsAnswer {
  versions: ArtifactVersion[];
  links: ArtifactLink[]; // of a collection: what is linked into it, newest first
}

export interface LineageNode {
  id: string;
  kind: 'run' | 'artifact';
  label: string;
  project: string;
  run?: string;
  state?: string; // of a run; 'deleted' where it is gone
}

export interface Lineage {
  nodes: LineageNode[];
  edges: {
    from: string;
    to: string;
  }[];
  cut: boolean; // there is more than is told
}

export interface RunArtifacts {
  made: ArtifactVersion[];
  used: ArtifactVersion[];
}

export interface ModelVersion {
  version: number;
  stage: string;
  aliases: string[];
  source: {
    project: string;
    artifact: string;
    version: string;
  } | null; // where it is an artifact
  source_uri: string;
  run_id: string;
  description: string;
  tags: { [key: string]: string };
  user: string;
  created_us: number;
  changed_us: number;
}

export interface Model {
  name: string;
  description: string;
  tags: { [key: string]: string };
  aliases: { [key: string]: number };
  created_us: number;
  changed_us: number;
  versions: ModelVersion[];
}

export interface ModelPatch {
  description?: string;
  tags?: { [key: string]: string | null }; // merged: null removes one
}

export interface SavedView {
  id: string;
  name: string;
  project: string;
  view: { [key: string]: Json }; // the page's own
}

export interface AuditLine {
  time_us: number;
  who: string;
  what: string; // run.delete
  target: string;
  detail: { [key: string]: Json };
}

export interface RunChange {
  project: string;
  id: string;
  what: ('facts' | 'metrics' | 'console' | 'records' | 'files' | 'deleted')[];
  last_step?: number;
}

export const ROLES = ['view', 'write', 'admin'] as const;

export type Role = (typeof ROLES)[number];

export interface Me {
  user: string;
  role: Role;
  auth: boolean; // false: the server asks nobody to log in
  csrf_token?: string; // of a session
  project?: string; // the only one that the caller may see
  shared?: boolean; // through a link
}

export interface User {
  name: string;
  role: Role;
  created_us: number;
}

export interface Grant {
  id: string;
  name: string;
  user: string; // who made it
  scopes: Role[];
  project: string;
  run: string;
  created_us: number;
  expires_us: number | null;
}

export interface NewGrant {
  name?: string;
  scopes?: Role[]; // the highest counts; without: what the caller may do
  project?: string; // only this one; a link needs it
  run?: string; // only this run of it
  expires_in_s?: number; // 0: never, where what it is made with allows that
}

export interface SweepSummary {
  id: string;
  project: string;
  name: string;
  method: string;
  metric: {
    name: string;
    goal: 'minimize' | 'maximize';
  };
  state: 'running' | 'paused' | 'stopped' | 'cancelled' | 'finished';
  reason: string;
  origin: 'kedge' | 'wandb'; // whose agents work on it
  trials: number;
  best: number | null;
  expected_runs: number | null;
  created: string;
}

export interface SweepAxis {
  name: string;
  kind: 'choice' | 'log' | 'linear';
  values?: Json[]; // of a choice
}

export interface Sweep {
  id: string;
  project: string;
  name: string;
  method: string;
  metric: {
    name: string;
    goal: 'minimize' | 'maximize';
  };
  state: 'running' | 'paused' | 'stopped' | 'cancelled' | 'finished';
  reason: string;
  origin: 'kedge' | 'wandb'; // whose agents work on it
  trials: number;
  best: number | null;
  expected_runs: number | null;
  created: string;
  text: string; // the sweep file
  facts: { [key: string]: Json }; // none of a wandb client's sweep
  axes: SweepAxis[];
}

export interface TrialResult {
  state: string;
  exit_code: number;
  seconds: number;
  host: string;
  ended: string;
  metric?: number;
  message?: string;
  reused?: string; // from which sweep and trial
}

export interface Trial {
  number: number;
  state: string;
  values: { [key: string]: Json };
  run: string;
  attempts: number;
  failures: number;
  curve: (number | null)[];
  metric: number | null;
  result: TrialResult | null;
  holder?: string; // the agent that works on it
}

export interface Estimate {
  value: number;
  low: number;
  high: number;
}

export interface Importance {
  trials: number;
  explained: number;
  parameters: {
    name: string;
    correlation: Estimate;
    permutation: Estimate;
    variance_share: Estimate;
  }[];
}
