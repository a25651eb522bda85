import type { SweepSummary, Trial } from '../../api/sweeps';
import { litRun } from '../../charts/hover';
import { flatten, plain } from '../../lib/flatten';
import { formatDuration, formatNumber } from '../../lib/numbers';
import { linkTo } from '../../lib/router';
import { rankTrials } from '../../lib/trials';

interface Props {
  sweep: SweepSummary;
  trials: readonly Trial[];
}

const MAX_LISTED = 500;

/** The trials, the best first. */
export function TrialsTable({ sweep, trials }: Props) {
  const rows = rankTrials(sweep, trials).map((trial) => ({ trial, flat: flatten(trial.values) }));
  const keys = [...new Set(rows.flatMap(({ flat }) => Object.keys(flat)))].sort();
  return (
    <>
      <table class="plain-table trials">
        <thead>
          <tr>
            <th>trial</th>
            <th>state</th>
            <th class="num">{sweep.metric.name || 'metric'}</th>
            <th class="num">time</th>
            {keys.map((key) => (
              <th key={key} class="num">
                {key}
              </th>
            ))}
            <th />
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_LISTED).map(({ trial, flat }) => (
            <tr
              key={trial.number}
              onMouseEnter={() => (litRun.value = trial.run)}
              onMouseLeave={() => (litRun.value = '')}
            >
              <td>
                <a href={linkTo(['p', sweep.project, 'run', trial.run])}>{trial.number}</a>
              </td>
              <td>
                {trial.state}
                {trial.attempts > 1 && <span class="faint"> attempt {trial.attempts}</span>}
              </td>
              <td class="num">{trial.metric === null ? '' : formatNumber(trial.metric)}</td>
              <td class="num">{trial.result ? formatDuration(trial.result.seconds) : ''}</td>
              {keys.map((key) => (
                <td key={key} class="num">
                  {render(plain(flat[key]))}
                </td>
              ))}
              <td class="muted">
                {trial.result?.message}
                {trial.result?.reused && `taken from ${trial.result.reused}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MAX_LISTED && (
        <p class="faint">{rows.length - MAX_LISTED} more trials are not listed.</p>
      )}
    </>
  );
}

function render(value: ReturnType<typeof plain>): string {
  if (typeof value === 'number') return formatNumber(value);
  return value === undefined || value === null ? '' : String(value);
}
