import type { Run } from '../api/types';

/** A run of which only this is known. */
export function makeRun(facts: Pick<Run, 'project' | 'id'> & Partial<Run>): Run {
  return {
    name: facts.id,
    state: 'finished',
    created_us: 0,
    ended_us: null,
    heartbeat_us: 0,
    user: '',
    host: '',
    group: '',
    job_type: '',
    notes: '',
    tags: [],
    source: 'kedge',
    attempt: 1,
    last_step: null,
    parent: '',
    sweep: '',
    deleted_us: null,
    config: {},
    labels: {},
    summary: {},
    ...facts,
  };
}
