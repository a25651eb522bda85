import type { Estimate, Importance } from '../api/sweeps';

const SHOWN = [
  ['variance_share', 'variance explained by itself'],
  ['permutation', 'permutation importance'],
  ['correlation', 'correlation'],
] as const;

/** Three answers for each parameter, each with its 95% interval. */
export function ImportanceBars({ report }: { report: Importance }) {
  return (
    <div>
      <table class="plain-table importance">
        <thead>
          <tr>
            <th>parameter</th>
            {SHOWN.map(([key, title]) => (
              <th key={key}>{title}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {report.parameters.map((one) => (
            <tr key={one.name}>
              <td>{one.name}</td>
              {SHOWN.map(([key]) => (
                <td key={key}>
                  <Bar estimate={one[key]} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p class="faint">
        From {report.trials} trials; the forest explains{' '}
        {Math.round(100 * Math.max(0, report.explained))}% of trials it has not seen. Lines are 95%
        intervals.
      </p>
    </div>
  );
}

function Bar({ estimate }: { estimate: Estimate }) {
  const part = (value: number) => 100 * Math.max(0, Math.min(1, Math.abs(value)));
  const ends = [part(estimate.low), part(estimate.high)];
  const crossesZero = estimate.low < 0 && estimate.high > 0;
  const from = crossesZero ? 0 : Math.min(...ends);
  const { value, low, high } = estimate;
  return (
    <span
      class="row"
      title={`${value.toFixed(3)}, 95% between ${low.toFixed(3)} and ${high.toFixed(3)}`}
    >
      <span class="bar share">
        <i class={value < 0 ? 'minus' : ''} style={{ width: `${part(value)}%` }} />
        <b style={{ left: `${from}%`, width: `${Math.max(...ends) - from}%` }} />
      </span>
      <span class="num">{value.toFixed(2)}</span>
    </span>
  );
}
