import { useEffect } from 'preact/hooks';
import { loadRecords } from '../../api/records';
import { loadAttempts } from '../../api/runs';
import type { Attempt, Run } from '../../api/types';
import { plain } from '../../lib/flatten';
import { formatDate, formatDuration } from '../../lib/numbers';
import { useResource } from '../../lib/resource';
import { ErrorNote } from '../../ui/error_note';
import { StateMark } from '../../ui/state_mark';
import { CheckpointTable } from './checkpoint_table';
import { RunArtifactTable } from './run_artifact_table';

/**
 * How the run got to where it is: each start, what was changed for it, and the checkpoints it
 * left.
 */
export function Attempts({ run, turn }: { run: Run; turn: number }) {
  const key = `${run.project}/${run.id}`;
  const attempts = useResource(key, (signal) => loadAttempts(run, signal));
  const artifacts = useResource(key, (signal) => loadRecords(run, { type: 'artifact' }, signal));
  useEffect(() => {
    if (turn > 0) attempts.reload();
  }, [turn]);
  if (attempts.error && !attempts.data) return <ErrorNote error={attempts.error} />;
  const reach = Math.max(run.last_step ?? 0, 1);
  return (
    <div class="scroll">
      <div class="leaf">
        <h2>Attempts</h2>
        <ol class="attempts">
          {attempts.data?.map((attempt, i) => {
            const next = attempts.data?.[i + 1];
            const end = next ? Math.max(next.from_step ?? 0, attempt.from_step ?? 0) : reach;
            return <AttemptRow key={attempt.number} attempt={attempt} end={end} reach={reach} />;
          })}
        </ol>
        <h2 class="part">Artifacts</h2>
        <RunArtifactTable run={run} turn={turn} />
        <h2 class="part">Checkpoints</h2>
        <CheckpointTable records={artifacts.data?.records ?? []} />
      </div>
    </div>
  );
}

function AttemptRow({ attempt, end, reach }: { attempt: Attempt; end: number; reach: number }) {
  const seconds = attempt.ended_us ? (attempt.ended_us - attempt.started_us) / 1e6 : NaN;
  const from = attempt.from_step ?? 0;
  const left = (from / reach) * 100;
  const width = Math.max(0.6, ((end - from) / reach) * 100);
  return (
    <li>
      <div class="row wrap">
        <b>{attempt.number}</b>
        <StateMark state={attempt.state === 'interrupted' ? 'preempted' : attempt.state} word />
        <span class="muted">
          from step {from}, {attempt.host}, {formatDate(attempt.started_us)}
          {Number.isFinite(seconds) && `, ${formatDuration(seconds)}`}
        </span>
      </div>
      <div class="haul" aria-hidden="true">
        <i style={{ left: `${left}%`, width: `${width}%` }} />
      </div>
      {(attempt.changes ?? []).map((change) => (
        <div key={change.key} class="change mono">
          {change.key}: <del>{String(plain(change.before))}</del>{' '}
          <ins>{String(plain(change.after))}</ins>
        </div>
      ))}
    </li>
  );
}
