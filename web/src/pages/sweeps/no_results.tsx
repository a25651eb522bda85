import type { Sweep, Trial } from '../../api/sweeps';
import { Empty } from '../../ui/empty';
import { TrialsTable } from './trials_table';

interface Props {
  sweep: Sweep;
  trials: readonly Trial[];
}

/** In place of plots that would be empty: what the sweep waits for. */
export function NoResults({ sweep, trials }: Props) {
  const isOpen = sweep.state === 'running' || sweep.state === 'paused';
  const isIdle = sweep.state === 'running' && trials.every(({ state }) => state !== 'running');
  return (
    <>
      <Empty
        title={isOpen ? 'No trial has finished yet' : 'No trial has finished'}
        {...(isIdle ? { command: agentOf(sweep) } : {})}
      >
        {isOpen && <p>What is best, what matters and the plots come with the first result.</p>}
        {isIdle && <p>Nobody works on it now; an agent does:</p>}
      </Empty>
      {trials.length > 0 && <TrialsTable sweep={sweep} trials={trials} />}
    </>
  );
}

function agentOf({ origin, project, id }: Sweep): string {
  return origin === 'wandb'
    ? `wandb agent ${project}/${id}`
    : `kedge agent ${project}/${id} --server ${location.origin}`;
}
